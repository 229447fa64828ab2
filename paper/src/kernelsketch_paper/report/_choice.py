"""Which setting counts: the best on the test rows, as in the paper, or the best by cross-validation.

Both choose within a split (and within a repetition of the hash), as if each were an experiment of its own. Means are
over splits, and so are standard deviations; repetitions within a split are averaged first.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from statistics import fmean, stdev
from typing import TypeVar

from ..experiments import Row
from ._parts import Measured

Key = TypeVar("Key", bound=Hashable)


def grouped(rows: Iterable[Row], key: Callable[[Row], Key]) -> dict[Key, list[Row]]:
    """Rows by a key, in the order in which keys come."""
    groups: dict[Key, list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return dict(groups)


def usable(rows: Iterable[Row], experiment: str) -> list[Row]:
    """Rows of an experiment that have an accuracy."""
    return [r for r in rows if r.experiment == experiment and r.accuracy is not None and math.isfinite(r.accuracy)]


def accuracy(row: Row) -> float:
    assert row.accuracy is not None
    return row.accuracy


def simplicity(row: Row) -> tuple[float, ...]:
    """Small values first: they settle ties, so that a choice never looks at the test rows in secret."""
    return tuple(math.inf if v is None else v for v in (row.C, row.gamma, row.p, row.k, row.b))


def best_on_test(rows: list[Row]) -> Row | None:
    return min(rows, key=lambda r: (-accuracy(r), simplicity(r)), default=None)


def best_by_cv(rows: list[Row]) -> Row | None:
    """The row of the best cross-validated accuracy. A single row needs none: there was nothing to choose."""
    scored = [r for r in rows if r.cv_accuracy is not None and math.isfinite(r.cv_accuracy)]
    if not scored:
        return rows[0] if len(rows) == 1 else None
    return min(scored, key=lambda r: (-(r.cv_accuracy or 0.0), simplicity(r)))


CHOICES: dict[str, Callable[[list[Row]], Row | None]] = {"test": best_on_test, "cv": best_by_cv}


def chosen_rows(rows: Iterable[Row], choice: str) -> dict[int, list[Row]]:
    """By split, the row chosen in each repetition."""
    found: dict[int, list[Row]] = defaultdict(list)
    for (split, _), unit in grouped(rows, lambda r: (r.split or 0, r.repetition or 0)).items():
        row = CHOICES[choice](unit)
        if row is not None:
            found[split].append(row)
    return dict(found)


def measured(rows: Iterable[Row], choice: str) -> Measured | None:
    """Accuracy by a choice, over splits; None where there is nothing to choose from."""
    splits = chosen_rows(rows, choice)
    if not splits:
        return None
    means = [fmean(accuracy(r) for r in split) for split in splits.values()]
    chosen = [r for split in splits.values() for r in split]
    return Measured(
        fmean(means),
        stdev(means) if len(means) > 1 else None,
        len(means),
        usual([r.gamma for r in chosen]),
        usual([r.p for r in chosen]),
        usual([r.C for r in chosen]),
    )


def usual(values: list[float | None]) -> float | None:
    """The most frequent value, the smallest of equally frequent ones."""
    counts = Counter(v for v in values if v is not None)
    return min(counts, key=lambda v: (-counts[v], v), default=None)


def mean_of(values: Iterable[float | None]) -> float | None:
    known = [v for v in values if v is not None and math.isfinite(v)]
    return fmean(known) if known else None


def spread(values: list[float]) -> Measured:
    """Mean and standard deviation of repeated numbers."""
    return Measured(fmean(values), stdev(values) if len(values) > 1 else None, len(values))
