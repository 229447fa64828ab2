"""Hash and linear model in an ONNX graph: from the columns of views to codes, and from codes to decision values.

ONNX has neither integer views of floats nor fused multiply-adds. The parameters of the hash are therefore constants of
the graph, logarithms take the exponent from powers of two, and fused operations are computed in float64 and rounded
once. A sum that float64 does not hold exactly is rounded twice, which changes a code only if it also lies at an
integer: codes are equal in practice, and tests compare them. Sums of weights run in the order of the specification.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .._array import Array
from ..backends import HashView, ReadyModel
from ..exceptions import InputError
from ._onnx_graph import OnnxGraph

MOST_PARAMETERS = 1 << 25  # of 12 bytes in the graph
LN2 = 0.69314718055994530942
SQRT_HALF = 0.70710678118654752440
PARTS = 16  # of hashes, whose weights are summed one part after the other


class OnnxFlags(NamedTuple):
    """Flags of a view: rows have one row of a table for each group of flags, of which one is 1.

    ``columns`` has the column of the view of each row of the table, -1 for no flag, and ``weights`` its value.
    ``firsts`` are the first columns of the groups.
    """

    columns: Array
    weights: Array
    firsts: Array


class OnnxView(NamedTuple):
    """A view: the numbers of those of its columns that are dense, and its flags, if it has any."""

    dense: Array
    flags: OnnxFlags | None = None


def onnx_codes(
    g: OnnxGraph, ready: ReadyModel, views: Sequence[OnnxView], absent: Array, x: str, flags: str | None = None
) -> tuple[str, str]:
    """Return the codes (rows, hashes) as int64, and whether rows are empty (rows, 1).

    ``x`` has the dense columns of all views, (rows, columns), and ``flags`` the rows of the tables of flags, (rows,
    groups), which are the same for all views.
    """
    if sum(2 * len(own.dense) * view.hashes for view, own in zip(ready.views, views, strict=True)) > MOST_PARAMETERS:
        raise InputError(
            f"the model has {sum(len(view.dense) for view in views)} columns and {ready.w.shape[1]} hashes, whose "
            "parameters are too many for an ONNX file: use fewer hashes, or kernelsketch.serving.Predictor."
        )
    # A value takes a row of the tables of its view: that of its column, of the column's negative values, or of zeros.
    is_zero, negative = g("Equal", x, g.constant(0.0)), g("Less", x, g.constant(0.0))
    logs = _logs(g, g("Where", is_zero, g.constant(1.0), g("Abs", x)), ready.p)
    own = np.concatenate([np.arange(len(view.dense)) for view in views])
    count = np.repeat([len(view.dense) for view in views], [len(view.dense) for view in views])
    above, below, hidden = (g.constant(rows, np.int64) for rows in (own, own + count, 2 * count))
    rows = g("Where", is_zero, hidden, g("Where", negative, below, above))
    found, zeros, column, first = [], [], 0, 0
    for view, parts in zip(ready.views, views, strict=True):
        end = column + len(parts.dense)
        some = [x if len(views) == 1 else _columns(g, x, column, end) for x in (logs, rows)] if end > column else []
        codes, is_empty = _view_codes(g, ready, view, parts, some, flags)
        zeros.append(is_empty)
        found.append(g("Where", is_empty, g.constant(absent[first : first + view.hashes][None], np.int64), codes))
        column, first = end, first + view.hashes
    empty = zeros[0]
    for more in zeros[1:]:
        empty = g("And", empty, more)
    return g.joined(found), empty


def _columns(g: OnnxGraph, x: str, first: int, end: int) -> str:
    return g("Slice", x, *(g.constant([at], np.int64) for at in (first, end, 1)))


def _view_codes(
    g: OnnxGraph, ready: ReadyModel, view: HashView, parts: OnnxView, dense: list[str], flags: str | None
) -> tuple[str, str]:
    """Return the codes of a view, and whether its columns are all zero. ``dense`` has logarithms and rows of tables."""
    mask = (1 << ready.bits) - 1
    ranks, codes, order = [], [], list[float]()
    steps = ""
    if dense:
        logs, rows = dense
        r, reciprocal, above, A = (g.cast(g.constant(table, np.float32), np.float64) for table in _tables(view, parts))
        line = g("Mul", g("Unsqueeze", logs, g.constant([2], np.int64)), g("Gather", reciprocal, rows))
        steps = g("Floor", g.cast(g("Add", line, g("Gather", above, rows)), np.float32))  # t + 1
        fall = g("Mul", g("Gather", r, rows), g.cast(steps, np.float64))
        ranks.append(g.cast(g("Sub", g("Gather", A, rows), fall), np.float32))
        sides = [(parts.dense ^ (side << (ready.bits - 1))) & mask for side in (0, 1)]
        codes.append(g("Gather", g.constant([*sides[0], *sides[1], -1], np.int64), rows))
        order += parts.dense.tolist()
    if parts.flags is not None:
        assert flags is not None
        assert ready.t_bits == 0
        there = parts.flags.columns >= 0
        ranks.append(g("Gather", g.constant(_ranks_of_flags(ready, view, parts.flags), np.float32), flags))
        codes.append(g("Gather", g.constant(np.where(there, parts.flags.columns & mask, -1), np.int64), flags))
        order += parts.flags.firsts.tolist()
    rank, code = g.joined(ranks), g.joined(codes)  # (rows, columns, hashes) and (rows, columns)
    if (np.diff(order) < 0).any():  # the lowest column wins among equals
        rank, code = (g.taken(x, np.argsort(order, kind="stable")) for x in (rank, code))
    is_empty = g("Less", g("ReduceMax", code, axes=[1], keepdims=1), g.constant(0, np.int64))
    winner, one = g("ArgMin", rank, axis=1, keepdims=1), g.constant([1], np.int64)
    found = g("GatherElements", code, g("Squeeze", winner, one), axis=1)
    if ready.t_bits:
        t = g("Squeeze", g("GatherElements", steps, winner, axis=1), one)
        t = g("Sub", g.cast(t, np.int64), g.constant(1, np.int64))
        t = g("Mod", t, g.constant(1 << ready.t_bits, np.int64))
        found = g("Add", found, g("Mul", t, g.constant(1 << ready.bits, np.int64)))
    return found, is_empty


def _tables(view: HashView, parts: OnnxView) -> tuple[Array, Array, Array, Array]:
    """Return r, 1 / r, 1 + beta and A of the rows that a value can take: of each column, its negative, and of zeros."""
    from ..backends.reference import hash_parameters

    slots = np.concatenate([2 * parts.dense, 2 * parts.dense + 1])
    r, reciprocal, beta, A = hash_parameters(view.seed, slots, view.hashes)
    tables = zip((r, reciprocal, np.float32(1) + beta, A), (0, 0, 1, np.inf), strict=True)
    r, reciprocal, above, A = (np.append(table, np.full((1, view.hashes), last), axis=0) for table, last in tables)
    return r, reciprocal, above, A


def _ranks_of_flags(ready: ReadyModel, view: HashView, flags: OnnxFlags) -> Array:
    from ..backends.reference import hash_ranks

    found = np.full((len(flags.columns), view.hashes), np.inf, np.float32)
    there = flags.columns >= 0
    found[there] = hash_ranks(view.seed, 2 * flags.columns[there], flags.weights[there], ready.p, view.hashes)
    return found


def _logs(g: OnnxGraph, x: str, p: float) -> str:
    """Return p log2(x) as float32 values in float64, as ``reference/arithmetic.py`` computes it, for x above 0."""
    one, two, half = (g.constant(value) for value in (1.0, 2.0, 0.5))
    tiny = g("Less", x, g.constant(2.0**-1000))
    x = g("Where", tiny, g("Mul", x, g.constant(2.0**60)), x)
    exponent = g("Add", g("Floor", g("Div", g("Log", x), g.constant(LN2))), one)
    part = g("Div", exponent, two)  # in two factors, because 2^1024 is not finite
    low = g("Floor", part)
    m = g("Div", g("Div", x, g("Pow", two, low)), g("Pow", two, g("Sub", exponent, low)))
    for _ in range(2):  # the logarithm may be off by one: the mantissa is at least 1/2 and below 1
        small, large = g("Less", m, half), g("GreaterOrEqual", m, one)
        m = g("Where", small, g("Mul", m, two), g("Where", large, g("Mul", m, half), m))
        exponent = g("Where", small, g("Sub", exponent, one), g("Where", large, g("Add", exponent, one), exponent))
    exponent = g("Where", tiny, g("Sub", exponent, g.constant(60.0)), exponent)
    m = g.rounded(m)
    below = g("Less", m, g.constant(SQRT_HALF))
    m = g("Where", below, g("Add", m, m), m)
    exponent = g("Where", below, g("Sub", exponent, one), exponent)
    s = g("Div", g("Sub", m, one), g("Add", m, one))
    z = g("Mul", s, s)
    q = g.constant(2 / (15 * LN2))
    for k in range(6, -1, -1):
        q = g("Add", g("Mul", q, z), g.constant(2 / ((2 * k + 1) * LN2)))
    return g.rounded(g("Mul", g.constant(p), g("Add", g("Mul", s, q), exponent)))


def onnx_decision(g: OnnxGraph, ready: ReadyModel, codes: str, empty: str) -> str:
    """Return the decision values of codes, float64 (rows, problems), added in the order of the specification."""
    problems, k, stride = ready.w.shape
    real = ready.w.dtype
    size = -(-k // (PARTS * 16)) * 16
    parts = -(-k // size)
    numbers = g("Gather", g.constant(ready.number_of, np.int64), codes)
    places = g("Add", numbers, g.constant(np.arange(k)[None] * stride, np.int64))
    sums = []
    for p in range(problems):
        weights = g("Gather", g.constant(ready.w[p].ravel(), real), places)
        ends = g.constant([0, 0, 0, parts * size - k], np.int64)
        weights = g("Pad", weights, ends, g.constant(0, real)) if parts * size > k else weights
        weights = g("Reshape", weights, g.constant([-1, parts, size], np.int64))
        sums.append(g("Unsqueeze", g.summed(g.summed(weights, size, 2), parts, 1), g.constant([1], np.int64)))
    values = g("Where", empty, g.constant(0, real), g.joined(sums))
    return g.cast(g("Add", values, g.constant(ready.offset[None], real)), np.float64)


def onnx_calibrated(g: OnnxGraph, values: str, slopes: Array, intercepts: Array) -> str:
    """Return the logits of decision values, as serving/_probabilities.py computes them."""
    if len(slopes) == 1:
        return g("Add", g("Mul", values, g.constant(slopes)), g.constant(intercepts[None]))
    products = g("Mul", g("Unsqueeze", values, g.constant([2], np.int64)), g.constant(slopes))
    first = np.zeros_like(slopes)
    first[0] = intercepts
    return g.summed(g("Add", products, g.constant(first)), len(slopes))
