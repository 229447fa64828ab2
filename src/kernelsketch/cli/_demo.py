"""``kernelsketch demo``: accuracy, time and memory of the models on a dataset that scikit-learn ships.

Every model has its parameters from cross-validation on the training rows, with the same values of C to choose from.
The few values of C and gamma on offer were set by us, knowing what suits digits.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from time import perf_counter
from typing import Annotated, Any, NamedTuple

import numpy as np
import typer
from joblib import parallel_config
from numpy.typing import NDArray
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, LinearSVC

from ..backends import backend_for
from ..features import GCWS, NRFF
from ..formats import write_rows
from ..kernels import gmm_kernel
from ..linear import GCWSClassifier, GCWSClassifierCV
from ._memory import peak_memory

Array = NDArray[Any]

N_SPLITS = 3
N_FOLDS = 3
K = 1024  # hashes, or random features
CS = [0.1, 1.0, 10.0]
GAMMA = "\N{GREEK SMALL LETTER GAMMA}"
CALLS = 2  # of a fit, the faster of which is reported


class Contestant(NamedTuple):
    """A row of the table; ``grid`` is what cross-validation chooses from."""

    name: str
    model: Any
    grid: dict[str, list[float]]


def contestants() -> list[Contestant]:
    linear = LinearSVC(random_state=0)
    rbf = {"C": CS, "gamma": [0.03, 0.1, 0.3]}
    nrff = {"linearsvc__C": CS, "nrff__gamma": [2.0, 5.0, 10.0]}
    return [
        Contestant("LinearSVC", linear, {"C": CS}),
        Contestant("SVC, RBF", SVC(), rbf),
        Contestant("SVC, GMM", SVC(kernel=gmm_kernel), {"C": CS}),
        Contestant("NRFF, LinearSVC", make_pipeline(NRFF(K), clone(linear)), nrff),
        Contestant("GCWS, LinearSVC", make_pipeline(GCWS(K), clone(linear)), {"linearsvc__C": CS}),
        Contestant("GCWSClassifier", GCWSClassifier(K), {"C": CS}),
    ]


class Result(NamedTuple):
    """Of one split: accuracy, seconds to fit once the parameters are known, seconds to predict a row, parameters."""

    accuracy: float
    fit: float
    predict: float
    chosen: dict[str, float]


def demo(
    write: Annotated[
        Path | None,
        typer.Option("--write", metavar="FOLDER", help="Only write digits.svm and digits.t.svm, to try commands on."),
    ] = None,
) -> None:
    """Compare GCWSClassifier with linear, RBF and GMM machines on handwritten digits: accuracy, time, memory."""
    if write is not None:
        _write(write)
        return
    console = Console()
    rows = contestants()
    columns = (TextColumn("{task.description:18}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    results: dict[str, list[Result]] = {row.name: [] for row in rows}
    n, d = load_digits().data.shape
    console.print(
        f"Handwritten digits, {n} images of {d} pixels: half to train, half to test, {N_SPLITS} times. "
        f"C and {GAMMA} of each model by {N_FOLDS}-fold cross-validation on the training rows. "
        f"GCWS with {K} hashes, NRFF with {K} features. One thread, {backend_for().name}."
    )
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(rows) * N_SPLITS)
        for row in rows:
            progress.update(task, description=row.name)
            for split in range(N_SPLITS):
                results[row.name].append(_run(row, *_split(split)))
                progress.advance(task)
        progress.update(task, description="memory")
        X_train, _, y_train, _ = _split(0)
        fits = [(clone(row.model).set_params(**results[row.name][0].chosen), X_train, y_train) for row in rows]
        memory = peak_memory(fits)
    console.print(_table(rows, results, memory))
    console.print(
        "Training is one fit with the chosen parameters, memory what that fit takes at its peak, prediction that of "
        "one row. The time of SVC grows with the square of the rows, that of the others with the rows."
    )
    console.print("\nTry next, on the same digits as files:", highlight=False)
    program = "kernelsketch" if shutil.which("kernelsketch") else os.path.relpath(f"{sys.prefix}/bin/kernelsketch")
    for line in (
        "demo --write .",
        "train digits.svm -m digits.safetensors -C 10",
        "evaluate digits.t.svm -m digits.safetensors",
        "predict digits.t.svm -m digits.safetensors | head",
        "index dedup digits.svm --threshold 0.85 | head",
    ):
        console.print(f"  {program} {line}", highlight=False, soft_wrap=True)
    console.print(
        "and the paper's experiments: `datasets` lists their data, `reproduce all --quick` runs those that are here, "
        "`report` shows them beside its numbers.",
        highlight=False,
    )


def _write(folder: Path) -> None:
    X_train, X_test, y_train, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
    for name, X, y in (("digits.svm", X_train, y_train), ("digits.t.svm", X_test, y_test)):
        count = write_rows(folder / name, [(X, y)])
        print(f"{folder / name}: {count:,} rows")


def _table(rows: list[Contestant], results: dict[str, list[Result]], memory: list[float | None]) -> Table:
    table = Table("model", "accuracy, %", "chosen", "training", "memory", "predict")
    for column in table.columns:
        column.justify = "left" if column.header == "model" else "right"
        column.no_wrap = column.header != "chosen"
    for row, peak in zip(rows, memory, strict=True):
        found = results[row.name]
        scores = 100 * np.array([result.accuracy for result in found])
        table.add_row(
            row.name,
            f"{scores.mean():.2f} ± {scores.std(ddof=1):.2f}",
            _chosen(row, found),
            f"{1e3 * np.mean([result.fit for result in found]):.0f} ms",
            "-" if peak is None else f"{peak:.1f} MiB" if peak < 9.95 else f"{peak:.0f} MiB",
            f"{1e6 * np.mean([result.predict for result in found]):.1f} µs",
            style="bold" if row.name == "GCWSClassifier" else None,
        )
    return table


def _chosen(row: Contestant, found: list[Result]) -> str:
    """Parameters of the splits: a value, or the smallest and the largest."""
    texts = []
    for name in row.grid:
        values = sorted({result.chosen[name] for result in found})
        short = name.rsplit("__", maxsplit=1)[-1].replace("gamma", GAMMA)
        texts.append(f"{short} {values[0]:g}" + (f"..{values[-1]:g}" if len(values) > 1 else ""))
    return ", ".join(texts)


def _split(number: int) -> tuple[Array, Array, Array, Array]:
    """Training and test rows, training and test labels; pixels from 0 to 1."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.5, random_state=number, stratify=y)
    return X_train, X_test, y_train, y_test


def _search(row: Contestant, X: Array, y: Array) -> dict[str, float]:
    """The parameters that cross-validation on the training rows finds best."""
    if isinstance(row.model, GCWSClassifier):  # hashes once, and goes on from one C to the next
        return {"C": GCWSClassifierCV(K, Cs=row.grid["C"], cv=N_FOLDS, refit=False, n_jobs=-1).fit(X, y).C_}
    with parallel_config("threading", n_jobs=-1):
        search = GridSearchCV(row.model, row.grid, cv=N_FOLDS, refit=False).fit(X, y)
    return dict(search.best_params_)


def _run(row: Contestant, X_train: Array, X_test: Array, y_train: Array, y_test: Array) -> Result:
    chosen = _search(row, X_train, y_train)
    model = clone(row.model).set_params(**chosen)
    fit, predict = np.inf, np.inf
    for _ in range(CALLS):
        start = perf_counter()
        model.fit(X_train, y_train)
        fitted = perf_counter()
        predicted = model.predict(X_test)
        fit, predict = min(fit, fitted - start), min(predict, perf_counter() - fitted)
    return Result(float(np.mean(predicted == y_test)), fit, predict / len(y_test), chosen)
