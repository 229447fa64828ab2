"""Equation (2)."""

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse

from helpers.strategies import matrices
from kernelsketch import sign_split
from kernelsketch.exceptions import InputError


@given(matrices())
def test_dense_and_sparse(X):
    split = sign_split(X)
    assert split.dtype == X.dtype
    assert (split >= 0).all()
    np.testing.assert_array_equal(split[:, 0::2] - split[:, 1::2], X)
    assert not (split[:, 0::2] * split[:, 1::2]).any()
    for form in (sparse.csr_array, sparse.csr_matrix):
        found = sign_split(form(X))
        assert isinstance(found, form)
        assert found.dtype == X.dtype
        found.check_format(full_check=True)
        np.testing.assert_array_equal(found.toarray(), split)


def test_the_papers_example():
    np.testing.assert_array_equal(sign_split([-5, 3]), [0, 5, 3, 0])
    np.testing.assert_array_equal(sign_split(np.array([[-5.0, 3.0]])), [[0, 5, 3, 0]])


def test_center():
    np.testing.assert_array_equal(sign_split([[1.0, 5.0], [3.0, 1.0]], center="mean"), [[0, 1, 2, 0], [1, 0, 0, 2]])
    np.testing.assert_array_equal(sign_split([[1.0, 5.0]], center=[2, 2]), [[0, 1, 3, 0]])
    with pytest.raises(InputError, match="center cannot be used with sparse data"):
        sign_split(sparse.csr_array([[1.0]]), center=[1.0])


def test_wide_sparse_ids():
    rows = sparse.csr_array((np.array([-1.0]), np.array([2**31 - 2]), [0, 1]), shape=(1, 2**31 - 1))
    assert sign_split(rows).indices[0] == 2 * (2**31 - 2) + 1


def test_what_cannot_be_split():
    with pytest.raises(InputError, match="exceeds the largest float32"):
        sign_split(np.array([[3e38, 1]], np.float32), np.array([-3e38, 0]))
    with pytest.raises(InputError, match="cannot be learned from one row"):
        sign_split([1.0, 2.0], "mean")


def test_nan_is_refused():
    with pytest.raises(InputError, match="NaN"):
        sign_split([[np.nan]])
