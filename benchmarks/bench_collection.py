"""Increments of ``kernelsketch dedup --against COLLECTION --append``, beside one run over all documents.

Generated documents of about 450 words (3 kB) from 30,000 words with frequencies as those of a language; one in ten is
an edited copy of another. All but the last 1 % make the collection; "increment" is a run of the last 1 % with --against
and --append, "full" one run over all documents without a collection, and "single" the time per text of
``DocumentCollection.match`` for one text at a time. Seconds are those of the processor on one thread, including the
start of the process; "start" is an increment of one document to an empty collection, which is nearly all start.
"""

from __future__ import annotations

import csv
import json
import subprocess
import sys
import tempfile
from itertools import chain, islice
from pathlib import Path
from time import process_time

import numpy as np
from bench_vocabulary import MEASURED
from machine import RESULTS, machine

from kernelsketch import DocumentCollection

SIZES = (10_000, 30_000, 100_000)
SHARE = 100  # of the documents, the last ones, that are the increment
WORDS, EDITS, SINGLES = 450, 8, 200
VOCABULARY = np.array([f"word{number}" for number in range(30_000)])


def documents(n: int, seed: int = 0):
    """Yield lines of JSONL."""
    rng = np.random.default_rng(seed)
    weights = 1 / (np.arange(len(VOCABULARY)) + 5)
    edges = np.cumsum(weights / weights.sum())
    kept = np.zeros((1000, WORDS), np.int64)  # the last ones, of which some are copied
    for number in range(n):
        if number > 100 and rng.random() < 0.1:
            words = kept[rng.integers(min(number, 1000))].copy()
            words[rng.integers(WORDS, size=EDITS)] = rng.integers(len(VOCABULARY), size=EDITS)
        else:
            words = np.searchsorted(edges, rng.random(WORDS)).clip(max=len(VOCABULARY) - 1)
        kept[number % 1000] = words
        yield json.dumps({"id": number, "text": " ".join(VOCABULARY[words])}) + "\n"


def run(*arguments: object) -> tuple[dict, float, int]:
    """Return the summary of a command, its seconds and its peak in bytes."""
    command = [sys.executable, "-m", "kernelsketch", "dedup", *map(str, arguments), "--id", "id", "--threads", "1"]
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *command, "-q", "--json"], capture_output=True, text=True, check=True
    )
    facts, (seconds, peak) = map(json.loads, done.stdout.splitlines())
    return facts, seconds, peak


def main() -> None:
    where, rows = machine(), []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for n in SIZES:
            made, known = documents(n), folder / f"known-{n}"
            old, new, one = (folder / f"{what}.jsonl" for what in ("old", "new", "one"))
            with old.open("w") as file:
                file.writelines(islice(made, n - n // SHARE))
            new.write_text("".join(made))
            with new.open() as file:
                one.write_text(file.readline())
            _, start, _ = run(one, "--against", folder / f"start-{n}", "--append", "-o", folder / "out.jsonl")
            _, making, _ = run(old, "--against", known, "--append", "-o", folder / "clean.jsonl")
            collection = DocumentCollection(known, n_jobs=1)
            with new.open() as file:
                texts = [json.loads(line)["text"] for line in islice(file, SINGLES)]
            collection.match(texts[:1])
            begin = process_time()
            for text in texts:
                collection.match([text])
            single = (process_time() - begin) / len(texts)
            facts, increment, peak = run(new, "--against", known, "--append", "-o", folder / "out.jsonl")
            with old.open() as first, new.open() as last, (folder / "all.jsonl").open("w") as file:
                file.writelines(chain(first, last))
            whole, full, _ = run(folder / "all.jsonl", "-o", folder / "out.jsonl")
            assert whole["stay"] <= len(collection) + facts["stay"]
            rows.append(
                {
                    "documents": n,
                    "text_mb": round((folder / "all.jsonl").stat().st_size / 1e6),
                    "folder_mb": round(sum(path.stat().st_size for path in known.iterdir()) / 1e6),
                    "full_s": round(full, 2),
                    "make_collection_s": round(making, 2),
                    "increment_s": round(increment, 2),
                    "start_s": round(start, 2),
                    "increment_percent": round(100 * increment / full, 1),
                    "increment_without_start_percent": round(100 * (increment - start) / (full - start), 1),
                    "increment_peak_mib": peak // 1024,
                    "single_ms": round(1000 * single, 2),
                    "known": facts["known"],
                }
            )
            print(rows[-1], flush=True)
    with (RESULTS / "collection.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    (RESULTS / "collection.json").write_text(json.dumps(where, indent=1) + "\n")


if __name__ == "__main__":
    main()
