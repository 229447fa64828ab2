"""Features as bins."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kernelsketch.tabular._bins import MOST_BINS, Bins


def columns(n, seed):
    """Numbers of several kinds: many values, few, one, a frequent one among many, none at all, and the largest."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.integers(0, 2, n),
            np.full(n, 3.0),
            np.where(rng.random(n) < 0.9, 0, rng.exponential(size=n)),
            np.full(n, np.nan),
            rng.choice([-1.7e308, 1.7e308], n),
            1 + rng.integers(0, 2, n) * np.spacing(1.0),  # neighbours: nothing is between them
        ]
    )
    return X


@given(n=st.sampled_from([1, 2, 10, 1000, 3000]), missing=st.sampled_from([0, 0.2]), seed=st.integers(0, 9))
def test_bins_are_what_the_thresholds_say(n, missing, seed):
    X = columns(n, seed)
    X[np.random.default_rng(seed + 1).random(X.shape) < missing] = np.nan
    bins = Bins.of(X)
    for x, binned, thresholds, count in zip(X.T, bins.binned, bins.thresholds, bins.counts, strict=True):
        assert (np.diff(thresholds) > 0).all()
        assert thresholds[-1] == np.inf
        assert 1 <= count == len(thresholds) <= MOST_BINS
        known = ~np.isnan(x)
        np.testing.assert_array_equal(binned[~known], count)
        below = np.append(-np.inf, thresholds[:-1])
        assert (x[known] <= thresholds[binned[known]]).all()
        assert (x[known] > below[binned[known]]).all()


def test_few_values_have_a_bin_each():
    x = np.repeat([1.0, 2.0, 5.0, 5.5], [1, 100, 3, 7])
    bins = Bins.of(x[:, None])
    np.testing.assert_array_equal(bins.binned[0], np.repeat([0, 1, 2, 3], [1, 100, 3, 7]))
    np.testing.assert_array_equal(bins.thresholds[0], [1.5, 3.5, 5.25, np.inf])


@pytest.mark.parametrize("frequent", [0.0, 0.9])
def test_many_values_fill_the_bins_evenly(frequent):
    """A frequent value takes one bin, and leaves the others to the rest of the rows."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random(100_000) < frequent, 0, rng.exponential(size=100_000))
    bins = Bins.of(x[:, None])
    sizes = np.bincount(bins.binned[0])
    others = sizes[1:] if frequent else sizes
    assert len(sizes) > 200
    assert others.max() < 2 * np.median(others)
