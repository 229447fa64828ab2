"""When the solver uses Newton's method, and that its models are those of coordinate descent."""

import weakref

import numpy as np
import pytest

from helpers.solver import solve
from kernelsketch import GCWS, GCWSClassifier, GCWSClassifierCV, GCWSRegressor
from kernelsketch.backends import LinearObjective, LinearPass, backend_for
from kernelsketch.linear import _solver
from kernelsketch.linear._code_table import CodeTable, add_stats, table_of
from kernelsketch.linear._problem import DualProblem, Stop, Targets
from kernelsketch.reference import linear as reference


@pytest.fixture
def counted(monkeypatch):
    """Newton's method for small problems; counts how often it solves one."""
    solved, run = [], _solver.Solver._newton

    def count(*args):
        found = run(*args)
        solved.append(found is not None)
        return found

    monkeypatch.setattr(_solver, "LEAST_CODES", 0)
    monkeypatch.setattr(_solver, "MANY_ROWS", 0)
    monkeypatch.setattr(_solver.Solver, "_newton", count)
    return solved


def noisy(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n, 3)).round(1).astype(np.float32)
    return X, (X[:, 0] + X[:, 1] + 0.5 * rng.normal(size=n) > 1).astype(int)


def pays(shape, loss, cost, beta, visited):
    n = shape[0]
    of = Targets(
        *(np.zeros(n, np.int32), None, np.full(n, cost, np.float32)), np.zeros(1, np.int32), np.ones((1, 2), np.float32)
    )
    table = CodeTable(np.zeros(shape, np.uint8), np.zeros(n, np.uint8), np.arange(1))
    return _solver.newton_pays(DualProblem(table, of, LinearObjective(loss, 1.0), 1), beta, visited)


def test_where_it_pays():
    few, many = (100, 16), (1 << 16, 64)
    squared_hinge, hinge, log_loss = range(3)
    cold, busy = np.zeros((1, 1 << 16), np.float32), np.ones((1, 1 << 16), np.float32)
    assert not pays(few, log_loss, 1, cold[:, :100], 100)
    assert pays(many, log_loss, 1, cold, 0)
    assert not pays(many, hinge, 100, busy, 1 << 16)
    assert not pays(many, squared_hinge, 1, cold, 0)
    assert not pays(many, squared_hinge, 1, cold, 1 << 14)
    assert pays(many, squared_hinge, 1, busy, 1 << 16)
    assert pays(many, squared_hinge, 100, cold, 0)
    busy[:, 1 << 12 :] = 0  # most rows were not visited, or most rows are outside of the margin
    assert pays(many, squared_hinge, 1, busy, 1 << 14)
    assert not pays(many, squared_hinge, 1, busy, 1 << 16)


@pytest.mark.parametrize(
    ("loss", "C", "used"), [("squared_hinge", 0.01, False), ("squared_hinge", 20.0, True), ("log_loss", 0.01, True)]
)
def test_codes_that_go_together_in_pairs_only(counted, loss, C, used):
    """Pairs are enough where coordinate descent is slow. Four codes have more combinations than one per 32 rows."""
    rng = np.random.default_rng(3)
    X = rng.integers(1, 8, (3000, 8)).astype(np.float32)
    y = (X[:, 0] + X[:, 1] + rng.normal(size=3000) > 8).astype(int)
    model = GCWSClassifier(32, loss=loss, C=C, random_state=0).fit(X, y)
    assert any(counted) == used
    assert (model.dual_gap_ <= 1e-3 * model.objective_).all()


@pytest.mark.parametrize("C", [0.5, 20.0])
@pytest.mark.parametrize("loss", ["squared_hinge", "log_loss"])
def test_classifiers_have_the_objective_of_coordinate_descent(counted, monkeypatch, loss, C):
    X, y = noisy()
    model = GCWSClassifier(32, loss=loss, C=C, tol=1e-5, random_state=0).fit(X, y)
    assert any(counted)
    monkeypatch.setattr(_solver, "LEAST_CODES", 1 << 60)
    other = GCWSClassifier(32, loss=loss, C=C, tol=1e-5, random_state=0).fit(X, y)
    assert len(counted) == 1
    np.testing.assert_allclose(model.decision_function(X), other.decision_function(X), atol=0.02)
    assert 0 <= model.dual_gap_[0] <= 2e-5 * len(y) * C  # the objective is at most that of w = 0
    assert model.n_iter_ != other.n_iter_


@pytest.mark.parametrize("loss", ["squared_error", "huber"])
def test_regressors_have_the_objective_of_coordinate_descent(counted, monkeypatch, loss):
    X, _ = noisy()
    y = X[:, 0] * X[:, 1]
    model = GCWSRegressor(32, loss=loss, tol=1e-6, random_state=0).fit(X, y)
    assert any(counted)
    monkeypatch.setattr(_solver, "LEAST_CODES", 1 << 60)
    other = GCWSRegressor(32, loss=loss, tol=1e-6, random_state=0).fit(X, y)
    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=2e-3)


@pytest.mark.parametrize("threads", [2, 3, 7, 16])
def test_threads_do_not_change_a_model(counted, threads):
    X, y = noisy()
    one = GCWSClassifier(32, C=5, random_state=0).fit(X, y)
    many = GCWSClassifier(32, C=5, random_state=0, n_jobs=threads).fit(X, y)
    assert all(counted)
    np.testing.assert_array_equal(one.code_weights_, many.code_weights_)
    np.testing.assert_array_equal(one.intercept_, many.intercept_)


def test_paths_and_warm_starts(counted):
    X, y = noisy()
    model = GCWSClassifierCV(Cs=[0.1, 1, 10, 100], cv=2, n_components=32, random_state=0).fit(X, y)
    assert any(counted)
    assert model.score(X, y) > 0.7
    again = GCWSClassifier(32, C=10, warm_start=True, random_state=0).fit(X, y)
    before = again.n_iter_
    again.fit(X, y)
    assert np.max(again.n_iter_) < np.max(before)


def test_passes_after_newton_start_from_the_table_of_the_duals(monkeypatch):
    """Where a path goes back from Newton's method to coordinate descent, its gaps are still those of the models."""
    rng = np.random.default_rng(0)
    X, y = noisy()
    codes = GCWS(32).fit(X).codes(X)
    table, objective = table_of(codes), LinearObjective(0, 1.0)
    solved = {}
    for newton_first in (True, False):
        monkeypatch.setattr(_solver, "newton_pays", lambda *_, first=newton_first: first)
        of = Targets(
            y.astype(np.int32), None, np.full(len(y), 5, np.float32), np.ones(1, np.int32), np.ones((1, 2), np.float32)
        )
        found = solve(table, of, objective, Stop(tol=1e-2), seed=int(rng.integers(99)))
        assert found.follows_beta != newton_first
        monkeypatch.setattr(_solver, "newton_pays", lambda *_: False)
        found = solve(table, of._replace(cost=of.cost * 2), objective, Stop(), start=found)
        assert found.follows_beta
        f = reference.decide(table.codes, table.empty, 1.0, found.w, found.bias)[:, 0]
        norm = found.w.shape[1] * (found.w.astype(float) ** 2).sum() + found.bias[0] ** 2
        losses = reference.value(0, f, np.where(y == 1, 1.0, -1.0), np.full(len(y), 10.0))
        assert found.objective[0] == pytest.approx(norm / 2 + losses.sum(), rel=1e-4)
        assert found.gap[0] <= 1e-3 * found.objective[0]
        solved[newton_first] = found.objective[0]
    assert solved[True] == pytest.approx(solved[False], rel=1.5e-3)


def test_what_passes_keep_of_the_rows_is_freed_before_newton(monkeypatch):
    """Flags and the order of rows: the memory that out-of-core training asks for has no room for them beside it."""
    made, run = [], _solver.newton_solve

    class Watched(_solver.Descent):
        def __init__(self, *args):
            super().__init__(*args)
            made.append(weakref.ref(self))

    def steps(*args):
        assert [descent() for descent in made] == [None]
        return run(*args)

    monkeypatch.setattr(_solver, "Descent", Watched)
    monkeypatch.setattr(_solver, "newton_solve", steps)
    monkeypatch.setattr(_solver, "newton_pays", lambda _problem, _beta, visited: visited > 0)
    X, y = noisy()
    GCWSClassifier(32, C=5, random_state=0).fit(X, y)
    assert len(made) == 1


def test_it_warns_when_passes_are_too_few(counted):
    X, y = noisy()
    with pytest.warns(UserWarning, match="After 3 of max_iter=3 passes the duality gap is"):
        GCWSClassifier(32, C=50, max_iter=3, tol=1e-6, random_state=0).fit(X, y)


@pytest.mark.parametrize("threads", [1, 3])
def test_a_pass_in_two_parts_is_a_pass(threads):
    """The solver looks at the duals after a part of its first pass; coordinate descent goes on as if it had not."""
    rng = np.random.default_rng(0)
    n, k, part = 40_000, 8, 16_384
    codes, empty = rng.integers(0, 16, (n, k)).astype(np.uint8), (rng.random(n) < 0.01).astype(np.uint8)
    y = ((codes[:, 0] < 8) ^ (rng.random(n) < 0.2)).astype(np.int32)
    order, backend, results = rng.permutation(n).astype(np.int32), backend_for(codes, threads=threads), []
    for parts in ([slice(0, n)], [slice(0, part), slice(part, n)]):
        state = LinearPass(
            *(order, y, None, np.full(n, 0.5, np.float32), np.ones(1, np.int32), np.ones((1, 2), np.float32)),
            *(np.full(1, np.inf, np.float32), np.ones(1, np.uint8)),
            *(np.zeros((1, k, 16), np.float32), np.zeros(1), np.zeros((1, n), np.float32), np.zeros((1, n), np.uint8)),
        )
        found = [
            backend.linear_pass(codes, empty, LinearObjective(0, 1.0), state._replace(order=order[rows]))
            for rows in parts
        ]
        for more in found[1:]:
            add_stats(found[0], more)
        results.append((found[0], state.w, state.bias, state.beta, state.shrunk))
    for whole, parted in zip(*results, strict=True):
        np.testing.assert_array_equal(whole, parted)
