"""Arithmetic that must be the same everywhere: correctly rounded, and close to the functions it stands for."""

from fractions import Fraction

import numpy as np

from kernelsketch.reference import arithmetic


def test_fma_is_rounded_once():
    rng = np.random.default_rng(0)
    a, b = (rng.normal(size=3000).astype(np.float32) for _ in range(2))
    c = (rng.normal(size=3000) * 10.0 ** rng.integers(-9, 9, 3000)).astype(np.float32)
    c[:1000] = -(a[:1000] * b[:1000])  # nothing but the rounding of the product is left
    for x, y, z, got in zip(a, b, c, arithmetic.fma(a, b, c), strict=True):
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        error = abs(Fraction(float(got)) - exact)
        for side in (-np.inf, np.inf):
            neighbour = np.nextafter(got, np.float32(side))
            assert error <= abs(Fraction(float(neighbour)) - exact)


def test_fma_where_two_roundings_would_differ():
    """1 + 2^-24 + 2^-60: through float64 it rounds to a tie and then to even."""
    one = np.float32(1)
    assert arithmetic.fma(np.float32(2.0**-30), np.float32(2.0**-30), np.float32(1 + 2.0**-23)) == np.float32(
        1 + 2.0**-23
    )
    got = arithmetic.fma(np.float32(1 + 2.0**-12), np.float32(2.0**-24), one)  # 1 + 2^-24 + 2^-36
    assert got == np.float32(1 + 2.0**-23)


def test_logarithms():
    x = np.exp(np.random.default_rng(0).uniform(-80, 80, 20_000)).astype(np.float32)
    np.testing.assert_allclose(arithmetic.log2_value(x), np.log2(x.astype(np.float64)), rtol=0, atol=1e-13)
    near = (1 + np.random.default_rng(1).uniform(-0.3, 0.4, 20_000)).astype(np.float32)
    for values in (x, near[near != 1]):
        np.testing.assert_allclose(arithmetic.log2_float32(values), np.log2(values.astype(np.float64)), rtol=7.6e-6)
    assert arithmetic.log2_float32(np.float32([1]))[0] == 0


def test_values_of_any_size_have_a_logarithm():
    x = np.array([5e-324, 2.2e-308, 1e-40, 1.0, 1.7976931348623157e308])
    np.testing.assert_allclose(arithmetic.log2_value(x), np.log2(x), atol=1e-7)


def test_mantissas_are_rounded_to_24_bits():
    x = 1 + 2.0**-25
    assert arithmetic.log2_value(x) == arithmetic.log2_value(1.0) == 0
    assert arithmetic.log2_value(1 + 2.0**-23) > 0


def test_fma_of_float64_is_rounded_once():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 3000))
    c = rng.normal(size=3000) * 10.0 ** rng.integers(-25, 9, 3000)
    c[:1000] = -(a[:1000] * b[:1000])
    a[1000:1500] = np.rint(a[1000:1500] * 2**20) / 2**20  # products with few digits: ties
    c[1000:1500] = np.rint(c[1000:1500] * 2.0**52)
    exact = [float(Fraction(x) * Fraction(y) + Fraction(z)) for x, y, z in zip(a, b, c, strict=True)]
    np.testing.assert_array_equal(arithmetic.fma_float64(a, b, c), exact)


def test_fma_of_float64_where_two_roundings_would_differ():
    tiny = 2.0**-60
    assert arithmetic.fma_float64(tiny, tiny, 1 + 2.0**-52) == 1 + 2.0**-52
    assert arithmetic.fma_float64(1 + 2.0**-30, 2.0**-53, 1.0) == 1 + 2.0**-52  # 1 + 2^-53 + 2^-83: above the tie


def test_cosines():
    y = np.random.default_rng(0).uniform(-300, 300, 50_000)
    for dtype, bound in ((np.float32, 5e-7), (np.float64, 1e-15)):
        x = y.astype(dtype)
        exact = np.cos(2 * np.pi * (x.astype(np.float64) - np.rint(x.astype(np.float64))))
        assert np.abs(arithmetic.cos_turns(x) - exact).max() < bound
        np.testing.assert_array_equal(arithmetic.cos_turns(dtype([0, -3, 7, 1e30])), 1)
