"""Arithmetic with equal results on every machine, bit for bit: fused multiply-add, logarithms and cosines.

This module uses only operations that IEEE 754 defines exactly: +, -, *, /, square roots, comparison, conversion and the
fused multiply-add. NumPy lacks the latter, so :func:`fma` provides it for float32 and :func:`fma_float64` for float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._array import Array

# The polynomial of degree 5 with the smallest relative error, 7.4e-6, for log2(1 + f) / f on
# [sqrt(1/2) - 1, sqrt(2) - 1].
LOG2_COEFFICIENTS = np.array(
    [
        1.4427015781402588,
        -0.7212063670158386,
        0.4798118472099304,
        -0.3664917051792145,
        0.31819990277290344,
        -0.2061910480260849,
    ],
    np.float32,
)
SQRT_HALF_BITS = 0x3F3504F3  # the bits of the float32 just below sqrt(1/2)
SQRT_HALF = 0.70710678118654752440
# log2(m) = sum over k of 2 / ((2 k + 1) ln 2) s^(2 k + 1), s = (m - 1) / (m + 1). The remainder is below 3e-14.
ATANH_COEFFICIENTS = tuple(2 / ((2 * k + 1) * 0.69314718055994530942) for k in range(8))
# cos(2 pi f) as a polynomial in f^2 on [-1/2, 1/2], interpolated at Chebyshev's points: within 1.2e-8 of the cosine
# with the seven coefficients of float32, within 3.4e-17 with the eleven of float64. Rounding adds up to 4e-7 and 8e-16.
COS_COEFFICIENTS = {
    np.dtype(np.float32): (
        1.0,
        -19.73920440673828,
        64.93911743164062,
        -85.45011138916016,
        60.16743087768555,
        -25.96688461303711,
        6.527706146240234,
    ),
    np.dtype(np.float64): (
        1.0,
        -19.739208802178684,
        64.93939402266314,
        -85.45681720637177,
        60.24464136156249,
        -26.426256590531025,
        7.903534122041613,
        -1.7143738447256551,
        0.2819245703565778,
        -0.03613799133425832,
        0.003359676254891574,
    ),
}
SPLITTER = 134217729.0  # 2^27 + 1: splits a float64 into two halves whose products are exact


def fma(a: Any, b: Any, c: Any) -> Array:
    """Return a * b + c of float32, rounded once.

    The product is exact in float64. The sum is rounded to odd in float64 (an inexact result gets an odd last bit).
    Rounding this sum to float32 gives the same result as a single rounding.
    """
    product = np.asarray(a, np.float64) * np.asarray(b, np.float64)
    return _sum_to_odd(product, np.asarray(c, np.float64)).astype(np.float32)


def fma_float64(a: Any, b: Any, c: Any) -> Array:
    """Return a * b + c of float64, rounded once, for numbers far from the limits of the range.

    The exact result is a sum of float64 numbers, two of which make the product. All terms but the largest are added
    with rounding to odd, so that the last addition rounds as if its operand were exact (Boldo and Melquiond).
    """
    high, low = _exact_product(np.asarray(a, np.float64), np.asarray(b, np.float64))
    t, t_error = _exact_sum(np.asarray(c, np.float64), low)
    v, v_error = _exact_sum(high, t)
    return np.asarray(v + _sum_to_odd(t_error, v_error))


def log2_float32(x: Array) -> Array:
    """Return log2 of normal positive float32 with a relative error of 7.4e-6, enough for random parameters."""
    bits = x.view(np.int32)
    exponent = (bits - SQRT_HALF_BITS) >> 23
    f = (bits - (exponent << 23)).view(np.float32) - np.float32(1)
    p = np.broadcast_to(LOG2_COEFFICIENTS[5], f.shape)
    for c in LOG2_COEFFICIENTS[4::-1]:
        p = fma(p, f, c)
    return fma(f, p, exponent.astype(np.float32))


def log2_value(x: Any) -> Array:
    """Return log2 of positive numbers in float64 with an error of 1e-13, after rounding the mantissa to 24 bits."""
    mantissa, exponent = np.frexp(np.asarray(x, np.float64))
    m = mantissa.astype(np.float32).astype(np.float64)
    low = m < SQRT_HALF
    m = np.where(low, 2 * m, m)
    exponent = exponent - low
    s = (m - 1) / (m + 1)
    z = s * s
    p = np.full_like(z, ATANH_COEFFICIENTS[-1])
    for c in ATANH_COEFFICIENTS[-2::-1]:
        p = p * z + c
    return np.asarray(s * p + exponent)


def to_bfloat16(x: Array) -> Array:
    """Round positive float32 to 8 significant bits, with halves rounded up."""
    bits = np.asarray(x, np.float32).view(np.uint32) + np.uint32(0x8000)
    return np.asarray((bits & np.uint32(0xFFFF0000)).view(np.float32))


def cos_turns(y: Array) -> Array:
    """Return cos(2 pi y) of float32 or float64 in the same type."""
    fused = fma if y.dtype == np.float32 else fma_float64
    coefficients = COS_COEFFICIENTS[y.dtype]
    f = y - np.rint(y)
    z = f * f
    p = np.full_like(z, coefficients[-1])
    for c in coefficients[-2::-1]:
        p = fused(p, z, y.dtype.type(c))
    return np.asarray(p)


def _exact_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a + b as a rounded sum and its error (Knuth)."""
    total = np.asarray(a + b)
    back = total - a
    return total, (a - (total - back)) + (b - back)


def _exact_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Return a * b as a rounded product and its error (Veltkamp, Dekker)."""
    product = a * b
    a_high, b_high = (SPLITTER * x - (SPLITTER * x - x) for x in (a, b))
    a_low, b_low = a - a_high, b - b_high
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _sum_to_odd(a: Array, b: Array) -> Array:
    """Return a + b or, if that is inexact, the neighbouring number with an odd last bit."""
    total, error = _exact_sum(a, b)
    even = (total.view(np.int64) & 1) == 0
    away = np.where(error > 0, np.inf, -np.inf)
    return np.where((error != 0) & even, np.nextafter(total, away), total)
