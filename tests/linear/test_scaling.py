"""Scaling inside a model: as by transformers of scikit-learn, in the model and its file; and the warning."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.preprocessing import QuantileTransformer, RobustScaler, StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.damage import set_tensor
from kernelsketch import (
    GCWS,
    GCWSClassifier,
    GCWSClassifierCV,
    GCWSRegressor,
    GCWSRegressorCV,
    load_model,
)
from kernelsketch.backends import CsrRows, DenseRows
from kernelsketch.exceptions import InputError, ScaleWarning
from kernelsketch.serving import Scaling, heavy_columns
from kernelsketch.storage._container import read_container, write_container

X, y = load_wine(return_X_y=True)
order = np.random.default_rng(0).permutation(len(y))
X, y = X[order], y[order]
X_train, y_train, X_test, y_test = X[:120], y[:120], X[120:], y[120:]
KINDS = ("standard", "robust", "quantile")
MODELS = (GCWSClassifier, GCWSClassifierCV, GCWSRegressor, GCWSRegressorCV)
TOL = "fits end within tol of each other, .013 apart at 1e-3; test_row_weights.py makes this check at tol=1e-16"
EXCUSED = {f"check_sample_weight_equivalence_on_{kind}_data": TOL for kind in ("dense", "sparse")}


@parametrize_with_checks(
    [
        GCWSClassifier(16, scale="standard"),
        GCWSClassifier(16, scale="quantile", center="mean"),
        GCWSRegressor(16, scale="robust"),
        GCWSRegressorCV(16, Cs=[1.0], scale="standard"),
    ],
    expected_failed_checks=lambda _: EXCUSED,
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def scaled(kind, values, others=None):
    found = Scaling.fit(kind, DenseRows(values))
    return found.apply(DenseRows(values if others is None else others)).values


class TestValues:
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize(("kind", "theirs"), [("standard", StandardScaler()), ("robust", RobustScaler())])
    def test_they_are_those_of_scikit_learn(self, kind, theirs, dtype):
        train, test = X_train.astype(dtype), X_test.astype(dtype)
        expected = theirs.fit(train.astype(np.float64)).transform(test.astype(np.float64))
        found = scaled(kind, train, test)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected, rtol=1e-5 if dtype == np.float32 else 1e-12, atol=1e-6)

    def test_quantiles(self):
        """As scikit-learn's, from -1 to 1, apart from ties at the smallest and the largest value."""
        rng = np.random.default_rng(1)
        train = np.stack([rng.normal(0, 1, 1000), rng.integers(0, 20, 1000), rng.exponential(1, 1000)], axis=1)
        test = np.concatenate([train[:100], rng.normal(0, 3, (100, 3)), [[-99.0] * 3, [99.0] * 3]])
        theirs = QuantileTransformer(n_quantiles=256, subsample=None).fit(train)
        found, expected = scaled("quantile", train, test), 2 * theirs.transform(test) - 1
        inner = (test != train.min(axis=0)) & (test != train.max(axis=0))
        np.testing.assert_allclose(found[inner], expected[inner], atol=1e-12)
        assert found.min() == -1
        assert found.max() == 1

    def test_ties_get_their_mean_rank(self):
        column = np.repeat([0.0, 1.0], [900, 100])[:, None]
        np.testing.assert_allclose(np.unique(scaled("quantile", column)), [-0.1, 0.9], atol=0.01)

    @pytest.mark.parametrize("kind", KINDS)
    def test_constant_columns_become_zero(self, kind):
        values = X_train.copy()
        values[:, 3] = 0.1
        found = scaled(kind, values, X_test)
        np.testing.assert_array_equal(found[:, 3], 0)
        assert found[:, 2].any()

    def test_robust_falls_back_to_the_standard_deviation(self):
        column = np.repeat([0.0, 8.0], [90, 10])[:, None]
        np.testing.assert_allclose(scaled("robust", column)[-1, 0], 8 / column.std())

    @pytest.mark.parametrize("kind", KINDS)
    def test_extreme_numbers(self, kind):
        values = X_train * np.ldexp(1.0, np.where(np.arange(13) % 2, 1000, -1000))
        found = scaled(kind, values)
        np.testing.assert_allclose(found, scaled(kind, X_train), rtol=1e-10, atol=1e-10)
        huge = np.array([[1.7e308, 5e-324], [-1.7e308, 0.0], [1.0, 5e-324]])
        assert np.isfinite(scaled(kind, huge)).all()
        assert np.isfinite(scaled(kind, np.abs(huge[:, 1:]), huge[:, :1])).all()

    @pytest.mark.parametrize("kind", KINDS)
    def test_the_layout_does_not_count(self, kind):
        expected = scaled(kind, X_train)
        np.testing.assert_array_equal(scaled(kind, np.asfortranarray(X_train)), expected)
        np.testing.assert_array_equal(scaled(kind, np.repeat(X_train, 2, axis=1)[:, ::2]), expected)

    def test_one_row(self):
        for kind in KINDS:
            np.testing.assert_array_equal(scaled(kind, X_train[:1]), 0)


class TestSparse:
    S = sparse.random_array((200, 30), density=0.2, random_state=0, format="csr") * 50.0

    def test_zeros_stay_zeros(self):
        found = Scaling.fit("standard", CsrRows.of(self.S)).apply(CsrRows.of(self.S)).to_scipy()
        expected = StandardScaler(with_mean=False).fit_transform(self.S)
        np.testing.assert_allclose(found.toarray(), expected.toarray(), rtol=1e-12)

    def test_constant_columns(self):
        dense = self.S.toarray()
        dense[:, 4], dense[:, 5] = 3.0, 0.0
        found = Scaling.fit("standard", CsrRows.of(sparse.csr_array(dense)))
        assert (found.spread[4], found.spread[5]) == (0, 0)
        rows = found.apply(CsrRows.of(sparse.csr_array(dense)))
        assert rows.data.all()
        assert not rows.to_scipy().toarray()[:, 4].any()

    @pytest.mark.parametrize("kind", ["robust", "quantile"])
    def test_refusals(self, kind):
        with pytest.raises(InputError, match=f"scale='{kind}' cannot be used with sparse rows.*'standard'"):
            GCWSClassifier(8, scale=kind).fit(self.S, np.arange(200) % 2)

    def test_models(self):
        labels = (self.S[:, [0]].toarray()[:, 0] > 0).astype(int)
        model = GCWSClassifier(64, scale="standard").fit(self.S, labels)
        by_hand = StandardScaler(with_mean=False).fit(self.S)
        expected = GCWSClassifier(64).fit(by_hand.transform(self.S), labels)
        np.testing.assert_allclose(
            model.decision_function(self.S), expected.decision_function(by_hand.transform(self.S)), atol=0.05
        )
        np.testing.assert_array_equal(model.predict(self.S), model.predict(self.S.toarray()))
        dense = GCWSClassifier(64, scale="standard").fit(self.S.toarray(), labels)
        with pytest.raises(InputError, match="X is sparse, but the model was fitted with scale on dense rows"):
            dense.predict(self.S)

    def test_too_many_columns(self):
        wide = sparse.csr_array((np.ones(2), (np.array([0, 1]), np.array([0, 2**40]))), shape=(2, 2**40 + 1))
        with pytest.raises(InputError, match="at most"):
            GCWSClassifier(8, scale="standard").fit(wide, [0, 1])


class TestModels:
    @pytest.mark.parametrize("kind", KINDS)
    @pytest.mark.parametrize("model", MODELS)
    def test_as_if_scaled_before(self, tmp_path, kind, model):
        scaling = Scaling.fit(kind, DenseRows(X_train))
        train, test = (scaling.apply(DenseRows(rows)).values for rows in (X_train, X_test))
        expected = model(32).fit(train, y_train)
        found = model(32, scale=kind).fit(X_train, y_train)
        np.testing.assert_array_equal(found.predict(X_test), expected.predict(test))
        np.testing.assert_array_equal(found.code_weights_, expected.code_weights_)
        found.save(tmp_path / "model")
        again = load_model(tmp_path / "model")
        assert again.scale == kind
        np.testing.assert_array_equal(again.predict(X_test), found.predict(X_test))
        assert clone(found).get_params() == found.get_params()

    def test_scaling_helps(self):
        scores = [GCWSClassifier(256, scale=kind).fit(X_train, y_train).score(X_test, y_test) for kind in KINDS]
        assert min(scores) > 0.93
        assert GCWSClassifier(256).fit(X_train, y_train).score(X_test, y_test) < min(scores)

    def test_streams(self):
        """The first call fits the scaling."""
        first = Scaling.fit("standard", DenseRows(X_train[:60]))
        train, test = (first.apply(DenseRows(rows)).values for rows in (X_train, X_test))
        model, expected = GCWSClassifier(32, scale="standard"), GCWSClassifier(32)
        for part in (slice(0, 60), slice(60, 120)):
            model.partial_fit(X_train[part], y_train[part], classes=range(3))
            expected.partial_fit(train[part], y_train[part], classes=range(3))
        np.testing.assert_array_equal(model.decision_function(X_test), expected.decision_function(test))

    def test_a_failed_fit_changes_nothing(self):
        model = GCWSClassifier(32, scale="standard").fit(X_train, y_train)
        expected = model.decision_function(X_test)
        with pytest.raises(ValueError, match="C times sample_weight"):
            model.set_params(C=1e40).fit(X_train[:50] * 7, y_train[:50])
        np.testing.assert_array_equal(model.set_params(C=1.0).decision_function(X_test), expected)

    def test_fitted_again_without(self):
        model = GCWSClassifier(32, scale="standard").fit(X_train, y_train)
        train = scaled("standard", X_train)
        expected = GCWSClassifier(32).fit(train, y_train).decision_function(train)
        np.testing.assert_array_equal(
            model.set_params(scale=None).fit(train, y_train).decision_function(train), expected
        )
        codes = GCWS(32).fit(train).codes(train)
        model.set_params(scale="standard").fit(X_train, y_train)
        np.testing.assert_array_equal(
            model.set_params(scale=None).fit(codes, y_train).decision_function(codes), expected
        )
        model.set_params(scale="standard").fit(X_train, y_train)
        blocks = [(train, y_train)]
        np.testing.assert_array_equal(
            model.set_params(scale=None).fit_blocks(blocks).decision_function(codes), expected
        )

    def test_names_and_probabilities_and_threads(self):
        frame = pd.DataFrame(X_train).add_prefix("c")
        model = GCWSClassifier(32, scale="standard", probability="calibrated", n_jobs=2).fit(frame, y_train)
        expected = GCWSClassifier(32, scale="standard", probability="calibrated").fit(X_train, y_train)
        np.testing.assert_array_equal(
            model.predict_proba(pd.DataFrame(X_test).add_prefix("c")), expected.predict_proba(X_test)
        )


class TestRefusals:
    def test_codes(self):
        codes = GCWS(32).fit(X_train).codes(X_train)
        for model in MODELS:
            with pytest.raises(InputError, match=r"X is PackedCodes, but scale='standard'.*scale=None"):
                model(32, scale="standard").fit(codes, y_train)
        with pytest.raises(InputError, match="X is PackedCodes"):
            GCWSClassifier(32, scale="standard").partial_fit(codes, y_train, classes=range(3))
        model = GCWSClassifier(32, scale="standard").fit(X_train, y_train)
        with pytest.raises(InputError, match="X is PackedCodes"):
            model.predict(model.hasher_.codes(X_test))

    def test_blocks(self):
        for model in (GCWSClassifier, GCWSRegressor):
            with pytest.raises(InputError, match=r"scale='standard' needs all rows.*partial_fit"):
                model(32, scale="standard").fit_blocks([(X_train, y_train)])

    def test_pipelines(self):
        for model in (GCWSClassifier, GCWSRegressor):
            with pytest.raises(InputError, match="scale='standard' cannot be converted"):
                model(32, scale="standard").fit(X_train, y_train).to_sklearn()

    def test_another_value(self):
        with pytest.raises(ValueError, match="scale"):
            GCWSClassifier(32, scale="minmax").fit(X_train, y_train)

    @pytest.mark.parametrize(
        ("kind", "change"),
        [
            ("standard", set_tensor("scale_spread", lambda a: -a)),
            ("standard", set_tensor("scale_spread", lambda a: a * np.nan)),
            ("standard", set_tensor("scale_spread", lambda a: a[1:])),
            ("standard", set_tensor("scale_spread", None)),
            ("standard", set_tensor("scale_quantiles", np.zeros((2, 13)))),
            ("quantile", set_tensor("scale_quantiles", lambda a: a[::-1].copy())),
            ("quantile", set_tensor("scale_quantiles", lambda a: a[:0])),
            ("quantile", set_tensor("scale_center", np.zeros(13))),
        ],
    )
    def test_hostile_files(self, tmp_path, kind, change):
        path = tmp_path / "model"
        GCWSClassifier(8, scale=kind).fit(X_train, y_train).save(path)
        with path.open("rb") as file:
            header, tensors = read_container(file, "model")
        del header["sha256"], header["header_sha256"]
        write_container(path, header, tensors)
        load_model(path)
        change(header, tensors)
        write_container(path, header, tensors)
        with pytest.raises(InputError):
            load_model(path)


class TestWarning:
    def test_it_names_the_columns(self):
        frame = pd.DataFrame(X_train).add_prefix("c")
        with pytest.warns(
            ScaleWarning, match=r"1 of 13 columns hold over 98%.*\('c12'\).*pass scale='standard'"
        ) as caught:
            GCWSClassifier(8).fit(frame * np.where(np.arange(13) == 12, 1000, 1), y_train)
        assert caught[0].filename == __file__
        wide = np.hstack([X_train * 1e6, np.random.default_rng(0).random((120, 100))])
        with pytest.warns(ScaleWarning, match=r"columns hold .* and 4 more\)"):
            GCWSRegressor(8).fit(np.hstack([wide[:, :12] / wide[:, :12].mean(axis=0) * 1e6, wide]), y_train)

    def test_where_it_is_silent(self):
        heavy = X_train * np.where(np.arange(13) == 12, 1000, 1)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            GCWSClassifier(8).fit(scaled("standard", X_train), y_train)
            GCWSClassifier(8, scale="standard").fit(heavy, y_train)
            GCWSClassifier(8).fit(heavy[:, 9:], y_train)  # few columns
            GCWSClassifier(8).fit(sparse.csr_array(heavy), y_train)
            GCWSClassifier(8).fit(np.zeros((4, 9)), [0, 1, 0, 1])

    def test_constant_columns_do_not_count(self):
        values = np.random.default_rng(0).random((50, 6))
        constant = np.hstack([values, np.full((50, 20), 1.0)])
        assert len(heavy_columns(DenseRows(constant), None)) == 0
        assert len(heavy_columns(DenseRows(np.hstack([values, np.full((50, 1), 1e9)])), None)) == 0

    def test_the_center_counts(self):
        values = np.random.default_rng(0).random((50, 10))
        values[:, 0] += 1e9
        assert list(heavy_columns(DenseRows(values), None)) == [0]
        assert len(heavy_columns(DenseRows(values), values.mean(axis=0))) == 0

    def test_rows_are_sampled_over_the_whole_range(self):
        values = np.random.default_rng(0).random((20_000, 10))
        values[-5000:, 0] *= 1e6
        assert list(heavy_columns(DenseRows(values), None)) == [0]

    def test_extreme_numbers(self):
        values = np.random.default_rng(0).random((50, 10))
        values[:, 0] *= 1.7e308
        assert list(heavy_columns(DenseRows(values), None)) == [0]


def test_a_scaling_without_center_or_quantiles_keeps_zeros():
    assert not Scaling("standard", spread=np.ones(2)).needs_dense
    assert Scaling("standard", spread=np.ones(2), center=np.ones(2)).needs_dense
    assert Scaling("quantile", quantiles=np.ones((2, 2))).needs_dense
