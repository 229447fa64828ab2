"""Choose training and test rows.

The paper gives the sizes of its random splits but not the draws, so we draw our own. The number of the split and the
name of the dataset seed a generator; one raw 64-bit number per row is drawn, and sorting these numbers orders the rows.
NumPy keeps raw numbers the same between versions, so a split is the same on every machine.
"""

from __future__ import annotations

import hashlib

import numpy as np
from numpy.random import PCG64, SeedSequence

from kernelsketch.exceptions import InputError

from .._checks import Array
from ._entry import Entry

OFFICIAL = "official"
RANDOM = "random"
WITHIN_TRAINING = "random part of training"
OFFICIAL_TEST = "random training, official test"
RULES = (OFFICIAL, RANDOM, WITHIN_TRAINING, OFFICIAL_TEST)


def stream(name: str, split: int, purpose: str = "rows") -> PCG64:
    """Return the generator of one split of a dataset. Each purpose has a generator of its own."""
    digest = hashlib.sha256(f"{name}/{purpose}".encode()).digest()
    words = [int.from_bytes(digest[k : k + 4], "little") for k in range(0, 16, 4)]
    return PCG64(SeedSequence([split, *words]))


def shuffled(rows: Array, generator: PCG64) -> Array:
    """Return the rows in random order."""
    return rows[np.argsort(generator.random_raw(len(rows)), kind="stable")]


def split_rows(entry: Entry, n: int, is_test: Array | None, split: int) -> tuple[Array, Array]:
    """Return the training rows and the test rows of an entry, each in ascending order."""
    rule = entry.split
    if rule != RANDOM and is_test is None:
        raise InputError(
            f"The file of {entry.name} has no array 'is_test', which its split ({rule}) needs: store the file with it."
        )
    if rule == OFFICIAL and split:
        raise InputError(f"{entry.name} has only its official split: split must be 0, got {split}.")
    rows = np.arange(n)
    if rule == RANDOM:
        return _drawn(entry, rows, split)
    assert is_test is not None
    if rule == WITHIN_TRAINING:
        return _drawn(entry, rows[~is_test], split)
    train, test = rows[~is_test], rows[is_test]
    if rule == OFFICIAL_TEST and entry.n_train is not None:
        _check_enough(entry, len(train), entry.n_train)
        train = np.sort(shuffled(train, stream(entry.name, split))[: entry.n_train])
    _check_sizes(entry, train, test)
    return train, test


def _drawn(entry: Entry, pool: Array, split: int) -> tuple[Array, Array]:
    n_train = entry.n_train if entry.n_train is not None else (len(pool) + 1) // 2
    n_test = entry.n_test if entry.n_test is not None else len(pool) - n_train
    _check_enough(entry, len(pool), n_train + n_test)
    order = shuffled(pool, stream(entry.name, split))
    return np.sort(order[:n_train]), np.sort(order[n_train : n_train + n_test])


def _check_enough(entry: Entry, have: int, need: int) -> None:
    if have < need:
        raise InputError(
            f"{entry.name} draws {need} rows, but its file has only {have}: the file is another version of the dataset."
        )


def _check_sizes(entry: Entry, train: Array, test: Array) -> None:
    expected = (entry.n_train, entry.n_test)
    if None not in expected and (len(train), len(test)) != expected:
        raise InputError(
            f"{entry.name} has {entry.n_train} + {entry.n_test} rows, but its file has {len(train)} + {len(test)}: "
            "the file is another version of the dataset."
        )
