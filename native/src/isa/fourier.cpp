// The arithmetic of fourier.h for one instruction set. Compiled once per set: see simd.h for what may be included.
#include "kernelsketch/fourier.h"

#include "core/fourier.h"
#include "kernelsketch/rng_lanes.h"

namespace kernelsketch::KERNELSKETCH_ISA {
namespace {

template <class T>
using Wide = Lanes<T, 64 / sizeof(T)>;  // F16 or D8: a register of AVX-512, two of AVX2, four of NEON and SSE2

// The register tile: rows x vectors, and the vectors of a single row.
constexpr int kTileRows = 6;
#if defined(KS_MASKS)
constexpr int kVectors = 4;
template <class T>
constexpr int kWalking = sizeof(T);
#else
constexpr int kVectors = 1;
template <class T>
constexpr int kWalking = 4;
#endif

constexpr float kCosFloat[] = {KS_COS32};
constexpr double kCosDouble[] = {KS_COS64};

// core/fourier.h: ks_cos_turns
template <class L, class T, int terms>
KS_INLINE L cos_polynomial(L y, const T (&c)[terms]) {
  const L f = y - y.nearest(), z = f * f;
  L p = L::set(c[0]);
  KS_UNROLL
  for (int i = 1; i < terms; ++i) p = L::fma(p, z, L::set(c[i]));
  return p;
}
KS_INLINE F16 cos_turns(F16 y) { return cos_polynomial(y, kCosFloat); }
KS_INLINE D8 cos_turns(D8 y) { return cos_polynomial(y, kCosDouble); }

// core/fourier.h: ks_normal
void weights(uint64_t seed, const int64_t* features, int64_t first, int64_t count, int64_t panel, float* out) {
  const uint64_t seed_key = ks_seed_key(seed);
  constexpr int groups = kPanel / 16;
  I16 j[groups];
  for (int g = 0; g < groups; ++g) j[g] = hash_numbers(panel * groups + g);
  for (int64_t f = 0; f < count; ++f) {
    const uint64_t slot = static_cast<uint64_t>(features ? features[f] : first + f);
    const uint64_t state = ks_slot_state(seed_key, slot);
    const uint64_t length = ks_word_key(state, KS_WORDS), angle = ks_word_key(state, KS_WORDS + 1);
    for (int g = 0; g < groups; ++g) {
      const I16 a = word(j[g], length);
      const I16 b = word(j[g], angle);
      const F16 u = uniform(a.right<1>(), 0x1p-31f), v = uniform(b.right<9>(), 0x1p-23f);
      const F16 size = (F16::set(KS_TWO_LN_2) * negative(log2_lanes(u))).root();
      (size * cos_turns(v)).store(out + f * kPanel + g * 16);
    }
  }
}

// core/fourier.h: ks_phase
void phases(uint64_t seed, int64_t panel, float* out) {
  const uint64_t key = ks_word_key(ks_slot_state(ks_seed_key(seed), KS_PHASE_SLOT), KS_WORDS);
  for (int g = 0; g < kPanel / 16; ++g) {
    const I16 j = hash_numbers(panel * (kPanel / 16) + g);
    const I16 a = word(j, key);
    uniform(a.right<9>(), 0x1p-23f).store(out + g * 16);
  }
}

// Calls use(eight doubles) along a row, the last ones padded with zeros.
template <class T, class Use>
KS_INLINE void each_eight(const T* x, int64_t d, const Use& use) {
  int64_t f = 0;
  for (; f + 8 <= d; f += 8) use(D8::load(x + f));
  if (f < d) {
    T rest[8] = {};
    for (int64_t i = 0; f + i < d; ++i) rest[i] = x[f + i];
    use(D8::load(rest));
  }
}

// reference/fourier.py: scaled. (NaN among the values is lost in the largest of them, but not in the sum.)
template <class T>
RowScale measure(const T* x, int64_t d, double scale) {
  D8 sum = D8::set(0), largest = sum;
  each_eight(x, d, [&](D8 v) KS_LAMBDA_INLINE {
    sum = sum + v * v;
    if (sizeof(T) == 8) largest = D8::max(largest, D8::max(v, D8::set(0) - v));
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
      each_eight(x, d, [&](D8 v) KS_LAMBDA_INLINE {
        const D8 moved = v * s;
        sum = sum + moved * moved;
      });
    }
  }
  const double total = sum.total();  // squares of float32 neither vanish nor overflow in double
  if (total - total != 0) return kNotFinite;
  return {shift, total > 0 ? scale / ks_sqrt(total) : 0};
}

void scale(const float* x, int64_t count, RowScale row, float* out) {
  int64_t f = 0;
  if (row.factor < 0x1p-100 || row.factor > 0x1p100) {  // no float32 of full precision
    for (; f < count; ++f) out[f] = static_cast<float>(static_cast<double>(x[f]) * row.factor);
    return;
  }
  const float factor = static_cast<float>(row.factor);
  for (; f + 16 <= count; f += 16) (F16::load(x + f) * F16::set(factor)).store(out + f);
  for (; f < count; ++f) out[f] = x[f] * factor;
}

void scale(const double* x, int64_t count, RowScale row, double* out) {
  const D8 shift = D8::set(row.shift), factor = D8::set(row.factor);
  int64_t f = 0;
  for (; f + 8 <= count; f += 8) ((D8::load(x + f) * shift) * factor).store(out + f);
  for (; f < count; ++f) out[f] = (x[f] * row.shift) * row.factor;
}

template <class T, int vectors>
KS_INLINE void begin(const PanelStage<T>& stage, int column, const T* out, Wide<T> (&y)[vectors]) {
  using L = Wide<T>;
  KS_UNROLL
  for (int v = 0; v < vectors; ++v)
    y[v] = stage.phases ? L::load(stage.phases + column + v * L::width) : L::load(out + column + v * L::width);
}

template <class T, int vectors>
KS_INLINE void end(const PanelStage<T>& stage, int column, T* out, Wide<T> (&y)[vectors]) {
  using L = Wide<T>;
  const L scale = L::set(stage.scale);
  KS_UNROLL
  for (int v = 0; v < vectors; ++v) {
    const L c = stage.end == PanelEnd::sums ? y[v] : cos_turns(y[v]);
    (stage.end == PanelEnd::scaled_cosines ? scale * c : c).store(out + column + v * L::width);
  }
}

template <class T, int rows>
void tile(const T* x, int64_t stride, const float* weights, int64_t d, T* out, int64_t out_stride,
          const PanelStage<T>& stage) {
  using L = Wide<T>;
  constexpr int vectors = kVectors;
  for (int column = 0; column < kPanel; column += vectors * L::width) {
    L y[rows][vectors];
    for (int r = 0; r < rows; ++r) begin<T>(stage, column, out + r * out_stride, y[r]);
    const float* w = weights + column;
    for (int64_t f = 0; f < d; ++f, w += kPanel) {
      L b[vectors];
      KS_UNROLL
      for (int v = 0; v < vectors; ++v) b[v] = L::load(w + v * L::width);
      KS_UNROLL
      for (int r = 0; r < rows; ++r) {
        const L a = L::set(x[r * stride + f]);
        KS_UNROLL
        for (int v = 0; v < vectors; ++v) y[r][v] = L::fma(a, b[v], y[r][v]);
      }
    }
    KS_UNROLL
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
  using L = Wide<T>;
  constexpr int vectors = kWalking<T>;
  for (int column = 0; column < kPanel; column += vectors * L::width) {
    L y[vectors];
    begin<T>(stage, column, out, y);
    for (int64_t q = 0; q < count; ++q) {
      const float* w = weights + slot[q] * kPanel + column;
      const L a = L::set(x[q]);
      KS_UNROLL
      for (int v = 0; v < vectors; ++v) y[v] = L::fma(a, L::load(w + v * L::width), y[v]);
    }
    end<T>(stage, column, out, y);
  }
}

// reference/fourier.py: inverse_norm
template <class T>
T inverse_norm(const T* row, int64_t k) {
  using L = Wide<T>;
  constexpr int vectors = kSumLanes / L::width;
  D8 totals[kSumLanes / 8];
  for (D8& t : totals) t = D8::set(0);
  for (int64_t start = 0; start < k; start += kSumLanes * kSquares) {
    const int64_t stop = k < start + kSumLanes * kSquares ? k : start + kSumLanes * kSquares;
    L s[vectors];
    KS_UNROLL
    for (int v = 0; v < vectors; ++v) s[v] = L::set(0);
    const auto add = [&](const T* c) KS_LAMBDA_INLINE {
      KS_UNROLL
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
    KS_UNROLL
    for (int v = 0; v < vectors; ++v) s[v].store(sums + v * L::width);
    KS_UNROLL
    for (int v = 0; v < kSumLanes / 8; ++v) totals[v] = totals[v] + D8::load(sums + 8 * v);
  }
  static_assert(kSumLanes == 32);
  const double square = ((totals[0] + totals[2]) + (totals[1] + totals[3])).total();
  return static_cast<T>(square > 0 ? 1 / ks_sqrt(square) : 0);
}

template <class T>
void multiply(T* row, int64_t k, T factor) {
  using L = Wide<T>;
  int64_t j = 0;
  for (; j + L::width <= k; j += L::width) (L::load(row + j) * L::set(factor)).store(row + j);
  for (; j < k; ++j) row[j] *= factor;
}

}  // namespace

extern const ByType<FourierOps> fourier = {
    {kTileRows, measure, scale, panel, entries, inverse_norm, multiply},
    {kTileRows, measure, scale, panel, entries, inverse_norm, multiply},
};
extern const WeightOps fourier_weights = {weights, phases};

}  // namespace kernelsketch::KERNELSKETCH_ISA
