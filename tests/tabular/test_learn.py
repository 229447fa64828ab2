"""The choice of C by held-out rows."""

import numpy as np
import pytest

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor
from kernelsketch.tabular import _learn
from kernelsketch.tabular._learn import clearly_worse


def test_clearly_worse_means_by_more_than_chance():
    best = np.zeros(100)
    weights = np.ones(100)
    for wrong in (0, 1, 2):  # two rows more: their standard error is about 1.4 rows
        assert not clearly_worse((np.arange(100) < wrong).astype(float), best, weights)
    assert clearly_worse((np.arange(100) < 3).astype(float), best, weights)
    assert not clearly_worse(best, (np.arange(100) < 3).astype(float), weights)
    only = np.where(np.arange(100) < 3, 0.0, 1.0)  # rows of weight 0 do not count
    assert not clearly_worse((np.arange(100) < 3).astype(float), best, only)


@pytest.mark.parametrize("ends", [False, True])
def test_a_worse_c_ends_the_path_of_every_fold(monkeypatch, ends):
    """On labels with much noise large C are worse, and nobody trains beyond the first that is."""
    trained = []
    original = _learn.held_out_values

    def counted(*args, **options):
        trained.append(0)
        for found in original(*args, **options):
            trained[-1] += 1
            yield found

    monkeypatch.setattr(_learn, "held_out_values", counted)
    monkeypatch.setattr(_learn, "clearly_worse", lambda *_: ends)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 4))
    y = X[:, 0] + rng.normal(size=240) > 0
    GCWSTabularClassifier().fit(X, y)
    assert trained == ([2, 2, 2] if ends else [4, 4, 4])


@pytest.mark.parametrize("kind", [GCWSTabularClassifier, GCWSTabularRegressor])
def test_rows_of_weight_0_do_not_count(kind):
    """Whatever their targets are, the model of the other rows is the same."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(260, 5))
    y = X[:, 0] if kind is GCWSTabularRegressor else (X[:, 0] > 0).astype(int)
    weights = np.where(np.arange(260) < 100, 0.0, 1.0)
    other = np.where(weights > 0, y, 1 - y if kind is GCWSTabularClassifier else 1000 * X[:, 1])
    models = [kind("quick").fit(X, targets, sample_weight=weights) for targets in (y, other)]
    assert models[0].held_out_score_ == pytest.approx(models[1].held_out_score_, abs=1e-6)
    values = [m.predict_proba(X) if kind is GCWSTabularClassifier else m.predict(X) for m in models]
    np.testing.assert_allclose(*values, atol=1e-3)
