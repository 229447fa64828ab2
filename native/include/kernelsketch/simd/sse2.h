// simd.h for SSE2, which every x86-64 processor has. A mask is a vector whose lanes are all ones or all zeros.
#pragma once

#include <immintrin.h>

namespace kernelsketch::KERNELSKETCH_ISA {

template <>
struct Vec<int32_t> {
  static constexpr int width = 4;
  __m128i v;
  KS_X86_INTEGERS(_mm_, 128)
  friend KS_INLINE Vec operator*(Vec a, Vec b) {  // lanes 0 and 2, lanes 1 and 3, lower halves of each
    const __m128i even = _mm_mul_epu32(a.v, b.v), odd = _mm_mul_epu32(a.right_64().v, b.right_64().v);
    return {_mm_unpacklo_epi32(_mm_shuffle_epi32(even, 0x08), _mm_shuffle_epi32(odd, 0x08))};
  }
  KS_INLINE Vec right_64() const { return {_mm_srli_epi64(v, 32)}; }
};

// The float64 next to a sum, towards its error, whose last bit is 1, unless the sum is exact or has that bit already.
KS_INLINE __m128d round_to_odd(__m128d sum, __m128d error) {
  const __m128d zero = _mm_setzero_pd();
  const __m128i one = _mm_set1_epi64x(1), number = _mm_castpd_si128(sum);
  const __m128i even = _mm_sub_epi64(_mm_and_si128(number, one), one);  // all ones, or all zeros
  const __m128d above = _mm_cmpgt_pd(error, zero), below = _mm_cmplt_pd(error, zero);
  const __m128i step = _mm_or_si128(_mm_castpd_si128(_mm_xor_pd(above, _mm_cmpgt_pd(sum, zero))), one);  // -1 or 1
  const __m128i moves = _mm_and_si128(_mm_castpd_si128(_mm_or_pd(above, below)), even);
  return _mm_castsi128_pd(_mm_add_epi64(number, _mm_and_si128(moves, step)));
}

template <>
struct Vec<double> {
  static constexpr int width = 2;
  __m128d v;
  static KS_INLINE Vec load(const float* p) {
    return {_mm_cvtps_pd(_mm_castsi128_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))))};
  }
  KS_INLINE void store(float* p) const {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(p), _mm_castps_si128(_mm_cvtpd_ps(v)));
  }
  KS_X86_NUMBERS(double, _mm_, _pd)
  // a + b and the error of that sum, exactly
  static KS_INLINE Vec exact_sum(Vec a, Vec b, Vec& error) {
    const Vec total = a + b, back = total - a;
    error = (a - (total - back)) + (b - back);
    return total;
  }
  static KS_INLINE Vec high_half(Vec x) {
    const Vec scaled = set(134217729.0) * x;
    return scaled - (scaled - x);
  }
  // reference/arithmetic.py: fma_float64
  static KS_INLINE Vec fma(Vec x, Vec y, Vec z) {
    const Vec product = x * y, x_high = high_half(x), y_high = high_half(y), x_low = x - x_high, y_low = y - y_high;
    const Vec low = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low;
    Vec t_error, v_error, error;
    const Vec t = exact_sum(z, low, t_error), v = exact_sum(product, t, v_error);
    const Vec rest = exact_sum(t_error, v_error, error);
    return v + Vec{round_to_odd(rest.v, error.v)};
  }
  KS_INLINE Vec nearest() const {
    const __m128d sign = _mm_and_pd(v, _mm_set1_pd(-0.0)), big = _mm_or_pd(sign, _mm_set1_pd(0x1p52));
    const __m128d small = _mm_cmplt_pd(_mm_xor_pd(v, sign), _mm_set1_pd(0x1p52));
    const __m128d whole = _mm_sub_pd(_mm_add_pd(v, big), big);
    return {_mm_or_pd(_mm_and_pd(small, whole), _mm_andnot_pd(small, v))};
  }
  KS_INLINE double total() const { return _mm_cvtsd_f64(_mm_add_sd(v, _mm_unpackhi_pd(v, v))); }
};

template <>
struct Vec<float> {
  static constexpr int width = 4;
  __m128 v;
  KS_X86_NUMBERS(float, _mm_, _ps)
  // Products of floats are exact in double; their sum with another float is rounded to odd there, then to float.
  static KS_INLINE Vec fma(Vec a, Vec b, Vec c) {
    Vec<double> sum[2];
    for (int i = 0; i < 2; ++i) {
      Vec<double> error;
      sum[i] = Vec<double>::exact_sum(a.part(i) * b.part(i), c.part(i), error);
      sum[i].v = round_to_odd(sum[i].v, error.v);
    }
    return {_mm_movelh_ps(_mm_cvtpd_ps(sum[0].v), _mm_cvtpd_ps(sum[1].v))};
  }
  static KS_INLINE Vec fnma(Vec a, Vec b, Vec c) { return fma({_mm_xor_ps(a.v, _mm_set1_ps(-0.0f))}, b, c); }
  KS_INLINE Vec floor() const {
    const __m128 whole = nearest().v;
    return {_mm_sub_ps(whole, _mm_and_ps(_mm_cmpgt_ps(whole, v), _mm_set1_ps(1)))};
  }
  KS_INLINE Vec nearest() const {
    const __m128 sign = _mm_and_ps(v, _mm_set1_ps(-0.0f)), big = _mm_or_ps(sign, _mm_set1_ps(0x1p23f));
    const __m128 small = _mm_cmplt_ps(_mm_xor_ps(v, sign), _mm_set1_ps(0x1p23f));
    const __m128 whole = _mm_sub_ps(_mm_add_ps(v, big), big);
    return {_mm_or_ps(_mm_and_ps(small, whole), _mm_andnot_ps(small, v))};
  }
  static KS_INLINE Vec from_int(Vec<int32_t> x) { return {_mm_cvtepi32_ps(x.v)}; }
  static KS_INLINE Vec from_bits(Vec<int32_t> x) { return {_mm_castsi128_ps(x.v)}; }
  KS_INLINE Vec<int32_t> bits() const { return {_mm_castps_si128(v)}; }
  KS_INLINE Vec<double> part(int i) const { return {_mm_cvtps_pd(i == 0 ? v : _mm_movehl_ps(v, v))}; }
};

KS_INLINE Vec<float> less(Vec<float> a, Vec<float> b) { return {_mm_cmplt_ps(a.v, b.v)}; }
KS_INLINE Vec<double> less(Vec<double> a, Vec<double> b) { return {_mm_cmplt_pd(a.v, b.v)}; }
KS_INLINE Vec<float> select(Vec<float> mask, Vec<float> a, Vec<float> b) {
  return {_mm_or_ps(_mm_and_ps(mask.v, a.v), _mm_andnot_ps(mask.v, b.v))};
}
KS_INLINE Vec<int32_t> select(Vec<float> mask, Vec<int32_t> a, Vec<int32_t> b) {
  return select(mask, Vec<float>::from_bits(a), Vec<float>::from_bits(b)).bits();
}
KS_INLINE Vec<double> select(Vec<double> mask, Vec<double> a, Vec<double> b) {
  return {_mm_or_pd(_mm_and_pd(mask.v, a.v), _mm_andnot_pd(mask.v, b.v))};
}
KS_INLINE uint32_t bits(Vec<float> mask) { return static_cast<uint32_t>(_mm_movemask_ps(mask.v)); }

struct Bytes {
  static constexpr int width = 2;
  __m128i v;
  static KS_INLINE Bytes zero() { return {_mm_setzero_si128()}; }
  static KS_INLINE Bytes load(const uint8_t* p) { return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))}; }
  static KS_INLINE Bytes set8(const uint8_t* p) {
    const __m128i x = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return {_mm_unpacklo_epi64(x, x)};
  }
  KS_INLINE void add_differences(Bytes a, Bytes b) { v = _mm_add_epi64(v, _mm_sad_epu8(a.v, b.v)); }
  KS_INLINE void store(float* p) const {
    p[0] = static_cast<float>(_mm_cvtsi128_si32(v));
    p[1] = static_cast<float>(_mm_cvtsi128_si32(_mm_unpackhi_epi64(v, v)));
  }
  KS_INLINE int64_t total() const { return _mm_cvtsi128_si64(_mm_add_epi64(v, _mm_unpackhi_epi64(v, v))); }
};

constexpr int kEqualBytes = 16;
KS_INLINE uint32_t equal_bytes(const uint8_t* a, const uint8_t* b) {
  const __m128i x = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a));
  const __m128i y = _mm_loadu_si128(reinterpret_cast<const __m128i*>(b));
  return static_cast<uint32_t>(_mm_movemask_epi8(_mm_cmpeq_epi8(x, y)));
}

}  // namespace kernelsketch::KERNELSKETCH_ISA
