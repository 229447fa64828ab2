"""The look at rows before work on them: native code against NumPy's functions, and both against what they promise."""

import numpy as np
import pytest
from scipy import sparse

from kernelsketch import GCWS, gmm_kernel
from kernelsketch._rows import rows_of
from kernelsketch.backends import CsrRows, DenseRows, available
from kernelsketch.backends._numpy import NumpyArrays
from kernelsketch.backends.cpu import CpuBackend
from kernelsketch.backends.reference import ReferenceBackend
from kernelsketch.exceptions import InputError

THREADS = [1, 3, 16]
ISAS = [name for name in available() if name != "reference"]


class Plain(NumpyArrays):
    threads = 1


def made(kind, n, d, dtype):
    rng = np.random.default_rng(n * d)
    x = rng.integers(-200, 255, (n, d)) if kind == "small" else rng.normal(size=(n, d)) * 1e3
    return np.where(rng.random((n, d)) < 0.4, 0, x).astype(dtype)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int16])
@pytest.mark.parametrize("kind", ["small", "real"])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (3, 15), (70, 16), (500, 401)])
def test_sizes_of_rows(kind, n, d, dtype, threads, isa):
    x = made(kind, n, d, dtype)
    for rows in (DenseRows(x), DenseRows(np.asfortranarray(x)), CsrRows.of(sparse.csr_array(x))):
        native, plain = CpuBackend(isa, threads).measure(rows), Plain().measure(rows)
        np.testing.assert_array_equal(native.sizes, np.abs(x.astype(np.float64)).max(axis=1))
        np.testing.assert_array_equal(native.sizes, plain.sizes)
        zero = [0.0] if rows.sparse else []
        small = kind == "small" or (dtype is np.int16 and np.abs(x).max() < 256)
        assert native[1:] == plain[1:] == (min([x.min(), *zero]), max([x.max(), *zero]), small)


@pytest.mark.parametrize("isa", ISAS)
@pytest.mark.parametrize("value", [255.5, 256, -256, -0.5, 254.75, 1e30, -1e30, 1e-40])
@pytest.mark.parametrize("at", [0, 7, 36, 39])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_value_that_is_not_a_small_whole_number(value, at, isa, dtype):
    x = np.full((3, 40), 200, dtype)
    x[1, at] = value
    assert not CpuBackend(isa).measure(DenseRows(x)).small
    assert not Plain().measure(DenseRows(x)).small
    x[1, at] = -255
    assert CpuBackend(isa).measure(DenseRows(x)).small


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("row", "column"), [(0, 0), (20, 36), (49, 39)])
def test_values_that_are_not_finite(value, dtype, threads, row, column):
    x = np.ones((50, 40), dtype)
    x[row, column] = value
    for rows in (DenseRows(x), CsrRows.of(sparse.csr_array(x))):
        for backend in (*(CpuBackend(isa, threads) for isa in ISAS), Plain()):
            np.testing.assert_array_equal(np.isnan(backend.measure(rows).sizes), np.arange(50) == row)
    word = "NaN" if np.isnan(value) else "infinity"
    for X in (x, sparse.csr_array(x)):
        with pytest.raises(InputError, match=rf"X contains {word} \(row {row}, column {column}\)"):
            gmm_kernel(X, n_jobs=threads)
        with pytest.raises(ValueError, match=word):
            GCWS(8, n_jobs=threads).fit(X)


@pytest.mark.parametrize("threads", THREADS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
@pytest.mark.parametrize(("offset", "width"), [(0, 33), (-130, 40)])
def test_rows_as_bytes(offset, width, dtype, threads):
    x = (np.random.default_rng(1).integers(0, 256, (300, 33)) + offset).astype(dtype)
    for backend in (*(CpuBackend(isa, threads) for isa in ISAS), Plain()):
        found, norms = backend.to_bytes(x, offset, width)
        np.testing.assert_array_equal(found, np.pad(x - offset, ((0, 0), (0, width - 33))).astype(np.uint8))
        np.testing.assert_array_equal(norms, np.abs(x).sum(axis=1))


def csr(indptr, indices, n_features=5):
    return np.array(indptr, np.int32), np.array(indices, np.int32), n_features


CANONICAL = [csr([0, 0], []), csr([0, 2, 2, 4], [0, 4, 1, 2]), csr([0, 1, 2], [4, 0]), csr([0, 1], [2, 7])]
NOT_CANONICAL = [
    csr([0, 2], [4, 0]),
    csr([0, 2], [1, 1]),
    csr([0, 1], [5]),
    csr([0, 1], [-1]),
    csr([0, 3], [0, 1]),
    csr([1, 2], [0, 1]),
    csr([0, 2, 1], [0, 1, 2]),
    csr([0, 2, 4], [0, 4, 3, 2]),
]


@pytest.mark.parametrize("types", [(np.int32, np.int32), (np.int64, np.int64), (np.int64, np.int32)])
@pytest.mark.parametrize(("arrays", "expected"), [(a, True) for a in CANONICAL] + [(a, False) for a in NOT_CANONICAL])
def test_arrays_in_canonical_form(arrays, expected, types):
    indptr, indices, d = arrays
    arrays = indptr.astype(types[0]), indices.astype(types[1]), d
    for backend in (CpuBackend("baseline", 2), ReferenceBackend()):
        assert backend.is_canonical(*arrays) is expected


def test_a_matrix_that_is_not_canonical_is_made_so():
    right = sparse.csr_array(np.array([[0, 3.0, 0, 1.0], [2.0, 0, 0, 0]]))
    wrong = sparse.csr_array((np.array([1.0, 1.0, 2.0, 2.0]), np.array([3, 1, 1, 0]), np.array([0, 3, 4])), (2, 4))
    found, expected = rows_of(wrong), rows_of(right)
    for a, b in zip(found.arrays, expected.arrays, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(wrong.indices, [3, 1, 1, 0])
