"""Hashes of long rows on emulated threads: bounds leave most values out, and results equal the reference."""

import numpy as np
import pytest
from scipy import sparse

from kernelsketch.backends import CsrRows, DenseRows, GcwsParams
from kernelsketch.backends.cuda import _gcws, _gcws_bounds
from kernelsketch.backends.cuda.backend import CudaBackend
from kernelsketch.backends.reference import ReferenceBackend
from kernelsketch.reference.gcws import log_weights
from kernelsketch.reference.rng import parameters

pytestmark = pytest.mark.xdist_group("cuda")  # one process compiles the kernels
REFERENCE = ReferenceBackend()


@pytest.fixture
def backend(emulated_gpu, monkeypatch):
    monkeypatch.setattr(_gcws, "LONG_ROWS", 0)
    return CudaBackend(emulated_gpu)


def equal(found, expected):
    for mine, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(mine, theirs)
        assert np.asarray(mine).dtype == np.asarray(theirs).dtype


def rows_of(n, d, dtype=np.float32, density=0.5, seed=0):
    rng = np.random.default_rng(seed)
    x = (rng.normal(size=(n, d)) * (rng.random((n, d)) < density)).astype(dtype)
    x[1] = 0
    return x


def both_forms(x):
    return DenseRows(x), CsrRows.of(sparse.csr_array(x))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("p", [1.0, 2.5])
@pytest.mark.parametrize("shape", [(19, 80), (40, 3)])
def test_codes_samples_and_fingerprints(backend, emulated_gpu, dtype, p, shape):
    x = rows_of(*shape, dtype)
    if dtype == np.float64:  # logarithms too large for the fast floor, and subnormal numbers
        x[2], x[3], x[4, 0] = x[2] * 1e-300, x[3] * 1e200, 5e-324
    params = GcwsParams(37, 12345 + 2**63, p, None)
    for rows in both_forms(x):
        for bits in ((8, 0), (6, 2), (11, 0), (16, 8)):
            equal(backend.gcws_codes(rows, params, *bits), REFERENCE.gcws_codes(rows, params, *bits))
        equal(backend.gcws_samples(rows, params), REFERENCE.gcws_samples(rows, params))
        equal(backend.gcws_fingerprints(rows, params), REFERENCE.gcws_fingerprints(rows, params))
    assert "gcws_bounds_visit" in emulated_gpu.launched[-3:]


@pytest.mark.parametrize(
    "setting",
    [
        {"EXPECTED": 1e-6},  # no threshold succeeds, and all values are looked at in the end
        {"EXPECTED": 1e12},  # all values are visited, and differences of a that are too large are not told apart
        {"LIGHT_SHARE": 1},  # made for the lightest row
        {"MOST_ROWS": 128},  # several tiles, more than are in registers
        {"FEW_CLASSES_BYTES": 0},
        {"ITEMS_BYTES": 1},  # eight hashes at a time
        {"FEW_ROWS": 0},  # as many threads as visit many rows
    ],
    ids=lambda setting: next(iter(setting)),
)
def test_results_do_not_depend_on_how_they_are_found(backend, monkeypatch, setting):
    for name, value in setting.items():
        monkeypatch.setattr(_gcws_bounds, name, value)
    x = rows_of(700 if "MOST_ROWS" in setting else 60, 40)
    x *= np.random.default_rng(1).lognormal(sigma=2, size=(len(x), 1)).astype(np.float32)  # light and heavy rows
    params = GcwsParams(33, 7, 1.0, None)
    for rows in both_forms(x):
        equal(backend.gcws_codes(rows, params, 8, 0), REFERENCE.gcws_codes(rows, params, 8, 0))


def test_slots_with_many_values(backend):
    """Warps share the values of a slot, in pieces of 128."""
    rows, params = DenseRows(rows_of(900, 12, density=0.9)), GcwsParams(16, 3, 1.0, None)
    equal(backend.gcws_samples(rows, params), REFERENCE.gcws_samples(rows, params))


def test_many_slots_with_few_values(backend, monkeypatch):
    """Each warp has slots of its own. Keys of many slots become ranks; zeros may be stored."""
    monkeypatch.setattr(_gcws_bounds, "EXPECTED", 1e3)  # so that most slots are listed
    rng, n, count = np.random.default_rng(4), 90, 25
    for d in (20_000, 2**40):
        indices = np.sort(rng.integers(0, d // count, (n, count)) + d // count * np.arange(count), axis=1)
        data = rng.normal(size=n * count).astype(np.float32)
        data[::50] = 0
        rows = CsrRows(np.arange(n + 1, dtype=np.int64) * count, indices.ravel(), data, d)
        params = GcwsParams(16, 5, 1.0, None)
        equal(backend.gcws_samples(rows, params), REFERENCE.gcws_samples(rows, params))


def test_centered_rows_and_memory_layouts(backend):
    x = rows_of(20, 70)
    params = GcwsParams(8, 1, 1.0, x.mean(axis=0, dtype=np.float64))
    for values in (x, np.asfortranarray(x), x[:, ::-1][:, ::-1]):
        equal(backend.gcws_samples(DenseRows(values), params), REFERENCE.gcws_samples(DenseRows(x), params))


def test_empty_rows_alone(backend):
    for rows in both_forms(np.zeros((5, 9), np.float32)):
        slots, t, empty = backend.gcws_samples(rows, GcwsParams(4, 1, 1.0, None))
        assert (slots == -1).all()
        assert not t.any()
        assert empty.all()


def test_long_rows_are_chosen_by_their_length(emulated_gpu):
    params, launched = GcwsParams(4, 1, 1.0, None), []
    for d in (_gcws.LONG_ROWS - 1, _gcws.LONG_ROWS):
        for rows in both_forms(np.ones((3, d), np.float32)):
            CudaBackend(emulated_gpu).gcws_codes(rows, params, 8, 0)
            launched.append("gcws_bounds_visit" in emulated_gpu.launched[-3:])
    assert launched == [False, False, True, True]


def test_a_threshold_lets_as_many_values_pass_as_expected():
    """In 2,000 hashes of two rows. The false-alarm rate is below 1e-6: sums of indicators, five standard deviations."""
    k, expected = 2000, _gcws_bounds.EXPECTED
    rng, slots = np.random.default_rng(5), 2 * np.arange(200)
    for values in (np.ones(200), rng.gamma(1.0, size=200)):
        r, reciprocal, beta, A = (x.astype(np.float64) for x in parameters(1, slots, np.arange(k)))
        logs = log_weights(values, 1.0).astype(np.float64)[:, None]
        a = A - r * np.floor(logs * reciprocal + 1 + beta)
        threshold = np.log2(expected / values.sum()) + _gcws_bounds.OFFSET
        rates = 1 - np.exp(-values * expected / values.sum())  # of exponential variables
        deviation = np.sqrt((rates * (1 - rates)).sum() * k)
        assert abs((a < threshold).sum() - rates.sum() * k) < 5 * deviation
