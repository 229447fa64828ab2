"""Searches that compare all rows exactly: by approximate sums first, which may drop no neighbour."""

import numpy as np
import pytest
from scipy import sparse

from helpers.answers import answers
from kernelsketch import GCWSIndex, backends


def exact_index(**given):
    return GCWSIndex(**{"n_tables": 0, "n_rerank": None, "n_components": 16, **given})


def assert_like_the_reference(run):
    found = run()
    with backends.use_backend("reference"):
        assert found == run()


@pytest.mark.parametrize("kind", ["dense", "bytes", "sparse"])
def test_rows_of_all_sizes(isa, kind):
    """All rows are compared, but for those whose norm is too small or too large for the neighbours found so far."""
    rng = np.random.default_rng(6)
    X = rng.integers(0, 4, (110, 12)) * 2 ** rng.integers(0, 7, (110, 1))
    X[::7] = X[5]  # ties
    X = X.astype(np.uint8) if kind == "bytes" else X * rng.choice([1e-6, 1, 1e6], (110, 1))
    X = sparse.csr_array(X) if kind == "sparse" else X

    def run():
        index = exact_index().fit(X[:50]).add(X[50:90], np.arange(-40, 0))
        return [answers(index, X[80:]), answers(index.remove([-7, 3, 35])), index.kneighbors(X[80:], 87)[1].tolist()]

    assert_like_the_reference(run)


@pytest.mark.parametrize("d", [1, 7, 64, 300])
@pytest.mark.parametrize("kind", ["positive", "signed", "bytes"])
def test_rows_that_are_equally_similar_but_for_rounding(isa, kind, d):
    """Similarities differ by less than the error of the approximate sums."""
    rng = np.random.default_rng(d)
    X = rng.integers(0, 256, (1, d)) if kind == "bytes" else rng.gamma(1.0, size=(1, d)) + 0.1
    if kind == "signed":
        X = X * rng.choice([-1, 1], d)
    X = np.repeat(X, 150, axis=0)
    changed = rng.integers(d, size=150)
    X[np.arange(150), changed] = 255 - X[:, changed][np.arange(150), np.arange(150)] if kind == "bytes" else 0.05
    if kind != "bytes":
        X = X * (1 + 1e-7 * rng.normal(size=X.shape))
        X[:, changed[0]] += rng.normal(size=150) * 1e-5
    queries = X[:40] if kind == "bytes" else X[:40] * 1.001

    def run():
        index = exact_index(n_jobs=2).fit(X)
        nearest = [part.tolist() for part in index.kneighbors(queries, 5)]
        level = 1 - nearest[0][0][2]  # exactly the similarity of a neighbour
        return nearest, [part.tolist() for part in index.neighbors_above(queries, threshold=level)[1]]

    assert_like_the_reference(run)


def test_bytes_and_floats_in_one_index(isa):
    rng = np.random.default_rng(3)
    whole, parts = rng.integers(0, 256, (100, 21)), rng.gamma(1.0, 60.0, (100, 21)) * rng.choice([-1, 1], (100, 21))

    def run():
        index = exact_index().fit(whole).add(parts).remove([5, 105])
        return answers(index, np.concatenate([whole[50:], parts[50:]])), answers(index, whole[:30]), answers(index)

    assert_like_the_reference(run)


def test_norms_at_the_ends_of_their_range(isa):
    rng = np.random.default_rng(4)
    X = rng.gamma(1.0, size=(120, 9)) * rng.choice([-1, 1], (120, 9))
    X *= np.repeat([1.0, 2.0**94, 2.0**-97], 40)[:, None]

    def run():
        index = exact_index().fit(X[:40]).add(X[40:])
        return [part.tolist() for part in index.kneighbors(X * 1.1, 6)], answers(index)

    assert_like_the_reference(run)
