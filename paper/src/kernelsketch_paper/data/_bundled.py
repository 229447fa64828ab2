"""Datasets that need no file: those of scikit-learn, and generated ones with statistics of the paper's datasets.

- ``image``: smooth patterns of 16 x 16 pixels, about a third of them above 0, moved by up to two pixels.
- ``sensor``: signals of both signs; classes differ in the scale of their features more than in the mean, and tails are
  heavy (Student's t with 3 degrees of freedom).
- ``text``: documents of words with Zipf's frequencies; a part of the words comes from the topic of the document.
- ``web``: histograms of characters, made of gamma variates of small shape, so that two thirds of the entries are 0.

The numbers come from the raw bits of a generator, as for the variants of MNIST, and depend only on the name.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.special import gammaincinv, ndtri, stdtrit

from .._checks import Array
from ._entry import Entry
from ._mnist import SIDE, uniform
from ._npz import StoredRows
from ._splits import stream

Draw = Callable[..., Array]  # uniform numbers in (0, 1), of a shape

PIXELS = 16  # side of a generated image
WORDS, TOPIC_WORDS = 20_000, 3_000


def bundled(entry: Entry, source: str) -> StoredRows:
    """Return all rows of a dataset of scikit-learn, by its name in the registry, or of a generated one."""
    if entry.source == "generated":
        return _generated(entry)
    from sklearn import datasets

    load = {
        "BreastCancer": datasets.load_breast_cancer,
        "Digits": datasets.load_digits,
        "Iris": datasets.load_iris,
        "Wine": datasets.load_wine,
    }[source]
    found = load()
    X = _enlarged(found.data) if entry.recipe else found.data
    return StoredRows(X, found.target.astype(np.int64), tuple(map(str, found.target_names)), None)


def _enlarged(images: Array) -> Array:
    """Return images of 8 x 8 pixels with 28 x 28 pixels by bilinear interpolation, and 255 in place of 16."""
    side = 8
    place = np.linspace(0, side - 1, SIDE)
    weights = np.maximum(0, 1 - np.abs(place[:, None] - np.arange(side)))  # two neighbours share each new pixel
    larger = weights @ images.reshape(-1, side, side) @ weights.T
    rows: Array = (larger * (255 / 16)).reshape(len(images), -1)
    return rows


def _generated(entry: Entry) -> StoredRows:
    assert entry.n_train is not None
    assert entry.n_test is not None
    assert entry.n_classes is not None
    assert entry.recipe is not None
    generator = stream(entry.name, 0, "generated")

    def draw(*shape: int) -> Array:
        return uniform(generator, int(np.prod(shape))).reshape(shape)

    n = entry.n_train + entry.n_test
    y = np.arange(n) % entry.n_classes
    X = RECIPES[entry.recipe](y, entry.n_classes, draw)
    return StoredRows(X.astype(np.float32), y, tuple(map(str, range(entry.n_classes))), None)


def _image(y: Array, n_classes: int, draw: Draw) -> Array:
    styles, margin, waves = 3, 2, 4
    side = PIXELS + 2 * margin
    angle = np.pi * np.outer(np.arange(side) / side, np.arange(waves))
    basis = np.concatenate([np.cos(angle), np.sin(angle[:, 1:])], axis=1)
    smooth = basis @ ndtri(draw(n_classes, styles, basis.shape[1], basis.shape[1])) @ basis.T
    patterns = np.clip(smooth / smooth.std(axis=(2, 3), keepdims=True) - 0.5, 0, 1)
    style = (styles * draw(len(y))).astype(np.int64)
    down, right = ((2 * margin + 1) * draw(2, len(y))).astype(np.int64)
    X = np.empty((len(y), PIXELS * PIXELS))
    for i, (label, s, a, b) in enumerate(zip(y, style, down, right, strict=True)):
        X[i] = patterns[label, s, a : a + PIXELS, b : b + PIXELS].ravel()
    ink = X * (0.6 + 0.8 * draw(len(y), 1)) + 0.3 * ndtri(draw(*X.shape)) * (X > 0)
    return np.asarray(np.clip(ink, 0, 1))


def _sensor(y: Array, n_classes: int, draw: Draw) -> Array:
    d = 40
    center = 0.25 * ndtri(draw(n_classes, d))
    scale = np.exp(0.5 * ndtri(draw(n_classes, d)))
    rows: Array = center[y] + scale[y] * stdtrit(3, draw(len(y), d))
    return rows


def _text(y: Array, n_classes: int, draw: Draw) -> sparse.csr_array:
    zipf = np.cumsum(1 / np.arange(1, WORDS + 1))
    topic_zipf = np.cumsum(1 / np.arange(1, TOPIC_WORDS + 1))
    of_topic = np.argsort(draw(n_classes, WORDS), axis=1)[:, :TOPIC_WORDS]
    length = np.exp(4.4 + 0.5 * ndtri(draw(len(y)))).astype(np.int64) + 10
    document = np.repeat(np.arange(len(y)), length)
    total = len(document)
    common = np.searchsorted(zipf, draw(total) * zipf[-1])
    rank = np.searchsorted(topic_zipf, draw(total) * topic_zipf[-1])
    word = np.where(draw(total) < 0.07, of_topic[y[document], rank], common)
    counts = sparse.coo_array((np.ones(total), (document, word)), shape=(len(y), WORDS)).tocsr()
    present = np.bincount(counts.indices, minlength=WORDS)
    counts.data = (1 + np.log(counts.data)) * np.log((1 + len(y)) / (1 + present[counts.indices]))
    norms = np.sqrt(counts.multiply(counts).sum(axis=1))
    rows = sparse.csr_array(counts / norms[:, None])
    narrow = rows.indices.astype(np.int32), rows.indptr.astype(np.int32)  # LIBLINEAR takes no others
    return sparse.csr_array((rows.data, *narrow), shape=rows.shape)


def _web(y: Array, n_classes: int, draw: Draw) -> Array:
    d, styles = 254, 5
    frequency = 1 / np.arange(1, d + 1) ** 0.7
    profile = frequency * np.exp(0.6 * ndtri(draw(n_classes, styles, d)))
    style = (styles * draw(len(y))).astype(np.int64)
    shape = profile[y, style]
    shape *= 30 / shape.sum(axis=1, keepdims=True)
    counts = np.floor(80 * gammaincinv(shape, draw(len(y), d)))
    rows: Array = counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)
    return rows


RECIPES: dict[str, Callable[[Array, int, Draw], Array]] = {
    "image": _image,
    "sensor": _sensor,
    "text": _text,
    "web": _web,
}
