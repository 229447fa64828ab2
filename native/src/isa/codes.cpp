// The arithmetic of codes.h for one instruction set. Compiled once a set: see simd.h for what may be included.
#include "kernelsketch/codes.h"

#include "kernelsketch/simd.h"

namespace kernelsketch::KERNELSKETCH_ISA {
namespace {

// Equal codes among k; `whole` vectors first, the rest one by one.
template <class Code>
KERNELSKETCH_INLINE int32_t match_rest(const Code* a, const Code* b, int64_t from, int64_t k) {
  int32_t count = 0;
  for (int64_t j = from; j < k; ++j) count += a[j] == b[j];
  return count;
}

#if defined(KERNELSKETCH_X86) && defined(__AVX512BW__)

template <class Code>
KERNELSKETCH_INLINE int equal_lanes(const Code* a, const Code* b) {
  const __m512i x = _mm512_loadu_si512(a), y = _mm512_loadu_si512(b);
  if constexpr (sizeof(Code) == 1) return static_cast<int>(_mm_popcnt_u64(_mm512_cmpeq_epi8_mask(x, y)));
  if constexpr (sizeof(Code) == 2) return _mm_popcnt_u32(_mm512_cmpeq_epi16_mask(x, y));
  return _mm_popcnt_u32(_mm512_cmpeq_epi32_mask(x, y));
}
constexpr int kVectorBytes = 64;

#elif defined(KERNELSKETCH_X86) && defined(__AVX2__)

template <class Code>
KERNELSKETCH_INLINE int equal_lanes(const Code* a, const Code* b) {
  const __m256i x = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(a));
  const __m256i y = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(b));
  __m256i equal;
  if constexpr (sizeof(Code) == 1)
    equal = _mm256_cmpeq_epi8(x, y);
  else if constexpr (sizeof(Code) == 2)
    equal = _mm256_cmpeq_epi16(x, y);
  else
    equal = _mm256_cmpeq_epi32(x, y);
  return _mm_popcnt_u32(static_cast<unsigned>(_mm256_movemask_epi8(equal))) / static_cast<int>(sizeof(Code));
}
constexpr int kVectorBytes = 32;

#else

template <class Code>
KERNELSKETCH_INLINE int equal_lanes(const Code* a, const Code* b) {
  int count = 0;
  for (int j = 0; j < 16; ++j) count += a[j] == b[j];
  return count;
}
constexpr int kVectorBytes = 0;  // sixteen codes, whatever their size

#endif

// Two rows against four at a time: each vector that is loaded serves several pairs.
template <class Code>
void match(const Code* a, const Code* b, int64_t rows, int64_t cols, int64_t k, int32_t* counts, int64_t stride) {
  constexpr int64_t lanes = kVectorBytes ? kVectorBytes / static_cast<int>(sizeof(Code)) : 16;
  const int64_t whole = k / lanes * lanes;
  int64_t i = 0;
  for (; i < rows; i += 2) {
    const int64_t n = i + 2 <= rows ? 2 : 1;
    for (int64_t j = 0; j < cols; j += 4) {
      const int64_t m = j + 4 <= cols ? 4 : cols - j;
      int32_t sum[2][4] = {};
      if (n == 2 && m == 4) {
        for (int64_t q = 0; q < whole; q += lanes) {
          KERNELSKETCH_UNROLL
          for (int r = 0; r < 2; ++r) {
            KERNELSKETCH_UNROLL
            for (int c = 0; c < 4; ++c) sum[r][c] += equal_lanes(a + (i + r) * k + q, b + (j + c) * k + q);
          }
        }
      } else {
        for (int64_t r = 0; r < n; ++r)
          for (int64_t c = 0; c < m; ++c)
            for (int64_t q = 0; q < whole; q += lanes) sum[r][c] += equal_lanes(a + (i + r) * k + q, b + (j + c) * k + q);
      }
      for (int64_t r = 0; r < n; ++r)
        for (int64_t c = 0; c < m; ++c)
          counts[(i + r) * stride + j + c] = sum[r][c] + match_rest(a + (i + r) * k, b + (j + c) * k, whole, k);
    }
  }
}

}  // namespace

extern const CodeOps codes;
const CodeOps codes = {match<uint8_t>, match<uint16_t>, match<uint32_t>};

}  // namespace kernelsketch::KERNELSKETCH_ISA
