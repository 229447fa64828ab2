"""Learning on the card, on emulated threads: the same objective, certified by the same duality gap."""

import numpy as np
import pytest

from kernelsketch import GCWSClassifier, GCWSRegressor, gmm_kernel
from kernelsketch.backends import LinearObjective, LinearTargets, use_backend
from kernelsketch.backends.cuda import _device
from kernelsketch.backends.cuda.backend import MISSING, CudaBackend
from kernelsketch.exceptions import BackendError
from kernelsketch.linear._code_table import CodeTable
from kernelsketch.linear._dual import Stop, Targets, solve
from kernelsketch.linear._losses import loss_number

pytestmark = pytest.mark.xdist_group("cuda")
ROWS, HASHES, CODES = 60, 6, 4


@pytest.fixture
def cuda(card, monkeypatch):
    monkeypatch.setattr(_device, "the_card", lambda: card)
    with use_backend("cuda") as backend:
        yield backend


def problem(loss, classes):
    rng = np.random.default_rng(0)
    codes, empty = rng.integers(0, CODES, (ROWS, HASHES)).astype(np.uint8), np.zeros(ROWS, np.uint8)
    empty[:2] = 1
    table = CodeTable(codes, empty, np.arange(CODES))
    cost, factors = rng.uniform(0, 2, ROWS).astype(np.float32), np.ones((classes, 2), np.float32)
    cost[:5] = 0
    factors[0, 1] = 3
    labels, targets = (codes[:, 0] % 3).astype(np.int32), None
    if loss in ("squared_error", "huber"):
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


def test_what_the_card_does_not_do_says_so(cuda):
    X, y = np.random.default_rng(2).normal(size=(20, 3)), np.arange(20) % 2
    with pytest.raises(BackendError, match=r"not with 'hinge': choose one of them, or use NumPy arrays without"):
        GCWSClassifier(8, bits=3, loss="hinge").fit(X, y)
    with pytest.raises(BackendError, match=r"'cuda' does not support partial_fit.*yet: convert"):
        GCWSClassifier(8, bits=3).partial_fit(X, y, classes=[0, 1])
    table = CodeTable(np.zeros((5, 2), np.uint16), np.zeros(5, np.uint8), np.arange(300))
    targets, objective = problem("squared_hinge", 1)[1:]
    with pytest.raises(BackendError, match="at most 256 different codes, but the rows have up to 300: use bits"):
        solve(table, targets, objective, Stop())
    for name in MISSING:
        with pytest.raises(BackendError, match="yet: convert CuPy arrays to NumPy"):
            getattr(CudaBackend(None), name)
    with pytest.raises(AttributeError):
        _ = CudaBackend(None).unheard_of


def test_memory_that_is_exhausted_at_the_smallest_block(card):
    def work(block):
        raise MemoryError("8.00 GB")

    with pytest.raises(BackendError, match=r"exhausted, even for blocks of 16 rows at a time \(8.00 GB\): free arrays"):
        card.in_blocks(work, 100, 16, "blocks")


def test_problems_stop_where_rounding_does(card):
    """float32 cannot reach this gap: the solver ends, and says how far it came."""
    table, targets, objective = problem("squared_hinge", 1)
    w, bias, beta = np.zeros((1, HASHES, CODES), np.float32), np.zeros(1), np.zeros((1, ROWS), np.float32)
    found = CudaBackend(card).linear_solve(
        table.codes, table.empty, objective, LinearTargets(*targets), w, bias, beta, 1e-14, 60
    )
    assert found.gap[0] < 1e-5 * found.objective[0]


def test_kernels_of_numpy_arrays(cuda):
    X = np.random.default_rng(3).normal(size=(30, 4))
    with use_backend("baseline"):
        expected = gmm_kernel(X)
    np.testing.assert_array_equal(gmm_kernel(X), expected)
