"""Cells: pieces of work that are planned, run, stored and resumed one by one."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from kernelsketch.exceptions import InputError

from .. import data
from .._checks import Array
from ._results import Row


class BrokenDatasetError(InputError):
    """The file of a dataset cannot be used."""


@dataclass(frozen=True)
class Problem:
    """Training and test rows of a split, with their classes."""

    X: Any
    y: Array
    X_test: Any
    y_test: Array

    def sizes(self) -> dict[str, int]:
        """Return the numbers of rows, as a row of results names them."""
        return {"n_train": len(self.y), "n_test": len(self.y_test)}

    def sample(self, rows: int, seed: int) -> tuple[Any, Array]:
        """Return at most ``rows`` training rows, drawn at random, with their classes."""
        chosen = _drawn(np.arange(len(self.y)), rows, seed)
        return self.X[chosen], self.y[chosen]


@dataclass(frozen=True)
class Cell:
    """One method on one split with one setting. It gives one row of results per value of C."""

    experiment: str
    dataset: str
    method: str
    Cs: tuple[float, ...]
    split: int = 0
    scaling: str = "paper"
    rows: int | None = None  # largest number of training rows, and of test rows
    search: bool = False  # whether to cross-validate only, over `gammas`
    solver: str = ""
    gammas: tuple[float, ...] = ()
    powers: tuple[float, ...] = ()
    k: int | None = None
    b: int | None = None
    repetition: int = 0
    verified: bool = True  # whether the dataset must have the registry's checksum

    @cached_property
    def key(self) -> str:
        """The whole cell as text. Cells with the same key are the same work."""
        given = {name: value for name, value in asdict(self).items() if value not in (None, (), "")}
        if self.verified:
            del given["verified"]
        return json.dumps(given, separators=(",", ":"))

    def problem(self) -> Problem:
        """Return the rows of the split. They are kept for the next cell of the same split."""
        return problem(self.dataset, self.split, self.rows, self.verified)

    def row(self, **values: Any) -> Row:
        """Return a row of results of this cell."""
        given: dict[str, Any] = {"k": self.k, "b": self.b, "solver": self.solver, **values}
        common = (self.experiment, self.dataset, self.method)
        return Row(*common, scaling=self.scaling, split=self.split, repetition=self.repetition, **given)


@lru_cache(maxsize=2)
def problem(name: str, split: int, rows: int | None, verified: bool = True) -> Problem:
    """Load a dataset, or a random part of it, in float32."""
    try:
        found = data.load(name, split=split, verify=verified, download=False)
    except InputError as error:
        raise BrokenDatasetError(str(error)) from None
    train, test = (_drawn(part, rows, split) for part in (found.train, found.test))
    X = found.X.astype(np.float32)
    return Problem(X[train], found.y[train], X[test], found.y[test])


def _drawn(rows: Array, most: int | None, seed: int) -> Array:
    if most is None or len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
