"""GMM with a power p, an exponent gamma, or both, which cross-validation chooses."""

from __future__ import annotations

from ._cells import Cell
from ._kernel_svm import cross_validate, evaluate
from ._kernels import kernel_of, outcome_row
from ._protocol import CV_ROWS, FOLDS
from ._results import Row

TUNE_ROWS = CV_ROWS // 2  # fewer rows, since there are many settings


def run_tunable(cell: Cell) -> list[Row]:
    """Return one row per setting without a test accuracy, and a row with it for the first of the best settings."""
    problem = cell.problem()
    X, y = problem.sample(TUNE_ROWS, cell.split)
    tried = [
        (score, C, p, gamma)
        for p in cell.powers or (None,)
        for gamma in cell.gammas or (None,)
        for C, score in cross_validate(kernel_of(cell.method, gamma, p), X, y, cell.Cs, FOLDS, cell.split).items()
    ]
    score, C, p, gamma = max(tried, key=lambda setting: setting[0])
    kernel = kernel_of(cell.method, gamma, p)
    found = evaluate(kernel, problem.X, problem.y, problem.X_test, problem.y_test, [C])[0]
    rows = [cell.row(solver="libsvm", p=p, gamma=g, C=c, cv_accuracy=s) for s, c, p, g in tried]
    return [*rows, outcome_row(cell, problem, found, p=p, gamma=gamma, cv_accuracy=score)]
