"""CudaBackend: the operations of a back end on arrays of a card."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Literal

import numpy as np

from ...exceptions import BackendError
from .. import _values
from .._interface import FourierParams, GcwsParams, Measure, Ratio
from .._interface_index import Queries, SearchParams, Segment, Vectors
from .._interface_learning import LinearObjective, LinearPass, LinearSolved, NewtonProblem
from .._rows import CsrRows, Rows
from . import _codes, _descent, _fourier, _gcws, _gmm, _index, _linear, _newton
from ._device import ELSEWHERE, Card
from ._rows import cupy_of, is_cupy, is_torch

STEP_VALUES = 1 << 24  # that are looked at together: each step waits for its results
# What the card does not do yet, in the words of error messages.
MISSING = {
    "growth_rows": "decision trees",
    "join_count": "similarity joins",
    "join_prefixes": "similarity joins",
    "join_similarities": "similarity joins",
    "predictor": "predictors",
    "quantile_levels": "quantiles of tables",
    "shingles": "shingles of texts",
    "shingles_of_texts": "shingles of texts",
    "trees_decide": "decision trees",
    "weighted_differences": "the learning of weights of columns",
}


class CudaBackend:
    """Compute on a card. Arrays are those of the card's library, CuPy."""

    name = "cuda"
    newton: Literal["none", "steps", "whole"] = "whole"

    def __init__(self, card: Card, place: Any = None, threads: int = 1) -> None:
        self.card, self.place, self.threads = card, place, threads

    def __getattr__(self, name: str) -> Any:
        if name in MISSING:
            raise BackendError(
                f"the back end 'cuda' does not support {MISSING[name]} yet: convert CuPy arrays to NumPy with "
                f"array.get(), and {ELSEWHERE}."
            )
        raise AttributeError(name)

    # Arrays.

    def empty(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.card.xp.empty(shape, dtype)

    def zeros(self, shape: tuple[int, ...], dtype: Any) -> Any:
        return self.card.xp.zeros(shape, dtype)

    def from_numpy(self, array: Any) -> Any:
        return self.card.xp.asarray(array)

    def to_numpy(self, array: Any) -> Any:
        if is_torch(array):
            array = cupy_of(array)
        return array.get() if is_cupy(array) else np.asarray(array)

    def csr_matrix(self, data: Any, indices: Any, indptr: Any, shape: tuple[int, int]) -> Any:
        sparse = import_module("cupyx.scipy.sparse")
        matrix = sparse.csr_matrix((data, indices, indptr), shape=shape)
        matrix.has_canonical_format = True
        return matrix

    # Values.

    def measure(self, rows: Rows) -> Measure:
        return _values.measure(self, rows, STEP_VALUES)

    def to_bytes(self, values: Any, offset: int, width: int) -> tuple[Any, Any]:
        return _values.to_bytes(self, values, offset, width, STEP_VALUES)

    def is_canonical(self, indptr: Any, indices: Any, n_features: int) -> bool:
        return False  # who makes rows of arrays of the card checks them

    def row_maxima(self, indptr: Any, values: Any) -> Any:
        return _gmm.row_maxima(self.card, indptr, values)

    # Kernels.

    def gmm_dense(self, a: Any, b: Any, ratio: Ratio, *, symmetric: bool = False, out: Any = None) -> Any:
        return _gmm.gmm_dense(self.card, a, b, ratio, symmetric, out)

    def gmm_bytes(
        self, a: Any, b: Any, a_norms: Any, b_norms: Any, ratio: Ratio, *, symmetric: bool = False, out: Any = None
    ) -> Any:
        return _gmm.gmm_bytes(self.card, a, b, a_norms, b_norms, ratio, symmetric, out)

    def gmm_sparse(self, a: CsrRows, b: CsrRows, ratio: Ratio, *, symmetric: bool = False, out: Any = None) -> Any:
        return _gmm.gmm_sparse(self.card, a, b, ratio, out)

    # Hashes.

    def gcws_codes(self, rows: Rows, params: GcwsParams, bits: int, t_bits: int) -> tuple[Any, Any]:
        return _gcws.gcws_codes(self.card, rows, params, bits, t_bits)

    def gcws_samples(self, rows: Rows, params: GcwsParams) -> tuple[Any, Any, Any]:
        return _gcws.gcws_samples(self.card, rows, params)

    def gcws_fingerprints(self, rows: Rows, params: GcwsParams) -> tuple[Any, Any]:
        return _gcws.gcws_fingerprints(self.card, rows, params)

    def concatenate(self, slots: Any, t: Any, counts: Any) -> Any:
        return _gcws.concatenate(self.card, slots, t, counts)

    def pack(self, codes: Any, width: int) -> Any:
        return _codes.pack(self.card, codes, width)

    def unpack(self, packed: Any, width: int, n_components: int) -> Any:
        return _codes.unpack(self.card, packed, width, n_components)

    def used_codes(self, codes: Any, width: int) -> Any:
        return _codes.used_codes(self.card, codes, width)

    def renumber(self, codes: Any, number_of: Any, *, out: Any = None) -> tuple[Any, int]:
        return _codes.renumber(self.card, codes, number_of, out)

    def match_counts(self, a: Any, a_empty: Any, b: Any, b_empty: Any) -> Any:
        return _codes.match_counts(self.card, a, a_empty, b, b_empty)

    # Fourier features.

    def fourier(self, rows: Rows, params: FourierParams, table_bytes: int, *, out: Any = None) -> Any:
        return _fourier.fourier(self.card, rows, params, out)

    # Learning on codes.

    def linear_decide(self, codes: Any, empty: Any, scale: float, w: Any, bias: Any) -> Any:
        return _linear.linear_decide(self.card, codes, empty, scale, w, bias)

    def linear_accumulate(self, codes: Any, empty: Any, beta: Any, sums: Any) -> None:
        _linear.linear_accumulate(self.card, codes, empty, beta, sums)

    def newton_solve(
        self,
        codes: Any,
        empty: Any,
        objective: LinearObjective,
        problem: NewtonProblem,
        report: Callable[[int, Any], None],
    ) -> LinearSolved:
        return _newton.newton_solve(self.card, codes, empty, objective, problem, report)

    def linear_pass(self, codes: Any, empty: Any, objective: LinearObjective, state: LinearPass) -> Any:
        return _descent.linear_pass(self.card, codes, empty, objective, state)

    # Near neighbours. An index is in main memory, and so are its queries and results.

    def index_tables(self, codes: Any, flags: Any, n_tables: int, hashes_per_table: int, bits: int) -> tuple[Any, Any]:
        return _index.index_tables(self.card, codes, flags, n_tables, hashes_per_table, bits)

    def index_norms(self, vectors: Vectors) -> Any:
        return _index.index_norms(self.card, vectors)

    def index_heavy(self, vectors: Vectors, heavy_fraction: float) -> Any:
        return _index.index_heavy(self.card, vectors, heavy_fraction)

    def index_search(self, queries: Queries, segments: list[Segment], params: SearchParams) -> tuple[Any, Any, Any]:
        return _index.index_search(self.card, queries, segments, params)

    def join_keys(self, rows: CsrRows) -> Any:
        return _index.join_keys(self.card, *rows.arrays)
