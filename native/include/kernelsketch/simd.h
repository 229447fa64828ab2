// Vectors of the instruction set that this translation unit is compiled for.
//
// The build compiles src/isa/*.cpp once per instruction set and sets KERNELSKETCH_ISA to its name
// (baseline, avx2, avx512), which becomes the namespace, so that no two sets share a symbol.
// Such files use this header and nothing of the standard library beyond <cstdint>: an inline
// function of std:: compiled with AVX-512 could otherwise be linked into the baseline code.
//
//   Vec<T>                  one register of floats, doubles or 32-bit integers: a file of simd/ for each instruction set
//   Lanes<T, n>             n lanes whatever the set: a register, or pairs of pairs of registers
//   F16, I16, D8            sixteen floats or integers, eight doubles: what the hash and the Fourier features use
//   less, select, bits      comparison of lanes, choice by it, and it as bits, lane 0 lowest
//   pack(x, bits, to)       stores the lanes whose bits are set, one after the other; writes up to a whole vector
//   Bytes                   sums of absolute differences of bytes: eight features of `width` columns at a time
//   equal_bytes(a, b, n)    bit j: whether bytes j are equal, for n up to 64
//   byte_distance(a, b, n)  sum of absolute differences
//
// Every operation is exact or correctly rounded, so results do not depend on the width. fma is fused everywhere: SSE2,
// which has no such instruction, puts it together from others with rounding to odd, as the reference does.
#pragma once

#include <cstdint>

#include "core/arithmetic.h"
#include "kernelsketch/compiler.h"

namespace kernelsketch::KERNELSKETCH_ISA {

template <class T>
struct Vec;

// What instruction sets name alike: prefix, operation, suffix.
#define KS_ARITHMETIC(prefix, suffix)                                                      \
  static KS_INLINE Vec min(Vec a, Vec b) { return {prefix##min##suffix(a.v, b.v)}; }       \
  static KS_INLINE Vec max(Vec a, Vec b) { return {prefix##max##suffix(a.v, b.v)}; }       \
  friend KS_INLINE Vec operator+(Vec a, Vec b) { return {prefix##add##suffix(a.v, b.v)}; } \
  friend KS_INLINE Vec operator-(Vec a, Vec b) { return {prefix##sub##suffix(a.v, b.v)}; } \
  friend KS_INLINE Vec operator*(Vec a, Vec b) { return {prefix##mul##suffix(a.v, b.v)}; } \
  friend KS_INLINE Vec operator/(Vec a, Vec b) { return {prefix##div##suffix(a.v, b.v)}; } \
  KS_INLINE Vec root() const { return {prefix##sqrt##suffix(v)}; }

// By a number of bits that the instruction contains.
#define KS_SHIFT(name, ...)    \
  template <int n>             \
  KS_INLINE Vec name() const { \
    return {__VA_ARGS__};      \
  }

// The same on x86, for each width of registers: what vectors of numbers and of integers have in common.
#define KS_X86_NUMBERS(T, prefix, suffix)                                      \
  static KS_INLINE Vec set(T x) { return {prefix##set1##suffix(x)}; }          \
  static KS_INLINE Vec load(const T* p) { return {prefix##loadu##suffix(p)}; } \
  KS_INLINE void store(T* p) const { prefix##storeu##suffix(p, v); }           \
  KS_ARITHMETIC(prefix, suffix)
#define KS_X86_INTEGERS(prefix, bits)                                                                        \
  static KS_INLINE Vec set(uint32_t x) { return {prefix##set1_epi32(static_cast<int>(x))}; }                 \
  static KS_INLINE Vec load(const int32_t* p) {                                                              \
    return {prefix##loadu_si##bits(reinterpret_cast<const __m##bits##i*>(p))};                               \
  }                                                                                                          \
  KS_INLINE void store(int32_t* p) const { prefix##storeu_si##bits(reinterpret_cast<__m##bits##i*>(p), v); } \
  friend KS_INLINE Vec operator^(Vec a, Vec b) { return {prefix##xor_si##bits(a.v, b.v)}; }                  \
  friend KS_INLINE Vec operator&(Vec a, Vec b) { return {prefix##and_si##bits(a.v, b.v)}; }                  \
  friend KS_INLINE Vec operator|(Vec a, Vec b) { return {prefix##or_si##bits(a.v, b.v)}; }                   \
  friend KS_INLINE Vec operator+(Vec a, Vec b) { return {prefix##add_epi32(a.v, b.v)}; }                     \
  friend KS_INLINE Vec operator-(Vec a, Vec b) { return {prefix##sub_epi32(a.v, b.v)}; }                     \
  KS_SHIFT(right, prefix##srli_epi32(v, n))                                                                  \
  KS_SHIFT(right_signed, prefix##srai_epi32(v, n))                                                           \
  KS_SHIFT(left, prefix##slli_epi32(v, n))

}  // namespace kernelsketch::KERNELSKETCH_ISA

#if defined(KERNELSKETCH_ONE_LANE)  // lets tests run here what other processors run
#include "kernelsketch/simd/one_lane.h"
#elif defined(KS_X86) && defined(__AVX512F__)
#include "kernelsketch/simd/avx512.h"
#elif defined(KS_X86) && defined(__AVX2__)
#include "kernelsketch/simd/avx2.h"
#elif defined(KS_X86)
#include "kernelsketch/simd/sse2.h"
#elif defined(__aarch64__) || defined(_M_ARM64)
#include "kernelsketch/simd/neon.h"
#else
#include "kernelsketch/simd/one_lane.h"
#endif

namespace kernelsketch::KERNELSKETCH_ISA {

// Two vectors of a kind as one. Named halves and no array, so that compilers keep them in registers.
template <class Half>
struct Pair {
  static constexpr int width = 2 * Half::width;
  Half low, high;
  static KS_INLINE Pair set(auto x) { return {Half::set(x), Half::set(x)}; }
  static KS_INLINE Pair load(const auto* p) { return {Half::load(p), Half::load(p + Half::width)}; }
  KS_INLINE void store(auto* p) const { low.store(p), high.store(p + Half::width); }
  static KS_INLINE Pair min(Pair a, Pair b) { return {Half::min(a.low, b.low), Half::min(a.high, b.high)}; }
  static KS_INLINE Pair max(Pair a, Pair b) { return {Half::max(a.low, b.low), Half::max(a.high, b.high)}; }
  friend KS_INLINE Pair operator+(Pair a, Pair b) { return {a.low + b.low, a.high + b.high}; }
  friend KS_INLINE Pair operator-(Pair a, Pair b) { return {a.low - b.low, a.high - b.high}; }
  friend KS_INLINE Pair operator*(Pair a, Pair b) { return {a.low * b.low, a.high * b.high}; }
  friend KS_INLINE Pair operator/(Pair a, Pair b) { return {a.low / b.low, a.high / b.high}; }
  friend KS_INLINE Pair operator^(Pair a, Pair b) { return {a.low ^ b.low, a.high ^ b.high}; }
  friend KS_INLINE Pair operator&(Pair a, Pair b) { return {a.low & b.low, a.high & b.high}; }
  friend KS_INLINE Pair operator|(Pair a, Pair b) { return {a.low | b.low, a.high | b.high}; }
  static KS_INLINE Pair fma(Pair a, Pair b, Pair c) {
    return {Half::fma(a.low, b.low, c.low), Half::fma(a.high, b.high, c.high)};
  }
  static KS_INLINE Pair fnma(Pair a, Pair b, Pair c) {
    return {Half::fnma(a.low, b.low, c.low), Half::fnma(a.high, b.high, c.high)};
  }
  KS_INLINE Pair root() const { return {low.root(), high.root()}; }
  KS_INLINE Pair floor() const { return {low.floor(), high.floor()}; }
  KS_INLINE Pair nearest() const { return {low.nearest(), high.nearest()}; }
  KS_INLINE double total() const { return (low + high).total(); }
  static KS_INLINE Pair from_int(auto x) { return {Half::from_int(x.low), Half::from_int(x.high)}; }
  static KS_INLINE Pair from_bits(auto x) { return {Half::from_bits(x.low), Half::from_bits(x.high)}; }
  KS_INLINE auto bits() const { return Pair<decltype(low.bits())>{low.bits(), high.bits()}; }
#define KS_BOTH(name)                                         \
  template <int n>                                            \
  KS_INLINE Pair name() const {                               \
    return {low.template name<n>(), high.template name<n>()}; \
  }
  KS_BOTH(right)
  KS_BOTH(right_signed)
  KS_BOTH(left)
#undef KS_BOTH
};

template <class Half>
KS_INLINE auto less(Pair<Half> a, Pair<Half> b) {
  return Pair<decltype(less(a.low, b.low))>{less(a.low, b.low), less(a.high, b.high)};
}
template <class Mask, class Half>
KS_INLINE Pair<Half> select(Pair<Mask> mask, Pair<Half> a, Pair<Half> b) {
  return {select(mask.low, a.low, b.low), select(mask.high, a.high, b.high)};
}
template <class Mask>
KS_INLINE uint32_t bits(Pair<Mask> mask) {
  return bits(mask.low) | bits(mask.high) << Mask::width;
}

template <class T, int n>
struct LanesOf {
  using Type = Pair<typename LanesOf<T, n / 2>::Type>;
};
template <class T, int n>
  requires(n == Vec<T>::width)
struct LanesOf<T, n> {
  using Type = Vec<T>;
};
template <class T, int n>
using Lanes = typename LanesOf<T, n>::Type;

using F16 = Lanes<float, 16>;
using I16 = Lanes<int32_t, 16>;
using D8 = Lanes<double, 8>;

KS_INLINE F16 negative(F16 x) { return F16::from_bits(x.bits() ^ I16::set(0x80000000u)); }

#if !defined(KS_MASKS)
template <class V, class T>
KS_INLINE void pack(V x, uint32_t bits, T* to) {
  T lanes[V::width];
  x.store(lanes);
  for (; bits != 0; bits &= bits - 1) *to++ = lanes[trailing_zeros(bits)];
}

KS_INLINE uint64_t equal_bytes(const uint8_t* a, const uint8_t* b, int64_t n) {
  uint64_t equal = 0;
  int64_t j = 0;
  for (; j + kEqualBytes <= n; j += kEqualBytes) equal |= uint64_t{equal_bytes(a + j, b + j)} << j;
  for (; j < n; ++j) equal |= static_cast<uint64_t>(a[j] == b[j]) << j;
  return equal;
}
#endif

// Sum of absolute differences of n bytes.
KS_INLINE int64_t byte_distance(const uint8_t* a, const uint8_t* b, int64_t n) {
  constexpr int64_t step = 8 * Bytes::width;
  Bytes sum = Bytes::zero();
  int64_t f = 0;
  for (; f + step <= n; f += step) sum.add_differences(Bytes::load(a + f), Bytes::load(b + f));
#if defined(KS_MASKS)
  if (f < n) sum.add_differences(Bytes::load_some(a + f, n - f), Bytes::load_some(b + f, n - f));
  return sum.total();
#else
  int32_t rest = 0;
  for (; f < n; ++f) rest += a[f] > b[f] ? a[f] - b[f] : b[f] - a[f];
  return sum.total() + rest;
#endif
}

}  // namespace kernelsketch::KERNELSKETCH_ISA
