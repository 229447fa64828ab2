"""Choose the setting that counts: the best on the test rows, as in the paper, or the best by cross-validation.

A setting is chosen for each split, and for each repetition of the hash, as if it were an experiment of its own. Means
and standard deviations are taken over splits; repetitions within a split are averaged first.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from statistics import fmean, stdev
from typing import TypeVar

from ..experiments import Row
from ._parts import Score

Key = TypeVar("Key", bound=Hashable)


def grouped(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """Group rows by a key, in the order in which the keys appear."""
    groups: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return dict(groups)


def usable(rows: Iterable[Row], experiment: str) -> list[Row]:
    """Return the rows of an experiment that have an accuracy."""
    return [r for r in rows if r.experiment == experiment and r.accuracy is not None and math.isfinite(r.accuracy)]


def accuracy(row: Row) -> float:
    """Return the accuracy of a row that has one."""
    assert row.accuracy is not None
    return row.accuracy


def simplicity(row: Row) -> tuple[float, ...]:
    """Return a sort key that prefers small parameters. It settles ties without the test rows."""
    return tuple(math.inf if v is None else v for v in (row.C, row.gamma, row.p, row.k, row.b))


def best_on_test(rows: list[Row]) -> Row | None:
    """Return the row with the best accuracy on the test rows."""
    return min(rows, key=lambda r: (-accuracy(r), simplicity(r)), default=None)


def best_by_cv(rows: list[Row]) -> Row | None:
    """Return the row with the best cross-validated accuracy. A single row needs none: there was nothing to choose."""
    scored = [r for r in rows if r.cv_accuracy is not None and math.isfinite(r.cv_accuracy)]
    if not scored:
        return rows[0] if len(rows) == 1 else None
    return min(scored, key=lambda r: (-(r.cv_accuracy or 0.0), simplicity(r)))


CHOICES: dict[str, Callable[[list[Row]], Row | None]] = {"test": best_on_test, "cv": best_by_cv}


def chosen_rows(rows: Iterable[Row], choice: str) -> dict[int, list[Row]]:
    """Return, for each split, the row chosen in each repetition."""
    found: dict[int, list[Row]] = defaultdict(list)
    for (split, _), unit in grouped(rows, lambda r: (r.split or 0, r.repetition or 0)).items():
        row = CHOICES[choice](unit)
        if row is not None:
            found[split].append(row)
    return dict(found)


def score_of(rows: Iterable[Row], choice: str) -> Score | None:
    """Return the accuracy over splits with settings made by a choice; None if there is nothing to choose from."""
    splits = chosen_rows(rows, choice)
    if not splits:
        return None
    means = [fmean(accuracy(r) for r in split) for split in splits.values()]
    chosen = [r for split in splits.values() for r in split]
    return Score(
        fmean(means),
        stdev(means) if len(means) > 1 else None,
        len(means),
        most_frequent([r.gamma for r in chosen]),
        most_frequent([r.p for r in chosen]),
        most_frequent([r.C for r in chosen]),
    )


def most_frequent(values: list[float | None]) -> float | None:
    """Return the most frequent value, and the smallest of equally frequent ones."""
    counts = Counter(v for v in values if v is not None)
    return min(counts, key=lambda v: (-counts[v], v), default=None)


def mean_of(values: Iterable[float | None]) -> float | None:
    """Return the mean of the values that are known and finite."""
    known = [v for v in values if v is not None and math.isfinite(v)]
    return fmean(known) if known else None


def score_of_repetitions(values: list[float]) -> Score:
    """Return the mean and standard deviation of repeated numbers."""
    return Score(fmean(values), stdev(values) if len(values) > 1 else None, len(values))
