"""Learning on codes: linear models, by passes and by steps of a solver, and their arguments.

It is a part of the interface of a back end; ``_interface.py`` says what all parts have in common.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple, Protocol

import numpy as np

from .._array import Array
from ._interface import Arrays


class LinearObjective(NamedTuple):
    """The objective of a linear model.

    ``loss`` is a number in the table of losses, ``scale`` is the value of the intercept's feature (0 for no intercept),
    and ``parameter`` is that of the loss, if it has one.
    """

    loss: int
    scale: float
    parameter: float = 0.0


LINEAR_SWEEPS = 32  # number of sweeps of coordinate descent per block, at most


class LinearPass(NamedTuple):
    """The arguments of one pass over the rows. Axes are problems first, then rows. ``linear.h`` explains each field.

    ``w`` (problems, k, stride), ``bias``, ``beta`` and ``shrunk`` are the state of the solver, which a pass updates in
    place. The small arrays that the loop of the solver reads are NumPy arrays: ``order``, ``threshold``, ``running``
    and ``bias``. All other arrays live in the memory of the codes.
    """

    order: Array
    labels: Array | None
    targets: Array | None
    cost: Array
    positive: Array
    factors: Array
    threshold: Array
    running: Array
    w: Array
    bias: Array
    beta: Array
    shrunk: Array
    sweeps: int = LINEAR_SWEEPS


class LinearTargets(NamedTuple):
    """The targets of all problems, in the memory of the codes. :class:`LinearPass` has the same fields."""

    labels: Array | None
    targets: Array | None
    cost: Array
    positive: Array
    factors: Array


class LinearSolved(NamedTuple):
    """What Newton's method reached: objective, duality gap and number of passes per problem, NumPy."""

    objective: Array
    gap: Array
    passes: Array

    @property
    def relative_gaps(self) -> Array:
        """The duality gaps as shares of the objectives."""
        return np.divide(self.gap, self.objective, out=np.zeros(len(self.gap)), where=self.objective > 0)


class NewtonProblem(NamedTuple):
    """The problems that a whole Newton's method solves, from ``w`` and ``bias`` (a NumPy array) on.

    It changes ``w``, ``bias`` and ``beta`` in place, stops at a duality gap of ``tol`` times the objective, and makes
    at most about ``max_iter`` passes over the rows.
    """

    targets: LinearTargets
    w: Array
    bias: Array
    beta: Array
    tol: float
    max_iter: int


class Symbols(NamedTuple):
    """Rows as symbols, each of which stands for the codes of ``together`` neighbouring hashes.

    ``rows`` has shape (n, groups). Group g has ``counts[g]`` symbols, and ``cells`` (groups, stride, together) says
    where a table of weights, flattened, has the codes of a symbol. The last group may have fewer codes. ``mapped`` says
    that ``rows`` and the codes are maps of files, whose pages a step releases as soon as it has read them.
    """

    rows: Array
    counts: Array
    cells: Array
    mapped: bool = False

    @property
    def together(self) -> int:
        return int(self.cells.shape[2])


class NewtonStep(NamedTuple):
    """The arguments of one step of Newton's method. ``newton.h`` explains each field.

    ``w``, ``bias``, ``beta`` and ``f`` (problems, rows), the decision values, are the state of the solver, which a step
    updates in place.
    """

    labels: Array | None
    targets: Array | None
    cost: Array
    positive: Array
    factors: Array
    running: Array
    fresh: Array
    w: Array
    bias: Array
    beta: Array
    f: Array
    tol: float
    symbols: Symbols
    sample: int
    most: Array


NEWTON_STATS = 4  # number of statistics that a step returns per problem
LINEAR_BLOCK_ROWS = 256  # number of rows whose decision values are computed at once
LINEAR_SEGMENT = 16384  # number of rows that a pass may read at a time; a block ends there
LINEAR_STATS = 5  # number of statistics that a pass returns per problem


class Linear(Arrays, Protocol):
    """Block dual coordinate descent on codes, and decision values."""

    @property
    def newton(self) -> Literal["none", "steps", "whole"]:
        """How the back end makes Newton's method: as :class:`NewtonSteps`, as :class:`NewtonWhole`, or not at all."""

    def linear_pass(self, codes: Array, empty: Array, objective: LinearObjective, state: LinearPass) -> Array:
        """Make one pass of block dual coordinate descent for each running problem and return its statistics.

        The result is a NumPy array (problems, 5). The statistics are the sum of losses during the pass, the largest
        violation, the number of rows whose dual changed, the sum of conjugates, and the squared norm of the weights.
        """

    def linear_decide(self, codes: Array, empty: Array, scale: float, w: Array, bias: Array) -> Array:
        """Return decision values (rows, problems) in the type of ``w``."""

    def linear_accumulate(self, codes: Array, empty: Array, beta: Array, sums: Array) -> None:
        """Add the duals of the rows that have each code to ``sums`` (k, stride), float64, in the order of the rows."""


class NewtonSteps(Protocol):
    """Newton's method step by step, on codes in NumPy's memory."""

    def newton_step(self, codes: Array, empty: Array, objective: LinearObjective, state: NewtonStep) -> Array:
        """Make one step of Newton's method for each running problem and return its statistics.

        The result is an array (problems, 4). The statistics are the objective and the duality gap before the step, the
        number of passes over the rows, and the length of the step: 0 if the gap was small enough, if no length makes
        the objective smaller, or if no pass was left.
        """

    def make_symbols(
        self, codes: Array, empty: Array, together: int, most: int, out: Array | None = None, mapped: bool = False
    ) -> tuple[Array, Array, Array] | None:
        """Number the combinations of ``together`` codes that occur, as they come.

        Return the numbers of the rows (n, groups), in ``out`` if it is given, how many each group has, and the row in
        which each came first. None means that a group has more than ``most``. Empty rows have number 0. ``mapped`` says
        that codes and ``out`` are maps of files.
        """


class NewtonWhole(Protocol):
    """Newton's method as a whole, for back ends that keep its vectors in a memory of their own."""

    def newton_solve(
        self,
        codes: Array,
        empty: Array,
        objective: LinearObjective,
        problem: NewtonProblem,
        report: Callable[[int, Array], None],
    ) -> LinearSolved:
        """Solve the problems, and report the passes so far and the relative gaps after each step."""
