"""Compare near-duplicate search from raw text with datasketch and rensa: time, precision and recall of pairs.

    python benchmarks/compare_dedup.py TRANSLATION [--documents 20000] [--seed 0]
    python benchmarks/compare_dedup.py TRANSLATION --jsonl docs.jsonl --megabytes 1000
    python benchmarks/compare_dedup.py TRANSLATION --command FOLDER

TRANSLATION is a file of the descriptions of all Debian packages, which ``apt-get update -o Acquire::Languages=en``
fetches; ``/usr/lib/apt/apt-helper cat-file /var/lib/apt/lists/*main_i18n_Translation-en*`` writes it. The corpus has
some of the descriptions and an edited copy of each: words swapped, deleted, inserted, upper case, other white space, or
a paragraph added. All methods use shingles of five words.

The truth is the exact weighted Jaccard similarity of all pairs, computed by ``gmm_kernel``. Pairs of different rows
with one of 1,000 documents are counted. Clusters are the connected components of pairs, here and there; their precision
and recall are those of pairs of documents in one cluster, equal ones included. results/dedup.csv gets a row per
threshold and method, and results/dedup_sample.csv some pairs to read. ``--jsonl`` only writes a corpus of a given
size. ``--command`` makes files of 10, 100 and 1,000 MB in a folder and measures ``kernelsketch dedup`` on them, for
results/dedup_command.csv.

Times are from raw text to pairs; compare those of the processor if the machine is busy. The peers run as their
documentation recommends: 128 permutations; datasketch's ``MinHashLSH`` returns candidates; candidates of rensa's
``RMinHashLSH`` are compared by their signatures.
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
from datasketch import MinHash, MinHashLSH
from numpy.typing import NDArray
from rensa import RMinHash, RMinHashLSH
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from kernelsketch import NearDuplicates, gmm_kernel
from kernelsketch.text import Shingles

RESULTS = Path(__file__).parent / "results"
WORDS = re.compile(r"\w+")
EDITS = ("swap", "delete", "insert", "case", "space", "boilerplate")
BOILERPLATE = " This text may be copied and changed under the terms of its licence; all rights of the authors remain."
THRESHOLDS = (0.5, 0.7, 0.8, 0.9)
BANDS = {0.5: 32, 0.7: 16, 0.8: 16, 0.9: 8}  # of rensa: (1 / bands) ** (bands / 128) is at most the threshold

# A small process starts the command: the peak of a child begins with the memory of its parent.
MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print([used.ru_utime + used.ru_stime, used.ru_maxrss])
"""


def descriptions(path: Path) -> list[str]:
    found = re.findall(r"^Description-en: (.*(?:\n .*)*)", path.read_text("utf-8", "replace"), re.M)
    return [re.sub(r"\n \.?", "\n", text) for text in found]


def edited(text: str, kind: str, rng: np.random.Generator) -> str:
    """Return a text with about one word in fifty changed, or with another form."""
    if kind == "case":
        return text.upper()
    if kind == "space":
        return "  ".join(text.split())
    if kind == "boilerplate":
        return text + BOILERPLATE
    words = text.split()
    for place in rng.integers(len(words), size=1 + len(words) // 50).tolist():
        place = min(place, len(words) - 1)
        if kind == "swap":
            other = min(place + 1, len(words) - 1)
            words[place], words[other] = words[other], words[place]
        elif kind == "delete" and len(words) > 1:
            del words[place]
        else:
            words.insert(place, "perhaps")
    return " ".join(words)


def corpus(texts: list[str], count: int, seed: int) -> tuple[list[str], list[str]]:
    """Return documents and the kinds of their edits: first originals, then a copy of each."""
    rng = np.random.default_rng(seed)
    chosen = [texts[i] for i in rng.permutation(len(texts))[:count]]
    kinds = [EDITS[i % len(EDITS)] for i in range(len(chosen))]
    copies = [edited(text, kind, rng) for text, kind in zip(chosen, kinds, strict=True)]
    return chosen + copies, ["original"] * len(chosen) + kinds


def endless(texts: list[str], seed: int) -> Iterator[str]:
    """Yield the texts, then an edited copy of each, and so on: each round edits the texts of the first."""
    rng = np.random.default_rng(seed)
    yield from texts
    for number, text in enumerate(cycle(texts)):
        words = text.split()
        rng.shuffle(words)  # another text of the same words: the corpus grows, but not its clusters
        yield edited(" ".join(words), EDITS[(number + number // len(texts)) % len(EDITS)], rng)


def by_kernelsketch(texts: list[str], threshold: float) -> set[tuple[int, int]]:
    pairs, _ = NearDuplicates(threshold).pairs(Shingles(5).transform(texts))
    return set(map(tuple, pairs.tolist()))


def shingle_sets(texts: list[str]) -> list[set[str]]:
    sets = []
    for text in texts:
        words = WORDS.findall(text.lower())
        sets.append({" ".join(words[i : i + 5]) for i in range(max(1, len(words) - 4))})
    return sets


def by_datasketch(texts: list[str], threshold: float) -> set[tuple[int, int]]:
    index, hashes = MinHashLSH(threshold=threshold, num_perm=128), []
    for shingles in shingle_sets(texts):
        made = MinHash(num_perm=128)
        made.update_batch([shingle.encode() for shingle in shingles])
        hashes.append(made)
    for i, made in enumerate(hashes):
        index.insert(i, made)
    return {(i, j) for i, made in enumerate(hashes) for j in index.query(made) if i < j}


def by_rensa(texts: list[str], threshold: float) -> set[tuple[int, int]]:
    sets = [list(shingles) for shingles in shingle_sets(texts)]
    hashes = RMinHash.from_token_sets(sets, num_perm=128, seed=42)
    index = RMinHashLSH(threshold=threshold, num_perm=128, num_bands=BANDS[threshold])
    for i, made in enumerate(hashes):
        index.insert(i, made)
    return {
        (i, j)
        for i, made in enumerate(hashes)
        for j in index.query(made)
        if i < j and made.jaccard(hashes[j]) >= threshold
    }


def first_equal(X: Any) -> list[int]:
    """Return the number of the first row that equals each row."""
    seen: dict[bytes, int] = {}
    found = []
    for i in range(X.shape[0]):
        part = slice(X.indptr[i], X.indptr[i + 1])
        found.append(seen.setdefault(X.indices[part].tobytes() + X.data[part].tobytes(), i))
    return found


def distinct(pairs: set[tuple[int, int]], first: list[int], known: set[int]) -> set[tuple[int, int]]:
    """Return pairs of different rows, each represented by the first equal one, of which one row is known."""
    together = {tuple(sorted((first[i], first[j]))) for i, j in pairs if first[i] != first[j]}
    return {(i, j) for i, j in together if i in known or j in known}


def near_pairs(X: Any, least: float) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return all pairs of rows of at least this similarity, the smaller number first, and their similarities."""
    pairs, values = [], []
    for begin in range(0, X.shape[0], 1000):
        kernel = gmm_kernel(X[begin : begin + 1000], X)
        i, j = np.nonzero(kernel >= least)
        later = i + begin < j
        pairs.append(np.stack([i[later] + begin, j[later]], axis=1))
        values.append(kernel[i[later], j[later]])
    return np.concatenate(pairs), np.concatenate(values)


def clusters_of(pairs: NDArray[Any], n: int) -> NDArray[Any]:
    """Return the number of the connected component of each document."""
    edges = sparse.coo_array((np.ones(len(pairs), np.int8), pairs.T), shape=(n, n))
    return np.asarray(connected_components(edges, directed=False)[1])


def same_cluster(*labels: NDArray[Any]) -> int:
    """Return how many pairs of documents are in one cluster, by each of these labels."""
    _, sizes = np.unique(np.stack(labels), axis=1, return_counts=True)
    return int((sizes * (sizes - 1) // 2).sum())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("translation", type=Path)
    parser.add_argument("--documents", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jsonl", type=Path)
    parser.add_argument("--megabytes", type=float, default=10)
    parser.add_argument("--command", type=Path)
    args = parser.parse_args()
    texts = descriptions(args.translation)
    if args.jsonl is not None:
        write_jsonl(args.jsonl, texts, args.megabytes, args.seed)
        return
    if args.command is not None:
        measure_command(args.command, texts, args.seed)
        return
    documents, kinds = corpus(texts, args.documents, args.seed)
    X = Shingles(5).transform(documents)
    asked = np.sort(np.random.default_rng(1).choice(len(documents), 1000, replace=False))
    near, similarity = near_pairs(X, min(THRESHOLDS))
    first = first_equal(X)
    known = {first[i] for i in asked.tolist()}
    rows = []
    for threshold in THRESHOLDS:
        similar = near[similarity >= threshold]
        truth = distinct(set(map(tuple, similar.tolist())), first, known)
        true_clusters = clusters_of(similar, len(documents))
        for name, method in METHODS.items():
            start, worked = perf_counter(), process_time()
            found = method(documents, threshold)
            seconds, cpu_seconds = perf_counter() - start, process_time() - worked
            mine = distinct(found, first, known)
            right = len(mine & truth)
            clusters = clusters_of(np.array(sorted(found)).reshape(-1, 2), len(documents))
            together = same_cluster(clusters, true_clusters)
            row = {
                "threshold": threshold,
                "method": name,
                "documents": len(documents),
                "megabytes": round(sum(map(len, documents)) / 1e6, 1),
                "seconds": round(seconds, 2),
                "cpu_seconds": round(cpu_seconds, 2),
                "pairs": len(found),
                "precision": round(right / max(1, len(mine)), 4),
                "recall": round(right / max(1, len(truth)), 4),
                "cluster_precision": round(together / max(1, same_cluster(clusters)), 4),
                "cluster_recall": round(together / max(1, same_cluster(true_clusters)), 4),
            }
            print(row, flush=True)
            rows.append(row)
    write_rows("dedup.csv", rows)
    write_sample(documents, kinds, args.documents)


def write_jsonl(path: Path, texts: list[str], megabytes: float, seed: int) -> None:
    size = 0
    with open(path, "w", encoding="utf-8") as file:
        for number, text in enumerate(endless(texts, seed)):
            size += file.write(json.dumps({"id": number, "text": text}) + "\n")
            if size >= megabytes * 1e6:
                return


def write_rows(name: str, rows: list[dict[str, Any]]) -> None:
    with open(RESULTS / name, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def measure_command(folder: Path, texts: list[str], seed: int) -> None:
    """Measure the command on two cores: the time of the processor, and the peak of its memory."""
    rows = []
    for megabytes in (10, 100, 1000):
        path = folder / f"{megabytes}.jsonl"
        if not path.exists():
            write_jsonl(path, texts, megabytes, seed)
        for memory in ("1GB", "2GB"):
            asked = ["kernelsketch", "dedup", path, "-o", folder / "out.jsonl", "--memory", memory, "--threads", "2"]
            done = subprocess.run(
                [sys.executable, "-c", MEASURED, *asked, "-q", "--json"], capture_output=True, text=True, check=True
            )
            facts, (cpu_seconds, peak) = map(json.loads, done.stdout.splitlines())
            row = {
                "megabytes": megabytes,
                "memory": memory,
                "documents": facts["documents"],
                "stay": facts["stay"],
                "seconds": round(facts["seconds"], 1),
                "cpu_seconds": round(cpu_seconds, 1),
                "peak_mib": peak // 1024,
            }
            print(row, flush=True)
            rows.append(row)
    write_rows("dedup_command.csv", rows)


def write_sample(documents: list[str], kinds: list[str], count: int) -> None:
    """Store some originals and their copies, with the exact similarity, for a person to check."""
    chosen = [i for i in range(count) if len(documents[i]) < 400][:48]
    with open(RESULTS / "dedup_sample.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["edit", "similarity", "original", "copy"])
        for i in chosen:
            similarity = gmm_kernel(Shingles(5).transform([documents[i], documents[count + i]]))[0, 1]
            writer.writerow([kinds[count + i], round(float(similarity), 4), documents[i], documents[count + i]])


METHODS = {"kernelsketch": by_kernelsketch, "rensa": by_rensa, "datasketch": by_datasketch}

if __name__ == "__main__":
    main()
