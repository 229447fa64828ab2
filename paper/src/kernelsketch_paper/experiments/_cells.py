"""Cells: the pieces of work that are planned, run, stored and resumed one by one."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import data
from ._results import Row

Array = NDArray[Any]


@dataclass(frozen=True)
class Problem:
    """Training and test rows of a split."""

    X: Any
    y: Array
    X_test: Any
    y_test: Array

    def sizes(self) -> dict[str, int]:
        return {"n_train": len(self.y), "n_test": len(self.y_test)}

    def sample(self, rows: int, seed: int) -> tuple[Any, Array]:
        """At most so many of the training rows, drawn at random."""
        chosen = _drawn(np.arange(len(self.y)), rows, seed)
        return self.X[chosen], self.y[chosen]


@dataclass(frozen=True)
class Cell:
    """One method on one split with one setting; its rows have one accuracy for each C."""

    experiment: str
    dataset: str
    method: str
    Cs: tuple[float, ...]
    split: int = 0
    scaling: str = "paper"
    rows: int | None = None  # training and test rows at most
    search: bool = False  # cross-validation only, over `gammas`
    solver: str = ""
    gammas: tuple[float, ...] = ()
    powers: tuple[float, ...] = ()
    k: int | None = None
    b: int | None = None
    repetition: int = 0
    verified: bool = True  # whether the dataset must have the registry's checksum

    @cached_property
    def key(self) -> str:
        """All of it, as text: cells with the same key are the same work."""
        said = {name: value for name, value in asdict(self).items() if value not in (None, (), "")}
        if self.verified:
            del said["verified"]
        return json.dumps(said, separators=(",", ":"))

    def problem(self) -> Problem:
        """Its rows, kept for the next cell of the same split."""
        return problem(self.dataset, self.split, self.rows, self.verified)

    def row(self, **values: Any) -> Row:
        given: dict[str, Any] = {"k": self.k, "b": self.b, "solver": self.solver, **values}
        common = (self.experiment, self.dataset, self.method)
        return Row(*common, scaling=self.scaling, split=self.split, repetition=self.repetition, **given)


@lru_cache(maxsize=2)
def problem(name: str, split: int, rows: int | None, verified: bool = True) -> Problem:
    """A dataset, or a random part of it, in float32."""
    found = data.load(name, split=split, verify=verified, download=False)
    train, test = (_drawn(part, rows, split) for part in (found.train, found.test))
    X = found.X.astype(np.float32)
    return Problem(X[train], found.y[train], X[test], found.y[test])


def _drawn(rows: Array, most: int | None, seed: int) -> Array:
    if most is None or len(rows) <= most:
        return rows
    return np.sort(np.random.default_rng(seed).choice(rows, most, replace=False))
