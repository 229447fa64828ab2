"""Optuna: studies tune parameters of our estimators."""

import numpy as np
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

from helpers.clients import client, customers
from kernelsketch import GCWSClassifier, GCWSTabularClassifier

optuna = client("optuna")
X, LEAVES, _ = customers()
NUMBERS = X[["months", "calls"]].fillna(0)


def study():
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0))


def test_a_study_of_a_model_of_a_table():
    def objective(trial):
        model = GCWSTabularClassifier(
            "quick",
            max_categories=trial.suggest_int("max_categories", 1, 10),
            class_weight=trial.suggest_categorical("class_weight", [None, "balanced"]),
        ).fit(X, LEAVES)
        trial.set_user_attr("error", model.held_out_error_)
        return model.held_out_score_

    found = study()
    found.optimize(objective, n_trials=3)
    best = GCWSTabularClassifier("quick", **found.best_params).fit(X, LEAVES)
    assert best.held_out_score_ == found.best_value


def test_a_study_prunes_a_hashed_model():
    def objective(trial):
        C, n_components = trial.suggest_float("C", 1e-2, 1e2, log=True), trial.suggest_int("n_components", 16, 64)
        scores = []
        for fold in range(3):
            train = np.arange(len(NUMBERS)) % 3 != fold
            model = make_pipeline(MinMaxScaler(), GCWSClassifier(n_components, C=C))
            scores.append(model.fit(NUMBERS[train], LEAVES[train]).score(NUMBERS[~train], LEAVES[~train]))
            trial.report(float(np.mean(scores)), fold)
            if trial.should_prune():
                raise optuna.TrialPruned
        return float(np.mean(scores))

    found = study()
    found.optimize(objective, n_trials=8)
    assert found.best_value > np.mean(LEAVES == "stays")


@pytest.mark.filterwarnings("ignore:OptunaSearchCV is experimental", "ignore:.*optuna.terminator:FutureWarning")
def test_a_search_as_in_scikit_learn():
    search_of = client("optuna_integration").OptunaSearchCV
    distributions = {
        "C": optuna.distributions.FloatDistribution(1e-2, 1e2, log=True),
        "n_components": optuna.distributions.IntDistribution(16, 64),
    }
    search = search_of(GCWSClassifier(), distributions, cv=3, n_trials=4, study=study(), random_state=0)
    search.fit(NUMBERS, LEAVES)
    again = cross_val_score(GCWSClassifier(**search.best_params_), NUMBERS, LEAVES, cv=3).mean()
    assert np.isclose(search.best_score_, again)
    efforts = {"effort": optuna.distributions.CategoricalDistribution(["quick"])}
    tables = search_of(GCWSTabularClassifier(), efforts, cv=3, n_trials=1, study=study(), random_state=0)
    assert tables.fit(X, LEAVES).predict(X[:3]).shape == (3,)
