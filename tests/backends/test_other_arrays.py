"""A back end for arrays of another library: everything runs where they are, and results are arrays of that library.

No estimator knows of it: what is tested here is that a further back end, such as one for a GPU, needs no change above
``kernelsketch.backends``.
"""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits

import kernelsketch as ks
from helpers import arrays
from helpers.arrays import Wrapped, WrappedCsr, registered
from kernelsketch.backends import backend_for
from kernelsketch.exceptions import InputError, InputTypeError

X, y = load_digits(return_X_y=True)
X, y = X[:400] - 4.0, y[:400]
X_train, X_test, y_train = X[:300], X[300:], y[:300]


@pytest.fixture(autouse=True)
def _registered():
    arrays.asked.clear()
    with registered():
        yield
    assert backend_for(X).name != "wrapped"


def inside(found):
    """What is in an array of the library; nothing else is accepted."""
    assert type(found) is Wrapped
    return found.inner


def csr(matrix):
    matrix = sparse.csr_array(matrix)
    return WrappedCsr(Wrapped(matrix.data), Wrapped(matrix.indices), Wrapped(matrix.indptr), matrix.shape)


@pytest.mark.parametrize(
    ("kernel", "params"),
    [
        (ks.gmm_kernel, {}),
        (ks.gmm_kernel, {"p": 2.5}),
        (ks.gmm_kernel, {"center": "mean"}),
        (ks.egmm_kernel, {"gamma": 2.0}),
        (ks.ngmm_kernel, {}),
        (ks.intersection_kernel, {}),
    ],
)
@pytest.mark.parametrize("shift", [0.0, 0.25])  # small integers are compared as bytes
def test_kernels(kernel, params, shift):
    U, V = X_test + shift, X_train + shift
    np.testing.assert_array_equal(inside(kernel(Wrapped(U), Wrapped(V), **params)), kernel(U, V, **params))
    np.testing.assert_array_equal(inside(kernel(Wrapped(V), **params)), kernel(V, **params))
    assert {"gmm of Wrapped", "gmm of ByteRows"} & arrays.asked


def test_kernels_of_sparse_rows():
    S = sparse.random_array((50, 2000), density=0.01, random_state=0, format="csr")
    np.testing.assert_array_equal(inside(ks.gmm_kernel(csr(S))), ks.gmm_kernel(S))
    assert "gmm of CsrRows" in arrays.asked


@pytest.mark.parametrize("p", [1.0, 0.5, 20.0])
def test_kernels_of_rows_of_all_sizes(p):
    """Rows of different kinds are taken apart and compared where they are; one side may be dense, the other sparse."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 100)) * 10.0 ** rng.uniform(-320, 300, (40, 1)) * (rng.random((40, 100)) < 0.2)
    rows[::3] *= rng.random((14, 100)) < 0.02
    S = sparse.csr_array(rows)
    for mine, theirs in [((Wrapped(rows),), (rows,)), ((csr(S),), (S,)), ((Wrapped(rows), csr(S)), (rows, S))]:
        np.testing.assert_array_equal(inside(ks.gmm_kernel(*mine, p=p)), ks.gmm_kernel(*theirs, p=p))


def test_kernel_blocks():
    whole = ks.gmm_kernel(X_test)
    for rows, block in ks.iter_kernel_blocks(Wrapped(X_test), block_size=30):
        np.testing.assert_array_equal(inside(block), whole[rows])


VIEWS = {"views": [20, 30, 14]}
HASHES = [{}, {"bits": 3, "t_bits": 2}, {"gamma": 1.5}, {"center": "median"}, {"p": 0.5}]


@pytest.mark.parametrize("params", [*HASHES, *({**hash_, **VIEWS} for hash_ in HASHES)])
def test_hashing(params):
    expected = ks.GCWS(32, **params).fit(X_train)
    found = ks.GCWS(32, **params).fit(Wrapped(X_train))
    codes = found.codes(Wrapped(X_test))
    np.testing.assert_array_equal(inside(codes.packed), expected.codes(X_test).packed)
    np.testing.assert_array_equal(inside(codes.unpack()), expected.codes(X_test).unpack())
    np.testing.assert_array_equal(inside(codes.match_counts()), expected.codes(X_test).match_counts())
    for mine, theirs in zip(found.signatures(Wrapped(X_test)), expected.signatures(X_test), strict=True):
        np.testing.assert_array_equal(inside(mine), theirs)
    features = found.transform(Wrapped(X_test))
    assert type(features) is WrappedCsr
    np.testing.assert_array_equal(inside(features.indices), expected.transform(X_test).indices)


@pytest.mark.parametrize("params", [{}, {"t_bits": 2}, {"gamma": 1.5}])
def test_views_of_rows_with_empty_ones(params):
    rows = np.where(np.arange(64) < 20 * (np.arange(100) % 3)[:, None], 0, X_test)  # zero in view 0, or nowhere
    rows[7], rows[8, 20:50] = 0, 0
    expected = ks.GCWS(32, **params, **VIEWS).fit(X_train)
    found = ks.GCWS(32, **params, **VIEWS).fit(Wrapped(X_train))
    for own in (Wrapped(rows), csr(rows)):
        codes = found.codes(own)
        np.testing.assert_array_equal(inside(codes.packed), expected.codes(rows).packed)
        np.testing.assert_array_equal(inside(codes.empty), np.arange(100) == 7)
        for mine, theirs in zip(found.signatures(own), expected.signatures(rows), strict=True):
            np.testing.assert_array_equal(inside(mine), theirs)


def test_fourier_features():
    expected = ks.NRFF(32).fit_transform(X_test)
    np.testing.assert_array_equal(inside(ks.NRFF(32).fit_transform(Wrapped(X_test))), expected)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "log_loss"])
@pytest.mark.parametrize("classes", [2, 10])
def test_classifiers(loss, classes):
    labels = y_train if classes == 10 else y_train > 4
    expected = ks.GCWSClassifier(64, loss=loss, C=3.0).fit(X_train, labels)
    found = ks.GCWSClassifier(64, loss=loss, C=3.0).fit(Wrapped(X_train), Wrapped(labels))
    assert {"gcws_codes", "linear_pass", "linear_decide"} <= arrays.asked
    np.testing.assert_array_equal(inside(found.code_weights_), expected.code_weights_)
    np.testing.assert_array_equal(inside(found.decision_function(Wrapped(X_test))), expected.decision_function(X_test))
    np.testing.assert_array_equal(inside(found.predict(Wrapped(X_test))), expected.predict(X_test))
    if loss == "log_loss":
        proba = inside(found.predict_proba(Wrapped(X_test)))
        np.testing.assert_allclose(proba, expected.predict_proba(X_test), rtol=1e-12)


@pytest.mark.parametrize("scale", ["standard", "robust", "quantile"])
def test_scaled_columns(scale):
    expected = ks.GCWSClassifier(32, scale=scale).fit(X_train, y_train)
    found = ks.GCWSClassifier(32, scale=scale).fit(Wrapped(X_train), y_train)
    np.testing.assert_array_equal(inside(found.decision_function(Wrapped(X_test))), expected.decision_function(X_test))
    if scale == "standard":
        train, test = (sparse.csr_array(np.maximum(part, 0)) for part in (X_train, X_test))
        expected = ks.GCWSRegressor(32, scale=scale).fit(train, y_train).predict(test)
        found = ks.GCWSRegressor(32, scale=scale).fit(csr(train), y_train).predict(csr(test))
        np.testing.assert_array_equal(inside(found), expected)


@pytest.mark.parametrize("rows", [lambda x: x, lambda x: sparse.csr_array(x)], ids=["dense", "sparse"])
def test_an_index(rows):
    """The index is in main memory, and answers are where the queries are."""
    train, test = rows(X_train), rows(X_test)
    own_train, own_test = (csr(x) if sparse.issparse(x) else Wrapped(x) for x in (train, test))
    params = {} if sparse.issparse(train) else {"center": "mean"}
    expected, found = ks.GCWSIndex(**params).fit(train), ks.GCWSIndex(**params).fit(own_train)
    for mine, theirs in zip(found.kneighbors(own_test), expected.kneighbors(test), strict=True):
        np.testing.assert_array_equal(inside(mine), theirs)
    assert {"gcws_fingerprints", "index_search"} <= arrays.asked
    for mine, theirs in zip(
        found.neighbors_above(own_test, threshold=0.5), expected.neighbors_above(test, threshold=0.5), strict=True
    ):
        for one, other in zip(mine, theirs, strict=True):
            np.testing.assert_array_equal(inside(one), other)
    graph, theirs = found.kneighbors_graph(own_test), expected.kneighbors_graph(test)
    assert type(graph) is WrappedCsr
    np.testing.assert_array_equal(inside(graph.indices), theirs.indices)
    np.testing.assert_array_equal(found.kneighbors(test)[1], expected.kneighbors(test)[1])
    with pytest.raises(InputTypeError, match=r"X holds helpers.arrays.*but tune takes NumPy arrays"):
        ks.GCWSIndex().tune(own_train)
    found.add(own_test, ids=Wrapped(np.arange(1000, 1100))).remove(Wrapped(np.array([1050])))
    expected.add(test, ids=np.arange(1000, 1100)).remove([1050])
    np.testing.assert_array_equal(found.query_pairs(0.6)[0], expected.query_pairs(0.6)[0])


def test_labels_that_the_library_cannot_hold():
    found = ks.GCWSClassifier(32).fit(Wrapped(X_train), np.array(["low", "high"])[(y_train > 4).astype(int)])
    labels = found.predict(Wrapped(X_test))
    assert isinstance(labels, np.ndarray)
    assert set(labels) == {"low", "high"}


def test_regression_and_cross_validation():
    expected = ks.GCWSRegressor(64).fit(X_train, y_train).predict(X_test)
    found = ks.GCWSRegressor(64).fit(Wrapped(X_train), y_train).predict(Wrapped(X_test))
    np.testing.assert_array_equal(inside(found), expected)
    expected = ks.GCWSClassifierCV(32, Cs=3, cv=3).fit(X_train, y_train)
    found = ks.GCWSClassifierCV(32, Cs=3, cv=3).fit(Wrapped(X_train), y_train)
    np.testing.assert_array_equal(found.scores_, expected.scores_)
    np.testing.assert_array_equal(inside(found.predict(Wrapped(X_test))), expected.predict(X_test))


def test_a_model_serves_both_libraries(tmp_path):
    """Learned in one place, used and stored in another."""
    model = ks.GCWSClassifier(32).fit(Wrapped(X_train), y_train)
    expected = ks.GCWSClassifier(32).fit(X_train, y_train).predict(X_test)
    np.testing.assert_array_equal(model.predict(X_test), expected)
    np.testing.assert_array_equal(
        inside(ks.GCWSClassifier(32).fit(X_train, y_train).predict(Wrapped(X_test))), expected
    )
    model.save(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(ks.load_model(tmp_path / "model.safetensors").predict(X_test), expected)
    codes = model.hasher_.codes(Wrapped(X_test))
    codes.save(tmp_path / "codes.safetensors")
    assert ks.PackedCodes.load(tmp_path / "codes.safetensors") == model.hasher_.codes(X_test)


def test_streams():
    expected, found = ks.GCWSClassifier(32), ks.GCWSClassifier(32)
    for part in (slice(0, 150), slice(150, 300)):
        expected.partial_fit(X_train[part], y_train[part], classes=np.arange(10))
        found.partial_fit(Wrapped(X_train[part]), y_train[part], classes=np.arange(10))
    np.testing.assert_array_equal(inside(found.predict(Wrapped(X_test))), expected.predict(X_test))
    with pytest.raises(InputTypeError, match=r"block 0 holds helpers.arrays.Wrapped.*pass NumPy arrays"):
        ks.GCWSClassifier(32).fit_blocks([(Wrapped(X_train), y_train)])


def test_bad_input_is_refused_at_the_door():
    with pytest.raises(InputError, match="X must be 2-D"):
        ks.GCWS(8).fit(Wrapped(X[0]))
    model = ks.GCWS(8).fit(Wrapped(X))
    with pytest.raises(InputError, match="X has 3 features, but GCWS is expecting 64"):
        model.codes(Wrapped(X[:, :3]))
    with pytest.raises(InputTypeError, match=r"arrays belong to different libraries \(NumPy, wrapped\)"):
        ks.gmm_kernel(Wrapped(X), X)
    with pytest.raises(InputError, match="y has 10"):
        ks.GCWSClassifier(8).fit(Wrapped(X), y[:10])
