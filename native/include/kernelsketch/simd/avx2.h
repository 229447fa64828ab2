// simd.h for AVX2 with FMA. A mask is a vector whose lanes are all ones or all zeros.
#pragma once

#include <immintrin.h>

namespace kernelsketch::KERNELSKETCH_ISA {

template <>
struct Vec<int32_t> {
  static constexpr int width = 8;
  __m256i v;
  KS_X86_INTEGERS(_mm256_, 256)
  friend KS_INLINE Vec operator*(Vec a, Vec b) { return {_mm256_mullo_epi32(a.v, b.v)}; }
};

template <>
struct Vec<double> {
  static constexpr int width = 4;
  __m256d v;
  static KS_INLINE Vec load(const float* p) { return {_mm256_cvtps_pd(_mm_loadu_ps(p))}; }
  KS_INLINE void store(float* p) const { _mm_storeu_ps(p, _mm256_cvtpd_ps(v)); }
  KS_X86_NUMBERS(double, _mm256_, _pd)
  static KS_INLINE Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_pd(a.v, b.v, c.v)}; }
  KS_INLINE Vec nearest() const { return {_mm256_round_pd(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
  KS_INLINE double total() const {
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(v), _mm256_extractf128_pd(v, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
};

template <>
struct Vec<float> {
  static constexpr int width = 8;
  __m256 v;
  KS_X86_NUMBERS(float, _mm256_, _ps)
  static KS_INLINE Vec fma(Vec a, Vec b, Vec c) { return {_mm256_fmadd_ps(a.v, b.v, c.v)}; }
  static KS_INLINE Vec fnma(Vec a, Vec b, Vec c) { return {_mm256_fnmadd_ps(a.v, b.v, c.v)}; }
  KS_INLINE Vec floor() const { return {_mm256_floor_ps(v)}; }
  KS_INLINE Vec nearest() const { return {_mm256_round_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
  static KS_INLINE Vec from_int(Vec<int32_t> x) { return {_mm256_cvtepi32_ps(x.v)}; }
  static KS_INLINE Vec from_bits(Vec<int32_t> x) { return {_mm256_castsi256_ps(x.v)}; }
  KS_INLINE Vec<int32_t> bits() const { return {_mm256_castps_si256(v)}; }
  KS_INLINE Vec<double> part(int i) const {
    return {_mm256_cvtps_pd(i == 0 ? _mm256_castps256_ps128(v) : _mm256_extractf128_ps(v, 1))};
  }
};

KS_INLINE Vec<float> less(Vec<float> a, Vec<float> b) { return {_mm256_cmp_ps(a.v, b.v, _CMP_LT_OQ)}; }
KS_INLINE Vec<double> less(Vec<double> a, Vec<double> b) { return {_mm256_cmp_pd(a.v, b.v, _CMP_LT_OQ)}; }
KS_INLINE Vec<float> select(Vec<float> mask, Vec<float> a, Vec<float> b) {
  return {_mm256_blendv_ps(b.v, a.v, mask.v)};
}
KS_INLINE Vec<int32_t> select(Vec<float> mask, Vec<int32_t> a, Vec<int32_t> b) {
  return select(mask, Vec<float>::from_bits(a), Vec<float>::from_bits(b)).bits();
}
KS_INLINE Vec<double> select(Vec<double> mask, Vec<double> a, Vec<double> b) {
  return {_mm256_blendv_pd(b.v, a.v, mask.v)};
}
KS_INLINE uint32_t bits(Vec<float> mask) { return static_cast<uint32_t>(_mm256_movemask_ps(mask.v)); }

struct Bytes {
  static constexpr int width = 4;
  __m256i v;
  static KS_INLINE Bytes zero() { return {_mm256_setzero_si256()}; }
  static KS_INLINE Bytes load(const uint8_t* p) { return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))}; }
  static KS_INLINE Bytes set8(const uint8_t* p) {
    return {_mm256_broadcastq_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))};
  }
  KS_INLINE void add_differences(Bytes a, Bytes b) { v = _mm256_add_epi64(v, _mm256_sad_epu8(a.v, b.v)); }
  KS_INLINE void store(float* p) const {
    const __m256i low = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
    _mm_storeu_ps(p, _mm_cvtepi32_ps(_mm256_castsi256_si128(low)));
  }
  KS_INLINE int64_t total() const {
    const __m128i two = _mm_add_epi64(_mm256_castsi256_si128(v), _mm256_extracti128_si256(v, 1));
    return _mm_cvtsi128_si64(_mm_add_epi64(two, _mm_unpackhi_epi64(two, two)));
  }
};

constexpr int kEqualBytes = 32;
KS_INLINE uint32_t equal_bytes(const uint8_t* a, const uint8_t* b) {
  const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a));
  const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
  return static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, y)));
}

}  // namespace kernelsketch::KERNELSKETCH_ISA
