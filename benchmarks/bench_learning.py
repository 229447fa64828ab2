"""Learning on codes, beyond its speed: memory of training, cost of a path of C, and all of Covertype.

- Memory: LIBLINEAR copies the one-hot matrix before the first pass, so one pass shows its peak.
- Path: ten values of C on one split, compared with the slowest of them alone, both to a gap of 1e-2. The path is the
  second method, and its ratio to the peer is the inverse of its cost. It estimates gaps; a single fit computes them.
- Covertype: 581,012 rows, k = 256, from rows to a model. The difference is the duality gap relative to the objective.

Real data comes from the folder ``KERNELSKETCH_DATA``; without it only digits is measured.
"""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
from bench_linear import HASHES, Model, read
from harness import Method, Problem
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from kernelsketch import GCWS, GCWSClassifier, GCWSClassifierCV


def one_pass_of_liblinear(Z: Any, y: Any) -> Model:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return Model(LinearSVC(dual=True, max_iter=1).fit(Z, y).coef_, 0.0)


def fitted(X: Any, y: Any, **parameters: Any) -> Model:
    model = GCWSClassifier(**parameters).fit(X, y)
    return Model(model.fitted_.weights, float((model.dual_gap_ / model.objective_).max()))


def memory(name: str) -> Problem:
    X, y, test = read(name)
    codes = GCWS(HASHES, n_jobs=2).fit(X).codes(X[~test])
    Z, y = codes.to_csr(), y[~test]
    methods = [
        Method("LinearSVC, one pass", lambda: one_pass_of_liblinear(Z, y), rounds=1),
        Method("GCWSClassifier", lambda: fitted(codes, y, n_components=HASHES), rounds=1),
    ]
    return Problem(f"{name}, memory of training", methods, float(len(y)) * HASHES, lambda found, _: found.objective)


def path(name: str) -> Problem:
    X, y, test = read(name)
    codes = GCWS(HASHES, n_jobs=2).fit(X).codes(X[~test])
    y, rows = y[~test], np.arange((~test).sum())
    split = [(rows, rows[:200])]  # scores are not used
    slowest = float(np.logspace(-2, 2.5, 10)[-1])

    def whole() -> Model:
        return Model(GCWSClassifierCV(HASHES, Cs=10, cv=split, refit=False).fit(codes, y).fitted_.weights, float("nan"))

    methods = [
        Method("the largest C alone", lambda: fitted(codes, y, n_components=HASHES, C=slowest, tol=1e-2)),
        Method("GCWSClassifierCV, ten values", whole),
    ]
    return Problem(f"{name}, path of C", methods, float(len(y)) * HASHES, lambda found, _: found.objective)


def covertype() -> Problem:
    X, y, _ = read("CovertypeFull_binary")
    method = Method("GCWSClassifier from rows", lambda: fitted(X, y, n_components=256, n_jobs=2), threads=2, rounds=1)
    return Problem(f"Covertype, {len(y)} rows, k=256", [method], float(len(y)) * 256, lambda found, _: found.objective)


def problems() -> Any:
    real = "KERNELSKETCH_DATA" in os.environ
    for name in ["digits", "MNIST-5k", "Letter", "Covertype-50k", "MNIST-60k"] if real else ["digits"]:
        yield memory(name)
    for name in ["digits", "MNIST-5k", "Letter"] if real else ["digits"]:
        yield path(name)
    if real:
        yield covertype()
