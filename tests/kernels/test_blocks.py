"""iter_kernel_blocks gives the rows of the whole matrix."""

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from helpers.strategies import matrix_pairs
from kernelsketch import iter_kernel_blocks
from kernelsketch.exceptions import InputError
from kernelsketch.kernels import KERNELS


def whole(blocks, shape):
    out, end = np.full(shape, np.nan), 0
    for rows, block in blocks:
        assert rows.start == end
        out[rows], end = block, rows.stop
    assert end == shape[0]
    return out


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@given(pair=matrix_pairs(), size=st.integers(1, 15), same=st.booleans())
def test_blocks_are_the_whole(name, form, pair, size, same):
    X, Y = form(pair[0]), None if same else form(pair[1])
    expected = KERNELS[name].function(X, Y)
    found = whole(iter_kernel_blocks(X, Y, kernel=name, block_size=size), expected.shape)
    if name in ("correlation", "rbf"):  # BLAS may sum in another order
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    else:
        np.testing.assert_array_equal(found, expected)


def test_parameters_reach_the_kernel():
    X = np.random.default_rng(0).normal(size=(9, 4))
    params = {"gamma": 2.0, "p": 3.0, "center": "mean"}
    expected = KERNELS["egmm"].function(X, **params)
    found = whole(iter_kernel_blocks(X, kernel=KERNELS["egmm"].function, block_size=4, n_jobs=2, **params), (9, 9))
    np.testing.assert_array_equal(found, expected)


def test_block_size_follows_working_memory():
    X = np.ones((1000, 1))
    with sklearn.config_context(working_memory=1):
        sizes = [len(block) for _, block in iter_kernel_blocks(X)]
    assert sizes == [131] * 7 + [83]  # 1 MiB of 1000 float64
    assert len(list(iter_kernel_blocks(X))) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kernel": "linear"}, "kernel must be one of 'gmm', 'egmm'"),
        ({"kernel": np.dot}, "kernel must be one of"),
        ({"block_size": 0}, "block_size must be a whole number above 0, got 0"),
        ({"out": np.empty((3, 3))}, "out cannot be used"),
        ({"p": -1}, "p must be a finite number above 0"),
    ],
)
def test_bad_options_are_refused_at_once(options, message):
    with pytest.raises(InputError, match=message):
        iter_kernel_blocks(np.ones((3, 2)), **options)


def test_unknown_parameters_are_refused():
    with pytest.raises(TypeError, match="takes no parameter 'sigma': it takes p, center, n_jobs"):
        iter_kernel_blocks(np.ones((3, 2)), sigma=2)
    with pytest.raises(TypeError, match="kernel='rbf' takes no parameter 'n_jobs': it takes gamma"):
        iter_kernel_blocks(np.ones((3, 2)), kernel="rbf", n_jobs=2)


def test_the_layout_does_not_show():
    X = np.asfortranarray(np.random.default_rng(0).random((20, 500)))
    for name in ("ngmm", "gmm", "intersection"):
        expected = KERNELS[name].function(np.ascontiguousarray(X))
        np.testing.assert_array_equal(KERNELS[name].function(X), expected)
        found = whole(iter_kernel_blocks(X, kernel=name, block_size=1), (20, 20))
        np.testing.assert_array_equal(found, expected)
