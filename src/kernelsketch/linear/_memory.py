"""Memory that training takes besides the codes: what ``fit_blocks`` checks against its limit before it learns."""

from __future__ import annotations

from ..backends import LINEAR_BLOCK_ROWS, LINEAR_SEGMENT
from ..serving import stride_of
from ._losses import Loss
from ._newton import MOST_STRIDE, TOGETHER, most_symbols, sample_rows
from ._problem import GAP_ROWS, SUMS_BYTES
from ._solver import LEAST_CODES

ROW_BYTES = 40  # per row besides its duals: label, cost, order, flag, and what they are made from
REPEATS_BYTES = 48  # per row of a regression, while the solver compares rows
CACHE_BYTES = 16 << 20  # of the numbers of equal codes that the native core keeps between problems
TABLE_BYTES, SLOT_BYTES = 4 << 20, 24  # of the hash tables in which a thread numbers symbols, and of one entry
THREAD_BYTES, PAGES_BYTES = 1 << 20, 4 << 20  # of a thread: what the allocator keeps for it, and mapped pages
BASE_BYTES = 4 << 20  # in any case: steps of hashing, reading and writing, and what Python keeps


def solver_bytes(
    shape: tuple[int, int], size: int, problems: int, loss: Loss, real_bytes: int, code_bytes: int, threads: int
) -> int:
    """Return the bytes that the solver takes for codes on disk, at most. ``size`` is the number of used codes."""
    n, k = shape
    cells, leaders, segment = k * stride_of(size), min(threads, problems), min(n, LINEAR_SEGMENT)
    rows = n * (problems * (real_bytes + 1) + ROW_BYTES + (REPEATS_BYTES if loss.is_regression else 0))
    tables = problems * cells * real_bytes + min(8 * cells, SUMS_BYTES + 8 * stride_of(size))
    passes = segment * problems * (2 * real_bytes + 2) + leaders * 4 * LINEAR_BLOCK_ROWS**2 * real_bytes
    if problems > threads:
        blocks = -(-segment // LINEAR_BLOCK_ROWS)
        passes += min(CACHE_BYTES, leaders * blocks * 2 * LINEAR_BLOCK_ROWS**2)
    gaps = threads * GAP_ROWS * (k * code_bytes + 80)
    work = max(segment * k * code_bytes + passes, gaps)
    if _may_take_newton(shape, size, loss):
        work = max(work, _newton_bytes(shape, size, problems, real_bytes, code_bytes, threads))
    pages = min(threads * PAGES_BYTES, 2 * n * k * code_bytes)
    return rows + tables + work + pages + threads * THREAD_BYTES + BASE_BYTES


def _newton_bytes(
    shape: tuple[int, int], size: int, problems: int, real_bytes: int, code_bytes: int, threads: int
) -> int:
    """Return the bytes of the steps of Newton's method, or of the symbols that are made before them."""
    (n, k), leaders = shape, min(threads, problems)
    most = {together: -(-min(most_symbols(n), size**together) // 16) * 16 for together in TOGETHER}
    wide = max(-(-k // together) * count for together, count in most.items())
    places = 4 * (k + -(-k // TOGETHER[-1])) * max(most.values())  # of the codes of symbols, and their first rows
    slots = max(1 << 10, 1 << (2 * max(most.values()) + 1).bit_length()) * SLOT_BYTES
    numbering = (
        threads * (min(max(TABLE_BYTES, slots), 32 * slots) + slots // 2) + min(n, LINEAR_SEGMENT) * k * code_bytes
    )
    sample = sample_rows(n * -(-k // TOGETHER[-1]))
    steps = n * problems * real_bytes
    steps += leaders * (n * (4 + 4 * real_bytes) + (6 * k * stride_of(size) + (threads + 2) * wide) * real_bytes)
    steps += leaders * sample * (sample * real_bytes + k * (code_bytes + 1))
    return int(places + max(numbering, steps))


def symbol_bytes(shape: tuple[int, int], size: int, loss: Loss, real_bytes: int) -> int:
    """Return the bytes that Newton's method takes in addition if the codes are in memory, and symbols beside them."""
    if not _may_take_newton(shape, size, loss):
        return 0
    n, groups = shape[0], -(-shape[1] // TOGETHER[-1])
    return n * groups * (2 + real_bytes // 4) + groups * TABLE_BYTES // 8


def _may_take_newton(shape: tuple[int, int], size: int, loss: Loss) -> bool:
    return loss.is_smooth and shape[0] * shape[1] >= LEAST_CODES and stride_of(size) <= MOST_STRIDE
