"""Unions of hashes: each group of columns, a view, is hashed by itself, and the codes stand side by side.

The kernel of the codes is the mean of the kernels of the views, weighted with their numbers of hashes. :class:`Hasher`
specifies the seeds of the views and the codes of rows that are zero in a view.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache, reduce
from operator import and_
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from .._array import Array
from .._mix import GOLDEN64, mix_number
from ..backends import CsrRows, Hashes, Rows, backend_for
from ..exceptions import InputError, Setting

if TYPE_CHECKING:
    from ._hasher import Hasher

MOST_FEATURES = 2**62  # of the columns and one more per view, so that samples fit in 63 bits


class View(NamedTuple):
    """A group of columns, the places of its codes, and the hash of its own."""

    number: int
    columns: slice
    hashes: slice
    hasher: Hasher


def check_views(views: tuple[int, ...], n_components: int) -> None:
    """Refuse groups without columns, and more groups than hashes."""
    if min(views) < 1:
        raise InputError(Setting("views", list(views)), " has a group without columns: every width must be at least 1.")
    if sum(views) + len(views) > MOST_FEATURES:
        raise InputError(Setting("views", list(views)), f" has {sum(views)} columns: at most 2**62 are supported.")
    if n_components < len(views):
        raise InputError(
            Setting("n_components", n_components),
            f" is less than the number of views, {len(views)}: use at least one hash per view.",
        )


@lru_cache(maxsize=1024)  # a prediction of one row takes as long as a few of these
def view_seed(seed: int, number: int) -> int:
    """Return the seed of a view: that of the union for view 0, otherwise a 64-bit mix of it and the number."""
    return mix_number(mix_number(seed) + number * GOLDEN64) if number else seed


def views_of(hasher: Hasher, n_features: int) -> list[View]:
    """Return the views of a hash; a plain hash is a single one. The first views get one more hash if some are left."""
    widths, k = hasher.views or (n_features,), hasher.n_components
    found, start, first = [], 0, 0
    for number, width in enumerate(widths):
        columns = slice(start, start + width)
        hashes = slice(first, first + k // len(widths) + (number < k % len(widths)))
        own = replace(
            hasher,
            n_components=hashes.stop - hashes.start,
            seed=view_seed(hasher.seed, number),
            center=None if hasher.center is None else hasher.center[columns],
            views=(),
        )
        found.append(View(number, columns, hashes, own))
        start, first = columns.stop, hashes.stop
    return found


def union_codes(hasher: Hasher, rows: Rows, backend: Hashes, out: Array) -> Array:
    """Write the codes of a block of rows to ``out``, not packed, and return flags of rows that are all zero."""
    return _union(hasher, rows, backend, (out,), lambda own, part, _: own.block_codes(part, backend))


def union_samples(hasher: Hasher, rows: Rows, backend: Hashes) -> tuple[Array, Array, Array]:
    """Return the samples i* and t* of a block of rows, and flags of rows that are zero in all views."""
    slots, t = (backend.empty((len(rows), hasher.n_components), np.int64) for _ in range(2))

    def samples(own: Hasher, part: Rows, first: int) -> tuple[Array, Array, Array]:
        slots, t, zero = own.block_samples(part, backend)
        if own.gamma is None:
            slots += 2 * first
            slots[zero] = -1
        return slots, t, zero

    return slots, t, _union(hasher, rows, backend, (slots, t), samples)


def _union(
    hasher: Hasher,
    rows: Rows,
    backend: Hashes,
    outs: Sequence[Array],
    hashed: Callable[[Hasher, Rows, int], tuple[Array, ...]],
) -> Array:
    """Write what ``hashed`` returns for each view, and return flags of rows that are zero in all views.

    ``hashed`` takes the hash and the columns of a view, and the number of the first column in the whole row.
    """
    views, zeros = views_of(hasher, rows.n_features), []
    for view in views:
        *found, zero = hashed(view.hasher, rows.columns(view.columns), view.columns.start)
        zeros.append(zero)
        for out, part in zip(outs, found, strict=True):
            out[:, view.hashes] = part
    empty = reduce(and_, zeros)
    for view, zero in zip(views, zeros, strict=True):
        absent = zero & ~empty
        if absent.any():
            plain, row = _absent(view, backend)
            first = rows.n_features + view.number - (row.n_features - 1)  # its only feature is the last one
            *found, _ = hashed(plain, row, first)
            for out, part in zip(outs, found, strict=True):
                out[absent, view.hashes] = part
    return empty


def _absent(view: View, backend: Hashes) -> tuple[Hasher, CsrRows]:
    """Return what stands for rows that are zero in a view: a row with a feature that no row has, and its hash."""
    width = view.columns.stop - view.columns.start
    parts = np.array([0, 1], np.int64), np.array([width], np.int64), np.ones(1)
    indptr, indices, data = map(backend.from_numpy, parts)
    return replace(view.hasher, center=None), CsrRows(indptr, indices, data, width + 1)


def absent_codes(hasher: Hasher) -> Array:
    """Return the codes of each view for rows that are zero there and not in all views; zeros for the plain hash."""
    found = np.zeros(hasher.n_components, np.uint32)
    for view in views_of(hasher, 0) if hasher.views else ():
        plain, row = _absent(view, backend_for())
        found[view.hashes] = plain.block_codes(row, backend_for())[0][0]
    return found
