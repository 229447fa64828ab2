"""GCWSClassifier reaches the objective of LIBLINEAR and predicts as it does."""

import os
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

from kernelsketch import GCWS, GCWSClassifier

X, y = load_digits(return_X_y=True)
X_train, y_train, X_test, y_test = X[:900], y[:900], X[900:], y[900:]
LOSSES = ("squared_hinge", "hinge", "log_loss")
slow = partial(pytest.param, marks=pytest.mark.slow)


def made(**params):
    return GCWSClassifier(**{"n_components": 64, **params})


def objective(model, w, b, Z, signs, C):
    """LIBLINEAR's, in float64."""
    margins = signs * (Z @ w + b)
    losses = {
        "squared_hinge": lambda: np.maximum(0, 1 - margins) ** 2,
        "hinge": lambda: np.maximum(0, 1 - margins),
        "log_loss": lambda: np.logaddexp(0, -margins),
    }[model.loss]()
    return (w @ w + b**2) / 2 + (C * losses).sum()


def liblinear(loss, **params):
    if loss == "log_loss":
        return LogisticRegression(solver="liblinear", **params)
    return LinearSVC(loss=loss, dual=True, random_state=0, **params)


def data_of(name):
    if name == "digits":
        return X_train, y_train, X_test, y_test
    folder = os.environ.get("KERNELSKETCH_DATA")
    if not folder:
        pytest.skip("KERNELSKETCH_DATA names no folder of data")
    path = Path(folder) / f"{name}.npz"
    if not path.exists():
        pytest.skip(f"{path.name} is not in KERNELSKETCH_DATA")
    with np.load(path) as file:
        rows, labels = file["X"], file["y"]
        is_test = file["is_test"].astype(bool) if "is_test" in file else np.arange(len(labels)) % 2 == 1
    rng = np.random.default_rng(0)
    learned, tested = (np.sort(rng.permutation(np.flatnonzero(part))[:800]) for part in (~is_test, is_test))
    return rows[learned], labels[learned], rows[tested], labels[tested]


class TestLiblinear:
    @pytest.mark.parametrize("C", [0.01, 1, 100])
    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("name", ["digits", "Letter", "Satimage", "SpamBase", "MNIST"])
    def test_objective_and_predictions(self, name, loss, C):
        """At the default gap the objective is LIBLINEAR's within 1e-3; at a small one predictions are the same."""
        rows, labels, tested, _ = data_of(name)
        model = made(n_components=128, loss=loss, C=C).fit(rows, labels)
        Z = GCWS(128).fit(rows).transform(rows)
        used = np.unique(Z.indices)  # the others have no weight in either
        Z = Z[:, used]
        theirs, least, hard = {}, {}, loss == "hinge" and C == 100  # where LIBLINEAR takes long
        kinds = model.classes_[:3] if len(model.classes_) > 2 else model.classes_[1:]
        for p, kind in enumerate(kinds):
            signs = np.where(labels == kind, 1.0, -1.0)
            theirs[kind] = liblinear(loss, C=C, tol=1e-5 if hard else 1e-7, max_iter=100_000).fit(Z, signs)
            found = objective(model, model.code_weights_[p, used].astype(np.float64), model.intercept_[p], Z, signs, C)
            least[kind] = expected = objective(
                model, theirs[kind].coef_[0], float(theirs[kind].intercept_[0]), Z, signs, C
            )
            assert abs(found - expected) < 1e-3 * expected
            np.testing.assert_allclose(found, model.objective_[p], rtol=3e-5 if hard else 1e-5)  # weights are float32
            assert found - expected <= model.dual_gap_[p] + 1e-5 * expected
        model.set_params(tol=1e-6).fit(rows, labels)
        assert (model.dual_gap_ <= 1e-6 * model.objective_).all()
        assert model.code_weights_.dtype == np.float64
        decided = model.decision_function(tested).reshape(len(tested), -1)
        hashed = model.hasher_.transform(tested)[:, used]
        for p, kind in enumerate(kinds):
            signs = np.where(labels == kind, 1.0, -1.0)
            found = objective(model, model.code_weights_[p, used], model.intercept_[p], Z, signs, C)
            np.testing.assert_allclose(found, model.objective_[p], rtol=1e-6)  # C and features are float32
            assert found <= (1 + 2e-6) * least[kind]
            assert ((decided[:, p] > 0) == (theirs[kind].predict(hashed) > 0)).mean() >= 0.995

    @pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
    @pytest.mark.parametrize("count", [2, 4])
    def test_weights_of_classes_and_rows(self, loss, count):
        kept = y_train < count
        rows, labels = X_train[kept], y_train[kept]
        rng = np.random.default_rng(0)
        weights = rng.uniform(0.2, 3, len(labels))
        Z = GCWS(64).fit(rows).transform(rows)
        # Of the rows as they are weighted, as in a new LinearSVC; that of scikit-learn 1.6 counts rows.
        balanced = {c: weights.sum() / (count * weights[labels == c].sum()) for c in range(count)}
        for class_weight in (None, "balanced", {0: 3.0, 1: 0.25}):
            options = {"loss": loss, "C": 0.05, "intercept_scaling": 0.5}
            model = made(tol=1e-6, class_weight=class_weight, **options).fit(rows, labels, sample_weight=weights)
            theirs = LinearSVC(tol=1e-7, max_iter=100_000, random_state=0, **options)
            theirs.set_params(class_weight=balanced if class_weight == "balanced" else class_weight)
            theirs.fit(Z, labels, sample_weight=weights)
            np.testing.assert_allclose(model.code_weights_, theirs.coef_, rtol=0, atol=2e-3)
            np.testing.assert_allclose(model.intercept_, theirs.intercept_, rtol=0, atol=2e-3)

    def test_no_intercept(self):
        model = made(tol=1e-6, fit_intercept=False).fit(X_train, y_train)
        Z = GCWS(64).fit(X_train).transform(X_train)
        theirs = LinearSVC(tol=1e-7, fit_intercept=False, random_state=0).fit(Z, y_train)
        assert (model.intercept_ == 0).all()
        np.testing.assert_allclose(model.code_weights_, theirs.coef_, rtol=0, atol=2e-3)
