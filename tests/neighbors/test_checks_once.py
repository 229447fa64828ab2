"""A query checks parameters, rows and n_jobs once."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import InvalidParameterError

from kernelsketch import GCWSIndex, GCWSNeighborsTransformer, NearDuplicates, _rows
from kernelsketch.backends import cpu
from kernelsketch.exceptions import InputError
from kernelsketch.hashing import Hasher
from kernelsketch.neighbors import _index, _near_duplicates, _state, _transformer
from kernelsketch.text import Shingles

X = np.random.default_rng(0).gamma(1.0, size=(400, 30)).astype(np.float32)
CSR = sparse.random_array((200, 500), density=0.05, rng=np.random.default_rng(0), format="csr", dtype=np.float32)


@pytest.fixture
def calls(monkeypatch):
    """Count the calls of checks by their names."""
    counts = dict.fromkeys(("parameters", "threads", "finite", "canonical", "powers"), 0)

    def count(owner, name, what):
        original = getattr(owner, name)

        def counted(*args, **options):
            counts[what] += 1
            return original(*args, **options)

        monkeypatch.setattr(owner, name, counted)

    count(BaseEstimator, "_validate_params", "parameters")
    for module in (_rows, _state, _index, _near_duplicates, _transformer):
        count(module, "check_n_jobs", "threads")
    count(_rows, "_are_finite", "finite")
    count(cpu.CpuBackend, "is_canonical", "canonical")
    count(Hasher, "check", "powers")
    return counts


@pytest.mark.parametrize("method", ["kneighbors", "kneighbors_graph"])
@pytest.mark.parametrize("queries", [X[:300], X[:1]], ids=["many", "one"])
def test_dense_queries(calls, method, queries):
    index = GCWSIndex().fit(X)
    calls.update(dict.fromkeys(calls, 0))
    getattr(index, method)(queries)
    assert calls["parameters"] == 0
    assert (calls["threads"], calls["powers"]) == (1, 1)
    assert calls["finite"] == (len(queries) > 1)  # np.isfinite looks at a few values


@pytest.mark.parametrize("options", [{}, {"heavy_fraction": 0.7}])
def test_sparse_queries(calls, options):
    index = GCWSIndex(**options).fit(CSR)
    calls.update(dict.fromkeys(calls, 0))
    index.neighbors_above(CSR[:50], threshold=0.5)
    assert calls == {"parameters": 0, "threads": 1, "finite": 1, "canonical": 1, "powers": 1}


def test_fit(calls):
    GCWSIndex().fit(X)
    assert calls == {"parameters": 1, "threads": 1, "finite": 1, "canonical": 0, "powers": 1}


def test_additions(calls):
    index = GCWSIndex().fit(CSR)
    calls.update(dict.fromkeys(calls, 0))
    index.add(CSR[:50])
    assert calls == {"parameters": 0, "threads": 1, "finite": 1, "canonical": 1, "powers": 1}


def test_texts_are_not_checked_as_rows(calls):
    index = GCWSIndex(1, shingles=Shingles(1)).fit(["one two", "three four"])
    index.kneighbors(["one two three"])
    assert calls["finite"] == calls["canonical"] == 0


def test_rows_of_other_estimators(calls):
    transformer = GCWSNeighborsTransformer().fit(CSR)
    calls.update(dict.fromkeys(calls, 0))
    transformer.transform(CSR)
    assert (calls["finite"], calls["canonical"], calls["parameters"]) == (0, 1, 0)  # scikit-learn finds NaN
    calls.update(dict.fromkeys(calls, 0))
    NearDuplicates().fit(X)
    assert (calls["finite"], calls["parameters"]) == (1, 1)


def test_parameters_that_are_set_later(calls):
    index = GCWSIndex().fit(X)
    calls.update(dict.fromkeys(calls, 0))
    index.set_params(n_rerank=50)
    expected = index.kneighbors(X[:3])
    index.kneighbors(X[:3])
    assert calls["parameters"] == 1
    index.n_rerank = "many"
    for _ in range(2):
        with pytest.raises(InvalidParameterError, match="n_rerank"):
            index.kneighbors(X[:3])
    index.n_rerank = 50
    np.testing.assert_array_equal(index.kneighbors(X[:3])[1], expected[1])
    index.n_jobs = 0
    with pytest.raises(InputError, match="n_jobs"):
        index.kneighbors(X[:3])


def test_copies_validate_their_own_parameters():
    index = pickle.loads(pickle.dumps(GCWSIndex().fit(X)))
    assert "_valid_parameters" not in vars(index)
    index.kneighbors(X[:1])
    index.fill_missing = "perhaps"
    with pytest.raises(InvalidParameterError, match="fill_missing"):
        index.kneighbors(X[:1])


def test_bad_rows_are_refused():
    index = GCWSIndex(p=100.0, store_vectors=False).fit(X)
    with pytest.raises(ValueError, match="contains NaN"):
        index.kneighbors(np.where(X > 1, np.nan, X))
    with pytest.raises(InputError, match="With p=100"):
        index.kneighbors(X[:2].astype(float) * 1e-60)
    with pytest.raises(ValueError, match="expecting 30 features"):
        index.kneighbors(X[:, :5])
    with pytest.raises(ValueError, match="0 sample"):
        GCWSIndex(1, shingles=Shingles(1)).fit(["one"]).kneighbors([])
