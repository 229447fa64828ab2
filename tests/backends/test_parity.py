"""Native code equals the reference bit for bit, on every instruction set, whatever the threads."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from helpers.strategies import matrix_pairs
from kernelsketch import _native
from kernelsketch.backends import ByteRows, CsrRows, DenseRows, FourierParams, Growth, Ratio, available
from kernelsketch.backends.cpu import CpuBackend
from kernelsketch.backends.reference import ReferenceBackend

PLAIN = ("normal", "nonnegative", "sparse", "integers", "constant")
NATIVE = [name for name in available() if name != "reference"]
ratios = st.sampled_from(list(Ratio))


def csr_rows(X, index=np.int32):
    matrix = sparse.csr_array(X)
    return CsrRows(matrix.indptr.astype(np.int64), matrix.indices.astype(index), matrix.data, matrix.shape[1])


def check(method, *args, expected=None, threads=3, **options):
    """The reference once, then every instruction set: a new array, and a place inside a larger one."""
    if expected is None:
        expected = getattr(ReferenceBackend(), method)(*args, **{**options, "symmetric": False})
    for name in NATIVE:
        native = CpuBackend(name, threads)
        found = getattr(native, method)(*args, **options)
        np.testing.assert_array_equal(found, expected)
        assert found.dtype == expected.dtype
        frame = np.full((expected.shape[0] + 2, expected.shape[1] + 2), -1, expected.dtype)
        place = frame[1:-1, 1:-1]
        assert getattr(native, method)(*args, out=place, **options) is place
        np.testing.assert_array_equal(place, expected)
        place[...] = -1
        assert (frame == -1).all()  # nothing else was written
    return expected


@given(pair=matrix_pairs(max_rows=150, max_features=300, kinds=PLAIN), ratio=ratios, threads=st.integers(1, 4))
def test_dense(pair, ratio, threads):
    check("gmm", *pair, ratio, threads=threads)


@given(pair=matrix_pairs(max_rows=150, max_features=40, kinds=PLAIN), ratio=ratios, threads=st.integers(1, 4))
def test_dense_symmetric(pair, ratio, threads):
    check("gmm", pair[0], pair[0], ratio, threads=threads, symmetric=True)


@given(rows=st.integers(0, 70), features=st.integers(1, 40), kind=st.sampled_from(["normal", "flags"]))
def test_weighted_differences(rows, features, kind):
    rng = np.random.default_rng(rows)
    x = rng.normal(size=(rows, features)) if kind == "normal" else rng.integers(0, 2, (rows, features))
    x, weights = x.astype(np.float32), rng.normal(size=(rows, rows)).astype(np.float32)
    expected = ReferenceBackend().weighted_differences(x, weights)
    for name in NATIVE:
        for threads in (1, 3):
            np.testing.assert_array_equal(CpuBackend(name, threads).weighted_differences(x, weights), expected)


@settings(max_examples=6)
@given(features=st.integers(2040, 6200), rows=st.integers(1, 20), dtype=st.sampled_from([np.float32, np.float64]))
def test_dense_many_features(features, rows, dtype):
    """Features in several panels: the totals are carried from one to the next."""
    rng = np.random.default_rng(features)
    check("gmm", *(rng.normal(size=(n, features)).astype(dtype) for n in (rows, 70)), Ratio.MIN_MAX)


@given(
    pair=matrix_pairs(max_rows=60, max_features=300, kinds=PLAIN),
    ratio=ratios,
    index=st.sampled_from([np.int32, np.int64]),
    symmetric=st.booleans(),
    threads=st.integers(1, 4),
)
def test_sparse(pair, ratio, index, symmetric, threads):
    a, b = (pair[0], pair[0]) if symmetric else pair
    check("gmm", csr_rows(a, index), csr_rows(b, index), ratio, threads=threads, symmetric=symmetric)


def test_sparse_in_several_blocks():
    """More rows than a block of the inverted index takes, and feature ids that need its hash table."""
    rng = np.random.default_rng(0)
    a, b = (
        sparse.random_array((n, 50), density=0.1, random_state=rng, dtype=np.float32, format="csr") for n in (3, 9000)
    )
    expected = check("gmm", csr_rows(a), csr_rows(b), Ratio.MIN_MAX)
    ids = np.sort(rng.integers(0, 2**62, 50))
    far = [
        replace(rows, indices=ids[rows.indices], n_features=2**62)
        for rows in (csr_rows(a, np.int64), csr_rows(b, np.int64))
    ]
    check("gmm", *far, Ratio.MIN_MAX, expected=expected)


@given(
    n=st.integers(1, 80),
    m=st.integers(1, 80),
    groups=st.integers(1, 20),
    dtype=st.sampled_from([np.float32, np.float64]),
    ratio=ratios,
    symmetric=st.booleans(),
)
def test_bytes(n, m, groups, dtype, ratio, symmetric):
    rng = np.random.default_rng(n + 1000 * m + groups)
    a, b = (rng.integers(0, 256, (rows, 8 * groups), dtype=np.uint8) for rows in (n, m))
    a[0] = 0
    b = a if symmetric else b
    check("gmm", *(ByteRows(x, x.sum(axis=1).astype(dtype)) for x in (a, b)), ratio, symmetric=symmetric)


def test_the_core_checks_layouts():
    """The last line of defence: the core refuses what would make it read or write past an array."""
    native = CpuBackend("baseline")
    a, out = np.ones((2, 3), np.float32), np.empty((2, 2), np.float32)
    ratio = Ratio.MIN_MAX
    with pytest.raises(ValueError, match="different numbers of features"):
        native.gmm(a, np.ones((2, 4), np.float32), ratio)
    with pytest.raises(ValueError, match="out: wrong shape"):
        native.gmm(a, a, ratio, out=out[:1])
    with pytest.raises(ValueError, match="out: wrong shape"):
        native.gmm(a, a, ratio, out=np.empty((2, 4), np.float32)[:, ::2])
    with pytest.raises(TypeError):
        native.gmm(a, a.astype(np.float64), ratio, out=out)
    broken = CsrRows(np.array([0, 5]), np.array([0], np.int32), np.ones(1, np.float32), 3)
    with pytest.raises(ValueError, match="indptr does not ascend from 0 to the length"):
        native.gmm(broken, broken, ratio)
    params = FourierParams(2, 1.0, 0, True)
    with pytest.raises(ValueError, match="out: wrong shape"):
        native.fourier(DenseRows(a), params, 1 << 30, out=out[:1])
    with pytest.raises(TypeError):
        native.fourier(DenseRows(a), params, 1 << 30, out=out.astype(np.float64))
    with pytest.raises(ValueError, match="indptr does not ascend from 0 to the length"):
        native.fourier(broken, params, 1 << 30)
    one, counts = np.ones((1, 4), np.int64), np.ones(4, np.int64)
    for strided in np.zeros((1, 4), np.int64)[:, ::-1], np.zeros((1, 8), np.int64)[:, ::2]:  # of a single row
        with pytest.raises(ValueError, match="out: wrong shape or strides"):
            _native.concatenate(one, one, counts, strided, 1)


@given(
    n=st.sampled_from([0, 1, 15, 16, 17, 100]),
    columns=st.integers(1, 5),
    m=st.sampled_from([2, 3, 100, 255, 256]),
    digits=st.integers(0, 9),
    seed=st.integers(0, 99),
)
def test_quantile_levels(n, columns, m, digits, seed):
    rng = np.random.default_rng(seed)
    numbers = rng.normal(size=(n, columns)).round(digits)
    tables = np.sort(rng.normal(size=(columns, m)).round(digits), axis=1)
    numbers[rng.random(numbers.shape) < 0.1] = np.nan
    numbers[rng.random(numbers.shape) < 0.1] = np.inf
    expected = ReferenceBackend().quantile_levels(numbers, tables)
    for threads in (1, 3):
        for rows in (numbers, np.asfortranarray(numbers)):
            found = CpuBackend(NATIVE[0], threads).quantile_levels(rows, tables)
            np.testing.assert_array_equal(found, expected)
            assert found.dtype == np.float32


@given(width=st.sampled_from([3, 8, 11, 16, 20]), n=st.sampled_from([0, 1, 300]), seed=st.integers(0, 99))
def test_used_codes_and_their_numbers(width, n, seed):
    rng = np.random.default_rng(seed)
    dtype = np.uint8 if width <= 8 else np.uint16 if width <= 16 else np.uint32
    codes = rng.choice(1 << width, 60)[rng.integers(0, 60, (n, 70))].astype(dtype)
    reference, native = ReferenceBackend(), CpuBackend(NATIVE[0], 3)
    np.testing.assert_array_equal(native.used_codes(codes, width), reference.used_codes(codes, width))
    for number in (np.uint8, np.uint16):
        number_of = rng.integers(0, 200, 1 << width).astype(number)
        expected, most = reference.renumber(codes, number_of)
        found, largest = native.renumber(codes, number_of)
        np.testing.assert_array_equal(found, expected)
        assert (found.dtype, largest) == (number, most)
        if number == dtype:  # in place
            assert native.renumber(codes, number_of, out=codes)[0] is codes
            np.testing.assert_array_equal(codes, expected)
            break


def test_codes_beyond_the_table_of_numbers():
    with pytest.raises(ValueError, match="out of range"):
        CpuBackend(NATIVE[0]).renumber(np.full((1, 1), 9, np.uint8), np.zeros(9, np.uint8))
    with pytest.raises(ValueError, match="out of range"):
        CpuBackend(NATIVE[0]).used_codes(np.full((1, 1), 8, np.uint16), 3)


@given(
    n=st.sampled_from([1, 2, 7, 60, 255, 300]),
    d=st.integers(1, 6),
    outputs=st.integers(1, 3),
    leaves=st.sampled_from([1, 2, 7, 31]),
    leaf_rows=st.sampled_from([1, 4, 20]),
    ridge=st.sampled_from([0.0, 1.0, 300.0]),
    seed=st.integers(0, 99),
)
def test_growth_of_trees(n, d, outputs, leaves, leaf_rows, ridge, seed):
    rng = np.random.default_rng(seed)
    bins = rng.integers(1, 12, d).astype(np.int32)
    has_missing = rng.integers(0, 2, d)
    binned = np.stack([rng.integers(0, b + m, n) for b, m in zip(bins, has_missing, strict=True)]).astype(np.uint8)
    size = int(rng.choice([1, 1000, 2**30]))  # small numbers give ties
    g = rng.integers(-size, size + 1, (outputs, n)).astype(np.int32)
    h = rng.integers(0, size + 1, (outputs, n)).astype(np.int32)
    growth = Growth(leaves, leaf_rows, ridge, 0.1)
    expected = ReferenceBackend().growth_rows(binned, bins).grow(g, h, growth)
    for name in NATIVE:
        for threads in (1, 3):
            found = CpuBackend(name, threads).growth_rows(binned, bins).grow(g, h, growth)
            for field, one, other in zip(expected._fields, found, expected, strict=True):
                np.testing.assert_array_equal(one, other, err_msg=field)


@pytest.mark.parametrize(
    ("binned", "bins", "message"),
    [([[0, 3]], [2], "a bin does not exist"), ([[0, 1]], [0], "from 1 to 255"), ([[0, 1]], [2, 2], "one per feature")],
)
def test_growth_refuses_wrong_bins(binned, bins, message):
    with pytest.raises(ValueError, match=message):
        CpuBackend("baseline").growth_rows(np.array(binned, np.uint8), np.array(bins, np.int32))
