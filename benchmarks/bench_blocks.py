"""Out-of-core training from blocks: 1,000,000 x 100 generated rows, k = 256, two classes.

The peer has all rows in memory, which are not counted as its own. The memory limits are 1 GiB, where the codes (256
MB) fit, and 256 MiB, where they stay in the file. The difference is that of the weights: 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import Method, Problem, largest_difference

from kernelsketch import GCWSClassifier

ROWS, FEATURES, HASHES, BLOCK = 1_000_000, 100, 256, 10_000


def blocks(count: int = ROWS) -> Iterator[tuple[Any, Any]]:
    """Two classes of 50 clusters each, far enough apart that most rows are classified correctly."""
    centers = np.random.default_rng(0).normal(size=(100, FEATURES)).astype(np.float32)
    for number in range(count // BLOCK):
        rng = np.random.default_rng([1, number])
        cluster = rng.integers(0, len(centers), BLOCK)
        yield centers[cluster] + 2 * rng.standard_normal((BLOCK, FEATURES), np.float32), cluster % 2


def model() -> GCWSClassifier:
    return GCWSClassifier(HASHES, n_jobs=2)


def problems() -> Any:
    parts = list(blocks())
    X, y = np.concatenate([x for x, _ in parts]), np.concatenate([labels for _, labels in parts])
    del parts
    methods = [
        Method("fit, rows in memory", lambda: model().fit(X, y).fitted_.weights, threads=2, rounds=1),
        Method(
            "fit_blocks, 1 GiB",
            lambda: model().fit_blocks(blocks(), memory=1 << 30).fitted_.weights,
            threads=2,
            rounds=1,
        ),
        Method(
            "fit_blocks, 256 MiB",
            lambda: model().fit_blocks(blocks(), memory=1 << 28).fitted_.weights,
            threads=2,
            rounds=1,
        ),
    ]
    yield Problem(f"{ROWS} x {FEATURES}, k={HASHES}", methods, float(ROWS) * HASHES, largest_difference)
