import numpy as np
import pytest
from scipy import sparse

from helpers.clusters import clusters
from kernelsketch import GCWSIndex


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, lambda X: np.rint(X * 9)])
@pytest.mark.parametrize("n_components", [1, 32])  # with one code, many rows that are not equal share it
def test_duplicates_are_equal_rows(kind, n_components):
    rng = np.random.default_rng(0)
    X = np.rint(clusters(60, 8, seed=1) * 40) / 40
    X = kind(X[rng.integers(60, size=400)])
    ids = rng.permutation(1000)[:400] - 500
    index = GCWSIndex(n_tables=0, n_components=n_components).fit(X[:250], ids=ids[:250]).add(X[250:], ids[250:])
    index.remove(ids[5:9])
    pairs, similarity = index.query_pairs(1.0)
    assert (similarity == 1).all()
    first, duplicates = pairs.T
    dense = X.toarray() if sparse.issparse(X) else X
    rows = {i: row for i, row in zip(ids.tolist(), dense.tolist(), strict=True) if i not in ids[5:9].tolist()}
    assert all(rows[a] == rows[b] and a < b for a, b in zip(first.tolist(), duplicates.tolist(), strict=True))
    assert len(set(duplicates.tolist())) == len(duplicates)
    assert list(zip(first.tolist(), duplicates.tolist(), strict=True)) == sorted(zip(first, duplicates, strict=True))
    if n_components == 32:
        known, expected = {}, []
        for i in sorted(rows):
            if any(rows[i]):
                before = known.setdefault(tuple(rows[i]), i)
                expected += [(before, i)] * (before != i)
        assert sorted(expected) == list(zip(first.tolist(), duplicates.tolist(), strict=True))
        assert len(expected) > 200


def test_no_rows():
    X = np.eye(3)
    index = GCWSIndex().fit(X).remove([0, 1, 2])
    assert [len(part) for part in index.query_pairs(1.0)] == [0, 0]
