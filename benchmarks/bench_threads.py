"""How the library's speed grows with the threads of this machine, from one to all of its cores.

    python benchmarks/bench_threads.py [--threads 1,2,4] [--seconds 4] [WORD ...]

measures all work, or the lines that contain one of the words. The results go to ``results/threads_N_cores.csv``, with
the machine in ``results/threads_N_cores.json``; lines that are measured again replace the old ones. ``same`` says
whether the result is the one of one thread, bit for bit.

The lines "the machine" say what its cores share: no other line can speed up more than what it is made of.

The script needs NumPy, SciPy and scikit-learn, and a C++ compiler for the lines "the machine". MNIST and Covertype come
from the folder ``KERNELSKETCH_DATA`` (npz files with X and y); without it the rows are drawn: they have as many
features, nonzeros and classes.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import json
import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from machine import RESULTS, affinity, machine
from scipy import sparse

from kernelsketch import GCWS, NRFF, GCWSClassifier, GCWSIndex, GCWSRegressor, gmm_kernel

ROUNDS = 5  # for one line and number of threads, or as many as --seconds allows, but one at least
DATA = os.environ.get("KERNELSKETCH_DATA")


class Work(NamedTuple):
    """A line of the table: ``make`` prepares it, and what it returns runs it on a number of threads."""

    name: str
    make: Callable[[], Callable[[int], Any]]


@dataclass
class Row:
    work: str
    threads: int
    seconds: float
    speed_up: float
    same: bool


@cache
def mnist() -> tuple[Any, Any]:
    """60,000 images of 784 bytes, about 150 of them not 0, in ten classes."""
    if DATA:
        with np.load(Path(DATA) / "MNIST.npz") as file:
            return file["X"][:60_000].astype(np.float32), file["y"][:60_000].astype(np.int64)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 10, 60_000)
    likely = np.clip(rng.normal(0.19, 0.2, (10, 784)), 0, 1).astype(np.float32)
    gray = rng.integers(1, 256, (10, 784))
    X = np.empty((60_000, 784), np.float32)
    for rows in np.array_split(np.arange(60_000), 60):
        noise = rng.integers(-60, 61, (len(rows), 784))
        X[rows] = np.where(rng.random((len(rows), 784)) < likely[y[rows]], np.clip(gray[y[rows]] + noise, 1, 255), 0)
    return X, y


@cache
def covertype(rows: int) -> tuple[Any, Any]:
    """Ten numbers between 0 and 1 and two categories of 4 and 40 values, in two classes."""
    rng = np.random.default_rng(1)
    if DATA:
        with np.load(Path(DATA) / "CovertypeFull_binary.npz") as file:
            chosen = rng.permutation(len(file["y"]))[:rows]
            X, y = file["X"][chosen].astype(np.float32), file["y"][chosen] == file["y"].max()
        low, high = X.min(axis=0), X.max(axis=0)
        return (X - low) / np.maximum(high - low, 1e-9), y.astype(np.int64)
    X = np.zeros((rows, 54), np.float32)
    X[:, :10] = rng.beta(2, 2, (rows, 10))
    kind, soil = rng.integers(0, 4, rows), rng.integers(0, 40, rows)
    X[np.arange(rows), 10 + kind] = X[np.arange(rows), 14 + soil] = 1
    at = 6 * X[:, 0] * X[:, 1] + np.sin(9 * X[:, 2]) + rng.normal(size=40)[soil] + X[:, 3] * kind
    return X, (at + rng.normal(scale=0.7, size=rows) > np.median(at)).astype(np.int64)


def text(rows: int, seed: int) -> Any:
    """About 100 words of 100,000 per row, some of them frequent."""
    rng = np.random.default_rng(seed)
    chance = 1 / np.arange(10, 100_010)
    words = rng.choice(100_000, size=(rows, 100), p=chance / chance.sum())
    values = rng.gamma(2.0, size=words.size).astype(np.float32)
    X = sparse.csr_array((values, words.ravel(), np.arange(rows + 1) * 100), shape=(rows, 100_000))
    X.sum_duplicates()
    return X


def matrix(X: Any, Y: Any) -> Callable[[int], Any]:
    return lambda threads: gmm_kernel(X, Y, n_jobs=threads)


def hashing(X: Any, k: int) -> Callable[[int], Any]:
    hasher = GCWS(k).fit(X)

    def run(threads: int) -> Any:
        return hasher.set_params(n_jobs=threads).codes(X).packed

    return run


def fourier(X: Any) -> Callable[[int], Any]:
    features = NRFF(1024, random_state=0).fit(X)
    return lambda threads: features.set_params(n_jobs=threads).transform(X)


def learning(X: Any, y: Any, k: int, estimator: Any = GCWSClassifier, **parameters: Any) -> Callable[[int], Any]:
    codes = GCWS(k, n_jobs=-1).fit(X).codes(X)
    return lambda threads: estimator(k, n_jobs=threads, **parameters).fit(codes, y).code_weights_


def hash_and_learn(X: Any, y: Any) -> Callable[[int], Any]:
    return lambda threads: GCWSClassifier(256, n_jobs=threads).fit(X, y).code_weights_


def prediction(X: Any, y: Any) -> Callable[[int], Any]:
    model = GCWSClassifier(1024, n_jobs=-1, tol=0.1).fit(X[:5000], y[:5000])
    return lambda threads: model.set_params(n_jobs=threads).decision_function(X)


def build(X: Any) -> Callable[[int], Any]:
    return lambda threads: np.concatenate(GCWSIndex(n_jobs=threads).fit(X).kneighbors(X[:100]), axis=1)


def queries(X: Any) -> Callable[[int], Any]:
    index = GCWSIndex(n_jobs=-1).fit(X)
    return lambda threads: np.concatenate(index.set_params(n_jobs=threads).kneighbors(X[:10_000]), axis=1)


@cache
def cores() -> ctypes.CDLL:
    """The functions of cores.cpp, which the C++ compiler of this machine makes for its own processor."""
    to = Path(tempfile.mkdtemp()) / "cores.so"
    source = Path(__file__).with_name("cores.cpp")
    options = ["-O2", "-march=native", "-mprefer-vector-width=512", "-std=c++17", "-shared", "-fPIC", "-pthread"]
    subprocess.run([os.environ.get("CXX", "c++"), *options, source, "-o", to], check=True)
    found = ctypes.CDLL(str(to))
    for function in (found.run_vectors, found.run_scalars):
        function.argtypes, function.restype = [ctypes.c_int, ctypes.c_long], ctypes.c_double
    found.write_memory.argtypes, found.write_memory.restype = [ctypes.c_int, ctypes.c_void_p, ctypes.c_long], None
    return found


def arithmetic(name: str, steps: int) -> Callable[[int], Any]:
    function = getattr(cores(), name)

    def run(threads: int) -> Any:
        function(threads, steps)
        return np.zeros(1)

    return run


def writes() -> Callable[[int], Any]:
    memory, write = np.ones(1 << 29, np.uint8), cores().write_memory

    def run(threads: int) -> Any:
        write(threads, memory.ctypes.data, memory.nbytes)
        return np.zeros(1)

    return run


def all_work() -> list[Work]:
    def images() -> Any:
        return mnist()[0]

    def numbers() -> Callable[[int], Any]:
        return learning(*covertype(100_000), 256, estimator=GCWSRegressor)

    def half_a_million() -> tuple[Any, Any, int]:
        return (*covertype(500_000), 512)

    def two_classes() -> Any:
        X, y = mnist()
        return X, (y == 3).astype(np.int64)

    return [  # in the order of the questions that they answer: a run may be cut short
        Work("the machine: scalar arithmetic in registers", lambda: arithmetic("run_scalars", 200_000_000)),
        Work("the machine: vector arithmetic in registers", lambda: arithmetic("run_vectors", 100_000_000)),
        Work("the machine: writes to memory, 512 MB", writes),
        Work("learning, 2 classes, Covertype 500,000, k=512", lambda: learning(*half_a_million())),
        Work("learning, 2 classes, MNIST 60,000, k=1024", lambda: learning(*two_classes(), 1024)),
        Work("learning, 10 classes, MNIST 60,000, k=1024", lambda: learning(*mnist(), 1024)),
        Work("learning, regression, Covertype 100,000, k=256", numbers),
        Work("hash + learn, 2 classes, Covertype 300,000, k=256", lambda: hash_and_learn(*covertype(300_000))),
        Work("prediction, MNIST 60,000, k=1024", lambda: prediction(*mnist())),
        Work("index: build, MNIST 60,000", lambda: build(images())),
        Work("index: 10,000 queries, MNIST 60,000", lambda: queries(images())),
        Work("GCWS codes, MNIST 60,000, k=256", lambda: hashing(images(), 256)),
        Work("GCWS codes, MNIST 60,000, k=1024", lambda: hashing(images(), 1024)),
        Work("GCWS codes, text 40,000 x 100 of 100,000, k=256", lambda: hashing(text(40_000, 2), 256)),
        Work("GMM matrix, bytes, 10,000 x 10,000 x 784", lambda: matrix(images()[:10_000], images()[10_000:20_000])),
        Work("GMM matrix, float32, 6000 x 6000 x 784", lambda: matrix(images()[:6000] / 7, images()[6000:12_000] / 7)),
        Work("GMM matrix, CSR, 6000 x 6000, 100 of 100,000", lambda: matrix(text(6000, 0), text(6000, 1))),
        Work("NRFF, MNIST 60,000, k=1024", lambda: fourier(images())),
        *(
            Work(f"learning, 2 classes, Covertype 500,000, k=512, C={C}", lambda C=C: learning(*half_a_million(), C=C))
            for C in (10, 100)
        ),
        Work(
            "learning, 2 classes, log loss, Covertype 500,000, k=512",
            lambda: learning(*half_a_million(), loss="log_loss"),
        ),
    ]


def measure(work: Work, counts: list[int], most_seconds: float) -> list[Row]:
    """Return the best of several rounds for each number of threads, and what their results have in common."""
    run = work.make()
    start = perf_counter()
    run(max(counts))  # code and data are in memory from here on
    warm = perf_counter() - start
    rows: list[Row] = []
    checksums: dict[int, int] = {}
    for threads in sorted(counts):
        seconds = [warm] if threads == max(counts) and warm > most_seconds else []  # long work: that round counts too
        while threads not in checksums or (len(seconds) < ROUNDS and sum(seconds) < most_seconds):
            start = perf_counter()
            result = run(threads)
            seconds.append(perf_counter() - start)
            checksums[threads] = crc32(np.ascontiguousarray(result).view(np.uint8).reshape(-1))
        alone = rows[0].seconds if rows else min(seconds)
        same = checksums[threads] == checksums[min(counts)]
        rows.append(Row(work.name, threads, round(min(seconds), 4), round(alone / min(seconds), 2), same))
        print(f"{work.name:52} {threads:3} threads {min(seconds):9.4f} s {rows[-1].speed_up:6.2f} x", flush=True)
    if not all(row.same for row in rows):
        print("The results depend on the threads.")
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("words", nargs="*", metavar="WORD")
    parser.add_argument("--threads", help="numbers of threads, separated by commas; powers of two and all by default")
    parser.add_argument("--seconds", type=float, default=4.0, help="for one line and number of threads")
    given = parser.parse_args()
    cores, where = len(affinity()), machine()
    counts = [n for n in (1, 2, 4, 8, 16, 32, 64, 128) if n < cores] + [cores]
    if given.threads:
        counts = [int(n) for n in given.threads.split(",")]
    where["data"] = "MNIST and Covertype" if DATA else "drawn"
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / f"threads_{cores}_cores.json").write_text(json.dumps(where, indent=1) + "\n")
    for work in all_work():
        if not given.words or any(word in work.name for word in given.words):
            keep(measure(work, counts, given.seconds), cores)  # line by line: a run that is cut short keeps what it has


def keep(rows: list[Row], cores: int) -> None:
    """Write rows to the file of results, in the place of older ones of the same work."""
    path, names = RESULTS / f"threads_{cores}_cores.csv", [field.name for field in fields(Row)]
    old = list(csv.DictReader(path.open(newline=""))) if path.exists() else []
    found = [row for row in old if row["work"] != rows[0].work] + [asdict(row) for row in rows]
    order = [work.name for work in all_work()]
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(found, key=lambda row: order.index(row["work"])))


if __name__ == "__main__":
    main()
