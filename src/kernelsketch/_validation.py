"""Every check on data and parameters, and every sentence about them."""

from __future__ import annotations

import math
import numbers
from collections.abc import Iterator
from typing import Any

import joblib  # comes with scikit-learn, whose n_jobs convention it defines
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .exceptions import InputError, InputTypeError

Array = NDArray[Any]
FLOATS = (np.dtype(np.float32), np.dtype(np.float64))


def is_row(X: Any) -> bool:
    """Whether X is one row: 1-D. scikit-learn calls kernel functions with such pairs."""
    return not sparse.issparse(X) and np.ndim(X) == 1


def check_rows(X: Any, name: str) -> Any:
    """A 2-D array or a CSR matrix in canonical form, of a real dtype, not empty; never changes X.

    Integers and other byte orders stay as they are: rows are converted block by block. The values
    themselves are checked by `check_finite`.
    """
    if sparse.issparse(X):
        _check_dtype(X.dtype, name)
        if X.ndim != 2:
            raise InputError(_not_2d(name, X.shape))
        rows = _canonical_csr(X, name)
    else:
        rows = _as_array(X, name)
    if rows.shape[0] == 0 or rows.shape[1] == 0:
        raise InputError(
            f"{name} is empty: it has shape {rows.shape}, at least one row and one feature are needed."
        )
    return rows


def check_finite(values: Array, name: str, locate: Any) -> None:
    """Refuse NaN and infinity; ``locate(k)`` tells (row, column) of the k-th value."""
    if values.dtype.kind != "f" or np.isfinite(values).all():
        return
    flat = values.ravel()
    first = int(np.argmin(np.isfinite(flat)))
    what = "NaN" if np.isnan(flat[first]) else "infinity"
    row, column = locate(first)
    advice = (
        "impute it first, for example with sklearn.impute.SimpleImputer"
        if what == "NaN"
        else "remove or clip it first"
    )
    raise InputError(f"{name} contains {what} (row {row}, column {column}): {advice}.")


def check_same_features(X: Any, Y: Any) -> None:
    if X.shape[1] != Y.shape[1]:
        raise InputError(
            f"X has {X.shape[1]} features but Y has {Y.shape[1]}: "
            "both must have the same columns in the same order."
        )


def check_positive(value: Any, name: str) -> float:
    """A finite number above 0, as a float."""
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        raise InputTypeError(
            f"{name} must be a number above 0, got {value!r} of type {type(value).__name__}."
        )
    number = float(value)
    if not (math.isfinite(number) and number > 0):
        raise InputError(f"{name} must be a finite number above 0, got {value!r}.")
    return number


def check_positive_int(value: Any, name: str) -> int:
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        raise InputTypeError(
            f"{name} must be a whole number above 0, got {value!r} of type {type(value).__name__}."
        )
    if value <= 0:
        raise InputError(f"{name} must be a whole number above 0, got {value!r}.")
    return int(value)


def check_center(center: Any, rows: Any) -> Array | None:
    """The center as a float64 vector. "mean" and "median" are taken over ``rows``."""
    if center is None:
        return None
    if sparse.issparse(rows):
        raise InputError(
            "center cannot be used with sparse data: subtracting it would fill the zeros. "
            "Pass center=None, or a dense array if it fits in memory."
        )
    if isinstance(center, str):
        if center not in ("mean", "median"):
            raise InputError(f"center must be None, 'mean', 'median' or a vector, got {center!r}.")
        middle = np.mean if center == "mean" else np.median
        return np.concatenate([_middle(columns, middle) for columns in _column_blocks(rows)])
    vector = np.asarray(center)
    if vector.dtype.kind not in "fiub":
        raise InputTypeError(f"center must hold real numbers, got dtype {vector.dtype}.")
    if vector.shape != (rows.shape[1],):
        raise InputError(
            f"center must have one value a feature, shape ({rows.shape[1]},), got shape {vector.shape}."
        )
    vector = vector.astype(np.float64)
    check_finite(vector, "center", lambda k: (0, k))
    return vector


def check_out(out: Any, shape: tuple[int, int], dtype: Any) -> Array:
    """The array to write to: the caller's, checked, or a new one."""
    if out is None:
        return np.empty(shape, dtype)
    if not isinstance(out, np.ndarray):
        raise InputTypeError(f"out must be a NumPy array, got {type(out).__name__}.")
    if out.shape != shape or out.dtype != dtype:
        raise InputError(
            f"out must have shape {shape} and dtype {np.dtype(dtype)}, "
            f"got shape {out.shape} and dtype {out.dtype}."
        )
    if not out.flags.writeable:
        raise InputError("out is read-only: pass a writable array.")
    if not out.flags.aligned or (shape[1] > 1 and out.strides[1] != out.itemsize) or out.strides[0] < 0:
        raise InputError("out must be in C order, rows one after the other: pass np.empty(shape, dtype).")
    return out


def check_n_jobs(n_jobs: Any) -> int:
    """Number of threads, by scikit-learn's convention: None is 1, -1 all processors."""
    if n_jobs is not None and (isinstance(n_jobs, bool) or not isinstance(n_jobs, numbers.Integral)):
        raise InputTypeError(f"n_jobs must be None or a whole number, got {n_jobs!r}.")
    if n_jobs == 0:
        raise InputError("n_jobs must not be 0: use 1 for one thread, -1 for all processors.")
    return int(joblib.effective_n_jobs(n_jobs))


def row_batches(n_rows: int, row_bytes: int, batch_bytes: int) -> Iterator[slice]:
    """Slices of rows of at most ``batch_bytes``, at least one row each."""
    step = max(1, batch_bytes // max(1, row_bytes))
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def _as_array(X: Any, name: str) -> Array:
    if isinstance(X, np.ma.MaskedArray) and np.ma.is_masked(X):
        raise InputError(f"{name} is a masked array with masked values: fill or impute them first.")
    dtypes = getattr(X, "dtypes", None)
    if dtypes is not None and hasattr(X, "to_numpy"):  # a DataFrame: mixed columns would become objects
        for column, dtype in zip(X.columns, dtypes, strict=True):
            _check_dtype(getattr(dtype, "numpy_dtype", dtype), f"{name}[{column!r}]")
        common = (
            np.result_type(*[np.dtype(getattr(d, "numpy_dtype", d)) for d in dtypes])
            if len(dtypes)
            else float
        )
        if any(hasattr(d, "numpy_dtype") for d in dtypes):  # nullable columns: missing values become NaN
            array = X.to_numpy(dtype=np.float64, na_value=np.nan)
        else:
            array = X.to_numpy(dtype=common)
    else:
        array = np.asarray(X)
    _check_dtype(array.dtype, name)
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


def _check_dtype(dtype: Any, name: str) -> None:
    kind = getattr(dtype, "kind", "O")
    if kind in "fiub":
        return
    if kind == "c":
        raise InputError(
            f"{name} is complex ({dtype}): kernels are defined for real numbers; take .real or .imag."
        )
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
    """CSR with ascending distinct indices; a copy where X is not."""
    rows = X.tocsr()
    indptr, indices = np.asarray(rows.indptr), np.asarray(rows.indices)
    n, d = rows.shape
    broken = (
        len(indptr) != n + 1
        or indptr[0] != 0
        or indptr[-1] > min(len(indices), len(rows.data))
        or (np.diff(indptr) < 0).any()
        or (indptr[-1] > 0 and (indices[: indptr[-1]].min() < 0 or indices[: indptr[-1]].max() >= d))
    )
    if broken:
        raise InputError(
            f"{name} is a broken CSR matrix: indptr must rise from 0 to the number of values and indices "
            f"lie in [0, {d}). {name}.check_format() tells more."
        )
    if not _has_ascending_indices(indptr, indices):
        rows = type(rows)((rows.data.copy(), rows.indices.copy(), rows.indptr.copy()), shape=rows.shape)
        rows.sum_duplicates()
    return rows


def _has_ascending_indices(indptr: Array, indices: Array) -> bool:
    """Asked of the arrays themselves: SciPy's flags may be stale after a change in place."""
    end = int(indptr[-1])
    if end < 2:
        return True
    rises = np.diff(indices[:end]) > 0
    starts = indptr[1:-1]
    rises[starts[(starts > 0) & (starts < end)] - 1] = True  # from the end of one row to the next
    return bool(rises.all())


def _column_blocks(rows: Array) -> Iterator[Array]:
    for part in row_batches(rows.shape[1], 8 * rows.shape[0], 1 << 24):
        yield rows[:, part].astype(np.float64)


def _middle(columns: Array, middle: Any) -> Array:
    """Mean or median of each column, also where a sum passes the largest float."""
    with np.errstate(over="ignore"):
        found: Array = middle(columns, axis=0)
    if not np.isfinite(found).all():
        found = middle(columns / len(columns), axis=0) * len(columns)
    return found
