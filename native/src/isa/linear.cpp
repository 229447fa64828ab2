// The arithmetic of linear.h for one instruction set. Compiled once per set: see simd.h for what may be included.
#include "kernelsketch/linear.h"

#include "kernelsketch/simd.h"

namespace kernelsketch::KERNELSKETCH_ISA {
namespace {

constexpr int64_t kTableBytes =
    8192;  // of the table in use at a time: a quarter of the L1 cache, as the next quarter comes

constexpr int64_t kMostRows = 1024;  // whose sums of a part are kept at a time

template <class Real>
constexpr int64_t hashes_at_once(int64_t stride) {
  const int64_t count = kTableBytes / static_cast<int64_t>(sizeof(Real)) / stride / 8 * 8;
  return count < 8 ? 8 : count;
}

// Asks for the part of a table that comes next, a share of it at each step of the part in use.
template <class Real>
struct Ahead {
  static constexpr int64_t kLine = 64 / sizeof(Real);
  const Real *next, *end;
  int64_t share;
  Ahead(const Real* begin, int64_t size, int64_t steps) : next(begin), end(begin + size) {
    share = steps > 0 ? (size / steps + kLine - 1) / kLine * kLine : 0;
  }
  KS_INLINE void step() {
    const Real* stop = next + share < end ? next + share : end;
    for (; next < stop; next += kLine) prefetch(next);
  }
};

// Codes of eight hashes of a row, one after the other.
template <class Code>
struct Eight {
  const Code* p;
  KS_INLINE explicit Eight(const Code* codes) : p(codes) {}
  KS_INLINE int64_t operator[](int j) const { return p[j]; }
};
#if defined(KS_X86)
template <>
struct Eight<uint8_t> {  // one load instead of eight
  uint64_t bits;
  KS_INLINE explicit Eight(const uint8_t* codes) : bits(load_eight(codes)) {}
  KS_INLINE int64_t operator[](int j) const { return static_cast<uint8_t>(bits >> (8 * j)); }
};
#endif

// Adds to `sums` the weights of the hashes from `begin` to `end`, a part of them, for up to kMostRows rows.
template <class Code, class Real>
void add_part_by_lookup(const Code* const* rows, int64_t n, const HashRange& range, int64_t begin, int64_t end,
                        const Real* w, int64_t stride, Real* sums) {
  const int64_t step = hashes_at_once<Real>(stride);
  Real part[kMostRows];
  for (int64_t r = 0; r < n; ++r) part[r] = 0;
  for (int64_t first = begin; first < end; first += step) {
    const int64_t last = first + step < end ? first + step : end;
    const int64_t after = last + step < range.last ? step : range.last - last;
    Ahead ahead(w + last * stride, after * stride, n / 8);
    int64_t r = 0;
    for (; r + 8 <= n; r += 8) {  // eight chains of additions at once
      Real sum[8];
      for (int i = 0; i < 8; ++i) sum[i] = part[r + i];
      ahead.step();
      int64_t j = first;
      for (; j + 8 <= last; j += 8) {
        const Real* t = w + j * stride;
        const Eight<Code> c[8] = {Eight<Code>(rows[r] + j),     Eight<Code>(rows[r + 1] + j),
                                  Eight<Code>(rows[r + 2] + j), Eight<Code>(rows[r + 3] + j),
                                  Eight<Code>(rows[r + 4] + j), Eight<Code>(rows[r + 5] + j),
                                  Eight<Code>(rows[r + 6] + j), Eight<Code>(rows[r + 7] + j)};
        KS_UNROLL
        for (int h = 0; h < 8; ++h) {
          KS_UNROLL
          for (int i = 0; i < 8; ++i) sum[i] += t[h * stride + c[i][h]];
        }
      }
      for (; j < last; ++j)
        for (int i = 0; i < 8; ++i) sum[i] += w[j * stride + rows[r + i][j]];
      for (int i = 0; i < 8; ++i) part[r + i] = sum[i];
    }
    for (; r < n; ++r) {
      Real sum = part[r];
      for (int64_t j = first; j < last; ++j) sum += w[j * stride + rows[r][j]];
      part[r] = sum;
    }
  }
  for (int64_t r = 0; r < n; ++r) sums[r] += part[r];
}

#if defined(KS_X86) && defined(__AVX512BW__)

// The intrinsics stay here: no other instruction set looks up sixteen floats of a table in registers at once.

constexpr int kRows = 128;  // of a tile: eight registers of sums
constexpr int kHashes = 64;

// 16 rows x 16 codes to 16 codes x 16 rows: four perfect shuffles.
KS_INLINE void transpose16(const uint8_t* const* rows, int64_t j, uint8_t* out, int64_t stride) {
  __m128i x[16], y[16];
  for (int i = 0; i < 16; ++i) x[i] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows[i] + j));
  KS_UNROLL
  for (int stage = 0; stage < 4; ++stage) {
    for (int i = 0; i < 8; ++i) {
      y[2 * i] = _mm_unpacklo_epi8(x[i], x[i + 8]);
      y[2 * i + 1] = _mm_unpackhi_epi8(x[i], x[i + 8]);
    }
    for (int i = 0; i < 16; ++i) x[i] = y[i];
  }
  for (int i = 0; i < 16; ++i) _mm_store_si128(reinterpret_cast<__m128i*>(out + i * stride), x[i]);
}

// A table row of 16, 32 or 64 floats is in registers: one permutation looks up sixteen codes.
template <int registers>
KS_INLINE __m512 look_up(const __m512* t, __m512i code) {
  if constexpr (registers == 1) {
    return _mm512_permutexvar_ps(code, t[0]);
  } else if constexpr (registers == 2) {
    return _mm512_permutex2var_ps(t[0], code, t[1]);
  } else {
    const __mmask16 upper = _mm512_test_epi32_mask(code, _mm512_set1_epi32(32));
    return _mm512_mask_blend_ps(upper, _mm512_permutex2var_ps(t[0], code, t[1]),
                                _mm512_permutex2var_ps(t[2], code, t[3]));
  }
}

template <int registers>
void sums_by_permutation(const uint8_t* const* rows, int64_t n, const HashRange& range, const float* w, float* sums) {
  alignas(64) uint8_t transposed[kHashes * kRows];
  for (int64_t r = 0; r < n; r += kRows) {
    const int64_t used = n - r < kRows ? n - r : kRows;
    const uint8_t* tile[kRows];
    for (int64_t i = 0; i < kRows; ++i) tile[i] = rows[r + (i < used ? i : 0)];
    __m512 sum[8], part[8];
    for (int v = 0; v < 8; ++v) sum[v] = part[v] = _mm512_setzero_ps();
    int64_t rest = range.part;  // hashes of the part that are to come
    for (int64_t first = range.first, count; first < range.last; first += count) {
      count = range.last - first < kHashes ? range.last - first : kHashes;
      if (rest < count) count = rest;
      for (int64_t j = 0; j + 16 <= count; j += 16)
        for (int64_t i = 0; i < kRows; i += 16) transpose16(tile + i, first + j, transposed + j * kRows + i, kRows);
      for (int64_t j = count / 16 * 16; j < count; ++j)
        for (int64_t i = 0; i < kRows; ++i) transposed[j * kRows + i] = tile[i][first + j];
      for (int64_t j = 0; j < count; ++j) {
        __m512 t[registers];
        for (int v = 0; v < registers; ++v) t[v] = _mm512_loadu_ps(w + (first + j) * 16 * registers + 16 * v);
        const uint8_t* c = transposed + j * kRows;
        KS_UNROLL
        for (int v = 0; v < 8; ++v) {
          const __m512i code = _mm512_cvtepu8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(c + 16 * v)));
          part[v] = _mm512_add_ps(part[v], look_up<registers>(t, code));
        }
      }
      rest -= count;
      if (rest > 0 && first + count < range.last) continue;
      for (int v = 0; v < 8; ++v) {
        sum[v] = _mm512_add_ps(sum[v], part[v]);
        part[v] = _mm512_setzero_ps();
      }
      rest = range.part;
    }
    alignas(64) float found[kRows];
    for (int v = 0; v < 8; ++v) _mm512_store_ps(found + 16 * v, sum[v]);
    for (int64_t i = 0; i < used; ++i) sums[r + i] += found[i];
  }
}

#endif

template <class Code, class Real>
void sums(const Code* const* rows, int64_t n, const HashRange& range, const Real* w, int64_t stride, Real* to) {
#if defined(KS_X86) && defined(__AVX512BW__)
  if constexpr (sizeof(Code) == 1 && sizeof(Real) == 4) {
    const bool many = n >= 24;  // enough to fill a tile
    if (many && stride == 16) return sums_by_permutation<1>(rows, n, range, w, to);
    if (many && stride == 32) return sums_by_permutation<2>(rows, n, range, w, to);
    if (many && stride == 64) return sums_by_permutation<4>(rows, n, range, w, to);
  }
#endif
  for (int64_t r = 0; r < n; r += kMostRows)
    for (int64_t first = range.first; first < range.last; first += range.part)
      add_part_by_lookup(rows + r, n - r < kMostRows ? n - r : kMostRows, range, first,
                         first + range.part < range.last ? first + range.part : range.last, w, stride, to + r);
}

// Parts of a row have sums of their own, so several of them are added up at once: each addition waits for the last one.
template <int together, class Real>
KS_INLINE void sum_parts(const int32_t* at, int64_t part, const Real* w, Real* sums) {
  Real sum[together] = {};
  for (int64_t j = 0; j < part; ++j) {
    KS_UNROLL
    for (int i = 0; i < together; ++i) sum[i] += w[at[i * part + j]];
  }
  for (int i = 0; i < together; ++i) sums[i] = sum[i];
}

template <class Real>
Real sum_row(const int32_t* at, int64_t k, const Real* w) {
  const int64_t part = hashes_per_part(k), whole = k / part;
  Real sums[kParts + 1] = {}, sum = 0;
  int64_t p = 0;
  for (; p + 8 <= whole; p += 8) sum_parts<8>(at + p * part, part, w, sums + p);
  for (; p < whole; ++p) sum_parts<1>(at + p * part, part, w, sums + p);
  for (int64_t j = whole * part; j < k; ++j) sums[whole] += w[at[j]];
  for (p = 0; p * part < k; ++p) sum += sums[p];
  return sum;
}

// Adds the weights of kProblemLanes problems, for some rows at once.
template <int together, class Code, class Real>
KS_INLINE void lanes_of(const Code* const* rows, int64_t first, int64_t last, const Real* w, int64_t stride,
                        Real* sums) {
  using V = Vec<Real>;
  constexpr int kVectors = static_cast<int>(kProblemLanes) / V::width;
  V sum[together][kVectors];
  for (int i = 0; i < together; ++i)
    for (int v = 0; v < kVectors; ++v) sum[i][v] = V::load(sums + i * kProblemLanes + v * V::width);
  for (int64_t j = first; j < last; ++j, w += stride * kProblemLanes) {
    KS_UNROLL
    for (int i = 0; i < together; ++i) {
      const Real* t = w + rows[i][j] * kProblemLanes;
      KS_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[i][v] = sum[i][v] + V::load(t + v * V::width);
    }
  }
  for (int i = 0; i < together; ++i)
    for (int v = 0; v < kVectors; ++v) sum[i][v].store(sums + i * kProblemLanes + v * V::width);
}

template <class Code, class Real>
void lanes(const Code* const* rows, int64_t n, int64_t first, int64_t last, const Real* w, int64_t stride, Real* sums) {
  constexpr int kTogether =
      static_cast<int>(kProblemLanes) / Vec<Real>::width > 2 ? 2 : 4;  // as many as there are registers for
  int64_t r = 0;
  for (; r + kTogether <= n; r += kTogether)
    lanes_of<kTogether>(rows + r, first, last, w, stride, sums + r * kProblemLanes);
  for (; r < n; ++r) lanes_of<1>(rows + r, first, last, w, stride, sums + r * kProblemLanes);
}

template <class Code, class Real>
void add(const Code* const* rows, int64_t n, const HashRange& range, const Real* steps, Real* w, int64_t stride) {
  const int64_t step = hashes_at_once<Real>(stride);
  for (int64_t first = range.first; first < range.last; first += step) {
    const int64_t last = first + step < range.last ? first + step : range.last;
    const int64_t after = last + step < range.last ? step : range.last - last;
    Ahead ahead(w + last * stride, after * stride, n);
    for (int64_t r = 0; r < n; ++r) {
      const Real d = steps[r];
      ahead.step();
      int64_t j = first;
      for (; j + 8 <= last; j += 8) {
        Real* t = w + j * stride;
        const Eight<Code> c(rows[r] + j);
        KS_UNROLL
        for (int h = 0; h < 8; ++h) t[h * stride + c[h]] += d;
      }
      for (; j < last; ++j) w[j * stride + rows[r][j]] += d;
    }
  }
}

template <class Real>
KS_INLINE void axpy(Real a, const Real* x, int64_t lanes, Real* y) {
  using V = Vec<Real>;
  const V factor = V::set(a);
  for (int64_t i = 0; i < lanes; i += V::width) (V::load(y + i) + factor * V::load(x + i)).store(y + i);
}

// Moves N rows, one after the other, and then the slopes of all rows: these are read and written once for N steps, and
// the next step waits for one product instead of a vector that goes through memory. Returns the largest step.
template <int N, class Real>
KS_INLINE Real move_rows(const BlockProblem<Real>& x, const int64_t* u) {
  using V = Vec<Real>;
  const Real* products[N];
  Real slope[N], d[N], largest = 0;
  for (int i = 0; i < N; ++i) {
    products[i] = x.products + u[i] * kBlockRows;
    slope[i] = x.slope[u[i]];
  }
  KS_UNROLL
  for (int i = 0; i < N; ++i) {
    const Real beta = x.beta[u[i]], low = x.low[u[i]], high = x.high[u[i]];
    const Real down = low - beta, up = high - beta, to = slope[i] * x.inverse[u[i]];
    const Real most = to > down ? to : down;
    d[i] = most < up ? most : up;
    x.beta[u[i]] = d[i] == down ? low : d[i] == up ? high : beta + d[i];
    const Real size = d[i] < 0 ? -d[i] : d[i];
    largest = size > largest ? size : largest;
    KS_UNROLL
    for (int j = i + 1; j < N; ++j) slope[j] += d[i] * products[i][u[j]];
  }
  if (largest == 0) return 0;
  V step[N];
  for (int i = 0; i < N; ++i) step[i] = V::set(d[i]);
  for (int64_t v = 0; v < x.lanes; v += V::width) {
    V sum = V::load(x.slope + v);
    KS_UNROLL
    for (int i = 0; i < N; ++i) sum = sum + step[i] * V::load(products[i] + v);
    sum.store(x.slope + v);
  }
  return largest;
}

// A sweep over the rows that can move; returns the largest step.
template <class Real>
Real sweep_rows(const BlockProblem<Real>& x, bool backwards) {
  constexpr int together = 4;
  Real largest = 0;
  int64_t z = 0, u[together];
  for (; z + together <= x.count; z += together) {
    for (int64_t i = 0; i < together; ++i) u[i] = x.at[backwards ? x.count - 1 - z - i : z + i];
    const Real found = move_rows<together>(x, u);
    largest = found > largest ? found : largest;
  }
  for (; z < x.count; ++z) {
    u[0] = x.at[backwards ? x.count - 1 - z : z];
    const Real found = move_rows<1>(x, u);
    largest = found > largest ? found : largest;
  }
  return largest;
}

template <class Real>
void descend(const BlockProblem<Real>& x) {
  Real first = 0;
  for (int sweep = 0; sweep < x.sweeps; ++sweep) {
    const Real largest = sweep_rows(x, sweep % 2 != 0);
    if (sweep == 0) first = largest;
    if (largest <= kSettled * first) break;
  }
}

}  // namespace

template <class Code, class Real>
constexpr SumOps<Code, Real> kSums = {sums, lanes, add};

extern const ByType<LinearOps> linear = {
    {kSums<uint8_t, float>, kSums<uint16_t, float>, sum_row, axpy, descend},
    {kSums<uint8_t, double>, kSums<uint16_t, double>, sum_row, axpy, descend},
};

}  // namespace kernelsketch::KERNELSKETCH_ISA
