"""The first half of out-of-core training: hash rows block by block, and keep only their codes and targets."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from .._hash_parameters import hasher_for
from .._validation import check_n_jobs, row_batches, widened
from ..backends import Rows, place_of
from ..exceptions import InputError, InputTypeError
from ..hashing import Hasher, PackedCodes
from ._disk_codes import TemporaryCodes
from ._model import hasher_of_codes

Array = NDArray[Any]

STEP_BYTES = 1 << 24  # of codes that are hashed at a time


def hash_blocks(
    model: Any, blocks: Iterable[Any], stored: TemporaryCodes, **options: Any
) -> tuple[Hasher, Array, Array | None]:
    """Write the codes of all blocks to ``stored``, and return the hash, the targets and the weights of rows.

    ``options`` are those of scikit-learn's validation. Regression passes ``y_numeric``.
    """
    if model.scale is not None:
        raise InputError(
            f"scale={model.scale!r} needs all rows before the first can be hashed: call fit on rows in memory, or set "
            "scale=None and scale the blocks first, for example with a sklearn.preprocessing.StandardScaler that "
            "partial_fit has fitted in a pass over them."
        )
    model._scaling = None
    targets: list[Array] = []
    weights: list[Array] = []
    for number, block in enumerate(_iterate(blocks)):
        X, y, weight = _parts_of(block, number)
        if place_of(X) is not None:
            raise InputTypeError(
                f"block {number} holds {type(X).__module__}.{type(X).__name__}, but fit_blocks keeps codes in main "
                'memory or on disk: pass NumPy arrays, on a GPU within  with kernelsketch.use_backend("cuda"):'
            )
        if number > 0:
            X = _as_wide(model, X)
        X, y = model._check_rows_and_targets(X, y, reset=number == 0, **options)
        y = np.array(y)  # a copy, because the caller may reuse the array
        if number == 0:
            model._hasher = _new_hasher(model, X)
        if not options.get("y_numeric"):
            _check_labels(y, targets)
        if (weight is None) != (not weights) and number > 0:
            raise InputError(
                f"block {number} {'lacks' if weight is None else 'has'} sample_weight, unlike the blocks before it: "
                "pass it with all blocks or with none."
            )
        if weight is not None:
            weights.append(np.array(weight, np.float64))
            if weights[-1].shape != y.shape:
                raise InputError(
                    f"block {number} has {len(y)} rows but sample_weight of shape {weights[-1].shape}: pass one weight "
                    "per row."
                )
        for codes in _codes(model, X):
            stored.add(codes)
        targets.append(y)
    if not targets:
        raise InputError("blocks is empty: pass at least one pair (X, y).")
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
    """Widen sparse rows, or the model, to the widest block so far. Columns that a block lacks are zeros."""
    if isinstance(X, PackedCodes):
        widest = max(model.n_features_in_, X.n_features)
    elif sparse.issparse(X) and model._hasher.views:
        if X.shape[1] != model.n_features_in_:
            raise InputError(
                f"a block has {X.shape[1]} columns, but the first one has {model.n_features_in_}: with views, the "
                "place of a column decides its view, so give all blocks the same columns."
            )
        return X
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
            f"center={model.center!r} needs all rows before the first can be hashed: pass the vector itself, for "
            "example the mean that sklearn.preprocessing.StandardScaler.partial_fit finds in a pass over the blocks."
        )
    return hasher_of_codes(model, X) if isinstance(X, PackedCodes) else hasher_for(model, X)


def _check_labels(y: Array, before: list[Array]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a small block may have as many classes as rows
        check_classification_targets(y)
    kinds = [one.dtype.kind in "OUT" for one in (y, *before[:1])]
    if len(set(kinds)) > 1:
        raise InputError(f"y has dtype {y.dtype} in one block and {before[0].dtype} in another: use one type.")


def _codes(model: Any, X: Rows | PackedCodes) -> Iterator[PackedCodes]:
    if isinstance(X, PackedCodes):
        model._check_codes(X)
        yield X
        return
    threads = check_n_jobs(model.n_jobs)
    for part in row_batches(len(X), 2 * model._hasher.n_components, STEP_BYTES):
        yield model._hasher.codes(X.part(part), threads=threads)
