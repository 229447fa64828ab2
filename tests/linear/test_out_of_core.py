"""Fits whose codes are in a file: the weights of ``fit``, bit for bit, in less memory than the limit."""

import sys
import textwrap
from functools import cache

import numpy as np
import pytest

from helpers.memory import extra_memory
from kernelsketch import GCWS, GCWSClassifier, GCWSRegressor
from kernelsketch.linear import MemoryBoundError, _disk_codes, _repeats, _solver

ROWS, HASHES = 17_000, 256  # more than a segment, and enough codes for Newton's method


@cache
def data(kind):
    """Codes, classes and numbers of rows.

    Codes of normal rows go together in pairs, those of three positive columns in fours, and rounded rows have the codes
    of others.
    """
    rng = np.random.default_rng(0)
    X, noise = rng.normal(size=(ROWS, 10)), rng.normal(size=ROWS)
    if kind == "positive":
        X = rng.random((ROWS, 3)) + 0.01
    elif kind == "rounded":
        X = X[:, :3].round()
    codes = GCWS(HASHES, random_state=0).fit(X).codes(X)
    two = ((X[:, 0] - X[:, 1]) * X[:, 2] + 0.3 * noise > 0).astype(int)
    by_codes = codes.unpack()[:, :9].sum(axis=1, dtype=float)
    number = X[:, 0] * X[:, 1] + 0.2 * noise
    return codes, {"two": two, "four": two + 2 * (X[:, 2] > 0.3), "number": number, "by codes": by_codes}


# The model, its rows and targets, and what the fit uses.
CASES = {
    "squared hinge": (GCWSClassifier(C=0.1), "positive", "two", {"newton"}),
    "squared hinge, pairs of codes": (GCWSClassifier(C=0.1), "normal", "two", set()),
    "hinge": (GCWSClassifier(loss="hinge", tol=1e-2), "normal", "four", set()),
    "log loss": (GCWSClassifier(loss="log_loss"), "normal", "two", {"newton"}),
    "log loss, four classes": (GCWSClassifier(loss="log_loss", C=0.3), "normal", "four", {"newton"}),
    "log loss, float64": (GCWSClassifier(loss="log_loss", tol=1e-5), "normal", "two", {"newton"}),
    "log loss, few passes": (GCWSClassifier(loss="log_loss", max_iter=3), "normal", "two", {"newton"}),
    "squared error": (GCWSRegressor(), "normal", "number", {"newton"}),
    "huber": (GCWSRegressor(loss="huber"), "positive", "number", {"newton"}),
    "squared error, merged": (GCWSRegressor(tol=1e-6), "rounded", "number", {"merged"}),
    "huber, merged": (GCWSRegressor(loss="huber"), "rounded", "by codes", {"merged"}),
    "calibrated": (GCWSClassifier(probability="calibrated", C=0.1), "positive", "four", {"newton"}),
    "calibrated log loss": (GCWSClassifier(probability="calibrated", loss="log_loss"), "normal", "two", {"newton"}),
}


@pytest.fixture
def seen(monkeypatch):
    """What fits use: tables on disk, Newton's method, and the merger of equal rows."""
    seen = set()

    def watch(owner, name, word):
        inner = getattr(owner, name)

        def watched(*args):
            found = inner(*args)
            if name == "__init__" or found is not None:
                seen.add(word)
            return found

        monkeypatch.setattr(owner, name, watched)

    watch(_disk_codes.DiskCodeTable, "__init__", "disk")
    watch(_solver.Solver, "_newton", "newton")
    watch(_solver, "find_repeats", "merged")
    return seen


def blocks_of(codes, y, size):
    for start in range(0, len(y), size):
        yield codes[start : start + size], y[start : start + size]


def fit_in_least(make, codes, y, size=4000):
    """Return the smallest memory that is accepted, and the model that is learned in it."""
    memory = 1000
    while True:
        try:
            return memory, make().fit_blocks(blocks_of(codes, y, size), memory=memory)
        except MemoryBoundError as error:
            memory = max(memory + 1, error.needed)


def assert_same(a, b, codes):
    np.testing.assert_array_equal(a.fitted_.weights, b.fitted_.weights)
    np.testing.assert_array_equal(a.training_.bias, b.training_.bias)
    for name in ("intercept_", "dual_gap_", "objective_", "n_iter_", "used_codes_"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name), name)
    answers = "decision_function" if hasattr(a, "classes_") else "predict"
    np.testing.assert_array_equal(getattr(a, answers)(codes[:500]), getattr(b, answers)(codes[:500]))


@pytest.mark.filterwarnings("ignore:After 3 of max_iter=3 passes")
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("case", CASES)
def test_weights_do_not_depend_on_memory_and_blocks(seen, case, threads):
    model, rows, kind, used = CASES[case]
    codes, targets = data(rows)

    def make():
        return type(model)(**{**model.get_params(), "n_components": HASHES, "n_jobs": threads, "random_state": 0})

    expected = make().fit(codes, targets[kind])
    assert seen == used
    memory, found = fit_in_least(make, codes, targets[kind])
    assert seen == {*used, "disk"}
    assert_same(found, expected, codes)
    for more, size in ((1 << 20, 999), (1 << 32, ROWS)):
        assert_same(make().fit_blocks(blocks_of(codes, targets[kind], size), memory=memory + more), expected, codes)


def test_a_line_search_without_a_better_length():
    """The rows of a Huber loss that are far from their targets are flat: the first step may be too long by far."""
    codes, targets = data("rounded")
    model = GCWSRegressor(HASHES, loss="huber", random_state=0).fit(codes, targets["number"])  # a warning is an error
    assert model.dual_gap_ <= 1e-3 * model.objective_


def test_equal_keys_on_disk_are_compared(seen, monkeypatch):
    codes, targets = data("rounded")
    monkeypatch.setattr(_repeats, "key_of", lambda codes: np.zeros(len(codes), np.uint64))
    fit_in_least(lambda: GCWSRegressor(HASHES, random_state=0, max_iter=50), codes, targets["number"])
    assert seen >= {"disk"}
    assert "merged" not in seen


def test_long_fits_are_reported_within_passes(monkeypatch):
    monkeypatch.setattr(_solver, "REPORT_SECONDS", -1.0)
    codes, targets = data("normal")
    reports = []
    for memory in (None, 1 << 32):
        make = GCWSClassifier(HASHES, loss="hinge", tol=1e-2, random_state=0)
        if memory is None:
            memory, _ = fit_in_least(
                lambda: GCWSClassifier(HASHES, loss="hinge", random_state=0), codes, targets["two"]
            )
        seen = []
        make.fit_blocks(
            blocks_of(codes, targets["two"], 5000),
            memory=memory,
            progress=seen.append,
        )
        numbers = [event.passes for event in seen]
        assert numbers == sorted(numbers)
        assert numbers[-1] == make.n_iter_
        assert all(0 <= event.gaps.max() <= 1 for event in seen if event.passes == 0)
        reports.append(numbers)
    assert reports[0].count(0) >= 2  # each of the two segments of the first pass


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("rows", [17_000, 150_000])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(
    ("kind", "loss"),
    [
        ("two", "log_loss"),
        ("two", "squared_hinge"),
        ("eight", "log_loss"),
        ("two", "hinge"),
        ("number", "squared_error"),
    ],
)
def test_the_limit_is_kept(kind, loss, threads, rows):
    """The smallest memory that is accepted is above the peak."""
    imports = f"""\
    import warnings
    from types import SimpleNamespace
    from kernelsketch import GCWSClassifier, GCWSRegressor
    from kernelsketch.linear import MemoryBoundError

    warnings.simplefilter("ignore")

    def blocks(n):
        rng = np.random.default_rng(5)
        for start in range(0, n, 2000):
            X = rng.normal(size=(min(2000, n - start), 10))
            y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=len(X))
            count = {8 if kind == "eight" else 2}
            yield X, y if {kind!r} == "number" else np.clip(y * count / 2 + count / 2, 0, count - 1).astype(int)

    def learn(n, memory):
        make = {"GCWSRegressor" if kind == "number" else "GCWSClassifier"}
        model = make({HASHES}, loss={loss!r}, max_iter=4, random_state=0, n_jobs={threads})
        return SimpleNamespace(model=model.fit_blocks(blocks(n), memory=memory), nbytes=memory)

    def least(n):
        memory = 1000
        while True:
            try:
                return learn(n, memory).nbytes
            except MemoryBoundError as error:
                memory = max(memory + 1, error.needed)
    """
    warm_up = f"learn(300, 1 << 30); memory = least({rows})"
    assert extra_memory("None", warm_up, f"learn({rows}, memory)", textwrap.dedent(imports)) <= 0
