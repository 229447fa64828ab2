"""The two solvers of learning on codes, on one thread, to a gap of 1e-3: coordinate descent and Newton's method.

The difference is how far the objectives of the two are apart, relative to them. Covertype, Letter and IJCNN come from
the folder ``KERNELSKETCH_DATA`` (npz files with X and y); without it rows are drawn.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from harness import Method, Problem

from kernelsketch import GCWS, GCWSClassifier
from kernelsketch.linear import _solver

HASHES = 256
WORK = (
    *(("CovertypeFull_binary", 20_000, "squared_hinge", C) for C in (0.1, 1, 10, 100)),
    *(("CovertypeFull_binary", 100_000, "squared_hinge", C) for C in (0.1, 1, 10)),
    *(("CovertypeFull_binary", 100_000, "log_loss", C) for C in (1, 10)),
    ("CovertypeFull_binary", 50_000, "squared_hinge", 100),
    *(("Letter", 20_000, "squared_hinge", C) for C in (1, 10, 100)),
    *(("IJCNN", 60_000, loss, C) for loss in ("squared_hinge", "log_loss") for C in (1, 10)),
)


def read(name: str, rows: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(1)
    if "KERNELSKETCH_DATA" not in os.environ:
        X = rng.random((rows, 12)).round(2).astype(np.float32)
        return X, (X[:, :3].sum(axis=1) + 0.3 * rng.normal(size=rows) > 1.5).astype(np.int64)
    with np.load(Path(os.environ["KERNELSKETCH_DATA"]) / f"{name}.npz", allow_pickle=False) as file:
        chosen = rng.permutation(len(file["y"]))[:rows]
        X, y = np.asarray(file["X"][chosen], np.float32), file["y"][chosen]
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.maximum(high - low, 1e-9), y


class Model:
    """What a solver found, as the harness measures it."""

    def __init__(self, model: Any) -> None:
        self.nbytes, self.objective = model.code_weights_.nbytes, float(model.objective_.sum())


def fit(codes: Any, y: Any, loss: str, C: float, *, newton: bool) -> Model:
    chosen = _solver.newton_pays
    _solver.newton_pays = lambda *_: newton
    try:
        return Model(GCWSClassifier(HASHES, loss=loss, C=C).fit(codes, y))
    finally:
        _solver.newton_pays = chosen


def problems() -> Iterator[Problem]:
    for name, rows, loss, C in WORK:
        X, y = read(name, rows)
        codes = GCWS(HASHES, n_jobs=-1).fit(X).codes(X)
        methods = [
            Method(label, partial(fit, codes, y, loss, C, newton=newton), rounds=2)
            for label, newton in (("coordinate descent", False), ("Newton's method", True))
        ]
        yield Problem(f"{name}, {rows} rows, {loss}, C={C:g}", methods, rows * HASHES, difference)


def difference(found: Any, peer: Any) -> float:
    return abs(found.objective - peer.objective) / peer.objective
