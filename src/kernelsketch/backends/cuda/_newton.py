"""Learning on a GPU: Newton's method for smooth losses, whose steps come from conjugate gradients.

The solver minimizes 1/2 |w|^2 + sum of losses for all problems at once. Let g be the gradient at w. With the duals
beta_i = -loss'(f_i), loss and conjugate add up to -beta_i f_i, so that the duality gap is

    1/2 |w|^2 + 1/2 |X'beta|^2 - w . X'beta = 1/2 |w - X'beta|^2 = 1/2 |g|^2,

and the solver stops at the same gap as block dual coordinate descent on a CPU. Each product with the Hessian takes one
pass over the rows whose loss is curved. With the squared hinge these are few in the end, and are then copied and sorted
for themselves. Steps that take many passes get a preconditioner. Problems that are solved, or whose step is exact
enough, do not move while the others go on.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._interface_learning import LinearObjective, LinearSolved, NewtonProblem
from ._device import Gpu
from ._linear import REALS, THREADS, SortedCodes, decide, own_rows, shared_rows, sorted_codes
from ._preconditioner import Preconditioner, sample_size
from ._rows import gpu_to_host
from ._source import check_loss

LENGTHS = 8  # of a step, which a line search compares
LOOK = 3  # the host looks every so many steps whether conjugate gradients have come to an end
LARGE_PASS, SMALL_PASS = 1 << 27, 1 << 25  # codes of a pass that takes longer than a look, and than the launches
MANY, VERY_MANY = 20, 50  # products with the Hessian of a step, after which more is done for the next one
FEW, FEW_OF_MANY = 0.4, 0.75  # share of rows with a curved loss, below which they are copied
SHRUNK = 0.8  # share of the rows of the last preconditioner, below which it is renewed
VECTOR_BLOCKS = 128
NUMBERS = 13  # of a problem, as in linear.cu
PRODUCT, ALPHA, BETA, RUNS, OBJECTIVE, FIRST, BIAS_V, BIAS_X, BIAS_R, BIAS_Z, BIAS_W, SQUARES, LENGTH = range(NUMBERS)


def newton_solve(
    gpu: Gpu,
    codes: Any,
    empty: Any,
    objective: LinearObjective,
    problem: NewtonProblem,
    report: Callable[[int, Any], None],
) -> LinearSolved:
    """Solve the problems, as :meth:`NewtonWhole.newton_solve` says."""
    check_loss(objective.loss, smooth=True)
    with gpu.all_at_once(f"learning on {codes.shape[0]} rows with {codes.shape[1]} hashes"):
        rows = shared_rows(gpu, codes, empty, len(problem.w))
        return _Newton(gpu, sorted_codes(gpu, rows, problem.w.shape[2]), objective, problem).run(report)


class Curved(NamedTuple):
    """The rows of each problem whose loss is curved, and their curvature; or all rows, if these are most of them."""

    codes: SortedCodes
    curvature: Any
    counts: Any  # rows with a curved loss per problem, NumPy


class _Newton:
    """The vectors of Newton's method. Tables are (problems, k, stride), decision values are (problems, rows)."""

    def __init__(self, gpu: Gpu, codes: SortedCodes, objective: LinearObjective, problem: NewtonProblem) -> None:
        self.gpu, self.codes, self.objective = gpu, codes, objective
        xp = gpu.xp
        self.targets = [None if part is None else xp.ascontiguousarray(part) for part in problem.targets]
        self.w, self.bias, self.beta = problem.w, problem.bias, problem.beta
        w = problem.w
        self.tol, self.max_iter = problem.tol, problem.max_iter
        self.problems, self.k, _ = w.shape
        self.n, self.size, dtype = len(codes.rows.codes), w[0].size, w.dtype
        self.real, self.passes, self.products_made, self.codes_read = REALS[np.dtype(dtype)][0], 0.0, 0, 0
        self.row_blocks = -(-self.n // THREADS)
        self.blocks = min(VECTOR_BLOCKS, -(-self.size // THREADS))
        self.f, self.curvature, self.moved = (xp.empty((self.problems, self.n), dtype) for _ in range(3))
        self.x, self.r, self.v, self.q = (xp.empty(w.shape, dtype) for _ in range(4))
        self.dots, self.products = (xp.empty((self.problems, self.blocks), np.float64) for _ in range(2))
        self.numbers = xp.zeros((NUMBERS, self.problems), np.float64)
        self.preconditioner: Preconditioner | None = None

    def run(self, report: Callable[[int, Any], None]) -> LinearSolved:
        xp, problems, tol = self.gpu.xp, self.problems, self.tol
        passes, moves, stuck = np.zeros(problems, np.int64), np.ones(problems, bool), np.zeros(problems, bool)
        last = 0  # products with the Hessian of the last step
        while True:
            gradient, primal = self._gradient()  # in r; its squared norm, and the objective
            gap = gradient / 2
            passes[moves] = round(self.passes)
            solved = LinearSolved(primal, gap, passes)
            report(round(self.passes), solved.relative_gaps)
            moves = (gap > tol * primal) & ~stuck
            if not moves.any() or self.passes >= self.max_iter:
                return solved
            before, curved = self.products_made, self._curved(moves, FEW_OF_MANY if last > VERY_MANY else FEW)
            self._precondition(curved, last)
            self._conjugate_gradients(curved, np.where(moves, gradient, 0.0), primal, moves)
            del curved
            last = self.products_made - before
            step, bias = self._line_search()
            step[~moves] = 0
            stuck |= moves & (step == 0)  # rounding errors are as large as the gap
            on_gpu = xp.asarray(step)
            self._launch("vectors", (self.blocks, problems), self.size, on_gpu, self.x, None, self.w)
            self.bias += step * bias

    def _launch(self, name: str, grid: tuple[int, ...], *args: Any) -> None:
        self.gpu.launch("linear", f"linear_{name}_{self.real}", grid, (THREADS,), *args)

    def _decide(self, w: Any, offsets: Any, out: Any) -> None:
        decide(self.gpu, self.codes.rows, self.objective.scale, w, offsets, out, 1)

    def _gradient(self) -> tuple[Any, Any]:
        """Compute beta, curvature and the residual of the Newton step, minus the gradient, of all problems.

        The results are the squared norm of the gradient and the objective.
        """
        self._decide(self.w, self.gpu.xp.asarray(self.bias), self.f)
        totals = self.gpu.xp.empty((self.problems, self.row_blocks, 2), np.float64)
        loss, _, parameter = self.objective
        of = (loss, float(parameter), *self.targets)
        self._launch(
            "residuals", (self.row_blocks, self.problems), *of, self.f, self.n, self.beta, self.curvature, totals
        )
        sums, slices = self.codes.sums(self.gpu, self.beta)
        grid = (self.blocks, self.problems)
        self._launch("slices", grid, sums, slices, self.size, -1.0, self.w, 1 / self.k, self.r, None, self.dots)
        self._launch("slices", grid, self.w, 1, self.size, 0.0, None, 1.0, self.q, None, self.products)
        self.passes += 1
        losses, betas, norm, squares = self._sums(totals, self.dots[..., None], self.products[..., None])
        self._bias_r, self._squares = self.objective.scale * betas - self.bias, self.k * squares + self.bias**2
        return self.k * norm + self._bias_r**2, self._squares / 2 + losses

    def _sums(self, *parts: Any) -> Any:
        """Return the sums of arrays (problems, blocks, numbers) over blocks, with one copy to main memory."""
        return gpu_to_host(self.gpu.xp.concatenate([part.sum(axis=1) for part in parts], axis=1)).T

    def _curved(self, moves: Any, few: float) -> Curved:
        """Copy and sort the rows with a curved loss of the problems that move, if they are few and there is room."""
        xp = self.gpu.xp
        is_curved = self.curvature > 0
        if not moves.all():
            is_curved &= xp.asarray(moves)[:, None]
        counts = gpu_to_host(is_curved.sum(axis=1, dtype=np.int64))
        room = self.gpu.free_bytes() // (2 * self.k * (2 + self.codes.rows.codes.dtype.itemsize))  # half the memory
        if not 0 < counts.sum() <= min(few * self.problems * self.n, room):
            return Curved(self.codes, self.curvature.reshape(-1), counts)
        places = xp.flatnonzero(is_curved)
        rows, (codes, empty, *_) = places % self.n, self.codes.rows
        own = own_rows(self.gpu, rows_of(codes, rows), empty[rows], counts)
        return Curved(sorted_codes(self.gpu, own, self.codes.stride), self.curvature.reshape(-1)[places], counts)

    def _precondition(self, curved: Curved, last: int) -> None:
        """Make a preconditioner, or renew it, if the last step made many products with the Hessian."""
        if last <= MANY:
            return
        before, rows = self.preconditioner, int(curved.counts.sum())
        room = self.gpu.free_bytes() // 2
        size = sample_size(self.problems, int(curved.counts.max()), self.codes_read, rows * self.k, room)
        if size and (before is None or size > before.size or rows < SHRUNK * before.rows):
            self.preconditioner = None  # which frees its memory
            self.preconditioner = Preconditioner(self.gpu, *curved, size, self.objective.scale)

    def _conjugate_gradients(self, curved: Curved, norm: Any, objective: Any, moves: Any) -> None:
        """Solve the Newton equations; the step is in x and its decision values are in ``moved``."""
        xp, grid, rows = self.gpu.xp, (self.blocks, self.problems), curved.codes.rows
        scaled, totals = xp.empty(rows.size, self.w.dtype), xp.empty((self.problems, rows.blocks), np.float64)
        numbers = np.zeros((NUMBERS, self.problems))
        numbers[PRODUCT], numbers[OBJECTIVE], numbers[RUNS] = norm, objective, moves
        numbers[BIAS_V] = numbers[BIAS_R] = self._bias_r
        numbers[BIAS_W], numbers[SQUARES] = self.bias, self._squares
        self.numbers = number = xp.asarray(numbers)
        self.v[...] = self.r
        if self.preconditioner is not None:
            self.v[...] = self._preconditioned()
            number[PRODUCT] = self.k * self.products.sum(axis=1) + number[BIAS_R] * number[BIAS_Z]
            number[BIAS_V] = number[BIAS_Z]
        number[FIRST] = number[PRODUCT]
        self.x[...] = 0
        look = LOOK if rows.size * self.k < LARGE_PASS else 1
        while self.passes < self.max_iter:
            for _ in range(look):
                more = (curved.curvature, scaled, totals)
                decide(self.gpu, rows, self.objective.scale, self.v, number[BIAS_V], None, 1, *more)
                sums, slices = curved.codes.sums(self.gpu, scaled)
                self._launch(
                    "slices", grid, sums, slices, self.size, 1.0, self.v, 1 / self.k, self.q, self.v, self.dots
                )
                self.gpu.launch(
                    "linear",
                    "linear_alpha",
                    (self.problems,),
                    (THREADS,),
                    *(number, self.dots, self.blocks, totals, rows.blocks, self.k, self.objective.scale),
                )
                self._launch("step", grid, self.size, number[ALPHA], self.v, self.q, self.x, self.r, self.dots)
                z, products = self.r, None
                if self.preconditioner is not None:
                    z, products = self._preconditioned(), self.products
                arguments = (number, self.dots, products, self.blocks, self.k, float(self.tol))
                self.gpu.launch("linear", "linear_beta", (self.problems,), (THREADS,), *arguments)
                self._launch("vectors", grid, self.size, None, z, number[BETA], self.v)
                self.passes += rows.size / (self.problems * self.n)
                self.products_made += 1
                self.codes_read += max(SMALL_PASS, rows.size * self.k)
            if not gpu_to_host(number[RUNS]).any():
                break
        self._decide(self.x, number[BIAS_X], self.moved)

    def _preconditioned(self) -> Any:
        """Return the preconditioned residual; its bias goes to ``numbers``, and products with r to ``products``."""
        assert self.preconditioner is not None
        z, bias = self.preconditioner.apply(self.r, self.numbers[BIAS_R], self.products)
        self.numbers[BIAS_Z] = bias
        return z.astype(self.w.dtype, copy=False)

    def _line_search(self) -> tuple[Any, Any]:
        """Return the best length of the step of each problem, 0 if none is better than no step, and its bias."""
        grid, number = (self.blocks, self.problems), self.numbers
        self._launch("slices", grid, self.x, 1, self.size, 0.0, None, 1.0, self.q, None, self.dots)
        self._launch("slices", grid, self.x, 1, self.size, 0.0, None, 1.0, self.q, self.w, self.products)
        totals = self.gpu.xp.empty((self.problems, LENGTHS, self.row_blocks), np.float64)
        loss, _, parameter = self.objective
        of = (loss, float(parameter), *self.targets, self.f, self.moved, self.n, totals)
        self._launch("line", (self.row_blocks, self.problems), *of)
        sums = (totals, self.row_blocks, self.dots, self.products, self.blocks, self.k)
        self.gpu.launch("linear", "linear_search", (self.problems,), (THREADS,), number, *sums)
        step, bias = gpu_to_host(number[[LENGTH, BIAS_X]])
        return step, bias


def rows_of(codes: Any, rows: Any) -> Any:
    """Return some rows of an array, eight bytes at a time where this is possible."""
    if codes.shape[1] * codes.dtype.itemsize % 8 or not codes.flags.c_contiguous:
        return codes[rows]
    return codes.view(np.uint64)[rows].view(codes.dtype)
