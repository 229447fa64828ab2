"""Columns of Arrow to rows, without a cluster."""

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from kernelsketch import GCWS
from kernelsketch.spark._arrow import VECTOR, codes_of, dense_vectors, packed_bytes, sparse_vectors
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
    assert found.faults.tolist() == [0, BROKEN, BROKEN, BROKEN, BROKEN, BROKEN, WIDTH, NOT_FINITE, NULL, 0, WIDTH]
    np.testing.assert_array_equal(found.X.toarray(), [[1, 0, 0, 2], [1, 0, 0, 2]])


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
    assert codes_of(column, 13, bits, t_bits, codes.info) == codes
    assert codes_of(column.to_pylist(), 13, bits, t_bits, codes.info) == codes
    assert codes_of(column.slice(5, 6), 13, bits, t_bits, codes.info) == codes[5:11]


def test_bytes_that_are_not_these_codes():
    codes = GCWS(16).fit(X).codes(X)
    with pytest.raises(ValueError, match=r"row 0 have 16 bytes, 8 codes of 8 bits have 8"):
        codes_of(packed_bytes(codes), 8, 8, 0, codes.info)
    with pytest.raises(ValueError, match="hold a null"):
        codes_of([None], 8, 8, 0, codes.info)
