"""Training time on hashed rows, and time and model size of the compared methods."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ..experiments import Row
from ._choice import chosen_rows, grouped, mean_of
from ._parts import Column, Table
from ._tables import NAMES


def geometric_mean(values: Iterable[float | None]) -> float | None:
    """Return the geometric mean of the values that are known, finite and positive."""
    known = [v for v in values if v is not None and v > 0 and math.isfinite(v)]
    return math.exp(sum(map(math.log, known)) / len(known)) if known else None


def timed(rows: Iterable[Row]) -> list[Row]:
    """Return the rows of the experiment on training time."""
    return [r for r in rows if r.experiment == "time" and r.train_seconds is not None and r.C is not None]


def time_table(rows: Iterable[Row]) -> Table:
    """Return the training time by method, number of samples and solver: geometric means over C."""
    lines: list[dict[str, Any]] = []
    kept = timed(rows)
    solvers = sorted({r.solver for r in kept}, key=lambda name: (name != "kernelsketch", name))
    groups = grouped(kept, lambda r: (r.dataset, r.method, r.b if r.method == "gcws" else None, r.k))
    for (dataset, method, b, k), group in groups.items():
        by = grouped(group, lambda r: r.solver)
        name = NAMES.get(method, method) + (f", b = {b}" if b is not None else "")
        cells: dict[str, Any] = {"dataset": dataset, "method": name, "k": k}
        for solver in solvers:
            cells[solver] = geometric_mean(r.train_seconds for r in by.get(solver, []))
        cells["ratio"] = _ratio(by.get("liblinear", []), by.get("kernelsketch", []))
        lines.append(cells)
    lines.sort(key=lambda line: (line["dataset"], line["method"], line["k"] or 0))
    columns = [
        Column("dataset", "dataset"),
        Column("method", "method"),
        Column("k", "k", "count"),
        *(Column(solver, solver, "seconds", "seconds to train") for solver in solvers),
    ]
    if {"kernelsketch", "liblinear"} <= set(solvers):
        columns.append(Column("ratio", "LIBLINEAR / kernelsketch", "ratio"))
    caption = "Geometric means over the values of C. The ratio uses the values of C that both solvers have."
    return Table("training-time", "Solvers on hashed rows", caption, tuple(columns), lines, keys=3)


def _ratio(slow: list[Row], fast: list[Row]) -> float | None:
    """Return the geometric mean of the ratios at the same C."""
    a = {C: mean_of(r.train_seconds for r in group) for C, group in grouped(slow, lambda r: r.C).items()}
    b = {C: mean_of(r.train_seconds for r in group) for C, group in grouped(fast, lambda r: r.C).items()}
    pairs = ((a[C], b[C]) for C in a if C in b)
    return geometric_mean(x / y for x, y in pairs if x is not None and y)


def cost_table(rows: Iterable[Row], methods: tuple[str, ...]) -> Table:
    """Return time and model size of the compared methods, over the datasets that all of them have."""
    kept = [r for r in rows if r.experiment == "comparison" and r.method in methods and r.accuracy is not None]
    per: dict[str, dict[str, dict[str, float | None]]] = {}
    for (method, dataset), group in grouped(kept, lambda r: (r.method, r.dataset)).items():
        chosen = [r for split in chosen_rows(group, "cv").values() for r in split]
        per.setdefault(method, {})[dataset] = {
            "train": mean_of(r.train_seconds for r in chosen),
            "predict": mean_of(r.predict_seconds for r in chosen),
            "size": mean_of(r.model_bytes for r in chosen),
        }
    common = set.intersection(*(set(d) for d in per.values())) if per else set()
    lines: list[dict[str, Any]] = []
    for method in methods:
        if method in per:
            values = [per[method][d] for d in sorted(common)]
            cells = {name: geometric_mean(v[name] for v in values) for name in ("train", "predict", "size")}
            lines.append({"method": NAMES.get(method, method), **cells})
    columns = (
        Column("method", "method"),
        Column("train", "train", "seconds"),
        Column("predict", "predict", "seconds"),
        Column("size", "model", "bytes"),
    )
    plural = "dataset" if len(common) == 1 else "datasets"
    caption = (
        f"Geometric means over the {len(common)} {plural} that every method has, with settings by cross-validation."
    )
    return Table("costs", "Cost of the methods", caption, columns, lines)
