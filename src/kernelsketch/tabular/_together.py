"""``Together``: rows that belong together, by ``groups`` or ``time``, and the folds and samples that respect it.

Rows of one group are held out together. So are copies of a row, which samplers of rare classes and bootstraps make.
With time, each fold trains on earlier rows than it holds out: the first half of the rows only trains, and each fold
holds out the next part of the other half.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._array import Array
from .._mix import mix64
from ..exceptions import InputError, InputTypeError, Setting
from ..linear import Fold
from ._features import Features
from ._frame import CATEGORY, Column, Table
from ._read import read_table
from ._values import category_text

COPIES_SHARE = 0.05  # of the rows, from which on copies are held out together
FEWEST_DIFFERENT, ONCE_SHARE = 50, 0.25  # different rows, and the share of them that occurs once
UNIQUE_SHARE = 0.5  # of the different rows, which have numbers of their own if equal rows are no chance
LATE_SHARE = 0.2  # of the rows of a large table: trees learn from earlier ones before they are chosen


class Together(NamedTuple):
    """The number of the group of each row, or its place in time; rows of one time have one place."""

    is_time: bool
    numbers: Array

    @property
    def name(self) -> str:
        return "time" if self.is_time else "groups"

    @classmethod
    def of(cls, table: Table, groups: Any, time: Any) -> Together | None:
        """Read the parameters of a fit, which are None, the name of a column of the table, or one value per row."""
        if groups is None and time is None:
            return None
        if groups is not None and time is not None:
            raise InputError(
                Setting("groups"),
                " and ",
                Setting("time"),
                " exclude each other: pass groups if rows of new groups come, and time if later rows come.",
            )
        name, given = ("groups", groups) if time is None else ("time", time)
        column = _column_of(table, name, given)
        missing = column.missing
        if missing.any():
            raise InputError(
                Setting(name),
                f" has a missing value (row {int(missing.argmax())}): give each row one, or drop the row.",
            )
        if name == "time" and column.kind == CATEGORY:
            raise InputTypeError(
                Setting(name), f" is text, for example {str(column.values[0])[:60]!r}: pass dates or numbers."
            )
        values = column.values if time is not None or column.texts is None else column.texts
        if values.dtype.kind == "O":
            values = np.array([category_text(value) for value in values], np.str_)
        distinct, numbers = np.unique(values, return_inverse=True)
        if len(distinct) < 2:
            what = "group" if name == "groups" else "time"
            raise InputError(Setting(name), f" has only one {what}: pass rows of several, or leave {name} out.")
        return cls(name == "time", numbers.astype(np.int64))

    @classmethod
    def of_copies(cls, features: Features, levels: Array | None, y: Array) -> Together | None:
        """Return the groups of equal rows with equal targets, or None if there are few, or chance may explain them.

        In a table of few categories rows are equal by chance, and new rows will be equal to them as well. Rows are
        copies where most of the different rows, and these, have two numbers that no different row has, and others occur
        once.
        """
        keys = np.zeros(len(y), np.uint64)
        columns = [*features.numbers.T, *features.positions.T, *(() if levels is None else levels.T)]
        for column in [*columns, np.unique(y, return_inverse=True)[1]]:
            whole = column + 0.0  # also of -0.0
            whole[np.isnan(whole)] = np.nan  # with one pattern of bits
            keys = mix64((keys + np.uint64(1)) ^ whole.view(np.uint64))
        _, first, numbers, sizes = np.unique(keys, return_index=True, return_inverse=True, return_counts=True)
        few = len(first) < FEWEST_DIFFERENT or len(y) - len(first) < COPIES_SHARE * len(y)
        if few or np.mean(sizes == 1) < ONCE_SHARE:
            return None
        own = np.zeros(len(first), np.int64)  # columns with a number that no different row has
        for column in features.numbers.T:
            _, which, counts = np.unique(column[first], return_inverse=True, return_counts=True)
            own += (counts[which] == 1) & ~np.isnan(column[first])
        alone = own >= 2
        if np.mean(alone) < UNIQUE_SHARE or (sizes - 1)[alone].sum() < COPIES_SHARE * len(y):
            return None
        numbers = np.where(alone[numbers], numbers, len(first) + np.arange(len(y)))
        return cls(False, numbers.astype(np.int64))

    def one_of_each(self, used: Array | None = None) -> Array:
        """Return flags of the first row of each group, of the used ones."""
        found = np.zeros(len(self.numbers), bool)
        rows = np.flatnonzero(~found if used is None else used)
        found[rows[np.unique(self.numbers[rows], return_index=True)[1]]] = True
        return found

    def take(self, rows: Array) -> Together:
        return self._replace(numbers=self.numbers[rows])

    def folds(self, labels: Array, counted: Array, n_folds: int) -> list[Fold]:
        """Return at most ``n_folds`` folds. Rows that are not counted train nothing, and move no border."""
        if self.is_time:
            return self._later(counted, n_folds)
        return self._whole_groups(labels, counted, n_folds)

    def _later(self, counted: Array, n_folds: int) -> list[Fold]:
        places = np.sort(self.numbers[counted])
        at = np.linspace(len(places) / 2, len(places), n_folds, endpoint=False).astype(np.int64)
        starts = np.unique(places[at])
        starts = starts[starts > places[0]]
        if not len(starts):  # most rows have the first time
            starts = np.unique(places)[1:2]
        ends = np.append(starts[1:], np.iinfo(np.int64).max)
        return [
            Fold(self.numbers < start, np.flatnonzero((self.numbers >= start) & (self.numbers < end)))
            for start, end in zip(starts, ends, strict=True)
        ]

    def _whole_groups(self, labels: Array, counted: Array, n_folds: int) -> list[Fold]:
        """Deal groups to folds, the largest first, each to the fold with the fewest rows of its classes."""
        used, group = np.unique(self.numbers[counted], return_inverse=True)
        classes, label = np.unique(labels[counted], return_inverse=True)
        n_folds = min(n_folds, len(used))
        sizes = np.bincount(group * len(classes) + label, minlength=len(used) * len(classes)).reshape(len(used), -1)
        shares = sizes / sizes.sum(axis=0)
        filled, fold_of = np.zeros((n_folds, len(classes))), np.empty(len(used), np.int64)
        shuffled = np.random.default_rng(0).permutation(len(used))
        for number in shuffled[np.argsort(-sizes.sum(axis=1)[shuffled], kind="stable")]:
            total = filled @ shares[number]
            found = np.lexsort((filled.sum(axis=1), total))[0]
            filled[found] += shares[number]
            fold_of[number] = found
        numbers = np.full(int(self.numbers.max()) + 1, -1)
        numbers[used] = fold_of
        of_rows = numbers[self.numbers]
        return [Fold(of_rows != fold, np.flatnonzero(of_rows == fold)) for fold in range(n_folds)]

    def parts(self, folds: list[Fold]) -> Array:
        """Return for each row the number of its part, whose rows have no share in the mean targets of the row.

        These are the rows that a fold holds out. Those that no fold holds out are dealt to further parts.
        """
        found = np.full(len(self.numbers), -1)
        for number, fold in enumerate(folds):
            found[fold.test] = number
        others = np.flatnonzero(found < 0)
        dealt = np.random.default_rng(0).permutation(len(others)) % max(2, len(folds))
        found[others] = len(folds) + dealt
        return found

    def apart(self, counted: Array, most: int, seed: int) -> tuple[Array, Array] | None:
        """Return about ``most`` rows for the kernel machine, and rows that train the trees which it is blended with.

        Groups stay whole. With time, half of the first rows come after all of the others.
        """
        rng, numbers = np.random.default_rng(seed), self.numbers[counted]
        if self.is_time:
            places = np.sort(numbers)
            border = places[int((1 - LATE_SHARE) * len(places))]
            early, late = (rng.permutation(counted[part]) for part in (numbers < border, numbers >= border))
            if min(len(early), len(late)) < most // 2:
                return None
            return np.sort(np.concatenate([early[: most // 2], late[: most // 2]])), np.sort(early[most // 2 :])
        used, group = np.unique(numbers, return_inverse=True)
        order = rng.permutation(len(used))
        chosen = order[np.cumsum(np.bincount(group)[order]) <= most]
        inside = np.isin(group, chosen)
        if len(chosen) < 2 or inside.all():
            return None
        return counted[inside], counted[~inside]


def _column_of(table: Table, name: str, given: Any) -> Column:
    if isinstance(given, str):
        for column in table.columns if table.named else ():
            if column.name == given:
                return column
        where = "has no names of columns" if not table.named else f"has no column {given!r}"
        raise InputError(Setting(name, given), f", but X {where}: pass one value per row, or the name of a column.")
    values = np.asarray(given)
    if values.shape != (table.n_rows,):
        raise InputError(
            Setting(name), f" has the shape {values.shape}, but X has {table.n_rows} rows: pass one value per row."
        )
    return read_table(values[:, None]).columns[0]
