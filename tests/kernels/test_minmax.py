"""The min-max family: what is true of it for any data, and how exactly it is computed."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from helpers.strategies import matrices, matrix_pairs
from kernelsketch import egmm_kernel, gmm_kernel, intersection_kernel, ngmm_kernel, sign_split
from kernelsketch.reference import gmm as reference

slow = partial(pytest.param, marks=pytest.mark.slow)
FAMILY = [gmm_kernel, egmm_kernel, ngmm_kernel, intersection_kernel]
powers = st.sampled_from([0.1, 0.5, 1.0, 1.0, 2.0, 7.0, 80.0])


def tolerance(dtype, gamma=1.0):
    return (2e-6 if dtype == np.float32 else 1e-12) * max(1.0, gamma)


def expected_ngmm(X, Y):
    X, Y = (z.astype(np.float64) for z in (X, Y))
    X, Y = (z / np.maximum(np.abs(z).max(axis=1, keepdims=True), 1e-300) for z in (X, Y))
    X, Y = (z / np.maximum(np.abs(z).sum(axis=1, keepdims=True), 1e-300) for z in (X, Y))
    return reference.gmm(X, Y)


@given(matrix_pairs(), powers)
def test_gmm_is_the_formula(pair, p):
    X, Y = pair
    K = gmm_kernel(X, Y, p=p)
    assert K.dtype == X.dtype
    np.testing.assert_allclose(K, reference.gmm(X, Y, p), rtol=0, atol=tolerance(X.dtype))


@given(matrix_pairs(), st.sampled_from([0.01, 1.0, 30.0, 1000.0]), powers)
def test_egmm_is_the_formula(pair, gamma, p):
    X, Y = pair
    expected = np.exp(-gamma * (1 - reference.gmm(X, Y, p)))
    expected[~X.any(axis=1)] = 0
    expected[:, ~Y.any(axis=1)] = 0
    K = egmm_kernel(X, Y, gamma=gamma, p=p)
    np.testing.assert_allclose(K, expected, rtol=0, atol=tolerance(X.dtype, gamma))


@given(matrix_pairs())
def test_ngmm_and_intersection_are_the_formula(pair):
    X, Y = pair
    expected = expected_ngmm(X, Y)
    np.testing.assert_allclose(ngmm_kernel(X, Y), expected, rtol=0, atol=tolerance(X.dtype))
    gint = intersection_kernel(X, Y)
    np.testing.assert_allclose(gint, 2 * expected / (1 + expected), rtol=0, atol=tolerance(X.dtype))


@pytest.mark.parametrize("kernel", FAMILY)
@given(X=matrices())
def test_symmetry_range_identity_and_zero_rows(kernel, X):
    K = kernel(X)
    np.testing.assert_array_equal(K, K.T)
    assert (K >= 0).all()
    assert (K <= 1).all()
    nonempty = X.any(axis=1)
    np.testing.assert_array_equal(np.diag(K), nonempty.astype(X.dtype))  # exactly 1, or exactly 0
    assert not K[~nonempty].any()
    np.testing.assert_array_equal(K, kernel(X, X.copy()))


@given(X=matrices(), exponent=st.integers(-20, 20), p=powers)
def test_gmm_does_not_change_with_scale(X, exponent, p):
    """Neither with a power of two nor with -1, up to rounding."""
    K = gmm_kernel(X, p=p)
    atol = tolerance(X.dtype)
    np.testing.assert_allclose(gmm_kernel(np.ldexp(X, exponent), p=p), K, rtol=0, atol=atol)
    np.testing.assert_allclose(gmm_kernel(-X, p=p), K, rtol=0, atol=atol)


@given(X=matrices(), seed=st.integers(0, 1000))
def test_ngmm_does_not_change_with_the_scale_of_each_row(X, seed):
    scales = 2.0 ** np.random.default_rng(seed).integers(-9, 9, (len(X), 1))
    np.testing.assert_allclose(
        ngmm_kernel(X), ngmm_kernel((X * scales).astype(X.dtype), X), rtol=0, atol=tolerance(X.dtype)
    )


@pytest.mark.parametrize("kernel", FAMILY)
@given(pair=matrix_pairs(), seed=st.integers(0, 1000))
def test_the_order_of_features_does_not_matter(kernel, pair, seed):
    X, Y = pair
    order = np.random.default_rng(seed).permutation(X.shape[1])
    np.testing.assert_allclose(kernel(X[:, order], Y[:, order]), kernel(X, Y), rtol=0, atol=2 * tolerance(X.dtype))


@pytest.mark.parametrize("kernel", FAMILY)
@given(pair=matrix_pairs())
def test_sparse_equals_dense_in_any_mix(kernel, pair):
    X, Y = pair
    K = kernel(X, Y)
    for left, right in [
        (sparse.csr_array(X), Y),
        (X, sparse.csc_matrix(Y)),
        (sparse.coo_array(X), sparse.csr_matrix(Y)),
    ]:
        found = kernel(left, right)
        assert isinstance(found, np.ndarray)
        assert found.dtype == X.dtype
        np.testing.assert_allclose(found, K, rtol=0, atol=2 * tolerance(X.dtype))
    K_sparse = kernel(sparse.csr_array(X))
    np.testing.assert_array_equal(K_sparse, K_sparse.T)
    np.testing.assert_allclose(K_sparse, kernel(X), rtol=0, atol=2 * tolerance(X.dtype))


@given(X=matrices(kinds=("normal", "sparse", "integers")), p=powers)
def test_sign_split_equals_the_l1_form(X, p):
    """GMM of signed rows is the min-max similarity of split rows."""
    np.testing.assert_allclose(gmm_kernel(sign_split(X), p=p), gmm_kernel(X, p=p), rtol=0, atol=tolerance(X.dtype))


@pytest.mark.parametrize("kernel", FAMILY)
def test_positive_semi_definite(kernel):
    rng = np.random.default_rng(0)
    for _ in range(20):
        X = rng.normal(size=(60, rng.integers(1, 12)))
        X[::7] = 0
        assert np.linalg.eigvalsh(kernel(X)).min() > -1e-12


def test_binary_rows_have_their_jaccard_similarity():
    rng = np.random.default_rng(0)
    X = rng.random((20, 50)) < 0.3
    both = (X[:, None] & X[None]).sum(axis=2)
    either = (X[:, None] | X[None]).sum(axis=2)
    np.testing.assert_allclose(gmm_kernel(X), both / either, rtol=1e-15)


class TestAccuracy:
    """float32 within 2e-6 of exact, for many features and for values of every size."""

    KINDS = ("uniform", "normal", "constant", "two values", "one large", "wide")

    @pytest.mark.parametrize(
        ("d", "kind", "form"),
        [
            *((784, kind, form) for kind in KINDS for form in ("dense", "sparse")),
            *((100_000, kind, "dense") for kind in ("constant", "two values")),  # where most rounding adds up
            (100_000, "one large", "sparse"),
            *(slow(100_000, kind, "dense") for kind in KINDS if kind not in ("constant", "two values")),
            *(slow(100_000, kind, "sparse") for kind in KINDS if kind != "one large"),
        ],
    )
    def test_float32(self, kind, d, form):
        rng = np.random.default_rng(d)
        if kind == "uniform":
            X = rng.random((6, d))
        elif kind == "normal":
            X = rng.normal(size=(6, d))
        elif kind == "constant":  # every addition of a binade rounds the same way
            X = np.repeat(rng.uniform(0.1, 0.2, (6, 1)), d, axis=1)
        elif kind == "two values":  # found by search: every rounding goes against the kernel
            pair = np.tile(np.array([1.000626564025879, 1.0006684064865112]), d // 2)
            X = np.stack([pair, pair.reshape(-1, 2)[:, ::-1].ravel()] * 3)
        elif kind == "one large":
            X = rng.random((6, d)) * 1e-4
            X[:, 0] = 1 + rng.random(6)
        else:
            X = np.sign(rng.normal(size=(6, d))) * 10 ** rng.uniform(-30, 30, (6, d))
        X = X.astype(np.float32)
        expected = reference.gmm(X, X)
        rows = sparse.csr_array(X) if form == "sparse" else X
        np.testing.assert_allclose(gmm_kernel(rows), expected, rtol=0, atol=2e-6)
        np.testing.assert_allclose(gmm_kernel(rows, rows.copy()), expected, rtol=0, atol=2e-6)
        for p in (0.1, 80.0):
            np.testing.assert_allclose(gmm_kernel(rows, p=p), reference.gmm(X, X, p), rtol=0, atol=2e-6)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("p", [0.01, 1.0, 80.0])
    @pytest.mark.parametrize("form", ["dense", "sparse"])
    def test_rows_of_any_magnitude_side_by_side(self, dtype, p, form):
        """From the smallest denormal to the largest float: neither overflow nor a row that vanishes."""
        info = np.finfo(dtype)
        rng = np.random.default_rng(0)
        shapes = rng.uniform(0.5, 1, (7, 40)) * rng.choice([-1, 1], (7, 40))
        sizes = [
            float(info.smallest_subnormal) * 1000,
            float(info.tiny),
            1e-20,
            1.0,
            1e3,
            1e20,
            float(info.max) / 2,
        ]
        X = np.concatenate([shapes[:3] * size for size in sizes]).astype(dtype)
        K = gmm_kernel(sparse.csr_array(X) if form == "sparse" else X, p=p)
        assert np.isfinite(K).all()
        # Each pair scaled by its own largest entry, exactly, in the reference.
        np.testing.assert_allclose(K, reference.gmm(X, X, p), rtol=0, atol=2e-6 if dtype == np.float32 else 1e-11)

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("kernel", FAMILY)
    def test_the_largest_floats(self, dtype, kernel):
        top = np.finfo(dtype).max
        X = np.array([[top, top, -top], [top, -top, -top], [0, 0, top]], dtype)
        found = kernel(X)
        assert np.isfinite(found).all()
        np.testing.assert_allclose(found, kernel((X / top).astype(dtype)), rtol=0, atol=1e-6)

    def test_a_center_at_the_other_end_of_the_floats(self):
        top = np.finfo(np.float64).max
        X = np.array([[top, 0.0], [top / 2, 0.0], [-top, 1.0]])
        center = np.array([-top, 0.0])
        np.testing.assert_allclose(gmm_kernel(X, center=center), gmm_kernel(X / top / 2, center=center / top / 2))

    def test_gamma_beyond_float32(self):
        X = np.eye(2, dtype=np.float32)
        np.testing.assert_array_equal(egmm_kernel(X, gamma=1e300), X)


class TestCenter:
    X = np.random.default_rng(0).normal(3, 1, (20, 5))

    def test_a_vector_is_subtracted(self):
        center = np.arange(5.0)
        np.testing.assert_allclose(gmm_kernel(self.X, center=center), gmm_kernel(self.X - center), rtol=1e-13)

    @pytest.mark.parametrize(("name", "function"), [("mean", np.mean), ("median", np.median)])
    def test_names_are_learned_from_y(self, name, function):
        X, Y = self.X[:8], self.X[8:]
        np.testing.assert_allclose(
            gmm_kernel(X, Y, center=name), gmm_kernel(X, Y, center=function(Y, axis=0)), rtol=1e-13
        )
        np.testing.assert_allclose(gmm_kernel(X, center=name), gmm_kernel(X - function(X, axis=0)), rtol=1e-12)

    def test_float32_is_centered_in_float64(self):
        X = (self.X + 1e6).astype(np.float32)
        center = X.astype(np.float64).mean(axis=0)
        exact = reference.gmm(X.astype(np.float64) - center, X.astype(np.float64) - center)
        K = gmm_kernel(X, center="mean")
        assert K.dtype == np.float32
        np.testing.assert_allclose(K, exact, rtol=0, atol=2e-6)

    def test_a_row_at_the_center_is_empty(self):
        K = gmm_kernel(self.X, center=self.X[3])
        assert not K[3].any()
        assert not K[:, 3].any()


def test_out_is_written_and_returned():
    X = np.random.default_rng(0).normal(size=(10, 4)).astype(np.float32)
    frame = np.zeros((10, 30), np.float32)
    for kernel in FAMILY:
        found = kernel(X, out=frame[:, 10:20])
        assert np.shares_memory(found, frame)
        np.testing.assert_array_equal(frame[:, 10:20], kernel(X))
    assert not frame[:, :10].any()
    assert not frame[:, 20:].any()


@pytest.mark.parametrize("kernel", FAMILY)
def test_two_rows_give_a_float(kernel):
    x, y = np.array([1.0, -2.0, 0.5]), np.array([2.0, -1.0, -0.5])
    found = kernel(x, y)
    assert type(found) is float
    assert found == kernel(x[None], y[None])[0, 0]
    assert kernel(list(x), list(y)) == found


@pytest.mark.parametrize("threads", [None, 1, 2, 3, -1])
def test_threads_do_not_matter(threads):
    X = np.random.default_rng(0).normal(size=(300, 70)).astype(np.float32)
    np.testing.assert_array_equal(gmm_kernel(X, n_jobs=threads), gmm_kernel(X))
    np.testing.assert_array_equal(gmm_kernel(X[:5], X, n_jobs=threads), gmm_kernel(X[:5], X))
