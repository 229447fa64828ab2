"""Block dual coordinate descent: native equals reference, the dual rises, the gap is true, shrinking is safe."""

import warnings
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning

from helpers.solver import solve
from kernelsketch import GCWS, backends
from kernelsketch._losses import CLASSIFIER_LOSSES as CLASSIFICATION
from kernelsketch._losses import LOSSES
from kernelsketch.backends import LINEAR_BLOCK_ROWS as BLOCK_ROWS
from kernelsketch.backends import LINEAR_SEGMENT as SEGMENT
from kernelsketch.backends import LinearObjective, LinearPass
from kernelsketch.backends.cpu import CpuBackend
from kernelsketch.backends.reference import ReferenceBackend
from kernelsketch.linear import _problem
from kernelsketch.linear._code_table import CodeTable
from kernelsketch.linear._code_table import table_of as compact
from kernelsketch.linear._descent import order_of
from kernelsketch.linear._problem import Stop, Targets
from kernelsketch.reference.linear import conjugate, value
from kernelsketch.serving import stride_of

EPSILON = 0.375  # of the Huber loss, and the quantile of the quantile loss
EXACT = tuple(name for name in LOSSES if name != "log_loss")  # which uses the logarithm of the platform
REALS = (np.float32, np.float64)
slow = partial(pytest.param, marks=pytest.mark.slow)
NATIVE = [name for name in backends.available() if name != "reference"]


def table_of(n, k, size, seed=0, dtype=None, empty=0.1):
    """Codes that are alike within two groups of rows."""
    rng = np.random.default_rng(seed)
    favourites = rng.integers(0, size, (2, k))
    codes = np.where(rng.random((n, k)) < 0.5, favourites[rng.integers(0, 2, n)], rng.integers(0, size, (n, k)))
    flags = (rng.random(n) < empty).astype(np.uint8)
    dtype = dtype or (np.uint8 if size <= 256 else np.uint16)
    return CodeTable(codes.astype(dtype), flags, np.arange(size))


def targets_of(name, n, problems, C=1.0, seed=0, plain=False):
    """Labels or numbers; unless ``plain``, some costs are 0 and problems have factors."""
    rng = np.random.default_rng(seed)
    cost = np.full(n, C, np.float32)
    factors = np.ones((problems, 2), np.float32)
    if not plain:
        cost *= rng.choice([0, 0.5, 1, 3], n).astype(np.float32)
        factors = rng.uniform(0.5, 2, (problems, 2)).astype(np.float32)
    if name in CLASSIFICATION:
        labels = rng.integers(0, max(problems, 2), n).astype(np.int32)
        return Targets(labels, None, cost, np.arange(problems, dtype=np.int32), factors)
    return Targets(None, rng.normal(size=n).astype(np.float32), cost, np.zeros(1, np.int32), factors[:1])


def run_passes(
    name, table, targets, count=2, scale=0.75, start=None, threads=1, threshold=0.01, real=np.float32, sweeps=32
):
    """Several passes on the back end in force: w, bias, beta, shrunk, and the statistics of each pass."""
    problems, (n, k) = len(targets.positive), table.codes.shape
    w, bias = np.zeros((problems, k, stride_of(len(table.used_codes))), real), np.zeros(problems)
    beta = np.zeros((problems, n), real)
    if start is not None:
        beta[:], w[:], bias[:] = start
    shrunk, found = np.zeros((problems, n), np.uint8), []
    for number in range(count):
        limits = np.full(problems, threshold if number else np.inf, np.float32)
        given = (order_of(n, 3, number), targets.labels, targets.targets, targets.cost, targets.positive)
        running = np.ones(problems, np.uint8)
        state = LinearPass(*given, targets.factors, limits, running, w, bias, beta, shrunk, sweeps)
        objective = LinearObjective(LOSSES.index(name), scale, EPSILON)
        found.append(table.run_pass(objective, state, threads))
    return w, bias, beta, shrunk, np.array(found)


def assert_same(a, b, exact=True, where=""):
    for x, y in zip(a[:4], b[:4], strict=True):
        if exact:
            np.testing.assert_array_equal(x, y, err_msg=where)
        else:
            np.testing.assert_allclose(x, y, rtol=1e-4, atol=1e-5, err_msg=where)
    close = 1e-12 if exact else 1e-4
    np.testing.assert_allclose(a[4], b[4], rtol=close, atol=close, err_msg=where)


def on(name, function, *arguments, **options):
    with backends.use_backend(name):
        return function(*arguments, **options)


def assert_parity(*arguments, exact=True, **options):
    """Passes on every instruction set end as those of the reference."""
    expected = on("reference", run_passes, *arguments, **options)
    for isa in NATIVE:
        assert_same(on(isa, run_passes, *arguments, **options), expected, exact, isa)


class TestNativeEqualsReference:
    @pytest.mark.parametrize("real", REALS)
    @pytest.mark.parametrize("size", [1, 5, 16, 17, 32, 40, 64, 65, 200, 256, 300])
    def test_numbers_of_used_codes(self, size, real):
        assert_parity("squared_hinge", table_of(60, 21, size), targets_of("squared_hinge", 60, 2), real=real)

    @pytest.mark.parametrize("real", REALS)
    @pytest.mark.parametrize("name", LOSSES)
    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
    def test_losses(self, name, dtype, real):
        table, targets = table_of(90, 70, 30, dtype=dtype), targets_of(name, 90, 3)
        assert_parity(name, table, targets, count=3, real=real, exact=name in EXACT)

    @pytest.mark.parametrize("sweeps", [1, 2, 5])
    def test_few_sweeps(self, sweeps):
        table, targets = table_of(90, 70, 30), targets_of("squared_hinge", 90, 2)
        assert_parity("squared_hinge", table, targets, sweeps=sweeps)
        few, many = (run_passes("squared_hinge", table, targets, sweeps=count) for count in (sweeps, 32))
        assert np.abs(few[2] - many[2]).max() > 1e-4

    @pytest.mark.parametrize("n", [1, 7, 23, 24, 25, 127, 128, 129, 255, 256, 257])
    def test_numbers_of_rows(self, n):
        """Around the sizes where the native core takes another path; none is empty so that all are looked up."""
        assert_parity("hinge", table_of(n, 9, 12, empty=0), targets_of("hinge", n, 1, plain=True), count=1)

    @pytest.mark.parametrize("name", EXACT)
    def test_warm_starts_without_an_intercept(self, name):
        table, targets = table_of(50, 16, 17), targets_of(name, 50, 1)
        w, bias, beta, *_ = on("reference", run_passes, name, table, targets, count=1, scale=0.0)
        assert not bias.any()
        assert_parity(name, table, targets, scale=0.0, start=(beta, w, bias))

    @given(
        n=st.integers(1, 40),
        k=st.integers(1, 40),
        size=st.integers(1, 70),
        name=st.sampled_from(EXACT),
        seed=st.integers(0, 99),
        empty=st.sampled_from([0.0, 0.2, 1.0]),
        real=st.sampled_from(REALS),
    )
    def test_any_shape(self, n, k, size, name, seed, empty, real):
        table, targets = table_of(n, k, size, seed, empty=empty), targets_of(name, n, 1, 2.0, seed)
        assert_parity(name, table, targets, real=real)

    @pytest.mark.parametrize("real", REALS)
    @pytest.mark.parametrize("size", [5, 30, 64, 200, 300])
    def test_decisions(self, size, real):
        rng = np.random.default_rng(size)
        for n, problems in ((1, 3), (23, 3), (24, 1), (129, 2), (129, 19), (1025, 3)):
            table = table_of(n, 67, size)
            w = rng.normal(size=(problems, 67, stride_of(size))).astype(real)
            w.flags.writeable = False  # as joblib maps stored models
            bias = rng.normal(size=problems)
            expected = ReferenceBackend().linear_decide(table.codes, table.empty, 0.3, w, bias)
            for isa in NATIVE:
                found = CpuBackend(isa, 2).linear_decide(table.codes, table.empty, 0.3, w, bias)
                np.testing.assert_array_equal(found, expected, err_msg=isa)
                assert found.dtype == real

    @pytest.mark.parametrize("real", REALS)
    def test_sums(self, real):
        rng = np.random.default_rng(0)
        table = table_of(200, 37, 20)
        beta = np.where(rng.random(200) < 0.3, 0, rng.normal(size=200)).astype(real)
        expected = np.ones((37, 32))
        ReferenceBackend().linear_accumulate(table.codes, table.empty, beta, expected)
        for isa in NATIVE:
            sums = np.ones((37, 32))
            CpuBackend(isa, 3).linear_accumulate(table.codes, table.empty, beta, sums)
            np.testing.assert_array_equal(sums, expected, err_msg=isa)


class TestNative:
    @pytest.mark.parametrize("real", REALS)
    @pytest.mark.parametrize("name", LOSSES)
    def test_segments_threads_and_instruction_sets(self, name, real):
        """Beyond one segment of the order, where the reference would take long."""
        n = SEGMENT + 300
        table, targets = table_of(n, 10, 60), targets_of(name, n, 2)
        expected = on(NATIVE[0], run_passes, name, table, targets, real=real)
        for isa in NATIVE:
            assert_same(on(isa, run_passes, name, table, targets, threads=3, real=real), expected, where=isa)

    def test_only_running_problems_are_touched(self, isa):
        table, targets = table_of(40, 8, 9), targets_of("squared_hinge", 40, 3)
        w, bias = np.zeros((3, 8, 16), np.float32), np.zeros(3)
        beta, shrunk = np.zeros((3, 40), np.float32), np.zeros((3, 40), np.uint8)
        running = np.array([0, 1, 0], np.uint8)
        threshold = np.zeros(3, np.float32)
        given = (order_of(40, 0, 0), targets.labels, None, targets.cost, targets.positive, targets.factors)
        state = LinearPass(*given, threshold, running, w, bias, beta, shrunk)
        stats = table.run_pass(LinearObjective(0, 1.0), state, 2)
        assert w[1].any()
        assert beta[1].any()
        assert bias[1] != 0
        assert not w[::2].any()
        assert not beta[::2].any()
        assert not bias[::2].any()
        assert not shrunk[::2].any()
        assert stats[1].any()
        assert not stats[::2].any()

    def test_bad_arguments_are_refused(self):
        native = CpuBackend(backends.available()[0])
        table, targets = table_of(10, 4, 5), targets_of("hinge", 10, 2)

        def call(**changes):
            w, bias = np.zeros((2, 4, 16), np.float32), np.zeros(2)
            fields = {
                "order": np.arange(10, dtype=np.int32),
                **targets._asdict(),
                "threshold": np.zeros(2, np.float32),
                "running": np.ones(2, np.uint8),
                "w": w,
                "bias": bias,
                "beta": np.zeros((2, 10), np.float32),
                "shrunk": np.zeros((2, 10), np.uint8),
                **changes,
            }
            native.linear_pass(table.codes, table.empty, LinearObjective(1, 1.0), LinearPass(**fields))

        call()
        for changes, message in [
            ({"order": np.full(10, 10, np.int32)}, "order: out of range"),
            ({"order": np.full(10, -1, np.int32)}, "order: out of range"),
            ({"labels": None}, "one of them"),
            ({"cost": np.ones(9, np.float32)}, "wrong length"),
            ({"beta": np.zeros((2, 9), np.float32)}, "beta, shrunk"),
            ({"factors": np.ones((1, 2), np.float32)}, "one per problem"),
            ({"w": np.zeros((2, 3, 16), np.float32)}, "w: wrong shape"),
        ]:
            with pytest.raises(ValueError, match=message):
                call(**changes)


def problem_of(table, scale, targets, found, p, name, as_found=False):
    """Primal and dual objective from their definitions, in float64, the one-hot features dense.

    The primal is that of w from the duals or, ``as_found``, of the weights found.
    """
    n, k = table.codes.shape
    features = np.zeros((n, k, found.w.shape[2]))
    np.put_along_axis(features, table.codes.astype(np.int64)[:, :, None], 1 / np.sqrt(k), axis=2)
    x = np.hstack([features.reshape(n, -1) * (table.empty == 0)[:, None], np.full((n, 1), scale)])
    y, cost = (v.astype(np.float64) for v in targets.of(p, slice(None)))
    beta = found.beta[p].astype(np.float64)
    w = beta @ x
    counted = cost > 0
    number = LOSSES.index(name)
    dual = -w @ w / 2 - conjugate(number, beta[counted], y[counted], cost[counted]).sum()
    if as_found:
        w = np.append(np.sqrt(k) * found.w[p].astype(np.float64), found.bias[p])
    f = x @ w
    primal = w @ w / 2 + value(number, f, y, cost, EPSILON).sum()
    return primal, dual, f, y, cost, beta, w


class TestSolutions:
    @pytest.mark.parametrize("name", LOSSES)
    @pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
    @pytest.mark.parametrize(("tol", "rounding"), [(1e-3, 5e-6), (1e-8, 1e-12)])  # in float32 and float64
    def test_the_gap_is_the_true_one(self, name, C, tol, rounding):
        table, targets = table_of(300, 32, 20), targets_of(name, 300, 2, C)
        task = LinearObjective(LOSSES.index(name), 0.75, EPSILON)
        found = solve(table, targets, task, Stop(tol, 3000))
        for p in range(len(targets.positive)):
            primal, dual, *_, w = problem_of(table, 0.75, targets, found, p, name)
            assert -1e-9 * primal <= primal - dual
            primal = problem_of(table, 0.75, targets, found, p, name, as_found=True)[0]
            assert -1e-9 * primal <= primal - dual <= (tol + rounding) * primal
            np.testing.assert_allclose(found.objective[p], primal, rtol=rounding)
            np.testing.assert_allclose(found.gap[p], primal - dual, rtol=0, atol=rounding * primal)
            np.testing.assert_allclose(np.sqrt(32) * found.w[p].ravel(), w[:-1], rtol=1e-5, atol=1e-6 * abs(w).max())
            np.testing.assert_allclose(found.bias[p], w[-1], rtol=1e-5, atol=1e-12)

    @pytest.mark.parametrize("name", LOSSES)
    @pytest.mark.parametrize(
        ("C", "repeated"), [(0.01, 1), (1.0, 1), (1.0, 3), (100.0, 1), slow(0.01, 3), slow(100.0, 3)]
    )
    def test_small_gaps(self, name, C, repeated):
        """Digits, also with every row three times: float32 would stall at 1e-5."""
        X, y = (np.repeat(v[:600], repeated, axis=0) for v in load_digits(return_X_y=True))
        table = compact(GCWS(128).fit(X).codes(X))
        kinds, cost = np.array([1, 8], np.int32), np.full(len(y), C, np.float32)
        targets = Targets(y.astype(np.int32), None, cost, kinds, np.ones((2, 2), np.float32))
        if name not in CLASSIFICATION:
            numbers = ((y - y.mean()) / y.std()).astype(np.float32)
            targets = Targets(None, numbers, cost, kinds[:1], np.ones((1, 2), np.float32))
        tol = 1e-8 if name == "squared_hinge" else 1e-6
        found = solve(
            table, targets, LinearObjective(LOSSES.index(name), 1.0, EPSILON), Stop(tol, 5000)
        )  # a warning is an error
        for p in range(len(targets.positive)):
            primal, dual, *_ = problem_of(table, 1.0, targets, found, p, name, as_found=True)
            assert -1e-12 * primal <= primal - dual <= 1.001 * tol * primal

    def test_float64_only_where_it_is_asked_for(self):
        table, targets = table_of(100, 16, 9), targets_of("squared_hinge", 100, 2)
        for stop, real in [(Stop(), "f4"), (Stop(1e-4), "f4"), (Stop(1e-5), "f8"), (Stop(1e-5, exact=False), "f4")]:
            found = solve(table, targets, LinearObjective(0, 1.0), stop)
            assert found.w.dtype == found.beta.dtype == real
            again = solve(table, targets, LinearObjective(0, 1.0), stop, start=found.beta.astype(np.float64))
            assert again.w.dtype == real

    @pytest.mark.parametrize("name", LOSSES)
    def test_optimality_conditions(self, name):
        """-beta is a (sub)gradient of the loss at f: what makes both objectives equal."""
        table, targets = table_of(200, 32, 20), targets_of(name, 200, 1, plain=True)
        found = solve(table, targets, LinearObjective(LOSSES.index(name), 1.0, EPSILON), Stop(1e-9, 5000, warn=False))
        *_, f, y, cost, beta, _ = problem_of(table, 1.0, targets, found, 0, name)
        number, r = LOSSES.index(name), np.arange(-2, 2.01, 0.25)[:, None]
        at = value(number, f, y, cost, EPSILON)
        assert (value(number, f + r, y, cost, EPSILON) >= at - beta * r - 1e-3 * np.abs(r) - 1e-6).all()
        excess = at + conjugate(number, beta, y, cost) + beta * f
        assert (np.abs(excess) <= 1e-6 * (1 + at)).all()

    @pytest.mark.parametrize("name", LOSSES)
    def test_the_dual_never_falls(self, name):
        table, targets = table_of(600, 32, 20), targets_of(name, 600, 2, 10.0)
        duals = [np.zeros(len(targets.positive))]
        for count in range(1, 9):
            _, bias, _, _, stats = run_passes(name, table, targets, count=count, threshold=np.inf)
            duals.append(-(32 * stats[-1, :, 4] + bias**2) / 2 - stats[-1, :, 3])
        assert (np.diff(duals, axis=0) >= -1e-5 * np.abs(duals[-1])).all()
        assert (stats[:, :, 2] > 0).all()

    @pytest.mark.parametrize("name", CLASSIFICATION)
    def test_shrinking_changes_nothing_but_work(self, name):
        """Rows left out come back before the end: the objective is that of a solver that passes over all rows."""
        table, targets = table_of(700, 48, 24), targets_of(name, 700, 2, 0.5)
        task = LinearObjective(LOSSES.index(name), 1.0)
        found = solve(table, targets, task, Stop(1e-6, 3000))
        beta = run_passes(name, table, targets, count=60, scale=1.0, threshold=np.inf)[2]
        for p in range(2):
            primal, dual, *_ = problem_of(table, 1.0, targets, found, p, name)
            found.beta[p] = beta[p]
            unshrunk, lower, *_ = problem_of(table, 1.0, targets, found, p, name)
            assert abs(primal - unshrunk) <= 3e-6 * primal
            assert dual <= unshrunk * (1 + 1e-9)
            assert lower <= primal * (1 + 1e-9)

    def test_rows_that_are_shrunk_wrongly_return(self):
        """A start from another problem shrinks rows that the solution needs."""
        table = table_of(500, 32, 16)
        targets = targets_of("squared_hinge", 500, 1, 10.0)
        task = LinearObjective(0, 1.0)
        cold = solve(table, targets, task, Stop(1e-7, 3000))
        flipped = targets._replace(labels=1 - targets.labels)
        other = solve(table, flipped, task, Stop(1e-3)).beta
        start = np.where(targets.cost > 0, np.abs(other), 0) * np.where(targets.labels == 0, 1, -1)
        warm = solve(table, targets, task, Stop(1e-7, 3000), start=start)
        np.testing.assert_allclose(warm.objective, cold.objective, rtol=1e-6)

    @pytest.mark.parametrize("name", LOSSES)
    def test_a_warm_start_at_the_solution_takes_a_pass(self, name):
        table, targets = table_of(400, 32, 16), targets_of(name, 400, 2, 3.0)
        task = LinearObjective(LOSSES.index(name), 1.0, EPSILON)
        cold = solve(table, targets, task, Stop(1e-4))
        before = cold.beta.copy()
        warm = solve(table, targets, task, Stop(1e-4), start=cold.beta)
        assert (warm.passes == 1).all()
        assert (cold.passes >= 1).all()
        np.testing.assert_array_equal(cold.beta, before)

    def test_rows_of_cost_0_and_empty_rows(self):
        table, targets = table_of(80, 16, 9, empty=0.3), targets_of("squared_hinge", 80, 1)
        found = solve(table, targets, LinearObjective(0, 1.0), Stop(1e-6))
        assert not found.beta[0, targets.cost == 0].any()
        assert found.beta[0, (table.empty != 0) & (targets.cost > 0)].any()  # they move the intercept
        only_empty = replace(table, empty=np.ones(80, np.uint8))
        for name in LOSSES:
            for scale in (0.0, 1.0):
                chosen = targets_of(name, 80, 1)
                found = solve(only_empty, chosen, LinearObjective(LOSSES.index(name), scale, EPSILON), Stop(1e-5))
                assert not found.w.any()
                assert (found.gap <= 1e-5 * found.objective).all()

    def test_tables_do_not_drift_from_the_duals(self, monkeypatch):
        """Over many passes float32 sums would: the gap would grow again."""
        monkeypatch.setattr(_problem, "PRECISE_TOL", 0)
        table, targets = table_of(300, 48, 24), targets_of("hinge", 300, 1, 5.0)
        gaps = []
        for passes in (64, 2048):
            found = solve(table, targets, LinearObjective(1, 1.0), Stop(1e-12, passes, warn=False))
            gaps.append(found.gap[0] / found.objective[0])
        assert gaps[1] < 2 * gaps[0] < 4e-5

    def test_passes_that_do_not_suffice(self):
        table, targets = table_of(400, 64, 30), targets_of("hinge", 400, 2, 1000.0)
        with pytest.warns(ConvergenceWarning, match=r"max_iter=2 passes the duality gap is .* above tol=1e-06"):
            found = solve(table, targets, LinearObjective(1, 1.0), Stop(1e-6, 2))
        for p in range(2):  # and the gap is still the true one
            primal, dual, *_ = problem_of(table, 1.0, targets, found, p, "hinge", as_found=True)
            np.testing.assert_allclose(found.gap[p], primal - dual, rtol=1e-9)
            np.testing.assert_allclose(found.objective[p], primal, rtol=1e-9)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            solve(table, targets, LinearObjective(1, 1.0), Stop(1e-6, 2, warn=False))

    def test_rows_that_contradict_each_other(self):
        """All rows alike, half of each class: the classes' share decides."""
        table = CodeTable(np.zeros((300, 8), np.uint8), np.zeros(300, np.uint8), np.arange(1))
        labels = (np.arange(300) % 3 == 0).astype(np.int32)
        targets = Targets(labels, None, np.ones(300, np.float32), np.array([1], np.int32), np.ones((1, 2), np.float32))
        for name in CLASSIFICATION:
            found = solve(table, targets, LinearObjective(LOSSES.index(name), 1.0), Stop(1e-5))
            primal, dual, f, *_ = problem_of(table, 1.0, targets, found, 0, name)
            assert primal - dual <= 1.001e-5 * primal
            assert (f < 0).all()

    @pytest.mark.parametrize("name", LOSSES)
    @pytest.mark.parametrize("problems", [1, 3])
    def test_threads_that_help_do_not_matter(self, name, problems):
        """There are more threads than problems, and enough codes for each thread to start."""
        table, targets = table_of(9000, 256, 40), targets_of(name, 9000, problems)
        expected = run_passes(name, table, targets, count=2)
        for threads in (2, 3, 7, 16):
            assert_same(run_passes(name, table, targets, count=2, threads=threads), expected, where=str(threads))

    @pytest.mark.parametrize("threads", [2, 3, 7, 16])
    @pytest.mark.parametrize("tol", [1e-4, 1e-5])
    def test_threads_do_not_matter(self, threads, tol):
        table, targets = table_of(900, 32, 40), targets_of("squared_hinge", 900, 5)
        one, more = (solve(table, targets, LinearObjective(0, 1.0), Stop(tol), threads=t) for t in (1, threads))
        for name in ("w", "bias", "beta", "objective", "gap", "passes"):
            np.testing.assert_array_equal(getattr(one, name), getattr(more, name))

    def test_big_tables_are_summed_in_parts(self, monkeypatch):
        table, targets = table_of(200, 37, 300), targets_of("squared_hinge", 200, 2)
        whole = solve(table, targets, LinearObjective(0, 1.0), Stop(1e-5))
        monkeypatch.setattr(_problem, "SUMS_BYTES", 3 * 8 * 300)
        parts = solve(table, targets, LinearObjective(0, 1.0), Stop(1e-5))
        np.testing.assert_array_equal(parts.w, whole.w)
        np.testing.assert_allclose(parts.gap, whole.gap, rtol=1e-6)


class TestOrder:
    @pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1000, SEGMENT, SEGMENT + 1, 2 * SEGMENT + 77])
    def test_every_row_once(self, n):
        order = order_of(n, 5, 2)
        assert order.dtype == np.int32
        np.testing.assert_array_equal(np.sort(order), np.arange(n))

    def test_orders_differ(self):
        orders = [order_of(500, seed, number) for seed in (0, 1, 2**64 - 1) for number in range(3)]
        assert len({order.tobytes() for order in orders}) == 9
        np.testing.assert_array_equal(order_of(500, 1, 2), order_of(500, 1, 2))

    def test_neighbours_are_not_in_one_block(self):
        """Of 256 rows in a block, few follow each other in the data: about 4 in 16384, at most 20 here."""
        order = order_of(SEGMENT, 0, 0)
        for start in range(0, SEGMENT, BLOCK_ROWS):
            block = np.sort(order[start : start + BLOCK_ROWS])
            assert (np.diff(block) == 1).sum() < 20
