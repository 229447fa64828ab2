"""Results as rows, which the runner stores and the report reads.

A row is one accuracy: of one method on one split of one dataset with one setting. ``results.csv`` has the columns
below; a cell is blank where a column does not apply. ``provenance.json`` beside it records the machine, the commit and
the versions.
"""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from importlib.resources import files
from io import StringIO
from pathlib import Path
from typing import Any

from kernelsketch.exceptions import InputError

from .._library import write_atomically

RESULTS, PROVENANCE = "results.csv", "provenance.json"


@dataclass(frozen=True)
class Row:
    """One measurement. Accuracies are in percent, times in seconds of one processor, sizes in bytes."""

    experiment: str  # kernels, hashing, time, tunable, comparison
    dataset: str
    method: str  # linear, rbf, gmm, pgmm, egmm, epgmm, gcws, nrff, nystroem, trees, lightgbm
    solver: str  # libsvm, liblinear, kernelsketch, newton, or the library's own
    scaling: str = "paper"  # paper (as the paper does for the method), minmax, standard, none
    split: int = 0  # number of the random split, 0 for an official one
    repetition: int = 0  # repetition of the hash
    intercept: bool | None = None
    gamma: float | None = None
    p: float | None = None
    k: int | None = None
    b: int | None = None
    C: float | None = None
    accuracy: float | None = None  # on the test rows
    cv_accuracy: float | None = None  # by cross-validation within the training rows
    n_train: int | None = None
    n_test: int | None = None
    hash_seconds: float | None = None
    train_seconds: float | None = None
    predict_seconds: float | None = None
    model_bytes: int | None = None


COLUMNS = tuple(field.name for field in fields(Row))
_KINDS = {field.name: str(field.type).removesuffix(" | None") for field in fields(Row)}


def _parsed(name: str, text: str) -> Any:
    kind = _KINDS[name]
    if text == "" and kind != "str":
        return None
    readers: dict[str, Callable[[str], Any]] = {"str": str, "int": int, "float": float, "bool": "True".__eq__}
    return readers[kind](text)


def read_results(folder: Path) -> list[Row]:
    """Read the rows of ``results.csv`` in a folder."""
    path = Path(folder) / RESULTS
    try:
        with path.open(newline="", encoding="utf-8") as file:
            lines = csv.DictReader(file)
            if tuple(lines.fieldnames or ()) != COLUMNS:
                raise InputError(
                    f"{path} does not have the columns of results: {', '.join(COLUMNS)}. "
                    "Run `kernelsketch reproduce` again."
                )
            return [Row(**{name: _parsed(name, text) for name, text in line.items()}) for line in lines]
    except FileNotFoundError:
        raise InputError(f"{path} does not exist: `kernelsketch reproduce` writes it.") from None
    except (ValueError, TypeError) as error:
        raise InputError(f"{path} is not a table of results: {error}") from None


def write_results(folder: Path, rows: list[Row]) -> None:
    """Write ``results.csv`` completely or not at all."""
    text = StringIO(newline="")
    table = csv.writer(text, lineterminator="\n")
    table.writerow(COLUMNS)
    for row in rows:
        values = (getattr(row, name) for name in COLUMNS)
        table.writerow("" if v is None else f"{v:.6g}" if isinstance(v, float) else v for v in values)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(folder / RESULTS, text.getvalue().encode())


@dataclass(frozen=True)
class Published:
    """A row of the paper's tables: accuracies in percent, and None where the paper has none."""

    table: str  # uci, large or mnist: table 1, 2 or 3
    dataset: str
    n_train: int
    n_test: int
    n_features: int
    linear: float | None
    rbf: float | None
    rbf_gamma: float | None
    gmm: float | None


def _lines(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader(StringIO(files(__package__).joinpath(name).read_text(encoding="utf-8"))))


@cache
def published() -> dict[str, Published]:
    """Return the accuracies that the paper publishes, by dataset and in its order."""

    def number(text: str) -> float | None:
        return float(text) if text else None

    return {
        line["dataset"]: Published(
            line["table"],
            line["dataset"],
            *(int(line[name]) for name in ("n_train", "n_test", "n_features")),
            *(number(line[name]) for name in ("linear_accuracy", "rbf_accuracy", "rbf_gamma", "gmm_accuracy")),
        )
        for line in _lines("published_accuracy.csv")
    }


@cache
def published_errors() -> list[dict[str, str]]:
    """Return the error rates of table 5 in percent: one method per row, with the source of the numbers."""
    return _lines("published_errors.csv")
