"""The first half of out-of-core training: hash rows block by block, and keep only their codes and targets."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from .._array import Array
from .._hash_parameters import hasher_for
from .._validation import row_batches, widened
from ..backends import Rows, place_of
from ..exceptions import InputError, InputTypeError, Setting
from ..hashing import Hasher, PackedCodes
from ._base import LinearEstimator, hasher_of_codes
from ._disk_codes import TemporaryCodes
from ._targets import RowWeights, taken

STEP_BYTES = 1 << 21  # of codes that are hashed at a time
TEXT_KINDS = "OUST"  # of labels


class BlockTargets:
    """The targets of all rows: numbers as they are, and labels by their number among the distinct ones.

    An array of text has room for the longest label in every row, which may be far more than the codes take.
    """

    def __init__(self, *, are_classes: bool) -> None:
        self._are_classes, self._parts, self._dtypes = are_classes, list[Array](), list[np.dtype[Any]]()
        self._labels: dict[Any, int] = {}

    @property
    def problems(self) -> int:
        """The number of problems that the labels so far make; 1 for the values of a regression."""
        return len(self._labels) if len(self._labels) > 2 else 1

    def add(self, y: Array) -> None:
        """Append the targets of a block."""
        if self._dtypes and (y.dtype.kind in TEXT_KINDS) != (self._dtypes[0].kind in TEXT_KINDS):
            raise InputError(f"y has dtype {y.dtype} in one block and {self._dtypes[0]} in another: use one type.")
        if y.dtype not in self._dtypes:
            self._dtypes.append(y.dtype)
        if not self._are_classes:
            self._parts.append(np.array(y))  # a copy, because the caller may reuse the array
            return
        labels, places = np.unique(y, return_inverse=True)
        numbers = [self._labels.setdefault(label, len(self._labels)) for label in labels.tolist()]
        self._parts.append(np.array(numbers, np.int32)[places])

    def values(self) -> Array:
        """Return the targets of a regression."""
        return np.concatenate(self._parts)

    def classes(self) -> tuple[Array, Array]:
        """Return the classes in ascending order and the class number of each row."""
        labels = np.array(list(self._labels), np.result_type(*self._dtypes))
        classes, places = np.unique(labels, return_inverse=True)
        numbers = places.astype(np.int32)[np.concatenate(self._parts)]
        if len(classes) > len(numbers) // 2:
            check_classification_targets(numbers)  # which warns about many classes
        return classes, numbers


def hash_blocks(
    model: LinearEstimator, blocks: Iterable[Any], stored: TemporaryCodes, threads: int
) -> tuple[Hasher, BlockTargets, Array | None]:
    """Write the codes of all blocks to ``stored``, and return the hash, the targets and the weights of rows.

    Rows of weight 0 have no codes there. The targets and the weights are those of all rows.
    """
    if model.scale is not None:
        raise InputError(
            Setting("scale", model.scale),
            " needs all rows before the first can be hashed: call fit on rows in memory, or set "
            "scale=None and scale the blocks first, for example with a sklearn.preprocessing.StandardScaler that "
            "partial_fit has fitted in a pass over them.",
        )
    targets, hasher = BlockTargets(are_classes=model._has_classes), None
    weights: list[Array] = []
    twice = model.probability is not None  # its values of rows take as much again
    for number, block in enumerate(_iterate(blocks)):
        X, y, weight = _parts_of(block, number)
        if place_of(X) is not None:
            raise InputTypeError(
                f"block {number} holds {type(X).__module__}.{type(X).__name__}, but fit_blocks keeps codes in main "
                'memory or on disk: pass NumPy arrays, on a GPU within  with kernelsketch.use_backend("cuda"):'
            )
        X, y = model._checked(X if hasher is None else _as_wide(model, hasher, X), y, reset=hasher is None)
        if hasher is None:
            hasher = _new_hasher(model, X)
        if model._has_classes:
            _check_labels(y)
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
        targets.add(y)
        stored.problems = (1 + twice) * targets.problems
        stored.expected = getattr(blocks, "expected_rows", 0)  # the command line has an estimate
        if weight is None or weights[-1].any():  # newer versions of scikit-learn refuse weights that are all 0
            used = RowWeights.of(weight, len(y), *([model.C] if weight is None else [])).used
            for codes in _codes(hasher, taken(X, used), threads):
                stored.add(codes)
    if hasher is None:
        raise InputError(Setting("blocks"), " is empty: pass at least one pair (X, y).")
    return hasher, targets, np.concatenate(weights) if weights else None


def _iterate(blocks: Any) -> Iterator[Any]:
    try:
        return iter(blocks)
    except TypeError:
        raise InputTypeError(
            f"blocks must be an iterable of pairs (X, y), got {type(blocks).__name__}.", parameter="blocks"
        ) from None


def _parts_of(block: Any, number: int) -> tuple[Any, Any, Any]:
    parts = [] if hasattr(block, "shape") or not isinstance(block, Iterable) else list(block)
    if len(parts) not in (2, 3):
        raise InputTypeError(
            f"block {number} must be a pair (X, y), or (X, y, sample_weight), got {type(block).__name__}"
            f"{f' of {len(parts)}' if parts else ''}."
        )
    return parts[0], parts[1], parts[2] if len(parts) == 3 else None


def _as_wide(model: Any, hasher: Hasher, X: Any) -> Any:
    """Widen sparse rows, or the model, to the widest block so far. Columns that a block lacks are zeros."""
    if isinstance(X, PackedCodes):
        widest = max(model.n_features_in_, X.n_features)
    elif sparse.issparse(X) and hasher.views:
        if X.shape[1] != model.n_features_in_:
            raise InputError(
                f"a block has {X.shape[1]} columns, but the first one has {model.n_features_in_}: with views, the "
                "place of a column decides its view, so give all blocks the same columns."
            )
        return X
    elif sparse.issparse(X) and hasher.center is None:
        widest = max(model.n_features_in_, X.shape[1])
        X = widened(X, widest)
    else:
        return X
    model.n_features_in_ = widest
    return X


def _new_hasher(model: Any, X: Rows | PackedCodes) -> Hasher:
    if isinstance(model.center, str) and not isinstance(X, PackedCodes):
        raise InputError(
            Setting("center", model.center),
            " needs all rows before the first can be hashed: pass the vector itself, for "
            "example the mean that sklearn.preprocessing.StandardScaler.partial_fit finds in a pass over the blocks.",
        )
    return hasher_of_codes(model, X) if isinstance(X, PackedCodes) else hasher_for(model, X)


def _check_labels(y: Array) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a small block may have as many classes as rows
        check_classification_targets(y)


def _codes(hasher: Hasher, X: Rows | PackedCodes, threads: int) -> Iterator[PackedCodes]:
    if isinstance(X, PackedCodes):
        difference = hasher.difference(X.hasher)
        if difference is not None:
            raise InputError(
                f"a block has codes of another hash than the first ({difference}): hash all of them alike."
            )
        yield X
        return
    for part in row_batches(len(X), 2 * hasher.n_components, STEP_BYTES):
        yield hasher.codes(X.part(part), threads=threads)
