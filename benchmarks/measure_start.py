"""How long commands take to start, as multiples of ``python -c "import sklearn.svm"``.

Run ``python benchmarks/measure_start.py [NAME=PYTHON ...]``; each PYTHON is the interpreter of an environment to
measure, by default only this one. All commands of all environments take turns, so that a busy machine slows them alike.
The rows of results/start.csv hold medians: the ratio to the import in the same environment, of wall-clock and of
processor time, and the number of modules that the command has imported at its end.
"""

from __future__ import annotations

import csv
import json
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from machine import RESULTS, machine

REPETITIONS = 25
PEER = "import sklearn.svm"
COUNT = """
import sys
sys.argv[:1] = []
try:
    from kernelsketch.cli import main
    main()
except SystemExit:
    pass
print(len(sys.modules), file=sys.stderr)
"""
ROWS = "1 1:1 2:2\n0 2:1 3:1\n1 1:2 3:1\n0 3:4\n"


def main() -> None:
    pythons = dict(given.split("=", 1) for given in sys.argv[1:]) or {"here": sys.executable}
    where = machine()
    with tempfile.TemporaryDirectory() as folder:
        rows = Path(folder) / "rows.svm"
        rows.write_text(ROWS)
        calls: dict[tuple[str, str], list[str]] = {}
        for name, python in pythons.items():
            model = Path(folder) / f"{name}.safetensors"
            train = ["train", str(rows), "-k", "64", "-m", str(model), "-q"]
            subprocess.run([python, "-m", "kernelsketch", *train], check=True, capture_output=True)
            calls[name, PEER] = [python, "-c", PEER]
            calls[name, "kernelsketch --help"] = [python, "-m", "kernelsketch", "--help"]
            calls[name, "kernelsketch train --help"] = [python, "-m", "kernelsketch", "train", "--help"]
            predict = ["predict", str(rows), "-m", str(model)]
            calls[name, "kernelsketch predict"] = [python, "-m", "kernelsketch", *predict]
        wall, cpu = measure(calls)
        found = [
            {
                "environment": name,
                "command": command,
                "modules": modules(call),
                "seconds": round(wall[name, command], 4),
                "ratio": round(wall[name, command] / wall[name, PEER], 3),
                "cpu_seconds": round(cpu[name, command], 4),
                "cpu_ratio": round(cpu[name, command] / cpu[name, PEER], 3),
                "repetitions": REPETITIONS,
            }
            for (name, command), call in calls.items()
        ]
    with (RESULTS / "start.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    (RESULTS / "start.json").write_text(json.dumps(where, indent=1) + "\n")
    for row in found:
        print(*row.values(), sep="\t")


def measure(
    calls: dict[tuple[str, str], list[str]],
) -> tuple[dict[tuple[str, str], float], dict[tuple[str, str], float]]:
    """Return the median wall-clock and processor seconds of each call."""
    wall: dict[tuple[str, str], list[float]] = {key: [] for key in calls}
    cpu: dict[tuple[str, str], list[float]] = {key: [] for key in calls}
    for _ in range(REPETITIONS):
        for key, call in calls.items():
            before, start = resource.getrusage(resource.RUSAGE_CHILDREN), perf_counter()
            subprocess.run(call, check=True, capture_output=True)
            wall[key].append(perf_counter() - start)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu[key].append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return (
        {key: statistics.median(v) for key, v in wall.items()},
        {key: statistics.median(v) for key, v in cpu.items()},
    )


def modules(call: list[str]) -> int:
    """Return how many modules a call has imported at its end."""
    python, kind, *rest = call
    if kind == "-c":
        code = f"{rest[0]}\nimport sys; print(len(sys.modules), file=sys.stderr)"
        given = [python, "-c", code]
    else:
        given = [python, "-c", COUNT, *rest]
    return int(subprocess.run(given, check=True, capture_output=True, text=True).stderr.splitlines()[-1])


if __name__ == "__main__":
    main()
