"""Ctrl-C during fits of models of tables raises, or with ``on_interrupt="keep"`` ends them early."""

import os
import signal
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from kernelsketch import GCWSTabularClassifier, GCWSTabularRegressor, load_model
from kernelsketch.exceptions import InterruptWarning, ParameterError
from kernelsketch.tabular._boosting import Boosting
from kernelsketch.tabular._effort import EFFORTS, effort_of

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a process of one's own on Windows")
EFFORT = {"effort": "default", "n_rows": None, "n_kernel_rows": None, "n_steps": 2, "n_components": 300}
EFFORT |= {"Cs": [0.1, 1.0, 10.0], "n_trees": 80}
SPREAD_TREES = 5 * 40  # of the folds, which learn how large errors are
LARGE = {**EFFORT, "n_kernel_rows": 100}
rng = np.random.default_rng(0)
X = rng.normal(size=(400, 3))
NUMBERS = 2.0 * (X[:, 0] > 0.3) + (X[:, 1] * X[:, 2] > 0) + 0.2 * rng.normal(size=400)
TWO, THREE = NUMBERS > 1, np.digitize(NUMBERS, [0.5, 2])
KINDS = {
    "two": (GCWSTabularClassifier, TWO, EFFORT),
    "three": (GCWSTabularClassifier, THREE, EFFORT),
    "numbers": (GCWSTabularRegressor, NUMBERS, EFFORT),
    "large": (GCWSTabularClassifier, TWO, LARGE),
}


@pytest.fixture(autouse=True)
def handler():
    """A shell may have started the tests without the handler of Python."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def interrupt():
    os.kill(os.getpid(), signal.SIGINT)


def interrupting(*moments):
    """A function for ``progress`` that interrupts when a text begins with one of the moments, and the texts."""
    left, told = list(moments), []

    def progress(text):
        told.append(text)
        if left and text.startswith(left[0]):
            left.pop(0)
            interrupt()

    return progress, told


def at_tree(monkeypatch, number):
    """Interrupt before a tree grows. ``number`` counts the trees of all boostings."""
    grown, derivatives = [0], Boosting._derivatives

    def counted(self):
        grown[0] += 1
        if grown[0] == number:
            interrupt()
        return derivatives(self)

    monkeypatch.setattr(Boosting, "_derivatives", counted)
    return grown


def predictions(model):
    return model.predict_proba(X) if hasattr(model, "predict_proba") else model.predict(X)


def check_repeats(kind, model):
    """The effort of a fit that ended early makes the same model, also after it was saved."""
    estimator, y, _ = KINDS[kind]
    again = estimator(model.effort_).fit(X, y)
    assert again.effort_ == model.effort_
    np.testing.assert_array_equal(predictions(again), predictions(model))
    assert again.held_out_score_ == model.held_out_score_
    if hasattr(model, "predict_interval"):
        np.testing.assert_array_equal(again.predict_interval(X), model.predict_interval(X))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("moment", "Cs", "n_scored", "has_trees"),
    [
        ("weights of", 1, 1, False),  # the end of the last stage without a model
        ("fold 1 of 5, C=0.1", 1, 1, False),
        ("fold 1 of 5, C=1,", 1, 1, False),  # in the middle, so it is dropped
        ("fold 3 of 5, C=1,", 3, 2, False),
        ("fold 5 of 5, C=1,", 3, 4, False),
        ("training", 3, None, False),
    ],
)
def test_linear_models_end_early(kind, moment, Cs, n_scored, has_trees, tmp_path):
    estimator, y, effort = KINDS[kind]
    progress, told = interrupting(moment)
    model = estimator(effort, on_interrupt="keep")
    if moment == "weights of":  # no model yet
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y, progress=progress)
        assert not hasattr(model, "model_")
        return
    with pytest.warns(InterruptWarning, match="A second Ctrl-C stops it without a model") as warned:
        model.fit(X, y, progress=progress)
    assert [one.filename for one in warned] == [__file__]
    assert sum(text.startswith("interrupted: ") for text in told) == 1
    assert told[-2].endswith(" of 320 trees, until the interruption") or "folds, until" in told[-2]
    assert len(model.effort_["Cs"]) <= Cs
    assert model.effort_.get("n_scored_folds") == n_scored
    assert model.effort_["n_trees"] == 0
    assert model.trees_share_ == 0
    check_repeats(kind, model)
    model.save(tmp_path / "m.safetensors")
    loaded = load_model(tmp_path / "m.safetensors")
    assert loaded.effort_ == model.effort_
    assert loaded.on_interrupt == "keep"


@pytest.mark.parametrize(
    ("kind", "number", "n_trees"),
    [
        ("two", 1, 0),
        ("two", 40 * 15 - 1, 0),  # before the last one of the first step, of 5 folds and 3 sizes
        ("two", 40 * 15, 40),
        ("two", 40 * 15 + 1, 40),
        ("three", 40 * 15 + 77, 40),
        ("numbers", 40 * 15 + 1, 40),
        ("large", 39, 0),
        ("large", 40, 40),
    ],
)
def test_trees_end_early(kind, number, n_trees, monkeypatch):
    estimator, y, effort = KINDS[kind]
    grown = at_tree(monkeypatch, number)
    with pytest.warns(InterruptWarning):
        model = estimator(effort, on_interrupt="keep").fit(X, y)
    of_intervals = SPREAD_TREES + 3 * n_trees if kind == "numbers" else 0  # also of fewer rows in three folds
    assert grown[0] == number + of_intervals  # and no other tree of the blend grew
    assert model.effort_["n_trees"] == n_trees
    assert (model.trees_share_ > 0) == (n_trees > 0)
    monkeypatch.undo()
    check_repeats(kind, model)


@pytest.mark.parametrize("kind", ["two", "three"])
def test_trees_of_all_rows_are_left_out(kind, monkeypatch):
    estimator, y, effort = KINDS[kind]
    grown = at_tree(monkeypatch, 0)
    full = estimator(effort).fit(X, y)
    monkeypatch.undo()
    at_tree(monkeypatch, grown[0] - 1)
    with pytest.warns(InterruptWarning):
        model = estimator(effort, on_interrupt="keep").fit(X, y)
    monkeypatch.undo()
    assert model.effort_ == full.effort_ | {"final_trees": False}
    assert model.trees_share_ == full.trees_share_ > 0
    assert model.held_out_score_ == full.held_out_score_
    check_repeats(kind, model)


@pytest.mark.parametrize("kind", ["two", "large"])
def test_trees_that_say_how_long_others_take_end_early(kind, monkeypatch):
    estimator, y, effort = KINDS[kind]
    monkeypatch.setitem(EFFORTS, "default", replace(EFFORTS["default"], n_kernel_rows=effort["n_kernel_rows"]))
    grown = at_tree(monkeypatch, 1)
    with pytest.warns(InterruptWarning):
        model = estimator(budget=1000.0, on_interrupt="keep").fit(X, y)
    assert grown[0] == 1
    assert model.effort_["n_trees"] == model.trees_share_ == 0


def test_the_default_raises_and_changes_nothing():
    model = GCWSTabularRegressor(EFFORT).fit(X, NUMBERS)
    before = model.predict(X)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, -NUMBERS, progress=interrupting("fold 3")[0])
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.filterwarnings("ignore::kernelsketch.exceptions.InterruptWarning")
def test_a_second_interruption_raises():
    model = GCWSTabularRegressor(EFFORT, on_interrupt="keep")
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, NUMBERS, progress=interrupting("fold 3", "training")[0])
    assert not hasattr(model, "model_")


def test_an_ignored_signal_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        model = GCWSTabularRegressor(EFFORT, on_interrupt="keep").fit(X, NUMBERS, progress=interrupting("fold 3")[0])
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    assert model.effort_ == {**EFFORT}


def test_other_threads_fit():
    model = GCWSTabularRegressor(EFFORT, on_interrupt="keep")
    thread = threading.Thread(target=model.fit, args=(X, NUMBERS))
    thread.start()
    thread.join()
    assert model.effort_["n_trees"] == 80


def test_further_outputs_get_the_least_effort():
    both = np.column_stack([NUMBERS, -NUMBERS])
    told = []

    def progress(text):
        told.append(text)
        if len(told) > 3 and text.startswith("fold 2 of 5, C=1,") and "interrupted" not in " ".join(told):
            interrupt()

    model = GCWSTabularRegressor(EFFORT, on_interrupt="keep")
    with pytest.warns(InterruptWarning):
        model.fit(X, both, progress=progress)
    first, second = model.estimators_
    assert first.effort_["n_scored_folds"] == 1
    assert second.effort_["effort"] == "quick"
    assert {one.on_interrupt for one in model.estimators_} == {"keep"}
    assert model.predict(X).shape == (400, 2)


def test_bad_values():
    with pytest.raises(ParameterError, match=r"on_interrupt"):
        GCWSTabularRegressor(on_interrupt="stop").fit(X, NUMBERS)
    for wrong in ({"n_scored_folds": 0}, {"final_trees": 1}):
        with pytest.raises(ParameterError, match=next(iter(wrong))):
            effort_of({**EFFORT, **wrong})
