"""GCWS for Spark ML: codes of rows as sparse vectors or as bytes (features/_gcws.py)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from pyspark.ml.linalg import VectorUDT
from pyspark.sql.types import BinaryType, DataType
from scipy import sparse

from .. import features
from .._rows import canonical_rows
from ..exceptions import InputError
from ..hashing import Hasher, PackedCodes, check_hash, hasher_with
from ._arrow import codes_of, packed_bytes, sparse_vectors
from ._transformer import N_FEATURES, SketchTransformer

MOST_WIDTH = 2**31 - 1  # of a vector of Spark


class GCWS(SketchTransformer):
    r"""Generalized consistent weighted sampling as a transformer of Spark ML: see :class:`kernelsketch.GCWS`.

    Codes are those of the single machine to the last bit, whatever the partitions. Nothing is learned from the data.

    Parameters
    ----------
    n_components, bits, t_bits, p, gamma, normalize, random_state
        Of the hash: see :class:`kernelsketch.GCWS`. ``random_state`` is a whole number.
    center : list of float, default=None
        Subtracted first. ``pyspark.ml.stat.Summarizer`` gives the mean of a column. Sparse rows are filled.
    output : {"vector", "packed"}, default="vector"
        Sparse one-hot vectors for Spark's linear models, 12 bytes a hash; or packed codes as bytes, one byte a hash
        at 8 bits, none for a row without a nonzero value. A vector of Spark is at most 2**31 - 1 wide.
    n_features : int, default=None
        Width that is asked of every row. None takes any: no code depends on it.
    inputCol : str, default="features"
        Vectors of ``pyspark.ml``, sparse and dense mixed, arrays of numbers, or rows of :func:`pack_rows`.
    outputCol : str
        Column of results; by default a name that Spark makes up.
    handleInvalid : {"error", "skip"}, default="error"
        What to do with rows that are null, hold a null, NaN or infinity, or have another width: refuse the first, or
        leave them out. :meth:`invalid_rows` shows them.

    See Also
    --------
    NRFF : the same for the RBF kernel.
    GCWSClassifier : the hash and a linear model in one.

    Examples
    --------
    >>> from pyspark.ml.linalg import Vectors
    >>> from kernelsketch.spark import GCWS
    >>> df = spark.createDataFrame([(Vectors.dense(1.0, -2.0),), (Vectors.sparse(2, {1: 3.0}),)], ["features"])
    >>> hashed = GCWS(n_components=4, bits=1, outputCol="hashed").transform(df)
    >>> [row.hashed.size for row in hashed.collect()]
    [8, 8]
    """

    _local = features.GCWS
    _without = frozenset({"sparse_output", "n_jobs"})
    _own = {  # noqa: RUF012  (a table, as its base declares it)
        "output": ("vector", "vector: sparse one-hot vectors; packed: codes as bytes"),
        "n_features": N_FEATURES,
    }

    def to_local(self) -> features.GCWS:
        """The scikit-learn transformer with the same parameters, not fitted.

        Returns
        -------
        transformer : kernelsketch.GCWS
        """
        local: features.GCWS = super().to_local()
        check_hash(local.p, local.gamma, local.t_bits)
        return local

    def packed_codes(self, column: Any, *, n_features: int | None = None) -> PackedCodes:
        """Collected codes of ``output="packed"`` as the single machine takes them.

        Parameters
        ----------
        column : list of bytes, or array of Arrow
            In any order.
        n_features : int, default=None
            Width of the rows, which models compare with theirs; None takes the parameter of that name, or the center.

        Returns
        -------
        codes : PackedCodes
        """
        local = self.to_local()
        width = n_features or self._source().width
        if width is None:
            raise InputError("n_features is not known: pass the width of the rows that were hashed.")
        return codes_of(column, hasher_of(local), width)

    def _work(self) -> tuple[Callable[[Any], Any], DataType, int]:
        local = self.to_local()
        k, width = int(local.n_components), int(local.bits) + int(local.t_bits)
        if self.check_option("output", ("vector", "packed")) == "packed":
            return partial(packed_of, self.local_values()), BinaryType(), k
        if k << width > MOST_WIDTH:
            raise InputError(
                f"n_components={k} with {width} bits makes vectors of {k << width} features, Spark has at most "
                f"{MOST_WIDTH}: use output='packed', or fewer bits."
            )
        return partial(vectors_of, self.local_values()), VectorUDT(), k


def vectors_of(given: dict[str, Any], X: Any) -> Any:
    local = features.GCWS(**given)
    return sparse_vectors(hash_rows(local, X).to_csr(normalize=local.normalize))


def packed_of(given: dict[str, Any], X: Any) -> Any:
    return packed_bytes(hash_rows(features.GCWS(**given), X))


def hash_rows(local: Any, X: Any) -> PackedCodes:
    """Codes of rows that have been read: they are finite."""
    hasher = hasher_of(local)
    if hasher.center is not None and sparse.issparse(X):
        X = X.toarray()
    return hasher.codes(canonical_rows(X))


def hasher_of(local: Any) -> Hasher:
    """The hash of an estimator's parameters without rows to fit on: nothing is learned but what is given."""
    center = None if local.center is None else np.asarray(local.center, np.float64)
    return hasher_with(local, int(local.random_state), center)
