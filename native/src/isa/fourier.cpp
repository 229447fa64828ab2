// The arithmetic of fourier.h for one instruction set. Compiled once per set: see simd.h for what may be included.
#include "kernelsketch/fourier.h"

#include "kernelsketch/rng_lanes.h"

namespace kernelsketch::KERNELSKETCH_ISA {
namespace {

template <class T>
struct Shape;  // vectors of a type, and the register tile: rows x vectors

#if defined(__AVX512F__)
constexpr int kTileRows = 6;
template <>
struct Shape<float> {
  using L = F16;
  static constexpr int vectors = 4, walking = 4;
};
template <>
struct Shape<double> {
  using L = D8;
  static constexpr int vectors = 4, walking = 8;
};
#else  // a vector of lanes is two registers of AVX2
constexpr int kTileRows = 6;
template <>
struct Shape<float> {
  using L = F16;
  static constexpr int vectors = 1, walking = 4;
};
template <>
struct Shape<double> {
  using L = D8;
  static constexpr int vectors = 1, walking = 4;
};
#endif

constexpr float kCosFloat[] = {1.0f,
                               -19.73920440673828f,
                               64.93911743164062f,
                               -85.45011138916016f,
                               60.16743087768555f,
                               -25.96688461303711f,
                               6.527706146240234f};
constexpr double kCosDouble[] = {1.0,
                                 -19.739208802178684,
                                 64.93939402266314,
                                 -85.45681720637177,
                                 60.24464136156249,
                                 -26.426256590531025,
                                 7.903534122041613,
                                 -1.7143738447256551,
                                 0.2819245703565778,
                                 -0.03613799133425832,
                                 0.003359676254891574};

// reference/arithmetic.py: cos_turns
template <class L, class T, int terms>
KERNELSKETCH_INLINE L cos_polynomial(L y, const T (&c)[terms]) {
  const L f = y - y.nearest(), z = f * f;
  L p = L::set(c[terms - 1]);
  KERNELSKETCH_UNROLL
  for (int i = terms - 2; i >= 0; --i) p = L::fma(p, z, L::set(c[i]));
  return p;
}
KERNELSKETCH_INLINE F16 cos_turns(F16 y) { return cos_polynomial(y, kCosFloat); }
KERNELSKETCH_INLINE D8 cos_turns(D8 y) { return cos_polynomial(y, kCosDouble); }

// reference/fourier.py: normals
void weights(uint64_t seed, const int64_t* features, int64_t first, int64_t count, int64_t panel, float* out) {
  const uint64_t seed_key = make_seed_key(seed);
  constexpr int groups = kPanel / 16;
  I16 j[groups];
  for (int g = 0; g < groups; ++g) j[g] = hash_numbers(panel * groups + g);
  for (int64_t f = 0; f < count; ++f) {
    const uint64_t slot = static_cast<uint64_t>(features ? features[f] : first + f);
    const uint64_t length = make_word_key(seed_key, slot, 3), angle = make_word_key(seed_key, slot, 4);
    for (int g = 0; g < groups; ++g) {
      const I16 a = word(j[g], static_cast<uint32_t>(length), static_cast<uint32_t>(length >> 32));
      const I16 b = word(j[g], static_cast<uint32_t>(angle), static_cast<uint32_t>(angle >> 32));
      const F16 u = uniform(a.right<1>(), 0x1p-31f), v = uniform(b.right<9>(), 0x1p-23f);
      const F16 size = (F16::set(1.3862944f) * negative(log2_lanes(u))).root();
      (size * cos_turns(v)).store(out + f * kPanel + g * 16);
    }
  }
}

// reference/fourier.py: phases
void phases(uint64_t seed, int64_t panel, float* out) {
  const uint64_t key = make_word_key(make_seed_key(seed), kPhaseSlot, 3);
  for (int g = 0; g < kPanel / 16; ++g) {
    const I16 j = hash_numbers(panel * (kPanel / 16) + g);
    const I16 a = word(j, static_cast<uint32_t>(key), static_cast<uint32_t>(key >> 32));
    uniform(a.right<9>(), 0x1p-23f).store(out + g * 16);
  }
}

// Calls use(eight doubles) along a row, the last ones padded with zeros.
template <class T, class Use>
KERNELSKETCH_INLINE void each_eight(const T* x, int64_t d, const Use& use) {
  int64_t f = 0;
  for (; f + 8 <= d; f += 8) use(D8::load(x + f));
  if (f < d) {
    T rest[8] = {};
    for (int64_t i = 0; f + i < d; ++i) rest[i] = x[f + i];
    use(D8::load(rest));
  }
}

// The sum of eight lanes, halves first.
KERNELSKETCH_INLINE double tree(D8 v) {
#if defined(__AVX512F__)
  const __m256d four = _mm256_add_pd(_mm512_castpd512_pd256(v.v), _mm512_extractf64x4_pd(v.v, 1));
#elif defined(KERNELSKETCH_X86) && defined(__AVX2__)
  const __m256d four = _mm256_add_pd(v.a, v.b);
#endif
#if defined(KERNELSKETCH_X86) && defined(__AVX2__)
  const __m128d two = _mm_add_pd(_mm256_castpd256_pd128(four), _mm256_extractf128_pd(four, 1));
  return _mm_cvtsd_f64(_mm_add_sd(two, _mm_unpackhi_pd(two, two)));
#else
  double t[8];
  v.store(t);
  return ((t[0] + t[4]) + (t[2] + t[6])) + ((t[1] + t[5]) + (t[3] + t[7]));
#endif
}

KERNELSKETCH_INLINE double root_double(double x) {
#if defined(KERNELSKETCH_X86)
  return _mm_cvtsd_f64(_mm_sqrt_sd(_mm_setzero_pd(), _mm_set_sd(x)));
#elif defined(KERNELSKETCH_NEON)
  return vget_lane_f64(vsqrt_f64(vdup_n_f64(x)), 0);
#else
  return __builtin_sqrt(x);
#endif
}

// reference/fourier.py: scaled. (NaN among the values is lost in the largest of them, but not in the sum.)
template <class T>
RowScale measure(const T* x, int64_t d, double scale) {
  D8 sum = D8::set(0), largest = sum;
  each_eight(x, d, [&](D8 v) KERNELSKETCH_LAMBDA_INLINE {
    sum = sum + v * v;
    if (sizeof(T) == 8) largest = D8::larger_size(largest, v);
  });
  double shift = 1;
  if (sizeof(T) == 8) {
    double sizes[8], most = 0;
    largest.store(sizes);
    for (const double s : sizes) most = s > most ? s : most;
    shift = most < 0x1p-400 ? 0x1p600 : most > 0x1p400 ? 0x1p-600 : 1;
    if (shift != 1) {
      sum = D8::set(0);
      const D8 s = D8::set(shift);
      each_eight(x, d, [&](D8 v) KERNELSKETCH_LAMBDA_INLINE {
        const D8 moved = v * s;
        sum = sum + moved * moved;
      });
    }
  }
  const double total = tree(sum);  // squares of float32 neither vanish nor overflow in double
  if (total - total != 0) return kNotFinite;
  return {shift, total > 0 ? scale / root_double(total) : 0};
}

void scale_float(const float* x, int64_t count, RowScale row, float* out) {
  int64_t f = 0;
  if (row.factor < 0x1p-100 || row.factor > 0x1p100) {  // no float32 of full precision
    for (; f < count; ++f) out[f] = static_cast<float>(static_cast<double>(x[f]) * row.factor);
    return;
  }
  const float factor = static_cast<float>(row.factor);
  for (; f + 16 <= count; f += 16) (F16::load(x + f) * F16::set(factor)).store(out + f);
  for (; f < count; ++f) out[f] = x[f] * factor;
}

void scale_double(const double* x, int64_t count, RowScale row, double* out) {
  const D8 shift = D8::set(row.shift), factor = D8::set(row.factor);
  int64_t f = 0;
  for (; f + 8 <= count; f += 8) ((D8::load(x + f) * shift) * factor).store(out + f);
  for (; f < count; ++f) out[f] = (x[f] * row.shift) * row.factor;
}

template <class T, int vectors>
KERNELSKETCH_INLINE void begin(const PanelStage<T>& stage, int column, const T* out,
                               typename Shape<T>::L (&y)[vectors]) {
  using L = typename Shape<T>::L;
  KERNELSKETCH_UNROLL
  for (int v = 0; v < vectors; ++v)
    y[v] = stage.phases ? L::load(stage.phases + column + v * L::width) : L::load(out + column + v * L::width);
}

template <class T, int vectors>
KERNELSKETCH_INLINE void end(const PanelStage<T>& stage, int column, T* out, typename Shape<T>::L (&y)[vectors]) {
  using L = typename Shape<T>::L;
  const L scale = L::set(stage.scale);
  KERNELSKETCH_UNROLL
  for (int v = 0; v < vectors; ++v) {
    const L c = stage.end == PanelEnd::sums ? y[v] : cos_turns(y[v]);
    (stage.end == PanelEnd::scaled_cosines ? scale * c : c).store(out + column + v * L::width);
  }
}

template <class T, int rows>
void tile(const T* x, int64_t stride, const float* weights, int64_t d, T* out, int64_t out_stride,
          const PanelStage<T>& stage) {
  using L = typename Shape<T>::L;
  constexpr int vectors = Shape<T>::vectors;
  for (int column = 0; column < kPanel; column += vectors * L::width) {
    L y[rows][vectors];
    for (int r = 0; r < rows; ++r) begin<T>(stage, column, out + r * out_stride, y[r]);
    const float* w = weights + column;
    for (int64_t f = 0; f < d; ++f, w += kPanel) {
      L b[vectors];
      KERNELSKETCH_UNROLL
      for (int v = 0; v < vectors; ++v) b[v] = L::load(w + v * L::width);
      KERNELSKETCH_UNROLL
      for (int r = 0; r < rows; ++r) {
        const L a = L::set(x[r * stride + f]);
        KERNELSKETCH_UNROLL
        for (int v = 0; v < vectors; ++v) y[r][v] = L::fma(a, b[v], y[r][v]);
      }
    }
    KERNELSKETCH_UNROLL
    for (int r = 0; r < rows; ++r) end<T>(stage, column, out + r * out_stride, y[r]);
  }
}

template <class T>
void panel(const T* x, int64_t stride, int64_t n, const float* weights, int64_t d, T* out, int64_t out_stride,
           const PanelStage<T>& stage) {
  int64_t i = 0;
  for (; i + kTileRows <= n; i += kTileRows)
    tile<T, kTileRows>(x + i * stride, stride, weights, d, out + i * out_stride, out_stride, stage);
  x += i * stride;
  out += i * out_stride;
  static_assert(kTileRows == 6);
  switch (n - i) {
    case 5: return tile<T, 5>(x, stride, weights, d, out, out_stride, stage);
    case 4: return tile<T, 4>(x, stride, weights, d, out, out_stride, stage);
    case 3: return tile<T, 3>(x, stride, weights, d, out, out_stride, stage);
    case 2: return tile<T, 2>(x, stride, weights, d, out, out_stride, stage);
    case 1: return tile<T, 1>(x, stride, weights, d, out, out_stride, stage);
  }
}

template <class T>
void entries(const int32_t* slot, const T* x, int64_t count, const float* weights, T* out, const PanelStage<T>& stage) {
  using L = typename Shape<T>::L;
  constexpr int vectors = Shape<T>::walking;
  for (int column = 0; column < kPanel; column += vectors * L::width) {
    L y[vectors];
    begin<T>(stage, column, out, y);
    for (int64_t q = 0; q < count; ++q) {
      const float* w = weights + slot[q] * kPanel + column;
      const L a = L::set(x[q]);
      KERNELSKETCH_UNROLL
      for (int v = 0; v < vectors; ++v) y[v] = L::fma(a, L::load(w + v * L::width), y[v]);
    }
    end<T>(stage, column, out, y);
  }
}

// reference/fourier.py: inverse_norm
template <class T>
T inverse_norm(const T* row, int64_t k) {
  using L = typename Shape<T>::L;
  constexpr int vectors = kSumLanes / L::width;
  D8 totals[kSumLanes / 8];
  for (D8& t : totals) t = D8::set(0);
  for (int64_t start = 0; start < k; start += kSumLanes * kSquares) {
    const int64_t stop = k < start + kSumLanes * kSquares ? k : start + kSumLanes * kSquares;
    L s[vectors];
    KERNELSKETCH_UNROLL
    for (int v = 0; v < vectors; ++v) s[v] = L::set(0);
    const auto add = [&](const T* c) KERNELSKETCH_LAMBDA_INLINE {
      KERNELSKETCH_UNROLL
      for (int v = 0; v < vectors; ++v) {
        const L x = L::load(c + v * L::width);
        s[v] = L::fma(x, x, s[v]);
      }
    };
    int64_t j = start;
    for (; j + kSumLanes <= stop; j += kSumLanes) add(row + j);
    if (j < stop) {
      T rest[kSumLanes] = {};
      for (int64_t i = 0; j + i < stop; ++i) rest[i] = row[j + i];
      add(rest);
    }
    alignas(64) T sums[kSumLanes];
    KERNELSKETCH_UNROLL
    for (int v = 0; v < vectors; ++v) s[v].store(sums + v * L::width);
    KERNELSKETCH_UNROLL
    for (int v = 0; v < kSumLanes / 8; ++v) totals[v] = totals[v] + D8::load(sums + 8 * v);
  }
  static_assert(kSumLanes == 32);
  const double square = tree((totals[0] + totals[2]) + (totals[1] + totals[3]));
  return static_cast<T>(square > 0 ? 1 / root_double(square) : 0);
}

template <class T>
void multiply(T* row, int64_t k, T factor) {
  using L = typename Shape<T>::L;
  int64_t j = 0;
  for (; j + L::width <= k; j += L::width) (L::load(row + j) * L::set(factor)).store(row + j);
  for (; j < k; ++j) row[j] *= factor;
}


}  // namespace

extern const FourierOps<float> fourier_float;
extern const FourierOps<double> fourier_double;
extern const WeightOps fourier_weights;
const FourierOps<float> fourier_float = {kTileRows, measure, scale_float, panel, entries, inverse_norm, multiply};
const FourierOps<double> fourier_double = {kTileRows, measure, scale_double, panel, entries, inverse_norm, multiply};
const WeightOps fourier_weights = {weights, phases};

}  // namespace kernelsketch::KERNELSKETCH_ISA
