"""Compare two installed versions of kernelsketch on the same work, in one run, and write the ratios to a CSV file.

    python benchmarks/compare_versions.py before=/path/to/old/python after=/path/to/new/python
    python benchmarks/compare_versions.py --instructions before=/path/to/old/python after=/path/to/new/python

The work is that of ``version_work.py``, on one thread.

Without ``--instructions`` each round starts a process of each version in turn, so that both run under the same load.
A process does every piece of work several times and reports the least processor time of each.
``results/versions.csv`` holds the median over the rounds of both versions and of their ratio in the same round.

With ``--instructions`` a process of each version does smaller pieces of the same work under callgrind, a tool of
valgrind, which counts the instructions of each piece by itself, after a first time that is not counted. Counts do not
depend on the load of the machine, so ``results/versions_instructions.csv`` shows changes that times do not show. With
the same version as before and after, the counts of a run differed by less than 0.1 %. Five counts of a version in three
runs, from different folders and with and without random names of temporary files, differed by at most 0.4 %, and 21 of
28 lines by less than 0.1 %. There is no garbage collection while instructions are counted, and hash seeds and addresses
are not random. Valgrind has no AVX-512: the counts are those of the AVX2 back end.
The exit status is 1 if a ratio is above ``--limit``. A run takes about four minutes of one core.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import platform
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

ROUNDS, REPEATS = 9, 5
FOLDER = Path(__file__).parent
WORK, RESULTS = FOLDER / "version_work.py", FOLDER / "results"
ALWAYS = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
TOTALS = re.compile(r"^(?:totals|summary): (\d+)", re.MULTILINE)

# The version calls these functions around each piece of work. Outside of valgrind they do nothing.
CALLGRIND = """
#include <valgrind/callgrind.h>
void begin(void) { CALLGRIND_START_INSTRUMENTATION; CALLGRIND_ZERO_STATS; }
void end(void) { CALLGRIND_DUMP_STATS; CALLGRIND_STOP_INSTRUMENTATION; }
"""


def timed_rounds(versions: dict[str, str]) -> dict[str, list[dict[str, float]]]:
    """Return the seconds of each piece of work in each round of both versions."""
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in versions}
    for number in range(ROUNDS):
        for name, python in versions.items() if number % 2 == 0 else reversed(versions.items()):
            rounds[name].append(_json_of([python, str(WORK), "time", "timed", str(REPEATS)]))
        print(f"round {number + 1} of {ROUNDS}", flush=True)
    return rounds


def write_times(rounds: dict[str, list[dict[str, float]]], path: Path) -> None:
    """Write and print the median times and ratios."""
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["work", "before_ms", "after_ms", "ratio", "ratio_least", "ratio_most", "rounds"])
        for name in rounds["before"][0]:
            before, after = ([found[name] for found in rounds[side]] for side in ("before", "after"))
            ratios = [b / a for a, b in zip(before, after, strict=True)]
            middle = [1000 * statistics.median(side) for side in (before, after)]
            row = [*(f"{ms:.3f}" for ms in middle), *(f"{f(ratios):.3f}" for f in (statistics.median, min, max))]
            table.writerow([name, *row, ROUNDS])
            print(f"{name:45s} {middle[0]:9.2f} ms {middle[1]:9.2f} ms   ratio {statistics.median(ratios):.3f}")


def count_instructions(python: str) -> dict[str, int]:
    """Return the number of instructions of each piece of work of a version."""
    _json_of([python, str(WORK), "try", "tiny"])  # compiles its modules, and fails at once if it lacks some work
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library, dumps = _library(folder), folder / "counts"
        under = ["setarch", platform.machine(), "-R", "valgrind", "--tool=callgrind", "--instr-atstart=no"]
        under += [f"--callgrind-out-file={dumps}", "--quiet", "--vgdb=no"]
        names = _json_of([*under, python, str(WORK), "count", "counted", f"./{library.name}"], folder)
        return {name: read_count(Path(f"{dumps}.{number}")) for number, name in enumerate(names, 1)}


def read_count(dump: Path) -> int:
    """Return the number of instructions in a file of callgrind."""
    found = TOTALS.findall(dump.read_text(errors="replace"))
    if not found:
        raise ValueError(f"{dump} has no line of totals.")
    return int(found[-1])


def write_counts(before: dict[str, int], after: dict[str, int], path: Path, limit: float) -> bool:
    """Write and print the counts; return whether all ratios are within the limit."""
    within = True
    with path.open("w", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(["work", "before", "after", "ratio"])
        for name, count in before.items():
            ratio = after[name] / count
            table.writerow([name, count, after[name], f"{ratio:.4f}"])
            mark = "" if ratio <= limit else f"   above {limit:g}"
            within = within and not mark
            print(f"{name:45s} {count:15,} {after[name]:15,}   ratio {ratio:.4f}{mark}")
    return within


def _library(folder: Path) -> Path:
    """Compile the functions that start and stop the counts."""
    source, library = folder / "callgrind.c", folder / "callgrind.so"
    source.write_text(CALLGRIND)
    compiler = os.environ.get("CC", "cc")
    try:
        subprocess.run([compiler, "-shared", "-fPIC", "-O2", "-o", str(library), str(source)], check=True)
    except (OSError, subprocess.CalledProcessError):
        sys.exit("--instructions needs a C compiler and valgrind with its headers, for example: apt install valgrind")
    return library


def _json_of(command: list[str], folder: Path | None = None) -> Any:
    """Run a command in a folder and return the JSON that it prints.

    Its environment is always the same, apart from the PATH, and no argument has a random name: strings decide where
    later objects are in memory, and addresses decide how long some searches in sets take.
    """
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | ALWAYS
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment, cwd=folder)
    return json.loads(done.stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("versions", nargs=2, metavar="before=PYTHON after=PYTHON", help="the Python of each version")
    parser.add_argument("--instructions", action="store_true", help="count instructions instead of time")
    parser.add_argument("--limit", type=float, default=1.03, help="largest ratio of instructions (default 1.03)")
    parser.add_argument("--output", type=Path, help="CSV file (default: in benchmarks/results)")
    given = parser.parse_args()
    named = (version.partition("=") for version in given.versions)
    versions = {name: os.path.abspath(python) for name, _, python in named}
    if set(versions) != {"before", "after"}:
        parser.error("name both versions: before=/path/to/old/python after=/path/to/new/python")
    if not given.instructions:
        write_times(timed_rounds(versions), given.output or RESULTS / "versions.csv")
        return
    before, after = (count_instructions(versions[side]) for side in ("before", "after"))
    if not write_counts(before, after, given.output or RESULTS / "versions_instructions.csv", given.limit):
        sys.exit(1)


if __name__ == "__main__":
    main()
