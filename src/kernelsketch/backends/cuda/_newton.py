"""Learning on a card: Newton's method for smooth losses, whose steps come from conjugate gradients.

The solver minimizes 1/2 |w|^2 + sum of losses for all problems at once. Let g be the gradient at w. With the duals
beta_i = -loss'(f_i), loss and conjugate add up to -beta_i f_i, so that the duality gap is

    1/2 |w|^2 + 1/2 |X'beta|^2 - w . X'beta = 1/2 |w - X'beta|^2 = 1/2 |g|^2,

and the solver stops at the same gap as block dual coordinate descent on a CPU. Each product with the Hessian takes one
pass over the codes. Problems that are solved, or whose step is exact enough, do not move while the others go on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...exceptions import BackendError
from .._interface import LinearObjective, LinearSolved, LinearTargets
from ._device import ELSEWHERE, Card
from ._linear import REALS, THREADS, SortedCodes, decide, sorted_codes
from ._rows import is_cupy

SMOOTH = {0: "squared_hinge", 2: "log_loss", 3: "squared_error", 4: "huber"}
SHARE = 0.25  # a step is exact enough when its residual is this share of the gradient, or below the aim
AIM = 0.5  # the residual that is left, as a share of the largest gradient at which the solver stops
STEPS = (1.5, 1.25, 1.0, 0.75, 0.5, 0.25, 0.0625, 1 / 256)  # the lengths that a line search compares
LOOK = 3  # the host looks every so many steps whether conjugate gradients have come to an end
VECTOR_BLOCKS = 128
NORM, ALPHA, BETA, RUNS, TARGET, BIAS_V, BIAS_X, BIAS_R, NUMBERS = range(9)


def linear_solve(
    card: Card,
    codes: Any,
    empty: Any,
    objective: LinearObjective,
    targets: LinearTargets,
    w: Any,
    bias: Any,
    beta: Any,
    tol: float,
    max_iter: int,
) -> LinearSolved:
    """Minimize the objective of all problems from ``w`` and ``bias`` on.

    They are changed in place, and so is ``beta``. ``bias`` is a NumPy array. ``tol`` is the duality gap to reach, as a
    share of the objective.
    """
    if objective.loss not in SMOOTH:
        raise BackendError(
            f"the back end 'cuda' learns with loss {', '.join(SMOOTH.values())}, but not with 'hinge': choose one of "
            f"them, or {ELSEWHERE} to fit the model."
        )
    return _Newton(card, sorted_codes(card, codes, empty, w.shape[2]), objective, targets, w, bias, beta).run(
        tol, max_iter
    )


class _Newton:
    """The vectors of Newton's method. Tables are (problems, k, stride), decision values are (problems, rows)."""

    def __init__(
        self,
        card: Card,
        codes: SortedCodes,
        objective: LinearObjective,
        targets: LinearTargets,
        w: Any,
        bias: Any,
        beta: Any,
    ) -> None:
        self.card, self.codes, self.objective = card, codes, objective
        xp = card.xp
        self.targets = [None if part is None else xp.ascontiguousarray(part) for part in targets]
        self.w, self.bias, self.beta = w, bias, beta
        self.problems, self.k, _ = w.shape
        self.n, self.size, dtype = codes.codes.shape[0], w[0].size, w.dtype
        self.real, self.passes = REALS[np.dtype(dtype)][0], 0
        self.row_blocks = -(-self.n // THREADS)
        self.blocks = min(VECTOR_BLOCKS, -(-self.size // THREADS))
        self.f, self.curvature, self.along, self.scaled, self.moved = (
            xp.empty((self.problems, self.n), dtype) for _ in range(5)
        )
        self.x, self.r, self.v, self.q = (xp.empty(w.shape, dtype) for _ in range(4))
        self.dots = xp.empty((self.problems, self.blocks), np.float64)
        self.totals = xp.empty((self.problems, self.row_blocks), np.float64)
        self.numbers = xp.zeros((NUMBERS, self.problems), np.float64)

    def run(self, tol: float, max_iter: int) -> LinearSolved:
        xp, problems = self.card.xp, self.problems
        passes, moves, stuck = np.zeros(problems, np.int64), np.ones(problems, bool), np.zeros(problems, bool)
        while True:
            losses, betas = self._residuals()
            gradient, primal = self._gradient(losses, betas)  # in x; its squared norm, and the objective
            gap = gradient / 2
            passes[moves] = self.passes
            moves = (gap > tol * primal) & ~stuck
            if not moves.any() or self.passes >= max_iter:
                return LinearSolved(primal, gap, passes)
            norm = np.where(moves, gradient, 0.0)
            target = np.maximum(SHARE**2 * norm, AIM**2 * 2 * tol * primal)
            self._conjugate_gradients(norm, target, moves, max_iter)
            step = self._line_search(losses)
            step[~moves] = 0
            stuck |= moves & (step == 0)  # rounding errors are as large as the gap
            on_card = xp.asarray(step)
            self._launch("vectors", (self.blocks, problems), self.size, on_card, self.x, None, self.w)
            self.bias += step * card_to_host(self.numbers[BIAS_X])

    def _launch(self, name: str, grid: tuple[int, ...], *args: Any) -> None:
        self.card.launch("linear", f"linear_{name}_{self.real}", grid, (THREADS,), *args)

    def _decide(self, w: Any, offsets: Any, out: Any, *more: Any) -> None:
        decide(
            *(self.card, self.codes.codes, self.codes.empty, self.objective.scale, w, offsets, out, (1, self.n)), *more
        )

    def _residuals(self) -> tuple[Any, Any]:
        """Compute decision values, beta and curvature; return the sums of losses and of beta."""
        self._decide(self.w, self.card.xp.asarray(self.bias), self.f)
        totals = self.card.xp.empty((self.problems, self.row_blocks, 2), np.float64)
        loss, _, epsilon = self.objective
        of = (loss, float(epsilon), *self.targets)
        grid = (self.row_blocks, self.problems)
        self._launch("residuals", grid, *of, self.f, self.n, self.beta, self.curvature, totals)
        losses, betas = card_to_host(totals.sum(axis=1)).T
        return losses, betas

    def _gradient(self, losses: Any, betas: Any) -> tuple[Any, Any]:
        """Compute the residual of the Newton step, minus the gradient; return its squared norm and the objective."""
        sums, slices = self.codes.sums(self.card, self.beta)
        grid = (self.blocks, self.problems)
        self._launch("slices", grid, sums, slices, self.size, -1.0, self.w, 1 / self.k, self.r, None, self.dots)
        self.passes += 1
        along = self.objective.scale * betas - self.bias
        norm = self.k * card_to_host(self.dots.sum(axis=1)) + along**2
        self._launch("slices", grid, self.w, 1, self.size, 0.0, None, 1.0, self.q, None, self.dots)
        squares = self.k * card_to_host(self.dots.sum(axis=1)) + self.bias**2
        self._bias_r, self._squares = along, squares
        return norm, squares / 2 + losses

    def _conjugate_gradients(self, norm: Any, target: Any, moves: Any, max_iter: int) -> None:
        """Solve the Newton equations; the step is in x and its decision values are in ``moved``."""
        xp, grid = self.card.xp, (self.blocks, self.problems)
        numbers = np.zeros((NUMBERS, self.problems))
        numbers[NORM], numbers[TARGET], numbers[RUNS] = norm, target, moves
        numbers[BIAS_V] = numbers[BIAS_R] = self._bias_r
        self.numbers = xp.asarray(numbers)
        number = self.numbers
        self.v[...] = self.r
        self.x[...] = 0
        self.moved[...] = 0
        rows = (-(-self.n // THREADS), self.problems)
        while self.passes < max_iter:
            for _ in range(LOOK):
                self._decide(self.v, number[BIAS_V], self.along, self.curvature, self.scaled, self.totals)
                sums, slices = self.codes.sums(self.card, self.scaled)
                self._launch(
                    "slices", grid, sums, slices, self.size, 1.0, self.v, 1 / self.k, self.q, self.v, self.dots
                )
                self.card.launch(
                    "linear",
                    "linear_alpha",
                    (self.problems,),
                    (THREADS,),
                    *(number, self.dots, self.blocks, self.totals, self.row_blocks, self.k, self.objective.scale),
                )
                self._launch("step", grid, self.size, number[ALPHA], self.v, self.q, self.x, self.r, self.dots)
                self._launch("vectors", rows, self.n, number[ALPHA], self.along, None, self.moved)
                arguments = (number, self.dots, self.blocks, self.k)
                self.card.launch("linear", "linear_beta", (self.problems,), (THREADS,), *arguments)
                self._launch("vectors", grid, self.size, None, self.r, number[BETA], self.v)
                self.passes += 1
            if not card_to_host(number[RUNS]).any():
                return

    def _line_search(self, losses: Any) -> Any:
        """Return the best step of each problem, 0 if none of them is better than no step."""
        xp, grid = self.card.xp, (self.blocks, self.problems)
        bias = card_to_host(self.numbers[BIAS_X])
        self._launch("slices", grid, self.x, 1, self.size, 0.0, None, 1.0, self.q, None, self.dots)
        squares = self.k * card_to_host(self.dots.sum(axis=1)) + bias**2
        self._launch("slices", grid, self.x, 1, self.size, 0.0, None, 1.0, self.q, self.w, self.dots)
        products = self.k * card_to_host(self.dots.sum(axis=1)) + bias * self.bias
        totals = xp.empty((self.problems, self.row_blocks, len(STEPS)), np.float64)
        loss, _, epsilon = self.objective
        of = (loss, float(epsilon), *self.targets)
        steps = np.array(STEPS)
        self._launch(
            *("line", (self.row_blocks, self.problems), *of, self.f, self.moved, xp.asarray(steps), self.n, totals)
        )
        found = card_to_host(totals.sum(axis=1))
        along = self._squares[:, None] + 2 * products[:, None] * steps + squares[:, None] * steps**2
        objectives = along / 2 + found
        best = objectives.argmin(axis=1)
        better = objectives.min(axis=1) < self._squares / 2 + losses
        return np.where(better, steps[best], 0.0)


def card_to_host(array: Any) -> Any:
    """Return a small array as a NumPy array."""
    return array.get() if is_cupy(array) else np.array(array)
