"""Generate the variants of MNIST.

Larochelle, Erhan, Courville, Bergstra and Bengio (ICML 2007) drew digits from all 70,000 digits of MNIST, divided the
grey levels by 255, and rotated the digits or put noise behind them. We follow the same rules with draws of our own:
accuracies agree within the error of a split, single rows do not.

- ``basic``: the digits.
- ``rotate``: each digit is rotated about the center by an angle uniform in (0, 2 pi), with bilinear interpolation and
  zeros outside.
- ``rand``: each pixel is the larger of the digit's pixel and a uniform number.
- ``noise1`` to ``noise6``: the same, but the uniform numbers of different pixels are correlated. They are normal
  numbers with covariance ``g K + (1 - g) I``, passed through the normal distribution function. g is 1, 0.8, ..., 0,
  and K of two pixels is ``exp(-distance**2 / 6)``. With g = 0 this is ``rand``.

The authors say that K is a Gaussian kernel. We chose its width, and the maximum of digit and noise, because they come
closest to the paper's accuracies; ``docs/how-to/datasets.rst`` has the numbers.

Random numbers come from the raw bits of a generator, which NumPy keeps the same between versions. Rows depend only on
the name of the dataset and the number of the split.
"""

from __future__ import annotations

import numpy as np
from numpy.random import PCG64
from scipy.special import ndtr, ndtri

from kernelsketch.exceptions import InputError

from .._checks import Array
from ._entry import Entry
from ._splits import shuffled, stream

SIDE = 28
PIXELS = SIDE * SIDE
WIDTH = 6.0  # the squared distance at which the correlation of noise has fallen to 1 / e
WEIGHTS = {f"noise{level}": 1.2 - 0.2 * level for level in range(1, 7)}
RECIPES = ("basic", "rotate", "rand", *WEIGHTS)
_BATCH = 2048  # rows made at a time: 13 MB of float64


def regenerate(entry: Entry, digits: Array, split: int) -> tuple[Array, Array]:
    """Return the rows of a variant, training rows first, and the positions of the digits that they come from."""
    assert entry.recipe in RECIPES
    assert entry.n_train is not None
    assert entry.n_test is not None
    n = entry.n_train + entry.n_test
    if digits.shape[0] < n:
        raise InputError(f"{entry.name} draws {n} digits, but the file of MNIST has only {digits.shape[0]}.")
    chosen = shuffled(np.arange(digits.shape[0]), stream(entry.name, split))[:n]
    generators = stream(entry.name, split, "pixels"), stream(entry.name, split, "common")
    X = np.empty((n, PIXELS), np.float32)
    for start in range(0, n, _BATCH):
        part = slice(start, start + _BATCH)
        X[part] = _varied(entry.recipe, digits[chosen[part]].astype(np.float64) / 255, *generators)
    return X, chosen


def _varied(recipe: str, rows: Array, generator: PCG64, common: PCG64) -> Array:
    if recipe == "basic":
        return rows
    if recipe == "rotate":
        return rotated(rows, 2 * np.pi * uniform(generator, len(rows)))
    if recipe == "rand":
        return np.maximum(rows, uniform(generator, rows.size).reshape(rows.shape))
    return np.maximum(rows, noise(generator, common, len(rows), WEIGHTS[recipe]))


def uniform(generator: PCG64, n: int) -> Array:
    """Return numbers in (0, 1) with 53 bits each, at the middle of their cells."""
    raw: Array = generator.random_raw(n)
    return ((raw >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53


def noise(generator: PCG64, common: PCG64, n: int, weight: float) -> Array:
    """Return images whose pixels are uniform in (0, 1) and correlated with a weight from 0 to 1.

    The independent part and the correlated part have generators of their own, so the size of a batch does not matter.
    """
    alone = ndtri(uniform(generator, n * PIXELS)).reshape(n, SIDE, SIDE)
    if weight < 1e-9:
        return np.asarray(ndtr(alone)).reshape(n, PIXELS)
    root = np.linalg.cholesky(_decay())
    smooth = (
        root @ ndtri(uniform(common, n * PIXELS)).reshape(n, SIDE, SIDE) @ root.T
    )  # K is a product of one factor per axis
    mixed = np.sqrt(weight) * smooth + np.sqrt(max(0.0, 1 - weight)) * alone
    return np.asarray(ndtr(mixed)).reshape(n, PIXELS)


def _decay() -> Array:
    place = np.arange(SIDE)
    decay: Array = np.exp(-((place[:, None] - place[None, :]) ** 2) / WIDTH)
    return decay


def rotated(rows: Array, angles: Array) -> Array:
    """Return images rotated about their center, by bilinear interpolation."""
    n = len(rows)
    center = (SIDE - 1) / 2
    down, right = np.meshgrid(np.arange(SIDE) - center, np.arange(SIDE) - center, indexing="ij")
    cos, sin = np.cos(angles)[:, None], np.sin(angles)[:, None]
    i = cos * down.ravel() - sin * right.ravel() + center + 1  # the source of a pixel in an image with a margin
    j = sin * down.ravel() + cos * right.ravel() + center + 1
    i, j = np.clip(i, 0, SIDE + 0.999), np.clip(j, 0, SIDE + 0.999)
    padded = np.pad(rows.reshape(n, SIDE, SIDE), ((0, 0), (1, 1), (1, 1))).reshape(n, -1)
    corner = i.astype(np.int64) * (SIDE + 2) + j.astype(np.int64)
    di, dj = i % 1, j % 1

    def at(offset: int) -> Array:
        return np.take_along_axis(padded, corner + offset, axis=1)

    above = (1 - dj) * at(0) + dj * at(1)
    below = (1 - dj) * at(SIDE + 2) + dj * at(SIDE + 3)
    turned: Array = (1 - di) * above + di * below
    return turned
