"""GCWS and NRFF with linear machines: accuracy against C, k and b, and the time that training takes."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from kernelsketch.features import GCWS, NRFF
from kernelsketch.linear import GCWSClassifier, GCWSClassifierCV

from ._cells import Cell, Problem
from ._kernel_svm import folds_of
from ._kernels import liblinear
from ._linear_svm import Linear, linear_path
from ._protocol import FOLDS
from ._results import Row

Array = NDArray[Any]

GAP = 5e-3  # of the path of C, relative to the objective
CV_MOST_K = 1024
PREDICT_ROWS = 4096


def run_hashing(cell: Cell) -> list[Row]:
    task = cell.problem()
    return {"gcws": _gcws, "nrff": _nrff}[cell.method](cell, task)


def _gcws(cell: Cell, task: Problem) -> list[Row]:
    """All values of C in one path; the test rows are its held-out fold."""
    assert cell.k is not None
    assert cell.b is not None
    if cell.solver == "liblinear":
        return [_gcws_liblinear(cell, task, cell.k, cell.b)]
    start = perf_counter()
    hasher = GCWS(cell.k, bits=cell.b, random_state=cell.repetition).fit(task.X)
    codes = hasher.codes(_stacked(task.X, task.X_test))
    hash_seconds = perf_counter() - start
    n = len(task.y)
    y, rows = np.concatenate([task.y, task.y_test]), np.arange(n + len(task.y_test))
    folds = [(rows[:n], rows[n:])]
    if cell.repetition == 0 and cell.k <= CV_MOST_K:
        folds += folds_of(task.y, FOLDS, cell.split)
    start = perf_counter()
    model = GCWSClassifierCV(cell.k, bits=cell.b, Cs=cell.Cs, cv=folds, refit=False, path_tol=GAP)
    scores = 100 * model.set_params(random_state=cell.repetition).fit(codes, y).scores_
    seconds = (perf_counter() - start) / len(folds) / len(cell.Cs)
    cv = scores[1:].mean(axis=0) if len(folds) > 1 else [None] * len(cell.Cs)
    return [
        cell.row(
            C=C,
            accuracy=float(accuracy),
            cv_accuracy=None if score is None else float(score),
            hash_seconds=hash_seconds,
            train_seconds=seconds,
            **task.sizes(),
        )
        for C, accuracy, score in zip(sorted(cell.Cs), scores[0], cv, strict=True)
    ]


def _gcws_liblinear(cell: Cell, task: Problem, k: int, b: int) -> Row:
    hasher = GCWS(k, bits=b, random_state=cell.repetition).fit(task.X)
    Z, Z_test = hasher.transform(task.X), hasher.transform(task.X_test)
    start = perf_counter()
    model = liblinear(Z, task.y, cell.Cs[0])
    seconds = perf_counter() - start
    accuracy = 100 * float(np.mean(model.predict(Z_test) == task.y_test))
    return cell.row(C=cell.Cs[0], accuracy=accuracy, train_seconds=seconds, **task.sizes())


def _nrff(cell: Cell, task: Problem) -> list[Row]:
    assert cell.k is not None
    gamma = cell.gammas[0]
    features = NRFF(cell.k, gamma=gamma, random_state=cell.repetition).fit(task.X)
    start = perf_counter()
    Z = features.transform(task.X)
    hash_seconds = perf_counter() - start
    common = {"gamma": gamma, "hash_seconds": hash_seconds, **task.sizes()}
    if cell.solver == "liblinear":
        start = perf_counter()
        model = liblinear(Z, task.y, cell.Cs[0])
        seconds = perf_counter() - start
        found = Linear(cell.Cs[0], model.coef_.T, model.intercept_, model.classes_, seconds, np.zeros(0))
        paths = [found]
    else:
        paths = linear_path(Z, task.y, cell.Cs, tol=GAP)
    scores = accuracies(paths, features, task)
    return [
        cell.row(C=m.C, accuracy=score, train_seconds=m.seconds, **common)
        for m, score in zip(paths, scores, strict=True)
    ]


def accuracies(models: list[Linear], features: Any, task: Problem) -> list[float]:
    """Percent right on the test rows, whose features are made block after block."""
    right = np.zeros(len(models))
    for start in range(0, len(task.y_test), PREDICT_ROWS):
        rows = slice(start, start + PREDICT_ROWS)
        Z = features.transform(task.X_test[rows])
        right += [float((model.predict(Z) == task.y_test[rows]).sum()) for model in models]
    return [100 * count / len(task.y_test) for count in right]


def run_time(cell: Cell) -> list[Row]:
    """As above, except that each C is learned from the beginning: what it costs alone."""
    task = cell.problem()
    if cell.method == "nrff" or cell.solver == "liblinear":
        return [row for C in cell.Cs for row in _with(cell, task, C)]
    assert cell.k is not None
    assert cell.b is not None
    start = perf_counter()
    hasher = GCWS(cell.k, bits=cell.b, random_state=cell.repetition).fit(task.X)
    codes, codes_test = hasher.codes(task.X), hasher.codes(task.X_test)
    hash_seconds = perf_counter() - start
    rows = []
    for C in cell.Cs:
        start = perf_counter()
        model = GCWSClassifier(cell.k, bits=cell.b, C=C, tol=GAP, random_state=cell.repetition).fit(codes, task.y)
        seconds = perf_counter() - start
        accuracy = 100 * float(model.score(codes_test, task.y_test))
        rows.append(cell.row(C=C, accuracy=accuracy, hash_seconds=hash_seconds, train_seconds=seconds, **task.sizes()))
    return rows


def _with(cell: Cell, task: Problem, C: float) -> list[Row]:
    return {"gcws": _gcws, "nrff": _nrff}[cell.method](replace(cell, Cs=(C,)), task)


def _stacked(X: Any, Y: Any) -> Any:
    return sparse.vstack([X, Y], format="csr") if sparse.issparse(X) else np.vstack([X, Y])
