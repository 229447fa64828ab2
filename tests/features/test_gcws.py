"""GCWS: scikit-learn's conventions, collision rates that equal the kernel, and codes that depend on nothing else.

Statistical tests use fixed seeds and bounds at 4.5 standard deviations: a right hash with random seeds would fail
each about once in 150,000 runs.
"""

import pickle
import sys
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from helpers.memory import extra_memory
from helpers.strategies import matrices
from kernelsketch import GCWS, backends
from kernelsketch.exceptions import InputError
from kernelsketch.hashing._hasher import poisson_counts
from kernelsketch.reference.gmm import gmm

BAND = 4.5
slow = partial(pytest.param, marks=pytest.mark.slow)


@parametrize_with_checks(
    [
        GCWS(n_components=8, bits=4),
        GCWS(n_components=4, bits=2, gamma=1.0, center="mean", sparse_output=False),
    ]
)
def test_scikit_learn_conventions(estimator, check):
    check(estimator)


def pairs(kind, n, rng):
    """Pairs of rows with a kernel away from 0 and 1."""
    for _ in range(n):
        if kind == "2":
            u = rng.uniform(0.5, 2, 2) * rng.choice([-1, 1], 2)
            v = u * rng.uniform(0.5, 1.5, 2)
        elif kind == "100000":  # few of many features
            u, v = np.zeros((2, 100_000))
            at = rng.choice(100_000, 300, replace=False)
            u[at[:200]] = rng.normal(size=200)
            v[at[100:]] = rng.normal(size=200)
            v[at[100:200]] = u[at[100:200]] * rng.uniform(0.5, 1.5, 100)
        else:
            d = int(kind)
            u = rng.normal(size=d)
            v = np.where(rng.random(d) < 0.7, u * rng.uniform(0.5, 1.5, d), rng.normal(size=d))
        yield u, v


def z_scores(kind, n, k, p=1.0, gamma=None, seed=0):
    rng = np.random.default_rng(seed)
    scores = []
    for number, (u, v) in enumerate(pairs(kind, n, rng)):
        X = np.stack([u, v])
        rows = sparse.csr_matrix(X) if kind == "100000" else X
        i, t = GCWS(k, p=p, gamma=gamma, random_state=1000 * seed + number).fit(rows).signatures(rows)
        used = X.any(axis=0)
        g = gmm(X[:1, used], X[1:, used], p)[0, 0]
        if gamma is None:
            mean, variance = g, g * (1 - g) / k
        else:
            powers = g ** poisson_counts(1000 * seed + number, gamma, k)
            # Given the counts, which are no part of the chance here; they miss the kernel by far less than an error.
            mean, variance = powers.mean(), (powers * (1 - powers)).sum() / k**2
            assert abs(mean - np.exp(-gamma * (1 - g))) < 5 / k
        if 1e-3 < g < 1 - 1e-3:
            scores.append((((i[0] == i[1]) & (t[0] == t[1])).mean() - mean) / np.sqrt(variance))
    return np.array(scores)


def check_scores(scores):
    n = len(scores)
    assert n >= 50
    assert abs(scores.mean()) < BAND / np.sqrt(n)
    assert abs(scores.std() - 1) < BAND / np.sqrt(2 * n)


class TestCollisionRateIsTheKernel:
    @pytest.mark.parametrize("kind", ["2", "16", "784", "100000"])
    @pytest.mark.parametrize("p", [0.1, 1.0, 7.0])
    def test_gmm(self, kind, p):
        check_scores(z_scores(kind, 200, 4096, p=p))

    @pytest.mark.parametrize("kind", ["2", "16", "784", "100000"])
    @pytest.mark.parametrize("p", [0.01, 80.0])
    def test_extreme_powers(self, kind, p):
        scores = z_scores(kind, 100, 4096, p=p)
        # Rates near 0 or 1 are not normal: only the mean is held, and in the binomial's own units.
        assert abs(scores.mean()) < BAND / np.sqrt(len(scores))

    @pytest.mark.parametrize("gamma", [0.5, 2.0, 5.0])
    @pytest.mark.parametrize("kind", ["2", "16", "784"])
    def test_egmm(self, kind, gamma):
        check_scores(z_scores(kind, 100, 1024, gamma=gamma))

    def test_strided_and_distant_features(self):
        rng = np.random.default_rng(0)
        for ids in (np.arange(40) * 65536, 2**62 - 1 - np.arange(40)[::-1]):
            scores = []
            for number in range(200):
                u = rng.normal(size=40)
                v = u * rng.uniform(0.3, 1.7, 40)
                rows = sparse.csr_matrix((np.concatenate([u, v]), np.tile(ids, 2), [0, 40, 80]), shape=(2, 2**62))
                i, t = GCWS(1024, random_state=number).fit(rows).signatures(rows)
                g = gmm(u[None], v[None])[0, 0]
                scores.append((((i[0] == i[1]) & (t[0] == t[1])).mean() - g) / np.sqrt(g * (1 - g) / 1024))
            check_scores(np.array(scores))

    def test_hashes_are_independent_of_each_other(self):
        """Over many seeds the number of matches varies as a binomial, so hashes do not move together."""
        rng = np.random.default_rng(1)
        u = rng.normal(size=30)
        X = np.stack([u, u * rng.uniform(0.3, 1.7, 30)])
        g = gmm(X[:1], X[1:])[0, 0]
        matches = []
        for seed in range(400):
            i, t = GCWS(256, random_state=seed).fit(X).signatures(X)
            matches.append(((i[0] == i[1]) & (t[0] == t[1])).sum())
        ratio = np.var(matches) / (256 * g * (1 - g))
        assert abs(ratio - 1) < BAND * np.sqrt(2 / 400)

    def test_each_feature_is_drawn_in_proportion_to_its_weight(self):
        weights = np.array([[1.0, 2.0, 3.0, 4.0]])
        i, _ = GCWS(40_000).fit(weights).signatures(weights)
        share = np.bincount(i[0] // 2, minlength=4) / 40_000
        expected = weights[0] / 10
        assert (np.abs(share - expected) < BAND * np.sqrt(expected * (1 - expected) / 40_000)).all()


class TestCodesDependOnNothingElse:
    X = np.random.default_rng(0).normal(size=(150, 40)).astype(np.float32) * (
        np.random.default_rng(1).random((150, 40)) < 0.5
    )

    def hashed(self, X=None, **params):
        model = GCWS(**{"n_components": 100, **params}).fit(self.X)
        return model.signatures(self.X if X is None else X)

    @pytest.mark.parametrize("gamma", [None, 1.5])
    def test_a_prefix_of_the_hashes(self, gamma):
        for long, short in zip(self.hashed(gamma=gamma), self.hashed(gamma=gamma, n_components=37), strict=True):
            np.testing.assert_array_equal(long[:, :37], short)

    @pytest.mark.parametrize("gamma", [None, 1.5])
    def test_rows_storage_dtype_and_threads(self, gamma):
        expected = self.hashed(gamma=gamma)
        order = np.random.default_rng(2).permutation(150)
        wide = sparse.csr_matrix(self.X.astype(np.float64))
        for X, rows in [
            (self.X[order], order),
            (self.X[7:9], slice(7, 9)),
            (self.X.astype(np.float64), slice(None)),
            (np.asfortranarray(self.X), slice(None)),
            (sparse.csr_matrix(self.X), slice(None)),
            (wide, slice(None)),
        ]:
            for threads in (1, 3):
                for found, all_rows in zip(self.hashed(X, gamma=gamma, n_jobs=threads), expected, strict=True):
                    np.testing.assert_array_equal(found, all_rows[rows])

    def test_strategies(self):
        """A table walked by rows, and generated parameters by columns, counted or sorted: by the vocabulary."""
        rng = np.random.default_rng(3)
        dense = rng.normal(size=(70, 300)) * (rng.random((70, 300)) < 0.3)
        rows = sparse.csr_matrix(dense)
        far = sparse.csr_matrix((rows.data, rows.indices.astype(np.int64) * 2**30, rows.indptr), shape=(70, 2**40))
        for k in (16, 200):  # few hashes walk rows, many walk columns
            i, t = GCWS(k).fit(rows).signatures(rows)
            with backends.use_backend("reference"):
                j, s = GCWS(k).fit(rows[:5]).signatures(rows[:5])
            np.testing.assert_array_equal(i[:5], j)
            np.testing.assert_array_equal(t[:5], s)
            model = GCWS(k).fit(far)
            i_far, t_far = model.signatures(far)
            with backends.use_backend("reference"):
                j, s = model.signatures(far[:5])
            np.testing.assert_array_equal(i_far[:5], j)
            np.testing.assert_array_equal(t_far[:5], s)

    @pytest.mark.parametrize("name", [name for name in backends.available() if name != "reference"])
    @pytest.mark.parametrize("kind", ["flat", "signed", "light and heavy", "sparse", "centered"])
    def test_bounds(self, name, kind):
        """Many long rows are hashed by bounds, which leave most values out; few rows get the same codes."""
        rng = np.random.default_rng(len(kind))
        X = rng.uniform(0.5, 2, (600, 200))
        if kind != "flat":
            X *= rng.choice([-1, 1], X.shape)
        if kind == "light and heavy":
            X *= rng.lognormal(sigma=3, size=(600, 1)) * np.where(rng.random((600, 1)) < 0.1, 1e-30, 1)
        if kind == "sparse":
            X[rng.random(X.shape) < 0.2] = 0
        X[5], X[17, 1:] = 0, 0
        rows = sparse.csr_matrix(X) if kind == "sparse" else X
        params = {"p": 2.5} if kind == "signed" else {"center": "mean"} if kind == "centered" else {}
        with backends.use_backend(name):
            for t_bits, k in ((0, 130), (3, 1100)) if name == "avx512" else ((0, 130), (3, 128)):
                model = GCWS(k, t_bits=t_bits, **params).fit(rows)
                parts = [rows[start : start + 100] for start in range(0, 600, 100)]
                i, t = (np.concatenate(part) for part in zip(*map(model.signatures, parts), strict=True))
                codes = model.codes(rows)
                assert all(model.codes(part) == codes[100 * n : 100 * n + 100] for n, part in enumerate(parts))
                for threads in (1, 2):
                    found = model.set_params(n_jobs=threads).signatures(rows)
                    np.testing.assert_array_equal(found[0], i)
                    np.testing.assert_array_equal(found[1], t)
        with backends.use_backend("reference"):
            np.testing.assert_array_equal(model.signatures(rows[15:20])[0], i[15:20])

    def test_a_table_made_in_parts(self):
        """More hashes than the table of 1000 features has room for: its parts agree with generated parameters."""
        X = np.random.default_rng(4).random((8, 1000), dtype=np.float32)
        model = GCWS(2000, t_bits=2).fit(X)
        codes = model.codes(X)
        for row in (0, 7):
            assert model.codes(X[row : row + 1]) == codes[row]  # a single row has no table
        with backends.use_backend("reference"):
            assert model.codes(X[:1]) == codes[0]

    @given(
        X=matrices(max_rows=6, max_features=40), p=st.sampled_from([0.01, 1.0, 80.0]), seed=st.integers(0, 2**64 - 1)
    )
    def test_every_instruction_set(self, X, p, seed):
        model = GCWS(33, p=p, random_state=seed, t_bits=3).fit(X)
        with backends.use_backend("reference"):
            expected = (*model.signatures(X), model.codes(X))
        for name in backends.available():
            with backends.use_backend(name):
                for rows in (X, sparse.csr_matrix(X)):
                    i, t = model.signatures(rows)
                    np.testing.assert_array_equal(i, expected[0])
                    np.testing.assert_array_equal(t, expected[1])
                    assert model.codes(rows) == expected[2]

    def test_center(self):
        center = self.X.mean(axis=0, dtype=np.float64)
        model = GCWS(50, center="mean").fit(self.X)
        np.testing.assert_allclose(model.center_, center)
        shifted = self.X.astype(np.float64) - model.center_
        i, t = model.signatures(self.X)
        j, s = GCWS(50).fit(shifted).signatures(shifted)
        np.testing.assert_array_equal(i, j)
        np.testing.assert_array_equal(t, s)

    def test_values_beyond_24_bits_are_the_same(self):
        a, b = np.array([[1.0, 3.0]]), np.array([[1.0 + 2.0**-26, 3.0]])
        model = GCWS(256).fit(a)
        np.testing.assert_array_equal(model.signatures(a)[0], model.signatures(b)[0])

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_values_of_every_size(self, dtype):
        """Scaling by a power of two leaves the distribution, and denormals and the largest floats hash right."""
        info = np.finfo(dtype)
        X = np.array([[info.smallest_subnormal, info.tiny, 1.0, info.max, -info.max]], dtype)
        i, t = GCWS(2000).fit(X).signatures(X)
        with backends.use_backend("reference"):
            j, s = GCWS(2000).fit(X).signatures(X)
        np.testing.assert_array_equal(i, j)
        np.testing.assert_array_equal(t, s)
        assert set(i[0]) == {6, 9}  # the two largest, alike
        share = (i[0] == 6).mean()
        assert abs(share - 0.5) < BAND * 0.5 / np.sqrt(2000)


DENSE = "rng.random((n, 784), dtype=np.float32)"


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/status")
@pytest.mark.parametrize(
    ("make", "params"),
    [
        (DENSE, "1024"),
        ("csr(100_000, 100)", "256, bits=3, t_bits=2"),
        *(slow(DENSE, params) for params in ("256, bits=3, t_bits=2", "64, gamma=2.0")),
        *(slow("csr(100_000, 100)", params) for params in ("1024", "64, gamma=2.0")),
        slow("csr(2_000_000, 100)", "1024"),
        slow("csr(2**40, 100)", "1024"),
        slow("csr(100_000, 3000)", "16"),  # the input alone is 180 MB
        slow(DENSE + "[:300]", "16384"),  # a table of parameters would be 200 MB
        slow(DENSE + "[:300]", "64, gamma=300.0"),
    ],
)
def test_memory_is_the_output_and_128_mib(make, params):
    imports = "from kernelsketch import GCWS"
    model = f"GCWS({params}, n_jobs=2).fit(X)"
    assert extra_memory(make, f"{model}.codes(X[:40])", f"{model}.codes(X)", imports) < 128


class TestTransform:
    X, y = load_digits(return_X_y=True)

    def test_one_hot_of_the_codes(self):
        model = GCWS(20, bits=3, t_bits=1).fit(self.X)
        features = model.transform(self.X[:30])
        assert features.shape == (30, 20 * 16)
        assert features.indices.dtype == np.int32
        codes = model.codes(self.X[:30]).unpack()
        dense = np.zeros((30, 20, 16))
        np.put_along_axis(dense, codes[:, :, None].astype(int), 1 / np.sqrt(20), axis=2)
        np.testing.assert_allclose(features.toarray(), dense.reshape(30, -1))
        np.testing.assert_allclose(model.set_params(sparse_output=False).transform(self.X[:30]), dense.reshape(30, -1))

    def test_inner_products_are_the_share_of_equal_codes(self):
        model = GCWS(300, bits=8).fit(self.X)
        features, codes = model.transform(self.X[:40]), model.codes(self.X[:40])
        np.testing.assert_allclose((features @ features.T).toarray(), codes.estimate_kernel(), atol=1e-12)

    def test_dtype_names_and_normalize(self):
        model = GCWS(4, bits=1, normalize=False).fit(self.X.astype(np.float32))
        assert model.transform(self.X.astype(np.float32)).dtype == np.float32
        assert set(model.transform(self.X).data) == {1.0}
        assert model.get_feature_names_out()[-1] == "gcws7"

    def test_wide_output_has_64_bit_columns(self):
        features = GCWS(2**16, bits=16).fit(self.X[:2]).transform(self.X[:2])
        assert features.indices.dtype == np.int64
        assert features.shape[1] == 2**32

    def test_rows_of_zeros(self):
        X = self.X[:10].copy()
        X[[2, 7]] = 0
        model = GCWS(16).fit(X)
        features = model.transform(X)
        np.testing.assert_array_equal(np.diff(features.indptr), [0 if i in (2, 7) else 16 for i in range(10)])
        assert (model.signatures(X)[0][[2, 7]] == -1).all()
        np.testing.assert_array_equal(model.codes(X).empty, [i in (2, 7) for i in range(10)])
        joined = GCWS(16, gamma=1.0).fit(X)
        assert (joined.signatures(X)[0][[2, 7]] == -1).all()
        assert joined.transform(X).indptr[-1] == 8 * 16

    @pytest.mark.parametrize("linear", [LinearSVC(), SGDClassifier(random_state=0)])
    def test_linear_models_reach_kernel_accuracy(self, linear):
        model = make_pipeline(GCWS(1024), linear).fit(self.X[:1000], self.y[:1000])
        assert model.score(self.X[1000:], self.y[1000:]) > 0.94

    def test_in_grid_search_clone_and_pickle(self):
        model = make_pipeline(GCWS(64), LinearSVC())
        grid = {"gcws__p": [0.5, 1.0], "gcws__bits": [4, 8]}
        search = GridSearchCV(model, grid, cv=3).fit(self.X[:300], self.y[:300])
        restored = pickle.loads(pickle.dumps(search.best_estimator_))
        np.testing.assert_array_equal(restored.predict(self.X), search.predict(self.X))
        assert clone(model).get_params()["gcws__n_components"] == 64


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"n_components": 0}, "n_components"),
        ({"bits": 0}, "bits"),
        ({"bits": 17}, "bits"),
        ({"t_bits": 9}, "t_bits"),
        ({"p": 0.0}, "p"),
        ({"p": 1e9}, "p must be at most"),
        ({"gamma": -1.0}, "gamma"),
        ({"gamma": 1.0, "t_bits": 1}, "t_bits=1 cannot be used with gamma=1.0"),
        ({"center": [1.0]}, "center must have one value per feature"),
    ],
)
def test_bad_parameters(params, message):
    with pytest.raises(ValueError, match=message):
        GCWS(**params).fit(np.ones((3, 2)))


def test_bad_rows():
    model = GCWS(8).fit(np.ones((3, 2)))
    with pytest.raises(ValueError, match="NaN"):
        model.transform([[np.nan, 1.0]])
    with pytest.raises(ValueError, match="2 features"):
        model.codes(np.ones((3, 4)))
    with pytest.raises(InputError, match="center cannot be used with sparse data"):
        GCWS(8, center="mean").fit(sparse.csr_matrix(np.ones((3, 2))))


def test_narrow_integers_do_not_overflow(tmp_path):
    X = np.random.default_rng(0).normal(size=(5, 6))
    for k, bits, t_bits in [
        (np.int32(10_000), 16, 4),
        (np.uint8(200), np.int8(8), 0),
        (np.int16(256), np.uint8(12), np.uint8(4)),
    ]:
        model = GCWS(k, bits=bits, t_bits=t_bits).fit(X)
        expected = GCWS(int(k), bits=int(bits), t_bits=int(t_bits)).fit(X)
        codes = model.codes(X)
        assert codes == expected.codes(X)
        codes.save(tmp_path / "codes.safetensors")
        features = model.transform(X)
        assert features.shape == (5, int(k) * 2 ** (int(bits) + int(t_bits)))
        assert features.indices.min() >= 0


def test_what_passes_the_largest_float_is_refused():
    doubled = sparse.csr_matrix((np.array([1.5e308, 1.5e308, 3.0]), np.array([1, 1, 2]), [0, 3]), shape=(1, 6))
    with pytest.raises(InputError, match="X contains infinity"):
        GCWS(8).fit(doubled).codes(doubled)
    X = np.array([[1.7e308, 1.0], [1e308, 3.0]])
    with pytest.raises(InputError, match="X minus center can exceed the largest float"):
        GCWS(8, center=[-1.7e308, 0.0]).fit(X).codes(X)


def test_feature_numbers_beyond_the_range_are_refused():
    X = sparse.csr_matrix((np.ones(1), np.array([2**62]), [0, 1]), shape=(1, 2**62 + 5))
    with pytest.raises(InputError, match=r"at most 2\*\*62 are supported"):
        GCWS(8).fit(X).codes(X)


def test_parameters_set_after_fit_are_checked():
    model = GCWS(8, gamma=2.0).fit(np.ones((2, 2)))
    with pytest.raises(InputError, match="t_bits=3 cannot be used with gamma"):
        model.set_params(t_bits=3).codes(np.ones((2, 2)))
    with pytest.raises(ValueError, match="bits"):
        model.set_params(t_bits=0, bits=40).codes(np.ones((2, 2)))


def test_random_states():
    X = np.ones((2, 3))
    assert GCWS(random_state=2**64 - 1).fit(X).seed_ == 2**64 - 1
    assert GCWS(random_state=None).fit(X).seed_ != GCWS(random_state=None).fit(X).seed_
    assert (
        GCWS(random_state=np.random.RandomState(0)).fit(X).seed_
        == GCWS(random_state=np.random.RandomState(0)).fit(X).seed_
    )


def test_data_frames_of_sparse_features_are_refused_at_once():
    X = np.random.default_rng(0).random((3, 4))
    with pytest.raises(
        InputError, match=r"set_output\(transform='pandas'\): the features are 2048 columns of a sparse"
    ):
        GCWS(8).set_output(transform="pandas")
    dense = GCWS(8, bits=2, sparse_output=False).set_output(transform="pandas").fit_transform(X)
    np.testing.assert_array_equal(dense, GCWS(8, bits=2).fit_transform(X).toarray())
    assert GCWS(8).set_output(transform="default").fit_transform(X).shape == (3, 2048)
