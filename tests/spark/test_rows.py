"""Columns of Arrow to rows, without a cluster."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from kernelsketch import GCWS
from kernelsketch.hashing import Hasher
from kernelsketch.spark._arrow import VECTOR, codes_of, dense_vectors, packed_bytes, packed_rows, sparse_vectors
from kernelsketch.spark._rows import BROKEN, NOT_FINITE, NULL, NULL_VALUE, WIDTH, read_rows

rng = np.random.default_rng(0)
X = rng.normal(size=(20, 7)) * (rng.random((20, 7)) < 0.5)


def sparse_struct(size, indices, values):
    return {"type": 0, "size": size, "indices": indices, "values": values}


def dense_struct(values):
    return {"type": 1, "size": None, "indices": None, "values": values}


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int8])
def test_arrays(dtype):
    rows = (10 * X).astype(dtype)
    found = read_rows(pa.array(list(rows)), 7)
    np.testing.assert_array_equal(found.X, rows)
    assert found.X.dtype == (np.float32 if dtype == np.float32 else np.float64)
    assert not found.faults.any()


def test_vectors_in_and_out():
    np.testing.assert_array_equal(read_rows(dense_vectors(X), None).X, X)
    found = read_rows(sparse_vectors(sparse.csr_matrix(X)), None).X
    assert sparse.issparse(found)
    np.testing.assert_array_equal(found.toarray(), X)


def test_sparse_and_dense_mixed_and_sliced():
    parts = [
        sparse_vectors(sparse.csr_matrix(X[i : i + 1])) if i % 3 else dense_vectors(X[i : i + 1]) for i in range(20)
    ]
    column = pa.concat_arrays(parts)
    np.testing.assert_array_equal(read_rows(column, 7).X.toarray(), X)
    np.testing.assert_array_equal(read_rows(column.slice(4, 9), 7).X.toarray(), X[4:13])


def test_rows_of_any_width_where_none_is_asked():
    found = read_rows(pa.array([[1.0, 2.0], [], [3.0]]), None).X
    np.testing.assert_array_equal(found.toarray(), [[1, 2], [0, 0], [3, 0]])
    assert read_rows(pa.array([[]], pa.list_(pa.float64())), None).X.shape == (1, 1)


def test_faults_of_arrays():
    column = pa.array([[1.0, 2.0], None, [1.0, None], [np.nan, 1.0], [1.0], [np.inf, 0.0], [5.0, 6.0]])
    found = read_rows(column, 2)
    assert found.faults.tolist() == [0, NULL, NULL_VALUE, NOT_FINITE, WIDTH, NOT_FINITE, 0]
    np.testing.assert_array_equal(found.X, [[1, 2], [5, 6]])


def test_faults_of_vectors():
    column = pa.array(
        [
            sparse_struct(4, [0, 3], [1.0, 2.0]),
            sparse_struct(4, [3, 0], [1.0, 2.0]),
            sparse_struct(4, [1, 1], [1.0, 2.0]),
            sparse_struct(4, [0, 4], [1.0, 2.0]),
            sparse_struct(4, [-1, 2], [1.0, 2.0]),
            sparse_struct(4, [None, 2], [1.0, 2.0]),
            sparse_struct(4, [0, None], [1.0, 2.0]),
            sparse_struct(4, [0], [1.0, 2.0]),
            sparse_struct(5, [0], [1.0]),
            sparse_struct(4, [2], [np.nan]),
            None,
            dense_struct([1.0, 0.0, 0.0, 2.0]),
            dense_struct([1.0]),
        ],
        VECTOR,
    )
    found = read_rows(column, 4)
    assert found.faults.tolist() == [0, *[BROKEN] * 7, WIDTH, NOT_FINITE, NULL, 0, WIDTH]
    np.testing.assert_array_equal(found.X.toarray(), [[1, 0, 0, 2], [1, 0, 0, 2]])


def test_broken_rows_are_those_that_a_loop_finds():
    draw = np.random.default_rng(1)
    rows = []
    for _ in range(2000):
        indices = draw.integers(-1, 5, draw.integers(0, 4))
        if draw.random() < 0.7:
            indices = np.unique(indices)
        rows.append(sparse_struct(4, indices.tolist(), [1.0] * max(0, len(indices) - (draw.random() < 0.1))))

    def is_broken(row):
        i = row["indices"]
        return len(i) != len(row["values"]) or i != sorted(set(i)) or any(not 0 <= j < 4 for j in i)

    broken = np.array([is_broken(row) for row in rows])
    assert 500 < broken.sum() < 1500
    found = read_rows(pa.array(rows, VECTOR), 4)
    np.testing.assert_array_equal(found.faults, np.where(broken, BROKEN, 0))
    whole = [row["indices"] for row, fault in zip(rows, broken, strict=True) if not fault]
    np.testing.assert_array_equal(found.X.toarray(), [[float(j in i) for j in range(4)] for i in whole])


def test_packed_rows_and_back():
    rows = X.copy()
    rows[[0, 7]] = 0
    column = packed_rows(sparse.csr_matrix(rows))
    assert [len(row["values"]) for row in column.to_pylist()] == (8 * np.count_nonzero(rows, axis=1)).tolist()
    for part, expected in ((column, rows), (column.slice(4, 9), rows[4:13]), (column.slice(20), rows[20:])):
        found = read_rows(part, 7)
        assert not found.faults.any()
        np.testing.assert_array_equal(sparse.csr_matrix(found.X).toarray(), expected)


def test_packed_rows_of_large_types():
    column = packed_rows(sparse.csr_matrix(X))
    large = pa.struct([("size", pa.int32()), ("indices", pa.large_binary()), ("values", pa.large_binary())])
    np.testing.assert_array_equal(read_rows(column.cast(large), 7).X.toarray(), X)


def test_bytes_of_a_packed_row_are_these_for_ever():
    row = packed_rows(sparse.csr_matrix([[0, -1.5, 0, 2.0]]))[0].as_py()
    assert row == {
        "size": 4,
        "indices": bytes.fromhex("01000000 03000000"),
        "values": bytes.fromhex("000000000000f8bf 0000000000000040"),
    }


def test_faults_of_packed_rows():
    def row(size, indices, values):
        return size, np.array(indices, "<i4").tobytes(), np.array(values, "<f8").tobytes()

    size, indices, values = good = row(4, [0, 3], [1.0, 2.0])
    cases = {
        good: 0,
        None: NULL,
        (size, indices[:-1], values): BROKEN,
        (size, indices, values[:-1]): BROKEN,
        (size, indices, values[:8]): BROKEN,
        (size, None, values): BROKEN,
        (size, None, None): BROKEN,
        row(4, [3, 0], [1.0, 2.0]): BROKEN,
        row(4, [0, 4], [1.0, 2.0]): BROKEN,
        row(4, [-1, 2], [1.0, 2.0]): BROKEN,
        row(4, [1], [np.inf]): NOT_FINITE,
        row(5, [1], [1.0]): WIDTH,
        (None, indices, values): BROKEN,
        row(4, [], []): 0,
    }
    kind = packed_rows(sparse.csr_matrix((0, 4))).type
    names = ("size", "indices", "values")
    column = pa.array([case and dict(zip(names, case, strict=True)) for case in cases], kind)
    found = read_rows(column, 4)
    assert found.faults.tolist() == list(cases.values())
    np.testing.assert_array_equal(found.X.toarray(), [[1, 0, 0, 2], [0, 0, 0, 0]])


def test_nothing_but_faults():
    found = read_rows(pa.array([None, [np.nan]], pa.list_(pa.float64())), 1)
    assert found.X.shape[0] == 0
    assert found.faults.all()


@pytest.mark.parametrize(("bits", "t_bits"), [(8, 0), (3, 2), (16, 0)])
def test_codes_as_bytes_and_back(bits, t_bits):
    rows = X.copy()
    rows[[0, 7]] = 0
    codes = GCWS(13, bits=bits, t_bits=t_bits).fit(rows).codes(rows)
    column = packed_bytes(codes)
    assert column[7].as_py() == b""
    assert codes_of(column, codes.hasher, codes.n_features) == codes
    assert codes_of(column.to_pylist(), codes.hasher, codes.n_features) == codes
    assert codes_of(column.slice(5, 6), codes.hasher, codes.n_features) == codes[5:11]


def test_bytes_that_are_not_these_codes():
    codes = GCWS(16).fit(X).codes(X)
    with pytest.raises(ValueError, match=r"row 0 have 16 bytes, but 8 codes of 8 bits have 8"):
        codes_of(packed_bytes(codes), Hasher(8, 0), 0)
    with pytest.raises(ValueError, match="hold a null"):
        codes_of([None], codes.hasher, 0)
