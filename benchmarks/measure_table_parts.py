"""Where the processor time of fits of models of tables goes: the parts that a GPU could take, and the others.

``python benchmarks/measure_table_parts.py`` writes ``results/table_parts.csv``. The tables are generated: 20 numbers
and two columns of categories, with 5 % gaps. A fit uses one thread, so that seconds of the processor are its work.
``at_most`` is Amdahl's bound: how many times as fast the fit would be if hashing and linear models took no time at all.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from time import process_time

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).parent))

from machine import RESULTS, machine

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor

SIZES = (12_000, 50_000, 300_000)
STAGES = {"weights of": "weights of columns", "fold ": "linear models", "trained with": "linear models"}


def table(n: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Return rows and a number to predict."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(n, 20)), columns=[f"n{i}" for i in range(20)])
    X["few"] = rng.choice(list("abcdefgh"), n)
    X["many"] = rng.choice([f"k{i}" for i in range(60)], n)
    y = X["n0"] * X["n1"] + 1.5 * (X["few"] == "a") + np.sin(3 * X["n2"]) + 0.5 * rng.normal(size=n)
    return X.mask(rng.random(X.shape) < 0.05), y.to_numpy()


def parts(kind: str, effort: str, n: int) -> dict[str, object]:
    """Return the seconds of the processor that each part of a fit takes."""
    X, y = table(n)
    model = GCWSTabularClassifier(effort) if kind == "two classes" else GCWSTabularRegressor(effort)
    y = y > 0 if kind == "two classes" else y
    found = dict.fromkeys(("reading", "weights of columns", "linear models", "trees", "rest"), 0.0)
    last = process_time()

    def took(text: str) -> None:
        nonlocal last
        if ", pass " in text:
            return
        part = next((part for start, part in STAGES.items() if text.startswith(start)), "rest")
        if " features" in text:
            part = "reading"
        if "boosted trees" in text:
            part = "trees"
        now = process_time()
        found[part] += now - last
        last = now

    model.fit(X, y, progress=took)
    total = sum(found.values())
    share = found["linear models"] / total
    row = {"target": kind, "effort": effort, "rows": n, **{name: round(value, 2) for name, value in found.items()}}
    row |= {"total": round(total, 2), "share_of_linear_models": round(share, 2)}
    return {**row, "at_most": round(1 / (1 - share), 2)}


def main() -> None:
    """Measure all sizes, and write the results."""
    rows = []
    for kind, effort in (("two classes", "default"), ("numbers", "default"), ("two classes", "quick")):
        for n in SIZES:
            rows.append(parts(kind, effort, n))
            print(*rows[-1].values(), sep=" | ", flush=True)
    with (RESULTS / "table_parts.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    (RESULTS / "table_parts.json").write_text(json.dumps(machine(), indent=2) + "\n")


if __name__ == "__main__":
    main()
