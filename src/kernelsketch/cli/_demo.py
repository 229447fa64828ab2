"""``kernelsketch demo``: what the kernels are worth on a dataset that scikit-learn ships."""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from sklearn.svm import SVC, LinearSVC

from .._backend import backend
from ..features import GCWS, NRFF
from ..kernels import gmm_kernel

N_SPLITS = 5
N_COMPONENTS = 1024  # of both linearized kernels
GAMMA = 5.0  # of NRFF


def models() -> list[tuple[str, Any, list[float]]]:
    """Name, model, and the values of C to choose from by cross-validation on the training rows."""
    return [
        ("linear SVM", make_pipeline(MaxAbsScaler(), LinearSVC(random_state=0)), [0.01, 0.1, 1.0]),
        ("RBF SVM", make_pipeline(MaxAbsScaler(), SVC(kernel="rbf")), [1.0, 10.0, 100.0]),
        ("GMM SVM", make_pipeline(MaxAbsScaler(), SVC(kernel=gmm_kernel)), [1.0, 10.0, 100.0]),
        ("GCWS + linear SVM", make_pipeline(MaxAbsScaler(), GCWS(N_COMPONENTS), LinearSVC(random_state=0)), [1.0]),
        (
            "NRFF + linear SVM",
            make_pipeline(MaxAbsScaler(), NRFF(N_COMPONENTS, gamma=GAMMA), LinearSVC(random_state=0)),
            [1.0, 10.0],
        ),
    ]


def demo() -> None:
    """Compare linear, RBF and GMM machines, and linearized kernels, on scikit-learn's handwritten digits."""
    console = Console()
    X, y = load_digits(return_X_y=True)
    console.print(
        f"Handwritten digits, {X.shape[0]} images of {X.shape[1]} pixels, half to train and half to test; "
        f"mean of {N_SPLITS} random splits.\nC of each model by 5-fold cross-validation; GCWS and NRFF with "
        f"k = {N_COMPONENTS}, NRFF with gamma = {GAMMA:g}. Arithmetic: {backend().name}."
    )
    columns = (TextColumn("{task.description:18}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    table = Table("model", "test accuracy", "C", "training", "prediction, a row")
    for column in table.columns[1:]:
        column.justify = "right"
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("", total=len(models()) * N_SPLITS)
        for name, model, grid in models():
            progress.update(task, description=name)
            results = []
            for split in range(N_SPLITS):
                results.append(_run(model, grid, X, y, split))
                progress.advance(task)
            scores, seconds, row_seconds, chosen = (np.array(column) for column in zip(*results, strict=True))
            table.add_row(
                name,
                f"{100 * scores.mean():.2f} ± {100 * scores.std(ddof=1):.2f} %",
                f"{np.median(chosen):g}",
                f"{1e3 * seconds.mean():.0f} ms",
                f"{1e6 * row_seconds.mean():.1f} µs",
            )
    console.print(table)


def _run(model: Any, grid: list[float], X: Any, y: Any, split: int) -> tuple[float, float, float, float]:
    """Accuracy, seconds to train once C is known, seconds to predict a row, and C."""
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.5, random_state=split, stratify=y)
    parameter = f"{model.steps[-1][0]}__C"
    search = GridSearchCV(model, {parameter: grid}, cv=5, refit=False).fit(X_train, y_train)
    best = search.best_params_[parameter]
    model.set_params(**{parameter: best})
    start = perf_counter()
    model.fit(X_train, y_train)
    fitted = perf_counter()
    score = model.score(X_test, y_test)
    return score, fitted - start, (perf_counter() - fitted) / len(y_test), best
