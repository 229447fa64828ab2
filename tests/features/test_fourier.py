"""RFF and NRFF: scikit-learn's conventions, estimates with the mean and variance of the paper, features that depend
on nothing but the row and the seed.

Statistical tests use fixed seeds and bounds at 4.5 standard deviations: right features with random seeds would fail
each about once in 150,000 runs.
"""

import pickle
import sys
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import RBFSampler
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.memory import extra_memory
from helpers.strategies import matrices
from kernelsketch import NRFF, RFF, backends, rbf_kernel
from kernelsketch.features import _fourier
from kernelsketch.reference import fourier as reference

BAND = 4.5
both = pytest.mark.parametrize("kind", [RFF, NRFF])
slow = partial(pytest.param, marks=pytest.mark.slow)
# Correlation, gamma and how many seeds; the slow ones look again with more seeds.
PAIRS = [(0.9, 1.0, 2000), *((*pair, 400) for pair in ((0.5, 0.3), (0.2, 2.0), (-0.7, 5.0), (0.999, 1.0)))]
PAIRS += [slow(*pair, 2000) for pair in ((0.5, 0.3), (0.2, 2.0), (-0.7, 5.0), (0.999, 1.0))]


@parametrize_with_checks([RFF(n_components=8), NRFF(n_components=8, gamma=0.5)])
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


@both
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("gamma", [0.1, 1.0, 50.0])
def test_the_formula(kind, dtype, gamma):
    """By NumPy in float64 from the weights and phases."""
    X = np.random.default_rng(0).normal(size=(20, 30)).astype(dtype)
    weights = reference.normals(5, np.arange(30), np.arange(100)).astype(np.float64)
    phases = 2 * np.pi * reference.phases(5, np.arange(100)).astype(np.float64)
    expected = np.sqrt(2 / 100) * np.cos(np.sqrt(gamma) * normalize(X.astype(np.float64)) @ weights + phases)
    if kind is NRFF:
        expected = normalize(expected)
    found = kind(100, gamma=gamma, random_state=5).fit_transform(X)
    np.testing.assert_allclose(found, expected, atol=2e-6 if dtype == np.float32 else 3e-15)


class TestEstimates:
    """Inner products of features of two rows, over many seeds, against Theorems 2 and 3."""

    def estimates(self, kind, k, rho, gamma, seeds):
        rng = np.random.default_rng(0)
        u, v = np.linalg.qr(rng.normal(size=(7, 2)))[0].T
        X = np.stack([u, rho * u + np.sqrt(1 - rho**2) * v]) * [[3.0], [0.1]]
        found = []
        for seed in range(seeds):
            z = kind(k, gamma=gamma, random_state=seed).fit(X).transform(X)
            found.append(z[0] @ z[1])
        return np.array(found), np.exp(-gamma * (1 - rho))

    @pytest.mark.parametrize(("rho", "gamma", "seeds"), PAIRS)
    def test_rff(self, rho, gamma, seeds):
        k = 64
        found, kernel = self.estimates(RFF, k, rho, gamma, seeds)
        variance = (0.5 + 0.5 * (1 - kernel**2) ** 2) / k
        assert abs(found.mean() - kernel) < BAND * np.sqrt(variance / seeds)
        # 1.1: the mean of 64 products is not quite normal
        assert abs(found.var() / variance - 1) < 1.1 * BAND * np.sqrt(2 / seeds)

    @pytest.mark.parametrize(("rho", "gamma", "seeds"), PAIRS)
    def test_nrff(self, rho, gamma, seeds):
        k = 1024
        found, kernel = self.estimates(NRFF, k, rho, gamma, seeds)
        plain = 0.5 + 0.5 * (1 - kernel**2) ** 2
        variance = (plain - 0.25 * kernel**2 * (3 - kernel**4)) / k
        bias = 1 / k  # of order 1 / k, as the variance is right up to such terms
        assert abs(found.mean() - kernel) < BAND * np.sqrt(variance / seeds) + bias
        assert abs(found.var() / variance - 1) < 1.1 * BAND * np.sqrt(2 / seeds) + 10 / k

    def test_normalization_helps_most_where_rows_are_alike(self):
        for rho, least in ((0.99, 20), (0.9, 2.5)):
            plain, _ = self.estimates(RFF, 256, rho, 1.0, seeds=300)
            normalized, _ = self.estimates(NRFF, 256, rho, 1.0, seeds=300)
            assert plain.var() / normalized.var() > least

    @both
    def test_a_whole_matrix(self, kind):
        """Errors of single pairs, in their standard errors: no more than the largest of 4950 normal numbers."""
        X = np.random.default_rng(1).normal(size=(100, 25)) + 0.5
        Z = kind(4096, gamma=1.5).fit_transform(X)
        kernel = rbf_kernel(X, gamma=1.5)
        pairs = np.triu_indices(100, 1)
        error = (Z @ Z.T - kernel)[pairs] * np.sqrt(4096)
        variance = 0.5 + 0.5 * (1 - kernel[pairs] ** 2) ** 2
        if kind is NRFF:
            variance -= 0.25 * kernel[pairs] ** 2 * (3 - kernel[pairs] ** 4)
        assert np.abs(error / np.sqrt(variance)).max() < 6

    def test_scikit_learn_at_half_gamma_estimates_the_same(self):
        X = np.random.default_rng(2).normal(size=(40, 10))
        kernel = rbf_kernel(X, gamma=3.0)
        theirs = RBFSampler(gamma=1.5, n_components=20_000, random_state=0).fit_transform(normalize(X))
        ours = RFF(20_000, gamma=3.0).fit_transform(X)
        for Z in (theirs, ours):
            assert np.abs(Z @ Z.T - kernel).max() < 6 / np.sqrt(20_000)


class TestFeaturesDependOnNothingElse:
    X = np.random.default_rng(0).normal(size=(150, 40)).astype(np.float32) * (
        np.random.default_rng(1).random((150, 40)) < 0.5
    )

    def test_a_prefix_of_the_hashes(self):
        long, short = RFF(1024).fit_transform(self.X), RFF(64).fit_transform(self.X)
        np.testing.assert_allclose(long[:, :64] * np.sqrt(1024 / 64), short, rtol=3e-7)
        normalized = NRFF(64).fit_transform(self.X)
        np.testing.assert_allclose(normalized, normalize(long[:, :64]), atol=3e-7)

    @both
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_rows_storage_and_threads(self, kind, dtype):
        X = self.X.astype(dtype)
        model = kind(100, gamma=2.0).fit(X)
        expected = model.transform(X)
        assert expected.dtype == dtype
        order = np.random.default_rng(2).permutation(150)
        large = sparse.csr_matrix(X)
        large.indices, large.indptr = large.indices.astype(np.int64), large.indptr.astype(np.int64)
        read_only = X.copy()
        read_only.flags.writeable = False
        for rows, part in [
            (X[order], order),
            (X[7:9], slice(7, 9)),
            (np.asfortranarray(X), slice(None)),
            (np.repeat(X, 2, axis=1)[:, ::2], slice(None)),
            (read_only, slice(None)),
            (sparse.csr_matrix(X), slice(None)),
            (sparse.csc_matrix(X), slice(None)),
            (large, slice(None)),
        ]:
            for threads in (1, 3):
                found = model.set_params(n_jobs=threads).transform(rows)
                np.testing.assert_array_equal(found, expected[part])

    @settings(max_examples=25)
    @given(
        X=matrices(max_rows=6, max_features=40),
        k=st.sampled_from([1, 33, 64, 100]),
        gamma=st.sampled_from([1e-3, 1.0, 1e4]),
        seed=st.integers(0, 2**64 - 1),
        kind=st.sampled_from([RFF, NRFF]),
    )
    def test_every_instruction_set(self, X, k, gamma, seed, kind):
        model = kind(k, gamma=gamma, random_state=seed).fit(X)
        with backends.use_backend("reference"):
            expected = model.transform(X)
        for name in backends.available():
            with backends.use_backend(name):
                for rows in (X, sparse.csr_matrix(X)):
                    np.testing.assert_array_equal(model.transform(rows), expected)

    @both
    def test_many_features_and_hashes(self, kind):
        """Features in several passes over the registers, squares in several runs."""
        for d, k in ((2100, 70), (40, 2100)):
            X = np.random.default_rng(3).normal(size=(7, d)).astype(np.float32)
            model = kind(k).fit(X)
            found = model.transform(X)
            np.testing.assert_array_equal(model.transform(sparse.csr_matrix(X)), found)
            with backends.use_backend("reference"):
                np.testing.assert_array_equal(model.transform(X[:1]), found[:1])

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_weights_in_blocks(self, dtype, monkeypatch):
        """More features than a block has, more hashes than a block has, rows longer than a piece."""
        rng = np.random.default_rng(4)
        dense = rng.normal(size=(8, 140_000)).astype(dtype) * (rng.random((8, 140_000)) < 0.9)
        dense[3] = 0
        dense[4, 70_000:] = 0
        rows = sparse.csr_matrix(dense)
        model = NRFF(70, n_jobs=2).fit(dense)
        expected = model.transform(dense)
        np.testing.assert_array_equal(model.transform(rows), expected)
        monkeypatch.setattr(_fourier, "TABLE_BYTES", 0)
        np.testing.assert_array_equal(model.transform(dense), expected)
        np.testing.assert_array_equal(model.transform(rows), expected)
        few = model.fit(dense[:, :300]).set_params(n_components=1000)
        in_blocks = few.transform(dense[:, :300])
        monkeypatch.undo()
        np.testing.assert_array_equal(in_blocks, few.transform(dense[:, :300]))

    @both
    def test_rows_in_batches(self, kind, monkeypatch):
        model = kind(30).fit(self.X)
        expected = model.transform(self.X)
        monkeypatch.setattr(_fourier, "MOST_ROWS", 7)
        monkeypatch.setattr(_fourier, "COPY_BYTES", 1000)
        for rows in (self.X, sparse.csr_matrix(self.X), np.asfortranarray(self.X)):
            np.testing.assert_array_equal(model.transform(rows), expected)

    def test_distant_features(self):
        """Ids up to 2^62: features are numbered by sorting, a few rows at a time."""
        rng = np.random.default_rng(5)
        near = sparse.csr_matrix(rng.normal(size=(9, 60)) * (rng.random((9, 60)) < 0.5))
        ids = np.sort(rng.integers(0, 2**62, 60))
        far = sparse.csr_matrix((near.data, ids[near.indices], near.indptr), shape=(9, 2**62))
        model = NRFF(50).fit(far)
        found = model.transform(far)
        with backends.use_backend("reference"):
            np.testing.assert_array_equal(model.transform(far), found)
        np.testing.assert_array_equal(np.vstack([model.transform(far[i]) for i in range(9)]), found)

    def test_columns_of_zeros_change_nothing(self):
        wide = np.pad(self.X, ((0, 0), (0, 100)))
        np.testing.assert_array_equal(NRFF(64).fit_transform(wide), NRFF(64).fit_transform(self.X))

    @both
    def test_only_the_direction_of_a_row_counts(self, kind):
        Z = kind(64).fit(self.X).transform(self.X * np.float32(2.0**70))
        np.testing.assert_array_equal(Z, kind(64).fit_transform(self.X))

    @both
    @pytest.mark.parametrize(
        ("dtype", "sizes"),
        [(np.float32, [1e38, 1e-38, 1e-42]), (np.float64, [1e38, 1e300, 1e308, 1e-300, 1e-310])],
    )
    def test_values_of_every_size(self, kind, dtype, sizes):
        x = np.array([[1.0, -0.5, 0.25, 0.0, 1.0]])
        model = kind(200).fit(x)
        expected = model.transform(x)
        for size in sizes:
            rows = (x * size).astype(dtype)
            tolerance = 2e-6 if dtype == np.float32 else 1e-12
            if size < np.finfo(dtype).tiny:  # few digits are left of such values
                tolerance = 1e-3
            np.testing.assert_allclose(model.transform(rows), expected, atol=tolerance)
            np.testing.assert_array_equal(model.transform(sparse.csr_matrix(rows)), model.transform(rows))

    @both
    def test_extreme_ranges_within_a_row(self, kind):
        x = np.array([[1e300, 1e-300, -1e300, 5e-324]])
        Z = kind(100).fit(x).transform(x)
        np.testing.assert_array_equal(Z, kind(100).fit(x).transform(x * [[1, 0, 1, 0]]))


class TestTransform:
    X, y = load_digits(return_X_y=True)

    @both
    def test_rows_of_zeros(self, kind):
        X = self.X[:10].copy()
        X[[2, 7]] = 0
        explicit = sparse.csr_matrix(X)
        explicit.data[explicit.indptr[4] : explicit.indptr[5]] = 0  # stored zeros
        for rows, empty in ((X, [2, 7]), (explicit, [2, 4, 7]), (np.zeros((3, 64)), [0, 1, 2])):
            for matrix in (rows, sparse.csr_matrix(rows)):
                Z = kind(70).fit(self.X).transform(matrix)
                np.testing.assert_array_equal(np.flatnonzero((Z == 0).all(axis=1)), empty)
                assert np.isfinite(Z).all()

    @pytest.mark.parametrize("k", [1, 3, 64, 1000])
    def test_nrff_rows_have_unit_norm(self, k):
        for X, tolerance in ((self.X, 1e-14), (self.X.astype(np.float32), 3e-7)):
            Z = NRFF(k, gamma=7.0).fit_transform(X[:200])
            np.testing.assert_allclose(np.linalg.norm(Z.astype(np.float64), axis=1), 1, atol=tolerance)

    @both
    def test_integers_frames_and_names(self, kind):
        pandas = pytest.importorskip("pandas")
        expected = kind(5).fit_transform(self.X[:20])
        assert expected.dtype == np.float64
        np.testing.assert_array_equal(kind(5).fit_transform(self.X[:20].astype(np.int32)), expected)
        frame = pandas.DataFrame(self.X[:20], columns=[f"pixel {i}" for i in range(64)])
        model = kind(5).set_output(transform="pandas").fit(frame)
        found = model.transform(frame)
        prefix = kind.__name__.lower()
        assert list(found.columns) == list(model.get_feature_names_out()) == [f"{prefix}{i}" for i in range(5)]
        np.testing.assert_array_equal(found.to_numpy(), expected)
        assert list(model.feature_names_in_) == list(frame.columns)

    def test_linear_models_come_near_the_kernel(self):
        model = make_pipeline(NRFF(1024, gamma=10.0), LinearSVC()).fit(self.X[:1000], self.y[:1000])
        assert model.score(self.X[1000:], self.y[1000:]) > 0.94

    def test_in_grid_search_clone_and_pickle(self):
        model = make_pipeline(NRFF(64), LinearSVC())
        search = GridSearchCV(model, {"nrff__gamma": [1.0, 10.0]}, cv=3).fit(self.X[:300], self.y[:300])
        restored = pickle.loads(pickle.dumps(search.best_estimator_))
        np.testing.assert_array_equal(restored.predict(self.X), search.predict(self.X))
        assert clone(model).get_params()["nrff__n_components"] == 64
        assert len(pickle.dumps(NRFF(4096).fit(self.X))) < 2000  # nothing is stored but the seed

    def test_random_states(self):
        assert RFF(random_state=2**64 - 1).fit(self.X).seed_ == 2**64 - 1
        assert RFF(random_state=None).fit(self.X).seed_ != RFF(random_state=None).fit(self.X).seed_
        one, two = (RFF(random_state=np.random.RandomState(0)).fit(self.X).seed_ for _ in range(2))
        assert one == two
        assert not np.array_equal(RFF(random_state=1).fit_transform(self.X), RFF().fit_transform(self.X))

    def test_narrow_integers_do_not_overflow(self):
        np.testing.assert_array_equal(
            NRFF(np.uint8(200)).fit_transform(self.X[:5]), NRFF(200).fit_transform(self.X[:5])
        )


@both
class TestRefusals:
    @pytest.mark.parametrize("gamma", [0, 0.0, -1.0, np.nan, np.inf, 1e9, "scale", None])
    def test_gamma(self, kind, gamma):
        with pytest.raises(ValueError, match=f"'gamma' parameter of {kind.__name__} .*Got {gamma!r} instead"):
            kind(gamma=gamma).fit(np.ones((3, 2)))

    @pytest.mark.parametrize(
        ("params", "name"),
        [({"n_components": 0}, "n_components"), ({"random_state": -1}, "random_state"), ({"n_jobs": 0.5}, "n_jobs")],
    )
    def test_other_parameters(self, kind, params, name):
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            kind(**params).fit(np.ones((3, 2)))

    def test_parameters_set_after_fit(self, kind):
        with pytest.raises(ValueError, match="'gamma' parameter"):
            kind(8).fit(np.ones((2, 2))).set_params(gamma=-2.0).transform(np.ones((2, 2)))

    def test_rows(self, kind):
        model = kind(8).fit(np.ones((3, 2)))
        with pytest.raises(ValueError, match="NaN"):
            model.transform([[np.nan, 1.0]])
        with pytest.raises(ValueError, match="infinity"):
            model.transform(sparse.csr_matrix([[np.inf, 1.0]]))
        with pytest.raises(ValueError, match="2 features"):
            model.transform(np.ones((3, 4)))


DENSE = "rng.random((n, 784), dtype=np.float32)"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
@pytest.mark.parametrize(
    ("make", "k", "weights"),
    [
        (DENSE, 1024, 784 * 1024),
        slow(DENSE + ".astype(np.float64)", 4096, 784 * 4096),
        slow(f"np.asfortranarray({DENSE})", 256, 784 * 256),
        ("csr(100_000, 100)", 256, 100_000 * 256),
        slow("csr(2**40, 100)", 64, 500_000 * 64),
        slow("csr(2_000_000, 100)", 1024, 0),  # 2 GB for the features in use: in blocks
        slow("rng.random((20, 300_000), dtype=np.float32)", 1024, 0),  # 1.2 GB
    ],
)
def test_memory_is_the_output_the_weights_and_64_mib(make, k, weights):
    model = f"NRFF({k}, n_jobs=2).fit(X)"
    extra = extra_memory(make, f"{model}.transform(X[:2, :])", f"{model}.transform(X)", "from kernelsketch import NRFF")
    assert extra < weights * 4 / 2**20 + 64


@both
def test_the_output_starts_on_a_cache_line(kind):
    for n in (1, 7, 11, 100, 1000):
        Z = kind(48).fit_transform(np.ones((n, 3)))
        assert Z.ctypes.data % 64 == 0 or Z.nbytes < 4096  # where it is not worth the time
        assert Z.flags.c_contiguous
        assert Z.flags.writeable
