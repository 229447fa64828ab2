"""Learning on codes compared with LIBLINEAR on the one-hot matrix: squared hinge, C = 1, k = 1024, 8 bits, unit rows.

Both get hashed rows, as codes or as a matrix, and solve to an objective within 1e-3 of the minimum; LIBLINEAR has the
loosest tolerance (of 1, 0.3, 0.1, ...) that reaches it. The difference is how far the objective is above the lowest
that any method found, relative to it. For the search over C it is the best accuracy on the test rows in percent;
LIBLINEAR then has its default tolerance of 0.1 and at most 100 passes. ``pip install liblinear-official`` adds the
package of its authors.

Real data comes from the folder ``KERNELSKETCH_DATA`` (npz files with X, y and is_test); without it only digits is
measured.
"""

from __future__ import annotations

import os
import warnings
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from harness import Method, Problem
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC

from kernelsketch import GCWS, GCWSClassifier, GCWSClassifierCV, PackedCodes

HASHES = 1024
Cs = np.logspace(-2, 2.5, 10)
ROUNDS = {"Letter": 2, "MNIST-5k": 3, "MNIST-60k": 1, "Covertype-50k": 1, "digits": 5}
TOLERANCE = {"Letter": 0.3, "MNIST-5k": 0.3, "MNIST-60k": 0.1, "Covertype-50k": 0.3, "digits": 0.1}


class Model:
    """What a method learned: weights as the harness measures them, objective, and the best test accuracy of a sweep."""

    def __init__(self, weights: Any, objective: float, accuracy: float = float("nan")) -> None:
        self.nbytes, self.objective, self.accuracy = weights.nbytes, objective, accuracy


def read(name: str) -> tuple[Any, Any, Any]:
    """X, y, flags of test rows."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X.astype(np.float32), y, np.arange(len(y)) >= 1200
    file = {"MNIST-5k": "MNIST", "MNIST-60k": "MNIST", "Covertype-50k": "Covertype25k"}.get(name, name)
    with np.load(Path(os.environ["KERNELSKETCH_DATA"]) / f"{file}.npz", allow_pickle=False) as data:
        X, y = np.asarray(data["X"], np.float32), data["y"]
        test = np.asarray(data["is_test"], bool) if "is_test" in data.files else np.zeros(len(y), bool)
    if name == "MNIST-5k":
        train = np.random.default_rng(0).permutation(np.flatnonzero(~test))[:5000]
        kept = np.concatenate([train, np.flatnonzero(test)[:5000]])
        X, y, test = X[kept], y[kept], test[kept]
    return X, y, test


def objective(Z: Any, y: Any, coef: Any, intercept: Any, C: float = 1.0) -> float:
    """Sum over classes of 1/2 |w|^2 + C sum max(0, 1 - y f)^2, in float64."""
    classes, total = np.unique(y), 0.0
    f = Z @ coef.T.astype(np.float64) + intercept
    for p, label in enumerate(classes if len(classes) > 2 else classes[1:]):
        slack = np.maximum(0, 1 - np.where(y == label, 1, -1) * f[:, p])
        total += 0.5 * float(np.sum(coef[p].astype(np.float64) ** 2) + intercept[p] ** 2) + C * float(slack @ slack)
    return total


def by_sklearn(Z: Any, y: Any, tol: float) -> Model:
    model = LinearSVC(dual=True, tol=tol, max_iter=1000).fit(Z, y)
    return Model(model.coef_, objective(Z, y, model.coef_, model.intercept_))


def by_liblinear(Z: Any, y: Any, tol: float) -> Model:
    from liblinear.liblinearutil import parameter, problem, train

    labels = np.searchsorted(np.unique(y), y).astype(np.float64)
    model = train(problem(labels, Z), parameter(f"-s 1 -c 1 -e {tol} -B 1 -q"))
    count = model.nr_class if model.nr_class > 2 else 1
    found = np.ctypeslib.as_array(model.w, ((model.nr_feature + 1) * count,)).reshape(-1, count).T
    w = np.zeros((count, Z.shape[1]))  # the last columns may be in no row
    w[:, : model.nr_feature], intercept = found[:, :-1], found[:, -1]
    order = np.argsort(model.label[:count])
    if count == 1 and model.label[0] == 0:
        w, intercept = -w, -intercept
    return Model(w, objective(Z, y, w[order], intercept[order]))


def by_codes(codes: PackedCodes, Z: Any, y: Any, threads: int = 1) -> Model:
    model = GCWSClassifier(codes.n_components, n_jobs=threads).fit(codes, y)
    return Model(model.fitted_.weights, model.objective_.sum())


def sweep_by_sklearn(Z: Any, y: Any, test: Any) -> Model:
    scores = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        for C in Cs:
            model = LinearSVC(dual=True, C=C, tol=0.1, max_iter=100).fit(Z[~test], y[~test])
            scores.append(model.score(Z[test], y[test]))
    return Model(model.coef_, 0.0, 100 * max(scores))


def sweep_by_codes(codes: PackedCodes, y: Any, test: Any) -> Model:
    split = [(np.flatnonzero(~test), np.flatnonzero(test))]
    model = GCWSClassifierCV(codes.n_components, Cs=Cs, cv=split, refit=False).fit(codes, y)
    return Model(model.fitted_.weights, 0.0, 100 * float(model.scores_.max()))


def slowest_alone(codes: PackedCodes, y: Any, test: Any) -> float:
    """The value of C that takes longest by itself: a path of all values is compared with it."""
    seconds = []
    for C in Cs:
        start = perf_counter()
        alone(codes, y, test, C)
        seconds.append(perf_counter() - start)
    return float(Cs[int(np.argmax(seconds))])


def alone(codes: PackedCodes, y: Any, test: Any, C: float) -> Model:
    model = GCWSClassifier(codes.n_components, C=C).fit(codes[~test], y[~test])
    return Model(model.fitted_.weights, 0.0, 100 * model.score(codes[test], y[test]))


def path(name: str) -> Problem:
    """Ten values of C against the slowest of them alone: the ratio to the peer is 1 over what the path costs."""
    X, y, test = read(name)
    codes = GCWS(HASHES, n_jobs=2).fit(X).codes(X)
    C = slowest_alone(codes, y, test)
    methods = [
        Method(f"C={C:.3g} alone, the slowest", lambda: alone(codes, y, test, C), rounds=3),
        Method("GCWSClassifierCV", lambda: sweep_by_codes(codes, y, test), rounds=3),
    ]
    work = float((~test).sum()) * HASHES * len(np.unique(y)) * len(Cs)
    return Problem(f"{name}, path of ten values of C", methods, work, lambda found, _: found.accuracy)


def training(name: str) -> Problem:
    X, y, test = read(name)
    codes = GCWS(HASHES, n_jobs=2).fit(X).codes(X[~test])
    Z, y = codes.to_csr(), y[~test]
    best = [np.inf]

    def excess(found: Model, _: Model) -> float:
        if np.isinf(best[0]):  # the least of all, from a solution to a gap of 1e-5
            best[0] = GCWSClassifier(HASHES, tol=1e-5, n_jobs=2).fit(codes, y).objective_.sum()
        return found.objective / best[0] - 1

    tol, rounds = TOLERANCE[name], ROUNDS[name]
    methods = [Method("LinearSVC", lambda: by_sklearn(Z, y, tol), rounds=min(rounds, 2))]
    if name in ("digits", "MNIST-5k") and find_spec("liblinear"):
        methods.append(Method("liblinear-official", lambda: by_liblinear(Z, y, tol), rounds=1))
    methods.append(Method("GCWSClassifier", lambda: by_codes(codes, Z, y), rounds=rounds))
    methods.append(Method("GCWSClassifier, two threads", lambda: by_codes(codes, Z, y, 2), threads=2, rounds=rounds))
    return Problem(f"{name}, {len(y)} rows, C=1", methods, float(len(y)) * HASHES * len(np.unique(y)), excess)


def sweep(name: str) -> Problem:
    X, y, test = read(name)
    codes = GCWS(HASHES, n_jobs=2).fit(X).codes(X)
    Z = codes.to_csr()
    methods = [
        Method("LinearSVC", lambda: sweep_by_sklearn(Z, y, test), rounds=1),
        Method("GCWSClassifierCV", lambda: sweep_by_codes(codes, y, test), rounds=1),
    ]
    work = float((~test).sum()) * HASHES * len(np.unique(y)) * len(Cs)
    return Problem(f"{name}, ten values of C", methods, work, lambda found, _: found.accuracy)


def prediction() -> Problem:
    rng = np.random.default_rng(0)
    X = rng.integers(1, 16, (200_000, 16)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] * X[:, 2]).astype(int) % 26
    model = GCWSClassifier(256, max_iter=2, tol=0.5).fit(X[:5000], y[:5000])

    def values() -> Any:
        return model.decision_function(X)

    return Problem(
        "prediction from rows, d=16, k=256, 26 classes",
        [Method("GCWSClassifier.decision_function", values, rounds=5)],
        float(len(X)),
        lambda a, b: 0.0,
    )


def problems() -> Any:
    real = "KERNELSKETCH_DATA" in os.environ
    names = ["digits", "MNIST-5k", "Letter", "Covertype-50k", "MNIST-60k"] if real else ["digits"]
    yield prediction()
    for name in names:  # one after the other: each holds its one-hot matrix
        yield training(name)
    for name in ["digits", "MNIST-5k", "Letter"] if real else ["digits"]:
        yield path(name)
    for name in ["digits", "MNIST-5k", "Letter"] if real else ["digits"]:
        yield sweep(name)
