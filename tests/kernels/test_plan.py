"""Which arithmetic is chosen, and that blocks, methods and memory do not show in the result."""

import sys
import threading
from functools import partial

import numpy as np
import pytest
from scipy import sparse

from helpers.interrupts import LITTLE, after_ctrl_c
from helpers.memory import extra_memory
from kernelsketch import correlation_kernel, egmm_kernel, gmm_kernel, ngmm_kernel
from kernelsketch.kernels import _correlation_plan, _minmax_plan, _operand, _plan
from kernelsketch.kernels._minmax import plan_gmm

slow = partial(pytest.param, marks=pytest.mark.slow)


@pytest.fixture
def small_blocks(monkeypatch):
    set_small_blocks(monkeypatch)


def set_small_blocks(monkeypatch):
    """Blocks of a few rows, so that small data take the paths of large ones."""
    monkeypatch.setattr(_minmax_plan, "A_BYTES", 4096)
    monkeypatch.setattr(_minmax_plan, "B_BYTES", 2048)
    monkeypatch.setattr(_minmax_plan, "GROUP_ROWS", 11)
    monkeypatch.setattr(_correlation_plan, "BLOCK_BYTES", 4096)
    monkeypatch.setattr(_plan, "SQUARE", 7)
    for module in (_operand, _plan):
        monkeypatch.setattr(module, "STEP_BYTES", 1024)


RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 30)).astype(np.float32)
Y = RNG.normal(size=(70, 30)).astype(np.float32)
WIDE = (X * 10.0 ** RNG.integers(-38, 38, (90, 1))).astype(np.float32)


@pytest.mark.parametrize("isa_name", ["native", "reference"])
@pytest.mark.parametrize(
    ("left", "right", "params"),
    [
        (X, Y, {"p": 2.5}),
        (X, None, {"p": 2.5}),
        (X, Y, {"center": "mean"}),
        (X.astype(np.int8), None, {}),
        (np.asfortranarray(X), Y[:, ::-1][:, ::-1], {}),
        (WIDE, None, {}),
        (WIDE, None, {"p": 30.0}),
        (sparse.csr_array(WIDE), sparse.csr_array(WIDE), {"p": 30.0}),
        (sparse.csr_array(X), None, {"p": 0.5}),
        (sparse.csr_array(X * (X > 1)), sparse.csr_array(Y * (Y > 1)), {}),
        (X, sparse.csr_array(Y), {}),
    ],
)
def test_blocks_do_not_show(left, right, params, isa_name, monkeypatch):
    expected = gmm_kernel(left, right, **params)
    if isa_name == "reference":
        monkeypatch.setenv("KERNELSKETCH_BACKEND", "reference")
    set_small_blocks(monkeypatch)
    np.testing.assert_array_equal(gmm_kernel(left, right, **params), expected)


def methods(*args, **params):
    plan = plan_gmm(*args, **params)
    rows = _minmax_plan._groups(plan.a_kinds, slice(0, plan.shape[0]))
    return {plan.method(left.kind, right.kind) for left in rows for right in plan.b_groups}


class TestMethod:
    def test_dense(self):
        assert methods(X, Y) == {"dense"}

    def test_sparse_where_few_features_are_stored(self):
        few = sparse.random_array((50, 10_000), density=0.001, random_state=0, format="csr")
        assert methods(few, None) == {"sparse"}
        assert methods(few, few.toarray()) == {"sparse"}

    def test_dense_where_many_are(self):
        full = sparse.csr_array(RNG.random((1000, 50)))
        assert methods(full, None) == {"dense"}
        assert methods(full * (full > 0.96), full.toarray()) == {"dense", "sparse"}  # some rows have no nonzero

    def test_bytes_for_small_integers(self, monkeypatch):
        monkeypatch.setattr(_minmax_plan, "BYTE_STEPS", 1)
        integers = RNG.integers(-100, 156, (40, 33))
        assert methods(integers, None) == {"bytes"}
        assert methods(integers.astype(np.float32), integers.astype(np.float32) / 2) == {"dense"}
        assert methods(integers * 2, None) == {"dense"}  # spans more than 255
        assert methods(integers + 400, None) == {"dense"}  # too large for exact float32 sums
        assert methods(integers, None, p=2.0) == {"dense"}
        assert methods(integers, None, center=np.full(33, 0.5)) == {"dense"}

    @pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.float32, np.float64, ">f4"])
    def test_bytes_equal_dense(self, dtype, monkeypatch, small_blocks):
        integers = RNG.integers(0, 100, (90, 37)) if dtype == np.uint8 else RNG.integers(-50, 70, (90, 37))
        integers[5] = 0
        rows, columns = integers[:60].astype(dtype), integers[20:].astype(dtype)
        expected = gmm_kernel(rows, columns), gmm_kernel(rows), egmm_kernel(rows)
        monkeypatch.setattr(_minmax_plan, "BYTE_STEPS", 1)
        assert methods(rows, columns) == {"bytes"}
        found = gmm_kernel(rows, columns), gmm_kernel(rows), egmm_kernel(rows)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_array_equal(a, b)


def test_rows_far_apart_in_size_stay_symmetric():
    """Sparse sums keep what float32 would round away: the scale of other rows must not show in it."""
    for dtype, p, values in [
        (np.float32, 1.0, [1, 2.0**-120]),
        (np.float32, 20.0, [1, 100]),
        (float, 1.0, [1, 2.0**-900]),
    ]:
        rows = sparse.csr_array(np.array(values, dtype)[:, None])
        rows.resize((2, 5000))
        K = gmm_kernel(rows, p=p)
        np.testing.assert_array_equal(K, K.T)
        assert K[0, 1] < 1e-30
        np.testing.assert_array_equal(K[1:], gmm_kernel(rows[[1]], rows, p=p))


def test_ids_that_share_their_low_bits():
    """The hash table of a wide vocabulary does not degenerate."""
    ids = np.arange(20_000) << 40
    rows = sparse.csr_array((np.ones(20_000), ids, [0, 10_000, 20_000]), shape=(2, 2**62))
    np.testing.assert_array_equal(gmm_kernel(rows), np.eye(2))


def test_a_vocabulary_of_any_size():
    """Feature ids near 2^62: memory follows the nonzeros, not the width."""
    rows = sparse.csr_array(
        (np.array([1.0, 2.0, -3.0, 2.0, -1.0]), np.array([3, 2**61, 2**62 - 1, 2**61, 2**62 - 1]), [0, 3, 5]),
        shape=(2, 2**62),
    )
    np.testing.assert_allclose(gmm_kernel(rows), [[1, 0.5], [0.5, 1]])
    np.testing.assert_allclose(ngmm_kernel(rows)[0, 1], 2 / 3 / (2 - 2 / 3))
    np.testing.assert_allclose(correlation_kernel(rows)[0, 1], (4 + 3) / np.sqrt(14 * 5))


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
@pytest.mark.parametrize(
    ("make", "params"),
    [
        ("np.asfortranarray(rng.random((n, 784), dtype=np.float32))", ", center='mean'"),
        ("csr(100_000, 100)", ""),
        slow("rng.random((n, 784), dtype=np.float32)", ""),
        slow("rng.random((n, 784), dtype=np.float32)", ", p=2.0"),
        slow("rng.random((n, 784), dtype=np.float32)", ", center='mean'"),
        slow("np.asfortranarray(rng.random((n, 784), dtype=np.float32))", ""),
        slow("rng.random((500, 40000), dtype=np.float32)", ", p=0.5"),
        slow("np.exp(3 * rng.normal(size=(n, 30)).astype(np.float32))", ", p=20.0"),
        slow("csr(20_000, 2000)", ""),
        slow("rng.integers(0, 256, (n, 784), dtype=np.uint8)", ""),
        slow("rng.integers(0, 256, (n, 784), dtype=np.uint8).astype(np.float32)", ""),
        slow("csr(784, 300)", ""),
    ],
)
def test_memory_is_the_output_and_64_mib(make, params):
    extra = extra_memory(
        make, f"gmm_kernel(X[:40]{params})", f"gmm_kernel(X, n_jobs=2{params})", "from kernelsketch import gmm_kernel"
    )
    assert extra < 64


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT to a process of one's own on Windows")
@pytest.mark.parametrize(
    "make",
    [
        "rng.random((16000, 3000), dtype=np.float32)",
        "sparse.csr_array((rng.random(2_000_000), rng.integers(0, 2000, 2_000_000), 50 * np.arange(40_001)))",
    ],
)
def test_ctrl_c_ends_a_long_call(make):
    """The signal comes once the call has worked for some time, on a matrix that takes far longer."""
    assert after_ctrl_c(f"X = {make}", "kernelsketch.gmm_kernel(X)") == LITTLE


def test_calls_from_several_threads():
    expected = gmm_kernel(X, Y)
    found = [None] * 4

    def work(i):
        found[i] = gmm_kernel(X, Y, n_jobs=2)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for K in found:
        np.testing.assert_array_equal(K, expected)
