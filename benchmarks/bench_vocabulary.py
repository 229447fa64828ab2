"""``kernelsketch dedup`` on documents of a small vocabulary, and on ordinary ones.

``small``: 120 words drawn from 300, single words as shingles and a threshold of 0.5, so that nearly all pairs of
documents share features of their prefixes. ``ordinary``: 40 to 300 words drawn from 30,000 with frequencies as those of
a language, a twentieth of the documents being edited copies of others, with the defaults. Seconds are those of the
processor on one thread, including the start of the process, and the memory is the peak of the process.
"""

from __future__ import annotations

import csv
import json
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from machine import RESULTS, machine

SMALL, ORDINARY = (500, 1000, 2000, 6000), (20_000,)
# A small process starts the command: the peak of a child begins with the memory of its parent.
MEASURED = """
import resource, subprocess, sys
subprocess.run(sys.argv[1:], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print([used.ru_utime + used.ru_stime, used.ru_maxrss])
"""


def small(n: int) -> Iterator[str]:
    draw = random.Random(0)
    for _ in range(n):
        yield " ".join(f"w{draw.randrange(300)}" for _ in range(120))


def ordinary(n: int) -> Iterator[str]:
    draw = random.Random(1)
    words = [f"word{number}" for number in range(30_000)]
    weights = [1 / (rank + 5) for rank in range(len(words))]
    documents: list[list[str]] = []
    for _ in range(n):
        if documents and draw.random() < 0.05:
            made = list(draw.choice(documents))
            for _ in range(max(1, len(made) // 50)):
                made[draw.randrange(len(made))] = draw.choice(words)
        else:
            made = draw.choices(words, weights, k=draw.randint(40, 300))
        documents.append(made)
        yield " ".join(made)


def main() -> None:
    rows = []
    with tempfile.TemporaryDirectory() as name:
        source, output = Path(name) / "texts.jsonl", Path(name) / "out.jsonl"
        for kind, sizes, options in (
            (small, SMALL, ["--ngram", "1", "-t", "0.5"]),
            (ordinary, ORDINARY, []),
        ):
            for n in sizes:
                source.write_text("".join(json.dumps({"text": text}) + "\n" for text in kind(n)))
                asked = [
                    sys.executable,
                    "-m",
                    "kernelsketch",
                    "dedup",
                    source,
                    "-o",
                    output,
                    *options,
                    "--threads",
                    "1",
                ]
                done = subprocess.run(
                    [sys.executable, "-c", MEASURED, *asked, "-q", "--json"], capture_output=True, text=True, check=True
                )
                facts, (seconds, peak) = map(json.loads, done.stdout.splitlines())
                row = {"documents": n, "kind": kind.__name__, "stay": facts["stay"]}
                row |= {"cpu_seconds": round(seconds, 2), "peak_mib": peak // 1024}
                print(row, flush=True)
                rows.append(row)
    with (RESULTS / "vocabulary.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    (RESULTS / "vocabulary.json").write_text(json.dumps(machine(), indent=1) + "\n")


if __name__ == "__main__":
    main()
