"""Bad input gets an error that names the parameter, what came and what to do; odd but good input works."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from kernelsketch import _frames, _validation, egmm_kernel, gmm_kernel, rbf_kernel
from kernelsketch.exceptions import InputError, InputTypeError
from kernelsketch.kernels import KERNELS

GOOD = np.random.default_rng(0).normal(size=(6, 4))
EXPECTED = gmm_kernel(GOOD)


def with_value(value):
    X = GOOD.copy()
    X[4, 2] = value
    return X


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (with_value(np.nan), r"contains NaN \(row 4, column 2\): impute it"),
        (with_value(-np.inf), r"contains infinity \(row 4, column 2\): remove or clip"),
        (sparse.csr_array(with_value(np.nan)), r"contains NaN \(row 4, column 2\)"),
        (with_value(np.inf).astype(np.float32), "contains infinity"),
        (GOOD.astype(object), r"holds objects \(dtype object\): real numbers are needed"),
        (GOOD.astype(str), "holds strings"),
        (GOOD.astype("S8"), "holds byte strings"),
        (GOOD.astype(complex), r"is complex \(complex128\)"),
        (GOOD.astype("M8[s]"), "holds dates"),
        (sparse.csr_array(GOOD.astype(complex)), "is complex"),
        (GOOD[0], r"must be 2-D, rows by features, got 1-D of shape \(4,\): use [XY]\.reshape\(1, -1\)"),
        (GOOD[None], "got 3-D of shape"),
        (np.float64(3), "got 0-D"),
        (np.empty((0, 4)), r"is empty: it has shape \(0, 4\)"),
        (np.empty((4, 0)), "is empty"),
        (sparse.csr_array((0, 4)), "is empty"),
        (np.ma.masked_greater(GOOD, 1), "masked values"),
        (pd.DataFrame({"a": [1.0], "b": ["x"]}), r"\['b'\] holds"),
        (pd.Series([1.0, 2.0, 3.0, 4.0]), "must be 2-D"),
        ([[1.0, 2.0], [3.0]], "cannot be read as an array"),
        (np.full((2, 4), np.longdouble("1e400")), "contains infinity"),
        (pd.DataFrame({c: pd.array([1, None], dtype="Int64") for c in "abcd"}), "contains NaN"),
    ],
)
def test_bad_rows(bad, message):
    for row in KERNELS.values():
        with pytest.raises(InputError, match="X.*" + message):
            row.function(bad)
        with pytest.raises(InputError, match="Y.*" + message):
            row.function(GOOD, bad)


@pytest.mark.parametrize("name", KERNELS)
def test_feature_mismatch(name):
    with pytest.raises(InputError, match="X has 4 features but Y has 3"):
        KERNELS[name].function(GOOD, GOOD[:, :3])
    with pytest.raises(InputError, match="X has 4 features but Y has 3"):
        KERNELS[name].function(GOOD[0], GOOD[0, :3])


def test_one_row_beside_a_matrix():
    with pytest.raises(InputError, match="Y must be 2-D"):
        gmm_kernel(GOOD, GOOD[0])
    with pytest.raises(InputError, match="X must be 2-D"):
        gmm_kernel(GOOD[0], GOOD)


@pytest.mark.parametrize("name", ["p", "gamma"])
@pytest.mark.parametrize(
    ("value", "error"),
    [(0, InputError), (-1.5, InputError), (np.nan, InputError), (np.inf, InputError), ("2", InputTypeError),
     (None, InputTypeError), (True, InputTypeError), ([1.0], InputTypeError)],
)  # fmt: skip
def test_bad_numbers(name, value, error):
    with pytest.raises(error, match=f"{name} must be a .*number above 0, got"):
        egmm_kernel(GOOD, **{name: value})
    if name == "gamma":
        with pytest.raises(error, match="gamma must be"):
            rbf_kernel(GOOD, gamma=value)


@pytest.mark.parametrize(
    ("center", "message"),
    [
        (np.zeros(3), r"center must have one value per feature, shape \(4,\), got shape \(3,\)"),
        (np.zeros((1, 4)), "got shape"),
        (1.0, "got shape"),
        ("mode", "center must be None, 'mean', 'median' or a vector, got 'mode'"),
        ([0, 0, 0, np.nan], "center contains NaN"),
    ],
)
def test_bad_center(center, message):
    with pytest.raises(InputError, match=message):
        gmm_kernel(GOOD, center=center)


def test_center_of_strings():
    with pytest.raises(InputTypeError, match="center must hold real numbers"):
        gmm_kernel(GOOD, center=["a"] * 4)


def test_center_of_bad_data_names_the_data():
    with pytest.raises(InputError, match=r"X contains NaN \(row 4, column 2\)"):
        gmm_kernel(with_value(np.nan), center="mean")


@pytest.mark.parametrize(
    "sides", [(sparse.csr_array(GOOD), None), (GOOD, sparse.csr_array(GOOD)), (sparse.csr_array(GOOD), GOOD)]
)
def test_center_with_sparse(sides):
    with pytest.raises(InputError, match="center cannot be used with sparse data: subtracting it would fill"):
        gmm_kernel(*sides, center=np.zeros(4))


@pytest.mark.parametrize("n", [3, 6, 11])
@pytest.mark.parametrize("center", ["mean", "median"])
def test_center_of_the_largest_floats(center, n):
    X = np.full((n, 2), np.finfo(float).max)
    assert not gmm_kernel(X, center=center).any()


def test_masked_rows():
    row = np.ma.array([1.0, 2.0, 100.0], mask=[0, 0, 1])
    with pytest.raises(InputError, match="X is a masked array"):
        gmm_kernel(row, np.ones(3))
    with pytest.raises(InputError, match="center is a masked array"):
        gmm_kernel(np.ones((2, 3)), center=row)


def test_powers_beyond_reason():
    with pytest.raises(InputError, match="p must be at most 1e"):
        gmm_kernel(GOOD, p=1e18)
    with pytest.raises(InputError, match="p must be a finite number above 0"):
        gmm_kernel(GOOD, p=10**400)


def test_center_of_two_rows():
    with pytest.raises(InputError, match="cannot be learned from two 1-D rows"):
        gmm_kernel(GOOD[0], GOOD[1], center="mean")
    assert gmm_kernel(GOOD[0], GOOD[1], center=np.zeros(4)) == EXPECTED[0, 1]


def test_out_of_two_rows():
    with pytest.raises(InputError, match="out cannot be used with two 1-D rows"):
        gmm_kernel(GOOD[0], GOOD[1], out=np.empty((1, 1)))


@pytest.mark.parametrize(
    ("out", "message"),
    [
        (np.empty((6, 5)), r"out must have shape \(6, 6\) and dtype float64, got shape \(6, 5\)"),
        (np.empty((6, 6), np.float32), "got shape .* and dtype float32"),
        (np.empty((6, 6), order="F"), "out must be in C order"),
        (np.empty((6, 12))[:, ::2], "out must be in C order"),
        (np.broadcast_to(np.zeros(6), (6, 6)), "out is read-only"),
        (np.lib.stride_tricks.as_strided(np.zeros(40), (6, 6), (8, 8)), "out must be in C order"),
    ],
)
def test_bad_out(out, message):
    with pytest.raises(InputError, match=message):
        gmm_kernel(GOOD, out=out)


def test_out_that_is_the_input():
    X = np.random.default_rng(0).normal(size=(6, 6))
    before = X.copy()
    with pytest.raises(InputError, match="out shares memory with the input"):
        gmm_kernel(X, out=X)
    with pytest.raises(InputError, match="out shares memory with the input"):
        gmm_kernel(np.ones((2, 6)), X, out=X.reshape(-1)[:12].reshape(2, 6))
    np.testing.assert_array_equal(X, before)


def test_out_of_another_kind():
    with pytest.raises(InputTypeError, match="out must be a NumPy array, got list"):
        gmm_kernel(GOOD, out=[])


@pytest.mark.parametrize(("n_jobs", "error"), [(0, InputError), ("2", InputTypeError), (1.5, InputTypeError)])
def test_bad_n_jobs(n_jobs, error):
    with pytest.raises(error, match="n_jobs must"):
        gmm_kernel(GOOD, n_jobs=n_jobs)


class TestSparse:
    """The same values, however they are stored."""

    def test_unsorted_duplicate_and_zero_entries(self):
        canonical = sparse.csr_array(np.array([[1.0, 0, 2, 0], [0, -3, 0, 1]]))
        odd = sparse.csr_matrix(
            (np.array([0.5, 2, 0.5, 0, 1, -1, -2]), np.array([0, 2, 0, 3, 3, 1, 1]), np.array([0, 4, 7])),
            shape=(2, 4),
        )
        before = [part.copy() for part in (odd.data, odd.indices, odd.indptr)]
        np.testing.assert_array_equal(gmm_kernel(odd), gmm_kernel(canonical))
        np.testing.assert_allclose(rbf_kernel(odd), rbf_kernel(canonical))
        for part, old in zip((odd.data, odd.indices, odd.indptr), before, strict=True):
            np.testing.assert_array_equal(part, old)

    def test_flags_that_lie(self):
        """A matrix changed in place after SciPy looked at it."""
        X = sparse.csr_array(np.array([[1.0, 2.0, 3.0], [3.0, 0.0, 1.0]]))
        assert X.has_canonical_format
        X.indices[:3] = [2, 1, 0]
        np.testing.assert_array_equal(gmm_kernel(X), gmm_kernel(np.array([[3.0, 2.0, 1.0], [3.0, 0.0, 1.0]])))

    def test_duplicates_that_overflow(self):
        X = sparse.csr_array((np.array([1e308, 1e308]), np.array([0, 0]), np.array([0, 2])), shape=(1, 1))
        with np.errstate(over="ignore"), pytest.raises(InputError, match="X contains infinity"):
            gmm_kernel(X)

    def test_spare_room_at_the_end(self):
        X = sparse.csr_array(GOOD)
        X.data, X.indices = np.append(X.data, np.nan), np.append(X.indices, 0).astype(X.indices.dtype)
        np.testing.assert_allclose(gmm_kernel(X), EXPECTED)

    @pytest.mark.parametrize(
        ("indices", "indptr"),
        [
            ([0, 9], [0, 1, 2]),
            ([0, -1], [0, 1, 2]),
            ([0, 1], [0, 3, 2]),
            ([0, 1], [0, 1, 5]),
            ([0, 1], [1, 1, 2]),
        ],
    )
    def test_broken(self, indices, indptr):
        X = sparse.csr_array(np.eye(2))
        X.indices, X.indptr = np.array(indices, np.int32), np.array(indptr, np.int32)
        with pytest.raises(InputError, match="X is a broken CSR matrix"):
            gmm_kernel(X)

    @pytest.mark.parametrize(
        "make",
        [
            lambda: sparse.csc_matrix(GOOD),
            lambda: sparse.bsr_array(GOOD, blocksize=(2, 2)),
        ],
    )
    def test_broken_in_other_formats(self, make):
        """SciPy's conversion would read elsewhere, or crash."""
        X = make()
        X.indices = np.full_like(X.indices, 10**8)
        with pytest.raises(InputError, match="X is a broken"):
            gmm_kernel(X)
        X = make()
        X.indptr = X.indptr[::-1].copy()
        with pytest.raises(InputError, match="X is a broken"):
            gmm_kernel(X)

    def test_broken_coordinates_and_diagonals(self):
        X = sparse.coo_array(GOOD)
        X.coords = (np.full_like(X.row, -1), X.col)
        with pytest.raises(InputError, match="X is a broken COO"):
            gmm_kernel(X)
        X = sparse.dia_array(GOOD)
        X.offsets = X.offsets + 10**6
        with pytest.raises(InputError, match="X is a broken DIA"):
            gmm_kernel(X)

    def test_float_indices(self):
        X = sparse.csr_array(GOOD)
        X.indices = X.indices.astype(float)
        with pytest.raises(InputError, match="X is a broken CSR"):
            gmm_kernel(X)

    def test_64_bit_indices(self):
        X = sparse.csr_array(GOOD)
        wide = sparse.csr_array((X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), shape=X.shape)
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        np.testing.assert_array_equal(gmm_kernel(wide, X), gmm_kernel(X, X))

    @pytest.mark.parametrize(
        "form", [sparse.csc_array, sparse.coo_matrix, sparse.lil_array, sparse.dok_array, sparse.bsr_array]
    )
    def test_other_formats(self, form):
        np.testing.assert_allclose(gmm_kernel(form(GOOD)), EXPECTED, rtol=1e-13)


class TestOddButGood:
    @pytest.mark.parametrize(
        "X",
        [
            GOOD.tolist(),
            np.asfortranarray(GOOD),
            np.repeat(np.repeat(GOOD, 2, axis=0), 3, axis=1)[::2, ::3],
            GOOD[::-1][::-1],
            GOOD.astype(">f8"),
            pd.DataFrame(GOOD, columns=list("abcd")),
            np.ma.masked_array(GOOD),
        ],
    )
    def test_layouts(self, X):
        np.testing.assert_array_equal(gmm_kernel(X), EXPECTED)

    def test_unaligned(self):
        raw = np.zeros(GOOD.nbytes + 1, np.uint8)
        X = raw[1:].view(np.float64).reshape(GOOD.shape)
        X[...] = GOOD
        np.testing.assert_array_equal(gmm_kernel(X), EXPECTED)

    def test_read_only_and_unchanged(self):
        X = GOOD.copy()
        X.flags.writeable = False
        for row in KERNELS.values():
            row.function(X)
            row.function(X, X[:2])
        np.testing.assert_array_equal(X, GOOD)

    @pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.uint64, bool, np.float16, ">i4", np.longdouble])
    def test_dtypes_become_float64(self, dtype):
        X = np.abs(np.rint(GOOD * 3)).astype(dtype)
        found = gmm_kernel(X)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, gmm_kernel(X.astype(np.float64)))
        np.testing.assert_allclose(gmm_kernel(sparse.csr_array(X.astype(np.int8))), found, rtol=1e-14)

    def test_float32_and_float64_mixed(self):
        assert gmm_kernel(GOOD.astype(np.float32), GOOD).dtype == np.float64
        assert gmm_kernel(GOOD.astype(">f4")).dtype == np.float32
        assert rbf_kernel(GOOD.astype(np.float32)).dtype == np.float32

    def test_data_frames(self):
        frame = pd.DataFrame({"a": [1, 2], "b": [True, False], "c": [0.5, -1.0]})
        np.testing.assert_array_equal(gmm_kernel(frame), gmm_kernel([[1, 1, 0.5], [2, 0, -1]]))
        nullable = frame.convert_dtypes()
        np.testing.assert_array_equal(gmm_kernel(nullable), gmm_kernel(frame))

        sparse_frame = pd.get_dummies(pd.Series(["a", "b", "a"]), sparse=True)
        np.testing.assert_array_equal(gmm_kernel(sparse_frame), [[1, 0, 1], [0, 1, 0], [1, 0, 1]])

    def test_strict_error_state(self):
        X = np.array([[1e-40, 1.0], [1.0, 1e-38]], np.float32)
        with np.errstate(all="raise"):
            for row in KERNELS.values():
                row.function(X)
            gmm_kernel(X, p=50.0, center="mean")

    def test_one_row_one_feature(self):
        assert gmm_kernel([[2.0]], [[3.0], [-3.0], [0.0]]).tolist() == [[2 / 3, 0, 0]]


def test_ascending_indices_are_found_in_the_arrays():
    ascending = _validation._has_ascending_indices
    assert ascending(np.array([0, 2, 2, 3]), np.array([1, 5, 0]))
    assert not ascending(np.array([0, 2, 2, 3]), np.array([5, 1, 0]))
    assert not ascending(np.array([0, 2]), np.array([1, 1]))
    assert ascending(np.array([0, 0]), np.array([], int))


def test_the_first_repeated_name():
    assert _frames.first_repeated(["a", "b", "c", "b", "a"]) == "b"
    assert _frames.first_repeated([]) is None
    many = [str(i) for i in range(300_000)]  # a count of each would take an hour
    assert _frames.first_repeated(many) is None
    assert _frames.first_repeated([*many, "299999"]) == "299999"
