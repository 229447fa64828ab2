// simd.h for AVX-512 F, DQ, BW and VL: masks are in registers of their own.
#pragma once

#include <immintrin.h>

#define KS_MASKS 1         // stores of chosen lanes, loads of the first ones
#define KS_32_REGISTERS 1  // others have 16

namespace kernelsketch::KERNELSKETCH_ISA {

template <>
struct Vec<int32_t> {
  static constexpr int width = 16;
  __m512i v;
  KS_X86_INTEGERS(_mm512_, 512)
  friend KS_INLINE Vec operator*(Vec a, Vec b) { return {_mm512_mullo_epi32(a.v, b.v)}; }
};

template <>
struct Vec<double> {
  static constexpr int width = 8;
  __m512d v;
  static KS_INLINE Vec load(const float* p) { return {_mm512_cvtps_pd(_mm256_loadu_ps(p))}; }
  KS_INLINE void store(float* p) const { _mm256_storeu_ps(p, _mm512_cvtpd_ps(v)); }
  KS_X86_NUMBERS(double, _mm512_, _pd)
  static KS_INLINE Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_pd(a.v, b.v, c.v)}; }
  KS_INLINE Vec nearest() const { return {_mm512_roundscale_pd(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
  KS_INLINE double total() const {
    const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(v), _mm512_extractf64x4_pd(v, 1));
    const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
    return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
  }
};

template <>
struct Vec<float> {
  static constexpr int width = 16;
  __m512 v;
  KS_X86_NUMBERS(float, _mm512_, _ps)
  static KS_INLINE Vec fma(Vec a, Vec b, Vec c) { return {_mm512_fmadd_ps(a.v, b.v, c.v)}; }
  static KS_INLINE Vec fnma(Vec a, Vec b, Vec c) { return {_mm512_fnmadd_ps(a.v, b.v, c.v)}; }
  KS_INLINE Vec floor() const { return {_mm512_roundscale_ps(v, _MM_FROUND_TO_NEG_INF | _MM_FROUND_NO_EXC)}; }
  KS_INLINE Vec nearest() const { return {_mm512_roundscale_ps(v, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC)}; }
  static KS_INLINE Vec from_int(Vec<int32_t> x) { return {_mm512_cvtepi32_ps(x.v)}; }
  static KS_INLINE Vec from_bits(Vec<int32_t> x) { return {_mm512_castsi512_ps(x.v)}; }
  KS_INLINE Vec<int32_t> bits() const { return {_mm512_castps_si512(v)}; }
  KS_INLINE Vec<double> part(int i) const {
    return {_mm512_cvtps_pd(i == 0 ? _mm512_castps512_ps256(v) : _mm512_extractf32x8_ps(v, 1))};
  }
};

KS_INLINE __mmask16 less(Vec<float> a, Vec<float> b) { return _mm512_cmp_ps_mask(a.v, b.v, _CMP_LT_OQ); }
KS_INLINE __mmask8 less(Vec<double> a, Vec<double> b) { return _mm512_cmp_pd_mask(a.v, b.v, _CMP_LT_OQ); }
KS_INLINE Vec<float> select(__mmask16 mask, Vec<float> a, Vec<float> b) { return {_mm512_mask_mov_ps(b.v, mask, a.v)}; }
KS_INLINE Vec<int32_t> select(__mmask16 mask, Vec<int32_t> a, Vec<int32_t> b) {
  return {_mm512_mask_mov_epi32(b.v, mask, a.v)};
}
KS_INLINE Vec<double> select(__mmask8 mask, Vec<double> a, Vec<double> b) {
  return {_mm512_mask_mov_pd(b.v, mask, a.v)};
}
KS_INLINE uint32_t bits(__mmask16 mask) { return mask; }

KS_INLINE void pack(Vec<float> x, uint32_t bits, float* to) {
  _mm512_storeu_ps(to, _mm512_maskz_compress_ps(static_cast<__mmask16>(bits), x.v));
}
KS_INLINE void pack(Vec<int32_t> x, uint32_t bits, int32_t* to) {
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi32(static_cast<__mmask16>(bits), x.v));
}

struct Bytes {
  static constexpr int width = 8;
  __m512i v;
  static KS_INLINE Bytes zero() { return {_mm512_setzero_si512()}; }
  static KS_INLINE Bytes load(const uint8_t* p) { return {_mm512_loadu_si512(p)}; }
  static KS_INLINE Bytes load_some(const uint8_t* p, int64_t n) {
    return {_mm512_maskz_loadu_epi8((uint64_t{1} << n) - 1, p)};
  }
  static KS_INLINE Bytes set8(const uint8_t* p) {
    return {_mm512_broadcastq_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))};
  }
  KS_INLINE void add_differences(Bytes a, Bytes b) { v = _mm512_add_epi64(v, _mm512_sad_epu8(a.v, b.v)); }
  KS_INLINE void store(float* p) const { _mm256_storeu_ps(p, _mm256_cvtepi32_ps(_mm512_cvtepi64_epi32(v))); }
  KS_INLINE int64_t total() const { return _mm512_reduce_add_epi64(v); }
};

KS_INLINE uint64_t equal_bytes(const uint8_t* a, const uint8_t* b, int64_t n) {
  if (n == 64) return _mm512_cmpeq_epi8_mask(_mm512_loadu_si512(a), _mm512_loadu_si512(b));
  const __mmask64 live = (uint64_t{1} << n) - 1;
  return _mm512_mask_cmpeq_epi8_mask(live, _mm512_maskz_loadu_epi8(live, a), _mm512_maskz_loadu_epi8(live, b));
}

}  // namespace kernelsketch::KERNELSKETCH_ISA
