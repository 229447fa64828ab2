"""Rows that come in blocks: each is hashed and forgotten; codes and targets are kept."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from .._validation import check_n_jobs, row_batches, widened
from ..backends import Rows
from ..exceptions import InputError, InputTypeError
from ..hashing import Hasher, PackedCodes, hasher_for
from ._model import hasher_of_codes
from ._spilled import Spill

Array = NDArray[Any]

STEP_BYTES = 1 << 24  # of codes at a time


def hash_blocks(model: Any, blocks: Iterable[Any], spill: Spill, **options: Any) -> tuple[Hasher, Array, Array | None]:
    """Codes of all blocks to ``spill``; the hash, targets and weights of rows.

    ``options`` are those of scikit-learn's validation; ``y_numeric`` is for regression.
    """
    targets: list[Array] = []
    weights: list[Array] = []
    for number, block in enumerate(_iterate(blocks)):
        X, y, weight = _parts_of(block, number)
        if number > 0:
            X = _as_wide(model, X)
        X, y = model._check_rows_and_targets(X, y, reset=number == 0, **options)
        y = np.array(y)  # a copy: the caller may fill his array again
        if number == 0:
            model._hasher = _new_hasher(model, X)
        if not options.get("y_numeric"):
            _check_labels(y, targets)
        if (weight is None) != (not weights) and number > 0:
            raise InputError(f"block {number} is the first with or without sample_weight: all blocks need it, or none.")
        if weight is not None:
            weights.append(np.array(weight, np.float64))
            if weights[-1].shape != y.shape:
                raise InputError(f"block {number} has {len(y)} rows and sample_weight of shape {weights[-1].shape}.")
        for codes in _codes(model, X):
            spill.add(codes)
        targets.append(y)
    if not targets:
        raise InputError("blocks gave nothing: at least one pair (X, y) is needed.")
    return model._hasher, np.concatenate(targets), np.concatenate(weights) if weights else None


def _iterate(blocks: Any) -> Iterator[Any]:
    try:
        return iter(blocks)
    except TypeError:
        raise InputTypeError(f"blocks must be an iterable of pairs (X, y), got {type(blocks).__name__}.") from None


def _parts_of(block: Any, number: int) -> tuple[Any, Any, Any]:
    parts = [] if hasattr(block, "shape") or not isinstance(block, Iterable) else list(block)
    if len(parts) not in (2, 3):
        raise InputTypeError(
            f"block {number} must be a pair (X, y), or (X, y, sample_weight), got {type(block).__name__}"
            f"{f' of {len(parts)}' if parts else ''}."
        )
    return parts[0], parts[1], parts[2] if len(parts) == 3 else None


def _as_wide(model: Any, X: Any) -> Any:
    """Sparse rows as wide as the widest so far, which the model then is: columns that are not there are zeros."""
    if isinstance(X, PackedCodes):
        widest = max(model.n_features_in_, X.n_features)
    elif sparse.issparse(X) and model._hasher.center is None:
        widest = max(model.n_features_in_, X.shape[1])
        X = widened(X, widest)
    else:
        return X
    model.n_features_in_ = widest
    return X


def _new_hasher(model: Any, X: Rows | PackedCodes) -> Hasher:
    if isinstance(model.center, str) and not isinstance(X, PackedCodes):
        raise InputError(
            f"center={model.center!r} needs all rows before the first is hashed: pass the vector itself, for example "
            "the mean that sklearn.preprocessing.StandardScaler.partial_fit finds in a pass over the blocks."
        )
    return hasher_of_codes(model, X) if isinstance(X, PackedCodes) else hasher_for(model, X)


def _check_labels(y: Array, before: list[Array]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a small block may have as many classes as rows
        check_classification_targets(y)
    kinds = [one.dtype.kind in "OUT" for one in (y, *before[:1])]
    if len(set(kinds)) > 1:
        raise InputError(f"y has labels of dtype {y.dtype} in one block and {before[0].dtype} in another.")


def _codes(model: Any, X: Rows | PackedCodes) -> Iterator[PackedCodes]:
    if isinstance(X, PackedCodes):
        model._check_codes(X)
        yield X
        return
    threads = check_n_jobs(model.n_jobs)
    for part in row_batches(len(X), 2 * model._hasher.n_components, STEP_BYTES):
        yield model._hasher.codes(X.part(part), threads=threads)
