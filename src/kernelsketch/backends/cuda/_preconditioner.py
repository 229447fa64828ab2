"""A preconditioner of Newton's method: the inverse of the Hessian of a sample of the rows.

Let S be m of the rows with a curved loss, evenly spaced, each with its curvature d_i times their number over m. With e
the mean of these and c = 1 + RIDGE e, where the ridge stands for what the sample does not see (decision 26),

    P = c I + X_S' D X_S,    c P^-1 = I - X_S' (c D^-1 + X_S X_S')^-1 X_S,

by Woodbury's identity. The factor c does not matter to conjugate gradients. X_S X_S' is the matrix of the numbers of
equal codes over k, plus the square of the bias feature. The inverse of the m x m matrix is computed once, in float64,
and so are products with P^-1: they are small where P is large, so that float32 would lose them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._codes import matches_within
from ._device import Gpu
from ._linear import THREADS, SortedCodes, decide, own_rows, sorted_codes

SIZES = (8192, 4096, 2048, 1024, 512)
ROW_CODES = 750_000  # codes that passes read in the time that a row of a sample costs
SHARE = 0.25  # of the time that was spent on passes so far, which a preconditioner may take
APPLY_CODES, PROBLEM_CODES = 30_000_000, 7_000_000  # codes of passes in the time of a product, and per problem
MATRICES = 5  # that are in memory while one is inverted
LEAST_CURVATURE = 1e-30
RIDGE = 0.1


def sample_size(problems: int, most: int, codes: int, of_pass: int, room: int) -> int:
    """Return the rows of a sample of up to ``most`` rows that pays and fits into ``room`` bytes, or 0.

    Passes have read so many codes so far, and so many are of one pass. Where a product with the preconditioner takes
    longer than a pass, only a sample of most of the rows pays.
    """
    least = 0 if of_pass > APPLY_CODES + problems * PROBLEM_CODES else most / 2
    for m in SIZES:
        fits = 8 * m * m * (problems + MATRICES) <= room
        if least <= m < 2 * most and fits and problems * m * ROW_CODES <= SHARE * codes:
            return m
    return 0


class Preconditioner:
    """A multiple of the inverse of P, for all problems, from a sample of ``size`` of ``rows`` rows."""

    def __init__(self, gpu: Gpu, codes: SortedCodes, curvature: Any, counts: Any, size: int, scale: float) -> None:
        xp, rows = gpu.xp, codes.rows
        problems, k = len(rows.spans), rows.codes.shape[1]
        self.gpu, self.scale, self.k, self.size, self.rows = gpu, scale, k, size, int(counts.sum())
        sample = xp.zeros((problems, size, k), rows.codes.dtype)
        empty, weights = xp.zeros((problems, size), np.uint8), xp.zeros((problems, size), np.float64)
        inverse = xp.empty((problems, size, size), np.float64)
        for p, (first, count, value, _) in enumerate(rows.spans):
            at = curvature[value : value + count]
            number = xp.flatnonzero(at > 0) if counts[p] < count else xp.arange(count)
            if len(number):
                number = number[xp.arange(size) * len(number) // size]
                sample[p], empty[p] = rows.codes[first + number], rows.empty[first + number]
                weights[p] = at[number] * (counts[p] / size)
            gram = matches_within(gpu, sample[p], empty[p], size)[0] / k + scale**2
            base = 1 + RIDGE * weights[p].mean()
            gram[xp.arange(size), xp.arange(size)] += base / xp.maximum(weights[p], LEAST_CURVATURE)
            inverse[p] = gpu.inverse(gram)
        self.inverse = inverse
        own = own_rows(gpu, sample.reshape(-1, k), empty.reshape(-1), np.full(problems, size))
        self.sample = sorted_codes(gpu, own, codes.stride)

    def apply(self, r: Any, bias: Any, products: Any) -> tuple[Any, Any]:
        """Return c P^-1 r and its bias; the sums of products with r over blocks go to ``products``."""
        xp, (problems, blocks), of = self.gpu.xp, products.shape, r[0].size
        r = r.astype(np.float64)
        decided = xp.empty((problems, len(self.inverse[0]), 1), np.float64)
        decide(self.gpu, self.sample.rows, self.scale, r, bias, decided, 1)
        z = xp.matmul(self.inverse, decided)
        sums, slices = self.sample.sums(self.gpu, z)
        out = xp.empty(r.shape, np.float64)
        arguments = (sums, slices, of, 1.0, r, -1 / self.k, out, r, products)
        self.gpu.launch("linear", "linear_slices_f64", (blocks, problems), (THREADS,), *arguments)
        return out, bias - self.scale * z.sum(axis=(1, 2))
