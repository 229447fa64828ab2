"""Version 1 of the Fourier features, held by golden vectors, and the distribution of weights and phases.

Statistical tests use fixed seeds; a perfect generator with random seeds would fail each bound less than once in a
hundred thousand runs. `pytest --overwrite-golden` renews the vectors: a changed feature is a new version.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from kernelsketch.reference import fourier
from kernelsketch.reference.rng import parameters

GOLDEN = Path(__file__).parents[1] / "golden" / "fourier-v1.json"
LEAST = 1e-5  # p-value
FEATURES = {
    "consecutive": np.arange(1000),
    "strided": np.arange(1000) * 4096,
    "near 2^62": 2**62 - 1000 + np.arange(1000),
}


def hexadecimal(x):
    return [float(v).hex() for v in np.ravel(x)]


def generate():
    """Rows of every kind, in both types: signed, tiny, huge, denormal, ids up to 2^62 - 1; several gamma and seeds."""
    features = np.array([0, 1, 2, 77, 2**31, 2**62 - 1])
    rows = [
        [1.0, -1.0, 0.5, 3.25, -1e-3, 7.0],
        [1e-30, -1e30, 1e-45, 3e38, -1e-38, 1.0],
        [1e-300, -1e300, 5e-324, 1.7976931348623157e308, -2.2250738585072014e-308, 1.0],
        [1e-310, -3e-310, 5e-324, 0.0, 1e-320, 2e-310],
    ]
    cases = []
    for seed in (0, 1, 2**64 - 1):
        for gamma in (1.0, 0.01, 1e4):
            for values in rows:
                for dtype in ("float32", "float64") if np.abs(values).max() < 3e38 else ("float64",):
                    x = np.array(values, dtype)
                    used = x != 0
                    scale = fourier.scale_of(gamma)
                    for normalize in (False, True):
                        z = fourier.features_of(x[used], features[used], scale, seed, np.arange(20), normalize)
                        case = {"seed": seed, "gamma": gamma, "dtype": dtype, "normalize": normalize, "values": values}
                        cases.append({**case, "features": hexadecimal(z)})
    hashes = np.array([0, 1, 63, 64, 1000, 2**31])
    return {
        "fourier_version": fourier.FOURIER_VERSION,
        "ids": features.tolist(),
        "normals": hexadecimal(fourier.normals(7, features, hashes)),
        "phases": hexadecimal(fourier.phases(7, hashes)),
        "cases": cases,
    }


def test_golden_vectors(request):
    found = json.loads(json.dumps(generate()))
    if request.config.getoption("--overwrite-golden"):
        GOLDEN.write_text(json.dumps(found, indent=None) + "\n")
    assert found == json.loads(GOLDEN.read_text())


@pytest.mark.parametrize("name", FEATURES)
@pytest.mark.parametrize("seed", [0, 1, 2**64 - 1])
def test_weights_are_normal(name, seed):
    z = fourier.normals(seed, FEATURES[name], np.arange(512)).astype(np.float64)
    n = z.size
    assert stats.kstest(z.ravel(), "norm").pvalue > LEAST
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert abs((z**power).mean() - mean) < 4.5 * np.sqrt(variance / n)
    beyond = (np.abs(z) > 4).sum()  # the tails, by Poisson's law
    expected = 2 * stats.norm.sf(4) * n
    assert stats.poisson.sf(beyond - 1, expected) > LEAST / 2
    assert stats.poisson.cdf(beyond, expected) > LEAST / 2


def test_the_largest_weight_has_a_bound():
    """u is 2^-32 at least, so |weight| is 6.7 at most."""
    assert np.sqrt(-2 * np.log(2.0**-32)) < 6.7
    assert np.abs(fourier.normals(3, np.arange(2000), np.arange(1000))).max() < 6.7


def test_phases_are_uniform():
    w = np.concatenate([fourier.phases(seed, np.arange(20_000)) for seed in range(10)])
    assert stats.kstest(w, "uniform").pvalue > LEAST
    assert 0 < w.min() < w.max() < 1


def correlation(a, b):
    """z-score."""
    return np.corrcoef(a.ravel(), b.ravel())[0, 1] * np.sqrt(a.size)


def test_neighbours_are_independent():
    features, hashes = np.arange(500), np.arange(1001)
    here = fourier.normals(3, features, hashes).astype(np.float64)
    others = {
        "hashes": (here[:, 1:], here[:, :-1]),
        "panels": (here[:, 64:], here[:, :-64]),
        "features": (here[1:], here[:-1]),
        "seeds": (here, fourier.normals(4, features, hashes)),
        "phases": (here, np.broadcast_to(fourier.phases(3, hashes), here.shape)),
        "r of GCWS": (here, parameters(3, features, hashes).r),
        "beta of GCWS": (here, parameters(3, features, hashes).beta),
    }
    for name, (a, b) in others.items():
        assert abs(correlation(a, b)) < 4.5, name
        assert abs(correlation(a**2, np.asarray(b, np.float64) ** 2)) < 4.5, name


def test_pairs_of_weights_fill_the_square():
    """Serial test: (r_j, r_j+1) and (r_f, r_f+1), by quantiles, over a 16 x 16 grid."""
    u = stats.norm.cdf(fourier.normals(9, np.arange(401), np.arange(1025)).astype(np.float64))
    for a, b in ((u[:, :-1:2], u[:, 1::2]), (u[:-1:2], u[1::2])):
        cells = (a * 16).astype(int) * 16 + (b * 16).astype(int)
        assert stats.chisquare(np.bincount(cells.ravel(), minlength=256)).pvalue > LEAST


def test_projections_are_normal():
    """Sums over many features, which is what the features of a row are made of."""
    weights = fourier.normals(11, np.arange(300), np.arange(4096)).astype(np.float64)
    u = np.random.default_rng(0).normal(size=300)
    assert stats.kstest(u @ weights / np.linalg.norm(u), "norm").pvalue > LEAST


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_scaled_rows_have_the_right_norm(dtype):
    rng = np.random.default_rng(0)
    info = np.finfo(dtype)
    for size in (1.0, info.tiny, info.smallest_subnormal * 64, info.max / 16, 1e-30, 1e30):
        x = (rng.uniform(1, 4, 30) * size).astype(dtype)
        exact = x.astype(np.longdouble) / x.astype(np.longdouble).max()
        exact /= np.sqrt((exact**2).sum())
        np.testing.assert_allclose(fourier.scaled(x, np.arange(30), 1.0), exact.astype(np.float64), rtol=3 * info.eps)


def test_a_row_of_cosines_that_vanishes_stays_finite():
    assert fourier.inverse_norm(np.zeros(3, np.float32)) == 0
