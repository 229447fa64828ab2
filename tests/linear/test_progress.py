"""Progress of a fit is data: every estimator calls a function with the stage, the fold, C, passes and gaps."""

import numpy as np
import pytest

from kernelsketch import (
    GCWSClassifier,
    GCWSClassifierCV,
    GCWSRegressor,
    GCWSRegressorCV,
    GCWSTabularClassifier,
    GCWSTabularRegressor,
)
from kernelsketch.exceptions import InputTypeError
from kernelsketch.linear import FitProgress

RNG = np.random.default_rng(0)
X = RNG.gamma(1.0, size=(200, 5))
Y = (X[:, 0] > 1).astype(int) + (X[:, 1] > 1)


def events_of(model, y):
    events = []
    model.fit(X, y, progress=events.append)
    assert events
    assert all(isinstance(event, FitProgress) for event in events)
    return events


@pytest.mark.parametrize("model", [GCWSClassifier(16, C=3), GCWSRegressor(16, C=3), GCWSClassifier(16, C=3, tol=1e-7)])
def test_training(model):
    events = events_of(model, Y)
    assert {(event.stage, event.C, event.fold, event.n_folds) for event in events} == {("training", 3.0, 0, 0)}
    assert events[-1].passes == model.n_iter_
    assert len(events[-1].gaps) == (3 if hasattr(model, "classes_") else 1)
    assert (events[-1].gaps <= model.tol).all()


def test_calibration():
    events = events_of(GCWSClassifier(16, probability="calibrated"), Y)
    found = [(event.stage, event.fold) for event in events]
    assert list(dict.fromkeys(found)) == [("calibration", 1), ("calibration", 2), ("calibration", 3), ("training", 0)]


@pytest.mark.parametrize("refit", [True, False])
@pytest.mark.parametrize("kind", [GCWSClassifierCV, GCWSRegressorCV])
def test_cross_validation(kind, refit):
    model = kind(16, Cs=[1, 10], cv=3, refit=refit)
    events = events_of(model, Y)
    solved = [event for event in events if event.is_solved]
    assert [(event.fold, event.C) for event in solved] == [(fold, C) for fold in (1, 2, 3) for C in (1, 10)]
    np.testing.assert_array_equal(np.reshape([event.passes for event in solved], (3, 2)), model.n_iters_)
    assert {event.n_folds for event in solved} == {3}
    assert ({event.stage for event in events} - {"cross-validation"}) == ({"training"} if refit else set())
    assert not refit or events[-1].C == model.C_


@pytest.mark.parametrize("kind", [GCWSTabularClassifier, GCWSTabularRegressor])
def test_tables(kind, capsys):
    texts = []
    kind("quick").fit(X, Y, progress=texts.append)
    assert texts[0] == "200 rows, 5 columns, 5 features"
    assert any(text.startswith("training, C=") for text in texts)
    assert texts[-1].startswith("done")
    assert capsys.readouterr().out == ""


def test_verbose_prints_the_same(capsys):
    model = GCWSClassifierCV(16, Cs=[1, 10], verbose=1).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    name, scores = "[GCWSClassifierCV]", model.scores_.mean(axis=0)
    assert lines[:2] == [f"{name} fold 1/3, C={C}: {n} passes" for C, n in zip((1, 10), model.n_iters_[0], strict=True)]
    assert lines[-3:] == [
        *(f"{name} C={C}: mean score {score:.4f}" for C, score in zip((1, 10), scores, strict=True)),
        f"{name} training on all rows with C={model.C_:g}",
    ]
    GCWSClassifier(16, verbose=2).fit(X, Y)
    assert capsys.readouterr().out.startswith("[GCWSClassifier] pass 1: duality gap ")


def test_an_error_in_the_function_leaves_the_model_as_it_was():
    model = GCWSClassifier(16).fit(X, Y)
    before = model.fitted_

    def stop(event):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        model.fit(X[:100], Y[:100], progress=stop)
    assert model.fitted_ is before


@pytest.mark.parametrize("progress", [3, []])
@pytest.mark.parametrize("model", [GCWSClassifier(16), GCWSRegressorCV(16), GCWSTabularRegressor("quick")])
def test_what_is_no_function(model, progress):
    with pytest.raises(InputTypeError, match="progress must be a function") as caught:
        model.fit(X, Y, progress=progress)
    assert caught.value.parameter == "progress"


@pytest.mark.parametrize("fit", [GCWSClassifier(16).fit, GCWSClassifierCV(16).fit, GCWSRegressor(16).fit_blocks])
def test_it_is_refused_before_rows_are_looked_at(fit):
    rows = () if fit.__name__ == "fit_blocks" else (object(), object())
    with pytest.raises(InputTypeError, match="progress must be a function"):
        fit(*rows or (iter([]),), progress="often")


def test_verbose_prints_no_passes_of_folds(capsys):
    GCWSClassifierCV(16, Cs=[1.0], refit=False, verbose=2).fit(X, Y)
    assert "pass 1" not in capsys.readouterr().out
