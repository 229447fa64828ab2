"""Parameters of table models in combination: files, pickles, predictors, intervals and explanations agree on each."""

import pickle

import numpy as np
import pandas
import pytest

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor, load_model

N, N_TRAIN = 330, 290


def table():
    """Numbers with gaps, categories, codes, ids, dates and many shops, and what numbers and counts depend on."""
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"a": rng.normal(size=N), "b": rng.choice(list("xyz"), N), "code": rng.integers(0, 5, N)})
    X["id"], X["shop"] = np.arange(N), [f"s{i}" for i in rng.integers(0, 40, N)]
    X["when"] = pandas.Timestamp("2020-01-01") + pandas.to_timedelta(rng.integers(0, 900, N), "D")
    X.loc[rng.random(N) < 0.1, "a"] = np.nan
    return X, np.nan_to_num(X["a"]) + (X["b"] == "x") + X["code"] % 2 + 0.3 * rng.normal(size=N)


ABOUT_COLUMNS = {"categorical_features": ["code"], "infinity": "missing", "drop": ["id", "shop"]}
CASES = [
    (GCWSTabularRegressor("quick", loss="poisson", **ABOUT_COLUMNS), {"groups": "shop"}),
    (GCWSTabularRegressor("quick", loss="quantile", quantile=0.8, max_categories=3), {"time": "when"}),
    (GCWSTabularRegressor("quick", loss="absolute_error", drop=["id"]), {"groups": "id"}),
    (GCWSTabularRegressor("quick", scoring="neg_mean_absolute_error", **ABOUT_COLUMNS), {"time": "when"}),
    (GCWSTabularClassifier("quick", scoring="f1", **ABOUT_COLUMNS), {"groups": "shop"}),
    (GCWSTabularClassifier("quick", threshold=0.3, drop=["id"]), {"time": "when"}),
    (GCWSTabularClassifier("quick", scoring="neg_log_loss", max_categories=3), {"groups": "shop"}),
    (GCWSTabularClassifier(scoring="balanced_accuracy", drop=["shop"]), {"groups": "shop"}),
    (GCWSTabularRegressor(loss="poisson", drop=["id"]), {}),
]


OF_CLASSES = [(*case, True) for case in CASES if isinstance(case[0], GCWSTabularClassifier)]  # probabilities as targets


@pytest.mark.parametrize(("model", "fit", "soft"), [*((*case, False) for case in CASES), *OF_CLASSES])
def test_all_ways_to_predict_agree(model, fit, soft, tmp_path):
    X, f = table()
    is_class = isinstance(model, GCWSTabularClassifier)
    P = 1 / (1 + np.exp(2 - 2 * f))
    y = np.column_stack([1 - P, P]) if soft else (f > 1).astype(int) if is_class else np.floor(np.exp(f / 2))
    model.fit(X[:N_TRAIN], y[:N_TRAIN], **fit)
    new = X[N_TRAIN:]
    expected = model.predict(new)
    model.save(tmp_path / "model.safetensors")
    for other in (load_model(tmp_path / "model.safetensors"), pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(new), expected)
        if is_class:
            np.testing.assert_array_equal(other.predict_set(new), model.predict_set(new))
        else:
            np.testing.assert_array_equal(other.predict_interval(new), model.predict_interval(new))
    predictor = model.predictor()
    np.testing.assert_array_equal(predictor.predict(new), expected)
    rows = new.to_dict("records")
    alone = np.array([model.predict(new[i : i + 1])[0] for i in range(10)])
    np.testing.assert_array_equal([predictor.predict(row) for row in rows[:10]], alone)
    for method in ("shapley", "hashes"):
        found = model.explain(new[:3], method=method)
        np.testing.assert_allclose(found.base_values + found.values.sum(axis=1), found.output, rtol=1e-9, atol=1e-9)
        for name in model.drop or ():
            assert not found.values[:, X.columns.get_loc(name)].any()
