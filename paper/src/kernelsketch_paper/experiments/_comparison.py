"""Compare methods as a practitioner would: with scaled features, and every method tuned on the training rows.

Here RBF is the usual exp(-gamma |u - v|^2) on the scaled features, and NRFF its random features with rows of unit norm.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable
from time import process_time
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import RBFSampler
from sklearn.metrics.pairwise import rbf_kernel as euclidean_rbf
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

from kernelsketch.features import GMMNystroem
from kernelsketch.kernels import gmm_kernel
from kernelsketch.linear import GCWSClassifierCV

from .._checks import Array
from .._library import model_bytes
from ._cells import Cell, Problem
from ._hashing import accuracies
from ._kernel_svm import Kernel, cross_validate, evaluate, folds_of
from ._kernels import linear_models, linear_solver, outcome_row
from ._linear_svm import linear_path
from ._protocol import CV_ROWS, FOLDS, WIDTHS
from ._results import Row

HASHES, LANDMARKS = 1024, 512


def run_comparison(cell: Cell) -> list[Row]:
    """Tune one method on scaled features and return one row."""
    problem = _scaled(cell, cell.problem())
    return [_METHODS[cell.method](cell, problem)]


def _scaled(cell: Cell, problem: Problem) -> Problem:
    """Scale features by the training rows. Sparse features are divided by their maximum or deviation, so zeros stay."""
    if cell.scaling == "none":
        return problem
    if sparse.issparse(problem.X):
        scaler = MaxAbsScaler() if cell.scaling == "minmax" else StandardScaler(with_mean=False)
    else:
        scaler = MinMaxScaler() if cell.scaling == "minmax" else StandardScaler()
    X = scaler.fit_transform(problem.X).astype(np.float32)
    return Problem(X, problem.y, scaler.transform(problem.X_test).astype(np.float32), problem.y_test)


def _widths(X: Any) -> list[float]:
    variance = float(X.multiply(X).mean() - X.mean() ** 2) if sparse.issparse(X) else float(X.var())
    return [width / (X.shape[1] * max(variance, 1e-12)) for width in WIDTHS]


def _kernel(cell: Cell, problem: Problem) -> Row:
    start = process_time()
    part, labels = problem.sample(CV_ROWS, cell.split)
    gammas: list[float | None] = [*_widths(problem.X)] if cell.method == "rbf" else [None]
    tried = [
        (score, C, gamma)
        for gamma in gammas
        for C, score in cross_validate(_function(gamma), part, labels, cell.Cs, FOLDS, cell.split).items()
    ]
    tuning = process_time() - start
    score, C, gamma = max(tried, key=lambda setting: setting[0])
    found = evaluate(_function(gamma), problem.X, problem.y, problem.X_test, problem.y_test, [C])[0]
    row = outcome_row(cell, problem, found, gamma=gamma, cv_accuracy=score)
    return _with_tuning(row, tuning)


def _function(gamma: float | None) -> Kernel:
    return gmm_kernel if gamma is None else lambda X, Y: euclidean_rbf(X, Y, gamma=gamma)


def _with_tuning(row: Row, seconds: float) -> Row:
    """Add the time of choosing parameters to the time of training."""
    return Row(**{**row.__dict__, "train_seconds": (row.train_seconds or 0) + seconds})


def _linear(cell: Cell, problem: Problem) -> Row:
    start = process_time()
    part, labels = problem.sample(CV_ROWS, cell.split)
    right = np.zeros(len(cell.Cs))
    for train, test in folds_of(labels, FOLDS, cell.split):
        models = linear_models(part[train], labels[train], cell.Cs)
        right += [float((model.predict(part[test]) == labels[test]).sum()) for model in models]
    best = int(right.argmax())
    (model,) = linear_models(problem.X, problem.y, cell.Cs[best : best + 1])
    seconds, size = process_time() - start, 4 * len(np.unique(problem.y)) * (problem.X.shape[1] + 1)
    values = {
        "solver": linear_solver(problem.X),
        "C": cell.Cs[best],
        "cv_accuracy": 100 * float(right[best]) / len(labels),
    }
    return _predicted(cell, problem, model.predict, seconds, size, **values)


def _predicted(
    cell: Cell, problem: Problem, predict: Callable[[Any], Array], seconds: float, size: int, **values: Any
) -> Row:
    start = process_time()
    found = predict(problem.X_test)
    return cell.row(
        accuracy=100 * float(np.mean(found == problem.y_test)),
        train_seconds=seconds,
        predict_seconds=process_time() - start,
        model_bytes=size,
        **values,
        **problem.sizes(),
    )


def _gcws(cell: Cell, problem: Problem) -> Row:
    start = process_time()
    folds = folds_of(problem.y, FOLDS, cell.split)
    model = GCWSClassifierCV(HASHES, Cs=cell.Cs, cv=folds, random_state=cell.split).fit(problem.X, problem.y)
    seconds = process_time() - start
    values = {"solver": "kernelsketch", "k": HASHES, "b": 8, "C": model.C_}
    score = 100 * float(model.scores_.mean(axis=0).max())
    return _predicted(cell, problem, model.predict, seconds, model_bytes(model), cv_accuracy=score, **values)


def _features(cell: Cell, problem: Problem, makers: dict[float | None, Any], k: int) -> Row:
    """Train linear models on features. A held-out third chooses the features and C; then all rows are used."""
    start = process_time()
    part, labels = problem.sample(CV_ROWS, cell.split)
    train, held = folds_of(labels, FOLDS, cell.split)[0]
    tried = []
    for gamma, maker in makers.items():
        maker.fit(part[train])
        Z, Z_held = (maker.transform(part[rows]).astype(np.float32) for rows in (train, held))
        for model in linear_path(Z, labels[train], cell.Cs, tol=1e-2):
            tried.append((float(np.mean(model.predict(Z_held) == labels[held])), model.C, gamma))
    score, C, gamma = max(tried, key=lambda setting: setting[0])
    maker = makers[gamma].fit(problem.X)
    model = linear_path(maker.transform(problem.X).astype(np.float32), problem.y, [C], tol=1e-2)[0]
    seconds = process_time() - start
    start = process_time()
    accuracy = accuracies([model], maker, problem)[0]
    size = 4 * (
        model.W.size + model.bias.size + k * problem.X.shape[1]
    )  # the directions or landmarks are part of the model
    return cell.row(
        solver="newton",
        k=k,
        gamma=gamma,
        C=C,
        accuracy=accuracy,
        cv_accuracy=100 * score,
        train_seconds=seconds,
        predict_seconds=process_time() - start,
        model_bytes=size,
        **problem.sizes(),
    )


def _nrff(cell: Cell, problem: Problem) -> Row:
    makers: dict[float | None, Any] = {
        gamma: make_pipeline(RBFSampler(gamma=gamma, n_components=HASHES, random_state=cell.split), Normalizer())
        for gamma in _widths(problem.X)
    }
    return _features(cell, problem, makers, HASHES)


def _nystroem(cell: Cell, problem: Problem) -> Row:
    k = min(LANDMARKS, len(problem.y) // 4)
    return _features(cell, problem, {None: GMMNystroem(n_components=k, random_state=cell.split)}, k)


def _boosted(cell: Cell, problem: Problem) -> Row:
    """Train boosted trees with their default parameters. The size is that of the pickled model."""
    X, X_test = (X.toarray() if sparse.issparse(X) else X for X in (problem.X, problem.X_test))
    dense = Problem(X, problem.y, X_test, problem.y_test)
    if cell.method == "trees":
        model: Any = HistGradientBoostingClassifier(random_state=cell.split)
    else:
        from lightgbm import LGBMClassifier

        model = LGBMClassifier(random_state=cell.split, n_jobs=1, verbose=-1)
    start = process_time()
    model.fit(X, problem.y)
    seconds = process_time() - start
    return _predicted(cell, dense, model.predict, seconds, len(pickle.dumps(model)), solver=cell.method)


_METHODS = {
    "linear": _linear,
    "rbf": _kernel,
    "gmm": _kernel,
    "gcws": _gcws,
    "nrff": _nrff,
    "nystroem": _nystroem,
    "trees": _boosted,
    "lightgbm": _boosted,
}
