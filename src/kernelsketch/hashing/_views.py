"""Unions of hashes: each group of columns, a view, is hashed by itself, and the codes stand side by side.

The kernel of the codes is the mean of the kernels of the views, weighted with their numbers of hashes. :class:`Hasher`
specifies the seeds of the views and the codes of rows that are zero in a view.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache
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


def views_of(hasher: Hasher) -> Iterator[View]:
    """Yield the views of a union with their hashes. If the hashes do not divide evenly, the first get one more."""
    start, first, count, k = 0, 0, len(hasher.views), hasher.n_components
    for number, width in enumerate(hasher.views):
        columns = slice(start, start + width)
        hashes = slice(first, first + k // count + (number < k % count))
        own = replace(
            hasher,
            n_components=hashes.stop - hashes.start,
            seed=view_seed(hasher.seed, number),
            center=None if hasher.center is None else hasher.center[columns],
            views=(),
        )
        yield View(number, columns, hashes, own)
        start, first = columns.stop, hashes.stop


def union_codes(hasher: Hasher, rows: Rows, backend: Hashes, out: Array) -> Array:
    """Write the codes of a block of rows to ``out``, not packed, and return flags of rows that are all zero."""
    views = list(views_of(hasher))
    zeros: list[Array] = []
    for view in views:
        out[:, view.hashes], zero = view.hasher.block_codes(rows.columns(view.columns), backend)
        zeros.append(zero)
    empty = _all_of(zeros)
    for view, zero in zip(views, zeros, strict=True):
        absent = zero & ~empty
        if absent.any():
            plain, row = _absent(view, backend)
            out[absent, view.hashes], _ = plain.block_codes(row, backend)
    return empty


def union_samples(hasher: Hasher, rows: Rows, backend: Hashes) -> tuple[Array, Array, Array]:
    """Return the samples i* and t* of a block of rows, and flags of rows that are zero in all views."""
    views = list(views_of(hasher))
    found = [view.hasher.block_samples(rows.columns(view.columns), backend) for view in views]
    empty = _all_of([zero for _, _, zero in found])
    for view, (slots, t, zero) in zip(views, found, strict=True):
        if hasher.gamma is None:
            slots += 2 * view.columns.start
            slots[zero] = -1
        absent = zero & ~empty
        if absent.any():
            plain, row = _absent(view, backend)
            fixed, t[absent], _ = plain.block_samples(row, backend)
            slots[absent] = 2 * (rows.n_features + view.number) if hasher.gamma is None else fixed
    slots, t = (np.concatenate([part[i] for part in found], axis=1) for i in range(2))
    return slots, t, empty


def _all_of(flags: list[Array]) -> Array:
    found = flags[0]
    for more in flags[1:]:
        found = found & more
    return found


def _absent(view: View, backend: Hashes) -> tuple[Hasher, CsrRows]:
    """Return what stands for rows that are zero in a view: a row with a feature that no row has, and its hash."""
    width = view.columns.stop - view.columns.start
    parts = np.array([0, 1], np.int64), np.array([width], np.int64), np.ones(1)
    indptr, indices, data = map(backend.from_numpy, parts)
    return replace(view.hasher, center=None), CsrRows(indptr, indices, data, width + 1)


def absent_codes(hasher: Hasher) -> Array:
    """Return the codes of each view for rows that are zero there and not in all views; zeros for the plain hash."""
    if not hasher.views:
        return np.zeros(hasher.n_components, np.uint32)
    found = np.empty(hasher.n_components, np.uint32)
    for view in views_of(hasher):
        plain, row = _absent(view, backend_for())
        found[view.hashes] = plain.block_codes(row, backend_for())[0][0]
    return found
