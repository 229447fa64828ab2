"""Scales, principal components and the columns of views."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.preprocessing import QuantileTransformer

from kernelsketch.tabular._view_fit import (
    plain_views,
    principal_components,
    scales_of,
    union_of_views,
    weighted_views,
)
from kernelsketch.tabular._weights import targets_of


def data(n=300):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(5, 2, n), np.exp(3 * rng.normal(size=n)), rng.random(n) < 0.3])
    X[::7, 1] = np.nan
    return X, np.array([True, True, False])


class TestScales:
    def test_numbers_have_mean_0_and_deviation_1_and_gaps_are_0(self):
        X, is_number = data()
        found = scales_of(X, is_number).standard(X)
        there = ~np.isnan(X[:, 1])
        for column in (found[:, 0], found[there, 1]):
            assert column.mean() == pytest.approx(0, abs=1e-6)
            assert column.std() == pytest.approx(1, rel=1e-5)
        np.testing.assert_array_equal(found[~there, 1], 0)
        np.testing.assert_array_equal(found[:, 2], X[:, 2])

    def test_new_rows_stay_within_the_range_of_training(self):
        X, is_number = data()
        scales = scales_of(X, is_number)
        far = scales.standard(np.array([[1e30, -1e30, 1.0]]))
        np.testing.assert_array_equal(far[0, :2], [scales.standard(X)[:, 0].max(), scales.standard(X)[:, 1].min()])

    def test_quantiles_are_those_of_scikit_learn(self):
        X = np.random.default_rng(0).exponential(size=(2000, 3))
        expected = QuantileTransformer(n_quantiles=256, subsample=None).fit(X)
        found = scales_of(X, np.ones(3, bool)).quantile(X)
        np.testing.assert_allclose(found, 2 * expected.transform(X) - 1, atol=2e-5)

    def test_equal_numbers_have_the_middle_of_their_quantiles(self):
        X = np.repeat([0.0, 1.0, 2.0], 100)[:, None]
        found = scales_of(X, np.ones(1, bool)).quantile(np.array([[0.0], [1.0], [2.0], [0.5], [np.nan]]))
        np.testing.assert_allclose(found[1], 0, atol=0.01)
        assert -1 <= found[0] < found[3] < found[1] < found[2] <= 1
        assert found[4] == 0

    def test_numbers_that_are_0_or_1_stay_as_they_are(self):
        """Zeros then cost nothing. Later rows may have other numbers, or none."""
        X = np.column_stack([np.arange(8) % 2, np.arange(8)]).astype(float)
        scales = scales_of(X, np.ones(2, bool))
        np.testing.assert_array_equal(scales.is_number, [False, True])
        later = np.array([[0.0, 0], [1, 0], [7, 0], [-7, 0], [0.5, 0], [np.nan, 0]])
        for found in (scales.standard(later), scales.quantile(later)):
            np.testing.assert_array_equal(found[:, 0], [0, 1, 1, 0, 0.5, 0])

    @pytest.mark.parametrize("scale", [1e-300, 1e300])
    def test_large_and_small_numbers(self, scale):
        X, is_number = data()
        X[:, 0] *= scale
        found = scales_of(X, is_number).standard(X)
        assert np.isfinite(found).all()
        assert found[:, 0].std() == pytest.approx(1, rel=1e-5)


class TestComponents:
    @pytest.mark.parametrize("columns", [8, 1100])
    def test_coordinates_are_white(self, columns):
        rng = np.random.default_rng(0)
        Z = rng.normal(size=(1500, 6)) @ rng.normal(size=(6, columns)) + 0.01 * rng.normal(size=(1500, columns))
        mean, directions = principal_components(Z, 0)
        coordinates = (Z - mean) @ directions[:, :6]
        np.testing.assert_allclose(coordinates.T @ coordinates / len(Z), np.eye(6), atol=1e-6)

    def test_dependent_columns_give_no_component(self):
        Z = np.random.default_rng(0).normal(size=(100, 3))
        assert principal_components(np.column_stack([Z, Z[:, 0]]), 0)[1].shape == (4, 3)


class TestViews:
    def test_rows_do_not_depend_on_their_neighbours(self):
        X, is_number = data()
        plain = plain_views(X, is_number, seed=0)
        views = weighted_views(plain, X, targets_of(X[:, 0], is_class=False), n_steps=3, seed=0)
        whole = views.transform(X)
        np.testing.assert_array_equal(np.concatenate([views.transform(X[i : i + 1]) for i in range(50)]), whole[:50])
        assert whole.dtype == np.float32
        assert whole.shape == (300, sum(views.widths))

    def test_columns_without_weight_are_left_out(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(400, 6))
        y = targets_of((X[:, 0] > 0).astype(int), is_class=True)
        plain = plain_views(X, np.ones(6, bool), names=("standard", "quantile"), seed=0)
        views = weighted_views(plain, X, y, n_steps=60, seed=0)
        assert views.widths < [6, 6]
        assert views.transform(X).shape == (400, sum(views.widths))

    def test_a_union_has_the_columns_of_all(self):
        X, is_number = data()
        plain, targets = plain_views(X, is_number, seed=0), targets_of(X[:, 0], is_class=False)
        several = [weighted_views(plain, X, targets, n_steps=3, seed=seed) for seed in range(2)]
        union = union_of_views(several)
        np.testing.assert_array_equal(union.transform(X), np.hstack([views.transform(X) for views in several]))
        assert union.widths == several[0].widths + several[1].widths


def test_components_are_bounded():
    X, is_number = data()
    views = plain_views(X, is_number, seed=0)
    assert views.is_bounded()
    assert not replace(views, directions=views.directions * 1e300).is_bounded()
