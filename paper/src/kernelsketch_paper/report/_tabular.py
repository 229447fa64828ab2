"""The study of tables of data: ``tabular.csv`` beside the results, and its means, ranks and differences.

``benchmarks/compare_tabular.py`` writes the file: one model on one split of one dataset per line. Models may lack
datasets or splits, and official splits can be harder than random ones. So nothing is averaged over different rows:
a mean over datasets takes those that all models have, with the splits that all of them have, and a difference
between two models takes the datasets and splits that both have.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path
from statistics import fmean, median, stdev
from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from kernelsketch.exceptions import InputError

from ._choice import score_of_repetitions
from ._parts import Score

FILE = "tabular.csv"
OURS, PEER = "ours", "LightGBM"
MODELS = (OURS, "ours, quick", PEER, "HistGradientBoosting", "CatBoost", "SVM")
TEXTS = ("task", "dataset", "model")
COUNTS = ("split", "n_train", "n_features", "threads")
NUMBERS = ("accuracy", "log_loss", "calibration_error", "relative_rmse", "fit_seconds", "row_us")
NEEDED = ("task", "dataset", "model", "split", "threads")  # cells that cannot be blank


class Task(NamedTuple):
    """A kind of target, and the column that says how good a model is."""

    name: str
    column: str
    label: str  # what the column is, in percent
    sign: int  # 1 if more is better, -1 if less is better


TASKS = (
    Task("classification", "accuracy", "accuracy", 1),
    Task("regression", "relative_rmse", "RMSE", -1),
)


@dataclass(frozen=True)
class Measurement:
    """One model on one split. Accuracies are fractions; errors are in standard deviations of the targets."""

    task: str
    dataset: str
    model: str
    split: int
    threads: int
    n_train: int | None = None
    n_features: int | None = None
    accuracy: float | None = None
    log_loss: float | None = None
    calibration_error: float | None = None
    relative_rmse: float | None = None
    fit_seconds: float | None = None
    row_us: float | None = None

    def get(self, column: str) -> float | None:
        """Return the number of a column, or None if its cell is blank."""
        value: float | None = getattr(self, column)
        return value


def read_tabular(folder: Path) -> list[Measurement]:
    """Return the measurements with one thread per model, or none if there is no file. InputError names a bad line."""
    path = Path(folder) / FILE
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        return []
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        raise _damaged(path, content.count(b"\n", 0, error.start) + 1, "it is not UTF-8") from None
    lines = csv.reader(StringIO(text, newline=""), strict=True)
    found: dict[tuple[object, ...], Measurement] = {}
    try:
        columns = next(lines, [])
        absent = [name for name in (*TEXTS, *COUNTS, *NUMBERS) if columns.count(name) != 1]
        if absent:
            raise ValueError(f"it must name these columns once: {', '.join(absent)}")
        for line in lines:
            if len(line) != len(columns):
                raise ValueError(f"it has {len(line)} cells instead of {len(columns)}")
            row = _measurement(dict(zip(columns, line, strict=True)))
            key = tuple(getattr(row, name) for name in NEEDED)
            if key in found:
                raise ValueError(f"{row.model} has two results on split {row.split} of {row.dataset}")
            found[key] = row
    except (ValueError, csv.Error) as error:
        raise _damaged(path, max(lines.line_num, 1), str(error)) from None
    return [row for row in found.values() if row.threads == 1]


def _damaged(path: Path, line: int, why: str) -> InputError:
    return InputError(
        f"{path}, line {line} cannot be used: {why}. Correct or remove the line; benchmarks/compare_tabular.py "
        "measures again what is not in the file."
    )


def _measurement(cells: dict[str, str]) -> Measurement:
    blank = [name for name in NEEDED if not cells[name].strip()]
    if blank:
        raise ValueError(f"{blank[0]} is blank")
    if cells["task"] not in [task.name for task in TASKS]:
        raise ValueError(f"task must be {' or '.join(task.name for task in TASKS)}, got {cells['task']!r}")
    texts = {name: cells[name] for name in TEXTS}
    counts = {name: _number(name, cells[name], int) for name in COUNTS}
    numbers = {name: _number(name, cells[name], float) for name in NUMBERS}
    if (numbers["accuracy"] or 0.0) > 1:
        raise ValueError(f"accuracy must be at most 1, got {cells['accuracy']!r}")
    return Measurement(**texts, **counts, **numbers)  # type: ignore[arg-type]  # what is needed is not None


def _number(name: str, text: str, kind: Callable[[str], float]) -> float | None:
    if not text.strip():
        return None
    try:
        value = kind(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < math.inf:
        raise ValueError(f"{name} must be a {'whole ' * (kind is int)}number of at least 0, got {text!r}")
    return value


class Shared(NamedTuple):
    """What can be averaged: models, and the datasets that all of them have with the splits that all of them have."""

    models: tuple[str, ...]
    splits: dict[str, tuple[int, ...]]


class Lead(NamedTuple):
    """One model against another: points of difference by dataset. ``ahead`` and ``behind`` start with the largest."""

    points: dict[str, float]
    ahead: tuple[str, ...]
    behind: tuple[str, ...]
    mean: float
    error: float | None  # standard error of the mean over datasets
    worst: float


class Study:
    """The measurements of one task."""

    def __init__(self, task: Task, rows: list[Measurement]) -> None:
        self.task = task
        self.rows = [row for row in rows if row.task == task.name]
        self._by = {(row.dataset, row.model, row.split): row for row in self.rows}
        names = {row.model for row in self.rows}
        self.models = (*(m for m in MODELS if m in names), *sorted(names - set(MODELS)))
        self.datasets = sorted({row.dataset for row in self.rows}, key=lambda name: (name.lower(), name))

    @cached_property
    def _splits(self) -> dict[tuple[str, str, str], set[int]]:
        """The splits that have a number, by column, dataset and model."""
        found: dict[tuple[str, str, str], set[int]] = {}
        for row in self.rows:
            for column in NUMBERS:
                if row.get(column) is not None:
                    found.setdefault((column, row.dataset, row.model), set()).add(row.split)
        return found

    def splits(self, dataset: str, model: str, column: str = "") -> set[int]:
        """Return the splits for which a model has a number: its accuracy or error, or that of a column."""
        return self._splits.get((column or self.task.column, dataset, model), set())

    def mean(self, dataset: str, model: str, splits: set[int] | tuple[int, ...], column: str = "") -> float:
        """Return the mean over splits that have a number."""
        values = [self._by[dataset, model, split].get(column or self.task.column) for split in sorted(splits)]
        return fmean(v for v in values if v is not None)

    def score(self, dataset: str, model: str) -> Score | None:
        """Return accuracy or error in percent over all splits of a model; None if it has no result."""
        values = [self._by[dataset, model, s].get(self.task.column) for s in sorted(self.splits(dataset, model))]
        return score_of_repetitions([100 * v for v in values if v is not None]) if values else None

    def shared(self, column: str = "") -> Shared:
        """Return what all models have that have at least half of the datasets."""
        known = {d: [m for m in self.models if self.splits(d, m, column)] for d in self.datasets}
        half = sum(map(bool, known.values())) / 2
        models = tuple(m for m in self.models if sum(m in have for have in known.values()) >= max(half, 1))
        if not models:
            return Shared((), {})
        common = {d: set.intersection(*(self.splits(d, m, column) for m in models)) for d in self.datasets}
        return Shared(models, {d: tuple(sorted(splits)) for d, splits in common.items() if splits})

    def averages(self, column: str = "", average: Callable[[list[float]], float] = fmean) -> dict[str, float]:
        """Return the average over shared datasets by model, each dataset being the mean of its shared splits."""
        models, splits = self.shared(column)
        if not splits:
            return {}
        return {m: average([self.mean(d, m, splits[d], column) for d in splits]) for m in models}

    def medians(self, column: str) -> dict[str, float]:
        """Return the median over shared datasets by model."""
        return self.averages(column, median)

    def table(self) -> np.ndarray:
        """Return the means of shared datasets (rows) and models (columns) so that more is better; ties are equal."""
        models, splits = self.shared()
        values = [[self.task.sign * round(self.mean(d, m, splits[d]), 8) for m in models] for d in splits]
        return np.array(values).reshape(len(splits), len(models))

    def ranks(self) -> dict[str, float]:
        """Return the mean rank over shared datasets by model; 1 is best."""
        values = self.table()
        if not values.size:
            return {}
        means = rankdata(-values, axis=1).mean(axis=0)
        return {model: float(rank) for model, rank in zip(self.shared().models, means, strict=True)}

    def lead(self, model: str, peer: str = PEER, column: str = "") -> Lead | None:
        """Compare two models on the datasets and splits that both have; None if there are none."""
        sign = self.task.sign if not column else -1  # all other columns are losses
        points = {}
        for dataset in self.datasets:
            both = self.splits(dataset, model, column) & self.splits(dataset, peer, column)
            if both:
                gap = self.mean(dataset, model, both, column) - self.mean(dataset, peer, both, column)
                points[dataset] = round(100 * gap, 6)
        if not points or model == peer:
            return None
        order = sorted(points, key=lambda name: -sign * points[name])
        values = list(points.values())
        return Lead(
            points,
            tuple(name for name in order if sign * points[name] > 0),
            tuple(name for name in reversed(order) if sign * points[name] < 0),
            fmean(values),
            stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None,
            sign * min(sign * v for v in values),
        )

    def ratio(self, column: str, model: str = OURS, peer: str = PEER) -> float | None:
        """Return the median over datasets of the ratio of two models."""
        ratios = []
        for dataset in self.datasets:
            both = self.splits(dataset, model, column) & self.splits(dataset, peer, column)
            below = self.mean(dataset, peer, both, column) if both else 0.0
            if below > 0:
                ratios.append(self.mean(dataset, model, both, column) / below)
        return median(ratios) if ratios else None
