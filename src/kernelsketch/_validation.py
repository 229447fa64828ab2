"""Checks of data and parameters, and the error messages about them.

The checks never change their arguments. They raise :class:`~kernelsketch.exceptions.InputError` for an invalid value
and :class:`~kernelsketch.exceptions.InputTypeError` for an invalid type.
"""

from __future__ import annotations

import math
import numbers
import sys
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from ._array import Array
from ._frames import frame_of, matrix_of
from ._threads import threads_for
from ._weighted import mean_of, median_of
from .exceptions import InputError, InputTypeError, Setting

FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
MOST_POWER = 1e6
STEP_BYTES = 1 << 22  # of rows that are taken at a time, unless a caller needs more or less


def is_sparse(X: Any) -> bool:
    """Return whether X is a SciPy matrix. SciPy is not imported for it: if nothing has done so, X cannot be one."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def is_row(X: Any) -> bool:
    """Return whether X is a single row, that is 1-D. scikit-learn calls kernel functions with pairs of such rows."""
    return not (is_sparse(X) or hasattr(type(X), "columns")) and np.ndim(X) == 1  # frames have columns


def as_row(x: Any, name: str) -> Array:
    """Return a 1-D row as a matrix of one row."""
    return np.asarray(_plain_array(x, name))[None, :]


def check_rows(X: Any, name: str) -> Any:
    """Return X as a nonempty 2-D array or canonical CSR matrix of a real dtype.

    X itself is never changed. Integers and other byte orders are kept, because rows are converted block by block later.
    The function `check_finite` checks the values themselves.
    """
    if is_sparse(X):
        _check_dtype(X, name)
        if X.ndim != 2:
            raise InputError(_not_2d(name, X.shape))
        rows = _canonical_csr(X, name)
    else:
        rows = _as_array(X, name)
    if rows.shape[0] == 0 or rows.shape[1] == 0:
        raise InputError(f"{name} is empty: it has shape {rows.shape}, at least one row and one feature are needed.")
    return rows


def check_finite(values: Array, name: str, locate: Any) -> None:
    """Refuse NaN and infinity. ``locate(k)`` returns the row and the column of the k-th value."""
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    flat = values.ravel()
    first = int(np.argmin(np.isfinite(flat)))
    what = "NaN" if np.isnan(flat[first]) else "infinity"
    row, column = locate(first)
    advice = (
        "impute it first, for example with sklearn.impute.SimpleImputer" if what == "NaN" else "remove or clip it first"
    )
    raise InputError(name, f" contains {what} (row {row}, column {column}): {advice}.")


def refuse_huge(values: Any, name: str) -> None:
    """Refuse integers of Python that are larger than the largest float."""
    values = np.asarray(values, object)
    for k, value in enumerate(values.flat):
        if isinstance(value, int) and abs(value) > sys.float_info.max:
            place = zip(("row", "column"), np.unravel_index(k, values.shape), strict=False)
            where = ", ".join(f"{side} {number}" for side, number in place)
            raise InputError(
                f"{name} contains an integer of {len(str(abs(value)))} digits ({where}), which is beyond the largest "
                "float, 1.8e308: scale or clip it first."
            )


def check_same_features(X: Any, Y: Any) -> None:
    if X.shape[1] != Y.shape[1]:
        raise InputError(
            f"X has {X.shape[1]} features but Y has {Y.shape[1]}: both must have the same columns in the same order."
        )


def check_positive(value: Any, name: str) -> float:
    """Return a finite number above 0 as a float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputTypeError(Setting(name), f" must be a number above 0, got {value!r} of type {type(value).__name__}.")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not (math.isfinite(number) and number > 0):
        raise InputError(Setting(name), f" must be a finite number above 0, got {value!r}.")
    return number


def check_fraction(value: Any, name: str, *, with_one: bool) -> float:
    """Return a number above 0 and at most 1, or below 1, as a float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputTypeError(Setting(name), f" must be a number, got {value!r} of type {type(value).__name__}.")
    fraction = float(value)
    if not (0 < fraction < 1 or (with_one and fraction == 1)):
        raise InputError(Setting(name), f" must be above 0 and {'at most' if with_one else 'below'} 1, got {value!r}.")
    return fraction


def check_power(p: Any) -> float:
    """Return a valid power p. The limit keeps the exponents of powers within an integer."""
    power = check_positive(p, "p")
    if power > MOST_POWER:
        raise InputError(
            Setting("p"), f" must be at most {MOST_POWER:g}, got {p!r}: beyond it only the largest entries count."
        )
    return power


def check_positive_int(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InputTypeError(
            Setting(name), f" must be a whole number above 0, got {value!r} of type {type(value).__name__}."
        )
    if value <= 0:
        raise InputError(Setting(name), f" must be a whole number above 0, got {value!r}.")
    return int(value)


def check_center(center: Any, rows: Any, counts: Array | None = None) -> Array | None:
    """Return the center as a float64 vector.

    "mean" and "median" are computed from ``rows``, each of which counts for ``counts`` rows, or for one. A vector is
    compared with an array, a matrix or ``Rows``.
    """
    if center is None:
        return None
    if is_sparse(rows) or getattr(rows, "sparse", False):
        raise InputError(
            Setting("center"),
            " cannot be used with sparse data: subtracting it would fill the zeros. "
            "Pass center=None, or a dense array if it fits in memory.",
        )
    if isinstance(center, str):
        if center not in ("mean", "median"):
            raise InputError(Setting("center"), f" must be None, 'mean', 'median' or a vector, got {center!r}.")
        middle = partial(mean_of if center == "mean" else median_of, counts=counts)
        return np.concatenate([_middle(columns, middle) for columns in _column_blocks(rows)])
    vector = _plain_array(center, Setting("center"))
    if vector.dtype.kind not in "fiub":
        raise InputTypeError(Setting("center"), f" must hold real numbers, got dtype {vector.dtype}.")
    if vector.shape != (rows.shape[1],):
        raise InputError(
            Setting("center"), f" must have one value per feature, shape ({rows.shape[1]},), got shape {vector.shape}."
        )
    vector = vector.astype(np.float64)
    check_finite(vector, Setting("center"), lambda k: (0, k))
    return vector


def check_out(out: Any, shape: tuple[int, int], dtype: Any, *inputs: Any) -> None:
    """Refuse an output array that the result cannot be written to."""
    if not isinstance(out, np.ndarray):
        raise InputTypeError(Setting("out"), f" must be a NumPy array, got {type(out).__name__}.")
    if out.shape != shape or out.dtype != dtype:
        raise InputError(
            Setting("out"),
            f" must have shape {shape} and dtype {np.dtype(dtype)}, got shape {out.shape} and dtype {out.dtype}.",
        )
    if not out.flags.writeable:
        raise InputError(Setting("out"), " is read-only: pass a writable array.")
    row_bytes = shape[1] * out.itemsize
    in_order = (shape[1] == 1 or out.strides[1] == out.itemsize) and (shape[0] == 1 or out.strides[0] >= row_bytes)
    if not (in_order and out.flags.aligned):
        raise InputError(Setting("out"), " must be in C order, rows one after the other: pass np.empty(shape, dtype).")
    if any(np.may_share_memory(out, part) for part in inputs):
        raise InputError(
            Setting("out"), " shares memory with the input, which would be overwritten: pass another array."
        )


def check_n_jobs(n_jobs: Any) -> int:
    """Return the number of threads by scikit-learn's convention: None means 1, -1 means all that may be used."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral)):
        raise InputTypeError(Setting("n_jobs"), f" must be None or a whole number, got {n_jobs!r}.")
    if n_jobs == 0:
        raise InputError(Setting("n_jobs"), " must not be 0: use 1 for one thread, -1 for all processors.")
    if n_jobs == 1 or (n_jobs is None and "joblib" not in sys.modules):  # whose contexts can change what None means
        return 1
    return threads_for(None if n_jobs is None else int(n_jobs))


def row_batches(n_rows: int, row_bytes: int, batch_bytes: int | None = None) -> Iterator[slice]:
    """Yield slices of rows that take at most ``batch_bytes`` each, by default STEP_BYTES, and at least one row each."""
    step = max(1, (STEP_BYTES if batch_bytes is None else batch_bytes) // max(1, row_bytes))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _plain_array(X: Any, name: str) -> Array:
    """Call np.asarray, but refuse masked values, which it would drop, and explain its errors."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise InputError(name, " is a masked array with masked values: fill or impute them first.")
    try:
        return np.asarray(X)
    except ValueError as error:
        raise InputError(name, f" cannot be read as an array: {error}") from None


def _as_array(X: Any, name: str) -> Array:
    frame = frame_of(X, name)
    array = _plain_array(X, name) if frame is None else matrix_of(frame, name)
    _check_dtype(array, name)
    if array.ndim != 2:
        raise InputError(_not_2d(name, array.shape))
    return np.asarray(array)


def _not_2d(name: str, shape: tuple[int, ...]) -> str:
    if len(shape) == 1:
        return (
            f"{name} must be 2-D, rows by features, got 1-D of shape {shape}: use {name}.reshape(1, -1) "
            f"for one row or {name}.reshape(-1, 1) for one feature. (Two 1-D rows give one similarity.)"
        )
    return f"{name} must be 2-D, rows by features, got {len(shape)}-D of shape {shape}."


def _check_dtype(array: Any, name: str) -> None:
    dtype = array.dtype
    kind = dtype.kind
    if kind in "fiub":
        return
    if kind == "O":
        refuse_huge(array, name)
    if kind == "c":
        raise InputError(f"{name} is complex ({dtype}): kernels are defined for real numbers; take .real or .imag.")
    what = {
        "O": "objects",
        "U": "strings",
        "S": "byte strings",
        "T": "strings",
        "M": "dates",
        "m": "durations",
    }
    raise InputError(
        f"{name} holds {what.get(kind, 'values')} (dtype {dtype}): real numbers are needed. Encode "
        "categories first, for example with sklearn.preprocessing.OrdinalEncoder, or convert with "
        f"np.asarray({name}, dtype=float)."
    )


def _canonical_csr(X: Any, name: str) -> Any:
    """Return X as CSR with ascending, distinct indices. A copy is made only if X is not in this form."""
    if _is_broken(X):  # SciPy's conversions trust the indices and would read or write out of bounds
        raise InputError(
            f"{name} is a broken {X.format.upper()} matrix: indptr must rise from 0 to the number of values, "
            f"and indices must be integers within the shape {X.shape}. {name}.check_format() gives the details."
        )
    rows = X.tocsr()
    indptr, indices = np.asarray(rows.indptr), np.asarray(rows.indices)
    if not _has_ascending_indices(indptr, indices):
        rows = type(rows)((rows.data.copy(), rows.indices.copy(), rows.indptr.copy()), shape=rows.shape)
        rows.sum_duplicates()
    return rows


def _has_ascending_indices(indptr: Array, indices: Array) -> bool:
    """Check the arrays themselves, because SciPy's flags may be stale after a change in place."""
    for part in row_batches(int(indptr[-1]) - 1, 8, 1 << 20):  # pairs (k, k + 1), in batches
        rises = np.diff(indices[part.start : part.stop + 1]) > 0
        first, last = np.searchsorted(indptr, [part.start + 1, part.stop + 1])
        rises[indptr[first:last] - 1 - part.start] = True  # the step from the end of one row to the next may fall
        if not rises.all():
            return False
    return True


def _is_broken(X: Any) -> bool:
    """Return whether a sparse matrix of any format has indices outside its shape."""
    n, d = X.shape
    if X.format in ("csr", "csc", "bsr"):
        major, minor = (d, n) if X.format == "csc" else (n, d)
        if X.format == "bsr":
            major, minor = major // X.data.shape[1], minor // X.data.shape[2]
        indptr, indices = np.asarray(X.indptr), np.asarray(X.indices)
        if indptr.dtype.kind != "i" or indices.dtype.kind != "i" or len(indptr) != major + 1 or indptr[0] != 0:
            return True
        end = indptr[-1]
        if end > min(len(indices), len(X.data)) or (indptr[1:] < indptr[:-1]).any():
            return True
        return bool(end > 0 and (indices[:end].min() < 0 or indices[:end].max() >= minor))
    if X.format == "coo":
        sides = zip((X.row, X.col), (n, d), strict=True)
        return len(X.row) != len(X.data) or any(len(i) and (i.min() < 0 or i.max() >= size) for i, size in sides)
    if X.format == "dia":
        return len(X.offsets) != len(X.data) or bool(((X.offsets <= -n) | (X.offsets >= d)).any())
    return False


def _column_blocks(rows: Array) -> Iterator[Array]:
    for part in row_batches(rows.shape[1], 8 * rows.shape[0], 1 << 24):
        yield rows[:, part].astype(np.float64)


def _middle(columns: Array, middle: Any) -> Array:
    """Return the mean or the median of each column, even if a sum exceeds the largest float."""
    with np.errstate(over="ignore", invalid="ignore"):
        found: Array = middle(columns)
        if not np.isfinite(found).all():
            found = np.ldexp(middle(np.ldexp(columns, -64)), 64)
            found = np.clip(found, columns.min(axis=0), columns.max(axis=0))
    return found


def widened(X: Any, width: int) -> Any:
    """Return sparse rows with ``width`` features. The added features are zero."""
    if not is_sparse(X) or X.shape[1] == width:
        return X
    from scipy import sparse

    X = sparse.csr_array(X)
    return sparse.csr_array((X.data, X.indices, X.indptr), shape=(X.shape[0], width))
