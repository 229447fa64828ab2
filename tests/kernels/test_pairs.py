"""A similarity is a function of its two rows: what else is in the call does not change a bit of it."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from kernelsketch import egmm_kernel, gmm_kernel, intersection_kernel, iter_kernel_blocks, ngmm_kernel
from kernelsketch.kernels import _minmax_plan

KERNELS = {"gmm": gmm_kernel, "egmm": egmm_kernel, "ngmm": ngmm_kernel, "intersection": intersection_kernel}
KINDS = ("normal", "rows of all sizes", "values of all sizes", "subnormal", "largest", "integers", "zeros")


def rows_of(rng, kind, n, d, dtype):
    """Rows of a kind, of which a part of the values is zero."""
    x = rng.normal(size=(n, d))
    small = dtype == np.float32
    exponents = (-44, 37) if small else (-318, 306)
    if kind == "rows of all sizes":
        x *= 10.0 ** rng.uniform(*exponents, (n, 1))
    elif kind == "values of all sizes":
        x *= 10.0 ** rng.uniform(*exponents, (n, d))
    elif kind == "subnormal":
        x *= 1e-43 if small else 1e-321
    elif kind == "largest":
        x = np.clip(x, -3, 3) * (1e38 if small else 5e307)
    elif kind == "integers":
        x = rng.integers(-50, 100, (n, d)).astype(float)
    elif kind == "zeros":
        x[:] = 0
    return (x * (rng.random((n, d)) < rng.choice([0.02, 0.1, 0.3, 1.0]))).astype(dtype)


def some_rows(rng, d, dtype):
    parts = [rows_of(rng, kind, rng.integers(1, 4), d, dtype) for kind in rng.choice(KINDS, rng.integers(1, 4))]
    return np.repeat(np.concatenate(parts), rng.choice([1, 1, 9]), axis=0)


def whole_matrix(rng, name, X, Y, params):
    """Return the kernel matrix by one of the ways to compute it."""
    if rng.random() < 0.3:
        size = int(rng.integers(1, 9))
        return np.concatenate([block for _, block in iter_kernel_blocks(X, Y, kernel=name, block_size=size, **params)])
    out = np.empty((X.shape[0], (X if Y is None else Y).shape[0]), X.dtype) if rng.random() < 0.5 else None
    return KERNELS[name](X, Y, out=out, n_jobs=int(rng.integers(1, 4)), **params)


@pytest.mark.parametrize("backend", ["native", "reference"])
@pytest.mark.parametrize("storage", ["dense dense", "sparse sparse", "dense sparse", "sparse dense"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_other_rows_do_not_show(dtype, storage, backend, monkeypatch):
    if backend == "reference":
        monkeypatch.setenv("KERNELSKETCH_BACKEND", "reference")
    monkeypatch.setattr(_minmax_plan, "BYTE_STEPS", 10_000)
    rng = np.random.default_rng(7)
    for _ in range(30 if backend == "native" else 6):
        d = int(rng.choice([1, 3, 17, 64, 100, 300]))
        name, params = str(rng.choice(list(KERNELS))), {}
        if name in ("gmm", "egmm"):
            params["p"] = float(rng.choice([1, 1, 1, 0.5, 0.999, 1.001, 2, 3.7, 20, 80, 1000]))
        if storage == "dense dense" and rng.random() < 0.3:
            params["center"] = rng.normal(size=d) * 10.0 ** rng.uniform(-3, 3)
        with np.errstate(under="ignore"):
            X, Y = (some_rows(rng, d, dtype) for _ in range(2))
        X, Y = (sparse.csr_array(x) if form == "sparse" else x for x, form in zip((X, Y), storage.split(), strict=True))
        symmetric = type(X) is type(Y) and rng.random() < 0.4
        K = whole_matrix(rng, name, X, None if symmetric else Y, params)
        Y = X if symmetric else Y
        for i, j in zip(rng.integers(X.shape[0], size=8), rng.integers(Y.shape[0], size=8), strict=True):
            u, v = X[[i]], Y[[j]]
            assert K[i, j] == KERNELS[name](u, v, **params)[0, 0] == KERNELS[name](v, u, **params)[0, 0]
            if storage == "dense dense":
                assert K[i, j] == KERNELS[name](u[0], v[0], **params)


@pytest.mark.parametrize(
    ("dtype", "others"),
    [
        (np.float32, 1e-38),  # the spread of sizes once made all rows float64
        (np.float32, 2e37),
        (np.float64, 1e-308),
        (np.float64, 2e307),
    ],
)
@pytest.mark.parametrize("p", [1.0, 2.0])
def test_rows_of_other_sizes_do_not_show(dtype, others, p):
    X = np.random.default_rng(0).normal(size=(40, 100)).astype(dtype)
    expected = gmm_kernel(X, p=p)
    with np.errstate(under="ignore"):
        both = np.concatenate([X, X * dtype(others)])
    found = gmm_kernel(both, p=p)
    np.testing.assert_array_equal(found[:40, :40], expected)
    np.testing.assert_array_equal(found, found.T)
    np.testing.assert_array_equal(np.diag(found), 1)
    np.testing.assert_array_equal(gmm_kernel(X, both, p=p), found[:40])


def test_full_rows_do_not_show_in_sparse_ones():
    """Sparse rows with few nonzeros are compared one way, full ones another."""
    rng = np.random.default_rng(0)
    few = sparse.csr_array(rng.random((30, 200)) * (rng.random((30, 200)) < 0.05), dtype=np.float32)
    full = sparse.csr_array(rng.random((90, 200)), dtype=np.float32)
    both = sparse.vstack([few, full], format="csr")
    K = gmm_kernel(both)
    np.testing.assert_array_equal(K[:30, :30], gmm_kernel(few))
    np.testing.assert_array_equal(K[30:, 30:], gmm_kernel(full))
    np.testing.assert_array_equal(K[:30, 30:], gmm_kernel(few, full))
    np.testing.assert_array_equal(K[30:, 30:], gmm_kernel(full.toarray()))
    np.testing.assert_array_equal(K, K.T)


def exact_gmm(u, v):
    """The kernel in rational numbers."""
    above = below = Fraction(0)
    for x, y in zip(map(Fraction, u.tolist()), map(Fraction, v.tolist()), strict=True):
        for side in (1, -1):
            above += min(max(side * x, 0), max(side * y, 0))
            below += max(max(side * x, 0), max(side * y, 0))
    return above / below if below else Fraction(0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("storage", [np.asarray, sparse.csr_array])
def test_rational_numbers(dtype, storage):
    """Within 30 units of rounding of the formula, for values from the smallest to the largest float."""
    rng = np.random.default_rng(3)
    with np.errstate(under="ignore"):
        X = np.concatenate([rows_of(rng, kind, 4, 9, dtype) for kind in KINDS])
    K = gmm_kernel(storage(X))
    for i in range(len(X)):
        for j in range(len(X)):
            assert abs(Fraction(float(K[i, j])) - exact_gmm(X[i], X[j])) <= 30 * Fraction(float(np.finfo(dtype).eps))


def power(value, p):
    """The power of a positive float in 30 digits."""
    with localcontext(prec=30, Emin=-(10**9), Emax=10**9):
        return +(Decimal(float(value)) ** Decimal(p))


def decimal_gmm(u, v, p):
    """The kernel of positive rows in 30 digits."""
    with localcontext(prec=30, Emin=-(10**9), Emax=10**9):
        pairs = [(power(x, p), power(y, p)) for x, y in zip(u, v, strict=True)]
        return sum(map(min, pairs)) / sum(map(max, pairs))


@pytest.mark.parametrize("p", [0.001, 0.5, 0.999, 1.001, 2.0, 20.0, 1000.0])
@pytest.mark.parametrize("size", [1e-321, 1e-315, 1e-200, 1.0, 1e200, 1e307])
def test_powers_of_values_of_all_sizes(p, size):
    """Within p units of rounding of the formula, since the power of a value has p times its relative error."""
    rng = np.random.default_rng(1)
    with np.errstate(under="ignore"):
        u, v = (size * (1 + rng.random((2, 6)) / max(1, p))).tolist()
    assert abs(Decimal(gmm_kernel(np.array(u), np.array(v), p=p)) - decimal_gmm(u, v, p)) < 1e-14 * max(1, p)


def test_values_far_apart_under_a_small_power():
    """The power of entries that are 1e-600 times the largest still counts."""
    u, v = np.array([1e300, 1e-300]), np.array([1e-300, 1e300])
    exact = decimal_gmm(u.tolist(), v.tolist(), 0.001)
    assert abs(Decimal(gmm_kernel(u, v, p=0.001)) - exact) < 1e-14
    assert gmm_kernel([1e308], [0.0], p=0.999, center=[-1e308]) == 2**-0.999  # 2e308 against 1e308
