"""GCWSClassifier on a stream: one pass over rows that come in pieces."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits

from kernelsketch import GCWSClassifier
from kernelsketch.exceptions import InputError

X, y = load_digits(return_X_y=True)
X_train, y_train, X_test, y_test = X[:900], y[:900], X[900:], y[900:]
LOSSES = ("squared_hinge", "hinge", "log_loss")


def made(**params):
    return GCWSClassifier(**{"n_components": 64, **params})


class TestStreams:
    def test_in_pieces(self):
        model = made(n_components=128)
        for start in range(0, 900, 300):
            part = slice(start, start + 300)
            model.partial_fit(X_train[part], y_train[part], classes=None if start else np.arange(10))
        assert model.score(X_test, y_test) > made(n_components=128).fit(X_train, y_train).score(X_test, y_test) - 0.04
        assert not hasattr(model, "dual_gap_")
        assert model.n_iter_ == 1
        shuffled = np.random.default_rng(0).permutation(900)
        other = made(n_components=128).partial_fit(X_train[shuffled], y_train[shuffled], classes=np.arange(10))
        assert abs(other.score(X_test, y_test) - model.score(X_test, y_test)) < 0.04

    def test_rows_one_after_the_other(self):
        model = made()
        for i in range(200):
            model.partial_fit(X_train[i : i + 1], y_train[i : i + 1], classes=np.arange(10))
        assert model.score(X_test, y_test) > 0.6

    def test_used_codes_that_grow(self):
        """New codes get weights of 0, and models on rows without them decide as before."""
        rng = np.random.default_rng(0)
        rows = np.zeros((300, 300))
        rows[:150, :10] = rng.exponential(size=(150, 10))
        rows[150:] = rng.exponential(size=(150, 300))
        labels = rng.integers(0, 3, 300)
        model = made(bits=12).partial_fit(rows[:150], labels[:150], classes=[0, 1, 2])
        sizes, before = [len(model.used_codes_)], model.fitted_.weights.copy()
        model.partial_fit(rows[150:], labels[150:], sample_weight=np.full(150, 1e-20))
        sizes.append(len(model.used_codes_))
        assert sizes[0] <= 10 < 250 < sizes[1]
        np.testing.assert_allclose(
            model.fitted_.weights[:, :, np.searchsorted(model.used_codes_, np.arange(10))], before[:, :, :10], atol=1e-6
        )

    @pytest.mark.parametrize("n_jobs", [1, 3])
    def test_the_same_for_any_threads(self, n_jobs):
        a = made(n_jobs=n_jobs).partial_fit(X_train, y_train, classes=np.arange(10))
        b = made().partial_fit(X_train, y_train, classes=np.arange(10))
        np.testing.assert_array_equal(a.code_weights_, b.code_weights_)

    def test_fit_and_partial_fit_in_turn(self):
        model = made().fit(X_train, y_train)
        plain = model.code_weights_
        model.partial_fit(X_train, y_train)
        assert not hasattr(model, "dual_gap_")
        assert model.score(X_test, y_test) > 0.85
        model.fit(X_train, y_train)  # starts anew
        np.testing.assert_array_equal(model.code_weights_, plain)
        model = made().partial_fit(X_train, y_train, classes=np.arange(10)).fit(X_train, y_train)
        np.testing.assert_array_equal(model.code_weights_, plain)

    def test_a_fitted_model_counts_as_its_rows(self, tmp_path):
        """A few new rows move it a little; without its rows, the weights after them would take its place."""
        fitted = made().fit(X_train, y_train)
        before, blocks = fitted.code_weights_, -(-len(X_train) // 256)
        fitted.save(tmp_path / "m.safetensors")
        loaded = GCWSClassifier.load(tmp_path / "m.safetensors")
        for model in (fitted, loaded):
            model.partial_fit(X_test[:200], y_test[:200])
            assert model.training_.stream.blocks == blocks + 1
        moved = np.abs(fitted.code_weights_ - before).sum()
        stream = made().fit(X_train, y_train)
        stream.training_ = replace(stream.training_, rows=None)
        stream.partial_fit(X_test[:200], y_test[:200])
        np.testing.assert_array_equal(fitted.code_weights_, loaded.code_weights_)
        assert moved == pytest.approx(
            2 / (blocks + 2) * np.abs(stream.code_weights_ - before).sum(), rel=0.02
        )  # the order of the rows differs

    @pytest.mark.parametrize("weight", [0.0, 1e-25])
    def test_rows_without_weight_change_nothing(self, weight):
        model = made().partial_fit(X_train[:200], y_train[:200], classes=np.arange(10))
        expected = model.decision_function(X_test)
        weights = np.full(200, weight)
        weights[0] = 1e-20  # not all of them can be 0
        model.partial_fit(X_train[200:400], y_train[200:400], sample_weight=weights)
        np.testing.assert_allclose(model.decision_function(X_test), expected, rtol=0, atol=1e-5)

    def test_bad_streams(self):
        with pytest.raises(InputError, match="classes=None at the first call"):
            made().partial_fit(X_train, y_train)
        with pytest.raises(InputError, match=r"y has labels \[8 9\] that are not among the classes"):
            made().partial_fit(X_train, y_train, classes=np.arange(8))
        with pytest.raises(InputError, match="fewer than 2 classes"):
            made().partial_fit(X_train, y_train, classes=[3])
        with pytest.raises(InputError, match="balanced"):
            made(class_weight="balanced").partial_fit(X_train, y_train, classes=np.arange(10))
        model = made().partial_fit(X_train, y_train, classes=np.arange(10))
        expected = model.predict(X_test)
        with pytest.raises(InputError, match="differs from that of the first call"):
            model.partial_fit(X_train, y_train, classes=np.arange(11))
        with pytest.raises(InputError, match="not among the classes"):
            model.partial_fit(X_train, y_train + 5)
        with pytest.raises(ValueError, match="features"):
            model.partial_fit(X_train[:, :5], y_train)
        with pytest.raises(ValueError, match="inconsistent numbers"):
            model.partial_fit(X_train, y_train[:5])
        np.testing.assert_array_equal(model.predict(X_test), expected)
        words = made().partial_fit(X_train, np.where(y_train > 4, "high", "low"), classes=["low", "high"])
        assert words.classes_.tolist() == ["high", "low"]
        with pytest.raises(InputError, match="not among the classes"):
            words.partial_fit(X_train, y_train)
