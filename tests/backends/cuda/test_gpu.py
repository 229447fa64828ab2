"""The back end on a GPU: parity with the processor, arrays of CuPy and PyTorch in and out, streams and memory."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

import kernelsketch as ks
from helpers.answers import answers
from helpers.clusters import clusters
from kernelsketch.backends import (
    ByteRows,
    CsrRows,
    DenseRows,
    FourierParams,
    GcwsParams,
    Ratio,
    available,
    use_backend,
)
from kernelsketch.backends.cpu import CpuBackend
from kernelsketch.exceptions import BackendError, InputError, InputTypeError

pytestmark = pytest.mark.gpu
CPU = CpuBackend(available()[0], 4)
FLOATS = [np.float32, np.float64]
X, y = load_digits(return_X_y=True)
X_train, X_test, y_train = X[:600] - 4.0, X[600:900] - 4.0, y[:600]


@pytest.fixture
def cuda(gpu):
    with use_backend("cuda") as backend:
        yield backend._cuda


def host(found):
    assert type(found).__module__.startswith("cupy")
    return found.get()


def equal(found, expected):
    for mine, theirs in zip(*(x if isinstance(x, tuple) else (x,) for x in (found, expected)), strict=True):
        np.testing.assert_array_equal(host(mine), theirs)


def placed(gpu, rows):
    arrays = [gpu.asarray(x) for x in rows.arrays]
    return CsrRows(*arrays, rows.n_features) if rows.sparse else DenseRows(*arrays)


def rows_of_both_forms(rng, n, d, dtype):
    x = (rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.4)).astype(dtype)
    x[1] = 0
    if dtype == np.float64:
        x[2], x[3] = x[2] * 1e-300, x[3] * 1e200
    return DenseRows(x), CsrRows.of(sparse.csr_array(x))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(5, 7, 3), (300, 200, 784), (130, 257, 64), (33, 20, 1000)])
def test_kernels(gpu, cuda, dtype, shape):
    rng, (n, m, d) = np.random.default_rng(0), shape
    a, b = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(m, d)).astype(dtype)
    a[1] = 0
    words = [rng.integers(0, 256, (q, -(-d // 8) * 8)).astype(np.uint8) for q in (n, m)]
    rows_of_bytes = [ByteRows(x, x.sum(axis=1).astype(dtype)) for x in words]
    csr = [CsrRows.of(sparse.csr_array(x * (rng.random(x.shape) < 0.2))) for x in (a, b)]
    for ratio in Ratio:
        equal(cuda.gmm(gpu.asarray(a), gpu.asarray(b), ratio), CPU.gmm(a, b, ratio))
        found = cuda.gmm(*(ByteRows(*map(gpu.asarray, x)) for x in rows_of_bytes), ratio)
        equal(found, CPU.gmm(*rows_of_bytes, ratio))
        equal(cuda.gmm(*(placed(gpu, x) for x in csr), ratio), CPU.gmm(*csr, ratio))
    equal(cuda.gmm(gpu.asarray(a), gpu.asarray(a), ratio, symmetric=True), CPU.gmm(a, a, ratio))
    fortran = gpu.asarray(np.asfortranarray(b))
    equal(cuda.gmm(gpu.asarray(a)[::2], fortran, ratio), CPU.gmm(a[::2], b, ratio))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(100, 300, 130), (1000, 784, 1024), (64, 16, 64)])
def test_hashes(gpu, cuda, dtype, shape):
    n, d, k = shape
    for rows in rows_of_both_forms(np.random.default_rng(1), n, d, dtype):
        on_gpu = placed(gpu, rows)
        for p in (1.0, 2.5):
            params = GcwsParams(k, 12345 + 2**63, p, None)
            for bits in ((8, 0), (6, 2), (16, 8)):
                equal(cuda.gcws_codes(on_gpu, params, *bits), CPU.gcws_codes(rows, params, *bits))
            equal(cuda.gcws_samples(on_gpu, params), CPU.gcws_samples(rows, params))
            equal(cuda.gcws_fingerprints(on_gpu, params), CPU.gcws_fingerprints(rows, params))
        for normalize in (True, False):
            params = FourierParams(k, 1.5, 7, normalize)
            equal(cuda.fourier(on_gpu, params, 1 << 24), CPU.fourier(rows, params, 1 << 24))


def test_samples_of_rare_slots(gpu, cuda):
    rng = np.random.default_rng(2)
    indices = np.sort(rng.integers(0, 2**40, (500, 30)), axis=1)
    data = rng.normal(size=indices.size).astype(np.float32)
    rows = CsrRows(np.arange(501, dtype=np.int64) * 30, indices.ravel(), data, 2**41)
    params = GcwsParams(200, 3, 1.0, None)
    equal(cuda.gcws_samples(placed(gpu, rows), params), CPU.gcws_samples(rows, params))


def test_reciprocals_are_correctly_rounded(gpu):
    """Of every r that can occur: 8 significant bits, from 2**-20 to 2**8."""
    from kernelsketch.backends.cuda._source import OPTIONS, source_of

    kernel = """
    extern "C" __global__ void reciprocals(u32 first, float* found, float* right) {
      u32 i = blockIdx.x * 128 + threadIdx.x;
      float r = ks_float32((first + i) << 16);
      found[i] = ks_reciprocal(r);
      right[i] = __fdiv_rn(1.0f, r);
    }"""
    module = gpu.RawModule(code=source_of("gcws") + kernel, options=OPTIONS, backend="nvrtc")
    count = 128 * 28
    found, right = gpu.empty(count, np.float32), gpu.empty(count, np.float32)
    module.get_function("reciprocals")((28,), (128,), (np.uint32((127 - 20) << 7), found, right))
    np.testing.assert_array_equal(found.get(), right.get())


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("code", "stride"), [(np.uint8, 64), (np.uint8, 256), (np.uint16, 300), (np.uint16, 9000)])
def test_decision_values(gpu, cuda, dtype, code, stride):
    rng = np.random.default_rng(3)
    for problems, k in ((1, 512), (10, 300), (3, 48)):
        if stride == 9000 and k > 100:
            continue
        codes, empty = rng.integers(0, stride, (3000, k)).astype(code), rng.random(3000) < 0.1
        w, bias = rng.normal(size=(problems, k, stride)).astype(dtype), rng.normal(size=problems)
        found = cuda.linear_decide(*map(gpu.asarray, (codes, empty)), 0.7, gpu.asarray(w), bias)
        equal(found, CPU.linear_decide(codes, empty, 0.7, w, bias))


@pytest.mark.parametrize(
    "params", [{}, {"bits": 3, "t_bits": 2}, {"gamma": 1.5}, {"center": "median"}, {"views": [20, 44]}]
)
def test_cupy_arrays_through_the_public_names(gpu, params):
    expected, found = ks.GCWS(64, **params).fit(X_train), ks.GCWS(64, **params).fit(gpu.asarray(X_train))
    codes = found.codes(gpu.asarray(X_test))
    assert codes.to_host() == expected.codes(X_test)
    equal(found.signatures(gpu.asarray(X_test)), expected.signatures(X_test))
    features = found.transform(gpu.asarray(X_test))
    assert type(features).__module__.startswith("cupyx")
    np.testing.assert_array_equal(host(features.indices), expected.transform(X_test).indices)
    equal(ks.gmm_kernel(gpu.asarray(X_test), gpu.asarray(X_train)), ks.gmm_kernel(X_test, X_train))
    equal(ks.NRFF(64).fit_transform(gpu.asarray(X_test)), ks.NRFF(64).fit_transform(X_test))


def test_sparse_matrices_of_cupy(gpu):
    from cupyx.scipy import sparse as gpu_sparse

    S = sparse.random_array((200, 5000), density=0.01, rng=np.random.default_rng(4), format="csr")
    on_gpu = gpu_sparse.csr_matrix(sparse.csr_matrix(S))
    assert ks.GCWS(64).fit(on_gpu).codes(on_gpu).to_host() == ks.GCWS(64).fit(S).codes(S)
    equal(ks.gmm_kernel(on_gpu), ks.gmm_kernel(S))


@pytest.mark.parametrize("loss", ["squared_hinge", "log_loss"])
@pytest.mark.parametrize("tol", [1e-3, 1e-6])
def test_models(gpu, loss, tol):
    model = ks.GCWSClassifier(128, loss=loss, C=3.0, tol=tol)
    expected = model.fit(X_train, y_train).objective_
    values = model.decision_function(X_test)
    model.fit(gpu.asarray(X_train), gpu.asarray(y_train))
    assert (model.dual_gap_ <= tol * model.objective_).all()
    np.testing.assert_allclose(model.objective_, expected, rtol=2 * tol)
    np.testing.assert_allclose(host(model.decision_function(gpu.asarray(X_test))), values, atol=30 * tol**0.5)
    labels = model.predict(gpu.asarray(X_test))
    np.testing.assert_array_equal(host(labels), model.predict(X_test))


def test_regression_cross_validation_and_numpy_arrays(gpu):
    found = ks.GCWSRegressor(64).fit(gpu.asarray(X_train), y_train).predict(gpu.asarray(X_test))
    assert np.corrcoef(host(found), ks.GCWSRegressor(64).fit(X_train, y_train).predict(X_test))[0, 1] > 0.99
    best = ks.GCWSClassifierCV(64, Cs=3, cv=3).fit(gpu.asarray(X_train), y_train)
    assert best.scores_.mean() > 0.8
    with use_backend("cuda"):
        codes = ks.GCWS(64).fit(X_train).codes(X_test)
        kernel = ks.gmm_kernel(X_test, X_train)
        model = ks.GCWSClassifier(64).fit(X_train, y_train)
    assert codes == ks.GCWS(64).fit(X_train).codes(X_test)
    assert isinstance(codes.packed, np.ndarray)
    np.testing.assert_array_equal(kernel, ks.gmm_kernel(X_test, X_train))
    assert isinstance(model.code_weights_, np.ndarray)


@pytest.mark.parametrize("kind", ["bytes", "floats", "sparse"])
@pytest.mark.parametrize(
    "params",
    [
        {"n_tables": 0, "n_components": 128, "n_rerank": 50},
        {"n_tables": 40, "hashes_per_table": 3, "n_components": 300, "n_rerank": 20, "fill_missing": True},
        {"n_tables": 0, "store_vectors": False, "n_components": 4096},
        {"n_tables": 0, "n_rerank": 10**6},
        {"heavy_fraction": 0.7, "n_rerank": 30},
    ],
    ids=["codes", "tables", "estimates", "exact", "heavy"],
)
def test_an_index(gpu, kind, params):
    """The same ids and similarities as on the processor, bit for bit, with NumPy arrays and with those of CuPy."""
    from cupyx.scipy import sparse as gpu_sparse

    if "heavy_fraction" in params and kind != "sparse":
        pytest.skip("inverted lists need sparse rows")
    rows = clusters(1500, 90, signed=kind == "floats")
    rows[17], rows[60:70] = 0, rows[60]
    rows = {"bytes": np.minimum(np.rint(rows * 40), 255), "floats": rows, "sparse": sparse.csr_matrix(rows)}[kind]
    asked = rows[1400:]

    def grown():
        return ks.GCWSIndex(**params).fit(rows[:900]).add(rows[900:1400], np.arange(-500, 0)).remove([-7, 3])

    expected = answers(grown(), asked), answers(grown())
    with use_backend("cuda"):
        assert (answers(grown(), asked), answers(grown())) == expected
    on_gpu = gpu_sparse.csr_matrix(asked) if kind == "sparse" else gpu.asarray(asked)
    equal(grown().kneighbors(on_gpu, 4), tuple(np.array(part) for part in expected[0][:2]))
    for found, theirs in zip(grown().neighbors_above(on_gpu, threshold=0.3), expected[0][2:4], strict=True):
        assert [host(part).tolist() for part in found] == theirs


def test_an_index_of_many_rows(gpu, tmp_path):
    """Several parts of the rows; made from CuPy arrays, saved and loaded."""
    rows = clusters(20_000, 30).astype(np.float32)
    rows = np.tile(rows, (60, 1)) * np.repeat(np.linspace(1, 2, 60, dtype=np.float32), len(rows))[:, None]
    index = ks.GCWSIndex(n_tables=0, n_components=64, n_jobs=-1).fit(gpu.asarray(rows))
    distances, ids = map(host, index.kneighbors(gpu.asarray(rows[:50]), 7))
    expected = index.kneighbors(rows[:50], 7)
    np.testing.assert_array_equal(ids, expected[1])
    np.testing.assert_array_equal(distances, expected[0])
    index.set_params(n_rerank=len(rows))
    equal(index.kneighbors(gpu.asarray(rows[:3])), index.kneighbors(rows[:3]))
    index.save(tmp_path / "index")
    loaded = ks.GCWSIndex.load(tmp_path / "index", mmap=True)
    equal(loaded.kneighbors(gpu.asarray(rows[:3])), index.kneighbors(rows[:3]))


def test_tuning_an_index(gpu):
    rows = sparse.csr_matrix(clusters(2000, 60))
    expected = ks.GCWSIndex(5).tune(rows, recall=0.9).get_params()
    with use_backend("cuda"):
        assert ks.GCWSIndex(5).tune(rows, recall=0.9).get_params() == expected


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "log_loss"])
def test_many_codes_and_other_losses(gpu, loss):
    params = {"bits": 8, "t_bits": 8, "loss": loss}
    rows = np.random.default_rng(0).lognormal(sigma=3.0, size=X_train.shape) * X_train
    expected = ks.GCWSClassifier(64, **params).fit(rows, y_train)
    found = ks.GCWSClassifier(64, **params).fit(gpu.asarray(rows), y_train)
    assert len(found.used_codes_) > 256
    assert (found.dual_gap_ <= 1e-3 * found.objective_).all()
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=2e-3)
    np.testing.assert_array_equal(host(found.predict(gpu.asarray(X_test))), found.predict(X_test))


def test_streams_of_rows(gpu):
    expected, found = ks.GCWSClassifier(64), ks.GCWSClassifier(64)
    for part in (slice(0, 400), slice(400, 600)):
        expected.partial_fit(X_train[part], y_train[part], classes=np.arange(10))
        found.partial_fit(gpu.asarray(X_train[part]), y_train[part], classes=np.arange(10))
    equal(found.decision_function(gpu.asarray(X_test)), expected.decision_function(X_test))
    blocks = [(X_train[:300], y_train[:300]), (X_train[300:], y_train[300:])]
    expected = ks.GCWSClassifier(64).fit_blocks(blocks)
    with use_backend("cuda"):
        found = ks.GCWSClassifier(64).fit_blocks(blocks)
    np.testing.assert_allclose(found.objective_, expected.objective_, rtol=2e-3)


@pytest.mark.parametrize("scale", ["standard", "robust", "quantile"])
def test_scaled_columns(gpu, scale):
    model = ks.GCWSRegressor(64, scale=scale).fit(gpu.asarray(X_train), y_train)
    equal(model.predict(gpu.asarray(X_test)), model.predict(X_test))


def test_scikit_learn_with_array_api_dispatch(gpu):
    """In a process of its own, because SciPy reads its environment when it is imported."""
    script = Path(__file__).parent / "array_api.py"
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, env=environment, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_pytorch_round_trip(gpu):
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("this PyTorch has no CUDA")
    train, test = (torch.from_numpy(x).cuda() for x in (X_train, X_test))
    kernel = ks.gmm_kernel(test, train)
    assert kernel.is_cuda
    np.testing.assert_array_equal(kernel.cpu().numpy(), ks.gmm_kernel(X_test, X_train))
    hasher = ks.GCWS(64).fit(train)
    columns = hasher.codes(test).to_torch()
    assert columns.is_cuda
    expected = ks.GCWS(64).fit(X_train).codes(X_test)
    np.testing.assert_array_equal(columns.cpu().numpy(), expected.to_torch().numpy())
    assert hasher.transform(test).is_cuda
    model = ks.GCWSClassifier(64).fit(train, torch.from_numpy(y_train).cuda())
    assert model.predict(test).is_cuda
    assert model.decision_function(test).shape == (len(X_test), 10)
    assert ks.NRFF(32).fit_transform(test).is_cuda
    index = ks.GCWSIndex(n_tables=0).fit(train)
    distances, ids = index.kneighbors(test)
    assert distances.is_cuda
    np.testing.assert_array_equal(ids.cpu().numpy(), index.kneighbors(X_test)[1])
    assert index.kneighbors_graph(test).is_cuda


def test_two_streams(gpu):
    hasher, parts = ks.GCWS(256).fit(X_train), np.array_split(np.arange(len(X)), 4)
    streams, found = [gpu.cuda.Stream(non_blocking=True) for _ in range(2)], []
    for i, rows in enumerate(parts):
        with streams[i % 2]:
            found.append(hasher.codes(gpu.asarray(X[rows])))
    gpu.cuda.Device().synchronize()
    for codes, rows in zip(found, parts, strict=True):
        assert codes.to_host() == hasher.codes(X[rows])


def test_memory_does_not_grow(gpu):
    on_gpu, hasher = gpu.asarray(X_test[:64]), ks.GCWS(32).fit(X_train)
    pool, used = gpu.get_default_memory_pool(), []
    for call in range(1000):
        hasher.codes(on_gpu)
        if call in (10, 999):
            gpu.cuda.Device().synchronize()
            used.append(pool.used_bytes())
    assert used[1] <= used[0]


def test_bad_input_is_refused_at_the_door(gpu):
    with pytest.raises(InputError, match="X must be 2-D"):
        ks.GCWS(8).fit(gpu.asarray(X[0]))
    with pytest.raises(InputError, match=r"X contains NaN \(row 1, column 2\)"):
        ks.GCWS(8).fit(gpu.asarray(np.where(np.arange(12).reshape(2, 6) == 8, np.nan, 1.0)))
    with pytest.raises(InputTypeError, match=r"arrays belong to different libraries \(CuPy, NumPy\)"):
        ks.gmm_kernel(gpu.asarray(X[:9]), X[:9])
    with pytest.raises(InputTypeError, match="X must hold real numbers, got dtype complex128"):
        ks.GCWS(8).fit(gpu.ones((2, 2), np.complex128))
    with pytest.raises(BackendError, match=r"a similarity join runs on the processor only.*copy the CuPy arrays"):
        ks.NearDuplicates().fit(gpu.asarray(X))


def test_memory_that_learning_exhausts(gpu):
    pool, rows = gpu.get_default_memory_pool(), np.random.default_rng(6).random((200_000, 20), dtype=np.float32)
    codes = ks.GCWS(256).fit(rows).codes(rows)
    pool.free_all_blocks()
    pool.set_limit(size=pool.used_bytes() + 100 * 2**20)  # the codes take 51 MB, and sorting them 102 MB
    try:
        with use_backend("cuda"), pytest.raises(BackendError, match=r"exhausted by .* 200000 rows with 256 hashes"):
            ks.GCWSClassifier(256).fit(codes, rows[:, 0] > 0.5)
    finally:
        pool.set_limit(size=0)
    with use_backend("cuda"):
        assert ks.GCWSClassifier(256).fit(codes, rows[:, 0] > 0.5).score(codes[:1000], rows[:1000, 0] > 0.5) > 0.9


def test_memory_that_is_exhausted(gpu):
    """Hashing goes on in smaller blocks when the pool is full."""
    pool = gpu.get_default_memory_pool()
    rows = gpu.asarray(np.random.default_rng(5).random((20_000, 200), dtype=np.float32))
    hasher = ks.GCWS(256).fit(rows)
    expected = hasher.codes(rows).to_host()
    pool.free_all_blocks()
    pool.set_limit(size=pool.used_bytes() + 60 * 2**20)
    try:
        found = hasher.codes(rows)
    finally:
        pool.set_limit(size=0)
    assert found.to_host() == expected
