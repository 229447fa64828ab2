"""Models on unions of hashes: every way to fit, convert and store them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import MinMaxScaler, QuantileTransformer, StandardScaler

from helpers.damage import set_field, set_tensor
from kernelsketch import GCWS, GCWSClassifier, GCWSClassifierCV, GCWSRegressor, load_model
from kernelsketch.exceptions import InputError
from kernelsketch.storage._container import read_container, write_container

digits, y = load_digits(return_X_y=True)
X = np.hstack([digits[:500], np.sqrt(digits[:500, :32])])
y = y[:500]
VIEWS = [64, 32]
KINDS = [GCWSClassifier, GCWSRegressor, GCWSClassifierCV]
CV = {"Cs": [1.0, 10.0], "cv": 3}


def made(kind, views=VIEWS, **given):
    return kind(32, views=views, **given, **(CV if kind is GCWSClassifierCV else {}))


@pytest.mark.parametrize("kind", KINDS)
def test_codes_give_the_same_model(kind):
    model = made(kind).fit(X, y)
    codes = GCWS(32, views=VIEWS).fit(X).codes(X)
    again = made(kind).fit(codes, y)
    np.testing.assert_array_equal(model.code_weights_, again.code_weights_)
    np.testing.assert_array_equal(model.predict(X[:50]), again.predict(codes[:50]))
    np.testing.assert_array_equal(model.predict(X[:50]), model.predict(sparse.csr_array(X[:50])))
    assert model.hasher_.codes(X) == codes
    assert model.n_features_in_ == 96


@pytest.mark.parametrize("kind", KINDS)
def test_codes_of_other_views_are_refused(kind):
    codes = GCWS(32, views=VIEWS).fit(X).codes(X)
    for views in (None, 2, [32, 64]):
        with pytest.raises(InputError, match=r"X has codes with views=\[64, 32\], but the model has .*set views="):
            made(kind, views).fit(codes, y)
    with pytest.raises(InputError, match=r"X has codes with views=None, but the model has views=\[64, 32\]: set"):
        made(kind).fit(GCWS(32).fit(X).codes(X), y)
    with pytest.raises(InputError, match=r"another hash than the model \(views \(64, 32\) against \(\)\)"):
        made(kind).fit(X, y).predict(GCWS(32).fit(X).codes(X))


@pytest.mark.parametrize("kind", [GCWS, *KINDS])
@pytest.mark.parametrize(
    ("views", "message"),
    [
        (5, "views=5 cannot divide 96 features into groups of equal width: pass a list of widths, whose sum is 96"),
        (97, "views=97 cannot divide 96 features"),
        (0, "'views' parameter of GCWS"),
        (-1, "'views' parameter of GCWS"),
        (2.0, "'views' parameter of GCWS"),
        ([64, 31], r"views=\[64, 31\] has widths of 95 columns in all, but X has 96 features: the sum must be 96"),
        ([96, 0], "whole numbers above 0"),
        ([97, -1], "whole numbers above 0"),
        ([48.0, 48.0], "whole numbers above 0"),
        ("64", "'views' parameter of GCWS"),
        (["a", "b"], "whole numbers above 0"),
        ([], "whole numbers above 0"),
        (48, "n_components=32 is less than the number of views, 48"),
    ],
)
def test_bad_values(kind, views, message):
    estimator = made(kind, views) if kind is not GCWS else GCWS(32, views=views)
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, y)
    assert not hasattr(estimator, "n_features_in_") or kind is GCWS


@pytest.mark.parametrize("kind", [GCWS, *KINDS])
def test_scikit_learn_parameters(kind):
    model = kind(32, views=VIEWS)
    assert clone(model).get_params()["views"] == VIEWS
    assert model.get_params()["views"] is VIEWS
    assert kind().views is None
    assert model.set_params(views=3).views == 3


@pytest.mark.parametrize("views", [2, (48, 48), [48, 48], np.array([48, 48])])
def test_forms_of_the_parameter(views, tmp_path):
    expected = GCWS(32, views=[48, 48]).fit(X)
    assert GCWS(32, views=views).fit(X).codes(X) == expected.codes(X)
    model = GCWSClassifier(32, views=views).fit(X, y)
    model.save(tmp_path / "model")
    back = load_model(tmp_path / "model")
    assert np.array_equal(back.views, views)
    np.testing.assert_array_equal(clone(back).fit(X, y).code_weights_, model.code_weights_)


@pytest.mark.parametrize("kind", [GCWSClassifier, GCWSRegressor])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_blocks(kind, form):
    rows = form(X)
    blocks = [(rows[start : start + 90], y[start : start + 90]) for start in range(0, 500, 90)]
    expected = made(kind).fit(X, y)
    np.testing.assert_array_equal(made(kind).fit_blocks(blocks).code_weights_, expected.code_weights_)
    codes = GCWS(32, views=VIEWS).fit(X).codes(X)
    parts = [(codes[:300], y[:300]), (codes[300:], y[300:])]
    np.testing.assert_array_equal(made(kind).fit_blocks(parts).code_weights_, expected.code_weights_)


def test_sparse_blocks_of_different_widths_are_refused():
    model = made(GCWSClassifier)
    for width in (90, 100):
        other = sparse.csr_array(np.ones((20, width)))
        with pytest.raises(InputError, match=f"a block has {width} columns, but the first one has 96: with views"):
            model.fit_blocks([(sparse.csr_array(X), y), (other, y[:20])])
    assert not hasattr(model, "n_features_in_")


@pytest.mark.parametrize("kind", [GCWSClassifier, GCWSRegressor])
def test_streams(kind, tmp_path):
    codes = GCWS(32, views=VIEWS).fit(X).codes(X)
    models = [made(kind), made(kind)]
    first = {"classes": np.arange(10)} if kind is GCWSClassifier else {}
    for part in (slice(0, 250), slice(250, 500)):
        models[0].partial_fit(X[part], y[part], **first)
        models[1].partial_fit(codes[part], y[part], **first)
        models[1].save(tmp_path / "model")
        models[1] = kind.load(tmp_path / "model")
    np.testing.assert_array_equal(models[0].code_weights_, models[1].code_weights_)


def test_pipelines_of_scikit_learn():
    model = made(GCWSClassifier).fit(X, y)
    pipeline = model.to_sklearn()
    assert pipeline[0].views == VIEWS
    np.testing.assert_allclose(pipeline.decision_function(X), model.decision_function(X), rtol=1e-5, atol=1e-5)
    back = GCWSClassifier.from_sklearn(pipeline)
    assert back.views == VIEWS
    np.testing.assert_allclose(back.decision_function(X), model.decision_function(X), rtol=1e-5, atol=1e-5)
    number = made(GCWSRegressor).fit(X, y)
    np.testing.assert_allclose(number.to_sklearn().predict(X), number.predict(X), rtol=1e-5, atol=1e-6)


def test_feature_union_makes_the_columns():
    union = FeatureUnion([("standard", StandardScaler()), ("quantile", QuantileTransformer(n_quantiles=50))])
    model = make_pipeline(union, GCWSClassifier(256, views=2, C=10)).fit(digits[:400], y[:400])
    assert model.score(digits[400:500], y[400:500]) > 0.9
    wide = union.fit_transform(digits[:400])
    plain = GCWSClassifier(256, views=[64, 64], C=10).fit(wide, y[:400])
    np.testing.assert_array_equal(model[-1].code_weights_, plain.code_weights_)
    search = GridSearchCV(clone(model), {"gcwsclassifier__views": [None, 2]}, cv=2).fit(digits[:200], y[:200])
    assert search.best_score_ > 0.8


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("views", [VIEWS, 2])
def test_files(kind, views, tmp_path):
    model = made(kind, views, center=X.mean(axis=0)).fit(X, y)
    model.save(tmp_path / "model")
    back = load_model(tmp_path / "model")
    assert back.hasher_.hasher.difference(model.hasher_.hasher) is None
    np.testing.assert_array_equal(back.predict(X), model.predict(X))
    back.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize(
    "change",
    [
        set_tensor("views", lambda views: views - 1),
        set_tensor("views", np.array([128, -32])),
        set_tensor("views", lambda views: views[:0]),
        set_tensor("views", np.ones(96, np.int64)),
        set_tensor("views", lambda views: views.astype(np.int32)),
        set_tensor("parameter.views", None),
        set_tensor("parameter.views", lambda views: views.astype(np.float64)),
        set_field("parameters.views", -1),
        set_field("parameters.views", {"pairs": [1]}),
        set_field("hash.n_features", 97),
    ],
)
def test_damaged_files(change, tmp_path):
    path = tmp_path / "model"
    made(GCWSClassifier).fit(X, y).save(path)
    with path.open("rb") as file:
        header, tensors = read_container(file, "model")
    del header["sha256"], header["header_sha256"]
    write_container(path, header, tensors)
    load_model(path)
    change(header, tensors)
    write_container(path, header, tensors)
    with pytest.raises(InputError):
        load_model(path)


def test_several_scales_are_better_than_the_worse_one():
    """What unions are for: a view that fits the data helps one that does not."""
    rng = np.random.default_rng(0)
    rows = np.exp(3 * rng.normal(size=(2000, 4)))
    labels = (np.log(rows[:, 0]) * np.log(rows[:, 1]) > 0).astype(int)
    union = FeatureUnion([("raw", MinMaxScaler()), ("quantile", QuantileTransformer(output_distribution="normal"))])
    both = make_pipeline(union, GCWSClassifier(512, views=2, C=10)).fit(rows[:1500], labels[:1500])
    raw = make_pipeline(MinMaxScaler(), GCWSClassifier(512, C=10)).fit(rows[:1500], labels[:1500])
    assert both.score(rows[1500:], labels[1500:]) > raw.score(rows[1500:], labels[1500:]) + 0.02
