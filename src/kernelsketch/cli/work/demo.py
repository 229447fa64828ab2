"""``kernelsketch demo``: tune, fit and time each model on the digits of scikit-learn.

Cross-validation on the training rows chooses the parameters of every model, from the same values of C. We chose these
few values of C and gamma knowing what suits the digits.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
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

from ...backends import backend_for
from ...features import GCWS, NRFF
from ...formats import write_rows
from ...kernels import gmm_kernel
from ...linear import GCWSClassifier, GCWSClassifierCV
from .._fit_memory import peak_memory

Array = NDArray[Any]

N_SPLITS = 3
N_FOLDS = 3
K = 1024  # number of hashes, or of random features
CS = [0.1, 1.0, 10.0]
GAMMA = "\N{GREEK SMALL LETTER GAMMA}"
CALLS = 2  # number of fits, of which the faster is reported


class Contestant(NamedTuple):
    """A row of the table. Cross-validation chooses from ``grid``."""

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
    """The result of one split: accuracy, seconds of a fit with the chosen parameters, seconds per predicted row."""

    accuracy: float
    fit: float
    predict: float
    chosen: dict[str, float]


def compare_models() -> None:
    """Print the table of models, and what to run next."""
    console = Console()
    rows = contestants()
    columns = (TextColumn("{task.description:18}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    results: dict[str, list[Result]] = {row.name: [] for row in rows}
    n, d = load_digits().data.shape
    console.print(
        f"The data are handwritten digits, {n} images of {d} pixels. Half of them train the models and half test "
        f"them, in {N_SPLITS} random splits. {N_FOLDS}-fold cross-validation on the training half chooses C and "
        f"{GAMMA} of each model. GCWS uses {K} hashes and NRFF {K} features. "
        f"All models run on one thread ({backend_for().name})."
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
        "Training is the time of one fit with the chosen parameters, memory is the peak of that fit, and predict is "
        "the time per row. The training time of SVC grows at least with the square of the number of rows, that of the "
        "other models in proportion to it."
    )
    console.print("\nTo continue with the same digits as files, run:", highlight=False)
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
        "The commands of the paper are datasets, reproduce and report. In a checkout of kernelsketch, run  "
        "pip install ./paper  to get them.",
        highlight=False,
    )


def write_digits(folder: Path) -> None:
    """Write three quarters of the digits to train on, and the others to test on."""
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
    """Return the parameters that the splits chose: a value, or the smallest and the largest."""
    texts = []
    for name in row.grid:
        values = sorted({result.chosen[name] for result in found})
        short = name.rsplit("__", maxsplit=1)[-1].replace("gamma", GAMMA)
        texts.append(f"{short} {values[0]:g}" + (f"..{values[-1]:g}" if len(values) > 1 else ""))
    return ", ".join(texts)


def _split(number: int) -> tuple[Array, Array, Array, Array]:
    """Return training rows, test rows, training labels and test labels. Pixels are scaled to 0 to 1."""
    X, y = load_digits(return_X_y=True)
    X_train, X_test, y_train, y_test = train_test_split(X / 16, y, test_size=0.5, random_state=number, stratify=y)
    return X_train, X_test, y_train, y_test


def _search(row: Contestant, X: Array, y: Array) -> dict[str, float]:
    """Return the parameters that are best in cross-validation on the training rows."""
    if isinstance(row.model, GCWSClassifier):  # it hashes once, and starts each C from the solution of the last
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
