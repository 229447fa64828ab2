// The arithmetic of codes.h for one instruction set. Compiled once per set: see simd.h for what may be included.
#include "kernelsketch/codes.h"

#include "kernelsketch/simd.h"

namespace kernelsketch::KERNELSKETCH_ISA {
namespace {

// Equal codes past the whole vectors.
template <class Code>
KS_INLINE int32_t match_rest(const Code* a, const Code* b, int64_t from, int64_t k) {
  int32_t count = 0;
  for (int64_t j = from; j < k; ++j) count += a[j] == b[j];
  return count;
}

#if defined(KS_X86) && defined(__AVX2__)

// 32 bytes at a time, on AVX-512 machines too: equal lanes are -1 there, so a subtraction counts them, while a mask
// would have to travel to the integer side. Lanes of counts overflow after 255 steps of bytes. The intrinsics stay here:
// simd.h has no half registers, and no other loop sums lanes of bytes and 16 bits.
template <class Code>
struct Counter {
  static constexpr int64_t lanes = 32 / static_cast<int>(sizeof(Code));
  static constexpr int64_t steps = sizeof(Code) == 1 ? 255 : 32767;
  __m256i v = _mm256_setzero_si256();
  static KS_INLINE __m256i load(const Code* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
  KS_INLINE void add(__m256i x, __m256i y) {
    if constexpr (sizeof(Code) == 1)
      v = _mm256_sub_epi8(v, _mm256_cmpeq_epi8(x, y));
    else if constexpr (sizeof(Code) == 2)
      v = _mm256_sub_epi16(v, _mm256_cmpeq_epi16(x, y));
    else
      v = _mm256_sub_epi32(v, _mm256_cmpeq_epi32(x, y));
  }
  // Eight lanes of 32 bits.
  KS_INLINE __m256i sums() const {
    if constexpr (sizeof(Code) == 1) return _mm256_sad_epu8(v, _mm256_setzero_si256());
    if constexpr (sizeof(Code) == 2) return _mm256_madd_epi16(v, _mm256_set1_epi16(1));
    return v;
  }
  // Adds the totals of four counters to four numbers, or of one to one.
  template <int m>
  static KS_INLINE void add_totals(const Counter (&c)[m], int32_t* to) {
    static_assert(m == 4 || m == 1);
    const __m256i ab = _mm256_hadd_epi32(c[0].sums(), c[m == 4 ? 1 : 0].sums());
    const __m256i cd = m == 4 ? _mm256_hadd_epi32(c[m == 4 ? 2 : 0].sums(), c[m == 4 ? 3 : 0].sums()) : ab;
    const __m256i halves = _mm256_hadd_epi32(ab, cd);
    const __m128i all = _mm_add_epi32(_mm256_castsi256_si128(halves), _mm256_extracti128_si256(halves, 1));
    if constexpr (m == 4) {
      auto* four = reinterpret_cast<__m128i*>(to);
      _mm_storeu_si128(four, _mm_add_epi32(_mm_loadu_si128(four), all));
    } else {
      *to += _mm_cvtsi128_si32(all);
    }
  }
};

#else

template <class Code>
struct Counter {
  struct Lanes {
    Code c[16];
  };
  static constexpr int64_t lanes = 16, steps = 32767;
  int32_t count = 0;
  static KS_INLINE Lanes load(const Code* p) {
    Lanes x;
    for (int j = 0; j < 16; ++j) x.c[j] = p[j];
    return x;
  }
  KS_INLINE void add(const Lanes& x, const Lanes& y) {
    for (int j = 0; j < 16; ++j) count += x.c[j] == y.c[j];
  }
  template <int m>
  static KS_INLINE void add_totals(const Counter (&c)[m], int32_t* to) {
    for (int j = 0; j < m; ++j) to[j] += c[j].count;
  }
};

#endif

// Rows one after the other, or anywhere in memory.
template <class Code>
struct Adjacent {
  const Code* p;
  int64_t k;
  KS_INLINE const Code* operator[](int64_t r) const { return p + r * k; }
};

// A tile of rows of a, from i on, against rows of b, from j on: each vector that is loaded serves several pairs.
template <int n, int m, class Code, class Rows>
KS_INLINE void match_tile(Rows a, Rows b, int64_t i, int64_t j, int64_t k, int32_t* counts, int64_t stride) {
  using C = Counter<Code>;
  const int64_t whole = k / C::lanes * C::lanes;
  const Code *x[n], *y[m];
  for (int r = 0; r < n; ++r) x[r] = a[i + r];
  for (int c = 0; c < m; ++c) y[c] = b[j + c];
  int32_t sum[n][m] = {};
  for (int64_t first = 0; first < whole; first += C::steps * C::lanes) {
    const int64_t last = first + C::steps * C::lanes < whole ? first + C::steps * C::lanes : whole;
    C found[n][m];
    for (int64_t q = first; q < last; q += C::lanes) {
      KS_UNROLL
      for (int r = 0; r < n; ++r) {
        const auto v = C::load(x[r] + q);
        KS_UNROLL
        for (int c = 0; c < m; ++c) found[r][c].add(v, C::load(y[c] + q));
      }
    }
    for (int r = 0; r < n; ++r) C::add_totals(found[r], sum[r]);
  }
  for (int r = 0; r < n; ++r)
    for (int c = 0; c < m; ++c) counts[r * stride + c] = sum[r][c];
  if (whole == k) return;
  for (int r = 0; r < n; ++r)
    for (int c = 0; c < m; ++c) counts[r * stride + c] += match_rest(x[r], y[c], whole, k);
}

constexpr int kTileRows = 2;  // eight counters: with sixteen, compilers move them between registers all the time

template <class Code, class Rows>
KS_INLINE void match_all(Rows a, Rows b, int64_t rows, int64_t cols, int64_t k, int32_t* counts, int64_t stride) {
  for (int64_t i = 0; i < rows; i += kTileRows) {
    int64_t j = 0;
    if (i + kTileRows <= rows)
      for (; j + 4 <= cols; j += 4) match_tile<kTileRows, 4, Code>(a, b, i, j, k, counts + i * stride + j, stride);
    for (; j < cols; ++j)
      for (int64_t r = i; r < rows && r < i + kTileRows; ++r)
        match_tile<1, 1, Code>(a, b, r, j, k, counts + r * stride + j, stride);
  }
}

template <class Code>
void match(const Code* a, const Code* b, int64_t rows, int64_t cols, int64_t k, int32_t* counts, int64_t stride) {
  match_all<Code>(Adjacent<Code>{a, k}, Adjacent<Code>{b, k}, rows, cols, k, counts, stride);
}

template <class Code>
void match_rows(const Code* const* a, const Code* const* b, int64_t rows, int64_t cols, int64_t k, int32_t* counts,
                int64_t stride) {
  match_all<Code>(a, b, rows, cols, k, counts, stride);
}

}  // namespace

extern const CodeOps codes = {
    {match<uint8_t>, match_rows<uint8_t>},
    {match<uint16_t>, match_rows<uint16_t>},
    {match<uint32_t>, match_rows<uint32_t>},
};

}  // namespace kernelsketch::KERNELSKETCH_ISA
