"""Variations of MNIST: what must be true of noise and rotation."""

import dataclasses

import numpy as np
import pytest
from scipy import stats
from scipy.ndimage import rotate as scipy_rotate

from kernelsketch.exceptions import InputError
from kernelsketch_paper.data import _entry, _mnist, entry, load, names
from kernelsketch_paper.data._mnist import SIDE, WEIGHTS, noise, rotated, uniform
from kernelsketch_paper.data._splits import stream


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
    images = noise(stream("Toy", 0), stream("Toy", 1), 2000, weight)
    pixels = images[:, [0, 13, 27, 378, 391, 405, 756, 769, 783]]
    assert min(stats.kstest(column, "uniform").pvalue for column in pixels.T) > 1e-6


@pytest.mark.slow
def test_correlation_falls_from_level_1_to_6():
    levels = [neighbours(noise(stream("Toy", 0), stream("Toy", 1), 1000, weight)) for weight in WEIGHTS.values()]
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


@pytest.fixture
def digits(store, monkeypatch):
    """A stand-in for MNIST, 1000 blots of pixels, and variations of 300 + 200 of them."""
    rng = np.random.default_rng(0)
    X = np.zeros((1000, 784), np.uint8)
    np.put_along_axis(X, rng.integers(0, 784, (1000, 20)), rng.integers(1, 256, (1000, 20)).astype(np.uint8), axis=1)
    registry = {
        name: dataclasses.replace(found, n_train=300, n_test=200) if found.recipe else found
        for name, found in _entry._registry().items()
    }
    monkeypatch.setattr(_entry, "_registry", lambda: registry)
    folder = store("MNIST", X=X, y=np.arange(1000) % 10, is_test=np.arange(1000) >= 900)
    return lambda name, split=0: load(name, folder=folder, split=split, verify=False)


@pytest.mark.parametrize("name", [name for name in names() if entry(name).recipe and not entry(name).is_bundled])
def test_variations(digits, name):
    data = digits(name)
    assert data.split == "regenerated"
    assert data.X.shape == (500, 784)
    assert data.X.dtype == np.float32
    assert data.X.min() >= 0
    assert data.X.max() <= 1
    np.testing.assert_array_equal(data.train, np.arange(300))
    np.testing.assert_array_equal(data.test, np.arange(300, 500))
    assert set(data.y_train) == set(range(10))
    again, other = digits(name), digits(name, split=1)
    np.testing.assert_array_equal(data.X, again.X)
    np.testing.assert_array_equal(data.y, again.y)
    assert (data.X != other.X).any(axis=1).all()
    assert (data.y != other.y).any()


def test_the_digit_stays_on_top(digits):
    """About 20 of 784 pixels are lit; a uniform background has its median at 0.5."""
    for name in ("M-Rand", "M-Noise6"):
        noisy = digits(name)
        assert (noisy.X > 0).all()
        assert 0.5 < np.median(noisy.X) < 0.53
    assert digits("M-Basic").X.mean() < 0.02


def test_batches_do_not_matter(digits, monkeypatch):
    variations = ("M-Rotate", "M-Rand", "M-Noise3")
    whole = [digits(name).X for name in variations]
    monkeypatch.setattr(_mnist, "_BATCH", 7)
    for name, X in zip(variations, whole, strict=True):
        np.testing.assert_allclose(digits(name).X, X, rtol=0, atol=1e-6)


def test_too_few_digits(digits, store):
    store("MNIST", X=np.zeros((10, 784)), y=np.zeros(10))
    with pytest.raises(InputError, match="M-Basic draws 500 digits, but the file of MNIST has only 10"):
        digits("M-Basic")
