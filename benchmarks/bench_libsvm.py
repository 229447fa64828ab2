"""Reading LIBSVM text: rate in GB of text a second, against scikit-learn's load_svmlight_file.

Texts are in memory. The parser alone has all of the text as one block; open_rows makes CSR blocks of it. The difference
is the largest of values from the peer's, which are those of Python's float().
"""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from harness import Method, Problem
from sklearn.datasets import load_svmlight_file

from kernelsketch._backend import backend
from kernelsketch.data import open_rows


def text_of(rng: np.random.Generator, pair: str, n: int = 20_000, row: int = 60, d: int = 10_000) -> bytes:
    """Rows with pairs of a format, such as ``%d:%.4g``."""
    lines = []
    for i in range(n):
        ids = np.unique(rng.integers(1, d, row))
        pairs = " ".join(pair % both for both in zip(ids, rng.normal(size=len(ids)), strict=True))
        lines.append(f"{i % 2 * 2 - 1} {pairs}\n")
    return "".join(lines).encode()


def by_scikit_learn(text: bytes) -> Any:
    return load_svmlight_file(io.BytesIO(text), zero_based=False)[0].data


def by_parser(text: bytes, threads: int) -> Any:
    return backend().libsvm(np.frombuffer(text, np.uint8), 1, np.float64, threads).values


def by_stream(text: bytes) -> Any:
    return np.concatenate([X.data for X, _ in open_rows(io.BytesIO(text), format="libsvm")])


def largest_difference(a: Any, b: Any) -> float:
    return float(np.abs(a - b).max())


def problems() -> list[Problem]:
    rng = np.random.default_rng(0)
    kinds = {"values of 4 digits": "%d:%.4g", "values of 17 digits": "%d:%.17g", "words, values 1": "%d:1%.0s"}
    found = []
    for name, pair in kinds.items():
        text = text_of(rng, pair)
        methods = [
            Method("scikit-learn load_svmlight_file", lambda text=text: by_scikit_learn(text)),
            Method("parser", lambda text=text: by_parser(text, 1), rounds=7),
            Method("parser, two threads", lambda text=text: by_parser(text, 2), threads=2, rounds=7),
            Method("open_rows", lambda text=text: by_stream(text), rounds=7),
        ]
        found.append(Problem(name, methods, float(len(text)), largest_difference))
    return found
