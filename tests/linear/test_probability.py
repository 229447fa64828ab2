"""Classifiers with probability="calibrated": probabilities for every loss, from decision values out-of-fold."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.arrays import Wrapped, registered
from helpers.models import decision_values
from kernelsketch import GCWSClassifier, GCWSClassifierCV, load_model
from kernelsketch.exceptions import InputError
from kernelsketch.linear import _disk_codes
from kernelsketch.linear._calibration import fit_calibration
from kernelsketch.linear._folds import shuffled_folds

X, y = load_digits(return_X_y=True)
X_train, y_train, X_test, y_test = X[:600], y[:600], X[600:], y[600:]
LOSSES = ("squared_hinge", "hinge", "log_loss")
FOLDS = "repeated rows are dealt to folds one by one: .86 apart; test_row_weights.py has fixed folds, and no difference"
EXCUSED = {f"check_sample_weight_equivalence_on_{kind}_data": FOLDS for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [
        GCWSClassifier(16, probability="calibrated"),
        GCWSClassifierCV(16, Cs=[1.0], probability="calibrated", scoring="neg_log_loss"),
    ],
    expected_failed_checks=lambda _: EXCUSED,
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def made(**params):
    return GCWSClassifier(**{"n_components": 64, "probability": "calibrated", **params})


class TestProbabilities:
    @pytest.mark.parametrize("loss", LOSSES)
    @pytest.mark.parametrize("count", [2, 10])
    def test_every_loss(self, loss, count):
        model = made(loss=loss, C=10.0).fit(X_train, y_train % count)
        shares = model.predict_proba(X_test)
        assert shares.shape == (len(X_test), count)
        np.testing.assert_allclose(shares.sum(axis=1), 1)
        assert ((shares > 0) & (shares < 1)).all()
        np.testing.assert_array_equal(model.predict_log_proba(X_test), np.log(shares))
        plain = GCWSClassifier(64, loss="log_loss", C=10.0).fit(X_train, y_train % count)
        assert log_loss(y_test % count, shares) < log_loss(y_test % count, plain.predict_proba(X_test)) + 0.02
        np.testing.assert_array_equal(shares.argmax(axis=1), model.predict(X_test))
        same = GCWSClassifier(64, loss=loss, C=10.0).fit(X_train, y_train % count)
        assert model.score(X_test, y_test % count) > same.score(X_test, y_test % count) - 0.02

    def test_the_rest_of_the_model_is_as_without(self):
        model, plain = made().fit(X_train, y_train), made(probability=None).fit(X_train, y_train)
        np.testing.assert_array_equal(model.code_weights_, plain.code_weights_)
        calibration = model.fitted_.calibration
        np.testing.assert_array_equal(
            model.decision_function(X_test), calibration.logits(plain.decision_function(X_test))
        )
        model.set_params(probability=None)
        np.testing.assert_array_equal(model.predict(X_test), plain.predict(X_test))

    @pytest.mark.parametrize("count", [2, 10])
    def test_they_come_from_values_out_of_fold(self, count):
        """Of single fits on two thirds; equal up to the gap of 1e-2 that they have."""
        labels = y_train % count
        model = made(tol=1e-2, C=3.0).fit(X_train, labels)
        values = np.empty((600, 1 if count == 2 else 10))
        for train, test in shuffled_folds(labels):
            single = GCWSClassifier(64, tol=1e-3, C=3.0).fit(X_train[train], labels[train])
            values[test] = decision_values(single, X_train[test])
        expected = fit_calibration(values, labels, count).probabilities(decision_values(model, X_test))
        assert np.abs(model.predict_proba(X_test) - expected).mean() < 0.01

    def test_threads_and_codes_and_blocks(self):
        expected = made().fit(X_train, y_train).predict_proba(X_test)
        codes = made().fit(X_train, y_train).hasher_.codes(X_train)
        blocks = [(X_train[:100], y_train[:100]), (X_train[100:], y_train[100:])]
        for model in (
            made(n_jobs=3).fit(X_train, y_train),
            made().fit(codes, y_train),
            made().fit_blocks(blocks),
        ):
            np.testing.assert_array_equal(model.predict_proba(X_test), expected)

    def test_blocks_on_disk(self, monkeypatch):
        opened, disk = [], _disk_codes.DiskCodeTable

        def watched(*parts):
            opened.append(parts)
            return disk(*parts)

        monkeypatch.setattr(_disk_codes, "DiskCodeTable", watched)
        monkeypatch.setattr(np, "fromfile", None)
        with pytest.raises(_disk_codes.MemoryBoundError) as caught:
            made().fit_blocks([(X_train, y_train)], memory=1000)
        model = None
        for memory in (caught.value.needed + 16 * 1024 * step for step in range(2000)):
            try:
                model = made().fit_blocks([(X_train, y_train)], memory=memory)
                break
            except _disk_codes.MemoryBoundError:
                continue
        assert len(opened) == 1
        np.testing.assert_array_equal(model.predict_proba(X_test), made().fit(X_train, y_train).predict_proba(X_test))

    def test_other_arrays(self):
        expected = made().fit(X_train, y_train).predict_proba(X_test)
        with registered():
            found = made().fit(Wrapped(X_train), y_train).predict_proba(Wrapped(X_test))
            assert type(found) is Wrapped
            np.testing.assert_allclose(found.inner, expected, rtol=1e-12)

    def test_weights_count(self):
        """Classes are as frequent as the weights of their rows."""
        weights = np.where(y_train % 2 == 1, 0.01, 1.0)
        few = made().fit(X_train, y_train % 2, sample_weight=weights).predict_proba(X_test)[:, 1].mean()
        by_class = made(class_weight={0: 1.0, 1: 0.01}).fit(X_train, y_train % 2).predict_proba(X_test)[:, 1].mean()
        balanced = made(class_weight="balanced").fit(X_train, y_train % 2, sample_weight=weights)
        assert few < 0.25
        np.testing.assert_allclose(by_class, few, atol=0.02)
        assert 0.4 < balanced.predict_proba(X_test)[:, 1].mean() < 0.6

    def test_a_model_can_be_fitted_again(self):
        model = made().fit(X_train, y_train)
        model.set_params(probability=None, loss="log_loss").fit(X_train, y_train)
        assert model.fitted_.calibration is None
        assert clone(made()).get_params() == made().get_params()


class TestSmallClasses:
    def test_a_class_with_one_row(self):
        labels = y_train.copy()
        labels[7] = 99
        model = made().fit(X_train, labels)
        shares = model.predict_proba(X_test)
        assert np.isfinite(shares).all()
        assert 0 < shares[:, -1].max() < 0.5

    def test_two_classes_one_of_which_has_one_row(self):
        shares = made().fit(X_train[:20], np.arange(20) == 3).predict_proba(X_test)
        assert np.isfinite(shares).all()
        assert (shares[:, 0] > 0.5).all()

    def test_every_class_has_two_rows(self):
        rows = np.concatenate([np.flatnonzero(y_train == label)[:2] for label in range(10)])
        model = made(C=10.0).fit(X_train[rows], y_train[rows])
        shares = model.predict_proba(X_test)
        assert log_loss(y_test, shares) < np.log(10)

    def test_too_few_rows(self):
        with pytest.raises(InputError, match="2 classes with at least 2 rows"):
            made().fit(X_train[:2], [0, 1])


class TestWithout:
    def test_the_message_names_both_ways(self):
        model = made(probability=None).fit(X_train, y_train)
        assert not hasattr(model, "predict_proba")
        with pytest.raises(AttributeError) as caught:
            model.predict_proba(X_test)
        text = str(caught.value.__cause__ or caught.value)
        assert "loss='log_loss' or probability='calibrated'" in text

    def test_set_after_fit(self):
        model = made(probability=None).fit(X_train, y_train).set_params(probability="calibrated")
        with pytest.raises(InputError, match="fitted without it: fit it again"):
            model.predict_proba(X_test)

    def test_streams(self):
        for model in (made(), made().fit(X_train, y_train)):
            assert not hasattr(model, "partial_fit")
            with pytest.raises(AttributeError) as caught:
                model.partial_fit(X_train, y_train, classes=range(10))
            assert "probability='calibrated' needs all rows" in str(caught.value.__cause__)
            assert "loss='log_loss'" in str(caught.value.__cause__)

    def test_pipelines(self):
        model = made().fit(X_train, y_train)
        with pytest.raises(InputError, match=r"set_params\(probability=None\) first"):
            model.to_sklearn()
        model.set_params(probability=None).to_sklearn()

    def test_another_value(self):
        with pytest.raises(ValueError, match="probability"):
            made(probability=True).fit(X_train, y_train)


@pytest.mark.parametrize("count", [2, 10])
@pytest.mark.parametrize("n", [60, 600])
@pytest.mark.parametrize("kind", [GCWSClassifier, GCWSClassifierCV])
def test_files(tmp_path, kind, count, n):
    model = kind(32, probability="calibrated").fit(X_train[:n], y_train[:n] % count)
    model.save(tmp_path / "model")
    found = load_model(tmp_path / "model")
    assert found.probability == "calibrated"
    np.testing.assert_array_equal(found.predict_proba(X_test), model.predict_proba(X_test))


class TestCrossValidation:
    @pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
    def test_probabilities_can_choose(self, loss):
        """A fold is scored by the calibration of the other two."""
        options = {"n_components": 64, "Cs": [0.01, 1.0, 30.0], "cv": 3, "loss": loss}
        model = GCWSClassifierCV(**options, scoring="neg_log_loss").fit(X_train, y_train)
        assert not hasattr(model, "predict_proba")
        folds = list(StratifiedKFold(3).split(X_train, y_train))
        singles = [GCWSClassifier(64, C=model.C_, loss=loss).fit(X_train[train], y_train[train]) for train, _ in folds]
        values = [single.decision_function(X_train[test]) for single, (_, test) in zip(singles, folds, strict=True)]
        for number, (_, test) in enumerate(folds):
            others = [q for q in range(3) if q != number]
            labels = np.concatenate([y_train[folds[q][1]] for q in others])
            calibration = fit_calibration(np.concatenate([values[q] for q in others]), labels, 10, common_slope=True)
            expected = -log_loss(y_train[test], calibration.probabilities(values[number]))
            q = list(model.Cs_).index(model.C_)
            assert abs(model.scores_[number, q] - expected) < 0.02

    @pytest.mark.parametrize("scoring", ["neg_brier_score", "roc_auc", "average_precision", "f1", "neg_log_loss"])
    def test_scorers_of_two_classes(self, scoring):
        model = GCWSClassifierCV(32, scoring=scoring).fit(X_train, y_train % 2)
        assert np.isfinite(model.scores_).all()

    def test_the_calibration_is_that_of_a_single_fit(self):
        """The folds are the same; the gap of the path is that of calibration."""
        model = GCWSClassifierCV(64, Cs=[3.0], probability="calibrated").fit(X_train, y_train)
        single = made(C=3.0).fit(X_train, y_train)
        np.testing.assert_array_equal(model.predict_proba(X_test), single.predict_proba(X_test))

    @pytest.mark.parametrize("refit", [True, False])
    def test_good_probabilities(self, refit):
        model = GCWSClassifierCV(128, probability="calibrated", refit=refit).fit(X_train, y_train)
        assert log_loss(y_test, model.predict_proba(X_test)) < 0.4

    def test_one_fold_cannot_calibrate_itself(self):
        (split, *_) = StratifiedKFold(3).split(X_train, y_train)
        with pytest.raises(InputError, match="cv has a single fold"):
            GCWSClassifierCV(16, cv=[split], scoring="neg_log_loss").fit(X_train, y_train)
        GCWSClassifierCV(16, cv=[split], scoring="neg_log_loss", loss="log_loss").fit(X_train, y_train)

    def test_a_class_with_one_row(self):
        labels = y_train.copy()
        labels[7] = 99
        model = GCWSClassifierCV(16, probability="calibrated").fit(X_train, labels)
        assert np.isfinite(model.predict_proba(X_test)).all()
