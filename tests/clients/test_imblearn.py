"""imbalanced-learn: its samplers and ensembles with our estimators."""

import numpy as np

from helpers.clients import client, customers
from kernelsketch import GCWSTabularClassifier

ensemble, over, under = (client(f"imblearn.{part}") for part in ("ensemble", "over_sampling", "under_sampling"))
make_pipeline = client("imblearn.pipeline").make_pipeline
X, LEAVES, _ = customers()
NEW, OF_NEW, _ = customers(seed=1)
RARE = np.flatnonzero((LEAVES == "stays") | (np.arange(len(X)) % 4 == 0))  # a quarter of those who leave
X, LEAVES = X.iloc[RARE].reset_index(drop=True), LEAVES[RARE]


def recall(model):
    return np.mean(model.predict(NEW)[OF_NEW == "leaves"] == "leaves")


def test_samplers_of_rows_as_they_are():
    plain = GCWSTabularClassifier("quick").fit(X, LEAVES)
    for sampler in (under.RandomUnderSampler(random_state=0), over.RandomOverSampler(random_state=0)):
        model = make_pipeline(sampler, GCWSTabularClassifier("quick")).fit(X, LEAVES)
        assert recall(model) > recall(plain)
        assert list(model.feature_names_in_) == list(X.columns)


def test_made_rows():
    filled = X.drop(columns="comment").fillna({"calls": 0, "plan": "none"})
    sampler = over.SMOTENC(["plan", "region"], random_state=0)
    model = make_pipeline(sampler, GCWSTabularClassifier("quick")).fit(filled, LEAVES)
    assert set(model.predict(filled)) == {"leaves", "stays"}
    assert [column.kind for column in model[-1].columns_] == ["number", "number", "number", "category", "category"]


def test_an_ensemble_of_balanced_samples():
    numbers = X[["months", "calls"]].to_numpy()  # it turns frames into arrays of numbers
    model = ensemble.BalancedBaggingClassifier(GCWSTabularClassifier("quick"), n_estimators=3, random_state=0)
    model.fit(numbers, LEAVES)
    assert model.predict_proba(numbers).shape == (len(numbers), 2)
