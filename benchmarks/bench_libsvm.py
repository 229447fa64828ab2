"""Reading and writing LIBSVM text, in GB of text per second, compared with load_svmlight_file and dump_svmlight_file.

Texts are in memory. The parser alone gets all of the text as one block; open_rows makes CSR blocks of it. The writer
is that of write_rows. The difference is the largest of all values. For reading it is the distance from the peer's
values, which are those of Python's float(); for writing it is the distance from the original after reading back.
"""

from __future__ import annotations

import io
from functools import partial
from typing import Any

import numpy as np
from harness import Method, Problem
from scipy import sparse
from sklearn.datasets import dump_svmlight_file, load_svmlight_file

from kernelsketch.formats import RowBlock, open_rows
from kernelsketch.formats._libsvm import LibsvmWriter
from kernelsketch.formats._native_text import parse_libsvm


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
    return parse_libsvm(np.frombuffer(text, np.uint8), 1, np.float64, threads).values


def by_stream(text: bytes) -> Any:
    return np.concatenate([X.data for X, _ in open_rows(io.BytesIO(text), format="libsvm")])


def largest_difference(a: Any, b: Any) -> float:
    return float(np.abs(a - b).max())


def rows_of(rng: np.random.Generator, values: Any, n: int, row: int, width: int) -> Any:
    """CSR rows with one of ``width`` features for each of ``row`` places, as codes have it."""
    ids = rng.integers(0, width, (n, row), np.int32) + np.arange(row, dtype=np.int32) * width
    indptr = np.arange(0, n * row + 1, row, dtype=np.int32)
    return sparse.csr_array((values(n * row), ids.ravel(), indptr), shape=(n, row * width))


def written_by_scikit_learn(X: Any, y: Any) -> Any:
    file = io.BytesIO()
    dump_svmlight_file(X, y, file, zero_based=False)
    return np.frombuffer(file.getbuffer(), np.uint8)


def written_by_writer(X: Any, y: Any) -> Any:
    file = io.BytesIO()
    LibsvmWriter(file, False, None).write(RowBlock(X, y), "X")
    return np.frombuffer(file.getbuffer(), np.uint8)


def lost(X: Any, text: Any, _: Any) -> float:
    return largest_difference(parse_libsvm(text, 1, np.float64, 1).values, X.data)


def writing(rng: np.random.Generator) -> list[Problem]:
    kinds = {
        "writing codes of 1024 hashes": rows_of(rng, lambda size: np.full(size, 1 / 32), 2000, 1024, 256),
        "writing values of 4 decimals": rows_of(rng, lambda size: np.round(rng.normal(size=size), 4), 20_000, 60, 160),
        "writing values of 17 digits": rows_of(rng, lambda size: rng.normal(size=size), 20_000, 60, 160),
    }
    found = []
    for name, X in kinds.items():
        y = np.arange(X.shape[0]) % 2
        methods = [
            Method("scikit-learn dump_svmlight_file", partial(written_by_scikit_learn, X, y)),
            Method("writer", partial(written_by_writer, X, y), rounds=7),
        ]
        found.append(Problem(name, methods, float(len(written_by_writer(X, y))), partial(lost, X)))
    return found


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
    return found + writing(rng)
