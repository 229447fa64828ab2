"""Variations of MNIST: what must be true of noise and rotation."""

import numpy as np
import pytest
from scipy import stats
from scipy.ndimage import rotate as scipy_rotate

from kernelsketch.data import load
from kernelsketch.data._mnist import SIDE, WEIGHTS, noise, rotated, uniform
from kernelsketch.data._splits import stream


def neighbours(images):
    images = images.reshape(-1, SIDE, SIDE)
    return np.corrcoef(images[:, :, 1:].ravel(), images[:, :, :-1].ravel())[0, 1]


def test_uniform_numbers():
    u = uniform(stream("Toy", 0), 100_000)
    assert 0 < u.min() < u.max() < 1
    assert stats.kstest(u, "uniform").pvalue > 1e-6  # false alarms: 1e-6


@pytest.mark.parametrize("weight", WEIGHTS.values())
def test_noise_is_uniform_in_each_pixel(weight):
    """Images are independent, so each pixel is a sample of its own; the smallest of 9 p-values, false alarms 1e-5."""
    images = noise(stream("Toy", 0), 2000, weight)
    pixels = images[:, [0, 13, 27, 378, 391, 405, 756, 769, 783]]
    assert min(stats.kstest(column, "uniform").pvalue for column in pixels.T) > 1e-6


def test_correlation_falls_from_level_1_to_6():
    levels = [neighbours(noise(stream("Toy", 0), 1000, weight)) for weight in WEIGHTS.values()]
    assert (np.diff(levels) < 0).all()
    assert levels[0] > 0.6
    assert abs(levels[-1]) < 0.01
    assert list(WEIGHTS) == [f"noise{level}" for level in range(1, 7)]


def test_a_turn_by_zero_or_a_right_angle_moves_pixels_only():
    images = np.random.default_rng(0).uniform(size=(3, SIDE, SIDE))
    flat = images.reshape(3, -1)
    np.testing.assert_allclose(rotated(flat, np.zeros(3)), flat)
    turned = rotated(flat, np.full(3, np.pi / 2)).reshape(3, SIDE, SIDE)
    quarter = [np.rot90(image) for image in images]
    other = [np.rot90(image, -1) for image in images]
    assert min(np.abs(turned - quarter).max(), np.abs(turned - other).max()) < 1e-9


def test_rotation_is_that_of_scipy_and_keeps_mass():
    place = np.arange(SIDE)
    blot = np.exp(-((place[:, None] - 11) ** 2 + (place[None, :] - 16) ** 2) / 12)
    for angle in (20.0, 145.0, 300.0):
        ours = rotated(blot.reshape(1, -1), np.array([np.deg2rad(angle)])).reshape(SIDE, SIDE)
        theirs = [scipy_rotate(blot, sign * angle, reshape=False, order=1) for sign in (1, -1)]
        assert min(np.abs(ours - image).max() for image in theirs) < 1e-3  # SciPy cuts off at the border
        assert abs(ours.sum() / blot.sum() - 1) < 0.01


def test_variations(digits):
    basic = load("M-Basic", folder=digits, verify=False)
    assert basic.split == "regenerated"
    assert basic.X.shape == (62_000, 784)
    assert basic.X.dtype == np.float32
    assert basic.X.max() <= 1
    np.testing.assert_array_equal(basic.train, np.arange(12_000))
    np.testing.assert_array_equal(basic.test, np.arange(12_000, 62_000))
    share = np.bincount(basic.y_train) / 12_000
    assert abs(share - 0.1).max() < 0.02  # digits of the stand-in are equally frequent

    noisy = load("M-Noise2", folder=digits, verify=False)
    assert noisy.X.shape == (14_000, 784)
    assert (noisy.X > 0).all()
    again, other = (load("M-Noise2", folder=digits, verify=False, split=split) for split in (0, 1))
    np.testing.assert_array_equal(noisy.X, again.X)
    assert (noisy.X != other.X).mean() > 0.9
    assert (noisy.y != other.y).any()


def test_the_digit_stays_on_top(digits):
    noisy = load("M-Noise6", folder=digits, verify=False)
    lit = noisy.X == 1
    assert 20 / 784 / 256 * 0.5 < lit.mean() < 0.01  # pixels of 255 among 20 in each digit
    background = np.median(noisy.X)
    assert 0.5 < background < 0.53
