"""``Features``: what comes out of the columns of a table, in a few bytes per cell of the table.

A category of a hundred values makes a hundred 0/1 features, of which one is 1. As an array of numbers, the features of
a table would take many times the memory of the table. So the numbers are kept, and per column the position of the flag
that is 1. They become an array for a few rows at a time, or one feature at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._array import Array

ABSENT = -1  # position in a row where no flag of a column is 1


@dataclass(frozen=True, eq=False)
class Features:
    """Features of rows. ``features[rows]`` and ``features[:, i]`` are float64 arrays, as of an array of all features.

    ``is_number`` says which features are numbers. All others are 0/1 flags; those of a column stand side by side.
    """

    is_number: Array
    numbers: Array  # float64 (rows, numbers) in Fortran order, with NaN where a number is missing
    starts: Array  # first flag of each column that has flags, as a number among all features
    positions: Array  # int32 (rows, columns that have flags) in Fortran order: the flag that is 1, or ABSENT

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.numbers), len(self.is_number)

    def __getitem__(self, key: Any) -> Array:
        if isinstance(key, tuple):
            rows, feature = key
            if self.is_number[feature]:
                return np.asarray(self.numbers[rows, int(self.is_number[:feature].sum())])
            column = int(np.searchsorted(self.starts, feature, "right")) - 1
            return np.asarray(self.positions[rows, column] == feature - self.starts[column], np.float64)
        numbers, positions = self.numbers[key], self.positions[key]
        out = np.zeros((len(numbers), len(self.is_number)), order="F")
        for i, feature in enumerate(np.flatnonzero(self.is_number)):
            out[:, feature] = numbers[:, i]
        for column, start in enumerate(self.starts):
            rows = np.flatnonzero(positions[:, column] != ABSENT)
            out[rows, start + positions[rows, column]] = 1
        return out

    def with_numbers(self, more: Array) -> Features:
        """Return these features, and after them further numbers (rows, numbers)."""
        is_number = np.append(self.is_number, np.ones(more.shape[1], bool))
        return Features(is_number, np.concatenate([self.numbers.T, more.T]).T, self.starts, self.positions)

    def take(self, rows: Array) -> Features:
        """Return the features of some rows, in the same form."""
        numbers, positions = (np.asfortranarray(part[rows]) for part in (self.numbers, self.positions))
        return Features(self.is_number, numbers, self.starts, positions)
