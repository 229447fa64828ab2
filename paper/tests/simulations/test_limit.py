"""GMM of random rows against its limit."""

import numpy as np
import pytest

from kernelsketch_paper.simulations import simulate_limit
from kernelsketch_paper.simulations._limit import _draw

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found():
    return simulate_limit(n_features=[10, 100, 1000], repetitions=4000, seed=1, n_jobs=2)


def test_the_spread_is_that_of_the_delta_method(found):
    """Within 10 % at 1000 features: Monte Carlo error 2.2 % (normal), under 3 % (t with 3), 6 cases, 1e-3."""
    finite = [case for case, (_, df) in enumerate(found.cases) if df > 2]
    assert len(finite) == 6
    ratio = found.errors.mse[finite, -1] / found.theory()[finite, -1]
    np.testing.assert_allclose(ratio, 1, atol=0.1)
    assert np.isinf(found.theory()[2]).all()


def test_it_falls_with_the_dimension_even_without_a_variance(found):
    """As 1 / D with a variance; with a mean only, at 1.5 degrees of freedom, between D^-0.3 and D^-0.9."""
    slope = np.log10(found.errors.mse[:, -1] / found.errors.mse[:, 0]) / 2
    for (_, df), value in zip(found.cases, slope, strict=True):
        low, high = (-1.1, -0.85) if df > 2 else (-0.9, -0.3)
        assert low < value < high


def test_the_data_are_what_they_claim():
    """Of 10^6 values: errors of the means about 0.001 (normal), a few times that for t."""
    rng = np.random.default_rng(0)
    x, y = _draw(0.6, np.inf, (1, 1_000_000), rng)
    assert np.mean(x * y) == pytest.approx(0.6, abs=0.006)
    assert np.var(y) == pytest.approx(1, abs=0.008)
    x, y = _draw(0.6, 6.0, (1, 1_000_000), rng)
    assert np.var(x) == pytest.approx(6 / 4, abs=0.02)
    assert np.corrcoef(x, y)[0, 1] == pytest.approx(0.6, abs=0.01)
