"""Models as pipelines of scikit-learn and back: the same decisions."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_digits
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LogisticRegression, Perceptron, Ridge, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from kernelsketch import GCWS, GCWSClassifier, GCWSClassifierCV, GCWSRegressor, GCWSRegressorCV, load_model
from kernelsketch.exceptions import InputError, InputTypeError

X, y = load_digits(return_X_y=True)
X, y, X_test = X[:300], y[:300], X[300:500]
close = {"rtol": 0, "atol": 1e-5}


@pytest.mark.parametrize("count", [2, 10])
@pytest.mark.parametrize("params", [{}, {"loss": "hinge", "bits": 4}, {"loss": "log_loss", "tol": 1e-5}])
def test_to_sklearn(params, count):
    rows = np.vstack([X_test, np.zeros((1, 64)), -X_test[:5]])  # an empty row, and codes that training did not meet
    model = GCWSClassifier(64, **params).fit(X, y % count)
    pipeline = model.to_sklearn()
    np.testing.assert_allclose(pipeline.decision_function(rows), model.decision_function(rows), **close)
    np.testing.assert_array_equal(pipeline.predict(rows), model.predict(rows))
    if model.loss == "log_loss":
        np.testing.assert_allclose(pipeline.predict_proba(rows), model.predict_proba(rows), **close)
    back = GCWSClassifier.from_sklearn(pipeline)
    assert back.loss == model.loss
    assert set(back.used_codes_) <= set(model.used_codes_)  # codes of rows that weigh nothing are left out
    np.testing.assert_allclose(back.decision_function(rows), model.decision_function(rows), **close)
    pipeline.fit(X, y % count)  # it learns on its own too


def test_other_models_to_sklearn():
    model = GCWSRegressor(64).fit(X, y)
    np.testing.assert_allclose(model.to_sklearn().predict(X_test), model.predict(X_test), **close)
    model = GCWSClassifierCV(32, Cs=[1.0, 2.0], cv=2).fit(X, y)
    pipeline = model.to_sklearn()
    assert pipeline[-1].C == model.C_
    np.testing.assert_array_equal(pipeline.predict(X_test), model.predict(X_test))
    with pytest.raises(NotFittedError):
        GCWSClassifier().to_sklearn()


def test_names_of_features():
    frame = pd.DataFrame(X).add_prefix("pixel")
    model = GCWSClassifier(16, center="mean").fit(frame, y)
    pipeline = model.to_sklearn()
    np.testing.assert_array_equal(pipeline.predict(frame), model.predict(frame))
    back = GCWSClassifier.from_sklearn(pipeline)
    np.testing.assert_array_equal(back.predict(frame), model.predict(frame))


@pytest.mark.parametrize("count", [2, 10])
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize(
    "linear",
    [
        LinearSVC(C=0.5),
        LinearSVC(fit_intercept=False, loss="hinge"),
        LinearSVC(C=1e-3, intercept_scaling=2.0, penalty="l1"),
        SGDClassifier(random_state=0),
        SGDClassifier(loss="log_loss", random_state=0),
        LogisticRegression(),
    ],
)
def test_from_sklearn(tmp_path, linear, normalize, count):
    if isinstance(linear, LogisticRegression) and count > 2:
        pytest.skip("multinomial")
    labels = np.array([f"digit {i}" for i in range(10)])[y % count]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of passes that do not suffice
        pipeline = make_pipeline(GCWS(32, bits=5, normalize=normalize, random_state=7), linear).fit(X, labels)
    model = GCWSClassifier.from_sklearn(pipeline)
    values = pipeline.decision_function(X_test)
    np.testing.assert_allclose(model.decision_function(X_test), values, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X_test), pipeline.predict(X_test))
    if hasattr(pipeline, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X_test), pipeline.predict_proba(X_test), atol=1e-9)
    assert model.get_params().items() >= {"n_components": 32, "bits": 5, "random_state": 7}.items()
    assert model.fitted_.weights.shape[2] <= 32
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(
        load_model(tmp_path / "model").decision_function(X_test), model.decision_function(X_test)
    )
    model.partial_fit(X, labels)


def test_what_cannot_be_converted():
    def fitted(linear):
        return make_pipeline(GCWS(8), linear).fit(X, y)

    with pytest.raises(InputError, match="10 classes is one multinomial model"):
        GCWSClassifier.from_sklearn(fitted(LogisticRegression(tol=0.1)))
    with pytest.raises(InputError, match="loss='modified_huber' cannot be converted"):
        GCWSClassifier.from_sklearn(fitted(SGDClassifier(loss="modified_huber")))
    with pytest.raises(InputError, match="crammer_singer"):
        GCWSClassifier.from_sklearn(fitted(LinearSVC(multi_class="crammer_singer", tol=1.0, max_iter=10_000)))
    for linear in (Ridge(), Perceptron()):
        with pytest.raises(InputTypeError, match="pipeline ends in"):
            GCWSClassifier.from_sklearn(fitted(linear))
    with pytest.raises(InputTypeError, match="got StandardScaler, GCWS, LinearSVC"):
        GCWSClassifier.from_sklearn(
            make_pipeline(StandardScaler(), GCWS(8), LinearSVC(tol=0.1, max_iter=10_000)).fit(X, y)
        )
    with pytest.raises(InputTypeError, match="got LinearSVC"):
        GCWSClassifier.from_sklearn(LinearSVC())
    with pytest.raises(NotFittedError):
        GCWSClassifier.from_sklearn(make_pipeline(GCWS(8), LinearSVC()))
    changed = fitted(LinearSVC())
    changed[0].set_params(bits=4)
    with pytest.raises(InputError, match="changed after fit"):
        GCWSClassifier.from_sklearn(changed)


def test_a_model_without_weights_and_one_that_is_sparse():
    pipeline = make_pipeline(GCWS(8), LinearSVC()).fit(X, y)
    pipeline[-1].sparsify()
    np.testing.assert_array_equal(GCWSClassifier.from_sklearn(pipeline).predict(X_test), pipeline.predict(X_test))
    pipeline[-1].densify()
    pipeline[-1].coef_ *= 0
    model = GCWSClassifier.from_sklearn(pipeline)
    assert len(model.used_codes_) == 1
    np.testing.assert_array_equal(model.predict(X_test), pipeline.predict(X_test))


@pytest.mark.parametrize("model", [GCWSClassifier(16), GCWSClassifierCV(16), GCWSRegressor(16), GCWSRegressorCV(16)])
@pytest.mark.parametrize("select", [SelectFromModel, RFE])
def test_selection_of_columns_finds_no_weight_per_column(model, select):
    """The models have a weight for each code and no ``coef_``, which would be one for each column."""
    with pytest.raises(ValueError, match="`coef_` or `feature_importances_`"):
        select(model).fit_transform(X, y)
