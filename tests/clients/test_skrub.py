"""skrub: our estimators end its pipelines, or take tables as they are."""

import numpy as np
from sklearn.model_selection import cross_validate
from sklearn.pipeline import make_pipeline

from helpers.clients import client, customers
from kernelsketch import GCWSClassifier, GCWSTabularClassifier, GCWSTabularRegressor

skrub = client("skrub")
X, LEAVES, PAYS = customers()


def test_its_pipelines_end_with_a_hashed_model():
    model = make_pipeline(skrub.TableVectorizer(), GCWSClassifier(64, scale="standard"))
    assert model.fit(X.fillna({"calls": 0}), LEAVES).score(X.fillna({"calls": 0}), LEAVES) > 0.8


def test_its_pipelines_end_with_a_model_of_tables():
    made = skrub.tabular_pipeline(GCWSTabularClassifier("quick"))
    assert made.fit(X, LEAVES).score(X, LEAVES) > 0.8
    cleaned = make_pipeline(skrub.Cleaner(), GCWSTabularRegressor("quick")).fit(X, PAYS)
    assert cleaned.score(X, PAYS) > 0.8


def test_data_ops():
    data = skrub.var("table", X.assign(leaves=LEAVES))
    features, y = data.drop(columns="leaves").skb.mark_as_X(), data["leaves"].skb.mark_as_y()
    plan = features.skb.apply(GCWSTabularClassifier("quick"), y=y)
    learner = plan.skb.make_learner(fitted=True)
    direct = GCWSTabularClassifier("quick").fit(X, LEAVES)
    np.testing.assert_array_equal(learner.predict({"table": X.assign(leaves=LEAVES)}), direct.predict(X))
    assert plan.skb.cross_validate(cv=3)["test_score"].mean() > 0.6
    found = cross_validate(direct, X, LEAVES, cv=3)
    assert found["test_score"].mean() > 0.6
