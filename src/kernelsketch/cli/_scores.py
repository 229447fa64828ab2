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
from ._results import label_value

ERROR_BINS, PLOT_BINS = 15, 10  # of probabilities, with equal widths
MOST_POINTS = 1000  # pairs of a label and a prediction that a plot shows


class ClassScores:
    """Count pairs (label, prediction). Labels that are no classes of the model have a row of their own."""

    def __init__(self, classes: Array, memory: int) -> None:
        self.classes = classes
        self.counts = np.zeros((len(classes) + 1, len(classes)), np.int64)
        self._weights, self._squares = np.zeros(self.counts.shape), 0.0  # sums over rows
        self.probabilities = ProbabilityScores(len(classes), memory)

    def add(
        self, y: Array, predicted: Array, probabilities: Array | None, name: str, weights: Array | None = None
    ) -> None:
        """Add the labels of rows, the labels that the model predicts, and the probabilities if the model has them."""
        check_label_types(y, self.classes, name)
        numbers, weights = class_numbers(y, self.classes), np.ones(len(y)) if weights is None else weights
        pairs = numbers, class_numbers(predicted, self.classes)
        np.add.at(self.counts, pairs, 1)
        np.add.at(self._weights, pairs, weights)
        self._squares += float(weights @ weights)
        if probabilities is not None:
            known = numbers < len(self.classes)
            self.probabilities.add(numbers[known], probabilities[known], weights[known])

    def facts(self) -> dict[str, Any]:
        known, total = self._weights[:-1], float(self._weights.sum())
        n_effective = total**2 / self._squares  # the number of rows, if all have the weight 1
        right, actual, chosen = np.diag(known), known.sum(axis=1), self._weights.sum(axis=0)
        accuracy = float(right.sum() / total)
        with np.errstate(invalid="ignore"):
            precision, recall, f1 = right / chosen, right / actual, 2 * right / (chosen + actual)
        per_class = [
            {"label": label_value(label), "rows": n, "precision": _number(a), "recall": _number(b), "f1": _number(c)}
            for label, n, a, b, c in zip(
                self.classes.tolist(), self.counts[:-1].sum(axis=1).tolist(), precision, recall, f1, strict=True
            )
        ]
        return {
            "accuracy": accuracy,
            "standard_error": math.sqrt(accuracy * (1 - accuracy) / n_effective),
            "macro_f1": float(np.nanmean(f1)),
            **self.probabilities.facts(),
            "unknown_labels": int(self.counts[-1].sum()),
            "classes": per_class,
            "confusion": self.counts[:-1],
        }

    def lines(self, facts: dict[str, Any]) -> dict[str, str]:
        lines = {
            "accuracy": f"{100 * facts['accuracy']:.2f} % ± {100 * facts['standard_error']:.2f}",
            "macro F1": f"{facts['macro_f1']:.4f}",
        }
        if "log_loss" in facts:
            lines["log-loss"] = f"{facts['log_loss']:.4f}"
            auc = facts["auc"]
            mean = ", mean over the classes, each against the rest" if len(self.classes) > 2 else ""
            lines["AUC"] = "not computed: see --memory" if auc is None else f"{auc:.4f}{mean}"
            lines["calibration error"] = f"{facts['calibration_error']:.4f}, expected (ECE, {ERROR_BINS} bins)"
        if facts["unknown_labels"]:
            lines["unknown labels"] = f"{facts['unknown_labels']:,} rows have labels that are no classes of the model"
        return lines


class ProbabilityScores:
    """Sum the log-loss, count rows by probability, and keep the probabilities for the AUC while memory allows."""

    def __init__(self, n_classes: int, memory: int) -> None:
        self._n_classes, self._room = n_classes, memory
        self._total, self._loss = 0.0, 0.0
        self._confidence, self._plotted = CalibrationBins(ERROR_BINS), CalibrationBins(PLOT_BINS)
        self._numbers: list[Array] = []
        self._kept: list[Array] = []
        self._weights: list[Array] = []

    def add(self, numbers: Array, probabilities: Array, weights: Array) -> None:
        """Add the numbers of the classes of rows, the probabilities of all classes, and the weights of the rows."""
        self._total += float(weights.sum())
        own = probabilities[np.arange(len(numbers)), numbers]
        self._loss -= float((np.log(np.maximum(own, np.finfo(np.float64).eps)) * weights).sum())
        confidence, right = probabilities.max(axis=1, initial=0.0), probabilities.argmax(axis=1) == numbers
        self._confidence.add(confidence, right, weights)
        two = self._n_classes == 2
        self._plotted.add(*((probabilities[:, 1], numbers == 1) if two else (confidence, right)), weights)
        kept = probabilities[:, 1:] if two else probabilities
        self._room -= 2 * (kept.nbytes + numbers.nbytes + weights.nbytes)  # one more copy when they are joined
        if self._room > 0:
            self._numbers.append(numbers)
            self._kept.append(kept)
            self._weights.append(weights)

    def facts(self) -> dict[str, Any]:
        if not self._total:
            return {}
        return {
            "log_loss": self._loss / self._total,
            "auc": self._auc() if self._room > 0 else None,
            "calibration_error": self._confidence.error,
            "calibration": self._plotted.points(),
        }

    def _auc(self) -> float | None:
        """Return the area under the ROC curve; for several classes the mean over those that occur."""
        from sklearn.metrics import roc_auc_score

        numbers, kept, weights = (np.concatenate(parts) for parts in (self._numbers, self._kept, self._weights))
        used = weights > 0
        numbers, kept, weights = numbers[used], kept[used], weights[used]
        first = 1 if self._n_classes == 2 else 0
        found = [
            float(roc_auc_score(is_class, kept[:, column], sample_weight=weights))
            for column in range(kept.shape[1])
            if 0 < (is_class := numbers == first + column).sum() < len(numbers)
        ]
        return sum(found) / len(found) if found else None


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

    def add(self, y: Array, predicted: Array, name: str, weights: Array | None = None) -> None:
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

    def facts(self) -> dict[str, Any]:
        with np.errstate(all="ignore"):
            spread = self._sum_squares - self._sum**2 / self._weight
            return {
                "r2": float(1 - self._squared / spread) if spread > 0 else None,
                "mean_absolute_error": float(self._absolute / self._weight),
                "root_mean_squared_error": float(np.sqrt(self._squared / self._weight)),
            }

    def lines(self, facts: dict[str, Any]) -> dict[str, str]:
        return {
            "R2": "-" if facts["r2"] is None else f"{facts['r2']:.4f}",
            "mean absolute error": f"{facts['mean_absolute_error']:.6g}",
            "root mean squared error": f"{facts['root_mean_squared_error']:.6g}",
        }


def _number(value: Any) -> float | None:
    return None if np.isnan(value) else float(value)
