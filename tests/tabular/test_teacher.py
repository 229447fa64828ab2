"""Soft labels: probabilities of classes as targets, for example those of another model."""

import numpy as np
import pandas
import pytest
from scipy.special import expit, softmax
from scipy.stats import binom

from kernelsketch import GCWSTabularClassifier, load_model
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.tabular._learn import Learner
from kernelsketch.tabular._scores import CrossFitted
from kernelsketch.tabular._statistics import outputs_of
from kernelsketch.tabular._teacher import SoftLabels
from kernelsketch.tabular._together import Together


def table(n=400, n_classes=2, seed=0):
    """A table with numbers, a column of many categories and a column of text, and the true probabilities of classes."""
    rng = np.random.default_rng(seed)
    shop, word = rng.integers(0, 40, n), rng.choice(["baker", "pilot", "nurse"], n)
    size, speed = rng.normal(size=n), rng.normal(size=n)
    titles = [f"{one} of the {rng.choice(['north', 'south'])}, office {i}" for i, one in enumerate(word)]
    X = pandas.DataFrame({"size": size, "speed": speed, "shop": [f"shop {i}" for i in shop], "title": titles})
    logits = np.column_stack(
        [np.zeros(n), 2 * np.sin(2 * size) + shop % 3 + 2 * (word == "pilot") - 1.5, speed - (word == "pilot")]
    )
    return X, softmax(1.5 * logits[:, :n_classes], axis=1)


def drawn(P, seed=0):
    """Draw labels with these probabilities."""
    return (np.random.default_rng(seed).random(len(P))[:, None] > np.cumsum(P, axis=1)[:, :-1]).sum(axis=1)


class TestFit:
    @pytest.mark.parametrize("effort", ["quick", "default"])
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_certain_probabilities_give_the_model_of_the_labels_bit_for_bit(self, n_classes, effort):
        X, P = table(800, n_classes)
        y = drawn(P)
        by_labels = GCWSTabularClassifier(effort).fit(X, y)
        by_rows = GCWSTabularClassifier(effort).fit(X, np.eye(n_classes)[y])
        assert "mean target" in by_labels.columns_[2].treatment
        assert by_labels.columns_[3].treatment.startswith("text")
        np.testing.assert_array_equal(by_rows.predict_proba(X), by_labels.predict_proba(X))
        assert by_rows.columns_ == by_labels.columns_
        assert by_rows.held_out_score_ == by_labels.held_out_score_
        assert by_rows.held_out_error_ == pytest.approx(by_labels.held_out_error_, rel=1e-12)

    def test_soft_labels_give_better_probabilities_than_labels_drawn_from_them(self):
        """If both were equally good, 11 of 12 tables would be better by chance with a probability of 0.3 %."""
        better = 0
        for seed in range(12):
            X, P = table(700, 3, seed)
            losses = []
            for targets in (P[:300], drawn(P[:300], seed)):
                found = GCWSTabularClassifier("quick").fit(X[:300], targets).predict_proba(X[300:])
                losses.append(-(P[300:] * np.log(found)).sum(axis=1).mean())
            better += losses[0] < losses[1]
        assert binom.sf(10, 12, 0.5) < 0.0035
        assert better >= 11

    def test_a_data_frame_names_the_classes(self, tmp_path):
        X, P = table()
        named = GCWSTabularClassifier("quick").fit(X, pandas.DataFrame(P, columns=["stays", "leaves"]))
        assert named.classes_.tolist() == ["leaves", "stays"]
        plain = GCWSTabularClassifier("quick").fit(X, P[:, ::-1].tolist())
        assert plain.classes_.tolist() == [0, 1]
        np.testing.assert_array_equal(named.predict_proba(X), plain.predict_proba(X))
        numbered = GCWSTabularClassifier("quick").fit(X, pandas.DataFrame(P, columns=[7, 3]))
        assert numbered.classes_.tolist() == [3, 7]
        named.save(tmp_path / "model.safetensors")
        np.testing.assert_array_equal(load_model(tmp_path / "model.safetensors").predict(X), named.predict(X))

    def test_the_held_out_score_is_the_expected_accuracy(self):
        X, _ = table(300)
        model = GCWSTabularClassifier("quick").fit(X, np.tile([0.3, 0.7], (300, 1)))
        assert model.held_out_score_ == pytest.approx(0.7, abs=1e-6)
        assert model.held_out_scores_["baseline_accuracy"] == pytest.approx(0.7, abs=1e-6)
        assert model.held_out_scores_["log_loss"] == pytest.approx(-0.3 * np.log(0.3) - 0.7 * np.log(0.7), abs=1e-2)
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], 0.7, atol=0.05)

    def test_rows_of_weight_0_and_threads_change_nothing(self):
        X, P = table(300)
        more, wrong = pandas.concat([X, X[:50]]), np.concatenate([P, 1 - P[:50]])
        weights = np.repeat([1.0, 0.0], [300, 50])
        model = GCWSTabularClassifier("quick").fit(X, P)
        other = GCWSTabularClassifier("quick", n_jobs=2).fit(more, wrong, weights)
        np.testing.assert_array_equal(other.predict_proba(X), model.predict_proba(X))

    def test_weights_count(self):
        """Rows of which half say p and half say 1 - p: the weights decide."""
        X, _ = table(300)
        P = np.tile([[0.9, 0.1], [0.1, 0.9]], (150, 1))
        model = GCWSTabularClassifier("quick").fit(X, P, np.tile([1.0, 9.0], 150))
        assert model.predict_proba(X)[:, 1].mean() == pytest.approx(0.82, abs=0.03)

    @pytest.mark.parametrize("n_rows", [None, 200])
    @pytest.mark.parametrize("effort", ["default", "apart"])
    def test_copies_of_a_row_stay_together(self, monkeypatch, effort, n_rows):
        X, P = table(400, 3)
        given = GCWSTabularClassifier().fit(X, P).effort_ | {"n_rows": n_rows, "n_trees": 40}
        found, of, rows_apart = [], Learner._folds, []

        def folds(learner, labels, weights, apart):
            made = of(learner, labels, weights, apart)
            found.append((learner._copies.rows, made))
            if apart is not None:
                rows_apart.append((learner._copies.rows, apart))
            return made

        monkeypatch.setattr(Learner, "_folds", folds)
        if effort == "apart":
            given["n_kernel_rows"] = 300
        model = GCWSTabularClassifier(given).fit(X, P)
        assert model.score(X, P.argmax(axis=1)) > 0.6
        ((rows, made),) = found
        assert len(rows) <= (n_rows or 1200)
        assert sum(len(fold.test) for fold in made) == len(rows)
        for fold in made:
            assert not set(rows[fold.test]) & set(rows[fold.train])
        assert len(rows_apart) == (effort == "apart" and n_rows is None)

    def test_groups_and_time(self):
        X, P = table(300)
        group, day = np.arange(300) // 10, np.arange(300)
        for options in ({"groups": group}, {"time": day}):
            model = GCWSTabularClassifier("quick").fit(X, P, **options)
            assert model.score(X, P.argmax(axis=1)) > 0.7


class TestParts:
    def test_the_loss_of_the_copies_is_the_expected_loss(self):
        _, P = table(50, 3)
        weights = np.random.default_rng(0).integers(0, 3, 50).astype(float)
        soft = SoftLabels.of(P)
        copies = soft.copies(weights)
        losses = -np.log(np.random.default_rng(1).dirichlet(np.ones(3), 50))
        found = copies.weights @ losses[copies.rows, copies.labels]
        assert found == pytest.approx(weights @ (P * losses).sum(axis=1), rel=1e-5)
        np.testing.assert_array_equal(copies.labels[copies.first], P.argmax(axis=1)[weights > 0])

    def test_mean_targets_are_those_of_the_probabilities(self):
        _, P = table(50, 3)
        np.testing.assert_array_equal(outputs_of(P, True), P)
        np.testing.assert_array_equal(outputs_of(P[:, :2], True), P[:, 1:2])
        assert outputs_of(np.ones((5, 11)) / 11, True) is None

    def test_the_error_counts_copies_of_a_row_once(self):
        """A row whose copies are equally wrong or right has the error of the row."""
        rng = np.random.default_rng(0)
        P, labels, folds = rng.dirichlet(np.ones(2), 200), rng.integers(0, 2, 200), np.arange(200) % 5
        once = CrossFitted(P, labels, np.ones(200), folds, is_class=True).held_out()
        twice = np.repeat(np.arange(200), 2)
        given = P[twice], labels[twice], np.full(400, 0.5), folds[twice]
        copied = CrossFitted(*given, is_class=True, copied=twice).held_out()
        assert copied.score == once.score
        assert copied.error == pytest.approx(once.error, rel=0.01)

    def test_some_rows_have_all_their_copies_and_all_classes(self):
        P = np.tile([0.5, 0.4999, 0.0001], (40, 1))
        P[17] = [0.5, 0.2, 0.3]
        P[:17, 1:] = [0.5, 0.0]
        P[18:, 1:] = [0.5, 0.0]
        copies = SoftLabels.of(P).copies(None)
        some = copies.take(copies.of_rows(np.arange(40), 10))
        assert set(some.labels) == {0, 1, 2}
        assert sorted(set(some.rows)) == [0, 1, 2, 3, 4, 17]
        assert len(some.rows) == 13

    def test_groups_of_copies_are_those_of_rows(self):
        copies = SoftLabels.of(np.full((10, 2), 0.5)).copies(None)
        assert Together(False, np.arange(10)).take(copies.rows).numbers.tolist() == copies.together().numbers.tolist()


class TestErrors:
    def change(self, P, row, value):
        P = P.copy()
        P[row, 0] = value
        return P

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda P: 1.1 * P, r"row \d+ of y sums to 1.1, .* divide each row by its sum"),
            (lambda P: np.rint(P + 0.3), "pass 0 and 1 as integers or booleans"),
            (lambda P: TestErrors().change(P, 3, np.nan), "nan in row 3, column 0"),
            (lambda P: TestErrors().change(P, 3, -0.1), "-0.1 in row 3, column 0, which is negative"),
            (lambda P: P[:9], "probabilities of 9 rows"),
            (lambda P: P[:50], "inconsistent numbers of samples"),
            (lambda P: np.insert(P, 1, 0, axis=1), "no probability above 1e-06 of the class 1 in any row"),
            (lambda P: P[:, 1], r"both: np.column_stack\(\[1 - p, p\]\)"),
        ],
    )
    def test_wrong_probabilities(self, change, message):
        X, P = table(100)
        X = X[:9] if "9 rows" in message else X
        with pytest.raises((InputError, ValueError), match=message):
            GCWSTabularClassifier("quick").fit(X, change(P))

    def test_names_of_several_types(self):
        X, P = table(100)
        with pytest.raises(InputTypeError, match="y has labels of several types"):
            GCWSTabularClassifier("quick").fit(X, pandas.DataFrame(P, columns=["a", 1]))

    def test_a_class_that_only_one_row_may_have(self):
        X, P = table(100)
        P = np.column_stack([np.ones(100), np.zeros(100)])
        P[0] = 0, 1
        with pytest.raises(InputError, match="pass probabilities of more rows"):
            GCWSTabularClassifier("quick").fit(X, P)

    def test_the_order_of_expit_and_two_columns(self):
        X, P = table(200)
        p = expit(np.log(P[:, 1] / P[:, 0]))
        model = GCWSTabularClassifier("quick").fit(X, np.column_stack([1 - p, p]))
        assert np.corrcoef(model.predict_proba(X)[:, 1], P[:, 1])[0, 1] > 0.8
