"""Predictions of one row at a time, by LinearSVC, our models and their predictors: 1000 rows, one by one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from harness import Method, Problem
from sklearn.datasets import make_classification
from sklearn.svm import LinearSVC

from kernelsketch import GCWSClassifier

ROWS, FEATURES = 1000, 16


def problems() -> Iterator[Problem]:
    X, y = make_classification(4000, FEATURES, n_informative=8, random_state=0)
    rows = X[:ROWS]
    svc = LinearSVC().fit(X, y)

    def one_by_one(predict: Any, matrices: bool = True) -> Any:
        return lambda: np.array([predict(row[None] if matrices else row) for row in rows]).ravel()

    def error(found: Any, _: Any) -> float:
        return float(np.mean(found != y[:ROWS]))

    for k in (256, 1024):
        model = GCWSClassifier(k).fit(X, y)
        methods = [
            Method("LinearSVC.predict", one_by_one(svc.predict), rounds=15),
            Method("GCWSClassifier.predict", one_by_one(model.predict), rounds=15),
            Method("Predictor.predict", one_by_one(model.predictor().predict, False), rounds=15),
        ]
        yield Problem(f"{ROWS} rows one by one, {FEATURES} features, k={k}", methods, ROWS, error)
