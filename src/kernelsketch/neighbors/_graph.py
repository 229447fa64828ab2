"""Graphs of dense rows: each row has links to rows near it, which searches follow (reference/graph.py)."""

from __future__ import annotations

import numpy as np

from .._array import Array
from ..backends import Graph, Vectors, processor_for

MOST_LINKS = 256  # per row
ENTRIES = 64  # rows where a search begins
SPREAD = 2_654_435_769  # row * SPREAD modulo 2**32 scatters rows that come in groups
SAMPLE = 1 << 18  # values from which the range of bytes is chosen
TAILS = (0.0, 1e-5, 1e-4, 1e-3, 1e-2)  # parts of the values that may be cut off at either end


def make_graph(vectors: Vectors, flags: Array, degree: int, threads: int) -> Graph:
    """Build the graph of the rows of flag 0. Results do not depend on threads."""
    low, scale, bytes_ = 0.0, 1.0, None
    if vectors.bytes is None:
        assert vectors.dense is not None
        low, scale = byte_range(vectors.dense)
        bytes_ = processor_for(vectors.dense, threads=threads).graph_bytes(vectors.dense, low, scale)
    live = np.flatnonzero(flags == 0).astype(np.uint32)
    order = live[np.argsort(live * np.uint32(SPREAD), kind="stable")]
    links = np.repeat(np.arange(len(flags), dtype=np.uint32)[:, None], degree, axis=1)
    compared = vectors.bytes if bytes_ is None else bytes_
    assert compared is not None
    processor_for(compared, threads=threads).graph_build(compared, vectors.norms, order, 0, links)
    return Graph(links, order[:ENTRIES].copy(), low, scale, bytes_)


def byte_range(values: Array) -> tuple[float, float]:
    """Choose how floats become bytes: return low and scale of round((x - low) * scale).

    Values outside of the range are cut off. The range with the smallest expected error on a sample is chosen.
    """
    flat = values.reshape(-1)
    sample = np.sort(flat[:: max(1, len(flat) // SAMPLE)].astype(np.float64))
    if len(sample) == 0 or sample[0] == sample[-1]:
        return 0.0, 1.0
    best = (np.inf, 0.0, 1.0)
    for tail in TAILS:
        cut = int(tail * len(sample))
        low, high = sample[cut], sample[len(sample) - 1 - cut]
        if sample[0] >= 0:
            low = 0.0
        if high > low:
            step = (high - low) / 255
            error = step / 4 + float(np.mean(np.maximum(sample - high, 0) + np.maximum(low - sample, 0)))
            best = min(best, (error, low, 1 / step))
    return float(np.float32(best[1])), float(np.float32(best[2]))
