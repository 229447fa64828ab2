"""Reading CSV, in GB of text per second, compared with pandas.read_csv and numpy.loadtxt.

Texts are in memory. All methods make a float64 array of the features, and an array of the labels if there are any.
pandas uses its C engine. The difference is the largest distance of a value from the peer's. "Labels with quotes" have
quotes inside quotes, so that no line is ordinary and Python reads all of them.
"""

from __future__ import annotations

import io
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from harness import Method, Problem, largest_difference

from kernelsketch.formats import open_rows


def text_of(rng: np.random.Generator, cell: str, n: int, d: int, labels: list[str]) -> bytes:
    """Rows with cells of a format, such as ``%.4g``, and a label at the end if there are some."""
    line = ",".join([cell] * d)
    lines = [line % tuple(row) for row in rng.normal(scale=100, size=(n, d)).tolist()]
    if labels:
        lines = [f"{line},{label}" for line, label in zip(lines, rng.choice(labels, n), strict=True)]
    return ("\n".join(lines) + "\n").encode()


def by_pandas(text: bytes, labels: bool) -> Any:
    table = pd.read_csv(io.BytesIO(text), header=None)
    if not labels:
        return table.to_numpy(np.float64)
    table.iloc[:, -1].to_numpy(str)
    return table.iloc[:, :-1].to_numpy(np.float64)


def by_loadtxt(text: bytes) -> Any:
    return np.loadtxt(io.BytesIO(text), delimiter=",")


def by_open_rows(text: bytes, labels: bool, threads: int = 1) -> Any:
    options: Any = {"label": -1, "text_labels": True} if labels else {}
    stream = open_rows(io.BytesIO(text), format="csv", header=False, n_jobs=threads, **options)
    return np.concatenate([X for X, _ in stream])


def problems() -> list[Problem]:
    rng = np.random.default_rng(0)
    words = ["setosa", "versicolor", "virginica"]
    kinds: dict[str, tuple[str, int, int, list[str]]] = {
        "numbers of 4 digits": ("%.4g", 40_000, 100, []),
        "numbers of 17 digits": ("%.17g", 20_000, 100, []),
        "whole numbers": ("%d", 40_000, 200, []),
        "two columns": ("%.4g", 1_000_000, 2, []),
        "text labels": ("%.4g", 100_000, 20, words),
        "quoted labels": ("%.4g", 100_000, 20, [f'"{word}, or so"' for word in words]),
        "labels with quotes": ("%.4g", 10_000, 20, [f'"a ""{word}"""' for word in words]),
    }
    found = []
    for name, (cell, n, d, labels) in kinds.items():
        text = text_of(rng, cell, n, d, labels)
        methods = [Method("pandas.read_csv", partial(by_pandas, text, bool(labels)), rounds=5)]
        if not labels:
            methods.append(Method("numpy.loadtxt", partial(by_loadtxt, text), rounds=2))
        methods += [
            Method("open_rows", partial(by_open_rows, text, bool(labels)), rounds=7),
            Method("open_rows, two threads", partial(by_open_rows, text, bool(labels), 2), threads=2, rounds=7),
        ]
        found.append(Problem(name, methods, float(len(text)), largest_difference))
    return found
