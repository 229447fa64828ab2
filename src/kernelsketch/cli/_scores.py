"""How good predictions are: counts and sums over blocks of rows, and the scores at the end.

Scores are means over rows, which may have weights; numbers of rows count each row once.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .._array import Array
from ..exceptions import InputError
from ._file_predictor import check_label_types, class_numbers
from ._ranking import Ranking
from ._results import label_value

ERROR_BINS, PLOT_BINS = 15, 10  # of probabilities, with equal widths
MOST_POINTS = 1000  # pairs of a label and a prediction that a plot shows


class ClassScores:
    """Count pairs (label, prediction). Labels that are no classes of the model have a row of their own."""

    def __init__(self, classes: Array, memory: int, positive: int | None = None) -> None:
        """Take the classes, and the number of the positive one: by default the second of two."""
        self.classes, two = classes, len(classes) == 2
        self.positive = 1 if two and positive is None else positive
        self.counts = np.zeros((len(classes) + 1, len(classes)), np.int64)
        self._weights, self._squares = np.zeros(self.counts.shape), 0.0  # sums over rows
        self.ranking = Ranking(len(classes), memory)
        self.probabilities = ProbabilityScores(self.positive if two else None)

    def add(
        self,
        y: Array,
        chosen: Array,
        values: Array,
        name: str,
        *,
        are_probabilities: bool,
        weights: Array | None = None,
    ) -> dict[str, Array]:
        """Add the labels of rows, the numbers of the classes that the model predicts, and probabilities or decisions.

        The result has the scores of each row by name, for slices; NaN where a row has none.
        """
        check_label_types(y, self.classes, name)
        numbers, weights = class_numbers(y, self.classes), np.ones(len(y)) if weights is None else weights
        np.add.at(self.counts, (numbers, chosen), 1)
        np.add.at(self._weights, (numbers, chosen), weights)
        self._squares += float(weights @ weights)
        known = numbers < len(self.classes)
        self.ranking.add(numbers[known], values[known], weights[known])
        of_rows = {"accuracy": (numbers == chosen).astype(np.float64)}
        if are_probabilities:
            losses = np.full(len(y), np.nan)
            losses[known] = self.probabilities.add(numbers[known], values[known], weights[known])
            of_rows["log_loss"] = losses
        if self.positive is not None:
            of_rows["observed"] = np.where(known, numbers == self.positive, np.nan)
            of_rows["predicted"] = values[:, self.positive] if are_probabilities else chosen == self.positive
        return of_rows

    def facts(self) -> dict[str, Any]:
        known, total = self._weights[:-1], float(self._weights.sum())
        n_effective = total**2 / self._squares  # the number of rows, if all have the weight 1
        areas: list[Any] = self.ranking.areas() if self.ranking.is_complete else [None] * len(self.classes)
        right, actual, chosen = np.diag(known), known.sum(axis=1), self._weights.sum(axis=0)
        accuracy, rows = float(right.sum() / total), self.counts[:-1].sum(axis=1).tolist()
        with np.errstate(invalid="ignore"):
            precision, recall, f1 = right / chosen, right / actual, 2 * right / (chosen + actual)
        per_class = [
            {"label": label_value(label), "rows": n, "precision": _number(a), "recall": _number(b), "f1": _number(c)}
            for label, n, a, b, c in zip(self.classes.tolist(), rows, precision, recall, f1, strict=True)
        ]
        for one, pair in zip(per_class, areas, strict=True):
            one["auc"], one["average_precision"] = pair or (None, None)
        counted = [pair for pair in areas if pair is not None]
        if len(self.classes) == 2:
            assert self.positive is not None
            counted = [areas[self.positive]] if counted else []
        means: list[float | None] = [float(np.mean(column)) for column in zip(*counted, strict=True)]
        means = means or [None, None]
        of_probabilities = self.probabilities.facts()
        if of_probabilities:
            shares = actual[actual > 0] / actual.sum()
            of_probabilities["baseline_log_loss"] = float((shares * -np.log(shares)).sum() + 0.0)
        return {
            "accuracy": accuracy,
            "standard_error": math.sqrt(accuracy * (1 - accuracy) / n_effective),
            "baseline_accuracy": float(actual.max() / total),
            "macro_f1": float(np.nanmean(f1)),
            "positive": None if self.positive is None else label_value(self.classes.tolist()[self.positive]),
            "auc": means[0],
            "average_precision": means[1],
            **of_probabilities,
            "unknown_labels": int(self.counts[-1].sum()),
            "classes": per_class,
            "confusion": self.counts[:-1],
        }

    def lines(self, facts: dict[str, Any]) -> dict[str, str]:
        accuracy = f"{100 * facts['accuracy']:.2f} % ± {100 * facts['standard_error']:.2f}"
        lines = {"accuracy": f"{accuracy} (the largest class: {100 * facts['baseline_accuracy']:.2f} %)"}
        if facts["positive"] is not None:
            one = facts["classes"][self.positive]
            shares = (f"{name} {_shown(one[name])}" for name in ("precision", "recall"))
            lines["positive class"] = f"{facts['positive']}: {', '.join(shares)}, F1 {_shown(one['f1'])}"
        lines["macro F1"] = f"{facts['macro_f1']:.4f}"
        lines |= self._area_lines(facts)
        if "log_loss" in facts:
            lines["log-loss"] = f"{facts['log_loss']:.4f} (the shares of the classes: {facts['baseline_log_loss']:.4f})"
            lines["calibration error"] = f"{facts['calibration_error']:.4f}, expected (ECE, {ERROR_BINS} bins)"
        if facts["unknown_labels"]:
            lines["unknown labels"] = f"{facts['unknown_labels']:,} rows have labels that are no classes of the model"
        return lines

    def _area_lines(self, facts: dict[str, Any]) -> dict[str, str]:
        if not self.ranking.is_complete:
            return {"AUC": "not computed: see --memory"}
        if facts["auc"] is None:
            return {"AUC": "not computed: all rows have one class"}
        many = len(self.classes) > 2
        lines = {}
        for name, key in (("AUC", "auc"), ("average precision", "average_precision")):
            one = None if self.positive is None else facts["classes"][self.positive][key]
            of_one = f"; of {facts['positive']}: {one:.4f}" if many and one is not None else ""
            mean = ", mean over the classes, each against the rest" if many else ""
            lines[name] = f"{facts[key]:.4f}{mean}{of_one}"
        return lines


class ProbabilityScores:
    """Sum the log-loss, and count rows by probability: of the positive of two classes, or of the predicted class."""

    def __init__(self, positive: int | None) -> None:
        self._positive = positive
        self._total, self._loss = 0.0, 0.0
        self._confidence, self._plotted = CalibrationBins(ERROR_BINS), CalibrationBins(PLOT_BINS)

    def add(self, numbers: Array, probabilities: Array, weights: Array) -> Array:
        """Add the classes of rows by number, the probabilities of all classes, and weights; return the log-losses."""
        self._total += float(weights.sum())
        own = probabilities[np.arange(len(numbers)), numbers]
        losses: Array = -np.log(np.maximum(own, np.finfo(np.float64).eps))
        self._loss += float((losses * weights).sum())
        confidence, right = probabilities.max(axis=1, initial=0.0), probabilities.argmax(axis=1) == numbers
        self._confidence.add(confidence, right, weights)
        one = self._positive
        event = (confidence, right) if one is None else (probabilities[:, one], numbers == one)
        self._plotted.add(event[0], event[1], weights)
        return losses

    def facts(self) -> dict[str, Any]:
        if not self._total:
            return {}
        return {
            "log_loss": self._loss / self._total,
            "calibration_error": self._confidence.error,
            "calibration": self._plotted.points(),
        }


class CalibrationBins:
    """Probabilities of an event in bins of equal width, and how often the event came true."""

    def __init__(self, count: int) -> None:
        self._rows, self._weights = np.zeros(count, np.int64), np.zeros(count)
        self._sums, self._hits = np.zeros(count), np.zeros(count)

    def add(self, probabilities: Array, hits: Array, weights: Array) -> None:
        count = len(self._rows)
        number = np.clip(np.ceil(probabilities * count).astype(np.intp) - 1, 0, count - 1)
        self._rows += np.bincount(number, minlength=count)
        self._weights += np.bincount(number, weights, minlength=count)
        self._sums += np.bincount(number, probabilities * weights, minlength=count)
        self._hits += np.bincount(number[hits], weights[hits], minlength=count)

    @property
    def error(self) -> float:
        """Mean over rows of the difference between predicted and observed frequency of their bin."""
        return float(np.abs(self._sums - self._hits).sum() / self._weights.sum())

    def points(self) -> list[dict[str, Any]]:
        """Return the bins that have rows."""
        return [
            {"predicted": float(total / weight), "observed": float(hits / weight), "rows": int(n)}
            for n, weight, total, hits in zip(self._rows, self._weights, self._sums, self._hits, strict=True)
            if weight
        ]


class ValueScores:
    """Sum errors, and labels around the first of them."""

    def __init__(self) -> None:
        self._n, self._weight, self._origin = 0, 0.0, np.float64(0)
        self._absolute = self._squared = self._sum = self._sum_squares = np.float64(0)
        self.points: list[tuple[float, float]] = []

    def add(self, y: Array, predicted: Array, name: str, weights: Array | None = None) -> dict[str, Array]:
        """Add the labels of rows and what the model predicts; return the errors of each row by name, for slices."""
        if y.dtype.kind not in "iufb":
            raise InputError(
                f"The labels of {name} are text, but the model predicts numbers: check that they belong together."
            )
        y, weights = y.astype(np.float64), np.ones(len(y)) if weights is None else weights
        if self._n == 0:
            self._origin = np.float64(y[0])
        self._n, self._weight = self._n + len(y), self._weight + float(weights.sum())
        room = MOST_POINTS - len(self.points)
        self.points += zip(predicted[:room].tolist(), y[:room].tolist(), strict=True)
        with np.errstate(over="ignore"):  # squares of large values become infinite, and are shown so
            error, shifted = predicted - y, y - self._origin
            self._absolute += (np.abs(error) * weights).sum()
            self._squared += np.float64((error * weights) @ error)
            self._sum += (shifted * weights).sum()
            self._sum_squares += np.float64((shifted * weights) @ shifted)
            return {"mean_absolute_error": np.abs(error), "mean_squared_error": error**2, "mean_error": error}

    def facts(self) -> dict[str, Any]:
        with np.errstate(all="ignore"):
            spread = self._sum_squares - self._sum**2 / self._weight
            return {
                "r2": float(1 - self._squared / spread) if spread > 0 else None,
                "mean_absolute_error": float(self._absolute / self._weight),
                "root_mean_squared_error": float(np.sqrt(self._squared / self._weight)),
                "baseline_root_mean_squared_error": _number(np.sqrt(np.maximum(spread, 0) / self._weight)),
            }

    def lines(self, facts: dict[str, Any]) -> dict[str, str]:
        baseline = facts["baseline_root_mean_squared_error"]
        return {
            "R2": "-" if facts["r2"] is None else f"{facts['r2']:.4f}",
            "mean absolute error": f"{facts['mean_absolute_error']:.6g}",
            "root mean squared error": f"{facts['root_mean_squared_error']:.6g} (the mean of the labels: "
            f"{'-' if baseline is None else f'{baseline:.6g}'})",
        }


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
