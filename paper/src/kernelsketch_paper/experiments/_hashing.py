"""GCWS and NRFF with linear models: accuracy over C, k and b, and the training time."""

from __future__ import annotations

from dataclasses import replace
from time import process_time
from typing import Any

import numpy as np
from scipy import sparse

from kernelsketch.features import GCWS, NRFF
from kernelsketch.linear import GCWSClassifier, GCWSClassifierCV

from ._cells import Cell, Problem
from ._kernel_svm import folds_of
from ._kernels import liblinear
from ._linear_svm import LinearSVM, linear_path
from ._protocol import FOLDS
from ._results import Row

GAP = 5e-3  # duality gap at each C, relative to the objective
CV_MAX_K = 1024  # largest k that is cross-validated
PREDICT_ROWS = 4096  # rows predicted at a time


def run_hashing(cell: Cell) -> list[Row]:
    """Train on hashed rows at every C and return one row per C."""
    problem = cell.problem()
    return {"gcws": _gcws, "nrff": _nrff}[cell.method](cell, problem)


def _gcws(cell: Cell, problem: Problem) -> list[Row]:
    """Train all values of C in one path, in which the test rows are a held-out fold."""
    assert cell.k is not None
    assert cell.b is not None
    if cell.solver == "liblinear":
        return [_gcws_liblinear(cell, problem, cell.k, cell.b)]
    start = process_time()
    hasher = GCWS(cell.k, bits=cell.b, random_state=cell.repetition).fit(problem.X)
    codes = hasher.codes(_stacked(problem.X, problem.X_test))
    hash_seconds = process_time() - start
    n = len(problem.y)
    y, rows = np.concatenate([problem.y, problem.y_test]), np.arange(n + len(problem.y_test))
    folds = [(rows[:n], rows[n:])]
    if cell.repetition == 0 and cell.k <= CV_MAX_K:
        folds += folds_of(problem.y, FOLDS, cell.split)
    start = process_time()
    model = GCWSClassifierCV(cell.k, bits=cell.b, Cs=cell.Cs, cv=folds, refit=False, path_tol=GAP)
    scores = 100 * model.set_params(random_state=cell.repetition).fit(codes, y).scores_
    seconds = (process_time() - start) / len(folds) / len(cell.Cs)
    cv = scores[1:].mean(axis=0) if len(folds) > 1 else [None] * len(cell.Cs)
    return [
        cell.row(
            C=C,
            accuracy=float(accuracy),
            cv_accuracy=None if score is None else float(score),
            hash_seconds=hash_seconds,
            train_seconds=seconds,
            **problem.sizes(),
        )
        for C, accuracy, score in zip(sorted(cell.Cs), scores[0], cv, strict=True)
    ]


def _gcws_liblinear(cell: Cell, problem: Problem, k: int, b: int) -> Row:
    hasher = GCWS(k, bits=b, random_state=cell.repetition).fit(problem.X)
    Z, Z_test = hasher.transform(problem.X), hasher.transform(problem.X_test)
    start = process_time()
    model = liblinear(Z, problem.y, cell.Cs[0])
    seconds = process_time() - start
    accuracy = 100 * float(np.mean(model.predict(Z_test) == problem.y_test))
    return cell.row(C=cell.Cs[0], accuracy=accuracy, train_seconds=seconds, **problem.sizes())


def _nrff(cell: Cell, problem: Problem) -> list[Row]:
    assert cell.k is not None
    gamma = cell.gammas[0]
    features = NRFF(cell.k, gamma=gamma, random_state=cell.repetition).fit(problem.X)
    start = process_time()
    Z = features.transform(problem.X)
    hash_seconds = process_time() - start
    common = {"gamma": gamma, "hash_seconds": hash_seconds, **problem.sizes()}
    if cell.solver == "liblinear":
        start = process_time()
        model = liblinear(Z, problem.y, cell.Cs[0])
        seconds = process_time() - start
        found = LinearSVM(cell.Cs[0], model.coef_.T, model.intercept_, model.classes_, seconds, np.zeros(0))
        paths = [found]
    else:
        paths = linear_path(Z, problem.y, cell.Cs, tol=GAP)
    scores = accuracies(paths, features, problem)
    return [
        cell.row(C=m.C, accuracy=score, train_seconds=m.seconds, **common)
        for m, score in zip(paths, scores, strict=True)
    ]


def accuracies(models: list[LinearSVM], features: Any, problem: Problem) -> list[float]:
    """Return the accuracy of models on the test rows in percent. Features are made block by block."""
    right = np.zeros(len(models))
    for start in range(0, len(problem.y_test), PREDICT_ROWS):
        rows = slice(start, start + PREDICT_ROWS)
        Z = features.transform(problem.X_test[rows])
        right += [float((model.predict(Z) == problem.y_test[rows]).sum()) for model in models]
    return [100 * count / len(problem.y_test) for count in right]


def run_time(cell: Cell) -> list[Row]:
    """Train each C from the start, so that the time is that of one value of C alone."""
    problem = cell.problem()
    if cell.method == "nrff" or cell.solver == "liblinear":
        return [row for C in cell.Cs for row in _with(cell, problem, C)]
    assert cell.k is not None
    assert cell.b is not None
    start = process_time()
    hasher = GCWS(cell.k, bits=cell.b, random_state=cell.repetition).fit(problem.X)
    codes, codes_test = hasher.codes(problem.X), hasher.codes(problem.X_test)
    hash_seconds = process_time() - start
    rows = []
    for C in cell.Cs:
        start = process_time()
        model = GCWSClassifier(cell.k, bits=cell.b, C=C, tol=GAP, random_state=cell.repetition).fit(codes, problem.y)
        seconds = process_time() - start
        accuracy = 100 * float(model.score(codes_test, problem.y_test))
        rows.append(
            cell.row(C=C, accuracy=accuracy, hash_seconds=hash_seconds, train_seconds=seconds, **problem.sizes())
        )
    return rows


def _with(cell: Cell, problem: Problem, C: float) -> list[Row]:
    return {"gcws": _gcws, "nrff": _nrff}[cell.method](replace(cell, Cs=(C,)), problem)


def _stacked(X: Any, Y: Any) -> Any:
    return sparse.vstack([X, Y], format="csr") if sparse.issparse(X) else np.vstack([X, Y])
