// What compilers say in different words and is no arithmetic: attributes, bits, prefetching, tests of the processor.
// This header and native/core/arithmetic.h are the only ones with built-in functions and attributes of a compiler.
//
// Functions are static, so that code compiled for one instruction set stays there.
#pragma once

#include <cstdint>

#if defined(__x86_64__) || defined(_M_X64)
#define KS_X86 1
#if defined(_MSC_VER)
#include <intrin.h>
#endif
#endif

#if defined(_MSC_VER) && !defined(__clang__)
#define KS_INLINE __forceinline
#define KS_LAMBDA_INLINE
#define KS_RESTRICT __restrict
#else
#define KS_INLINE inline __attribute__((always_inline))
#define KS_LAMBDA_INLINE __attribute__((always_inline))
#define KS_RESTRICT __restrict__
#endif

#if defined(__clang__)
#define KS_UNROLL _Pragma("clang loop unroll(full)")
#elif defined(__GNUC__)
#define KS_UNROLL _Pragma("GCC unroll 32")
#else
#define KS_UNROLL
#endif

namespace kernelsketch {

[[maybe_unused]] static KS_INLINE int count_ones(uint64_t x) {
#if defined(__GNUC__)
  return __builtin_popcountll(x);
#else
  x -= (x >> 1) & 0x5555555555555555u;
  x = (x & 0x3333333333333333u) + ((x >> 2) & 0x3333333333333333u);
  x = (x + (x >> 4)) & 0x0F0F0F0F0F0F0F0Fu;
  return static_cast<int>((x * 0x0101010101010101u) >> 56);
#endif
}

// Below the lowest one of x, which is not 0.
[[maybe_unused]] static KS_INLINE int trailing_zeros(uint64_t x) {
#if defined(__GNUC__)
  return __builtin_ctzll(x);
#else
  return count_ones((x & (0 - x)) - 1);
#endif
}

// Eight bytes in the order of the processor.
[[maybe_unused]] static KS_INLINE uint64_t load_eight(const uint8_t* p) {
#if defined(__GNUC__)
  uint64_t bytes;
  __builtin_memcpy(&bytes, p, sizeof bytes);
  return bytes;
#else
  return *reinterpret_cast<const __unaligned uint64_t*>(p);
#endif
}

// Asks for the cache line of an address, which need not be one of ours.
[[maybe_unused]] static KS_INLINE void prefetch(const void* p) {
#if defined(__GNUC__)
  __builtin_prefetch(p);
#elif defined(KS_X86)
  _mm_prefetch(static_cast<const char*>(p), _MM_HINT_T0);
#else
  (void)p;
#endif
}

// Says that a thread spins, so that the other thread of its core runs faster.
[[maybe_unused]] static KS_INLINE void spin_pause() {
#if defined(KS_X86) && defined(__GNUC__)
  __builtin_ia32_pause();
#elif defined(KS_X86)
  _mm_pause();
#endif
}

template <class T>
[[maybe_unused]] static KS_INLINE void prefetch(const T* p, int64_t count) {
  const char* begin = reinterpret_cast<const char*>(p);
  for (int64_t b = 0; b < count * static_cast<int64_t>(sizeof(T)); b += 64) prefetch(begin + b);
}

#if defined(KS_X86) && defined(__GNUC__)
[[maybe_unused]] static bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
[[maybe_unused]] static bool has_avx512() {
  return has_avx2() && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
         __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
}
#elif defined(KS_X86)
// Bits of CPUID leaf 7 together with what the operating system saves (XCR0).
[[maybe_unused]] static bool has_leaf7(int ebx_bits, unsigned long long saved) {
  int leaf1[4], leaf7[4];
  __cpuid(leaf1, 1);
  constexpr int osxsave = 1 << 27, fma = 1 << 12;
  if ((leaf1[2] & osxsave) == 0 || (leaf1[2] & fma) == 0 || (_xgetbv(0) & saved) != saved) return false;
  __cpuidex(leaf7, 7, 0);
  return (leaf7[1] & ebx_bits) == ebx_bits;
}
[[maybe_unused]] static bool has_avx2() { return has_leaf7(1 << 5, 0x6); }
[[maybe_unused]] static bool has_avx512() { return has_leaf7((1 << 16) | (1 << 17) | (1 << 30) | (1 << 31), 0xE6); }
#endif

}  // namespace kernelsketch
