"""Tables 1 to 3: the accuracy of the linear, the RBF and the GMM kernel at every C."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from kernelsketch.kernels import egmm_kernel, gmm_kernel, rbf_kernel

from .._checks import Array
from ._cells import Cell, Problem
from ._kernel_svm import Kernel, Outcome, cross_validate, evaluate, folds_of
from ._linear_svm import linear_path
from ._protocol import CV_ROWS, FOLDS
from ._results import Row


def kernel_of(method: str, gamma: float | None = None, p: float | None = None) -> Kernel:
    """Return a kernel as a function of two matrices of rows."""
    gamma, p = gamma or 1.0, p or 1.0
    if method == "rbf":
        return lambda X, Y: rbf_kernel(X, Y, gamma=gamma)
    if method in ("gmm", "pgmm"):
        return lambda X, Y: gmm_kernel(X, Y, p=p)
    return lambda X, Y: egmm_kernel(X, Y, gamma=gamma, p=p)


def run_kernels(cell: Cell) -> list[Row]:
    """Train one kernel at every C and return one row per C."""
    problem = cell.problem()
    if cell.method == "linear":
        return [row for intercept in (True, False) for row in _linear(cell, problem, intercept)]
    if cell.search:
        return [row for gamma in cell.gammas for row in _searched(cell, problem, gamma)]
    gamma = cell.gammas[0] if cell.gammas else None
    kernel = kernel_of(cell.method, gamma)
    scores = cross_validate(kernel, *problem.sample(CV_ROWS, cell.split), cell.Cs, FOLDS, cell.split)
    return [
        outcome_row(cell, problem, outcome, gamma=gamma, cv_accuracy=scores[outcome.C])
        for outcome in evaluate(kernel, problem.X, problem.y, problem.X_test, problem.y_test, cell.Cs)
    ]


def outcome_row(cell: Cell, problem: Problem, found: Outcome, **values: Any) -> Row:
    """Return the row of results of a kernel SVM."""
    features = problem.X.shape[1]
    return cell.row(
        solver="libsvm",
        C=found.C,
        accuracy=found.accuracy,
        train_seconds=found.train_seconds,
        predict_seconds=found.predict_seconds,
        model_bytes=4 * found.n_support * (features + len(np.unique(problem.y)) - 1),
        **values,
        **problem.sizes(),
    )


def _searched(cell: Cell, problem: Problem, gamma: float) -> list[Row]:
    kernel = kernel_of(cell.method, gamma)
    scores = cross_validate(kernel, *problem.sample(CV_ROWS, cell.split), cell.Cs, FOLDS, cell.split)
    return [cell.row(solver="libsvm", gamma=gamma, C=C, cv_accuracy=score) for C, score in scores.items()]


def liblinear(X: Any, y: Array, C: float, intercept: bool = True) -> LinearSVC:
    """Fit LinearSVC with the solver that suits the shape. A large C may stop at the limit of iterations."""
    if sparse.issparse(X):  # LIBLINEAR accepts 32-bit indices only
        X = sparse.csr_matrix((X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)), X.shape)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return LinearSVC(C=C, fit_intercept=intercept, dual="auto", random_state=0).fit(X, y)


def linear_solver(X: Any) -> str:
    """Return liblinear for sparse rows, and Newton's method on the same objective, which is faster, for dense rows."""
    return "liblinear" if sparse.issparse(X) else "newton"


def linear_models(X: Any, y: Array, Cs: tuple[float, ...], intercept: bool = True) -> list[Any]:
    """Fit a linear model for each of several ascending values of C."""
    if linear_solver(X) == "liblinear":
        return [liblinear(X, y, C, intercept) for C in Cs]
    return list(linear_path(X, y, Cs, intercept=intercept))


def _linear(cell: Cell, problem: Problem, intercept: bool) -> list[Row]:
    """Train the linear kernel on rows of unit norm."""
    part, labels = problem.sample(CV_ROWS, cell.split)
    part, X, X_test = normalize(part), normalize(problem.X), normalize(problem.X_test)
    right = np.zeros(len(cell.Cs))
    for train, test in folds_of(labels, FOLDS, cell.split):
        models = linear_models(part[train], labels[train], cell.Cs, intercept)
        right += [float((model.predict(part[test]) == labels[test]).sum()) for model in models]
    return [
        cell.row(
            solver=linear_solver(X),
            intercept=intercept,
            C=C,
            accuracy=100 * float(np.mean(model.predict(X_test) == problem.y_test)),
            cv_accuracy=100 * float(count) / len(labels),
            **problem.sizes(),
        )
        for C, model, count in zip(cell.Cs, linear_models(X, problem.y, cell.Cs, intercept), right, strict=True)
    ]
