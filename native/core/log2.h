// Logarithms to base 2 (reference/arithmetic.py).
#pragma once

#include "core/arithmetic.h"

// log2 of a normal positive number with a relative error of 7.4e-6, enough for random parameters (log2_float32).
KS_FUNCTION float ks_log2f(float x) {
  const ks_i32 bits = (ks_i32)ks_bits32(x);
  const ks_i32 exponent = (bits - 0x3F3504F3) >> 23;
  const float f = ks_float32((ks_u32)bits - ((ks_u32)exponent << 23)) - 1.0f;
  float p = -0.2061910480260849f;
  p = ks_fmaf(p, f, 0.31819990277290344f);
  p = ks_fmaf(p, f, -0.3664917051792145f);
  p = ks_fmaf(p, f, 0.4798118472099304f);
  p = ks_fmaf(p, f, -0.7212063670158386f);
  p = ks_fmaf(p, f, 1.4427015781402588f);
  return ks_fmaf(f, p, (float)exponent);
}

// log2 of a positive finite number with an error of 1e-13, after rounding its mantissa to 24 bits (log2_value). There
// is no branch, so that compilers vectorize loops with it.
KS_FUNCTION double ks_log2(double x) {
  const int tiny = x < 2.2250738585072014e-308;  // subnormal
  const ks_u64 bits = ks_bits64(tiny ? x * 18014398509481984.0 : x);
  const ks_i64 exponent = (ks_i64)(bits >> 52) - 1022 - (tiny ? 54 : 0);
  const double mantissa = ks_float64((bits & 0xFFFFFFFFFFFFFull) | 0x3FE0000000000000ull);  // in [1/2, 1)
  const double rounded = (double)(float)mantissa;
  const int low = rounded < 0.70710678118654752440;
  const double m = low ? rounded + rounded : rounded;
  const double e = (double)(ks_i32)(exponent - (low ? 1 : 0));
  const double s = ks_div(m - 1, m + 1), z = s * s;
  double q = 2 / (15 * 0.69314718055994530942);
  q = q * z + 2 / (13 * 0.69314718055994530942);
  q = q * z + 2 / (11 * 0.69314718055994530942);
  q = q * z + 2 / (9 * 0.69314718055994530942);
  q = q * z + 2 / (7 * 0.69314718055994530942);
  q = q * z + 2 / (5 * 0.69314718055994530942);
  q = q * z + 2 / (3 * 0.69314718055994530942);
  q = q * z + 2 / (1 * 0.69314718055994530942);
  return s * q + e;
}
