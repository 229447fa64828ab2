"""GPUs whose blocks have less shared memory than those of an H100, emulated: kernels are compiled for this."""

import numpy as np
import pytest
from emulator import EmulatedGpu
from scipy import sparse

from kernelsketch import GCWSClassifier
from kernelsketch.backends import ByteRows, CsrRows, DenseRows, GcwsParams, Ratio, use_backend
from kernelsketch.backends.cuda import _device, _gcws, _newton
from kernelsketch.backends.cuda._linear import layout_of, shared_rows, sorted_codes
from kernelsketch.backends.cuda.backend import CudaBackend
from kernelsketch.backends.reference import ReferenceBackend
from kernelsketch.exceptions import BackendError

pytestmark = pytest.mark.xdist_group("cuda")
REFERENCE = ReferenceBackend()
SIZES = [
    pytest.param(64, id="T4"),
    pytest.param(99, id="RTX 4090, L4, A10", marks=pytest.mark.slow),
    pytest.param(163, id="A100", marks=pytest.mark.slow),
]


@pytest.fixture(scope="module", params=SIZES)
def small(request, emulated_gpu, tmp_path_factory):
    return EmulatedGpu(str(tmp_path_factory.mktemp("kernels")), request.param)


def equal(found, expected):
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("method", ["walks", "bounds"])
def test_hashes(small, monkeypatch, method):
    monkeypatch.setattr(_gcws, "LONG_ROWS", 0 if method == "bounds" else 1000)
    x, params = np.random.default_rng(0).normal(size=(40, 60)).astype(np.float32), GcwsParams(40, 1, 1.0, None)
    for rows in (DenseRows(x), CsrRows.of(sparse.csr_array(x))):
        equal(CudaBackend(small).gcws_samples(rows, params), REFERENCE.gcws_samples(rows, params))


def test_matrices(small):
    rng, backend = np.random.default_rng(1), CudaBackend(small)
    for dtype in (np.float32, np.float64):
        a = rng.normal(size=(70, 40)).astype(dtype)
        np.testing.assert_array_equal(
            backend.gmm(a, a, Ratio.MIN_MAX, symmetric=True), REFERENCE.gmm(a, a, Ratio.MIN_MAX)
        )
        words = rng.integers(0, 256, (9, 72)).astype(np.uint8)
        given = *(ByteRows(words, words.sum(axis=1).astype(dtype)) for _ in range(2)), Ratio.MIN_MAX
        np.testing.assert_array_equal(backend.gmm(*given), REFERENCE.gmm(*given))


@pytest.mark.parametrize("codes", [np.uint8, np.uint16])
@pytest.mark.parametrize("real", [np.float32, np.float64])
def test_sums_of_several_chunks(small, codes, real):
    """With the most codes of 8 bits, whose tables take the most shared memory."""
    rng, stride = np.random.default_rng(2), 256 if codes == np.uint8 else 700
    n, k = 2 * layout_of(small).chunk + 100, 3
    given, empty = rng.integers(0, stride, (n, k)).astype(codes), (rng.random(n) < 0.1).astype(np.uint8)
    values = rng.integers(-9, 9, n).astype(real)
    found, _ = sorted_codes(small, shared_rows(small, given, empty, 1), stride).sums(small, values[None])
    for j in range(k):
        np.testing.assert_array_equal(
            found.sum(axis=(0, 1))[j], np.bincount(given[:, j], values * (empty == 0), stride)
        )


@pytest.mark.parametrize("params", [{"C": 30.0}, {"loss": "log_loss"}, {"loss": "hinge"}, {"t_bits": 6}])
def test_learning(small, monkeypatch, params):
    monkeypatch.setattr(_device, "current_gpu", lambda: small)
    monkeypatch.setattr(_newton, "MANY", -1)
    monkeypatch.setattr(_newton, "sample_size", lambda *_: 64)  # always a preconditioner
    rng = np.random.default_rng(3)
    X = rng.lognormal(sigma=2, size=(90, 5))
    y = np.log(X[:, 0] * X[:, 1]) > rng.normal(size=90)
    model = GCWSClassifier(24, **params)
    expected = model.fit(X, y).objective_
    with use_backend("cuda"):
        model.fit(X, y)
    assert (model.dual_gap_ <= 1e-3 * model.objective_).all()
    np.testing.assert_allclose(model.objective_, expected, rtol=2e-3)


def test_what_a_gpu_does_not_have_is_an_error(small):
    with pytest.raises(
        BackendError, match=f"some_kernel needs 300000 bytes .* this GPU has {small.shared_bytes}: choose"
    ):
        small.launch("codes", "some_kernel", (1,), (1,), shared=300_000)
