"""Search of texts by their words: an index of inverted lists beside the exact comparison with all texts.

The texts are those of ``bench_shingles.py``; a query has twelve words of one of them, in another order. Times are those
of the processor, on one thread. Recall is the share of the ten most similar texts, by the exact kernel, that the index
finds. The cosine of TF-IDF rows, as scikit-learn makes them, is another similarity: only its time can be compared.
``python benchmarks/bench_text_search.py`` writes ``results/text_search.csv``.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from time import process_time
from typing import Any

import bench_shingles
import numpy as np
from machine import RESULTS, machine
from sklearn.feature_extraction.text import TfidfVectorizer
from threadpoolctl import threadpool_limits

from kernelsketch import GCWSIndex, gmm_kernel
from kernelsketch.text import Shingles

DOCUMENTS, QUERIES, WORDS, NEAREST = 50_000, 500, 12, 10
EXACT_QUERIES = 50  # the exact kernel takes longer


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    start = process_time()
    found = call()
    return process_time() - start, found


def main() -> None:
    bench_shingles.DOCUMENTS = DOCUMENTS
    texts = bench_shingles.documents()
    rng = np.random.default_rng(1)
    queries = [" ".join(rng.permutation(texts[i].split())[:WORDS]) for i in rng.integers(0, DOCUMENTS, QUERIES)]
    rows = []

    def add(method: str, building: float, querying: float, recall: float | None) -> None:
        found = {"method": method, "building, s": round(building, 2), "a query, ms": round(1e3 * querying, 3)}
        rows.append(found | {"recall of the ten nearest": "" if recall is None else f"{recall:.3f}"})
        print(rows[-1], flush=True)

    with threadpool_limits(1):
        shingles = Shingles(1, weight="idf")
        building, index = timed(lambda: GCWSIndex(NEAREST, heavy_fraction=1, shingles=shingles).fit(texts))
        searching, (_, ids) = timed(lambda: index.kneighbors(queries))
        fitted = index.shingles_
        asked, every = fitted.transform(queries[:EXACT_QUERIES]), fitted.transform(texts)
        exact, kernel = timed(lambda: gmm_kernel(asked, every))
        limits = np.sort(kernel, axis=1)[:, -NEAREST]  # ties count as found
        right = [(kernel[i, ids[i]] >= limits[i] * (1 - 1e-6)).mean() for i in range(EXACT_QUERIES)]
        add("GCWSIndex, --keywords", building, searching / QUERIES, float(np.mean(right)))
        add("gmm_kernel with all texts", 0.0, exact / EXACT_QUERIES, 1.0)
        vectorizer = TfidfVectorizer(token_pattern=r"\w+")
        building, matrix = timed(lambda: vectorizer.fit_transform(texts).T.tocsr())
        cosine, _ = timed(lambda: best_of(vectorizer.transform(queries) @ matrix))
        add("TF-IDF and cosine, scikit-learn", building, cosine / QUERIES, None)
    with (RESULTS / "text_search.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (RESULTS / "text_search.json").write_text(json.dumps(machine(), indent=1) + "\n")


def best_of(similarity: Any) -> list[Any]:
    """Return the columns of the largest values of each row of a sparse matrix."""
    found = []
    for start, end in zip(similarity.indptr[:-1], similarity.indptr[1:], strict=True):
        values = similarity.data[start:end]
        best = np.argpartition(values, -NEAREST)[-NEAREST:] if len(values) > NEAREST else np.arange(len(values))
        found.append(similarity.indices[start:end][best])
    return found


if __name__ == "__main__":
    main()
