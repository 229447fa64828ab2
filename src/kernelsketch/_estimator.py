"""What all estimators share: errors about their parameters, and about targets."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils._param_validation import InvalidParameterError

from .backends import place_of
from .exceptions import InputError, plain


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


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return value is None
    return True
