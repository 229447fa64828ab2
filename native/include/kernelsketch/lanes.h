// Sixteen lanes at once, whatever the instruction set: one AVX-512 register, two of AVX2, or an array.
// Included, like simd.h, only by files that are compiled once per instruction set.
//
// F16 and I16 hold floats and 32-bit integers, D8 eight doubles. fma is fused everywhere: where the processor has no
// such instruction it is put together from others with rounding to odd, as the reference does.
#pragma once

#include <cstdint>

#include "kernelsketch/simd.h"

namespace kernelsketch::KERNELSKETCH_ISA {

#if defined(KERNELSKETCH_X86) && defined(__AVX512F__)

struct I16 {
  __m512i v;
  static KERNELSKETCH_INLINE I16 set(uint32_t x) { return {_mm512_set1_epi32(static_cast<int>(x))}; }
  static KERNELSKETCH_INLINE I16 load(const int32_t* p) { return {_mm512_loadu_si512(p)}; }
  KERNELSKETCH_INLINE void store(int32_t* p) const { _mm512_storeu_si512(p, v); }
  friend KERNELSKETCH_INLINE I16 operator^(I16 a, I16 b) { return {_mm512_xor_si512(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE I16 operator&(I16 a, I16 b) { return {_mm512_and_si512(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE I16 operator|(I16 a, I16 b) { return {_mm512_or_si512(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE I16 operator+(I16 a, I16 b) { return {_mm512_add_epi32(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE I16 operator-(I16 a, I16 b) { return {_mm512_sub_epi32(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE I16 operator*(I16 a, I16 b) { return {_mm512_mullo_epi32(a.v, b.v)}; }
  template <int n>
  KERNELSKETCH_INLINE I16 right() const { return {_mm512_srli_epi32(v, n)}; }
  template <int n>
  KERNELSKETCH_INLINE I16 right_signed() const { return {_mm512_srai_epi32(v, n)}; }
  template <int n>
  KERNELSKETCH_INLINE I16 left() const { return {_mm512_slli_epi32(v, n)}; }
};

struct F16 {
  static constexpr int width = 16;
  __m512 v;
  static KERNELSKETCH_INLINE F16 set(float x) { return {_mm512_set1_ps(x)}; }
  static KERNELSKETCH_INLINE F16 load(const float* p) { return {_mm512_loadu_ps(p)}; }
  KERNELSKETCH_INLINE void store(float* p) const { _mm512_storeu_ps(p, v); }
  static KERNELSKETCH_INLINE F16 from_int(I16 x) { return {_mm512_cvtepi32_ps(x.v)}; }
  static KERNELSKETCH_INLINE F16 from_bits(I16 x) { return {_mm512_castsi512_ps(x.v)}; }
  KERNELSKETCH_INLINE I16 bits() const { return {_mm512_castps_si512(v)}; }
  static KERNELSKETCH_INLINE F16 fma(F16 a, F16 b, F16 c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
  static KERNELSKETCH_INLINE F16 fnma(F16 a, F16 b, F16 c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }
  friend KERNELSKETCH_INLINE F16 operator-(F16 a, F16 b) { return {_mm512_sub_ps(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE F16 operator*(F16 a, F16 b) { return {_mm512_mul_ps(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE F16 operator/(F16 a, F16 b) { return {_mm512_div_ps(a.v, b.v)}; }
  KERNELSKETCH_INLINE F16 floor() const {
    return {_mm512_roundscale_ps(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)};
  }
  KERNELSKETCH_INLINE F16 nearest() const {
    return {_mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
  }
  KERNELSKETCH_INLINE F16 root() const { return {_mm512_sqrt_ps(v)}; }
};

struct D8 {
  static constexpr int width = 8;
  __m512d v;
  static KERNELSKETCH_INLINE D8 set(double x) { return {_mm512_set1_pd(x)}; }
  static KERNELSKETCH_INLINE D8 load(const double* p) { return {_mm512_loadu_pd(p)}; }
  static KERNELSKETCH_INLINE D8 load(const float* p) { return {_mm512_cvtps_pd(_mm256_loadu_ps(p))}; }
  KERNELSKETCH_INLINE void store(double* p) const { _mm512_storeu_pd(p, v); }
  KERNELSKETCH_INLINE void store(float* p) const { _mm256_storeu_ps(p, _mm512_cvtpd_ps(v)); }
  static KERNELSKETCH_INLINE D8 fma(D8 a, D8 b, D8 c) { return {_mm512_fmadd_pd(a.v, b.v, c.v)}; }
  friend KERNELSKETCH_INLINE D8 operator+(D8 a, D8 b) { return {_mm512_add_pd(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE D8 operator-(D8 a, D8 b) { return {_mm512_sub_pd(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE D8 operator*(D8 a, D8 b) { return {_mm512_mul_pd(a.v, b.v)}; }
  static KERNELSKETCH_INLINE D8 larger_size(D8 a, D8 b) { return {_mm512_max_pd(a.v, _mm512_abs_pd(b.v))}; }
  KERNELSKETCH_INLINE D8 nearest() const {
    return {_mm512_roundscale_pd(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)};
  }
};

// Where a < best: best = a, label = id and, if asked for, kept = t.
template <bool with_t>
KERNELSKETCH_INLINE void keep_less(F16 a, F16& best, I16 id, I16& label, F16 t, F16& kept) {
  const __mmask16 less = _mm512_cmp_ps_mask(a.v, best.v, _CMP_LT_OQ);
  best.v = _mm512_min_ps(a.v, best.v);
  label.v = _mm512_mask_mov_epi32(label.v, less, id.v);
  if (with_t) kept.v = _mm512_mask_mov_ps(kept.v, less, t.v);
}

#elif defined(KERNELSKETCH_X86) && defined(__AVX2__)

struct I16 {
  __m256i a, b;
  static KERNELSKETCH_INLINE I16 set(uint32_t x) {
    const __m256i y = _mm256_set1_epi32(static_cast<int>(x));
    return {y, y};
  }
  static KERNELSKETCH_INLINE I16 load(const int32_t* p) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)),
            _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 8))};
  }
  KERNELSKETCH_INLINE void store(int32_t* p) const {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), a);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 8), b);
  }
#define KERNELSKETCH_BOTH(op, f) \
  friend KERNELSKETCH_INLINE I16 operator op(I16 x, I16 y) { return {f(x.a, y.a), f(x.b, y.b)}; }
  KERNELSKETCH_BOTH(^, _mm256_xor_si256)
  KERNELSKETCH_BOTH(&, _mm256_and_si256)
  KERNELSKETCH_BOTH(|, _mm256_or_si256)
  KERNELSKETCH_BOTH(+, _mm256_add_epi32)
  KERNELSKETCH_BOTH(-, _mm256_sub_epi32)
  KERNELSKETCH_BOTH(*, _mm256_mullo_epi32)
#undef KERNELSKETCH_BOTH
  template <int n>
  KERNELSKETCH_INLINE I16 right() const { return {_mm256_srli_epi32(a, n), _mm256_srli_epi32(b, n)}; }
  template <int n>
  KERNELSKETCH_INLINE I16 right_signed() const { return {_mm256_srai_epi32(a, n), _mm256_srai_epi32(b, n)}; }
  template <int n>
  KERNELSKETCH_INLINE I16 left() const { return {_mm256_slli_epi32(a, n), _mm256_slli_epi32(b, n)}; }
};

struct F16 {
  static constexpr int width = 16;
  __m256 a, b;
  static KERNELSKETCH_INLINE F16 set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static KERNELSKETCH_INLINE F16 load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  KERNELSKETCH_INLINE void store(float* p) const {
    _mm256_storeu_ps(p, a);
    _mm256_storeu_ps(p + 8, b);
  }
  static KERNELSKETCH_INLINE F16 from_int(I16 x) { return {_mm256_cvtepi32_ps(x.a), _mm256_cvtepi32_ps(x.b)}; }
  static KERNELSKETCH_INLINE F16 from_bits(I16 x) { return {_mm256_castsi256_ps(x.a), _mm256_castsi256_ps(x.b)}; }
  KERNELSKETCH_INLINE I16 bits() const { return {_mm256_castps_si256(a), _mm256_castps_si256(b)}; }
  static KERNELSKETCH_INLINE F16 fma(F16 x, F16 y, F16 z) {
    return {_mm256_fmadd_ps(x.a, y.a, z.a), _mm256_fmadd_ps(x.b, y.b, z.b)};
  }
  static KERNELSKETCH_INLINE F16 fnma(F16 x, F16 y, F16 z) {
    return {_mm256_fnmadd_ps(x.a, y.a, z.a), _mm256_fnmadd_ps(x.b, y.b, z.b)};
  }
  friend KERNELSKETCH_INLINE F16 operator-(F16 x, F16 y) { return {_mm256_sub_ps(x.a, y.a), _mm256_sub_ps(x.b, y.b)}; }
  friend KERNELSKETCH_INLINE F16 operator*(F16 x, F16 y) { return {_mm256_mul_ps(x.a, y.a), _mm256_mul_ps(x.b, y.b)}; }
  friend KERNELSKETCH_INLINE F16 operator/(F16 x, F16 y) { return {_mm256_div_ps(x.a, y.a), _mm256_div_ps(x.b, y.b)}; }
  KERNELSKETCH_INLINE F16 floor() const { return {_mm256_floor_ps(a), _mm256_floor_ps(b)}; }
  KERNELSKETCH_INLINE F16 nearest() const {
    constexpr int mode = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    return {_mm256_round_ps(a, mode), _mm256_round_ps(b, mode)};
  }
  KERNELSKETCH_INLINE F16 root() const { return {_mm256_sqrt_ps(a), _mm256_sqrt_ps(b)}; }
};

struct D8 {
  static constexpr int width = 8;
  __m256d a, b;
  static KERNELSKETCH_INLINE D8 set(double x) { return {_mm256_set1_pd(x), _mm256_set1_pd(x)}; }
  static KERNELSKETCH_INLINE D8 load(const double* p) { return {_mm256_loadu_pd(p), _mm256_loadu_pd(p + 4)}; }
  static KERNELSKETCH_INLINE D8 load(const float* p) {
    return {_mm256_cvtps_pd(_mm_loadu_ps(p)), _mm256_cvtps_pd(_mm_loadu_ps(p + 4))};
  }
  KERNELSKETCH_INLINE void store(double* p) const {
    _mm256_storeu_pd(p, a);
    _mm256_storeu_pd(p + 4, b);
  }
  KERNELSKETCH_INLINE void store(float* p) const {
    _mm_storeu_ps(p, _mm256_cvtpd_ps(a));
    _mm_storeu_ps(p + 4, _mm256_cvtpd_ps(b));
  }
  static KERNELSKETCH_INLINE D8 fma(D8 x, D8 y, D8 z) {
    return {_mm256_fmadd_pd(x.a, y.a, z.a), _mm256_fmadd_pd(x.b, y.b, z.b)};
  }
  friend KERNELSKETCH_INLINE D8 operator+(D8 x, D8 y) { return {_mm256_add_pd(x.a, y.a), _mm256_add_pd(x.b, y.b)}; }
  friend KERNELSKETCH_INLINE D8 operator-(D8 x, D8 y) { return {_mm256_sub_pd(x.a, y.a), _mm256_sub_pd(x.b, y.b)}; }
  friend KERNELSKETCH_INLINE D8 operator*(D8 x, D8 y) { return {_mm256_mul_pd(x.a, y.a), _mm256_mul_pd(x.b, y.b)}; }
  static KERNELSKETCH_INLINE D8 larger_size(D8 x, D8 y) {
    const __m256d sign = _mm256_set1_pd(-0.0);
    return {_mm256_max_pd(x.a, _mm256_andnot_pd(sign, y.a)), _mm256_max_pd(x.b, _mm256_andnot_pd(sign, y.b))};
  }
  KERNELSKETCH_INLINE D8 nearest() const {
    constexpr int mode = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    return {_mm256_round_pd(a, mode), _mm256_round_pd(b, mode)};
  }
};

template <bool with_t>
KERNELSKETCH_INLINE void keep_less(F16 a, F16& best, I16 id, I16& label, F16 t, F16& kept) {
  const __m256 less_a = _mm256_cmp_ps(a.a, best.a, _CMP_LT_OQ), less_b = _mm256_cmp_ps(a.b, best.b, _CMP_LT_OQ);
  best = {_mm256_min_ps(a.a, best.a), _mm256_min_ps(a.b, best.b)};
  label.a = _mm256_castps_si256(
      _mm256_blendv_ps(_mm256_castsi256_ps(label.a), _mm256_castsi256_ps(id.a), less_a));
  label.b = _mm256_castps_si256(
      _mm256_blendv_ps(_mm256_castsi256_ps(label.b), _mm256_castsi256_ps(id.b), less_b));
  if (with_t) kept = {_mm256_blendv_ps(kept.a, t.a, less_a), _mm256_blendv_ps(kept.b, t.b, less_b)};
}

#else  // arrays: what the compiler makes of them

KERNELSKETCH_INLINE float fma_float(float x, float y, float z) {
#if defined(KERNELSKETCH_NEON) && defined(__GNUC__)
  return __builtin_fmaf(x, y, z);  // an instruction, which the compiler also vectorizes
#elif defined(KERNELSKETCH_NEON)
  return vget_lane_f32(vfma_f32(vdup_n_f32(z), vdup_n_f32(x), vdup_n_f32(y)), 0);
#else
  const double product = static_cast<double>(x) * static_cast<double>(y), addend = z;  // the product is exact
  double total = product + addend;
  const double back = total - product;
  const double error = (product - (total - back)) + (addend - back);  // of the sum, exactly
  int64_t bits = __builtin_bit_cast(int64_t, total);
  if (error != 0 && (bits & 1) == 0) bits += (error > 0) == (total > 0) ? 1 : -1;  // round to odd
  return static_cast<float>(__builtin_bit_cast(double, bits));
#endif
}

KERNELSKETCH_INLINE float floor_float(float x) {  // |x| below 2^62
  const float t = static_cast<float>(static_cast<int64_t>(x));
  return t > x ? t - 1 : t;
}

#if !defined(KERNELSKETCH_NEON)
// a + b and the error of that sum, exactly
KERNELSKETCH_INLINE double exact_sum(double a, double b, double& error) {
  const double total = a + b, back = total - a;
  error = (a - (total - back)) + (b - back);
  return total;
}
#endif

KERNELSKETCH_INLINE double fma_double(double x, double y, double z) {
#if defined(KERNELSKETCH_NEON) && defined(__GNUC__)
  return __builtin_fma(x, y, z);
#elif defined(KERNELSKETCH_NEON)
  return vget_lane_f64(vfma_f64(vdup_n_f64(z), vdup_n_f64(x), vdup_n_f64(y)), 0);
#else
  // reference/arithmetic.py: fma_float64
  constexpr double splitter = 134217729.0;
  const double product = x * y;
  const double x_high = splitter * x - (splitter * x - x), y_high = splitter * y - (splitter * y - y);
  const double x_low = x - x_high, y_low = y - y_high;
  const double low = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low;
  double t_error, v_error, error;
  const double t = exact_sum(z, low, t_error), v = exact_sum(product, t, v_error);
  const double rest = exact_sum(t_error, v_error, error);
  int64_t bits = __builtin_bit_cast(int64_t, rest);
  if (error != 0 && (bits & 1) == 0) bits += (error > 0) == (rest > 0) ? 1 : -1;  // round to odd
  return v + __builtin_bit_cast(double, bits);
#endif
}

// To the nearest integer, of two the even one.
KERNELSKETCH_INLINE float nearest_float(float x) {
  const float big = x < 0 ? -0x1p23f : 0x1p23f, size = x < 0 ? -x : x;
  return size < 0x1p23f ? (x + big) - big : x;
}
KERNELSKETCH_INLINE double nearest_double(double x) {
  const double big = x < 0 ? -0x1p52 : 0x1p52, size = x < 0 ? -x : x;
  return size < 0x1p52 ? (x + big) - big : x;
}

KERNELSKETCH_INLINE float root_float(float x) {
#if defined(KERNELSKETCH_X86)
  return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
#elif defined(KERNELSKETCH_NEON)
  return vget_lane_f32(vsqrt_f32(vdup_n_f32(x)), 0);
#else
  return __builtin_sqrtf(x);
#endif
}

#define KERNELSKETCH_EACH(type, expression)                  \
  type r;                                                    \
  for (int i = 0; i < type::width; ++i) r.v[i] = expression; \
  return r

struct I16 {
  static constexpr int width = 16;
  uint32_t v[16];
  static KERNELSKETCH_INLINE I16 set(uint32_t x) { KERNELSKETCH_EACH(I16, x); }
  static KERNELSKETCH_INLINE I16 load(const int32_t* p) { KERNELSKETCH_EACH(I16, static_cast<uint32_t>(p[i])); }
  KERNELSKETCH_INLINE void store(int32_t* p) const {
    for (int i = 0; i < 16; ++i) p[i] = static_cast<int32_t>(v[i]);
  }
  friend KERNELSKETCH_INLINE I16 operator^(I16 a, I16 b) { KERNELSKETCH_EACH(I16, a.v[i] ^ b.v[i]); }
  friend KERNELSKETCH_INLINE I16 operator&(I16 a, I16 b) { KERNELSKETCH_EACH(I16, a.v[i] & b.v[i]); }
  friend KERNELSKETCH_INLINE I16 operator|(I16 a, I16 b) { KERNELSKETCH_EACH(I16, a.v[i] | b.v[i]); }
  friend KERNELSKETCH_INLINE I16 operator+(I16 a, I16 b) { KERNELSKETCH_EACH(I16, a.v[i] + b.v[i]); }
  friend KERNELSKETCH_INLINE I16 operator-(I16 a, I16 b) { KERNELSKETCH_EACH(I16, a.v[i] - b.v[i]); }
  friend KERNELSKETCH_INLINE I16 operator*(I16 a, I16 b) { KERNELSKETCH_EACH(I16, a.v[i] * b.v[i]); }
  template <int n>
  KERNELSKETCH_INLINE I16 right() const { KERNELSKETCH_EACH(I16, v[i] >> n); }
  template <int n>
  KERNELSKETCH_INLINE I16 right_signed() const {
    KERNELSKETCH_EACH(I16, static_cast<uint32_t>(static_cast<int32_t>(v[i]) >> n));
  }
  template <int n>
  KERNELSKETCH_INLINE I16 left() const { KERNELSKETCH_EACH(I16, v[i] << n); }
};

struct F16 {
  static constexpr int width = 16;
  float v[16];
  static KERNELSKETCH_INLINE F16 set(float x) { KERNELSKETCH_EACH(F16, x); }
  static KERNELSKETCH_INLINE F16 load(const float* p) { KERNELSKETCH_EACH(F16, p[i]); }
  KERNELSKETCH_INLINE void store(float* p) const {
    for (int i = 0; i < 16; ++i) p[i] = v[i];
  }
  static KERNELSKETCH_INLINE F16 from_int(I16 x) {
    KERNELSKETCH_EACH(F16, static_cast<float>(static_cast<int32_t>(x.v[i])));
  }
  static KERNELSKETCH_INLINE F16 from_bits(I16 x) { KERNELSKETCH_EACH(F16, __builtin_bit_cast(float, x.v[i])); }
  KERNELSKETCH_INLINE I16 bits() const { KERNELSKETCH_EACH(I16, __builtin_bit_cast(uint32_t, v[i])); }
  static KERNELSKETCH_INLINE F16 fma(F16 a, F16 b, F16 c) { KERNELSKETCH_EACH(F16, fma_float(a.v[i], b.v[i], c.v[i])); }
  static KERNELSKETCH_INLINE F16 fnma(F16 a, F16 b, F16 c) {
    KERNELSKETCH_EACH(F16, fma_float(-a.v[i], b.v[i], c.v[i]));
  }
  friend KERNELSKETCH_INLINE F16 operator-(F16 a, F16 b) { KERNELSKETCH_EACH(F16, a.v[i] - b.v[i]); }
  friend KERNELSKETCH_INLINE F16 operator*(F16 a, F16 b) { KERNELSKETCH_EACH(F16, a.v[i] * b.v[i]); }
  friend KERNELSKETCH_INLINE F16 operator/(F16 a, F16 b) { KERNELSKETCH_EACH(F16, a.v[i] / b.v[i]); }
  KERNELSKETCH_INLINE F16 floor() const { KERNELSKETCH_EACH(F16, floor_float(v[i])); }
  KERNELSKETCH_INLINE F16 nearest() const { KERNELSKETCH_EACH(F16, nearest_float(v[i])); }
  KERNELSKETCH_INLINE F16 root() const { KERNELSKETCH_EACH(F16, root_float(v[i])); }
};

struct D8 {
  static constexpr int width = 8;
  double v[8];
  static KERNELSKETCH_INLINE D8 set(double x) { KERNELSKETCH_EACH(D8, x); }
  static KERNELSKETCH_INLINE D8 load(const double* p) { KERNELSKETCH_EACH(D8, p[i]); }
  static KERNELSKETCH_INLINE D8 load(const float* p) { KERNELSKETCH_EACH(D8, static_cast<double>(p[i])); }
  KERNELSKETCH_INLINE void store(double* p) const {
    for (int i = 0; i < 8; ++i) p[i] = v[i];
  }
  KERNELSKETCH_INLINE void store(float* p) const {
    for (int i = 0; i < 8; ++i) p[i] = static_cast<float>(v[i]);
  }
  static KERNELSKETCH_INLINE D8 fma(D8 a, D8 b, D8 c) { KERNELSKETCH_EACH(D8, fma_double(a.v[i], b.v[i], c.v[i])); }
  friend KERNELSKETCH_INLINE D8 operator+(D8 a, D8 b) { KERNELSKETCH_EACH(D8, a.v[i] + b.v[i]); }
  friend KERNELSKETCH_INLINE D8 operator-(D8 a, D8 b) { KERNELSKETCH_EACH(D8, a.v[i] - b.v[i]); }
  friend KERNELSKETCH_INLINE D8 operator*(D8 a, D8 b) { KERNELSKETCH_EACH(D8, a.v[i] * b.v[i]); }
  static KERNELSKETCH_INLINE D8 larger_size(D8 a, D8 b) {
    for (int i = 0; i < 8; ++i) b.v[i] = b.v[i] < 0 ? -b.v[i] : b.v[i];
    KERNELSKETCH_EACH(D8, a.v[i] > b.v[i] ? a.v[i] : b.v[i]);
  }
  KERNELSKETCH_INLINE D8 nearest() const { KERNELSKETCH_EACH(D8, nearest_double(v[i])); }
};
#undef KERNELSKETCH_EACH

template <bool with_t>
KERNELSKETCH_INLINE void keep_less(F16 a, F16& best, I16 id, I16& label, F16 t, F16& kept) {
  for (int i = 0; i < 16; ++i) {
    const bool less = a.v[i] < best.v[i];
    best.v[i] = less ? a.v[i] : best.v[i];
    label.v[i] = less ? id.v[i] : label.v[i];
    if (with_t) kept.v[i] = less ? t.v[i] : kept.v[i];
  }
}

#endif

KERNELSKETCH_INLINE F16 negative(F16 x) { return F16::from_bits(x.bits() ^ I16::set(0x80000000u)); }

}  // namespace kernelsketch::KERNELSKETCH_ISA
