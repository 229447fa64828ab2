"""The work on which ``compare_versions.py`` compares two versions. The Python of each version runs this file.

    python benchmarks/version_work.py time SIZES REPEATS      # least processor seconds of each piece of work
    python benchmarks/version_work.py count SIZES LIBRARY     # under callgrind: one dump per piece of work
    python benchmarks/version_work.py try SIZES               # all work once, to see that this version can do it

Each command prints JSON. ``SIZES`` is a name in ``SIZES``: timed, counted or tiny.
"""

from __future__ import annotations

import ctypes
import gc
import json
import re
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy import sparse

import kernelsketch as ks

Work = dict[str, Callable[[], Any]]


class Sizes(NamedTuple):
    """How large the work is."""

    images: int  # dense rows of 784 features
    texts: int  # sparse rows of 100,000 features
    rows: int  # rows for training, predictions and the index
    features: int  # of these rows
    smooth_rows: int  # rows of 256 codes, for the logistic loss: Newton's method learns 2^22 codes or more
    few: int  # rows for cross-validation and tables
    queries: int
    times: int  # repeats of work on one row
    documents: int


SIZES = {
    "timed": Sizes(1200, 3000, 6000, 64, 16384, 1000, 1000, 100, 2000),
    "counted": Sizes(100, 150, 2000, 16, 16384, 150, 300, 20, 500),
    "tiny": Sizes(20, 20, 120, 16, 100, 100, 10, 2, 20),
}


def work_of(sizes: Sizes) -> Work:
    """Return each piece of work by its name, with all data and models ready."""
    rng = np.random.default_rng(0)
    n = sizes.images
    dense = (rng.gamma(1.0, size=(n, 784)) * (rng.random((n, 784)) < 0.2)).astype(np.float32)
    small = rng.integers(0, 256, (n, 784)).astype(np.float32)
    text = _sparse_rows(sizes.texts, rng)
    y = rng.integers(0, 10, sizes.rows)
    X = _rows_near_centers(y, sizes.features, rng)
    target = X[:, 0] * X[:, 1] + X[:, 2]
    halves = rng.integers(0, 2, sizes.smooth_rows)
    long = _rows_near_centers(halves, 4, rng)
    hashed, hashed_long = ks.GCWS(256).fit(X).codes(X), ks.GCWS(256).fit(long).codes(long)
    model = ks.GCWSClassifier(256).fit(hashed, y)
    predictor = model.predictor()
    index, text_index = ks.GCWSIndex().fit(X), ks.GCWSIndex(heavy_fraction=0.7).fit(text)
    nrff = ks.NRFF(512).fit(dense)
    one, row, queries = X[:1], X[0], X[: sizes.queries]
    few, labels = X[: sizes.few], y[: sizes.few]
    table = pd.DataFrame({f"number {j}": few[:, j] for j in range(3)})
    table["name"] = np.array(["red", "green", "blue"])[labels % 3]
    documents = _documents(sizes.documents, rng)
    times, blocks = range(sizes.times), np.array_split(np.arange(sizes.rows), 4)

    def train_out_of_core(limit: int) -> Any:
        return ks.GCWSClassifier(256).fit_blocks(((X[part], y[part] > 4) for part in blocks), memory=limit)

    limit = _least_memory(train_out_of_core)
    return {
        f"GMM matrix, float32, {n} x {n} x 784": lambda: ks.gmm_kernel(dense, dense[::-1]),
        "GMM matrix of X with itself": lambda: ks.gmm_kernel(dense),
        f"GMM matrix, small integers, {n} x {n} x 784": lambda: ks.gmm_kernel(small, small[::-1]),
        "GMM matrix, centered": lambda: ks.gmm_kernel(dense, dense[::-1], center="mean"),
        f"GMM matrix, CSR, {sizes.texts} x {sizes.texts}": lambda: ks.gmm_kernel(text, text[::-1]),
        f"kernel of two rows, {sizes.times} times": lambda: [ks.gmm_kernel(one, one) for _ in times],
        "GCWS codes, 784 features, k=256": lambda: ks.GCWS(256).fit(dense).codes(dense),
        "GCWS codes, 4 bits": lambda: ks.GCWS(256, bits=4).fit(dense).codes(dense),
        "GCWS codes, CSR, k=256": lambda: ks.GCWS(256).fit(text).codes(text),
        "GCWS transform, k=256": lambda: ks.GCWS(256).fit(dense).transform(dense),
        "NRFF, k=512": lambda: nrff.transform(dense),
        "training, 10 classes": lambda: ks.GCWSClassifier(256).fit(hashed, y),
        "training, 2 classes, C=10": lambda: ks.GCWSClassifier(256, C=10).fit(hashed, y > 4),
        "training, logistic loss": lambda: ks.GCWSClassifier(256, loss="log_loss").fit(hashed_long, halves),
        "hashing and training": lambda: ks.GCWSClassifier(128).fit(X, y),
        "hashing and training, regression": lambda: ks.GCWSRegressor(128).fit(X, target),
        "training, out-of-core": lambda: train_out_of_core(limit),
        "cross-validation of 3 values of C": lambda: ks.GCWSClassifierCV(128, Cs=[0.1, 1, 10]).fit(few, labels),
        f"prediction, {sizes.rows} rows": lambda: model.predict(X),
        f"prediction, 1 row, {sizes.times} times": lambda: [model.predict(one) for _ in times],
        f"predictor, 1 row, {sizes.times} times": lambda: [predictor.predict(row) for _ in times],
        "index: build": lambda: ks.GCWSIndex().fit(X),
        f"index: {sizes.queries} queries": lambda: index.kneighbors(queries),
        f"index: 1 query, {sizes.times} times": lambda: [index.kneighbors(one) for _ in times],
        "index, CSR: build": lambda: ks.GCWSIndex(heavy_fraction=0.7).fit(text),
        f"index, CSR: 1 query, {sizes.times} times": lambda: [text_index.kneighbors(text[:1]) for _ in times],
        "table, quick": lambda: ks.GCWSTabularClassifier(effort="quick").fit(table, labels > 4),
        f"near-duplicates of {sizes.documents} texts": lambda: ks.dedup(documents),
    }


def _rows_near_centers(labels: Any, features: int, rng: np.random.Generator) -> Any:
    """Return rows that scatter around a center for each label."""
    centers = rng.normal(size=(int(labels.max()) + 1, features))
    return (centers[labels] + 1.5 * rng.normal(size=(len(labels), features))).astype(np.float32)


def _sparse_rows(count: int, rng: np.random.Generator) -> Any:
    """Return rows with about 100 of 100,000 features."""
    rows, columns = np.repeat(np.arange(count), 100), rng.integers(0, 100_000, 100 * count)
    values = rng.random(100 * count, np.float32)
    return sparse.csr_array((values, (rows, columns)), shape=(count, 100_000))


def _documents(count: int, rng: np.random.Generator) -> list[str]:
    """Return texts of 40 words. Every fourth text is a copy of another one with two other words."""
    words = rng.integers(0, 500, (count, 40))
    words[3::4] = words[2::4][: len(words[3::4])]
    words[3::4, :2] += 1
    return [" ".join(f"word{word}" for word in line) for line in words.tolist()]


def _least_memory(train: Callable[[int], Any]) -> int:
    """Return the least memory limit of an out-of-core training, which leaves no room for its codes."""
    limit = 1
    while True:
        try:
            train(limit)
        except ks.exceptions.InputError as error:
            needed = re.search(r"need (\d+) bytes", str(error))
            if needed is None:
                raise
            limit = int(needed[1])
        else:
            return limit


def timed(work: Work, repeats: int) -> dict[str, float]:
    """Return the least processor time of each piece of work in seconds."""
    found = {}
    for name, run in work.items():
        run()
        times = []
        for _ in range(repeats):
            start = time.process_time()
            run()
            times.append(time.process_time() - start)
        found[name] = min(times)
    return found


def counted(work: Work, begin: Callable[[], Any], end: Callable[[], Any]) -> list[str]:
    """Do each piece of work between ``begin`` and ``end``, after a first time without them; return the names.

    The garbage collector is off meanwhile: it would run in whichever piece of work happens to reach its threshold.
    """
    for run in work.values():
        run()
        gc.collect()
        gc.disable()
        begin()
        run()
        end()
        gc.enable()
    return list(work)


def main() -> None:
    warnings.simplefilter("ignore")
    command, sizes, *rest = sys.argv[1:]
    work = work_of(SIZES[sizes])
    if command == "time":
        print(json.dumps(timed(work, int(rest[0]))))
    elif command == "count":
        callgrind = ctypes.CDLL(rest[0])
        print(json.dumps(counted(work, callgrind.begin, callgrind.end)))
    else:
        print(json.dumps(counted(work, lambda: None, lambda: None)))


if __name__ == "__main__":
    main()
