"""The kernels of the GPU on emulated threads: they equal the NumPy reference to the last bit.

A C++ compiler compiles the ``.cu`` files and the arithmetic header as they are.
"""

import numpy as np
import pytest
from scipy import sparse

from helpers.operations import OPERATIONS, assert_same, methods_of
from kernelsketch.backends import Backend, ByteRows, CsrRows, DenseRows, FourierParams, GcwsParams, NewtonWhole, Ratio
from kernelsketch.backends.cuda.backend import CudaBackend
from kernelsketch.backends.cuda.host import HostBackend
from kernelsketch.backends.reference import ReferenceBackend

pytestmark = pytest.mark.xdist_group("cuda")  # one process compiles the kernels
REFERENCE = ReferenceBackend()
FLOATS = [np.float32, np.float64]


@pytest.fixture(params=[CudaBackend, HostBackend])
def backend(request, emulated_gpu):
    return request.param(emulated_gpu)


def equal(found, expected):
    for mine, theirs in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, expected)), strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert np.asarray(mine).dtype == np.asarray(theirs).dtype


def signed_rows(rng, shape, dtype, density=0.5):
    x = (rng.normal(size=shape) * (rng.random(shape) < density)).astype(dtype)
    x[1] = 0
    return x


def both_forms(x):
    return DenseRows(x), CsrRows.of(sparse.csr_array(x))


@pytest.mark.parametrize("name", sorted({*methods_of(Backend), *methods_of(NewtonWhole)}))
def test_every_operation(backend, name):
    if name == "csr_matrix" and isinstance(backend, CudaBackend):
        pytest.skip("CSR matrices on a GPU are those of CuPy")
    if name == "newton_solve":
        assert OPERATIONS[name](backend) == (True, True)
        return
    assert_same(OPERATIONS[name](backend), OPERATIONS[name](REFERENCE), name)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(3, 5, 1), (20, 70, 21), (5, 3, 130)])  # 130 features are three chunks
def test_dense_kernels(backend, dtype, shape):
    rng, (n, m, d) = np.random.default_rng(0), shape
    a, b = signed_rows(rng, (n, d), dtype, 0.9), signed_rows(rng, (m, d), dtype, 0.9)
    for ratio in Ratio:
        equal(backend.gmm(a, b, ratio), REFERENCE.gmm(a, b, ratio))
    equal(backend.gmm(b, b, ratio, symmetric=True), REFERENCE.gmm(b, b, ratio))
    wide = np.zeros((n, 2 * m), dtype)
    found = backend.gmm(a[:, ::-1], b[:, ::-1], ratio, out=wide[:, m:])  # strides that kernels do not take
    equal(found, REFERENCE.gmm(a[:, ::-1], b[:, ::-1], ratio))
    assert not wide[:, :m].any()


@pytest.mark.parametrize("dtype", FLOATS)
def test_kernels_of_bytes_and_of_sparse_rows(backend, dtype):
    rng = np.random.default_rng(1)
    a, b = (rng.integers(0, 256, (n, 72)).astype(np.uint8) for n in (9, 130))
    a[2] = 0
    sides = [ByteRows(x, x.sum(axis=1).astype(dtype)) for x in (a, b)]
    left, right = (CsrRows.of(sparse.csr_array(signed_rows(rng, (n, 40), dtype))) for n in (7, 5))
    for ratio in Ratio:
        equal(backend.gmm(*sides, ratio), REFERENCE.gmm(*sides, ratio))
        equal(backend.gmm(left, right, ratio), REFERENCE.gmm(left, right, ratio))


def test_maxima_of_sparse_rows(emulated_gpu):
    indptr, values = np.array([0, 2, 2, 5]), np.array([1.0, 3, 2, 0, 1])
    for backend in (CudaBackend(emulated_gpu), REFERENCE):
        equal(backend.row_maxima(indptr, values), np.array([3.0, 0, 2]))


def test_sparse_rows_longer_than_shared_memory(backend):
    rng = np.random.default_rng(2)
    a, b = (CsrRows.of(sparse.csr_array(rng.normal(size=(2, 2500)))) for _ in range(2))
    equal(backend.gmm(a, b, Ratio.MIN_MAX), REFERENCE.gmm(a, b, Ratio.MIN_MAX))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("p", [1.0, 2.5])
def test_samples_and_codes(backend, dtype, p):
    rng = np.random.default_rng(3)
    x = signed_rows(rng, (19, 30), dtype)
    if dtype == np.float64:  # logarithms too large for the fast floor, and subnormal numbers
        x[2], x[3], x[4, 0] = x[2] * 1e-300, x[3] * 1e200, 5e-324
    params = GcwsParams(131, 12345 + 2**63, p, None)
    for rows in both_forms(x):
        for bits in ((8, 0), (4, 0), (6, 2), (8, 6), (16, 8)):
            equal(backend.gcws_codes(rows, params, *bits), REFERENCE.gcws_codes(rows, params, *bits))
        equal(backend.gcws_samples(rows, params), REFERENCE.gcws_samples(rows, params))
        equal(backend.gcws_fingerprints(rows, params), REFERENCE.gcws_fingerprints(rows, params))


def test_samples_of_many_slots(emulated_gpu):
    """A warp has 64 entries in shared memory, and overwrites them with later ones."""
    x, params = np.random.default_rng(12).normal(size=(17, 200)).astype(np.float32), GcwsParams(128, 1, 1.0, None)
    for rows in both_forms(x):
        equal(CudaBackend(emulated_gpu).gcws_codes(rows, params, 8, 0), REFERENCE.gcws_codes(rows, params, 8, 0))


def test_samples_of_centered_rows(backend):
    x = np.random.default_rng(4).normal(size=(9, 5)).astype(np.float32)
    params = GcwsParams(8, 1, 1.0, x.mean(axis=0, dtype=np.float64))
    for values in (x, np.asfortranarray(x), x[:, ::-1][:, ::-1]):
        equal(backend.gcws_samples(DenseRows(values), params), REFERENCE.gcws_samples(DenseRows(x), params))


def test_samples_of_sparse_rows_with_many_features(emulated_gpu):
    """Few rows share a slot, so each group walks alone; slots above 2**20 are numbered; zeros may be stored."""
    backend, params = CudaBackend(emulated_gpu), GcwsParams(70, 5, 1.0, None)
    data = np.array([1.0, -2, 0, 3, 4], np.float32)
    for indices in ([5, 2**40, 2**50, 5, 2**61], [5, 900, 901, 5, 1000]):
        d = 2**62 if indices[-1] > 2**20 else 1001
        X = sparse.csr_array((data, np.array(indices), np.array([0, 3, 3, 5])), shape=(3, d))
        equal(backend.gcws_samples(CsrRows.of(X), params), REFERENCE.gcws_samples(CsrRows.of(X), params))
        assert "gcws_sample_alone" in emulated_gpu.launched[-4:]


def test_results_do_not_depend_on_blocks(emulated_gpu, monkeypatch):
    """A block that does not fit is tried again in halves, and numbers of blocks change nothing."""
    backend = HostBackend(emulated_gpu)
    x, params = np.random.default_rng(5).normal(size=(100, 6)).astype(np.float32), GcwsParams(16, 1, 1.0, None)
    expected = REFERENCE.gcws_samples(DenseRows(x), params)
    seen, listed = [], backend._cuda.gcws_samples

    def short_of_memory(rows, params):
        seen.append(len(rows))
        if len(rows) > 30:
            raise MemoryError("out of memory")
        return listed(rows, params)

    monkeypatch.setattr(backend._cuda, "gcws_samples", short_of_memory)
    equal(backend.gcws_samples(DenseRows(x), params), expected)
    assert seen == [100, 50, 25, 25, 25, 25]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("normalize", [True, False])
def test_fourier_features(backend, dtype, normalize):
    rng, params = np.random.default_rng(6), FourierParams(70, 1.5, 7, normalize)
    x = signed_rows(rng, (9, 19), dtype)
    small, large = (1e-38, 1e30) if dtype == np.float32 else (1e-200, 1e200)
    x[2], x[3] = x[2] * dtype(small), x[3] * dtype(large)
    for rows in both_forms(x):
        equal(backend.fourier(rows, params, 1 << 20), REFERENCE.fourier(rows, params, 1 << 20))
    x[4, 2] = np.nan
    assert backend.fourier(DenseRows(x), params, 1 << 20) is None


@pytest.mark.parametrize("width", [1, 3, 8, 11, 16, 20])
def test_packed_codes(backend, width):
    rng = np.random.default_rng(7)
    dtype = np.uint8 if width <= 8 else np.uint16 if width <= 16 else np.uint32
    codes = rng.integers(0, 2**width, (7, 13)).astype(dtype)
    packed = backend.pack(codes, width)
    equal(packed, REFERENCE.pack(codes, width))
    equal(backend.unpack(packed, width, 13), codes)
    equal(backend.used_codes(codes, width), REFERENCE.used_codes(codes, width))
    few, empty = rng.integers(0, 3, (70, 13)).astype(dtype), rng.random(70) < 0.3
    expected = REFERENCE.match_counts(few[:7], empty[:7], few, empty)
    equal(backend.match_counts(few[:7], empty[:7], few, empty), expected)


def test_numbered_codes(backend):
    rng = np.random.default_rng(8)
    codes = rng.integers(0, 256, (7, 13)).astype(np.uint8)
    for dtype in (np.uint8, np.uint16):
        numbers = rng.integers(0, 200, 256).astype(dtype)
        equal(backend.renumber(codes, numbers), REFERENCE.renumber(codes, numbers))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("code", "stride"), [(np.uint8, 16), (np.uint16, 300), (np.uint16, 9000)])
def test_decision_values(backend, dtype, code, stride):
    """Tables go to shared memory for several problems, for one, or not at all."""
    rng = np.random.default_rng(9)
    for problems, k in ((1, 16), (3, 290 if stride == 16 else 17)):  # 290 hashes are ten parts of 32, the last smaller
        codes, empty = rng.integers(0, stride, (20, k)).astype(code), rng.random(20) < 0.2
        w, bias = rng.normal(size=(problems, k, stride)).astype(dtype), rng.normal(size=problems)
        found = backend.linear_decide(codes, empty, 0.7, w, bias)
        equal(found, REFERENCE.linear_decide(codes, empty, 0.7, w, bias))


def test_sums_over_rows(backend):
    rng = np.random.default_rng(10)
    codes, empty = rng.integers(0, 70, (90, 3)).astype(np.uint8), (rng.random(90) < 0.1).astype(np.uint8)
    beta = rng.normal(size=90).astype(np.float32)
    for stride in (70, 256):
        found, expected = np.zeros((3, stride)), np.zeros((3, stride))
        backend.linear_accumulate(codes, empty, beta, found)
        REFERENCE.linear_accumulate(codes, empty, beta, expected)
        np.testing.assert_allclose(found, expected, atol=1e-12)


def test_signatures_of_exponential_kernels(backend):
    rng = np.random.default_rng(11)
    slots, t = rng.integers(0, 2**62, (4, 6)), rng.integers(-9, 9, (4, 6))
    counts = np.array([2, 0, 3, 1])
    equal(backend.concatenate(slots, t, counts), REFERENCE.concatenate(slots, t, counts))
