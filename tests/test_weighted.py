"""Statistics of weighted rows: whole weights count as repeated rows."""

import numpy as np
import pytest

from kernelsketch._weighted import deviation_of, mean_of, median_of, quantiles_of, row_counts


def columns_and_weights(seed):
    rng = np.random.default_rng(seed)
    columns = rng.normal(size=(int(rng.integers(1, 40)), 3)) * 10.0 ** rng.integers(-3, 4)
    columns[:, 1] = np.round(columns[:, 1])  # ties
    return columns, rng.integers(1, 6, len(columns))


@pytest.mark.parametrize("seed", range(50))
def test_whole_weights_count_as_repeated_rows(seed):
    columns, weights = columns_and_weights(seed)
    repeated, counts = columns.repeat(weights, axis=0), row_counts(weights.astype(float))
    shares = np.linspace(0, 1, 7 + 11 * seed)
    np.testing.assert_array_equal(quantiles_of(columns, counts, shares), np.quantile(repeated, shares, axis=0))
    np.testing.assert_array_equal(median_of(columns, counts), np.median(repeated, axis=0))
    np.testing.assert_allclose(mean_of(columns, counts), repeated.mean(axis=0), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(deviation_of(columns, counts), repeated.std(axis=0), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("seed", range(20))
def test_quantiles_of_other_weights_are_means_along_one_row(seed):
    """Against a mean of 4000 places on the length of one row."""
    columns, weights = columns_and_weights(seed)
    counts = row_counts(weights * np.random.default_rng(seed).random(len(weights)) + 1e-3)
    if counts is None:
        return
    shares, spread = np.linspace(0, 1, 50), np.ptp(columns, axis=0)
    found = quantiles_of(columns, counts, shares)
    for j in range(3):
        order = np.argsort(columns[:, j])
        ends = np.cumsum(counts[order])
        places = shares[:, None] * (ends[-1] - 1) + (np.arange(4000) + 0.5) / 4000
        rows = np.minimum(np.searchsorted(ends, places, "right"), len(ends) - 1)
        np.testing.assert_allclose(found[:, j], columns[order, j][rows].mean(axis=1), atol=2e-3 * spread[j] + 1e-12)
    assert (np.diff(found, axis=0) >= -1e-12 * np.abs(columns).max()).all()


def test_counts():
    assert row_counts(None) is None
    assert row_counts(np.full(7, 1 / 7)) is None
    assert row_counts(np.ones(3)) is None
    np.testing.assert_array_equal(row_counts(np.full(3, 2.0)), [2, 2, 2])
    np.testing.assert_array_equal(row_counts(np.array([1.0, 3.0])), [1, 3])
    np.testing.assert_allclose(row_counts(np.array([0.1, 0.3])), [0.5, 1.5])
    np.testing.assert_allclose(row_counts(np.array([1e-300, 3e-300])), [0.5, 1.5])
    np.testing.assert_allclose(row_counts(np.array([5e-324, 1e-300])), [0, 2], atol=1e-20)
