"""What all estimators share: errors about their parameters, and about targets."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils._param_validation import InvalidParameterError

from ._rounding import float_of
from .backends import place_of
from .exceptions import InputError, plain

MOST_TEXT = 1 << 24  # bytes of an array of text labels
NOT_FINITE = {f"{sign}{name}" for sign in ("", "+", "-") for name in ("nan", "inf", "infinity")}  # refused later


class PlainParameters:
    """Makes scikit-learn's errors about parameters show values as Python writes them. It precedes BaseEstimator."""

    def _validate_params(self) -> None:
        try:
            super()._validate_params()  # type: ignore[misc]
        except InvalidParameterError as error:
            raise InvalidParameterError(plain(str(error))) from None


def numeric_targets(y: Any, owner: str) -> Any:
    """Return targets that are text or Python objects as numbers, and all others as they are.

    scikit-learn looks for missing values before it converts objects to numbers, so it would let None pass.
    """
    dtype = getattr(y, "dtype", None)
    if y is None or place_of(y) is not None or (dtype is not None and getattr(dtype, "kind", "O") not in "OUST"):
        return y
    values = np.asarray(y)
    if values.dtype.kind not in "OUST":
        return y
    try:
        if not all(map(_is_number, values.ravel().tolist())):
            raise ValueError
        return values.astype(np.float64)
    except (TypeError, ValueError):
        row, value = next((i, v) for i, v in enumerate(values.ravel().tolist()) if not _is_number(v))
        raise InputError(
            f"y contains {repr(value)[:60]} (row {row}), but {owner} predicts numbers: pass numbers, or use a "
            "classifier."
        ) from None


def check_labels_known(y: Any) -> None:
    """Refuse None and NaN among labels that are Python objects."""
    for row, value in enumerate(y.tolist() if y.dtype.kind == "O" else ()):
        if value is None or value != value:
            raise InputError(f"y has a missing label, {value!r}, in row {row}: remove it or give it a label.")


def distinct_labels(y: Any) -> Any:
    """Return labels in a form that keeps them apart in little memory, if NumPy or scikit-learn would not do so.

    An array of text has room for the longest label in every row, and cuts NUL at the end of labels. scikit-learn turns
    the integers of pandas that may be missing into float64.
    """
    if isinstance(y, (list, tuple)) and y and all(isinstance(label, str) for label in y):
        size = 4 * len(y) * max(map(len, y))
        return np.array(y, dtype=object) if size > MOST_TEXT or any(label.endswith("\0") for label in y) else y
    exact = getattr(getattr(y, "dtype", None), "numpy_dtype", None)
    if getattr(exact, "kind", "O") in "iu" and hasattr(y, "isna") and not y.isna().any():
        return y.to_numpy(dtype=exact)
    return y


def _is_number(value: Any) -> bool:
    if isinstance(value, str):
        return float_of(value.strip()) is not None or value.strip().lower() in NOT_FINITE
    try:
        float(value)
    except (TypeError, ValueError):
        return value is None
    return True
