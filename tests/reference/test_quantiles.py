"""The specification of quantiles: levels by hand, symmetry, and interpolation by NumPy."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kernelsketch.reference.quantiles import levels_of


def levels(x, table):
    return levels_of(np.array(x, float), np.array(table, float), np.linspace(-1, 1, len(table)))


def test_by_hand():
    table = [0, 1, 1, 1, 3]  # levels -1, -1/2, 0, 1/2, 1
    x = [-5, 0, 0.5, 1, 2, 3, 9, np.nan]
    np.testing.assert_array_equal(levels(x, table), np.float32([-1, -1, -0.75, 0, 0.75, 1, 1, 0]))


def test_a_constant_table():
    np.testing.assert_array_equal(levels([1, 2, 3], [2, 2, 2]), [-1, 0, 1])


def test_neighbours_without_a_number_between_them():
    """The slope overflows, but no level leaves its interval."""
    np.testing.assert_array_equal(levels([0, 5e-324, 1], [0, 1e-323, 1]), [-1, -0.5, 1])


@given(seed=st.integers(0, 999), m=st.sampled_from([2, 3, 17, 256]), digits=st.integers(0, 8))
def test_levels(seed, m, digits):
    rng = np.random.default_rng(seed)
    table, x = np.sort(rng.normal(size=m).round(digits)), rng.normal(size=50).round(digits)
    found = levels(x, table)
    np.testing.assert_array_equal(levels(-x, -table[::-1]), -found)  # exactly odd
    order = np.argsort(x)
    assert (np.diff(found[order]) >= 0).all()
    grid = np.linspace(-1, 1, m)
    expected = (np.interp(x, table, grid) - np.interp(-x, -table[::-1], grid)) / 2
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-7)
