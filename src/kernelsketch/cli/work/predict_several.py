"""``kernelsketch predict`` for a model of several labels: a column for each."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._errors import UsageError
from .._file_predictor import FilePredictor
from ..commands.predict import Predict


class SeveralAnswers:
    """The predictions of a block by the names of their columns, which are those of the labels."""

    def __init__(self, predictor: FilePredictor, task: Predict) -> None:
        self._model, self._has_classes, self._adds = predictor.model, not predictor.is_regressor, task.proba
        for name in ("scores", "interval", "explain"):
            if getattr(task, name) not in (None, False):
                raise UsageError(
                    f"--{name} is for models of one label, and {task.model} predicts {len(self._model.estimators_)}: "
                    "leave it out, or train a model for each label."
                )
        if task.proba and not self._has_classes:
            raise UsageError("--proba needs a classifier, but this model is a regressor: leave it out.")
        labels = predictor.labels or [f"label{number}" for number in range(len(self._model.estimators_))]
        self._labels = [f"prediction_{label}" for label in labels]
        self.rounded = [f"probability_{label}" for label in labels] if task.proba else []
        self.names = [*self._labels, *self.rounded]

    def columns(self, X: Any) -> dict[str, Any]:
        """Return the columns of a block of rows by name."""
        kind = np.int64 if self._has_classes else np.float64
        found = dict(zip(self._labels, np.asarray(self._model.predict(X), kind).T, strict=True))
        if not self._adds:
            return found
        return found | dict(zip(self.rounded, np.asarray(self._model.predict_proba(X), np.float64).T, strict=True))
