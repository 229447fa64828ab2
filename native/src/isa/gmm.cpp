// The arithmetic of gmm.h for one instruction set. Compiled once per set: see simd.h for what may be included.
#include "kernelsketch/gmm.h"

#include "kernelsketch/simd.h"

namespace kernelsketch::KERNELSKETCH_ISA {

// What core/pair.h needs of a vector, in its namespace.
template <class T>
KS_INLINE Vec<T> quotient(Vec<T> a, Vec<T> b) {
  return a / b;
}
template <class T>
KS_INLINE Vec<T> in_unit(Vec<T> x) {
  return Vec<T>::min(Vec<T>::max(x, Vec<T>::set(0)), Vec<T>::set(1));
}

namespace {

// Register tiles. AVX-512 and NEON have 32 registers: 6 x 4 sums, four columns of the panel, a few for
// minima. The others have 16.
#if defined(KS_32_REGISTERS)
constexpr int kRows = 6, kVectors = 4;
#else
constexpr int kRows = 4, kVectors = 2;
#endif

// Calls each(row, vector) for the sums of a register tile.
template <int rows, int vectors, class Each>
KS_INLINE void each_sum(const Each& each) {
  KS_UNROLL
  for (int r = 0; r < rows; ++r) {
    KS_UNROLL
    for (int v = 0; v < vectors; ++v) each(r, v);
  }
}

// a + b. With a fused multiply-add it is fma(a, one, b), the same number to the last bit: minima and additions then run
// on different ports (on Zen 3 and 4 both would share two of the four; measured 1.55x). `one` stays opaque to the
// optimizer, which would turn the product back into an addition.
template <class V>
KS_INLINE V sum_of(V a, V b, V one) {
#if defined(KS_X86) && defined(__AVX2__)
  return V::fma(a, one, b);
#else
  (void)one;
  return a + b;
#endif
}

// totals[0..width) (+)= x, in double
KS_INLINE void flush(Vec<double> x, double* totals, bool start) {
  (start ? x : x + Vec<double>::load(totals)).store(totals);
}
KS_INLINE void flush(Vec<float> x, double* totals, bool start) {
  constexpr int width = Vec<double>::width;
  KS_UNROLL
  for (int i = 0; i < Vec<float>::width / width; ++i) flush(x.part(i), totals + i * width, start);
}

template <class T>
void tile(const T* a, int64_t stride, int n, const T* panel, int64_t d, double* totals, T* sums, bool start, bool end) {
  using V = Vec<T>;
  constexpr int cols = kVectors * V::width;
  const T* rows[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = a + (r < n ? r : n - 1) * stride;

  // The last d % 8 features, padded with zeros.
  const int64_t whole = d / kFeatureGroup * kFeatureGroup;
  T rest[kRows][kFeatureGroup] = {};
  const T* rest_rows[kRows];
  for (int r = 0; r < kRows; ++r) {
    for (int64_t f = whole; f < d; ++f) rest[r][f - whole] = rows[r][f];
    rest_rows[r] = rest[r];
  }

  volatile T opaque = 1;
  const V one = V::set(opaque);
  V sum[kRows][kVectors];
  const auto add_group = [&](const T* const* x, int64_t f, const T* b) KS_LAMBDA_INLINE {
    KS_UNROLL
    for (int v = 0; v < kVectors; ++v) {
      // Two halves of a tree of eight; the first waits in `half`, so that four columns are in registers at a time.
      V half[kRows];
      KS_UNROLL
      for (int h = 0; h < 2; ++h) {
        const T* column = b + 4 * h * cols + v * V::width;
        const V b0 = V::load(column), b1 = V::load(column + cols);
        const V b2 = V::load(column + 2 * cols), b3 = V::load(column + 3 * cols);
        KS_UNROLL
        for (int r = 0; r < kRows; ++r) {
          const T* y = x[r] + f + 4 * h;
          const V m01 = sum_of(V::min(b0, V::set(y[0])), V::min(b1, V::set(y[1])), one);
          const V m23 = sum_of(V::min(b2, V::set(y[2])), V::min(b3, V::set(y[3])), one);
          const V four = sum_of(m01, m23, one);
          if (h == 0)
            half[r] = four;
          else
            sum[r][v] = sum_of(sum_of(half[r], four, one), sum[r][v], one);
        }
      }
    }
  };

  const bool one_chunk = start && end && d <= kFeatureChunk;
  for (int64_t f0 = 0; f0 < d; f0 += kFeatureChunk) {
    each_sum<kRows, kVectors>([&](int r, int v) KS_LAMBDA_INLINE { sum[r][v] = V::set(0); });
    const int64_t f1 = f0 + kFeatureChunk < whole ? f0 + kFeatureChunk : whole;
    for (int64_t f = f0; f < f1; f += kFeatureGroup) add_group(rows, f, panel + f * cols);
    if (whole < d && d <= f0 + kFeatureChunk) add_group(rest_rows, 0, panel + whole * cols);
    const bool first = start && f0 == 0;
    each_sum<kRows, kVectors>([&](int r, int v) KS_LAMBDA_INLINE {
      if (one_chunk)
        sum[r][v].store(sums + r * cols + v * V::width);
      else
        flush(sum[r][v], totals + r * cols + v * V::width, first);
    });
  }
  if (end && !one_chunk)
    for (int i = 0; i < kRows * cols; ++i) sums[i] = static_cast<T>(totals[i]);
}

template <class T, bool distances>
void finish_tile(const T* sums, int stride, int n, int m, const T* a_sum, const T* a_abs, const T* b_sum,
                 const T* b_abs, T* out, int64_t out_stride, Ratio ratio) {
  using V = Vec<T>;
  const V zero = V::set(0);
  for (int r = 0; r < n; ++r) {
    const V sa = V::set(a_sum[r]), na = V::set(a_abs[r]);
    for (int c = 0; c < m; c += V::width) {
      const V x = V::load(sums + r * stride + c), nb = V::load(b_abs + c);
      V q = ks::of_distance(na + nb, distances ? x : (sa + V::load(b_sum + c)) - (x + x), ratio);
      q = select(less(zero, na), select(less(zero, nb), q, zero), zero);  // also ends 0 / 0
      if (c + V::width <= m) {
        q.store(out + r * out_stride + c);
      } else {
        T last[V::width];
        q.store(last);
        for (int i = 0; c + i < m; ++i) out[r * out_stride + c + i] = last[i];
      }
    }
  }
}

template <class T>
void finish(const T* sums, int stride, bool distances, int n, int m, const T* a_sum, const T* a_abs, const T* b_sum,
            const T* b_abs, T* out, int64_t out_stride, Ratio ratio) {
  (distances ? finish_tile<T, true> : finish_tile<T, false>)(sums, stride, n, m, a_sum, a_abs, b_sum, b_abs, out,
                                                             out_stride, ratio);
}

template <class T>
void add_minima(double* minima, const T* column, int64_t m, T size, T sign) {
  using V = Vec<T>;
  const V zero = V::set(0), sizes = V::set(size);
  int64_t j = 0;
  for (; j + V::width <= m; j += V::width) {
    const V v = V::load(column + j);
    flush(V::max(V::min(sign > 0 ? v : zero - v, sizes), zero), minima + j, false);
  }
  for (; j < m; ++j) minima[j] += static_cast<double>(ks::shared_size(size, sign * column[j]));
}

// The compiler vectorizes this loop: there is no reduction, so no change of order.
template <class T>
void finish_sparse(double* minima, int64_t m, double a_abs, const double* b_abs, T* out, Ratio ratio) {
  for (int64_t j = 0; j < m; ++j) {
    out[j] = static_cast<T>(ks::of_minima(minima[j], a_abs + b_abs[j], ratio));
    minima[j] = 0;
  }
}

void tile_bytes(const uint8_t* a, int64_t stride, int n, const uint8_t* panel, int64_t d, float* distances) {
  constexpr int cols = kVectors * Bytes::width;
  const uint8_t* rows[kRows];
  for (int r = 0; r < kRows; ++r) rows[r] = a + (r < n ? r : n - 1) * stride;
  Bytes sum[kRows][kVectors];
  each_sum<kRows, kVectors>([&](int r, int v) KS_LAMBDA_INLINE { sum[r][v] = Bytes::zero(); });
  for (int64_t f = 0; f < d; f += kByteGroup) {
    Bytes b[kVectors];
    KS_UNROLL
    for (int v = 0; v < kVectors; ++v) b[v] = Bytes::load(panel + f * cols + v * Bytes::width * kByteGroup);
    KS_UNROLL
    for (int r = 0; r < kRows; ++r) {
      const Bytes x = Bytes::set8(rows[r] + f);
      KS_UNROLL
      for (int v = 0; v < kVectors; ++v) sum[r][v].add_differences(x, b[v]);
    }
  }
  each_sum<kRows, kVectors>([&](int r, int v)
                                KS_LAMBDA_INLINE { sum[r][v].store(distances + r * cols + v * Bytes::width); });
}

#if defined(KS_32_REGISTERS)
constexpr int kPairRows = 4, kPairVectors = 2;
#else
constexpr int kPairRows = 4, kPairVectors = 1;
#endif

void tile_differences(const float* a, const float* x, int64_t n, int64_t stride, const float* w, double* totals) {
  using V = Vec<float>;
  V left[kPairRows][kPairVectors], sum[kPairRows][kPairVectors];
  const V zero = V::set(0);
  each_sum<kPairRows, kPairVectors>([&](int r, int v) KS_LAMBDA_INLINE {
    left[r][v] = V::load(a + r * stride + v * V::width);
    sum[r][v] = zero;
  });
  for (int64_t j = 0; j < n; ++j) {
    V right[kPairVectors];
    KS_UNROLL
    for (int v = 0; v < kPairVectors; ++v) right[v] = V::load(x + j * stride + v * V::width);
    KS_UNROLL
    for (int r = 0; r < kPairRows; ++r) {
      const V weight = V::set(w[j * kPairRows + r]);
      KS_UNROLL
      for (int v = 0; v < kPairVectors; ++v) {
        const V difference = left[r][v] - right[v];
        sum[r][v] = sum[r][v] + weight * V::max(difference, zero - difference);
      }
    }
  }
  each_sum<kPairRows, kPairVectors>([&](int r, int v)
                                        KS_LAMBDA_INLINE { flush(sum[r][v], totals + v * V::width, false); });
}

template <class T>
constexpr GmmOps<T> kOps = {kRows, kVectors * Vec<T>::width, tile<T>, finish<T>, add_minima<T>, finish_sparse<T>};

}  // namespace

extern const ByType<GmmOps> gmm = {kOps<float>, kOps<double>};
extern const ByteOps gmm_bytes = {kRows, kVectors * Bytes::width, tile_bytes};
extern const DifferenceOps gmm_differences = {kPairRows, kPairVectors * Vec<float>::width, tile_differences};

}  // namespace kernelsketch::KERNELSKETCH_ISA
