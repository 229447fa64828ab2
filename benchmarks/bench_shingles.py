"""Texts to sparse rows: characters per second beside scikit-learn's HashingVectorizer, at equal counts.

Times are those of the processor: other programs rarely interrupt a method that takes milliseconds, but often interrupt
its peer, which takes a hundred times as long. ``python benchmarks/bench_shingles.py`` stores the ratio of every round
in ``results/shingles_rounds.csv``.
"""

from __future__ import annotations

import csv
from time import process_time
from typing import Any

import numpy as np
from harness import Method, Problem, give_back_memory
from machine import RESULTS
from sklearn.feature_extraction.text import HashingVectorizer

from kernelsketch.text import Shingles

DOCUMENTS, VOCABULARY, WORDS = 4000, 50_000, 60
CASES = {"words": ("word", 1), "runs of five words": ("word", 5), "runs of five characters": ("char", 5)}


def documents() -> list[str]:
    """Texts of words that are distributed and as long as those of English, about."""
    rng = np.random.default_rng(0)
    letters = np.array(list("etaoinshrdlcumwfgypbvk"))
    vocabulary = ["".join(rng.choice(letters, 1 + rng.poisson(4.5))) for _ in range(VOCABULARY)]
    often = 1 / np.arange(2, VOCABULARY + 2)
    chosen = rng.choice(VOCABULARY, (DOCUMENTS, WORDS), p=often / often.sum())
    return [" ".join(vocabulary[i].capitalize() if i % 9 == 0 else vocabulary[i] for i in row) + "." for row in chosen]


class Made:
    """A matrix with the size that the harness needs."""

    def __init__(self, X: Any) -> None:
        self.X, self.nbytes = X, X.data.nbytes + X.indices.nbytes + X.indptr.nbytes


def difference(a: Made, b: Made) -> float:
    """Return the largest difference of sorted counts, which are equal whatever the numbers of the features are."""
    if a.X.nnz != b.X.nnz:
        return float("inf")
    return float(np.abs(np.sort(a.X.data).astype(float) - np.sort(b.X.data)).max())


def problems() -> list[Problem]:
    texts = documents()
    size = sum(map(len, texts))
    found = []
    for name, (analyzer, n) in CASES.items():
        peer = HashingVectorizer(
            analyzer=analyzer, ngram_range=(n, n), token_pattern=r"\w+", n_features=2**31 - 1, norm=None,
            alternate_sign=False,
        )  # fmt: skip
        ours = Shingles(n, analyzer=analyzer)
        methods = [
            Method("HashingVectorizer", lambda peer=peer: Made(peer.transform(texts)), rounds=9),
            Method("Shingles", lambda ours=ours: Made(ours.transform(texts)), rounds=9),
        ]
        found.append(Problem(f"{name} of {size / 1e6:.1f} million characters", methods, size, difference, process_time))
    return found


def store_rounds(rounds: int = 15) -> None:
    """Store the times of single rounds, in which the methods take turns."""
    with (RESULTS / "shingles_rounds.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["problem", "round", "peer_ms", "ours_ms", "ratio"])
        for problem in problems():
            ratios = []
            for number in range(rounds):
                taken = []
                for method in problem.methods:
                    give_back_memory()
                    start = process_time()
                    method.run()
                    taken.append(1000 * (process_time() - start))
                ratios.append(taken[0] / taken[1])
                writer.writerow([problem.name, number, *(f"{value:.2f}" for value in taken), f"{ratios[-1]:.1f}"])
            least, quarter, half, most = np.quantile(ratios, [0, 0.25, 0.5, 1])
            print(f"{problem.name}: {least:.1f} to {most:.1f}, median {half:.1f}, lower quartile {quarter:.1f}")


if __name__ == "__main__":
    store_rounds()
