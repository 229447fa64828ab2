"""An index under random operations, compared with a dictionary of rows and the kernel computed by its formula."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
from scipy import sparse

from kernelsketch import GCWSIndex

TOLERANCE = 1e-5  # of similarities, which are computed in float32


def gmm(a: dict[int, float], b: dict[int, float]) -> float:
    """The kernel by its definition, of rows as dictionaries."""
    low = high = 0.0
    for feature in a.keys() | b.keys():
        u, v = a.get(feature, 0.0), b.get(feature, 0.0)
        for x, y in ((max(u, 0), max(v, 0)), (max(-u, 0), max(-v, 0))):
            low, high = low + min(x, y), high + max(x, y)
    return low / high if high else 0.0


class IndexModel:
    """An index and what it should hold."""

    def __init__(self, rng: random.Random, folder: Path) -> None:
        self.rng, self.folder = rng, folder
        self.draw = np.random.default_rng(rng.getrandbits(64))
        self.d = rng.choice([1, 3, 10, 40])
        self.signed = rng.random() < 0.5
        self.sparse = rng.random() < 0.4
        options = {"n_tables": rng.choice([0, 4, 16]), "hashes_per_table": rng.choice([1, 2])}
        if self.sparse and rng.random() < 0.5:
            options = {"heavy_fraction": rng.choice([0.3, 0.9, 1.0])}
        self.exact = options.get("n_tables") == 0 or options.get("heavy_fraction") == 1  # all rows are candidates
        self.index = GCWSIndex(**options, n_rerank=None, n_jobs=rng.choice([1, 2]), random_state=rng.getrandbits(32))
        self.rows: dict[int, np.ndarray] = {}
        first = self.make(rng.randint(2, 60))
        self.index.fit(self.given(first))
        self.rows.update(enumerate(first))
        self.used = set(self.rows)

    def make(self, n: int) -> np.ndarray:
        X = self.draw.exponential(size=(n, self.d)) * 10.0 ** self.draw.integers(-2, 3)
        X[self.draw.random(X.shape) < self.rng.choice([0.0, 0.5, 0.9])] = 0
        if self.signed:
            X *= self.draw.choice([-1, 1], X.shape)
        if self.rows and self.rng.random() < 0.7:  # copies, and rows that differ a little, of indexed ones
            known = list(self.rows.values())
            for i in range(0, n, 2):
                X[i] = self.rng.choice(known) * (1 if self.rng.random() < 0.5 else 1 + 0.01 * self.draw.random(self.d))
        return X.astype(np.float32).astype(np.float64)

    def given(self, X: np.ndarray) -> object:
        return sparse.csr_array(X) if self.sparse else X

    def step(self) -> None:
        choice = self.rng.random()
        if choice < 0.3:
            X = self.make(self.rng.randint(1, 40))
            ids = None
            if self.rng.random() < 0.5:
                ids = self.rng.sample([i for i in range(-500, 5000) if i not in self.used], len(X))
            before = set(self.index.ids_.tolist())
            self.index.add(self.given(X)) if ids is None else self.index.add(self.given(X), ids=ids)
            new = sorted(set(self.index.ids_.tolist()) - before) if ids is None else ids
            assert len(new) == len(X)
            self.rows.update(zip(new, X, strict=True))
            self.used.update(new)
        elif choice < 0.5 and len(self.rows) > 3:
            gone = self.rng.sample(sorted(self.rows), self.rng.randint(1, len(self.rows) // 2))
            self.index.remove(gone)
            for i in gone:
                del self.rows[i]
        elif choice < 0.6:
            again = self.rng.sample(sorted(self.rows), self.rng.randint(1, len(self.rows)))
            X = self.make(len(again))
            self.index.remove(again).add(self.given(X), ids=again)
            self.rows.update(zip(again, X, strict=True))
        elif choice < 0.85:
            name = self.rng.choice(["index.safetensors", "one/", "two/"])
            save = self.index.save_folder if name.endswith("/") else self.index.save
            save(self.folder / name)
            if self.rng.random() < 0.7:
                self.index = GCWSIndex.load(f"{self.folder}/{name}", mmap=self.rng.random() < 0.5)
        self.check()

    def check(self) -> None:
        assert self.index.ids_.tolist() == sorted(self.rows)
        queries = self.make(self.rng.choice([4, 14]))  # many are looked at together
        plain = [dict(enumerate(row)) for row in queries]
        k = self.rng.randint(1, min(5, len(self.rows)))
        distances, ids = self.index.kneighbors(self.given(queries), k)
        threshold = self.rng.choice([0.3, 0.8, 1.0])
        lists = self.index.neighbors_above(self.given(queries), threshold=threshold, return_distance=False)
        for q, row in enumerate(plain):
            exact = {i: gmm(row, dict(enumerate(other))) for i, other in self.rows.items()}
            listed = zip(distances[q].tolist(), ids[q].tolist(), strict=True)
            found = [(d, i) for d, i in listed if d < np.inf]  # an id may be -1, too
            assert len({i for _, i in found}) == len(found)
            for distance, i in found:
                assert abs(1 - distance - exact[i]) < TOLERANCE, (distance, exact[i])
            assert [d for d, _ in found] == sorted(d for d, _ in found)
            same = {i for i, value in exact.items() if np.array_equal(self.rows[i], queries[q]) and value > 0}
            if same:  # equal rows have equal codes, so they are in a bucket of every table
                assert found[0][1] in same or abs(1 - found[0][0] - 1) < TOLERANCE
                assert same <= set(lists[q].tolist())
            for i in lists[q].tolist():
                assert exact[i] > threshold - TOLERANCE
            if self.exact:
                best = sorted((value for value in exact.values() if value > 0), reverse=True)[:k]
                np.testing.assert_allclose([1 - d for d, _ in found], best, rtol=0, atol=TOLERANCE)
                assert {i for i, value in exact.items() if value > threshold + TOLERANCE} <= set(lists[q].tolist())
        if len(self.rows) < 60:
            pairs, similarity = self.index.query_pairs(threshold, all_equal=True)
            for (a, b), value in zip(pairs.tolist(), similarity.tolist(), strict=True):
                assert a < b
                assert abs(gmm(dict(enumerate(self.rows[a])), dict(enumerate(self.rows[b]))) - value) < TOLERANCE


def soak_index(rng: random.Random, folder: Path) -> int:
    """A random index under random operations; their number."""
    model, steps = IndexModel(rng, folder), rng.randint(5, 15)
    for _ in range(steps):
        model.step()
    return steps
