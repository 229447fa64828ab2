"""Learning on the GPU, on emulated threads: the same objective, certified by the same duality gap."""

import numpy as np
import pytest

from helpers.solver import solve
from kernelsketch import GCWSClassifier, GCWSRegressor, gmm_kernel
from kernelsketch._losses import LOSS_TABLE, loss_named, loss_number
from kernelsketch.backends import LinearObjective, LinearPass, LinearTargets, NewtonProblem, use_backend
from kernelsketch.backends.cuda import _descent, _newton, _source
from kernelsketch.backends.cuda._linear import layout_of, own_rows, shared_rows, sorted_codes
from kernelsketch.backends.cuda._preconditioner import RIDGE, Preconditioner, sample_size
from kernelsketch.backends.cuda.backend import CudaBackend
from kernelsketch.backends.reference import ReferenceBackend
from kernelsketch.exceptions import BackendError
from kernelsketch.linear._code_table import CodeTable
from kernelsketch.linear._problem import Stop, Targets
from kernelsketch.serving import Predictor

pytestmark = pytest.mark.xdist_group("cuda")
ROWS, HASHES, CODES = 60, 6, 4


def problem(loss, classes):
    rng = np.random.default_rng(0)
    codes, empty = rng.integers(0, CODES, (ROWS, HASHES)).astype(np.uint8), np.zeros(ROWS, np.uint8)
    empty[:2] = 1
    table = CodeTable(codes, empty, np.arange(CODES))
    cost, factors = rng.uniform(0, 2, ROWS).astype(np.float32), np.ones((classes, 2), np.float32)
    cost[:5] = 0
    factors[0, 1] = 3
    labels, targets = (codes[:, 0] % 3).astype(np.int32), None
    if loss_named(loss).is_regression:
        labels, targets = None, rng.normal(size=ROWS).astype(np.float32)
    positive = np.arange(classes, dtype=np.int32)
    return table, Targets(labels, targets, cost, positive, factors), LinearObjective(loss_number(loss), 0.5, 0.3)


@pytest.mark.parametrize(
    ("loss", "classes"), [("squared_hinge", 3), ("log_loss", 1), ("squared_error", 1), ("huber", 1)]
)
@pytest.mark.parametrize("tol", [1e-3, 1e-7])
def test_the_objective_is_that_of_coordinate_descent(cuda, loss, classes, tol):
    table, targets, objective = problem(loss, classes)
    with use_backend("baseline"):
        expected = solve(table, targets, objective, Stop(tol))
    found = solve(table, targets, objective, Stop(tol))
    assert (found.gap <= tol * found.objective).all()
    np.testing.assert_allclose(found.objective, expected.objective, rtol=2 * tol)
    assert found.w.dtype == expected.w.dtype
    again = solve(table, targets, objective, Stop(tol), start=found.beta)  # a warm start from the duals
    assert (again.passes <= found.passes).all()


@pytest.mark.parametrize(("loss", "classes"), [("squared_hinge", 3), ("log_loss", 1)])
def test_more_than_256_codes(cuda, loss, classes):
    table, targets, objective = problem(loss, classes)
    numbers = np.array([0, 7, 256, 400])  # two digits
    wide = CodeTable(numbers[table.codes].astype(np.uint16), table.empty, np.arange(401))
    expected, found = (solve(of, targets, objective, Stop(1e-5)) for of in (table, wide))
    np.testing.assert_allclose(found.objective, expected.objective, rtol=2e-5)
    np.testing.assert_allclose(found.w[:, :, numbers], expected.w[:, :, :CODES], atol=1e-3)
    assert "linear_sum_f64_wide" in cuda.gpu.launched


def test_sums_of_wide_codes(emulated_gpu):
    """Of several chunks of rows, with a code that most of them have."""
    rng = np.random.default_rng(7)
    n, k, stride = 2 * layout_of(emulated_gpu).chunk + 100, 2, 4096
    codes = np.where(rng.random((n, k)) < 0.5, 3, rng.integers(0, 4000, (n, k))).astype(np.uint16)
    empty, values = (rng.random(n) < 0.1).astype(np.uint8), rng.integers(-9, 9, n).astype(np.float32)
    found, slices = sorted_codes(emulated_gpu, shared_rows(emulated_gpu, codes, empty, 1), stride).sums(
        emulated_gpu, values[None]
    )
    for j in range(k):
        expected = np.bincount(codes[:, j], values * (empty == 0), stride)
        np.testing.assert_array_equal(found.sum(axis=(0, 1))[j], expected)
    assert slices > 1


@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_a_preconditioner_saves_passes(cuda, monkeypatch, loss):
    table, targets, objective = problem(loss, 1)
    targets = targets._replace(cost=targets.cost * 100)  # badly conditioned
    plain = solve(table, targets, objective, Stop(1e-6))
    monkeypatch.setattr(_newton, "MANY", -1)
    monkeypatch.setattr(_newton, "sample_size", lambda *_: 64)
    found = solve(table, targets, objective, Stop(1e-6))
    assert (found.gap <= 1e-6 * found.objective).all()
    np.testing.assert_allclose(found.objective, plain.objective, rtol=2e-6)
    assert found.passes.max() < plain.passes.max()


def test_a_preconditioner_is_the_inverse_hessian_of_its_sample(emulated_gpu):
    table = problem("squared_hinge", 1)[0]
    scale, curvature = 0.5, np.random.default_rng(5).uniform(0.1, 3, 2 * ROWS)
    curvature[7] = 0  # this row is not in the sample of the first problem
    codes = sorted_codes(emulated_gpu, shared_rows(emulated_gpu, table.codes, table.empty, 2), CODES)
    counts = np.array([ROWS - 1, ROWS])
    found = Preconditioner(emulated_gpu, codes, curvature, counts, ROWS, scale)
    x = np.zeros((ROWS, HASHES * CODES + 1))
    x[np.arange(ROWS)[:, None], np.arange(HASHES) * CODES + table.codes] = HASHES**-0.5
    x[np.array(table.empty, bool)] = 0
    x[:, -1] = scale
    weights = curvature.reshape(2, ROWS).copy()
    numbers = np.flatnonzero(weights[0])[np.arange(ROWS) * (ROWS - 1) // ROWS]  # rows are taken twice, not left out
    scaled = [w[of] * count / ROWS for w, of, count in zip(weights, (numbers, np.arange(ROWS)), counts, strict=True)]
    bases = [1 + RIDGE * one.mean() for one in scaled]
    sampled = x[numbers], x
    hessians = [base * np.eye(x.shape[1]) + (s.T * d) @ s for base, s, d in zip(bases, sampled, scaled, strict=True)]
    r, bias, products = np.random.default_rng(6).normal(size=(2, HASHES, CODES)), np.array([0.3, -2]), np.empty((2, 4))
    z, z_bias = found.apply(r, bias, products)
    for p in range(2):
        given = np.append(HASHES**0.5 * r[p], bias[p])  # tables are in units of 1/sqrt(k)
        expected = bases[p] * np.linalg.solve(hessians[p], given)
        np.testing.assert_allclose(np.append(HASHES**0.5 * z[p], z_bias[p]), expected, atol=1e-9)
        np.testing.assert_allclose(HASHES * products[p].sum() + bias[p] * z_bias[p], given @ expected)


def test_rows_of_flat_losses_are_left_out(cuda, monkeypatch):
    """Few rows have a curved loss near the solution; the others are not in the products with the Hessian."""
    table, targets, objective = problem("squared_hinge", 3)
    monkeypatch.setattr(_newton, "FEW", 0.0)
    monkeypatch.setattr(_newton, "FEW_OF_MANY", 0.0)
    expected = solve(table, targets, objective, Stop(1e-6))
    sizes = []
    monkeypatch.setattr(_newton, "FEW", 0.99)
    monkeypatch.setattr(_newton, "MANY", 0)
    monkeypatch.setattr(_newton, "sample_size", lambda *_: 32)
    monkeypatch.setattr(_newton, "own_rows", lambda *args: sizes.append(args[-1].sum()) or own_rows(*args))
    found = solve(table, targets, objective, Stop(1e-6))
    np.testing.assert_allclose(found.objective, expected.objective, rtol=2e-6)
    assert 0 < min(sizes) < 3 * ROWS


def test_a_model_and_its_predictions(cuda):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3)).astype(np.float32)
    y = X[:, 0] > 0
    model = GCWSClassifier(8, bits=3).fit(X, y)
    with use_backend("baseline"):
        expected = GCWSClassifier(8, bits=3).fit(X, y)
        values = model.decision_function(X)
    np.testing.assert_allclose(model.objective_, expected.objective_, rtol=2e-3)
    np.testing.assert_array_equal(model.decision_function(X), values)  # bit for bit, from the same weights
    assert GCWSRegressor(8, bits=3).fit(X, X[:, 0]).score(X, X[:, 0]) > 0


def test_predictors_and_exports(cuda, tmp_path):
    """The processor serves a few rows at a time, with the decision values of the model."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 3)).astype(np.float32)
    model = GCWSClassifier(8, bits=3).fit(X, X[:, 0] > 0)
    np.testing.assert_array_equal(model.predictor().decision_function(X), model.decision_function(X))
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(Predictor.load(tmp_path / "model").predict(X), model.predict(X))
    assert "model_predict(" in model.predictor().to_c("model")


def test_more_hashes_than_descent_takes(cuda):
    state = LinearPass(*[np.zeros((1, 2**16, 1))] * 12)
    with pytest.raises(BackendError, match="takes at most 65535 hashes, but there are 65536: use fewer, or use NumPy"):
        cuda.linear_pass(np.zeros((1, 2**16), np.uint8), np.zeros(1, np.uint8), LinearObjective(1, 1.0), state)


LOSSES = [(loss.name, 3 if loss.has_margin else 1) for loss in LOSS_TABLE]


@pytest.mark.parametrize(("loss", "classes"), LOSSES)
@pytest.mark.parametrize("real", [np.float32, np.float64])
@pytest.mark.parametrize("code", [np.uint8, np.uint16])
def test_a_pass_of_coordinate_descent_is_that_of_the_reference(cuda, loss, classes, real, code):
    """Bit for bit, but for the logarithms of the log loss."""
    compare_passes(cuda, loss, classes, real, code, 300)


@pytest.mark.parametrize("together", [1, 32])
def test_a_pass_over_several_blocks(cuda, monkeypatch, together):
    """The codes of whole blocks are compared at the same time, those of the last block by themselves."""
    monkeypatch.setattr(_descent, "TOGETHER", together)
    for n in (512, 600):
        compare_passes(cuda, "hinge", 3, np.float32, np.uint8, n)


def compare_passes(cuda, loss, classes, real, code, n):
    table, targets, objective = problem(loss, classes)
    rng, found = np.random.default_rng(8), []
    rows, start = rng.integers(0, ROWS, n), rng.normal(size=(classes, HASHES, CODES))
    codes, empty = table.codes[rows].astype(code), table.empty[rows]
    labels, values, cost, *rest = (part if part is None or len(part) != ROWS else part[rows] for part in targets)
    cost[cost == 0] = 1  # the reference leaves rows without a cost out of blocks
    running = np.ones(classes, np.uint8)
    running[1:2] = 0
    for backend in (cuda, ReferenceBackend()):
        state = LinearPass(
            *(np.arange(n, dtype=np.int32)[::-1].copy(), labels, values, cost),
            *(*rest, np.full(classes, np.inf, np.float32), running, start.astype(real), np.zeros(classes)),
            *(np.zeros((classes, n), real), np.zeros((classes, n), np.uint8), 8),
        )
        stats = [backend.linear_pass(codes, empty, objective, state) for _ in range(2)]
        found.append((state.w, state.bias, state.beta, *stats))
    for mine, theirs in zip(*found, strict=True):
        if loss == "log_loss":
            np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-6)
        elif mine.shape == (classes, 5):
            np.testing.assert_allclose(mine, theirs, rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_array_equal(mine, theirs)


def test_unknown_losses_are_refused(cuda, monkeypatch):
    table, targets, _ = problem("hinge", 1)
    given = NewtonProblem(LinearTargets(*targets), *[None] * 3, 1e-3, 10)
    state = LinearPass(*[np.zeros((1, HASHES, CODES))] * 12)

    def refuse(number, message):
        objective = LinearObjective(number, 0.5)
        with pytest.raises(ValueError, match=message):
            cuda.linear_pass(table.codes, table.empty, objective, state)
        with pytest.raises(ValueError, match=message):
            cuda.newton_solve(table.codes, table.empty, objective, given, lambda *_: None)

    for number in (-1, len(LOSS_TABLE)):
        refuse(number, f"loss: unknown number {number}")
    with pytest.raises(ValueError, match="loss: not smooth"):
        cuda.newton_solve(table.codes, table.empty, LinearObjective(1, 0.5), given, lambda *_: None)
    known = _source.kernel_losses()
    monkeypatch.setattr(_source, "kernel_losses", lambda: known[:2])  # kernels that are older than the table
    refuse(2, "loss: unknown number 2")


@pytest.mark.parametrize(("loss", "classes"), [("hinge", 3), ("quantile", 1)])
def test_losses_that_are_not_smooth(cuda, loss, classes):
    table, targets, objective = problem(loss, classes)
    found = solve(table, targets, objective, Stop(1e-3))
    with use_backend("baseline"):
        expected = solve(table, targets, objective, Stop(1e-3))
    assert (found.gap <= 1e-3 * found.objective).all()
    np.testing.assert_allclose(found.objective, expected.objective, rtol=2e-3)


def test_streams(cuda, tmp_path):
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(300, 3)), rng.integers(0, 3, 300)

    def work():
        model = GCWSClassifier(8, bits=3)
        for part in (slice(0, 280), slice(280, 300)):
            model.partial_fit(X[part], y[part], classes=[0, 1, 2])
        return model.code_weights_, GCWSRegressor(8, bits=3).partial_fit(X, X[:, 0]).code_weights_

    found = work()
    blocks = [(X[:150], y[:150]), (X[150:], y[150:])]
    model = GCWSClassifier(8, bits=3).fit_blocks(blocks)
    with use_backend("baseline"):
        expected = work()
        theirs = GCWSClassifier(8, bits=3).fit_blocks(blocks)
    for mine, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, other)
    np.testing.assert_allclose(model.objective_, theirs.objective_, rtol=2e-3)


def test_memory_that_is_exhausted_at_the_smallest_block(emulated_gpu):
    def work(block):
        raise MemoryError("8.00 GB")

    with pytest.raises(BackendError, match=r"exhausted, even for blocks of 16 rows at a time \(8.00 GB\): free arrays"):
        emulated_gpu.in_blocks(work, 100, 16, "blocks")


def test_memory_that_learning_exhausts(cuda, monkeypatch):
    def full(*_):
        raise MemoryError("8.00 GB")

    table, targets, objective = problem("squared_hinge", 1)
    monkeypatch.setattr(_newton, "sorted_codes", full)
    with pytest.raises(BackendError, match=r"exhausted by learning on 60 rows with 6 hashes \(8.00 GB\): free arrays"):
        solve(table, targets, objective, Stop())
    monkeypatch.setattr(cuda.gpu, "upload", full)
    given = NewtonProblem(LinearTargets(*[None] * 5), None, None, None, 1e-3, 10)
    with pytest.raises(BackendError, match="exhausted by the codes of 60 rows with 6 hashes"):
        cuda.newton_solve(table.codes, table.empty, objective, given, lambda *_: None)


def test_samples_that_pay_and_fit():
    room, rows, codes = 1 << 40, 500_000, 500_000 * 512
    assert sample_size(1, rows, 10 * codes, codes, room) == 512
    assert sample_size(1, rows, 100 * codes, codes, room) == 8192
    assert sample_size(1, rows, 100 * codes, codes, 1 << 30) == 4096  # 8192 rows take 3 GB
    assert sample_size(10, rows, codes, codes, room) == 0  # too early
    assert sample_size(1, 1000, 100 * codes, codes, room) == 1024  # as many as there are
    assert sample_size(1, 20_000, 100 * codes, 1000, room) == 0  # passes are cheaper than a product with it


@pytest.mark.parametrize("loss", [loss.name for loss in LOSS_TABLE if loss.is_smooth])
def test_newtons_method_needs_no_help(emulated_gpu, loss):
    """It ends at the gap itself, in few passes; the solver would go on with coordinate descent."""
    table, targets, objective = problem(loss, 1)
    w, bias, beta = np.zeros((1, HASHES, CODES)), np.zeros(1), np.zeros((1, ROWS))
    given = NewtonProblem(LinearTargets(*targets), w, bias, beta, 1e-6, 1000)
    found = CudaBackend(emulated_gpu).newton_solve(table.codes, table.empty, objective, given, lambda *_: None)
    assert (found.gap <= 1e-6 * found.objective).all()
    assert found.passes.max() < 100


def test_problems_stop_where_rounding_does(emulated_gpu):
    """float32 cannot reach this gap: the solver ends, and says how far it came."""
    table, targets, objective = problem("squared_hinge", 1)
    w, bias, beta = np.zeros((1, HASHES, CODES), np.float32), np.zeros(1), np.zeros((1, ROWS), np.float32)
    given = NewtonProblem(LinearTargets(*targets), w, bias, beta, 1e-14, 60)
    found = CudaBackend(emulated_gpu).newton_solve(table.codes, table.empty, objective, given, lambda *_: None)
    assert found.gap[0] < 1e-5 * found.objective[0]


def test_kernels_of_numpy_arrays(cuda):
    X = np.random.default_rng(3).normal(size=(30, 4))
    with use_backend("baseline"):
        expected = gmm_kernel(X)
    np.testing.assert_array_equal(gmm_kernel(X), expected)
