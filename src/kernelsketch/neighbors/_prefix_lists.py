"""Prefix lists: a group of sparse rows that other rows are compared with exactly.

The lists have, for each feature, the rows of the group with the feature in their prefixes (``reference/join.py``). The
proof there needs one order of all features, and any order will do. Here it is that of the counters of the group, which
count its rows alone and start from 1. So a feature that no row of the group has is counted once, comes first, and is
left out of the prefix of a new row, and every feature of the group stays in. A group that was listed for a threshold
has the pairs of all higher ones, since its prefixes are then longer than they need to be.

Rows that are equal share one entry: the lists have the first of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np

from .._array import Array
from .._interruptible import interruptible
from ..backends import CsrRows, processor_for
from ._join import prefixes_of
from ._vectors import stacked

MOST_COUNTERS = 1 << 24  # of a group: common features stand out although many share a counter
LEAST_COUNTERS = 1 << 12
PER_COUNTER = 8  # nonzeros of a group
SLACK = 1 - 2.0**-20  # rounding of norms may exclude no pair
MOST_CANDIDATES = 1 << 20  # that are verified at a time


class Group(NamedTuple):
    """A block of rows of a group, and the numbers of these rows in the group."""

    rows: CsrRows
    numbers: Array


class PrefixLists(NamedTuple):
    """The lists of a group: ``rows[i]`` has ``features[i]`` in its prefix. Features ascend."""

    counters: Array  # uint16
    features: Array  # int64
    rows: Array  # uint32

    @classmethod
    def of(cls, blocks: Callable[[], Iterable[Group]], nonzeros: int, threshold: float, threads: int) -> PrefixLists:
        """List a group whose blocks of rows are read twice."""
        join = processor_for(threads=threads)
        size = 1 << (nonzeros // PER_COUNTER).bit_length()
        counters = np.ones(min(max(size, LEAST_COUNTERS), MOST_COUNTERS), np.uint16)
        for block in blocks():
            join.join_count(block.rows, counters)
        features, rows = [np.zeros(0, np.int64)], [np.zeros(0, np.uint32)]
        for block in blocks():
            found, row = prefixes_of(block.rows, counters, threshold, threads)
            features.append(found)
            rows.append(block.numbers[row].astype(np.uint32))
        every, of_rows = np.concatenate(features), np.concatenate(rows)
        del features, rows
        order = interruptible(lambda: np.argsort(every, kind="stable"))
        return cls(counters, every[order], of_rows[order])

    def candidates(self, probes: CsrRows, norms: Array, threshold: float, threads: int) -> Iterator[Array]:
        """Yield pairs of a probe and a row of the group that can reach the threshold, in blocks; each pair comes once.

        ``norms`` are those of the rows of the group.
        """
        features, probe = prefixes_of(probes, self.counters, threshold, threads)
        order = np.argsort(features, kind="stable")  # neighbours in the lists are read together
        begins = np.empty(len(features), np.int64)
        ends = np.empty(len(features), np.int64)
        begins[order] = np.searchsorted(self.features, features[order], side="left")
        ends[order] = np.searchsorted(self.features, features[order], side="right")
        counts, own = ends - begins, probes.norms()
        done, start = np.concatenate([[0], np.cumsum(counts)]), 0
        last = np.append(np.flatnonzero(probe[1:] != probe[:-1]) + 1, len(probe))  # ends of the entries of a probe
        while start < len(probe):
            stop = int(np.searchsorted(done, done[start] + MOST_CANDIDATES, side="right")) - 1
            place = int(np.searchsorted(last, max(stop, start + 1), side="right")) - 1
            if place >= 0 and last[place] > start:
                stop = int(last[place])  # whole probes
            else:
                stop = int(last[np.searchsorted(last, start, side="right")])  # one probe with many candidates
            part = counts[start:stop]
            one = np.repeat(probe[start:stop], part)
            at = (
                np.repeat(begins[start:stop], part)
                + np.arange(len(one))
                - np.repeat(done[start:stop] - done[start], part)
            )
            other = self.rows[at].astype(np.int64)
            a, b = own[one], norms[other]
            able = np.minimum(a, b) >= threshold * np.maximum(a, b) * SLACK
            keys = interruptible(np.unique, one[able] * (1 << 32) + other[able])
            yield np.stack([keys >> 32, keys & 0xFFFFFFFF], axis=1)
            start = stop


def similar_to_group(
    lists: PrefixLists,
    norms: Array,
    rows_of: Callable[[Array], Iterator[tuple[slice, CsrRows]]],
    probes: CsrRows,
    threshold: float,
    threads: int,
) -> Iterator[tuple[Array, Array]]:
    """Yield pairs of a probe and a row of the group of at least this similarity, and their similarities.

    ``rows_of`` makes the rows of the group that are needed, in parts.
    """
    for pairs in lists.candidates(probes, norms, threshold, threads):
        if not len(pairs):
            continue
        pairs = pairs[np.argsort(pairs[:, 1], kind="stable")]
        needed, place = np.unique(pairs[:, 1], return_inverse=True)
        for part, rows in rows_of(needed):
            mine = slice(*np.searchsorted(place, [part.start, part.stop]).tolist())
            some = pairs[mine]
            own, left = np.unique(some[:, 0], return_inverse=True)
            both = stacked([probes.take(own), rows])
            right = place[mine] - part.start + len(own)
            similarity = processor_for(threads=threads).join_similarities(both, left.copy(), right.copy())
            similar = similarity >= threshold
            yield some[similar], similarity[similar]
