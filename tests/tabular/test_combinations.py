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


@pytest.mark.parametrize("chosen", [None, ["f"]])
def test_truth_values_are_the_same_in_all_forms(chosen):
    """A file has the text True where a frame has a boolean."""
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"a": rng.normal(size=240), "f": rng.random(240) < 0.5})
    y = np.where(X["f"] ^ (rng.random(240) < 0.1), "p", "q")
    texts = [
        X.assign(f=X["f"].map(names)) for names in ({True: "True", False: "False"}, {True: "true", False: "false"})
    ]
    forms = [X, *texts, X.assign(f=X["f"].astype("category")), X.astype({"f": object})]
    for train in forms:
        model = GCWSTabularClassifier("quick", categorical_features=chosen).fit(train, y)
        predictor = model.predictor()
        for test in forms:
            assert model.score(test, y) > 0.85
            row = test.iloc[0].to_dict()
            assert predictor.predict(row) == model.predict(test[:1])[0]


def test_true_beside_other_words_stays_a_category():
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"f": rng.choice(["True", "False", "unknown"], 240)})
    y = X["f"] == "True"
    model = GCWSTabularClassifier("quick").fit(X, y)
    known = X["f"] != "unknown"  # rows in which the column looks like truth values
    assert model.score(X[known], y[known]) == 1


def test_time_differences_are_numbers_in_all_forms():
    rng = np.random.default_rng(0)
    X = pandas.DataFrame({"a": rng.normal(size=120), "td": pandas.to_timedelta(rng.integers(0, 99, 120), unit="h")})
    y = X["td"] > pandas.Timedelta("50h")
    model = GCWSTabularClassifier("quick").fit(X, y)
    np.testing.assert_array_equal(model.predict(X.to_dict("records")), model.predict(X))
    assert model.predictor().predict(X.iloc[0].to_dict()) == model.predict(X[:1])[0]
    again = GCWSTabularClassifier("quick").fit(X.to_dict("records"), y)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("labels", ["abab", "aabca", "aabb"])
def test_tiny_tables_have_a_default_fit(labels):
    model = GCWSTabularClassifier().fit(np.arange(2.0 * len(labels)).reshape(-1, 2), list(labels))
    assert set(model.predict(np.zeros((3, 2)))) <= set(labels)
