"""Unions of hashes: groups of columns that are hashed separately."""

import numpy as np
import pytest
from scipy import sparse

from helpers.damage import set_field, set_tensor
from kernelsketch import GCWS, PackedCodes, backends, gmm_kernel
from kernelsketch.backends import CsrRows, DenseRows
from kernelsketch.exceptions import InputError
from kernelsketch.formats import open_rows, write_rows
from kernelsketch.hashing import Hasher, _hasher
from kernelsketch.storage._container import read_container, write_container

VIEWS = (3, 5, 4)
STARTS = (0, 3, 8)
COUNTS = (6, 5, 5)  # of 16 hashes
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 12)) * (rng.random((40, 12)) < 0.6)
X[:, 1] = 1.5  # some value in the first view, so that rows are zero there only where it says so
X[3] = 0
X[4, :3] = X[7, :3] = 0
X[5, 3:8] = X[9, 3:8] = 0
X[6, 3:] = 0
HASHES = [
    {},
    {"bits": 3, "t_bits": 2},
    {"bits": 16, "t_bits": 8},
    {"bits": 5, "gamma": 1.5},
    {"p": 0.5},
    {"center": np.linspace(-1, 1, 12)},
]


def seed_of_view(seed, number):
    """The seed as the docstring of Hasher specifies it, in Python's integers."""

    def mix(z):
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    return seed if number == 0 else mix((mix(seed) + number * 0x9E3779B97F4A7C15) % 2**64)


def parts_of(given, seed=7):
    """Columns, hashes and plain hasher of each view."""
    first = 0
    for number, (start, width, count) in enumerate(zip(STARTS, VIEWS, COUNTS, strict=True)):
        columns = slice(start, start + width)
        own = {**given, "center": given["center"][columns]} if "center" in given else given
        yield columns, slice(first, first + count), Hasher(count, seed_of_view(seed, number), **own)
        first += count


def zero_in(columns, given):
    return (X[:, columns] == given.get("center", np.zeros(12))[columns]).all(axis=1)


@pytest.mark.parametrize("given", HASHES, ids=str)
@pytest.mark.parametrize("seed", [7, 2**64 - 1])
def test_each_view_is_the_plain_hash_of_its_columns(given, seed):
    found = Hasher(16, seed, **given, views=VIEWS).codes(DenseRows(X))
    for columns, hashes, plain in parts_of(given, seed):
        filled = ~zero_in(columns, given)
        expected = plain.codes(DenseRows(np.ascontiguousarray(X[:, columns])))
        np.testing.assert_array_equal(found.unpack()[filled, hashes], expected.unpack()[filled])
        assert 20 < filled.sum() <= 40
    np.testing.assert_array_equal(found.empty, zero_in(slice(0, 12), given))
    assert found.empty.sum() == ("center" not in given)


@pytest.mark.parametrize("given", HASHES[:-1], ids=str)
def test_samples(given):
    """Features are numbered by their columns, rows that are zero in view v have feature 12 + v."""
    slots, t = Hasher(16, 7, **given, views=VIEWS).samples(DenseRows(X))
    for number, (columns, hashes, plain) in enumerate(parts_of(given)):
        zero = zero_in(columns, given)
        expected, times = plain.samples(DenseRows(np.ascontiguousarray(X[:, columns])))
        np.testing.assert_array_equal(t[~zero, hashes], times[~zero])
        shift = 0 if "gamma" in given else 2 * columns.start
        np.testing.assert_array_equal(slots[~zero, hashes], expected[~zero] + shift)
        if "gamma" not in given:
            assert set(slots[zero, hashes].ravel()) <= {-1, 2 * (12 + number)}
    assert (slots[3] == -1).all()
    assert not (slots[np.arange(40) != 3] == -1).any()


@pytest.mark.parametrize("given", HASHES, ids=str)
def test_rows_that_are_zero_in_a_view(given):
    """They have the codes of one feature of value 1 that no row has, and match each other there."""
    center = given.get("center", np.zeros(12))
    rows = X.copy()
    for row, columns in ((4, slice(0, 3)), (7, slice(0, 3)), (5, slice(3, 8)), (6, slice(3, 12)), (3, slice(0, 12))):
        rows[row, columns] = center[columns]
    codes = Hasher(16, 7, **given, views=VIEWS).codes(DenseRows(rows))
    assert codes.empty.tolist() == [row == 3 for row in range(40)]
    assert not codes.packed[3].any()
    whole = codes.unpack()
    for number, (columns, hashes, plain) in enumerate(parts_of(given)):
        zero = np.flatnonzero((rows[:, columns] == center[columns]).all(axis=1) & ~codes.empty)
        assert len(zero) > 0
        alone = Hasher(plain.n_components, plain.seed, **{n: v for n, v in given.items() if n != "center"})
        wide = sparse.csr_array(([1.0], ([0], [VIEWS[number]])), shape=(1, VIEWS[number] + 1))
        expected = alone.codes(CsrRows.of(wide)).unpack()
        assert (whole[zero, hashes] == expected).all()
        if codes.bits == 8:  # different features have different codes
            others = np.setdiff1d(np.arange(40), [*zero, 3])
            assert not (whole[others, hashes] == expected).any()


@pytest.mark.parametrize("given", HASHES[:-1], ids=str)
def test_dense_and_sparse_rows_have_equal_codes(given):
    hasher = Hasher(16, 7, **given, views=VIEWS)
    stored = sparse.csr_array((np.ones(40 * 12), np.tile(np.arange(12), 40), np.arange(0, 40 * 12 + 1, 12)))
    stored.data[:] = X.ravel()  # zeros are stored
    expected, samples = hasher.codes(DenseRows(X)), hasher.samples(DenseRows(X))
    for matrix in (sparse.csr_array(X), stored):
        for index in (np.int32, np.int64):
            rows = CsrRows.of(matrix)
            rows = CsrRows(rows.indptr, rows.indices.astype(index), rows.data, 12)
            assert hasher.codes(rows) == expected
            for mine, theirs in zip(hasher.samples(rows), samples, strict=True):
                np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("given", HASHES, ids=str)
def test_codes_are_equal_on_every_back_end(given):
    hasher = Hasher(16, 7, **given, views=VIEWS)
    with backends.use_backend("reference"):
        expected, samples = hasher.codes(DenseRows(X)), hasher.samples(DenseRows(X))
    for name in backends.available():
        with backends.use_backend(name):
            assert hasher.codes(DenseRows(X), threads=2) == expected
            assert hasher.codes(DenseRows(np.asfortranarray(X))) == expected
            for mine, theirs in zip(hasher.samples(DenseRows(X)), samples, strict=True):
                np.testing.assert_array_equal(mine, theirs)


@pytest.mark.parametrize("given", [{}, {"gamma": 2.0}, {"bits": 3}], ids=str)
def test_blocks_of_rows_do_not_matter(monkeypatch, given):
    hasher = Hasher(16, 7, **given, views=VIEWS)
    for rows in (DenseRows(X), CsrRows.of(sparse.csr_array(X))):
        expected, samples = hasher.codes(rows), hasher.samples(rows)
        with monkeypatch.context() as patch:
            patch.setattr(_hasher, "STEP_BYTES", 1000)
            assert 40 * hasher._scratch_bytes(rows) > 3000  # so that there are several blocks
            assert hasher.codes(rows) == expected
            for mine, theirs in zip(hasher.samples(rows), samples, strict=True):
                np.testing.assert_array_equal(mine, theirs)


def test_one_view_is_the_plain_hash():
    rows = DenseRows(X)
    np.testing.assert_array_equal(Hasher(16, 7, views=(12,)).codes(rows).packed, Hasher(16, 7).codes(rows).packed)
    for views in (1, [12], np.array([12])):
        assert GCWS(16, views=views).fit(X).codes(X) == GCWS(16).fit(X).codes(X)


def test_equal_columns_are_hashed_independently():
    codes = GCWS(200, views=2).fit(np.hstack([X, X])).codes(np.hstack([X, X])).unpack()
    assert (codes[:, :100] != codes[:, 100:]).mean() > 0.5


def test_the_kernel_is_the_mean_of_the_kernels_of_the_views():
    """20 independent pairs at 5.5 standard errors: about 8 false alarms in 10 million, by the normal approximation."""
    n, k, views, rng = 20, 20_000, (3, 5, 20), np.random.default_rng(1)
    counts = np.array([6667, 6667, 6666])
    U = rng.normal(size=(n, 28))
    V = U * np.exp(rng.normal(size=(n, 28)) * np.repeat([0.2, 1.0, 3.0], views))
    rows = np.vstack([U, V])
    codes = GCWS(k, bits=16, t_bits=8, views=list(views)).fit(rows).codes(rows)
    found = codes[:n].estimate_kernel(codes[n:])
    K = np.zeros((3, n, n))
    for v, part in enumerate(np.split(np.arange(28), np.cumsum(views)[:-1])):
        K[v] = gmm_kernel(U[:, part], V[:, part])
    mean = np.einsum("v,vij->ij", counts / k, K)
    error = np.sqrt(np.einsum("v,vij->ij", counts / k**2, K * (1 - K)))
    z = np.diag((found - mean) / error)
    assert np.abs(z).max() < 5.5
    assert np.diag(K[0]).mean() > np.diag(K[2]).mean() + 0.3  # so that a wrong mean of them would be seen


class TestColumns:
    def test_dense(self):
        assert np.shares_memory(DenseRows(X).columns(slice(3, 8)).values, X)
        np.testing.assert_array_equal(DenseRows(X).columns(slice(3, 8)).values, X[:, 3:8])

    @pytest.mark.parametrize("columns", [slice(0, 3), slice(3, 8), slice(8, 12), slice(0, 12)])
    def test_csr(self, columns):
        rows = CsrRows.of(sparse.csr_array(X))
        for part in (slice(0, 40), slice(4, 9), slice(3, 4)):
            found = rows.part(part).columns(columns)
            np.testing.assert_array_equal(found.to_dense().values, X[part, columns])
            assert found.indptr.dtype == np.int64
            assert found.indptr[0] == 0
            assert found.indices.dtype == rows.indices.dtype


class TestHasher:
    def test_what_two_hashes_differ_in(self):
        union = Hasher(16, 3, views=(3, 3))
        assert union.difference(Hasher(16, 3, views=(3, 3))) is None
        assert union.difference(Hasher(16, 3)) == "views (3, 3) against ()"
        assert union.difference(Hasher(16, 3, views=(2, 4))) == "views (3, 3) against (2, 4)"

    def test_views_that_cannot_be(self):
        with pytest.raises(InputError, match=r"views=\[3, 0\] has a group without columns"):
            Hasher(16, 3, views=(3, 0))
        with pytest.raises(InputError, match="n_components=2 is less than the number of views, 3"):
            Hasher(2, 3, views=VIEWS)
        with pytest.raises(InputError, match=r"at most 2\*\*62 are supported"):
            Hasher(2, 3, views=(2**61, 2**61))

    def test_rows_that_do_not_fit(self):
        with pytest.raises(InputError, match=r"X has 11 features, but views=\[3, 5, 4\] needs 12"):
            Hasher(16, 3, views=VIEWS).codes(DenseRows(X[:, :11]))
        with pytest.raises(InputError, match="center must have one value per feature"):
            Hasher(16, 3, center=np.ones(11), views=VIEWS).codes(DenseRows(X))

    def test_an_index_has_no_views(self):
        with pytest.raises(InputError, match=r"views=\[3, 5, 4\] cannot be used in an index"):
            Hasher(16, 3, views=VIEWS).fingerprints(DenseRows(X))

    def test_wide_sparse_rows(self):
        """Nothing takes time or memory in the number of columns."""
        width = 2**61 - 1
        matrix = sparse.csr_array(([1.0, 2.0], [5, 2**60], [0, 1, 2]), shape=(2, 2**60 + 1))
        rows = CsrRows(matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64), matrix.data, 2 * width)
        slots, _ = Hasher(2, 0, views=(2**60, 2 * width - 2**60)).samples(rows)
        assert slots.tolist() == [[10, 2 * (2 * width + 1)], [2 * (2 * width), 2**61]]


class TestPackedCodes:
    codes = GCWS(16, bits=3, views=list(VIEWS)).fit(X).codes(X)

    def test_leading_hashes_are_refused(self):
        assert self.codes[2:9, :16] == self.codes[2:9]
        with pytest.raises(InputError, match=r"the leading 8 of 16 hashes cannot be taken.*n_components=8"):
            self.codes[:, :8]

    def test_other_hashes_are_refused(self):
        for other, message in [
            (GCWS(16, bits=3), r"views \(3, 5, 4\) against \(\)"),
            (GCWS(16, bits=3, views=3), r"against \(4, 4, 4\)"),
            (GCWS(8, bits=3, views=list(VIEWS)), "n_components 16 against 8"),
        ]:
            with pytest.raises(InputError, match=f"different hashes .*{message}"):
                self.codes.match_counts(other.fit(X).codes(X))
        with pytest.raises(InputError, match="different hashes"):
            GCWS(16, bits=3).fit(X).codes(X).match_counts(self.codes)

    def test_the_number_of_features_must_fit(self):
        with pytest.raises(InputError, match=r"n_features=0 is not the sum of the views \[3, 5, 4\]"):
            PackedCodes(self.codes.packed, self.codes.empty, self.codes.hasher)

    @pytest.mark.parametrize("mmap", [False, True])
    def test_files(self, tmp_path, mmap):
        self.codes.save(tmp_path / "codes.safetensors")
        back = PackedCodes.load(tmp_path / "codes.safetensors", mmap=mmap)
        assert back == self.codes
        assert back.hasher.views == VIEWS

    def test_files_in_blocks(self, tmp_path):
        path = tmp_path / "codes.safetensors"
        assert write_rows(path, [(self.codes[:7], None), (self.codes[7:], None)]) == 40
        assert PackedCodes.concatenate([part.X for part in open_rows(path)]) == self.codes

    @pytest.mark.parametrize(
        "change",
        [
            set_tensor("views", lambda views: views - [0, 1, 0]),
            set_tensor("views", np.array([7, -1, 6])),
            set_tensor("views", lambda views: views * 0),
            set_tensor("views", lambda views: views[:0]),
            set_tensor("views", np.ones(12, np.int64)),  # more than hashes
            set_tensor("views", lambda views: views.astype(np.float64)),
            set_tensor("views", lambda views: views[:, None]),
            set_field("hash.n_features", 13),
            set_field("hash.views", [3, 5, 4]),
        ],
    )
    def test_damaged_files(self, tmp_path, change):
        path = tmp_path / "codes.safetensors"
        GCWS(8, views=list(VIEWS)).fit(X).codes(X).save(path)
        with path.open("rb") as file:
            header, tensors = read_container(file, "codes")
        del header["sha256"], header["header_sha256"]
        write_container(path, header, tensors)
        assert PackedCodes.load(path).hasher.views == VIEWS
        change(header, tensors)
        write_container(path, header, tensors)
        with pytest.raises(InputError):
            PackedCodes.load(path)
