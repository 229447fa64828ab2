"""The columns of views of a model of tables in ONNX, and the features that trees split.

Numbers, components and quantiles are columns of float32, as ``_views.py`` and native/src/table_model.cpp compute them.
A flag is 0 or 1, so what the hash makes of it is a constant: a row takes one constant for each column with flags.
"""

from __future__ import annotations

import numpy as np

from .._array import Array
from ..backends import ReadyTable
from ..serving import OnnxFlags, OnnxGraph, OnnxView
from ._onnx_columns import OnnxColumns

TOGETHER = 4096  # products of components that are held per row at a time


class OnnxViews:
    """What becomes of the numbers and flags of rows."""

    def __init__(self, g: OnnxGraph, ready: ReadyTable, columns: OnnxColumns) -> None:
        self._g, self._ready, self._columns = g, ready, columns
        number, scale = ready.features.T
        self._numbers = np.flatnonzero(number >= 0)  # features that are numbers, in the order of the numbers
        self._numbers = self._numbers[np.argsort(number[self._numbers])]
        self._scaled = self._numbers[scale[self._numbers] >= 0]
        self._plain = self._numbers[scale[self._numbers] < 0]
        self._flags = np.flatnonzero(number < 0)

    def columns(self) -> tuple[str, list[OnnxView]]:
        """Return the dense columns of all views, float64 (rows, columns), and which columns of views they are."""
        g, ready = self._g, self._ready
        d, count = len(ready.features), ready.directions.shape[1]
        base, place_of = self._base()
        ends = np.cumsum([view.width for view in ready.model.views])
        parts, dense = [], []
        for first, end in zip([0, *ends[:-1]], ends, strict=True):
            sources, weights = ready.sources[first:end], ready.weights[first:end]
            feature = np.where(sources < d, sources, np.where(sources < d + count, -1, sources - d - count))
            is_flag = (feature >= 0) & (ready.features[feature, 0] < 0)
            own = np.flatnonzero(~is_flag)
            dense.append((place_of[sources[own]], weights[own]))
            parts.append(OnnxView(own, self._flags_of(feature, is_flag, weights)))
        places, weights = (np.concatenate([part[i] for part in dense]) for i in (0, 1))
        chosen = g("Mul", g.taken(base, places), g.constant(weights[None], np.float32))
        return g.cast(chosen, np.float64), parts

    def features(self) -> str:
        """Return the features, float64 (rows, features), with NaN where a number is missing."""
        numbers = self._columns.numbers
        return self._in_order([] if numbers is None else [(self._numbers, numbers)])

    def _in_order(self, parts: list[tuple[Array, str]]) -> str:
        """Return features of numbers, and flags, in the order of all features."""
        g = self._g
        if len(self._flags):
            parts = [*parts, (self._flags, self._one_hot())]
        order = np.argsort(np.concatenate([places for places, _ in parts]))
        found = g.joined([values for _, values in parts])
        return found if (np.diff(order) > 0).all() else g.taken(found, order)

    def _one_hot(self) -> str:
        g, counts = self._g, self._columns.n_flags
        owner = np.repeat(np.arange(len(counts)), counts)
        rows = np.concatenate([first + np.arange(count) for first, count in zip(self._firsts(), counts, strict=True)])
        assert self._columns.flag_rows is not None
        found = g.taken(self._columns.flag_rows, owner)
        return g.cast(g("Equal", found, g.constant(rows[None], np.int64)), np.float64)

    def _firsts(self) -> Array:
        counts = self._columns.n_flags + 1
        return np.asarray(np.cumsum(counts) - counts)

    def _flags_of(self, feature: Array, is_flag: Array, weights: Array) -> OnnxFlags | None:
        """Return the flags of a view, given the features of its columns, of which some are flags."""
        counts, starts = self._columns.n_flags, self._ready.starts
        if not is_flag.any():
            return None
        column_of = np.full(len(self._ready.features), -1, np.int64)
        column_of[feature[is_flag]] = np.flatnonzero(is_flag)
        rows = [np.append(column_of[s : s + n], -1) for s, n in zip(starts, counts, strict=True)]
        columns = np.concatenate(rows)
        firsts = np.array([part[part >= 0].min(initial=len(feature)) for part in rows])
        return OnnxFlags(columns, np.where(columns >= 0, weights[columns], 0), firsts)

    def _base(self) -> tuple[str, Array]:
        """Return standardized numbers, components and quantiles as float32, and the place of each source there."""
        g, ready = self._g, self._ready
        d, count = len(ready.features), ready.directions.shape[1]
        place_of, parts, at = np.full(2 * d + count, -1, np.int64), list[str](), 0
        has_quantiles, scaled = (ready.sources >= d + count).any(), None
        if len(self._scaled):
            scaled = self._in_range()
            parts.append(self._standardized(scaled))
        if len(self._plain):
            parts.append(self._as_flags())
        for features in (self._scaled, self._plain):
            place_of[features] = place_of[d + count + features] = at + np.arange(len(features))
            at += len(features)
        if count:
            parts.append(self._components(list(parts)))
            place_of[d : d + count] = at + np.arange(count)
            at += count
        if has_quantiles and scaled is not None:
            parts.append(self._quantiles(scaled))
            place_of[d + count + self._scaled] = at + np.arange(len(self._scaled))
        if not parts:  # flags alone
            flags = self._columns.flag_rows
            assert flags is not None
            parts.append(g.cast(g.taken(flags, np.zeros(0)), np.float32))
        return g.joined(parts), place_of

    def _chosen(self, features: Array) -> str:
        assert self._columns.numbers is not None
        if len(features) == len(self._numbers):
            return self._columns.numbers
        return self._g.taken(self._columns.numbers, self._ready.features[features, 0])

    def _scales(self, column: int) -> Array:
        return np.asarray(self._ready.scales[self._ready.features[self._scaled, 1], column][None])

    def _in_range(self) -> str:
        g = self._g
        unit, low, high = (g.constant(self._scales(i)) for i in range(3))
        x = g("Div", self._chosen(self._scaled), unit)
        return g("Where", g("Less", x, low), low, g("Where", g("Greater", x, high), high, x))

    def _standardized(self, x: str) -> str:
        g = self._g
        z = g("Div", g("Sub", x, g.constant(self._scales(3))), g.constant(self._scales(4)))
        return g.cast(g("Where", g("IsNaN", z), g.constant(0.0), z), np.float32)

    def _as_flags(self) -> str:
        """Numbers that are 0 or 1 in all training rows: others count as the nearer end."""
        g, x = self._g, self._chosen(self._plain)
        zero, one = g.constant(0.0), g.constant(1.0)
        x = g("Where", g("Greater", x, one), one, x)
        return g.cast(g("Where", g("Greater", x, zero), x, zero), np.float32)

    def _components(self, standard: list[str]) -> str:
        """The products of standardized features and directions, added in the order of the features."""
        g, ready = self._g, self._ready
        numbers = [self._scaled] * bool(len(self._scaled)) + [self._plain] * bool(len(self._plain))
        x = self._in_order([(f, g.cast(part, np.float64)) for f, part in zip(numbers, standard, strict=True)])
        x = g("Sub", x, g.constant(ready.mean[None]))
        d, count = ready.directions.shape
        step, sums = max(1, TOGETHER // count), ""
        for first in range(0, d, step):
            own = np.arange(first, min(d, first + step))
            part = x if len(own) == d else g.taken(x, own)
            products = g("Mul", g("Unsqueeze", part, g.constant([2], np.int64)), g.constant(ready.directions[own]))
            if sums:
                products = g("Concat", g("Unsqueeze", sums, g.constant([1], np.int64)), products, axis=1)
            sums = g.summed(products, len(own) + bool(sums))
        return g.cast(sums, np.float32)

    def _quantiles(self, x: str) -> str:
        """Levels of numbers in tables of quantiles: ks_quantile_level of native/core/tables.h for all numbers."""
        g, table = self._g, self._ready.quantiles[self._ready.features[self._scaled, 1]]
        m = table.shape[1]
        levels, flat = g.constant(np.linspace(-1, 1, m)), g.constant(table.ravel())
        starts, wide = (np.arange(len(table)) * m)[None], g("Unsqueeze", x, g.constant([2], np.int64))
        zero, one, last = (g.constant(value, np.int64) for value in (0, 1, m - 1))
        two = g.constant(2.0)

        def count(op: str) -> str:
            flags = g.cast(g(op, g.constant(table[None]), wide), np.int64)
            return g("ReduceSum", flags, g.constant([2], np.int64), keepdims=0)

        def between(j: str, most: int) -> str:
            return g("Min", g("Max", j, zero), g.constant(most, np.int64))

        def entry(j: str) -> str:
            return g("Gather", flat, g("Add", j, g.constant(starts, np.int64)))

        def level(j: str) -> str:
            return g("Gather", levels, j)

        def line(j: str, width: str, away: str) -> str:
            """The level on the line that begins at place j of the levels."""
            after = level(g("Add", j, one))
            slope = g("Div", g("Sub", after, level(j)), width)
            found = g("Add", g("Mul", slope, away), level(j))
            return g("Where", g("Less", found, after), found, after)

        up_to, below = count("LessOrEqual"), count("Less")
        j = between(g("Sub", up_to, one), m - 2)
        back = between(g("Sub", last, up_to), m - 2)
        at, after = entry(j), entry(g("Add", j, one))
        width = g("Sub", after, at)
        rising, falling = line(j, width, g("Sub", x, at)), line(back, width, g("Sub", after, x))
        found = g("Div", g("Sub", rising, falling), two)
        found = g("Where", g("GreaterOrEqual", up_to, g.constant(m, np.int64)), g.constant(1.0), found)
        there = between(g("Sub", up_to, one), m - 1)
        mirrored = between(g("Sub", last, below), m - 1)
        mean = g("Div", g("Sub", level(there), level(mirrored)), two)
        found = g("Where", g("Equal", entry(there), x), mean, found)
        found = g("Where", g("Equal", up_to, zero), g.constant(-1.0), found)
        return g.cast(g("Where", g("IsNaN", x), g.constant(0.0), found), np.float32)
