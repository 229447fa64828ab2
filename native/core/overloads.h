// The operations of arithmetic.h under one name for float and double, for templates on the type of numbers. C++ only.
#pragma once

#include "core/arithmetic.h"

namespace ks {

KS_FUNCTION float fused(float a, float b, float c) { return ks_fmaf(a, b, c); }
KS_FUNCTION double fused(double a, double b, double c) { return ks_fma(a, b, c); }
KS_FUNCTION float quotient(float a, float b) { return ks_divf(a, b); }
KS_FUNCTION double quotient(double a, double b) { return ks_div(a, b); }
KS_FUNCTION float root(float x) { return ks_sqrtf(x); }
KS_FUNCTION double root(double x) { return ks_sqrt(x); }
KS_FUNCTION float nearest(float x) { return ks_rintf(x); }
KS_FUNCTION double nearest(double x) { return ks_rint(x); }
KS_FUNCTION float magnitude(float x) { return ks_fabsf(x); }
KS_FUNCTION double magnitude(double x) { return ks_fabs(x); }

template <class Real>
KS_FUNCTION Real smaller(Real a, Real b) {
  return b < a ? b : a;
}
template <class Real>
KS_FUNCTION Real larger(Real a, Real b) {
  return a < b ? b : a;
}
template <class Real>
KS_FUNCTION Real between(Real x, Real low, Real high) {
  return x < low ? low : high < x ? high : x;
}
template <class Real>
KS_FUNCTION Real infinity() {
  return (Real)ks_float32(0x7F800000u);
}

}  // namespace ks
