"""The tables of ``benchmarks/results/mixed_tables.csv``, in which ``compare_mixed.py`` compares models of tables.

A score is the mean over the splits of a table, and then over the tables of the reporting half.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean, median, stdev
from typing import NamedTuple

MODELS = ["ours", "ours-thorough", "LightGBM-20", "LightGBM-defaults", "XGBoost-20", "XGBoost-defaults", "CatBoost-20",
          "CatBoost-defaults", "HistGradientBoosting", "ChimeraBoost", "xRFM-5", "RealMLP-TD"]  # fmt: skip
SHOWN = [
    "ours",
    "LightGBM-20",
    "XGBoost-20",
    "CatBoost-20",
    "CatBoost-defaults",
    "ChimeraBoost",
    "xRFM-5",
    "RealMLP-TD",
]
HEADS = ["model", "AUC, %", "log-loss", "RMSE to LightGBM-20", "accuracy, %", "calibration error", "CPU time to train",
         "CPU time per row", "size"]  # fmt: skip
AGAINST = ["ours minus", "AUC, points", "log-loss", "RMSE, %"]
REFERENCE, OTHER_MACHINE = "LightGBM-20", "\\*"

Row = dict[str, str]
Found = dict[str, dict[tuple[str, str], Row]]  # by model; by table and split


def read(path: Path, new: bool | None = None) -> Found:
    """Return the rows of the reporting half: of the new tables, of the older ones, or of both."""
    found: Found = {model: {} for model in MODELS}
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            if row["half"] == "report" and (new is None or row["new"] == str(int(new))) and row["model"] in found:
                found[row["model"]][row["table"], row["split"]] = row
    return found


def by_table(
    rows: dict[tuple[str, str], Row], value: Callable[[tuple[str, str]], float | None]
) -> dict[str, list[float]]:
    """Return the values of the splits of each table that has any."""
    found: dict[str, list[float]] = {}
    for key in rows:
        if (one := value(key)) is not None:
            found.setdefault(key[0], []).append(one)
    return found


def number(row: Row, column: str) -> float | None:
    return float(row[column]) if row.get(column) else None


def mean(rows: dict[tuple[str, str], Row], column: str) -> float | None:
    tables = by_table(rows, lambda key: number(rows[key], column))
    return fmean(map(fmean, tables.values())) if tables else None


def shown(value: float | None, digits: int, factor: float = 1.0, sign: str = "") -> str:
    if value is None:
        return ""
    return f"{round(factor * value, digits) + 0.0:{sign}.{digits}f}"


class Against(NamedTuple):
    """The difference of two models in one measure, where a positive gain is better for the first one."""

    mean: float
    error: float | None
    better: list[str]
    tied: list[str]
    worse: list[str]


def against(found: Found, model: str, peer: str, column: str) -> Against | None:
    """Compare two models on what both have. A table is a tie if the splits do not agree on the better one."""
    ours, theirs = found[model], found[peer]
    shared = {key: row for key, row in ours.items() if key in theirs}
    smaller = column != "auc"

    def difference(key: tuple[str, str]) -> float | None:
        one, two = number(ours[key], column), number(theirs[key], column)
        if one is None or two is None:
            return None
        return 100 * math.log(one / two) if column == "rmse" else one - two

    tables = by_table(shared, difference)
    if not tables:
        return None
    kinds: dict[str, list[str]] = {"better": [], "tied": [], "worse": []}
    for table, values in tables.items():
        gains = [-value if smaller else value for value in values]
        kinds["better" if min(gains) > 0 else "worse" if max(gains) < 0 else "tied"].append(table)
    means = [fmean(values) for values in tables.values()]
    error = stdev(means) / len(means) ** 0.5 if len(means) > 1 else None
    return Against(fmean(means), error, **kinds)


def differences(path: Path, new: bool) -> Iterator[list[str]]:
    """Yield, per peer, what ours is better or worse by: mean, standard error, and tables better, tied and worse."""
    found = read(path, new)
    for peer in MODELS:
        cells = [peer]
        for column, digits, factor in (("auc", 2, 100.0), ("log_loss", 3, 1.0), ("rmse", 1, 1.0)):
            one = against(found, "ours", peer, column) if peer != "ours" else None
            cells.append(difference_cell(one, digits, factor) if one is not None else "")
        if any(cells[1:]):
            yield cells


def difference_cell(one: Against, digits: int, factor: float) -> str:
    error = "" if one.error is None else f" ± {shown(one.error, digits, factor)}"
    named = [f"{kind} on {', '.join(tables)}" for kind, tables in (("tied", one.tied), ("worse", one.worse)) if tables]
    counts = f"{len(one.better)} / {len(one.tied)} / {len(one.worse)}"
    return f"{shown(one.mean, digits, factor, '+')}{error}; {counts}{'; ' if named else ''}{'; '.join(named)}"


def standings(path: Path, new: bool) -> Iterator[list[str]]:
    """Yield the scores of each model on the tables and splits of the reference, if it was measured on all of them."""
    found = read(path, new)
    reference = found[REFERENCE]
    machine = next((row["machine"] for row in reference.values()), "")
    for model in MODELS:
        if not reference or not reference.keys() <= found[model].keys():
            continue
        rows = {key: found[model][key] for key in reference}
        ratio = against(found, model, REFERENCE, "rmse")
        mark = OTHER_MACHINE if any(row["machine"] not in (machine, "") for row in rows.values()) else ""
        seconds, micros, size = (middle(rows, name) for name in ("fit_cpu_seconds", "row_cpu_us", "model_bytes"))
        yield [model, shown(mean(rows, "auc"), 1, 100), shown(mean(rows, "log_loss"), 3),
               "" if ratio is None else f"{shown(100 * math.expm1(ratio.mean / 100), 1, sign='+')} %",
               shown(mean(rows, "accuracy"), 1, 100), shown(mean(rows, "calibration_error"), 3),
               unit(seconds, "s", 1, mark), unit(micros, "µs", 0, mark), unit(size, "kB", 0, factor=1e-3)]  # fmt: skip


def middle(rows: dict[tuple[str, str], Row], column: str) -> float | None:
    """Return the median over tables and splits, if there is any value."""
    values = [value for row in rows.values() if (value := number(row, column)) is not None]
    return median(values) if values else None


def unit(value: float | None, name: str, digits: int, mark: str = "", factor: float = 1.0) -> str:
    return "" if value is None else f"{shown(value, digits, factor)} {name}{mark}"


def tables(path: Path) -> Iterator[list[str]]:
    """Yield, per table, the main score of the models: AUC with two classes, log-loss with more, RMSE of numbers."""
    found = read(path)
    names = list(dict.fromkeys(table for rows in found.values() for table, _ in rows))
    newness = {table: row["new"] for rows in found.values() for (table, _), row in rows.items()}
    for table in sorted(names, key=lambda name: (newness[name] != "1", name)):
        parts = {model: {key: row for key, row in found[model].items() if key[0] == table} for model in SHOWN}
        every = [row for part in parts.values() for row in part.values()]
        column, label, factor, digits = next(
            kind for kind in (("auc", "AUC, %", 100, 1), ("log_loss", "log-loss", 1, 3), ("rmse", "RMSE", 1, 3))
            if any(row[kind[0]] for row in every)
        )  # fmt: skip
        new = " (new)" if newness[table] == "1" else ""
        yield [f"{table}{new}: {label}", *(shown(mean(parts[model], column), digits, factor) for model in SHOWN)]
