// One vector of the instruction set that this translation unit is compiled for.
//
// The build compiles src/isa/*.cpp once per instruction set and sets KERNELSKETCH_ISA to its name
// (baseline, avx2, avx512), which becomes the namespace, so that no two sets share a symbol.
// Such files use this header and nothing of the standard library beyond <cstdint>: an inline
// function of std:: compiled with AVX-512 could otherwise be linked into the baseline code.
//
// Every operation is exact or correctly rounded, so results do not depend on the vector width.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64)
#define KERNELSKETCH_X86 1
#include <immintrin.h>
#elif defined(__aarch64__) || defined(_M_ARM64)
#define KERNELSKETCH_NEON 1
#include <arm_neon.h>
#endif

#if defined(_MSC_VER)
#define KERNELSKETCH_INLINE __forceinline
#else
#define KERNELSKETCH_INLINE inline __attribute__((always_inline))
#endif

#if defined(_MSC_VER)
#define KERNELSKETCH_LAMBDA_INLINE
#else
#define KERNELSKETCH_LAMBDA_INLINE __attribute__((always_inline))
#endif

#if defined(__clang__)
#define KERNELSKETCH_UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define KERNELSKETCH_UNROLL _Pragma("GCC unroll 32")
#else
#define KERNELSKETCH_UNROLL
#endif

namespace kernelsketch::KERNELSKETCH_ISA {

template <class T>
struct Vec;

// `Vec::sum(a, b, one)` is a + b. Where there is a fused multiply-add it is fma(a, one, b), the
// same number to the last bit: minima and additions then run on different ports (on Zen 3 and 4
// both would share two of the four; measured 1.55x). `one` stays opaque to the optimizer, which
// would turn the product back into an addition.

#if defined(KERNELSKETCH_X86) && defined(__AVX512F__)

template <>
struct Vec<float> {
  static constexpr int width = 16;
  __m512 v;
  static KERNELSKETCH_INLINE Vec zero() { return {_mm512_setzero_ps()}; }
  static KERNELSKETCH_INLINE Vec set(float x) { return {_mm512_set1_ps(x)}; }
  static KERNELSKETCH_INLINE Vec load(const float* p) { return {_mm512_loadu_ps(p)}; }
  KERNELSKETCH_INLINE void store(float* p) const { _mm512_storeu_ps(p, v); }
  static KERNELSKETCH_INLINE Vec min(Vec a, Vec b) { return {_mm512_min_ps(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec max(Vec a, Vec b) { return {_mm512_max_ps(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec sum(Vec a, Vec b, Vec one) { return {_mm512_fmadd_ps(a.v, one.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator+(Vec a, Vec b) { return {_mm512_add_ps(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator-(Vec a, Vec b) { return {_mm512_sub_ps(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator*(Vec a, Vec b) { return {_mm512_mul_ps(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator/(Vec a, Vec b) { return {_mm512_div_ps(a.v, b.v)}; }
  // x where test > 0, else 0
  static KERNELSKETCH_INLINE Vec where_positive(Vec test, Vec x) {
    return {_mm512_maskz_mov_ps(_mm512_cmp_ps_mask(test.v, _mm512_setzero_ps(), _CMP_GT_OQ), x.v)};
  }
  // totals[0..width) (+)= this, in double
  KERNELSKETCH_INLINE void flush(double* t, bool start) const {
    __m512d lo = _mm512_cvtps_pd(_mm512_castps512_ps256(v));
    __m512d hi = _mm512_cvtps_pd(_mm512_extractf32x8_ps(v, 1));
    if (!start) {
      lo = _mm512_add_pd(lo, _mm512_loadu_pd(t));
      hi = _mm512_add_pd(hi, _mm512_loadu_pd(t + 8));
    }
    _mm512_storeu_pd(t, lo);
    _mm512_storeu_pd(t + 8, hi);
  }
};

template <>
struct Vec<double> {
  static constexpr int width = 8;
  __m512d v;
  static KERNELSKETCH_INLINE Vec zero() { return {_mm512_setzero_pd()}; }
  static KERNELSKETCH_INLINE Vec set(double x) { return {_mm512_set1_pd(x)}; }
  static KERNELSKETCH_INLINE Vec load(const double* p) { return {_mm512_loadu_pd(p)}; }
  KERNELSKETCH_INLINE void store(double* p) const { _mm512_storeu_pd(p, v); }
  static KERNELSKETCH_INLINE Vec min(Vec a, Vec b) { return {_mm512_min_pd(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec max(Vec a, Vec b) { return {_mm512_max_pd(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec sum(Vec a, Vec b, Vec one) { return {_mm512_fmadd_pd(a.v, one.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator+(Vec a, Vec b) { return {_mm512_add_pd(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator-(Vec a, Vec b) { return {_mm512_sub_pd(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator*(Vec a, Vec b) { return {_mm512_mul_pd(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator/(Vec a, Vec b) { return {_mm512_div_pd(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec where_positive(Vec test, Vec x) {
    return {_mm512_maskz_mov_pd(_mm512_cmp_pd_mask(test.v, _mm512_setzero_pd(), _CMP_GT_OQ), x.v)};
  }
  KERNELSKETCH_INLINE void flush(double* t, bool start) const { (start ? *this : *this + load(t)).store(t); }
};

// Sums of absolute differences of bytes: eight features of `width` columns at a time.
struct Bytes {
  static constexpr int width = 8;
  __m512i v;
  static KERNELSKETCH_INLINE Bytes zero() { return {_mm512_setzero_si512()}; }
  static KERNELSKETCH_INLINE Bytes load(const uint8_t* p) { return {_mm512_loadu_si512(p)}; }
  static KERNELSKETCH_INLINE Bytes set8(const uint8_t* p) {
    return {_mm512_broadcastq_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))};
  }
  KERNELSKETCH_INLINE void add_differences(Bytes a, Bytes b) {
    v = _mm512_add_epi64(v, _mm512_sad_epu8(a.v, b.v));
  }
  KERNELSKETCH_INLINE void store(float* p) const { _mm256_storeu_ps(p, _mm256_cvtepi32_ps(_mm512_cvtepi64_epi32(v))); }
};

#elif defined(KERNELSKETCH_X86) && defined(__AVX2__)

template <>
struct Vec<float> {
  static constexpr int width = 8;
  __m256 v;
  static KERNELSKETCH_INLINE Vec zero() { return {_mm256_setzero_ps()}; }
  static KERNELSKETCH_INLINE Vec set(float x) { return {_mm256_set1_ps(x)}; }
  static KERNELSKETCH_INLINE Vec load(const float* p) { return {_mm256_loadu_ps(p)}; }
  KERNELSKETCH_INLINE void store(float* p) const { _mm256_storeu_ps(p, v); }
  static KERNELSKETCH_INLINE Vec min(Vec a, Vec b) { return {_mm256_min_ps(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec max(Vec a, Vec b) { return {_mm256_max_ps(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec sum(Vec a, Vec b, Vec one) { return {_mm256_fmadd_ps(a.v, one.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator+(Vec a, Vec b) { return {_mm256_add_ps(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator-(Vec a, Vec b) { return {_mm256_sub_ps(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator*(Vec a, Vec b) { return {_mm256_mul_ps(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator/(Vec a, Vec b) { return {_mm256_div_ps(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec where_positive(Vec test, Vec x) {
    return {_mm256_and_ps(_mm256_cmp_ps(test.v, _mm256_setzero_ps(), _CMP_GT_OQ), x.v)};
  }
  KERNELSKETCH_INLINE void flush(double* t, bool start) const {
    __m256d lo = _mm256_cvtps_pd(_mm256_castps256_ps128(v));
    __m256d hi = _mm256_cvtps_pd(_mm256_extractf128_ps(v, 1));
    if (!start) {
      lo = _mm256_add_pd(lo, _mm256_loadu_pd(t));
      hi = _mm256_add_pd(hi, _mm256_loadu_pd(t + 4));
    }
    _mm256_storeu_pd(t, lo);
    _mm256_storeu_pd(t + 4, hi);
  }
};

template <>
struct Vec<double> {
  static constexpr int width = 4;
  __m256d v;
  static KERNELSKETCH_INLINE Vec zero() { return {_mm256_setzero_pd()}; }
  static KERNELSKETCH_INLINE Vec set(double x) { return {_mm256_set1_pd(x)}; }
  static KERNELSKETCH_INLINE Vec load(const double* p) { return {_mm256_loadu_pd(p)}; }
  KERNELSKETCH_INLINE void store(double* p) const { _mm256_storeu_pd(p, v); }
  static KERNELSKETCH_INLINE Vec min(Vec a, Vec b) { return {_mm256_min_pd(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec max(Vec a, Vec b) { return {_mm256_max_pd(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec sum(Vec a, Vec b, Vec one) { return {_mm256_fmadd_pd(a.v, one.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator+(Vec a, Vec b) { return {_mm256_add_pd(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator-(Vec a, Vec b) { return {_mm256_sub_pd(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator*(Vec a, Vec b) { return {_mm256_mul_pd(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator/(Vec a, Vec b) { return {_mm256_div_pd(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec where_positive(Vec test, Vec x) {
    return {_mm256_and_pd(_mm256_cmp_pd(test.v, _mm256_setzero_pd(), _CMP_GT_OQ), x.v)};
  }
  KERNELSKETCH_INLINE void flush(double* t, bool start) const { (start ? *this : *this + load(t)).store(t); }
};

struct Bytes {
  static constexpr int width = 4;
  __m256i v;
  static KERNELSKETCH_INLINE Bytes zero() { return {_mm256_setzero_si256()}; }
  static KERNELSKETCH_INLINE Bytes load(const uint8_t* p) {
    return {_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))};
  }
  static KERNELSKETCH_INLINE Bytes set8(const uint8_t* p) {
    return {_mm256_broadcastq_epi64(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)))};
  }
  KERNELSKETCH_INLINE void add_differences(Bytes a, Bytes b) {
    v = _mm256_add_epi64(v, _mm256_sad_epu8(a.v, b.v));
  }
  KERNELSKETCH_INLINE void store(float* p) const {
    const __m256i low = _mm256_permutevar8x32_epi32(v, _mm256_setr_epi32(0, 2, 4, 6, 0, 2, 4, 6));
    _mm_storeu_ps(p, _mm_cvtepi32_ps(_mm256_castsi256_si128(low)));
  }
};

#elif defined(KERNELSKETCH_X86)  // SSE2: every x86-64 processor

template <>
struct Vec<float> {
  static constexpr int width = 4;
  __m128 v;
  static KERNELSKETCH_INLINE Vec zero() { return {_mm_setzero_ps()}; }
  static KERNELSKETCH_INLINE Vec set(float x) { return {_mm_set1_ps(x)}; }
  static KERNELSKETCH_INLINE Vec load(const float* p) { return {_mm_loadu_ps(p)}; }
  KERNELSKETCH_INLINE void store(float* p) const { _mm_storeu_ps(p, v); }
  static KERNELSKETCH_INLINE Vec min(Vec a, Vec b) { return {_mm_min_ps(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec max(Vec a, Vec b) { return {_mm_max_ps(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec sum(Vec a, Vec b, Vec) { return {_mm_add_ps(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator+(Vec a, Vec b) { return {_mm_add_ps(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator-(Vec a, Vec b) { return {_mm_sub_ps(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator*(Vec a, Vec b) { return {_mm_mul_ps(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator/(Vec a, Vec b) { return {_mm_div_ps(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec where_positive(Vec test, Vec x) {
    return {_mm_and_ps(_mm_cmpgt_ps(test.v, _mm_setzero_ps()), x.v)};
  }
  KERNELSKETCH_INLINE void flush(double* t, bool start) const {
    __m128d lo = _mm_cvtps_pd(v);
    __m128d hi = _mm_cvtps_pd(_mm_movehl_ps(v, v));
    if (!start) {
      lo = _mm_add_pd(lo, _mm_loadu_pd(t));
      hi = _mm_add_pd(hi, _mm_loadu_pd(t + 2));
    }
    _mm_storeu_pd(t, lo);
    _mm_storeu_pd(t + 2, hi);
  }
};

template <>
struct Vec<double> {
  static constexpr int width = 2;
  __m128d v;
  static KERNELSKETCH_INLINE Vec zero() { return {_mm_setzero_pd()}; }
  static KERNELSKETCH_INLINE Vec set(double x) { return {_mm_set1_pd(x)}; }
  static KERNELSKETCH_INLINE Vec load(const double* p) { return {_mm_loadu_pd(p)}; }
  KERNELSKETCH_INLINE void store(double* p) const { _mm_storeu_pd(p, v); }
  static KERNELSKETCH_INLINE Vec min(Vec a, Vec b) { return {_mm_min_pd(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec max(Vec a, Vec b) { return {_mm_max_pd(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec sum(Vec a, Vec b, Vec) { return {_mm_add_pd(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator+(Vec a, Vec b) { return {_mm_add_pd(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator-(Vec a, Vec b) { return {_mm_sub_pd(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator*(Vec a, Vec b) { return {_mm_mul_pd(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator/(Vec a, Vec b) { return {_mm_div_pd(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec where_positive(Vec test, Vec x) {
    return {_mm_and_pd(_mm_cmpgt_pd(test.v, _mm_setzero_pd()), x.v)};
  }
  KERNELSKETCH_INLINE void flush(double* t, bool start) const { (start ? *this : *this + load(t)).store(t); }
};

struct Bytes {
  static constexpr int width = 2;
  __m128i v;
  static KERNELSKETCH_INLINE Bytes zero() { return {_mm_setzero_si128()}; }
  static KERNELSKETCH_INLINE Bytes load(const uint8_t* p) {
    return {_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))};
  }
  static KERNELSKETCH_INLINE Bytes set8(const uint8_t* p) {
    const __m128i x = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(p));
    return {_mm_unpacklo_epi64(x, x)};
  }
  KERNELSKETCH_INLINE void add_differences(Bytes a, Bytes b) { v = _mm_add_epi64(v, _mm_sad_epu8(a.v, b.v)); }
  KERNELSKETCH_INLINE void store(float* p) const {
    p[0] = static_cast<float>(_mm_cvtsi128_si32(v));
    p[1] = static_cast<float>(_mm_cvtsi128_si32(_mm_unpackhi_epi64(v, v)));
  }
};

#elif defined(KERNELSKETCH_NEON)

template <>
struct Vec<float> {
  static constexpr int width = 4;
  float32x4_t v;
  static KERNELSKETCH_INLINE Vec zero() { return {vdupq_n_f32(0)}; }
  static KERNELSKETCH_INLINE Vec set(float x) { return {vdupq_n_f32(x)}; }
  static KERNELSKETCH_INLINE Vec load(const float* p) { return {vld1q_f32(p)}; }
  KERNELSKETCH_INLINE void store(float* p) const { vst1q_f32(p, v); }
  static KERNELSKETCH_INLINE Vec min(Vec a, Vec b) { return {vminq_f32(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec max(Vec a, Vec b) { return {vmaxq_f32(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec sum(Vec a, Vec b, Vec) { return {vaddq_f32(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator+(Vec a, Vec b) { return {vaddq_f32(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator-(Vec a, Vec b) { return {vsubq_f32(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator*(Vec a, Vec b) { return {vmulq_f32(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator/(Vec a, Vec b) { return {vdivq_f32(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec where_positive(Vec test, Vec x) {
    return {vreinterpretq_f32_u32(vandq_u32(vcgtzq_f32(test.v), vreinterpretq_u32_f32(x.v)))};
  }
  KERNELSKETCH_INLINE void flush(double* t, bool start) const {
    float64x2_t lo = vcvt_f64_f32(vget_low_f32(v));
    float64x2_t hi = vcvt_high_f64_f32(v);
    if (!start) {
      lo = vaddq_f64(lo, vld1q_f64(t));
      hi = vaddq_f64(hi, vld1q_f64(t + 2));
    }
    vst1q_f64(t, lo);
    vst1q_f64(t + 2, hi);
  }
};

template <>
struct Vec<double> {
  static constexpr int width = 2;
  float64x2_t v;
  static KERNELSKETCH_INLINE Vec zero() { return {vdupq_n_f64(0)}; }
  static KERNELSKETCH_INLINE Vec set(double x) { return {vdupq_n_f64(x)}; }
  static KERNELSKETCH_INLINE Vec load(const double* p) { return {vld1q_f64(p)}; }
  KERNELSKETCH_INLINE void store(double* p) const { vst1q_f64(p, v); }
  static KERNELSKETCH_INLINE Vec min(Vec a, Vec b) { return {vminq_f64(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec max(Vec a, Vec b) { return {vmaxq_f64(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec sum(Vec a, Vec b, Vec) { return {vaddq_f64(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator+(Vec a, Vec b) { return {vaddq_f64(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator-(Vec a, Vec b) { return {vsubq_f64(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator*(Vec a, Vec b) { return {vmulq_f64(a.v, b.v)}; }
  friend KERNELSKETCH_INLINE Vec operator/(Vec a, Vec b) { return {vdivq_f64(a.v, b.v)}; }
  static KERNELSKETCH_INLINE Vec where_positive(Vec test, Vec x) {
    return {vreinterpretq_f64_u64(vandq_u64(vcgtzq_f64(test.v), vreinterpretq_u64_f64(x.v)))};
  }
  KERNELSKETCH_INLINE void flush(double* t, bool start) const { (start ? *this : *this + load(t)).store(t); }
};

struct Bytes {
  static constexpr int width = 2;
  uint64x2_t v;
  static KERNELSKETCH_INLINE Bytes zero() { return {vdupq_n_u64(0)}; }
  static KERNELSKETCH_INLINE Bytes load(const uint8_t* p) { return {vreinterpretq_u64_u8(vld1q_u8(p))}; }
  static KERNELSKETCH_INLINE Bytes set8(const uint8_t* p) {
    const uint8x8_t x = vld1_u8(p);
    return {vreinterpretq_u64_u8(vcombine_u8(x, x))};
  }
  KERNELSKETCH_INLINE void add_differences(Bytes a, Bytes b) {
    const uint8x16_t d = vabdq_u8(vreinterpretq_u8_u64(a.v), vreinterpretq_u8_u64(b.v));
    v = vpadalq_u32(v, vpaddlq_u16(vpaddlq_u8(d)));
  }
  KERNELSKETCH_INLINE void store(float* p) const {
    p[0] = static_cast<float>(vgetq_lane_u64(v, 0));
    p[1] = static_cast<float>(vgetq_lane_u64(v, 1));
  }
};

#else  // any other processor: one lane

template <class T>
struct Vec {
  static constexpr int width = 1;
  T v;
  static KERNELSKETCH_INLINE Vec zero() { return {0}; }
  static KERNELSKETCH_INLINE Vec set(T x) { return {x}; }
  static KERNELSKETCH_INLINE Vec load(const T* p) { return {*p}; }
  KERNELSKETCH_INLINE void store(T* p) const { *p = v; }
  static KERNELSKETCH_INLINE Vec min(Vec a, Vec b) { return {a.v < b.v ? a.v : b.v}; }
  static KERNELSKETCH_INLINE Vec max(Vec a, Vec b) { return {a.v > b.v ? a.v : b.v}; }
  static KERNELSKETCH_INLINE Vec sum(Vec a, Vec b, Vec) { return {a.v + b.v}; }
  friend KERNELSKETCH_INLINE Vec operator+(Vec a, Vec b) { return {a.v + b.v}; }
  friend KERNELSKETCH_INLINE Vec operator-(Vec a, Vec b) { return {a.v - b.v}; }
  friend KERNELSKETCH_INLINE Vec operator*(Vec a, Vec b) { return {a.v * b.v}; }
  friend KERNELSKETCH_INLINE Vec operator/(Vec a, Vec b) { return {a.v / b.v}; }
  static KERNELSKETCH_INLINE Vec where_positive(Vec test, Vec x) { return {test.v > 0 ? x.v : T(0)}; }
  KERNELSKETCH_INLINE void flush(double* t, bool start) const {
    *t = start ? static_cast<double>(v) : *t + static_cast<double>(v);
  }
};

struct Bytes {
  static constexpr int width = 1;
  const uint8_t* p = nullptr;
  uint32_t v = 0;
  static KERNELSKETCH_INLINE Bytes zero() { return {}; }
  static KERNELSKETCH_INLINE Bytes load(const uint8_t* q) { return {q, 0}; }
  static KERNELSKETCH_INLINE Bytes set8(const uint8_t* q) { return {q, 0}; }
  KERNELSKETCH_INLINE void add_differences(Bytes a, Bytes b) {
    for (int i = 0; i < 8; ++i) v += a.p[i] > b.p[i] ? a.p[i] - b.p[i] : b.p[i] - a.p[i];
  }
  KERNELSKETCH_INLINE void store(float* q) const { *q = static_cast<float>(v); }
};

#endif

}  // namespace kernelsketch::KERNELSKETCH_ISA
