"""Check the user's data once and turn them into :class:`~kernelsketch.backends.Rows`.

Public functions and estimators call a function of this module first. Data frames of any library are read by
:mod:`kernelsketch._frames`, and estimators store and compare their names as scikit-learn does. Arrays of other
libraries are not copied to NumPy: the :class:`~kernelsketch.backends.Place` that owns them checks them.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ._array import Array
from ._frames import frame_of, matrix_of
from ._validation import FLOATS, check_center, check_finite, check_n_jobs, check_rows, is_sparse, refuse_huge
from .backends import CsrRows, DenseRows, Rows, backend_for, on_host, place_of, processor_for
from .exceptions import InputError

MOST_FEATURES = 2**62
FEW_VALUES = 1 << 12


def rows_of(X: Any, name: str = "X", threads: int = 1) -> Rows:
    """Convert an array or a matrix of any layout and real dtype to rows.

    This function does not check that all values are finite.
    """
    place = place_of(X)
    if place is not None:
        return place.rows(X, name)
    if _is_canonical(X, threads):
        return CsrRows.of(X)
    checked = check_rows(X, name)
    return CsrRows.of(checked) if is_sparse(checked) else DenseRows(checked)


def estimator_rows(estimator: Any, X: Any, *, reset: bool, threads: int | None = None, **options: Any) -> Rows:
    """Check an estimator's input as scikit-learn does and return rows of float32 or float64.

    With ``reset`` the estimator stores the number and the names of the features; without it they are compared with the
    stored ones. ``threads`` are those of the estimator's ``n_jobs``, if they are known already. ``options`` go to
    :func:`sklearn.utils.validation.validate_data`.
    """
    place = place_of(X)
    if place is not None:
        rows = place.rows(X, "X")
        check_width(estimator, rows.n_features, reset)
        return rows
    if not (reset or options) and _is_valid(estimator, X):
        return DenseRows(X)
    threads = _threads_of(estimator) if threads is None else threads
    if _are_finite(X, threads):
        options = {"ensure_all_finite": False} | options
    return canonical_rows(checked_data(estimator, X, reset=reset, **options), threads)


def checked_data(estimator: Any, X: Any, y: Any = "no_validation", *, reset: bool = True, **options: Any) -> Any:
    """Check X, and y if it is given, by scikit-learn's :func:`~sklearn.utils.validation.validate_data`.

    The result is an array of float32 or float64, or a CSR matrix, and y. scikit-learn reads data frames of pandas; the
    numbers of those of other libraries are read here, and scikit-learn stores or compares their names.
    """
    from sklearn.utils.validation import check_array, check_X_y, validate_data

    options = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]} | options
    frame = frame_of(X)
    if frame is not None:
        X = frame.to_native()
    with _conversion_explained(estimator, X):
        if frame is None or frame.implementation.is_pandas():
            return validate_data(estimator, X, y, reset=reset, **options)
        validate_data(estimator, X, y, reset=reset, skip_check_array=True)
        values, options = matrix_of(frame, "X"), options | {"estimator": estimator}
        if isinstance(y, str) and y == "no_validation":
            return check_array(values, input_name="X", **options)
        return check_X_y(values, y, **options)


@contextmanager
def _conversion_explained(estimator: Any, X: Any) -> Iterator[None]:
    """Say what to do with text and huge integers, of which scikit-learn says only that they cannot be converted."""
    try:
        yield
    except OverflowError:
        refuse_huge(X, "X")
        raise
    except ValueError as error:
        sentence, _, value = str(error).partition(": ")
        if sentence != "could not convert string to float":
            raise
        raise InputError(
            f"X contains the text {value}, but {type(estimator).__name__} takes numbers: encode categories first, for "
            "example with sklearn.preprocessing.OneHotEncoder, or use GCWSTabularClassifier or GCWSTabularRegressor, "
            "which take tables as they are."
        ) from None


def _are_finite(X: Any, threads: int) -> bool:
    """Return whether X is an array or a CSR matrix of floats that the threads found finite.

    Otherwise scikit-learn looks at the values, which takes longer, and raises its own error.
    """
    values = X if type(X) is np.ndarray else X.data if is_sparse(X) and X.format == "csr" else None
    if type(values) is not np.ndarray or values.dtype not in FLOATS or not values.flags.c_contiguous:
        return False
    flat = values.reshape(-1)
    whole = len(flat) // FEW_VALUES * FEW_VALUES
    parts = (flat[:whole].reshape(-1, FEW_VALUES), flat[whole:].reshape(1, -1))
    backend = backend_for(values, threads=threads)
    return all(np.isfinite(backend.measure(DenseRows(part)).sizes).all() for part in parts if part.size)


def _is_canonical(X: Any, threads: int) -> bool:
    """Return whether X is a nonempty CSR matrix of real numbers whose arrays the threads found sound and ascending."""
    if not is_sparse(X) or X.format != "csr" or X.ndim != 2 or X.dtype.kind not in "fiub" or 0 in X.shape:
        return False
    arrays = X.indptr, X.indices, X.data
    if any(type(array) is not np.ndarray for array in arrays) or len(X.indptr) != X.shape[0] + 1:
        return False
    count = min(len(X.indices), len(X.data))
    return processor_for(threads=threads).is_canonical(X.indptr, X.indices[:count], X.shape[1])


def _threads_of(estimator: Any) -> int:
    return check_n_jobs(getattr(estimator, "n_jobs", None))


def _is_valid(estimator: Any, X: Any) -> bool:
    """Return whether a few rows pass scikit-learn's check as they are, which takes longer than their prediction.

    If they do not, or if it is not obvious, scikit-learn's check has the last word and the message.
    """
    return (
        type(X) is np.ndarray
        and X.dtype in FLOATS
        and X.ndim == 2
        and 0 < X.size <= FEW_VALUES
        and X.shape[1] == estimator.n_features_in_
        and not hasattr(estimator, "feature_names_in_")
        and bool(np.isfinite(X).all())
    )


def estimator_rows_and_targets(estimator: Any, X: Any, y: Any, *, reset: bool, **options: Any) -> tuple[Rows, Any]:
    """Do the same for rows and targets. The targets become a NumPy array; ``options`` go to the check of y."""
    place = place_of(X)
    if place is None:
        threads = _threads_of(estimator)
        if _are_finite(X, threads):
            options = {"ensure_all_finite": False} | options
        X, y = checked_data(estimator, X, y, reset=reset, **options)
        return canonical_rows(X, threads), y
    from sklearn.utils.validation import _check_y

    rows = estimator_rows(estimator, X, reset=reset)
    if place_of(y) is not None:
        y = place.backend(1).to_numpy(y)
    y = _check_y(y, multi_output=False, estimator=estimator, **options)
    if len(y) != len(rows):
        raise InputError(f"X has {len(rows)} rows and y has {len(y)}: they must have the same number.")
    return rows, y


def check_width(estimator: Any, n_features: int, reset: bool) -> None:
    """Store or compare the number of features. The message is scikit-learn's own."""
    if reset:
        estimator.n_features_in_ = n_features
        if hasattr(estimator, "feature_names_in_"):
            del estimator.feature_names_in_
    elif n_features != estimator.n_features_in_:
        raise InputError(
            f"X has {n_features} features, but {type(estimator).__name__} is expecting {estimator.n_features_in_} "
            "features as input."
        )


def canonical_rows(X: Any, threads: int = 1) -> Rows:
    """Convert a matrix that scikit-learn has checked to rows. Sparse rows get ascending, distinct indices."""
    checked = X if _is_canonical(X, threads) else check_rows(X, "X")
    if checked.shape[1] > MOST_FEATURES:
        raise InputError(f"X has {checked.shape[1]} features: at most 2**62 are supported.")
    if not is_sparse(checked):
        return DenseRows(checked)
    if checked is not X:  # duplicates were added up, which can overflow
        locate = lambda k: (int(np.searchsorted(checked.indptr, k, "right")) - 1, checked.indices[k])  # noqa: E731
        check_finite(checked.data, "X", locate)
    return CsrRows.of(checked)


def learned_center(center: Any, rows: Rows, counts: Array | None = None) -> Array | None:
    """Return the center as a NumPy vector.

    "mean" and "median" are computed from the rows, which must be dense and count for ``counts`` rows each, or for one.
    """
    learned = isinstance(center, str) and isinstance(rows, DenseRows)
    return check_center(on_host(center), on_host(rows.arrays[0]) if learned else rows, counts)
