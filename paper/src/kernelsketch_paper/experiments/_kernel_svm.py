"""Kernel SVMs by LIBSVM on precomputed kernels: one kernel for all values of C.

LIBSVM trains one classifier per pair of classes and takes a vote. Its decision functions are linear in the kernel
values of the support vectors, so predictions are matrix products on blocks of test rows, which all values of C share.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from time import process_time
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import StratifiedKFold
from sklearn.svm import SVC

from .._checks import Array

Kernel = Callable[[Any, Any], Array]

TEST_ROWS = 2000  # rows of a block
CACHE_MIB = 500
MAX_STEPS = 2_000_000  # per pair of classes; only a huge C on noisy rows reaches it, and would take hours


@dataclass(frozen=True)
class KernelSVM:
    """A fitted SVM: the part that predictions need."""

    C: float
    classes: Array
    support: Array  # positions of support vectors in the kernel matrix, ordered by class
    coefficients: Array  # (classes - 1, support vectors): one row per other class
    counts: Array  # number of support vectors per class
    offsets: Array  # one per pair of classes
    seconds: float

    def votes(self, K: Array) -> Array:
        """Return the class of each row, from its kernel values with the training rows."""
        ends = np.cumsum(self.counts)
        values = K[:, self.support]
        parts = [
            values[:, end - count : end] @ self.coefficients[:, end - count : end].T
            for end, count in zip(ends, self.counts, strict=True)
        ]
        votes = np.zeros((len(K), len(self.classes)), np.int32)
        for (i, j), offset in zip(combinations(range(len(self.classes)), 2), self.offsets, strict=True):
            first = parts[i][:, j - 1] + parts[j][:, i] + offset > 0
            votes[:, i] += first
            votes[:, j] += ~first
        return np.asarray(self.classes[votes.argmax(axis=1)])


def fit(K: Array, y: Array, C: float) -> KernelSVM:
    """Fit an SVM on the float64 kernel matrix of the training rows."""
    start = process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVC(C=C, kernel="precomputed", cache_size=CACHE_MIB, max_iter=MAX_STEPS).fit(K, y)
    seconds = process_time() - start
    sign = -1 if len(model.classes_) == 2 else 1  # scikit-learn flips the sign for two classes
    coefficients, offsets = (sign * np.asarray(x, np.float32) for x in (model.dual_coef_, model.intercept_))
    return KernelSVM(C, model.classes_, model.support_, coefficients, model.n_support_, offsets, seconds)


@dataclass(frozen=True)
class Outcome:
    """Test accuracy at one C in percent, and its cost."""

    C: float
    accuracy: float
    train_seconds: float
    predict_seconds: float
    n_support: int


def kernel_matrix(kernel: Kernel, X: Any) -> Array:
    """Return the float64 kernel of the rows with themselves, computed in blocks of rows."""
    n = X.shape[0]
    K = np.empty((n, n))
    for start in range(0, n, TEST_ROWS):
        K[start : start + TEST_ROWS] = kernel(X[start : start + TEST_ROWS], X)
    return K


def evaluate(kernel: Kernel, X: Any, y: Array, X_test: Any, y_test: Array, Cs: Iterable[float]) -> list[Outcome]:
    """Fit an SVM at every C and predict the test rows."""
    start = process_time()
    K = kernel_matrix(kernel, X)
    kernel_seconds = process_time() - start
    models = [fit(K, y, C) for C in Cs]
    del K
    right, seconds, shared = np.zeros(len(models)), np.zeros(len(models)), 0.0
    for first in range(0, X_test.shape[0], TEST_ROWS):
        rows = slice(first, first + TEST_ROWS)
        start = process_time()
        block = np.asarray(kernel(X_test[rows], X), np.float32)
        shared += process_time() - start
        for number, model in enumerate(models):
            start = process_time()
            right[number] += (model.votes(block) == y_test[rows]).sum()
            seconds[number] += process_time() - start
    return [
        Outcome(m.C, 100 * float(r) / len(y_test), kernel_seconds + m.seconds, shared + float(s), len(m.support))
        for m, r, s in zip(models, right, seconds, strict=True)
    ]


def cross_validate(kernel: Kernel, X: Any, y: Array, Cs: Iterable[float], folds: int, seed: int) -> dict[float, float]:
    """Return the cross-validated accuracy at every C in percent."""
    K, values = kernel_matrix(kernel, X), list(Cs)
    right = dict.fromkeys(values, 0)
    for train, test in folds_of(y, folds, seed):
        part = np.ascontiguousarray(K[np.ix_(train, train)])
        block = K[np.ix_(test, train)].astype(np.float32)
        for C in values:
            right[C] += int((fit(part, y[train], C).votes(block) == y[test]).sum())
    return {C: 100 * count / len(y) for C, count in right.items()}


def folds_of(y: Array, folds: int, seed: int) -> list[tuple[Array, Array]]:
    """Return stratified and shuffled folds. Classes with fewer rows than folds are treated as one class."""
    rare = np.bincount(y)[y] < folds
    labels = np.where(rare, -1, y)
    count = max(2, min(folds, int(np.unique(labels, return_counts=True)[1].min())))
    return list(StratifiedKFold(count, shuffle=True, random_state=seed).split(np.zeros((len(y), 1)), labels))
