"""Arithmetic that is the same to the last bit on every machine: fused multiply-add and logarithms.

Only operations that IEEE 754 fixes are used: +, -, *, /, comparison, conversion, and the fused
multiply-add of float32, which NumPy lacks and :func:`fma` supplies.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# log2(1 + f) / f on [sqrt(1/2) - 1, sqrt(2) - 1], the polynomial of degree 5 of least relative error, 7.4e-6.
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
SQRT_HALF_BITS = 0x3F3504F3  # of the float32 next below sqrt(1/2)
SQRT_HALF = 0.70710678118654752440
# log2(m) = sum over k of 2 / ((2 k + 1) ln 2) s^(2 k + 1), s = (m - 1) / (m + 1): the rest is below 3e-14.
ATANH_COEFFICIENTS = tuple(2 / ((2 * k + 1) * 0.69314718055994530942) for k in range(8))


def fma(a: Any, b: Any, c: Any) -> Array:
    """a * b + c of float32, rounded once.

    The product is exact in float64. The sum is rounded there to odd (an inexact result gets an odd
    last bit), after which rounding to float32 is as if done once.
    """
    product = np.asarray(a, np.float64) * np.asarray(b, np.float64)
    addend = np.asarray(c, np.float64)
    total = np.asarray(product + addend)
    back = total - product  # the error of the sum, exactly (Knuth)
    error = (product - (total - back)) + (addend - back)
    even = (total.view(np.int64) & 1) == 0
    away = np.where(error > 0, np.inf, -np.inf)
    odd = np.where((error != 0) & even, np.nextafter(total, away), total)
    return odd.astype(np.float32)


def log2_float32(x: Array) -> Array:
    """log2 of normal positive float32, to 7.4e-6 relative: enough for random parameters."""
    bits = x.view(np.int32)
    exponent = (bits - SQRT_HALF_BITS) >> 23
    f = (bits - (exponent << 23)).view(np.float32) - np.float32(1)
    p = np.broadcast_to(LOG2_COEFFICIENTS[5], f.shape)
    for c in LOG2_COEFFICIENTS[4::-1]:
        p = fma(p, f, c)
    return fma(f, p, exponent.astype(np.float32))


def log2_value(x: Any) -> Array:
    """log2 of a positive number whose mantissa is first rounded to 24 bits, in float64, to 1e-13."""
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
    """Positive float32 rounded to 8 significant bits, halves up."""
    bits = np.asarray(x, np.float32).view(np.uint32) + np.uint32(0x8000)
    return np.asarray((bits & np.uint32(0xFFFF0000)).view(np.float32))
