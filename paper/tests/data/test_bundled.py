"""Datasets that need no file."""

import hashlib

import numpy as np
import pytest
from scipy import sparse

from kernelsketch import gmm_kernel
from kernelsketch_paper.data import entry, is_here, load, names, where

BUNDLED = [name for name in names() if entry(name).is_bundled]


@pytest.fixture(autouse=True)
def bare_machine(tmp_path, monkeypatch):
    monkeypatch.delenv("KERNELSKETCH_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.mark.parametrize("name", BUNDLED)
def test_a_bare_machine_has_it_in_the_sizes_of_the_registry(name):
    assert is_here(name)
    assert where(name) is None
    found, data = entry(name), load(name, download=False)
    assert (len(data.train), len(data.test)) == (found.n_train, found.n_test)
    assert data.X.shape[1] == found.n_features
    assert set(data.y_train) == set(data.y_test) == set(range(found.n_classes or 10))
    again = load(name, download=False)
    np.testing.assert_array_equal(again.train, data.train)
    values = data.X.data if sparse.issparse(data.X) else data.X
    assert np.isfinite(values).all()


def _density(name):
    X = load(name).X
    return X.nnz / X.shape[0] / X.shape[1] if sparse.issparse(X) else (X != 0).mean()


def test_generated_rows_have_the_statistics_that_their_titles_promise():
    assert 0.2 < _density("G-Image") < 0.45  # USPS: 0.3 or so of its pixels are not white
    assert 0.25 < _density("G-Web") < 0.4  # Webspam has 85 of 254
    assert 50 < 20_000 * _density("G-Text") < 100  # RCV1 has 76 words per document
    sensor = load("G-Sensor").X
    assert 0.4 < (sensor < 0).mean() < 0.6
    assert (sensor**4).mean() > 10 * (sensor**2).mean() ** 2  # heavier than normal tails, whose factor is 3
    text = load("G-Text").X
    frequency = np.sort(np.bincount(text.indices))[::-1]
    assert frequency[10] > 10 * frequency[1000]


def test_enlarged_digits_are_those_of_scikit_learn():
    small, large = load("Digits"), load("D-Basic")
    assert large.X.min() == 0
    assert large.X.max() == 1
    middle = large.X.reshape(-1, 28, 28)[:, ::9, ::9]  # places 0, 9, 18, 27 are those of pixels 0, 7/3, 14/3, 7
    corners = middle[:, ::3, ::3].reshape(len(middle), -1)
    assert sorted(map(tuple, corners)) == sorted(map(tuple, small.X.reshape(-1, 8, 8)[:, ::7, ::7].reshape(-1, 4) / 16))


def test_noise_is_harder_where_it_is_more_correlated():
    """As in table 3 of the paper; 1-nearest neighbours by the kernel, on 400 rows each."""
    errors = []
    for name in ("D-Basic", "D-Noise6", "D-Noise1"):
        data = load(name)
        near = gmm_kernel(data.X_test[:400], data.X_train[:400]).argmax(axis=1)
        errors.append((data.y_train[:400][near] != data.y_test[:400]).mean())
    assert errors[0] < errors[1] < errors[2] - 0.05


def test_generated_numbers_are_the_same_on_every_machine():
    """The digest covers the draws, rounded so that the last bits of the C library's functions do not matter."""
    digest = hashlib.sha256(np.round(load("G-Sensor").X[:50], 3).tobytes()).hexdigest()[:16]
    assert digest == "5e0028df6fec9bb6"
