// The arithmetic of index.h for one instruction set. Compiled once per set: see simd.h for what may be included.
#include "kernelsketch/index.h"

#include "kernelsketch/simd.h"

namespace kernelsketch::KERNELSKETCH_ISA {
namespace {

constexpr int64_t kAhead = 12;  // rows whose codes are fetched before they are needed

// Equal codes as bits, for rows of k codes; `fixed` is k / 64 where that is known and whole, else 0.
template <int fixed>
KS_INLINE void equal_codes(const uint8_t* query, const uint8_t* row, int64_t k, uint64_t* equal) {
  if constexpr (fixed > 0) {
    KS_UNROLL
    for (int w = 0; w < fixed; ++w) equal[w] = equal_bytes(query + 64 * w, row + 64 * w, 64);
  } else {
    const int64_t whole = k / 64;
    for (int64_t w = 0; w < whole; ++w) equal[w] = equal_bytes(query + 64 * w, row + 64 * w, 64);
    if (64 * whole < k) equal[whole] = equal_bytes(query + 64 * whole, row + 64 * whole, k - 64 * whole);
  }
}

template <int fixed>
void matches_of(const uint8_t* query, const uint8_t* codes, const uint32_t* rows, int64_t count, int64_t k, int band,
                const uint64_t* firsts, int32_t* counts) {
  const int64_t words = fixed > 0 ? fixed : (k + 63) / 64;
  uint64_t equal[(fixed > 0 ? fixed : kMaxCodes / 64) + 1];
  equal[words] = 0;
  for (int64_t i = 0; i < count; ++i) {
    if (i + kAhead < count) prefetch(codes + rows[i + kAhead] * k, k);
    equal_codes<fixed>(query, codes + rows[i] * k, k, equal);
    int32_t sum = 0;
    uint64_t any = 0;
    for (int64_t w = 0; w < words; ++w) {
      uint64_t run = equal[w];
      sum += count_ones(run);
      for (int j = 1; j < band; ++j) run &= equal[w] >> j | equal[w + 1] << (64 - j);
      any |= run & firsts[w];
    }
    counts[i] = any ? sum : -1;
  }
}

void matches(const uint8_t* query, const uint8_t* codes, const uint32_t* rows, int64_t count, int64_t k, int band,
             const uint64_t* firsts, int32_t* counts) {
  const auto run = k == 64 ? matches_of<1> : k == 128 ? matches_of<2> : k == 256 ? matches_of<4> : matches_of<0>;
  run(query, codes, rows, count, k, band, firsts, counts);
}

KS_INLINE double shared(float a, float b) { return static_cast<double>(ks::shared(a, b)); }

template <class Value>
double common(const float* a, const Value* b, int64_t d) {
  double lane[8] = {};
  int64_t f = 0;
  for (; f + 8 <= d; f += 8)
    for (int64_t i = 0; i < 8; ++i) lane[i] += shared(a[f + i], static_cast<float>(b[f + i]));
  for (int64_t i = 0; f + i < d; ++i) lane[i] += shared(a[f + i], static_cast<float>(b[f + i]));
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

// The same with a[q] = values[indices[q] & mask]. The intrinsics stay here: no other loop gathers floats.
double common_sparse(const float* values, uint32_t mask, const int32_t* indices, const float* data, int64_t count) {
  double lane[8] = {};
  int64_t q = 0;
#if defined(KS_X86) && defined(__AVX512F__) && defined(__AVX512DQ__)
  const __m512 zero = _mm512_setzero_ps();
  const __m512i last = _mm512_set1_epi32(static_cast<int>(mask));
  __m512d sums = _mm512_setzero_pd();
  for (; q < count; q += 16) {
    const auto live = static_cast<__mmask16>(count - q >= 16 ? 0xFFFF : (1u << (count - q)) - 1);
    const __m512i f = _mm512_and_si512(_mm512_maskz_loadu_epi32(live, indices + q), last);
    const __m512 a = _mm512_i32gather_ps(f, values, 4), b = _mm512_maskz_loadu_ps(live, data + q);
    const __m512 low = _mm512_max_ps(_mm512_min_ps(a, b), zero), high = _mm512_min_ps(_mm512_max_ps(a, b), zero);
    const __m512 both = _mm512_sub_ps(low, high);
    sums = _mm512_add_pd(sums, _mm512_cvtps_pd(_mm512_castps512_ps256(both)));
    sums = _mm512_add_pd(sums, _mm512_cvtps_pd(_mm512_extractf32x8_ps(both, 1)));
  }
  _mm512_storeu_pd(lane, sums);
#else
#if defined(KS_X86) && defined(__AVX2__)
  const __m256 zero = _mm256_setzero_ps();
  const __m256i last = _mm256_set1_epi32(static_cast<int>(mask));
  __m256d sums[2] = {_mm256_setzero_pd(), _mm256_setzero_pd()};
  for (; q + 8 <= count; q += 8) {
    const __m256i f = _mm256_and_si256(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(indices + q)), last);
    const __m256 a = _mm256_i32gather_ps(values, f, 4), b = _mm256_loadu_ps(data + q);
    const __m256 low = _mm256_max_ps(_mm256_min_ps(a, b), zero), high = _mm256_min_ps(_mm256_max_ps(a, b), zero);
    const __m256 both = _mm256_sub_ps(low, high);
    sums[0] = _mm256_add_pd(sums[0], _mm256_cvtps_pd(_mm256_castps256_ps128(both)));
    sums[1] = _mm256_add_pd(sums[1], _mm256_cvtps_pd(_mm256_extractf128_ps(both, 1)));
  }
  _mm256_storeu_pd(lane, sums[0]);
  _mm256_storeu_pd(lane + 4, sums[1]);
#endif
  for (; q < count; ++q) lane[q % 8] += shared(values[static_cast<uint32_t>(indices[q]) & mask], data[q]);
#endif
  return ((lane[0] + lane[1]) + (lane[2] + lane[3])) + ((lane[4] + lane[5]) + (lane[6] + lane[7]));
}

int64_t distance_bytes(const uint8_t* a, const uint8_t* b, int64_t d) { return byte_distance(a, b, d); }

void sharing(const float* shared, const double* norms, int64_t count, float norm, float cut, uint8_t* marks) {
  for (int64_t i = 0; i < count; ++i) {
    const float least = cut * (norm + static_cast<float>(norms[i]));
    marks[i] = static_cast<uint8_t>((shared[i] > 0) & !(shared[i] < least));
  }
}

bool reaching(const float* sums, float factor, const float* norms, const float* negatives, int count, float share,
              float base, uint8_t* marks) {
  uint8_t any = 0;
  for (int i = 0; i < count; ++i) {
    marks[i] = static_cast<uint8_t>(!(factor * sums[i] < (base + share * norms[i]) - negatives[i]));
    any |= marks[i];
  }
  return any != 0;
}

}  // namespace

extern const IndexOps index = {matches,        common<float>, common<uint8_t>, common_sparse,
                               distance_bytes, sharing,       reaching};

}  // namespace kernelsketch::KERNELSKETCH_ISA
