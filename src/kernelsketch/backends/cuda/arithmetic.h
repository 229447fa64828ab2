// The arithmetic that codes, kernels and Fourier features share on a GPU, bit for bit that of the NumPy reference
// (reference/arithmetic.py, rng.py, gcws.py, gmm.py, pack.py).
//
// This header is plain C++. NVRTC compiles it for the card, and a C++ compiler compiles it for tests on machines
// without a card. Every fused multiply-add is written out; all other products and sums are rounded one by one, so the
// compilers must not contract them (--fmad=false, -ffp-contract=off). Nothing here depends on the order of threads.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef int i32;
typedef long long i64;

#ifdef __CUDACC__
#define KS_FUNCTION __host__ __device__ __forceinline__
#else
#include <cmath>
#include <cstring>
#define KS_FUNCTION inline
#endif

namespace ks {

#ifdef __CUDA_ARCH__
KS_FUNCTION float fused(float a, float b, float c) { return __fmaf_rn(a, b, c); }
KS_FUNCTION double fused(double a, double b, double c) { return __fma_rn(a, b, c); }
KS_FUNCTION float root(float x) { return __fsqrt_rn(x); }
KS_FUNCTION double root(double x) { return __dsqrt_rn(x); }
KS_FUNCTION float nearest(float x) { return rintf(x); }
KS_FUNCTION double nearest(double x) { return rint(x); }
KS_FUNCTION float below(float x) { return floorf(x); }
KS_FUNCTION float quotient(float a, float b) { return __fdiv_rn(a, b); }
KS_FUNCTION double quotient(double a, double b) { return __ddiv_rn(a, b); }
KS_FUNCTION i32 bits_of(float x) { return __float_as_int(x); }
KS_FUNCTION float float_of(u32 bits) { return __uint_as_float(bits); }
KS_FUNCTION i64 bits_of(double x) { return __double_as_longlong(x); }
KS_FUNCTION double double_of(i64 bits) { return __longlong_as_double(bits); }
#else
template <class To, class From>
inline To bits_as(From x) {
  To y;
  static_assert(sizeof(To) == sizeof(From), "types of one size");
  __builtin_memcpy(&y, &x, sizeof y);
  return y;
}
inline float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
inline double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }
inline float root(float x) { return __builtin_sqrtf(x); }
inline double root(double x) { return __builtin_sqrt(x); }
inline float nearest(float x) { return __builtin_rintf(x); }
inline double nearest(double x) { return __builtin_rint(x); }
inline float below(float x) { return __builtin_floorf(x); }
inline float quotient(float a, float b) { return a / b; }
inline double quotient(double a, double b) { return a / b; }
inline i32 bits_of(float x) { return bits_as<i32>(x); }
inline float float_of(u32 bits) { return bits_as<float>(bits); }
inline i64 bits_of(double x) { return bits_as<i64>(x); }
inline double double_of(i64 bits) { return bits_as<double>(bits); }
#endif

// The generator (reference/rng.py): words are functions of the seed, the slot, the number of the word and the hash.

constexpr u64 kGolden64 = 0x9E3779B97F4A7C15ull;
constexpr u32 kGolden32 = 0x9E3779B1u;

KS_FUNCTION u64 mix64(u64 z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

KS_FUNCTION u64 slot_state(u64 seed, u64 slot) { return mix64(slot + mix64(seed + kGolden64)); }

KS_FUNCTION u64 slot_key(u64 state, int word) { return mix64(state + (u64)(word + 1) * kGolden64); }

KS_FUNCTION u32 hash_word(u64 key, u32 hash) {
  u32 x = (hash * kGolden32) ^ (u32)key;
  x ^= x >> 16;
  x *= 0x21F0AAADu;
  x ^= (x >> 15) ^ (u32)(key >> 32);
  x *= 0x735A2D97u;
  return x ^ (x >> 15);
}

// (m + 1/2) / 2^16 and (m + 1/2) / 2^23: exact, without a conversion from integers, which is slow on a GPU.
KS_FUNCTION float above_one16(u32 m) { return float_of(0x3F800000u | (m << 7) | 0x40u); }  // 1 + (m + 1/2) / 2^16
KS_FUNCTION float uniform16(u32 m) { return above_one16(m) - 1.0f; }
KS_FUNCTION float uniform23(u32 m) { return float_of(0x3F800000u | m) - (1.0f - 5.9604644775390625e-8f); }

// A logarithm for random parameters (reference/arithmetic.py, log2_float32).
KS_FUNCTION float log2_float32(float x) {
  i32 bits = bits_of(x);
  i32 exponent = (bits - 0x3F3504F3) >> 23;
  float f = float_of((u32)(bits - (i32)((u32)exponent << 23))) - 1.0f;
  float p = -0.2061910480260849f;
  p = fused(p, f, 0.31819990277290344f);
  p = fused(p, f, -0.3664917051792145f);
  p = fused(p, f, 0.4798118472099304f);
  p = fused(p, f, -0.7212063670158386f);
  p = fused(p, f, 1.4427015781402588f);
  return fused(f, p, (float)exponent);
}

// log2 of a positive finite number in float64, after rounding its mantissa to 24 bits (log2_value).
KS_FUNCTION double log2_value(double x) {
  i64 bits = bits_of(x);
  i32 exponent = -1022;
  if (((bits >> 52) & 0x7FF) == 0) {  // subnormal
    bits = bits_of(x * 18014398509481984.0);
    exponent -= 54;
  }
  exponent += (i32)((bits >> 52) & 0x7FF);
  double m = (double)(float)double_of((bits & 0x000FFFFFFFFFFFFFll) | 0x3FE0000000000000ll);
  if (m < 0.70710678118654752440) {
    m = 2 * m;
    exponent -= 1;
  }
  double s = quotient(m - 1, m + 1), z = s * s;
  double p = 2 / (15 * 0.69314718055994530942);
  p = p * z + 2 / (13 * 0.69314718055994530942);
  p = p * z + 2 / (11 * 0.69314718055994530942);
  p = p * z + 2 / (9 * 0.69314718055994530942);
  p = p * z + 2 / (7 * 0.69314718055994530942);
  p = p * z + 2 / (5 * 0.69314718055994530942);
  p = p * z + 2 / (3 * 0.69314718055994530942);
  p = p * z + 2 / (1 * 0.69314718055994530942);
  return s * p + exponent;
}

// Generalized consistent weighted sampling (reference/gcws.py).

struct Parameters {
  float r, reciprocal, above_beta, A;  // above_beta is 1 + beta
};

// The random numbers of Algorithm 1 in two words: A, and r (8 significant bits) with the 16 bits of beta.
struct PackedParameters {
  float A;
  u32 r_beta;
};

KS_FUNCTION PackedParameters packed_parameters(u64 state, u32 hash) {
  u32 w0 = hash_word(slot_key(state, 0), hash);
  u32 w1 = hash_word(slot_key(state, 1), hash);
  u32 w2 = hash_word(slot_key(state, 2), hash);
  u32 m = ((w1 & 0xFF) << 8) | (w2 & 0xFF);
  float r = -log2_float32(uniform16(w0 >> 16) * uniform16(w0 & 0xFFFF));
  u32 rounded = ((u32)bits_of(r) + 0x8000u) & 0xFFFF0000u;
  float c = -log2_float32(uniform23(w1 >> 9) * uniform23(w2 >> 9));
  return {fused(float_of(rounded), uniform16(m), log2_float32(c)), rounded | m};
}

// 1 / r, correctly rounded. On the card a hardware approximation with an error of one unit in the last place is
// corrected by one step of Newton's method, which is exact for every r of 8 significant bits (tests/backends/cuda).
KS_FUNCTION float reciprocal_of(float r) {
#ifdef __CUDA_ARCH__
  float y;
  asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(r));
  return fused(y, fused(-r, y, 1.0f), y);
#else
  return 1.0f / r;
#endif
}

KS_FUNCTION Parameters unpacked(PackedParameters packed) {
  float r = float_of(packed.r_beta & 0xFFFF0000u);
  return {r, reciprocal_of(r), above_one16(packed.r_beta & 0xFFFFu), packed.A};
}

KS_FUNCTION float log_weight(double value, double p) {
  return (float)(p * log2_value(value < 0 ? -value : value));
}

// t + 1 of a value with log weight L.
KS_FUNCTION float above_of(float L, const Parameters& of) { return below(fused(L, of.reciprocal, of.above_beta)); }

// Adding and subtracting 1.5 * 2^23 with rounding downwards is the floor of numbers below 2^22, at full speed on a GPU.
// Since r is above 2.1e-5, they are below 2^22 if L is below kLargestFastLog.
constexpr float kLargestFastLog = 80.0f;
KS_FUNCTION float fast_below(float x) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(__fadd_rd(x, 12582912.0f), -12582912.0f);
#else
  return __builtin_floorf(x);
#endif
}

// Codes and fingerprints (reference/pack.py, index.py).

KS_FUNCTION u32 code_of(u64 slot, i64 t, int bits, int t_bits) {
  u64 code = ((slot >> 1) ^ ((slot & 1) << (bits - 1))) & (((u64)1 << bits) - 1);
  return (u32)(code | (((u64)t & (((u64)1 << t_bits) - 1)) << bits));
}

KS_FUNCTION u8 fingerprint_of(u64 slot, i64 t, u64 hash) {
  return (u8)(mix64(mix64(slot + (hash + 1) * kGolden64) + (u64)t + kGolden64) & 255);
}

// The min-max kernel (reference/gmm.py).

template <class T>
KS_FUNCTION T least(T a, T b) { return b < a ? b : a; }

#ifdef __CUDA_ARCH__
template <>
KS_FUNCTION float least(float a, float b) { return fminf(a, b); }
#endif

template <class T>
KS_FUNCTION T tree_sum(const T* m) {
  return ((m[0] + m[1]) + (m[2] + m[3])) + ((m[4] + m[5]) + (m[6] + m[7]));
}

enum { kMinMax = 0, kIntersection = 1 };

// The kernel from |u| + |v| and D = |u - v|, clipped to [0, 1].
template <class T>
KS_FUNCTION T minmax_ratio(T total, T distance, int ratio) {
  T under = ratio == kMinMax ? total + distance : total;
  if (!(under > 0)) return 0;
  T found = quotient(total - distance, under);
  return found < 0 ? (T)0 : found > 1 ? (T)1 : found;
}

template <class T>
KS_FUNCTION T sparse_ratio(double minima, double total, int ratio) {
  double under = ratio == kMinMax ? total - minima : total;
  double over = ratio == kMinMax ? minima : minima + minima;
  double found = quotient(over, under > 0 ? under : 1.0);
  return (T)(found < 1 ? found : 1.0);
}

// Fourier features (reference/fourier.py).

KS_FUNCTION float cos_turns(float y) {
  float f = y - nearest(y), z = f * f;
  float p = 6.527706146240234f;
  p = fused(p, z, -25.96688461303711f);
  p = fused(p, z, 60.16743087768555f);
  p = fused(p, z, -85.45011138916016f);
  p = fused(p, z, 64.93911743164062f);
  p = fused(p, z, -19.73920440673828f);
  return fused(p, z, 1.0f);
}

KS_FUNCTION double cos_turns(double y) {
  double f = y - nearest(y), z = f * f;
  double p = 0.003359676254891574;
  p = fused(p, z, -0.03613799133425832);
  p = fused(p, z, 0.2819245703565778);
  p = fused(p, z, -1.7143738447256551);
  p = fused(p, z, 7.903534122041613);
  p = fused(p, z, -26.426256590531025);
  p = fused(p, z, 60.24464136156249);
  p = fused(p, z, -85.45681720637177);
  p = fused(p, z, 64.93939402266314);
  p = fused(p, z, -19.739208802178684);
  return fused(p, z, 1.0);
}

constexpr u64 kPhaseSlot = 1ull << 63;

KS_FUNCTION float normal_of(u64 state, u32 hash) {
  u32 length = hash_word(slot_key(state, 3), hash), angle = hash_word(slot_key(state, 4), hash);
  float u = fused((float)(length >> 1), 4.656612873077393e-10f, 2.3283064365386963e-10f);
  return root(1.3862944f * -log2_float32(u)) * cos_turns(uniform23(angle >> 9));
}

KS_FUNCTION float phase_of(u64 state, u32 hash) { return uniform23(hash_word(slot_key(state, 3), hash) >> 9); }

}  // namespace ks
