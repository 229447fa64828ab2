"""Hasher: an immutable value."""

import dataclasses

import numpy as np
import pytest

from kernelsketch import GCWSClassifier
from kernelsketch.backends import DenseRows
from kernelsketch.hashing import Hasher

X = np.random.default_rng(0).normal(size=(20, 6))


def test_nobody_can_change_it():
    center = np.full(6, 0.5)
    hasher = Hasher(16, 3, center=center)
    before = hasher.codes(DenseRows(X))
    center[:] = -7.0  # the caller's own array
    assert hasher.codes(DenseRows(X)) == before
    with pytest.raises(ValueError, match="read-only"):
        hasher.center[:] = 0.0
    with pytest.raises(dataclasses.FrozenInstanceError):
        hasher.seed = 4


def test_a_model_cannot_be_changed_by_its_hash():
    model = GCWSClassifier(16, center="mean").fit(X, X[:, 0] > 0)
    with pytest.raises(ValueError, match="read-only"):
        model.hasher_.center_[:] = 0.0


def test_leading_hashes_are_those_of_a_shorter_hash():
    long, short = Hasher(64, 3, bits=5, t_bits=1), Hasher(10, 3, bits=5, t_bits=1)
    rows = DenseRows(X)
    assert long.leading(10).difference(short) is None
    np.testing.assert_array_equal(long.codes(rows)[:, :10].unpack(), short.codes(rows).unpack())
    for whole, part in zip(long.samples(rows), short.samples(rows), strict=True):
        np.testing.assert_array_equal(whole[:, :10], part)
    np.testing.assert_array_equal(long.fingerprints(rows)[0][:, :10], short.fingerprints(rows)[0])


def test_what_two_hashes_differ_in():
    hasher = Hasher(16, 3)
    assert hasher.difference(Hasher(16, 3)) is None
    assert hasher.difference(Hasher(16, 4)) == "seed 3 against 4"
    assert hasher.difference(Hasher(8, 3)) == "n_components 16 against 8"
    assert hasher.difference(Hasher(8, 3), ignore=("n_components",)) is None
    assert hasher.difference(Hasher(16, 3, center=np.ones(2))) == "center"
