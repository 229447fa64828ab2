"""GMMNystroem: scikit-learn's conventions, and what its features are worth."""

from functools import partial

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics import pairwise
from sklearn.utils.estimator_checks import parametrize_with_checks

from kernelsketch import GMMNystroem, gmm_kernel
from kernelsketch.exceptions import InputError
from kernelsketch.kernels import KERNELS

X = load_digits().data[:200]


@parametrize_with_checks([GMMNystroem(n_components=10), GMMNystroem("egmm", center="mean", n_components=3)])
@pytest.mark.filterwarnings("ignore:n_components=.* is more than the:UserWarning")
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@pytest.mark.parametrize("name", KERNELS)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_sample_of_all_rows_gives_the_kernel_itself(name, form):
    rows = form(X[:60])
    features = GMMNystroem(name, n_components=60, random_state=0).fit_transform(rows)
    np.testing.assert_allclose(features @ features.T, KERNELS[name].function(rows), atol=1e-8)


def test_error_falls_with_n_components():
    K = KERNELS["gmm"].function(X)
    errors = []
    for n in (10, 40, 160):
        features = GMMNystroem(n_components=n, random_state=0).fit_transform(X)
        errors.append(np.abs(features @ features.T - K).mean())
    assert errors[0] > 1.5 * errors[1] > 2 * errors[2]


def test_repeated_rows_in_the_sample():
    """K is then singular: directions of rounding noise are left out, in float32 too."""
    repeated = np.repeat(X[:30], 3, axis=0)
    for dtype in (np.float32, np.float64):
        rows = repeated.astype(dtype)
        features = GMMNystroem(n_components=90, random_state=0).fit_transform(rows)
        assert features.dtype == dtype
        atol = 1e-4 if dtype == np.float32 else 1e-9
        np.testing.assert_allclose(features @ features.T, KERNELS["gmm"].function(rows), atol=atol)


def test_rows_of_zeros_have_no_features():
    rows = X[:50].copy()
    rows[:10] = 0
    features = GMMNystroem(n_components=50, random_state=0).fit_transform(rows)
    assert not features[:10].any()


@pytest.mark.parametrize("center", ["mean", "median", X.mean(axis=0)])
def test_center_is_learned_at_fit(center):
    model = GMMNystroem(center=center, n_components=30, random_state=0).fit(X)
    expected = np.median(X, axis=0) if isinstance(center, str) and center == "median" else X.mean(axis=0)
    np.testing.assert_allclose(model.center_, expected)
    shifted = GMMNystroem(n_components=30, random_state=0).fit(X - expected)
    np.testing.assert_allclose(model.transform(X[:9]), shifted.transform((X - expected)[:9]), atol=1e-9)


def test_names_and_frames_out():
    model = GMMNystroem(n_components=3, random_state=0).set_output(transform="pandas")
    assert list(model.fit_transform(X).columns) == ["gmmnystroem0", "gmmnystroem1", "gmmnystroem2"]


def _shared(u, v, power=1.0):
    return float((np.minimum(u, v) ** power).sum())


@pytest.mark.parametrize(
    "kernel", [np.dot, _shared, pairwise.chi2_kernel, pairwise.laplacian_kernel], ids=lambda kernel: kernel.__name__
)
def test_any_kernel_function_as_in_scikit_learn(kernel):
    """Its own Nystroem has the same features, up to the root of the matrix of the sample, so the same kernel."""
    rows = np.abs(X)
    ours = GMMNystroem(kernel, n_components=20, random_state=0).fit(rows)
    names = {pairwise.chi2_kernel: "chi2", pairwise.laplacian_kernel: "laplacian"}  # theirs calls a function by pairs
    theirs = Nystroem(kernel=names.get(kernel, kernel), n_components=20, random_state=0).fit(rows)
    np.testing.assert_array_equal(ours.components_, theirs.components_)
    a, b = ours.transform(rows), theirs.transform(rows)
    np.testing.assert_allclose(a @ a.T, b @ b.T, rtol=1e-6, atol=1e-6)


def test_parameters_reach_a_kernel_function():
    rows = np.abs(X)
    found = GMMNystroem(pairwise.chi2_kernel, gamma=0.5, n_components=30, random_state=0).fit(rows)
    expected = GMMNystroem(
        lambda u, v: pairwise.chi2_kernel([u], [v], gamma=0.5)[0, 0], n_components=30, random_state=0
    )
    np.testing.assert_allclose(found.transform(rows), expected.fit(rows).transform(rows), rtol=1e-6, atol=1e-6)
    with pytest.raises(InputError, match="takes no gamma"):
        GMMNystroem(_shared, gamma=0.5).fit(rows)


def test_a_partial_of_a_kernel():
    """Its signature has n_jobs, which scikit-learn's loop over pairs takes too."""
    found = GMMNystroem(partial(gmm_kernel, p=2), n_components=9, random_state=0).fit(X[:30])
    expected = GMMNystroem("gmm", p=2, n_components=9, random_state=0).fit(X[:30])
    np.testing.assert_allclose(found.transform(X[:9]), expected.transform(X[:9]), rtol=1e-6, atol=1e-6)


def test_more_components_than_rows():
    with pytest.warns(UserWarning, match="n_components=9 is more than the 5 rows of X: all 5 rows are used"):
        features = GMMNystroem(n_components=9).fit_transform(X[:5])
    assert features.shape == (5, 5)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"kernel": "rbf", "p": 2.0}, "kernel='rbf' takes no p"),
        ({"kernel": "gmm", "gamma": 2.0}, "kernel='gmm' takes no gamma"),
        ({"kernel": "correlation", "center": "mean"}, "takes no center"),
        ({"kernel": np.dot, "p": 2.0}, "takes no p"),
        ({"kernel": "poly"}, "kernel"),
        ({"p": 0}, "p"),
        ({"center": "mode"}, "center"),
        ({"n_components": 0}, "n_components"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        GMMNystroem(**params).fit(X)


def test_center_with_sparse_rows():
    with pytest.raises(InputError, match="center cannot be used with sparse data"):
        GMMNystroem(center="mean").fit(sparse.csr_matrix(X))
