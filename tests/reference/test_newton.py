"""Newton's method: the specification against calculus and linear algebra, and native code against the specification."""

import numpy as np
import pytest

from kernelsketch import _native
from kernelsketch._loss_formulas import formulas_of
from kernelsketch._losses import LOSS_TABLE, loss_number
from kernelsketch.backends import LinearObjective, use_backend
from kernelsketch.backends.cpu import CpuBackend
from kernelsketch.backends.reference import ReferenceBackend
from kernelsketch.linear import _newton as newton
from kernelsketch.linear._code_table import CodeTable
from kernelsketch.linear._problem import DualProblem, Targets
from kernelsketch.reference import newton as reference
from kernelsketch.reference.linear import conjugate, decide, value
from kernelsketch.serving import stride_of

SQUARED_HINGE, LOG_LOSS = loss_number("squared_hinge"), loss_number("log_loss")
SMOOTH = tuple(number for number, loss in enumerate(LOSS_TABLE) if loss.is_smooth)
EPSILON = 0.3


@pytest.fixture
def always(monkeypatch):
    """Newton's method for problems of any size, with small samples."""
    for name, number in {"LEAST_SAMPLE": 32, "ROWS_PER_SYMBOL": 1, "LOOK_ROWS": 1}.items():
        monkeypatch.setattr(newton, name, number)


def made(n, k, used, loss, seed=0):
    """Codes of which half depend on the class, some empty rows, rows of cost 0, and targets."""
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, 3, n)
    codes = rng.integers(0, used, (n, k))
    likely = (classes[:, None] + np.arange(k)) % used
    codes = np.where(rng.random((n, k)) < 0.4, likely, codes).astype(np.uint8 if used <= 256 else np.uint16)
    empty = (rng.random(n) < 0.03).astype(np.uint8)
    cost = np.where(rng.random(n) < 0.1, 0, rng.random(n) * 2 + 0.1).astype(np.float32)
    if LOSS_TABLE[loss].is_regression:
        y = (classes - 1 + 0.1 * rng.normal(size=n)).astype(np.float32)
        return codes, empty, Targets(None, y, cost, np.zeros(1, np.int32), np.ones((1, 2), np.float32))
    factors = np.array([[1, 2], [1, 1], [0.5, 1]], np.float32)
    return codes, empty, Targets(classes.astype(np.int32), None, cost, np.arange(3, dtype=np.int32), factors)


def solve(backend, codes, empty, targets, loss, real, tol=1e-3, max_iter=500):
    used = int(codes.max()) + 1  # the table of weights is padded up to 64 used codes, and ends with them above
    table, objective = CodeTable(codes, empty, np.arange(used)), LinearObjective(loss, 0.7, EPSILON)
    stride = stride_of(used)
    with use_backend(backend.name):
        problem = DualProblem(table, targets, objective, backend.threads)
        found = problem.begin(None, real)
        symbols = newton.symbols_of(table, stride, 2, backend.threads)
        solved = newton.newton_solve(problem, found, symbols, tol, max_iter, lambda *_: None)
    return found.w, found.bias, found.beta, solved


def targets_of(targets, p):
    if targets.targets is not None:
        return targets.targets.astype(np.float64), targets.cost.astype(np.float64)
    y = np.where(targets.labels == targets.positive[p], 1.0, -1.0)
    return y, targets.cost * targets.factors[p, (y > 0).astype(int)].astype(np.float64)


@pytest.mark.parametrize("loss", SMOOTH)
def test_derivatives_are_those_of_the_loss(loss):
    f = np.linspace(-2.9, 3.1, 400)
    y, c = (np.full_like(f, 0.2) if LOSS_TABLE[loss].is_regression else np.ones_like(f)), np.full_like(f, 1.7)
    y[::2] *= -1
    dual, curvature = formulas_of(loss).dual, formulas_of(loss).curvature
    h = 1e-6
    slope = (value(loss, f + h, y, c, EPSILON) - value(loss, f - h, y, c, EPSILON)) / (2 * h)
    np.testing.assert_allclose(dual(f, y, c, EPSILON), -slope, atol=1e-7)
    h = 1e-4
    bend = (dual(f - h, y, c, EPSILON) - dual(f + h, y, c, EPSILON)) / (2 * h)
    kinks = np.minimum(np.abs(1 - y * f), np.abs(np.abs(y - f) - EPSILON)) < 2 * h
    np.testing.assert_allclose(curvature(f, y, c, EPSILON)[~kinks], bend[~kinks], atol=1e-6)


@pytest.mark.parametrize("m", [1, 5, 64, 130])
def test_the_factor_and_its_equations(m):
    rng = np.random.default_rng(m)
    rows = rng.normal(size=(m, m + 3))
    a = rows @ rows.T + np.eye(m)
    lower = reference.factor(a)
    np.testing.assert_allclose(lower @ lower.T, a, rtol=1e-12, atol=1e-12)
    b = rng.normal(size=m)
    np.testing.assert_allclose(a @ reference.solve(lower, b), b, atol=1e-9)


@pytest.mark.parametrize("together", [2, 4, 8])
@pytest.mark.parametrize("k", [1, 7, 24])
def test_symbols_stand_for_their_codes(together, k):
    codes, empty, _ = made(400, k, 3, SQUARED_HINGE)
    expected = reference.make_symbols(codes, empty, together, 399)
    found = CpuBackend("baseline", 3).make_symbols(codes, empty, together, 399)
    assert expected is not None
    assert found is not None
    for a, b in zip(expected, found, strict=True):
        np.testing.assert_array_equal(a, b)
    rows, counts, first = found
    for g in range(rows.shape[1]):
        mine = codes[:, g * together : (g + 1) * together]
        full = empty == 0
        assert counts[g] == len(np.unique(mine[full], axis=0))
        np.testing.assert_array_equal(mine[first[g, rows[full, g]]], mine[full])
        assert (rows[~full, g] == 0).all()
    assert CpuBackend("baseline").make_symbols(codes, empty, together, int(counts.max()) - 1) is None
    assert reference.make_symbols(codes, empty, together, int(counts.max()) - 1) is None


@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("loss", SMOOTH)
@pytest.mark.parametrize(("n", "k", "used"), [(300, 20, 9), (600, 37, 4), (150, 17, 300), (150, 17, 75), (2500, 16, 2)])
def test_native_code_gives_the_bits_of_the_specification(always, n, k, used, loss, real):
    codes, empty, targets = made(n, k, used, loss)
    tol = 1e-3 if real is np.float32 else 1e-6
    expected = solve(ReferenceBackend(), codes, empty, targets, loss, real, tol)
    assert (expected[3].gap <= tol * expected[3].objective).all()
    for number, isa in enumerate(_native.supported_isas()):
        found = solve(CpuBackend(isa, (1, 3, 16)[number]), codes, empty, targets, loss, real, tol)
        for a, b in zip(expected[:3], found[:3], strict=True):
            if loss == LOG_LOSS:  # the exponential is that of the platform
                np.testing.assert_allclose(a, b, atol=1e-5 if real is np.float32 else 1e-12)
            else:
                np.testing.assert_array_equal(a, b)
        np.testing.assert_allclose(expected[3].objective, found[3].objective, rtol=1e-6)
        if loss != LOG_LOSS:
            np.testing.assert_array_equal(expected[3].passes, found[3].passes)


@pytest.mark.parametrize("loss", SMOOTH)
def test_the_gap_is_that_of_primal_and_dual(always, loss):
    codes, empty, targets = made(500, 24, 7, loss, seed=3)
    w, bias, beta, solved = solve(CpuBackend(_native.supported_isas()[0], 2), codes, empty, targets, loss, np.float64)
    k = codes.shape[1]
    for p in range(len(targets.positive)):
        y, c = targets_of(targets, p)
        f = decide(codes, empty, 0.7, w[p : p + 1], bias[p : p + 1])[:, 0]
        primal = (k * (w[p] ** 2).sum() + bias[p] ** 2) / 2 + value(loss, f, y, c, EPSILON).sum()
        sums = np.zeros(w.shape[1:])
        for j in range(k):
            np.add.at(sums[j], codes[empty == 0, j], beta[p][empty == 0])
        norm = (sums**2).sum() / k + (0.7 * beta[p].sum()) ** 2
        used = c > 0
        dual = -norm / 2 - conjugate(loss, beta[p][used], y[used], c[used]).sum()
        assert solved.objective[p] == pytest.approx(primal, rel=1e-9)
        assert solved.gap[p] == pytest.approx(primal - dual, rel=1e-6, abs=1e-9 * primal)
        assert 0 <= solved.gap[p] <= 1e-3 * primal


def test_no_more_passes_than_asked_for(always):
    codes, empty, targets = made(500, 24, 7, SQUARED_HINGE)
    for most in (1, 2, 5):
        _, _, _, solved = solve(CpuBackend("baseline"), codes, empty, targets, SQUARED_HINGE, np.float32, 1e-9, most)
        assert (solved.passes == most).all()
        assert (solved.gap > 0).all()


def test_all_rows_empty_or_without_cost(always):
    codes, empty, targets = made(60, 8, 4, SQUARED_HINGE)
    backend = CpuBackend("baseline")
    w, bias, _, solved = solve(backend, codes, np.ones_like(empty), targets, SQUARED_HINGE, np.float32)
    assert (w == 0).all()
    assert (bias != 0).any()
    assert (solved.gap <= 1e-3 * solved.objective).all()
    nothing = targets._replace(cost=np.zeros_like(targets.cost))
    w, bias, _, solved = solve(backend, codes, empty, nothing, SQUARED_HINGE, np.float32)
    assert (w == 0).all()
    assert (bias == 0).all()
    assert (solved.gap == 0).all()
