"""Graphs of dense rows: each row has links to rows near it, which searches follow (reference/graph.py)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._array import Array
from ..backends import Graph, Vectors, processor_for
from ..exceptions import InputError
from ._vectors import DAMAGED_FILE

MOST_LINKS = 256  # per row
ENTRIES = 64  # rows where a search begins
SPREAD = 2_654_435_769  # row * SPREAD modulo 2**32 scatters rows that come in groups
MOST_ZERO = 1 << 20  # in absolute value
SAMPLE = 1 << 18  # values from which the range of bytes is chosen
TAILS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2)  # parts of the values that may be cut off at either end


class LinkedRows(NamedTuple):
    """Rows that have a graph already, without removed ones."""

    rows: Array  # where they are among all rows
    graph: Graph


def make_graph(vectors: Vectors, flags: Array, degree: int, linked: LinkedRows | None, threads: int) -> Graph:
    """Build the graph of the rows of flag 0: insert them into that of the rows that have one, or into a new one.

    Results do not depend on threads.
    """
    zero, scale, bytes_, norms = 0, 1.0, None, np.fmax(vectors.norms, 1).astype(np.float32)
    if vectors.bytes is None:
        assert vectors.dense is not None
        zero, scale = byte_range(vectors.dense)
        bytes_, norms = processor_for(vectors.dense, threads=threads).graph_bytes(vectors.dense, zero, scale)
    live = np.flatnonzero(flags == 0).astype(np.uint32)
    order = live[np.argsort(live * np.uint32(SPREAD), kind="stable")]
    links = np.repeat(np.arange(len(flags), dtype=np.uint32)[:, None], degree, axis=1)
    done = 0
    if linked is not None:
        there = linked.rows.astype(np.uint32)
        if max(linked.graph.links.max(initial=0), linked.graph.entries.max(initial=0)) >= len(there):
            raise InputError("the index file is damaged: its graph links to rows that do not exist. " + DAMAGED_FILE)
        links[there] = there[linked.graph.links]
        rank = np.full(len(flags), 2)  # entries come first, then other rows that have links
        rank[there], rank[there[linked.graph.entries]] = 1, 0
        order = order[np.argsort(rank[order], kind="stable")]
        done = int((rank[live] < 2).sum())
    compared = vectors.bytes if bytes_ is None else bytes_
    assert compared is not None
    processor_for(compared, threads=threads).graph_build(compared, norms, order, done, links)
    return Graph(links, order[:ENTRIES].copy(), norms, zero, scale, bytes_)


def byte_range(values: Array) -> tuple[int, float]:
    """Choose how floats become bytes: return zero and scale of round(x * scale) + zero.

    Values outside of the range are cut off. The range with the smallest expected error on a sample is chosen.
    """
    flat = values.reshape(-1)
    sample = np.sort(flat[:: max(1, len(flat) // SAMPLE)].astype(np.float64))
    if len(sample) == 0 or sample[0] == sample[-1]:
        return 0, 255 / float(sample[0]) if len(sample) and sample[0] > 0 else 1.0
    best = (np.inf, 0.0, 0.0)
    for tail in TAILS:
        cut = int(tail * len(sample))
        low, high = sample[cut], sample[len(sample) - 1 - cut]
        if -low * 255 > MOST_ZERO * (high - low) or low * 255 > MOST_ZERO * (high - low):
            low, high = min(low, 0.0), max(high, 0.0)  # float32 could hardly tell these values apart
        step = (high - low) / 255
        lost = float(np.mean(np.maximum(sample - high, 0) + np.maximum(low - sample, 0)))
        if step > 0:
            best = min(best, (step / 4 + lost, low, step))
    _, low, step = best
    return round(-low / step), float(np.float32(1 / step))
