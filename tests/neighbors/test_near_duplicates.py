"""NearDuplicates and dedup against brute force."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.clusters import clusters
from kernelsketch import GCWSIndex, NearDuplicates, dedup, gmm_kernel
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.neighbors import _join
from kernelsketch.text import Shingles

KINDS = {
    "dense": np.asarray,
    "csr": sparse.csr_array,
    "signed": lambda X: X * np.where(np.arange(X.shape[1]) % 2, 1, -1),
}


def some_rows(kind):
    """Rows in clusters, with copies and two all-zero rows."""
    X = np.rint(clusters(150, 40, seed=3) * 20)
    X = np.vstack([X, X[:30], X[::7]])
    X[[5, 70]] = 0
    return KINDS[kind](X)


def kernel_of(X):
    kernel = gmm_kernel(X)
    np.fill_diagonal(kernel, 1)
    return kernel


@pytest.mark.parametrize("kind", KINDS)
def test_single_linkage_is_connected_components(kind):
    X = some_rows(kind)
    kernel = kernel_of(X)
    expected = connected_components(sparse.csr_array(kernel >= 0.7), directed=False)[1]
    model = NearDuplicates(0.7, recall=0.9999).fit(X)
    same = model.labels_[:, None] == model.labels_
    np.testing.assert_array_equal(same, expected[:, None] == expected)
    first = np.array([np.flatnonzero(expected == label)[0] for label in expected])
    np.testing.assert_array_equal(model.representatives_, first)
    np.testing.assert_allclose(model.similarities_, kernel[np.arange(len(first)), first], rtol=1e-6)
    begins = [np.flatnonzero(model.labels_ == label)[0] for label in range(model.labels_.max() + 1)]
    assert begins == sorted(begins)
    np.testing.assert_array_equal(model.fit_predict(X), model.labels_)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("by_priority", [False, True])
def test_star_members_are_similar_to_the_one_that_stays(kind, by_priority):
    X = some_rows(kind)
    kernel, n = kernel_of(X), X.shape[0]
    priority = np.random.default_rng(0).integers(20, size=n) if by_priority else np.zeros(n)
    model = NearDuplicates(0.7, recall=0.9999, how="star").fit(X, priority=priority)
    stays = np.full(n, -1)
    for row in np.lexsort((np.arange(n), -priority)).tolist():
        if stays[row] < 0:
            stays[(kernel[row] >= 0.7) & (stays < 0)] = row
    np.testing.assert_array_equal(model.representatives_, stays)
    assert (kernel[np.arange(n), model.representatives_] >= 0.7 - 1e-6).all()


@pytest.mark.parametrize("kind", KINDS)
def test_pairs(kind):
    """All pairs of distinct rows, and each row that equals earlier ones with the first of them."""
    X = some_rows(kind)
    kernel = gmm_kernel(X)
    dense = X.toarray() if sparse.issparse(X) else X
    first = [next(j for j in range(i + 1) if (dense[i] == dense[j]).all()) for i in range(len(dense))]
    near = [(i, j) for i, j in np.argwhere(kernel >= 0.7).tolist() if i < j]
    expected = [(i, j) for i, j in near if i == first[j] or (first[i] == i and first[j] == j)]
    pairs, similarity = NearDuplicates(0.7, recall=0.9999).pairs(X)
    assert pairs.tolist() == [list(pair) for pair in expected]
    np.testing.assert_allclose(similarity, kernel[pairs[:, 0], pairs[:, 1]], rtol=1e-6)


@pytest.mark.parametrize("how", ["single", "star"])
def test_nothing_is_similar(how):
    """No pair at all, or pairs of equal rows alone."""
    np.testing.assert_array_equal(NearDuplicates(0.8, how=how).fit(np.eye(5)).labels_, range(5))
    found = NearDuplicates(0.8, how=how).fit(np.eye(5)[[0, 0, 1, 1, 2]]).labels_
    assert found[0] == found[1] != found[2] == found[3] != found[4]


def test_priority_chooses_who_stays():
    X = some_rows("csr")
    priority = np.random.default_rng(1).integers(5, size=X.shape[0])
    plain, chosen = NearDuplicates(0.7).fit(X), NearDuplicates(0.7).fit(X, priority=priority)
    np.testing.assert_array_equal(plain.labels_[:, None] == plain.labels_, chosen.labels_[:, None] == chosen.labels_)
    for label in range(chosen.labels_.max() + 1):
        members = np.flatnonzero(chosen.labels_ == label)
        best = members[np.argmax(priority[members])]
        assert (chosen.representatives_[members] == best).all()


def test_lsh_tables_take_over_where_the_join_has_too_many_candidates(monkeypatch):
    X = some_rows("csr")
    joined = NearDuplicates(0.7, recall=0.9999).fit(X).representatives_
    monkeypatch.setattr(_join, "PER_ROW", 0)
    monkeypatch.setattr(_join, "FREE", 0)
    np.testing.assert_array_equal(NearDuplicates(0.7, recall=0.9999).fit(X).representatives_, joined)


def test_results_do_not_depend_on_threads():
    X = some_rows("csr")
    one, three = (NearDuplicates(0.5, n_jobs=n).fit(X) for n in (1, 3))
    np.testing.assert_array_equal(one.representatives_, three.representatives_)
    np.testing.assert_array_equal(one.similarities_, three.similarities_)


def test_many_copies_of_a_row_are_cheap():
    X = sparse.csr_array(np.tile([[1.0, 2, 3, 0]], (10_000, 1)))
    pairs, similarity = GCWSIndex(n_tables=4).fit(X).query_pairs(0.5)
    np.testing.assert_array_equal(pairs, np.stack([np.zeros(9999, int), np.arange(1, 10_000)], axis=1))
    assert (similarity == 1).all()
    assert (NearDuplicates().fit(X).representatives_ == 0).all()


@pytest.mark.parametrize("store_vectors", [True, False])
def test_query_pairs_lists_equal_rows_once(store_vectors):
    X = some_rows("csr")
    index = GCWSIndex(store_vectors=store_vectors, n_components=256).fit(X[:100]).add(X[100:])
    every, _ = index.query_pairs(0.6, all_equal=True)
    some, found = index.query_pairs(0.6)
    assert {tuple(pair) for pair in some.tolist()} < {tuple(pair) for pair in every.tolist()}
    dense = X.toarray()
    equal = lambda a, b: (dense[a] == dense[b]).all()  # noqa: E731
    first = [next(j for j in range(i + 1) if equal(i, j)) for i in range(len(dense))]
    expected = {(a, b) for a, b in every.tolist() if a == first[b] or (a == first[a] and b == first[b])}
    if store_vectors:
        assert {tuple(pair) for pair in some.tolist()} == expected
    assert (found >= 0.6).all()
    assert len(index.ids_) == X.shape[0]


def test_dedup_of_texts():
    words = [f"word{i}" for i in range(15)]
    long = " ".join(words)
    texts = [long, long.upper() + "!", " ".join(words[:-1]), "unrelated words of another text", "", "", long + " more"]
    clusters_, keep = dedup(texts, threshold=0.7)
    assert clusters_.tolist() == [0, 0, 0, 3, 4, 5, 0]
    assert keep.tolist() == [True, False, False, True, True, True, False]
    assert dedup(texts, threshold=0.7, keep="longest")[0].tolist() == [6, 6, 6, 3, 4, 5, 6]
    assert dedup(texts, threshold=0.7, keep=[0, 0, 9, 0, 0, 0, 0])[0].tolist() == [2, 2, 2, 3, 4, 5, 2]
    assert dedup([text.encode() for text in texts], threshold=0.7)[0].tolist() == clusters_.tolist()
    assert dedup(texts, threshold=0.95)[0].tolist() == [0, 0, 2, 3, 4, 5, 6]
    for shingles in (Shingles(5), Shingles(9, analyzer="char"), Shingles(2, weight="idf")):
        assert dedup(texts, threshold=0.7, shingles=shingles)[0].tolist() == clusters_.tolist()
    assert [part.tolist() for part in dedup([])] == [[], []]
    generated = dedup((text for text in texts), threshold=0.7, keep="longest")
    assert generated[0].tolist() == [6, 6, 6, 3, 4, 5, 6]


def test_dedup_of_rows():
    X = some_rows("csr")
    found, keep = dedup(X, threshold=0.7)
    np.testing.assert_array_equal(found, NearDuplicates(0.7).fit(X).representatives_)
    np.testing.assert_array_equal(keep, found == np.arange(X.shape[0]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: dedup(["a", None]), InputTypeError, r"X\[1\] is missing"),
        (lambda: dedup("one text"), InputTypeError, "list of texts"),
        (lambda: dedup(["a"], keep="last"), InputError, "keep must be"),
        (lambda: dedup(np.eye(3), keep="longest"), InputError, "applies to texts"),
        (lambda: dedup(np.eye(3), shingles=Shingles()), InputError, "applies to texts"),
        (lambda: dedup(["a", "b"], keep=[1, 2, 3]), InputError, r"shape \(2,\), got int64 of shape \(3,\)"),
        (lambda: dedup(["a", "b"], keep=[1, np.nan]), InputError, "NaN for row 1"),
        (lambda: dedup(["a"], threshold=2), ValueError, r"'threshold' parameter of dedup must be .* Got 2 instead"),
        (lambda: dedup(["a"], shingles=5), ValueError, r"'shingles' parameter of dedup must be an instance of"),
        (lambda: NearDuplicates().fit(["a", "b"]), InputTypeError, r"X has texts, .*\.Shingles\(5\).*\.dedup\(X\)"),
        (lambda: NearDuplicates().pairs(np.array(["a", "b"])), InputTypeError, "X has texts"),
        (lambda: NearDuplicates(how="complete").fit(np.eye(2)), ValueError, "how"),
        (lambda: GCWSIndex().fit(np.eye(3)).query_pairs(0.5, all_equal=1), InputTypeError, "all_equal"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


@parametrize_with_checks([NearDuplicates()])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_is_a_scikit_learn_clusterer():
    assert clone(NearDuplicates(0.9, how="star")).get_params()["how"] == "star"
