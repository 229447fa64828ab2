"""Several outputs: numbers in several columns, or several labels per row, with one model per output.

Columns that matter to one output need not matter to another, so each output has its own weights of columns, codes, C,
calibration and trees. The table is read once; everything else is done for each output.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from inspect import getattr_static
from typing import Any, NoReturn

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array

from .._array import Array
from .._estimator import numeric_targets
from .._frames import frame_of, matrix_of
from ..exceptions import ColumnWarning, InputError, InputTypeError
from ._choices import dropping
from ._effort import Clock
from ._frame import Table
from ._read import read_table
from ._teacher import matrix_of_targets
from ._weights import small_seed_of

LEAST_BUDGET = 1e-3  # seconds, of an output for which no time is left
LEAST_EFFORT = {"effort": "quick", "budget": LEAST_BUDGET, "on_interrupt": "raise"}
OF_EACH = {  # attributes and properties of a fitted model that each output has
    *("columns_", "feature_importances_", "effort_", "model_", "trees_share_"),
    *("held_out_error_", "held_out_scores_", "threshold_"),
}


def several_numbers(y: Any, owner: str) -> Array | None:
    """Return targets of at least two columns of numbers, float64 (rows, outputs), or None if y is something else."""
    frame = frame_of(y, "y")
    values = y if frame is None else matrix_of(frame, "y") if len(frame.columns) > 1 else None
    try:
        if values is None or np.ndim(values) != 2 or np.shape(values)[1] < 2:
            return None
    except (TypeError, ValueError):  # of a GPU, or rows of several lengths
        return None
    return np.asarray(check_array(numeric_targets(values, owner), dtype=np.float64, input_name="y"))


def several_labels(y: Any) -> Array | None:
    """Return 0/1 labels (rows, outputs), or None if y has no several columns of integers or booleans."""
    found = matrix_of_targets(y)
    if found is None or found[0].dtype.kind not in "iub":
        return None
    values = found[0]
    wrong = (values != 0) & (values != 1)
    if wrong.any():
        row, column = (int(part[0]) for part in np.nonzero(wrong))
        raise InputTypeError(
            f"y has several columns of integers, and {values[row, column]} in row {row}, column {column}: several "
            "labels per row are a matrix of 0 and 1. Fit a model to each column if the columns have more classes, and "
            "pass floats for probabilities of classes."
        )
    for column, labels in enumerate(values.T):
        if not np.ptp(labels.astype(np.int8)):
            raise InputError(
                f"column {column} of y has only one class, {labels.tolist()[0]!r}: leave it out, or pass rows of both."
            )
    return values


PRIVATE = {
    "_plan",
    "_views",
    "_trees",
    "_temperature",
    "_importances",
    "_intervals",
    "_exponent",
    "_background",
    "_ended_early",
    "_scored",
    "_loss",
    "_link",
}


class SeveralOutputs:
    """Fits one estimator per output, and says where an attribute or a method is that of each output."""

    estimators_: list[Any]

    def __getattr__(self, name: str) -> NoReturn:
        """Raise an error for attributes that an object does not have, and properties that raise an AttributeError."""
        outputs = vars(self).get("estimators_")
        if outputs is not None and name in OF_EACH:
            raise AttributeError(
                f"{type(self).__name__} was fitted to {len(outputs)} outputs, each of which has its own {name}: read "
                f"model.estimators_[i].{name}."
            )
        found = getattr_static(type(self), name, None)
        if isinstance(found, property) and found.fget is not None:
            found.fget(self)  # raises its error, for example that the model is not fitted
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    @property
    def _has_several(self) -> bool:
        return "estimators_" in vars(self)

    def _refuse_several(self, method: str) -> None:
        """Raise an error if the model has several outputs."""
        if self._has_several:
            raise InputError(
                f"{method} is that of one output, and {type(self).__name__} was fitted to {len(self.estimators_)}: "
                f"call model.estimators_[i].{method}."
            )

    def _fit_outputs(
        self, X: Any, Y: Array, sample_weight: Any, groups: Any, time: Any, progress: Callable[[str], None] | None
    ) -> None:
        """Fit an estimator to each column of Y. A budget is shared: each output gets its part of what is left.

        After Ctrl-C that is to keep what there is, the outputs that are left get a model of the least effort.
        """
        model: Any = self
        named = isinstance(groups, str) or isinstance(time, str)  # maybe a column that is dropped
        table = read_table(X, None if named else dropping(model.drop))
        seed, clock = small_seed_of(model.random_state), Clock(model.budget)
        say = model._reporter(progress)
        fitted: list[Any] = []
        given, ended = {name: getattr(model, name) for name in ("effort", "budget", "on_interrupt")}, False
        for i, y in enumerate(Y.T):
            say(f"output {i + 1} of {Y.shape[1]}")
            one = clone(model).set_params(random_state=seed)
            if ended:
                one.set_params(**LEAST_EFFORT)
            elif model.budget is not None:
                one.set_params(budget=max(LEAST_BUDGET, clock.left / (Y.shape[1] - i)))
            with warnings.catch_warnings():
                if i:
                    warnings.simplefilter("ignore", ColumnWarning)  # the first output gave it
                one.fit(table, np.ascontiguousarray(y), sample_weight, groups=groups, time=time, progress=progress)
            ended = ended or one._ended_early
            fitted.append(one.set_params(**given))
        self._forget()
        self._set_outputs(fitted)

    def _set_outputs(self, fitted: list[Any]) -> None:
        """Take fitted estimators, one per output."""
        model: Any = self
        self.estimators_ = fitted
        model.n_features_in_ = fitted[0].n_features_in_
        if hasattr(fitted[0], "feature_names_in_"):
            model.feature_names_in_ = fitted[0].feature_names_in_
        model.held_out_score_ = float(np.mean([one.held_out_score_ for one in fitted]))

    def _forget(self) -> None:
        """Remove what an earlier fit has left."""
        for name in list(vars(self)):
            if name in PRIVATE or (name.endswith("_") and not name.startswith("_")):
                delattr(self, name)

    def _of_outputs(self, method: str, X: Any) -> Array:
        """Return what a method of each output gives for a table, which is read once, side by side."""
        table = self._table_of_outputs(X)
        return np.column_stack([getattr(one, method)(table) for one in self.estimators_])

    def _table_of_outputs(self, X: Any) -> Table:
        return read_table(X, self.estimators_[0]._plan.drops)
