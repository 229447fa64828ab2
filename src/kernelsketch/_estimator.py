"""What all estimators share: errors about their parameters, and about targets."""

from __future__ import annotations

from operator import is_
from typing import Any

import numpy as np
from sklearn.utils._param_validation import InvalidParameterError, validate_parameter_constraints

from ._rounding import float_of
from ._validation import refuse_huge
from .backends import place_of
from .exceptions import InputError, InputTypeError, ParameterError, Setting

MOST_TEXT = 1 << 24  # bytes of an array of text labels
NOT_FINITE = {f"{sign}{name}" for sign in ("", "+", "-") for name in ("nan", "inf", "infinity")}  # refused later


class ConstraintError(ParameterError, InvalidParameterError):  # type: ignore[misc]
    """A parameter of an estimator violates its constraints. It is scikit-learn's error too."""


class PlainParameters:
    """Makes errors about parameters our own: ``error.parameter`` names the one. It precedes BaseEstimator.

    Rows can be sparse, unless the estimator has a center.
    """

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = getattr(self, "center", None) is None
        return tags

    def _validate_params(self) -> None:
        try:
            super()._validate_params()  # type: ignore[misc]
        except InvalidParameterError:
            estimator: Any = self
            check_constraints(
                estimator._parameter_constraints, estimator.get_params(deep=False), type(estimator).__name__
            )
            raise


def check_constraints(constraints: dict[str, Any], given: dict[str, Any], owner: str) -> None:
    """Check values as scikit-learn does, one by one, so that the error has the name of the parameter."""
    for name, value in given.items():
        try:
            validate_parameter_constraints(constraints, {name: value}, owner)
        except InvalidParameterError as error:
            subject = f"The {name!r} parameter of {owner}"
            raise ConstraintError(Setting(name, text=subject), str(error).removeprefix(subject)) from None


class ValidatedOnce(PlainParameters):
    """Validates parameters only if one was set since the last time, for estimators that validate them in every call."""

    def _validate_params(self) -> None:
        given = [getattr(self, name, None) for name in self._parameter_constraints]  # type: ignore[attr-defined]
        valid = self.__dict__.get("_valid_parameters")
        if valid is None or not all(map(is_, given, valid)):
            super()._validate_params()
            self._valid_parameters = given

    def __getstate__(self) -> Any:
        state: dict[str, Any] = super().__getstate__()  # type: ignore[assignment]
        return {name: value for name, value in state.items() if name != "_valid_parameters"}


def numeric_targets(y: Any, owner: str) -> Any:
    """Return targets that are text or Python objects as numbers, and all others as they are.

    scikit-learn looks for missing values before it converts objects to numbers, so it would let None pass.
    """
    dtype = getattr(y, "dtype", None)
    if y is None or place_of(y) is not None or (dtype is not None and getattr(dtype, "kind", "O") not in "OUST"):
        return y
    values = np.asarray(_decoded(y))
    if values.dtype.kind not in "OUST":
        return y
    try:
        if not all(map(_is_number, values.ravel().tolist())):
            raise ValueError
        return values.astype(np.float64)
    except OverflowError:
        refuse_huge(values, "y")
        raise
    except (TypeError, ValueError):
        row, value = next((i, v) for i, v in enumerate(values.ravel().tolist()) if not _is_number(v))
        raise InputError(
            f"y contains {repr(value)[:60]} (row {row}), but {owner} predicts numbers: pass numbers, or use a "
            "classifier."
        ) from None


def plain_labels(y: Any) -> Any:
    """Return labels as scikit-learn takes them. Text beside other labels is refused: no order holds for both.

    NumPy would turn the numbers of a list into text, and missing labels into the class ``"nan"``.
    """
    y = _kept_apart(_decoded(y))
    if isinstance(y, np.ndarray) and y.dtype.kind == "T":  # which scikit-learn does not take
        y = y.astype(object)
    values = y.tolist() if getattr(getattr(y, "dtype", None), "kind", "") == "O" and np.ndim(y) == 1 else y
    if not isinstance(values, (list, tuple)):
        return y
    types = set(map(type, values))
    if len(types) < 2 or not any(issubclass(kind, str) for kind in types):
        return y
    for row, value in enumerate(values):
        if not isinstance(value, str):
            _refuse_missing(value, row)
            text = next(other for other in values if isinstance(other, str))
            raise InputTypeError(
                f"y has labels of several types, {repr(text)[:60]} and {repr(value)[:60]} (row {row}) of type "
                f"{type(value).__name__}: pass labels of one type, for example [str(label) for label in y]."
            )
    return y


def _decoded(y: Any) -> Any:
    """Return an array of pyarrow with a dictionary as Python objects: NumPy gets wrong values for missing ones."""
    if hasattr(y, "to_pylist") and str(getattr(y, "type", "")).startswith("dictionary"):
        values = y.to_pylist()
        found = np.empty(len(values), object)
        found[:] = values
        return found
    return y


def check_labels_known(y: Any) -> None:
    """Refuse None and NaN among labels that are Python objects."""
    for row, value in enumerate(y.tolist() if y.dtype.kind == "O" else ()):
        _refuse_missing(value, row)


def _refuse_missing(value: Any, row: int) -> None:
    if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
        raise InputError(f"y has a missing label, {value!r}, in row {row}: remove it or give it a label.")


def _kept_apart(y: Any) -> Any:
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
