// Random Fourier features (reference/fourier.py has the definition and the order of operations).
//
// 1. Rows are divided by their norms and multiplied by sqrt(gamma) / (2 pi). Squares are summed in eight lanes.
// 2. A table of weights is generated, [feature][hash], for as many hashes as there is room for.
// 3. A block computes the cosines of a tile of 64 rows and 64 hashes, a thread those of 4 x 4: the products are added
//    one by one in ascending order of the features, with fused multiply-adds. Zeros do not change a sum.
// 4. A block per row adds up the squares of its cosines in 32 lanes and scales the row.
#include "core/fourier.h"
#include "device.h"

using namespace ks;

namespace {

constexpr int kThreads = 256, kTile = 64, kFeatures = 16, kFlush = 64;

__device__ __forceinline__ double size_of(double x) { return x < 0 ? -x : x; }

__device__ __forceinline__ float cos_turns(float y) { return ks_cos_turnsf(y); }
__device__ __forceinline__ double cos_turns(double y) { return ks_cos_turns(y); }

// Values of a row that are not 0, with their features, in ascending order; dense rows have all features.
template <class T>
struct RowValues {
  const T* values;
  const i64* features;  // or null
  i64 count;
};

// A row per thread. `bad` becomes 1 if a value is not finite. An empty row is marked.
template <class T>
__device__ void scale_row(const RowValues<T>& row, double scale, T* out, u8* empty, i32* bad) {
  double largest = 0;
  for (i64 i = 0; i < row.count; ++i) {
    double size = size_of((double)row.values[i]);
    if (!(size <= 1.7976931348623157e308)) {
      *bad = 1;
      return;
    }
    largest = size > largest ? size : largest;
  }
  *empty = largest == 0;
  if (largest == 0) {
    for (i64 i = 0; i < row.count; ++i) out[i] = 0;
    return;
  }
  double power = largest < 3.8725919148493183e-121  ? 4.149515568880993e180
                 : largest > 2.5822498780869086e120 ? 2.409919865102884e-181
                                                    : 1.0;
  double lanes[8] = {};
  for (i64 i = 0; i < row.count; ++i) {
    double x = (double)row.values[i] * power;
    i64 lane = (row.features ? row.features[i] : i) % 8;
    double square = x * x;
#pragma unroll
    for (int l = 0; l < 8; ++l)
      if (l == lane) lanes[l] += square;
  }
  for (int half = 4; half > 0; half /= 2)
    for (int l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  double factor = quotient(scale, root(lanes[0]));
  bool plain = sizeof(T) == 4 && factor >= 7.888609052210118e-31 && factor <= 1.2676506002282294e30;
  for (i64 i = 0; i < row.count; ++i)
    out[i] = plain ? row.values[i] * (T)factor : (T)(((double)row.values[i] * power) * factor);
}

// Adds kFeatures products to the turns of a tile. A pair of each row and column is in shared memory.
template <class T>
__device__ void cosines(const T* x, i64 n, i64 d, const float* weights, const float* phases, i64 hashes,
                        i64 table_hashes, T* out, i64 out_stride) {
  __shared__ T rows[kFeatures][kTile + 4];
  __shared__ T columns[kFeatures][kTile + 4];
  i64 top = (i64)blockIdx.y * kTile, left = (i64)blockIdx.x * kTile;
  int y = threadIdx.x / 16, c = threadIdx.x % 16;
  T turns[4][4];
  each_pair<4, 4>(
      [&](int r, int q) { turns[r][q] = left + c + 16 * q < hashes ? (T)phases[left + c + 16 * q] : (T)0; });
  for (i64 f = 0; f < d; f += kFeatures) {
    __syncthreads();
    for (int i = threadIdx.x; i < kTile * kFeatures; i += kThreads) {
      int row = i / kFeatures, e = i % kFeatures;
      rows[e][row] = top + row < n && f + e < d ? x[(top + row) * d + f + e] : (T)0;
      int hash = i % kTile;
      e = i / kTile;
      columns[e][hash] = f + e < d && left + hash < hashes ? (T)weights[(f + e) * table_hashes + left + hash] : (T)0;
    }
    __syncthreads();
#pragma unroll
    for (int e = 0; e < kFeatures; ++e) {
      T a[4], b[4];
#pragma unroll
      for (int r = 0; r < 4; ++r) a[r] = rows[e][y + 16 * r];
#pragma unroll
      for (int q = 0; q < 4; ++q) b[q] = columns[e][c + 16 * q];
      each_pair<4, 4>([&](int r, int q) { turns[r][q] = fused(a[r], b[q], turns[r][q]); });
    }
  }
  each_pair<4, 4>([&](int r, int q) {
    i64 row = top + y + 16 * r, hash = left + c + 16 * q;
    if (row < n && hash < hashes) out[row * out_stride + hash] = cos_turns(turns[r][q]);
  });
}

// The same for sparse rows: a block takes a row and 256 hashes.
template <class T, class Index>
__device__ void sparse_cosines(const i64* starts, const i64* weight_rows, const T* x, const float* weights,
                               const float* phases, i64 hashes, i64 table_hashes, T* out, i64 out_stride) {
  i64 row = blockIdx.y, hash = (i64)blockIdx.x * kThreads + threadIdx.x;
  if (hash >= hashes) return;
  T turns = (T)phases[hash];
  for (i64 i = starts[row]; i < starts[row + 1]; ++i)
    turns = fused(x[i], (T)weights[weight_rows[i] * table_hashes + hash], turns);
  out[row * out_stride + hash] = cos_turns(turns);
}

// A warp per row: scales cosines to unit norm or by `factor`; rows that are empty become 0.
template <class T>
__device__ void finish(T* out, i64 n, i64 k, i64 stride, i64 normalize, double factor, const u8* empty) {
  i64 row = (i64)blockIdx.x * (kThreads / kWarp) + threadIdx.x / kWarp;
  if (row >= n) return;
  int lane = threadIdx.x % kWarp;
  out += row * stride;
  if (normalize) {
    double total = 0;
    for (i64 first = 0; first < k; first += (i64)kFlush * kWarp) {
      T sum = 0;
      for (i64 i = first + lane; i < first + kFlush * kWarp && i < k; i += kWarp) sum = fused(out[i], out[i], sum);
      total = total + (double)sum;
    }
    for (int half = kWarp / 2; half > 0; half /= 2) total += __shfl_down_sync(kAllLanes, total, half);
    total = __shfl_sync(kAllLanes, total, 0);
    factor = total > 0 ? quotient(1.0, root(total)) : 0.0;
  }
  for (i64 i = lane; i < k; i += kWarp) out[i] = empty[row] ? (T)0 : out[i] * (T)factor;
}

}  // namespace

// Weights of features first ... of hashes, [feature][table_hashes]. `features` may be null: 0, 1, 2, ...
extern "C" __global__ void fourier_weights(u64 seed, const i64* features, i64 first_hash, i64 hashes, float* weights) {
  i64 f = blockIdx.x;
  u64 state = ks_slot_state(ks_seed_key(seed), features ? (u64)features[f] : (u64)f);
  for (i64 j = threadIdx.x; j < hashes; j += blockDim.x)
    weights[f * hashes + j] = ks_normal(state, (u32)(first_hash + j));
}

extern "C" __global__ void fourier_phases(u64 seed, i64 first_hash, i64 hashes, float* phases) {
  i64 j = (i64)blockIdx.x * kThreads + threadIdx.x;
  if (j < hashes) phases[j] = ks_phase(ks_seed_key(seed), (u32)(first_hash + j));
}

#define KS_FOURIER(name, T)                                                                                         \
  extern "C" __global__ void fourier_scale_##name(const T* x, i64 n, i64 d, double scale, T* out, u8* empty,        \
                                                  i32* bad) {                                                       \
    i64 row = (i64)blockIdx.x * kThreads + threadIdx.x;                                                             \
    if (row < n) scale_row<T>({x + row * d, nullptr, d}, scale, out + row * d, empty + row, bad);                   \
  }                                                                                                                 \
  extern "C" __global__ void fourier_scale_sparse_##name(const i64* starts, const i64* features, const T* x, i64 n, \
                                                         double scale, T* out, u8* empty, i32* bad) {               \
    i64 row = (i64)blockIdx.x * kThreads + threadIdx.x;                                                             \
    if (row >= n) return;                                                                                           \
    i64 at = starts[row];                                                                                           \
    scale_row<T>({x + at, features + at, starts[row + 1] - at}, scale, out + at, empty + row, bad);                 \
  }                                                                                                                 \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(256, 1)                                                               \
      fourier_cosines_##name(const T* x, i64 n, i64 d, const float* weights, const float* phases, i64 hashes,       \
                             i64 table_hashes, T* out, i64 out_stride) {                                            \
    cosines<T>(x, n, d, weights, phases, hashes, table_hashes, out, out_stride);                                    \
  }                                                                                                                 \
  extern "C" __global__ void fourier_cosines_sparse_##name(const i64* starts, const i64* weight_rows, const T* x,   \
                                                           const float* weights, const float* phases, i64 hashes,   \
                                                           i64 table_hashes, T* out, i64 out_stride) {              \
    sparse_cosines<T, i64>(starts, weight_rows, x, weights, phases, hashes, table_hashes, out, out_stride);         \
  }                                                                                                                 \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(256, 1)                                                               \
      fourier_finish_##name(T* out, i64 n, i64 k, i64 stride, i64 normalize, double factor, const u8* empty) {      \
    finish<T>(out, n, k, stride, normalize, factor, empty);                                                         \
  }
KS_FOURIER(f32, float)
KS_FOURIER(f64, double)
