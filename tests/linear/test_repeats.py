"""Equal rows of codes: regression merges them where they are many, and solves the problem of all rows."""

import numpy as np
import pytest
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning

from kernelsketch import GCWS, GCWSRegressor
from kernelsketch._loss_formulas import formulas_of, loss_value
from kernelsketch._losses import REGRESSOR_LOSSES as LOSSES
from kernelsketch._losses import loss_number
from kernelsketch.linear import _solver
from kernelsketch.linear._code_table import CodeTable
from kernelsketch.linear._repeats import find_repeats, key_of

X, y = load_diabetes(return_X_y=True)
rng = np.random.default_rng(0)
WEIGHTS = rng.integers(1, 10, 100)
ORIGIN = rng.permutation(np.arange(100).repeat(WEIGHTS))
TEST = X[300:]


def objective(model, rows, targets, loss, parameter=0.5):
    """The objective of a model, from its coefficients alone."""
    features = model.hasher_.transform(rows)
    mean, spread = targets.mean(), targets.std()
    z = ((targets - mean) / spread).astype(np.float32).astype(np.float64)
    w, bias = model.code_weights_[0].astype(np.float64) / spread, (model.intercept_ - mean) / spread
    cost = np.full(len(z), np.float32(model.C))
    return (w @ w + bias**2) / 2 + loss_value(loss_number(loss), features @ w + bias, z, cost, parameter).sum()


def unmerged(monkeypatch, *args, **params):
    with monkeypatch.context() as patch:
        patch.setattr(_solver, "find_repeats", lambda *_: None)
        return GCWSRegressor(64, **params).fit(*args)


@pytest.mark.parametrize("loss", LOSSES)
def test_repeated_rows_need_the_passes_of_weighted_ones(loss):
    params = {"C": 1e3, "tol": 1e-6, "loss": loss}
    weighted = GCWSRegressor(64, **params).fit(X[:100], y[:100], sample_weight=WEIGHTS)
    repeated = GCWSRegressor(64, **params).fit(X[ORIGIN], y[ORIGIN])
    assert repeated.n_iter_ <= weighted.n_iter_ + 5  # 623 passes without the merger
    np.testing.assert_allclose(repeated.predict(TEST), weighted.predict(TEST), rtol=1e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("C", [0.1, 1.0, 300.0])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
@pytest.mark.parametrize("same_targets", [True, False])
def test_gap_and_objective_are_those_of_all_rows(monkeypatch, loss, C, tol, same_targets):
    targets = y[ORIGIN] + (0 if same_targets else rng.choice([0.0, 30.0], len(ORIGIN)))
    params = {"C": C, "loss": loss}
    model = GCWSRegressor(64, tol=tol, **params).fit(X[ORIGIN], targets)
    assert 0 <= model.dual_gap_ <= tol * model.objective_
    np.testing.assert_allclose(model.objective_, objective(model, X[ORIGIN], targets, loss), rtol=1e-5)
    best = unmerged(monkeypatch, X[ORIGIN], targets, tol=1e-8, max_iter=3000, **params)
    most = best.objective_ + model.dual_gap_ + 1e-6 * best.objective_  # weights may be float32
    assert best.objective_ - best.dual_gap_ <= model.objective_ <= most


def test_other_rows_are_fitted_as_before(monkeypatch):
    """Nothing is merged where more than half of the rows are different."""
    rows = np.concatenate([X[:300], X[:100]])
    targets = np.concatenate([y[:300], y[:100]])
    for some in (slice(0, 300), slice(0, 400)):
        found = GCWSRegressor(64).fit(rows[some], targets[some])
        expected = unmerged(monkeypatch, rows[some], targets[some])
        np.testing.assert_array_equal(found.code_weights_, expected.code_weights_)
        assert (found.n_iter_, found.objective_) == (expected.n_iter_, expected.objective_)


def test_codes_and_blocks_and_threads():
    expected = GCWSRegressor(64).fit(X[ORIGIN], y[ORIGIN])
    codes = GCWS(64).fit(X).codes(X[ORIGIN])
    blocks = [(X[ORIGIN[part]], y[ORIGIN[part]]) for part in (slice(0, 200), slice(200, None))]
    for other in (
        GCWSRegressor(64).fit(codes, y[ORIGIN]),
        GCWSRegressor(64).fit_blocks(blocks),
        GCWSRegressor(64, n_jobs=2).fit(X[ORIGIN], y[ORIGIN]),
    ):
        np.testing.assert_array_equal(other.code_weights_, expected.code_weights_)
        assert (other.dual_gap_, other.objective_) == (expected.dual_gap_, expected.objective_)


@pytest.mark.parametrize("loss", LOSSES)
def test_warm_starts(loss):
    model = GCWSRegressor(64, C=100.0, tol=1e-6, loss=loss, warm_start=True).fit(X[ORIGIN], y[ORIGIN])
    first = model.n_iter_
    assert model.training_.duals.shape == (1, len(ORIGIN))
    again = model.fit(X[ORIGIN], y[ORIGIN])
    assert again.n_iter_ <= 2 < first
    assert model.set_params(C=110.0).fit(X[ORIGIN], y[ORIGIN]).dual_gap_ <= 1e-6 * model.objective_


def test_a_tolerance_that_merged_rows_alone_do_not_reach():
    """Sums of costs are rounded: the solver goes on with all rows."""
    reported = []
    model = GCWSRegressor(64, C=0.1, tol=1e-11)
    model.fit_blocks([(X[ORIGIN], y[ORIGIN])], progress=lambda event: reported.append(event.passes))
    assert model.dual_gap_ <= 1e-11 * model.objective_
    assert reported == sorted(set(reported))
    assert reported[-1] == model.n_iter_


def test_too_few_passes():
    with pytest.warns(ConvergenceWarning, match="After 2 of max_iter=2 passes") as caught:
        model = GCWSRegressor(64, C=1e3, tol=1e-9, max_iter=2).fit(X[ORIGIN], y[ORIGIN])
    assert caught[0].filename == __file__
    assert model.n_iter_ == 2


class TestSearch:
    def table(self, n=600, k=20, dtype=np.uint8, distinct=60):
        codes = rng.integers(0, 9, (distinct, k)).astype(dtype)
        group = np.concatenate([np.arange(distinct), rng.integers(0, distinct, n - distinct)])
        return CodeTable(codes[group], np.zeros(n, np.uint8), np.arange(9)), group

    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
    @pytest.mark.parametrize("k", [9, 16, 21])
    def test_groups(self, k, dtype):
        table, group = self.table(k=k, dtype=dtype)
        loss = formulas_of(loss_number("squared_error"))
        found = find_repeats(table, np.zeros(600, np.float32), loss)
        np.testing.assert_array_equal(found.first, np.arange(60))
        np.testing.assert_array_equal(found.group, group)

    def test_empty_rows_are_different_rows(self):
        table, group = self.table()
        table.empty[rng.integers(0, 600, 50)] = 1
        found = find_repeats(table, np.zeros(600, np.float32), formulas_of(loss_number("squared_error")))
        assert len(found.first) == np.unique(np.stack([group, table.empty]), axis=1).shape[1]
        for part in (group, table.empty):
            np.testing.assert_array_equal(part[found.first][found.group], part)

    def test_the_huber_loss_needs_equal_targets(self):
        table, group = self.table()
        huber = formulas_of(loss_number("huber"))
        assert find_repeats(table, group.astype(np.float32), huber) is not None
        assert find_repeats(table, rng.random(600).astype(np.float32), huber) is None

    def test_equal_keys_of_different_rows_are_not_merged(self, monkeypatch):
        table, _ = self.table()
        monkeypatch.setattr("kernelsketch.linear._repeats.key_of", lambda codes: np.zeros(len(codes), np.uint64))
        loss = formulas_of(loss_number("squared_error"))
        assert find_repeats(table, np.zeros(600, np.float32), loss) is None

    def test_keys_depend_on_every_code(self):
        codes = rng.integers(0, 9, (1, 37)).astype(np.uint8)
        changed = codes + np.eye(37, dtype=np.uint8)
        assert len(np.unique(key_of(np.concatenate([codes, changed])))) == 38
