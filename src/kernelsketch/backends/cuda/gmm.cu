// The generalized min-max kernel of two matrices of rows; native/include/kernelsketch/gmm.h has the definition and the
// error bounds, reference/gmm.py the order of operations.
//
// Dense rows are first packed: vectors of 16 bytes, [128 rows][vector][row], zeros past the last row and feature. Loads
// then need no checks and hardly any arithmetic, and threads of a warp read neighbouring vectors. A block computes a
// tile of the matrix; a thread computes kRows x kColumns of its elements in registers. Columns stay in registers for a
// group of eight features, rows pass by. The sum of each chunk of 64 features goes to a double in shared memory, since
// registers have no room for them.
//
// Cost: one minimum and one addition per element and feature. Minima run at half speed, which bounds the speed at half
// of the issue slots of the GPU; so does every instruction with integers, which run in the same unit as minima.
#include "tiles.h"

using namespace ks;

namespace {

constexpr int kGroup = 8, kChunk = 64;

__device__ float4 vector_of(float);
__device__ double2 vector_of(double);

template <class T>
__device__ __forceinline__ T tree_sum(const T* m) {
  return ((m[0] + m[1]) + (m[2] + m[3])) + ((m[4] + m[5]) + (m[6] + m[7]));
}

// The sums of values and of absolute values of packed rows, and whether a row has a nonzero value.
template <class T>
__device__ void row_sums(const T* packed, i64 padded_rows, i64 vectors, T* sums, T* norms, u8* nonempty) {
  constexpr int kOf = 16 / sizeof(T);
  i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= padded_rows) return;
  double total = 0, total_norm = 0;
  T chunk = 0, chunk_norm = 0;
  bool any = false;
  i64 groups = vectors * kOf / kGroup;
  packed += (row / kTogether * vectors * kTogether + row % kTogether) * kOf;
  for (i64 g = 0; g < groups; ++g) {
    T m[kGroup], s[kGroup];
    for (int e = 0; e < kGroup; ++e) {
      m[e] = packed[(g * kGroup + e) / kOf * kTogether * kOf + e % kOf];
      s[e] = m[e] < 0 ? -m[e] : m[e];
      any |= m[e] != 0;
    }
    chunk = tree_sum(m) + chunk;
    chunk_norm = tree_sum(s) + chunk_norm;
    if ((g + 1) % (kChunk / kGroup) == 0 || g + 1 == groups) {
      total = (double)chunk + total;
      total_norm = (double)chunk_norm + total_norm;
      chunk = chunk_norm = 0;
    }
  }
  sums[row] = (T)total;
  norms[row] = (T)total_norm;
  nonempty[row] = any;
}

// One side of a product: packed rows, what is known of them, and their number.
template <class T>
struct Side {
  const T* packed;
  const T* sums;
  const T* norms;
  const u8* nonempty;
  i64 n;
};

// Writes the elements found(j) of a row that a thread has, eight columns apart. Threads of a warp write neighbouring
// elements, eight of a row and, of the other half of a symmetric matrix, four.
template <int kColumns, class T, class Found>
__device__ __forceinline__ void write_row(i64 row, i64 column, i64 m, T* out, i64 out_stride, bool symmetric,
                                          Found found) {
#pragma unroll
  for (int j = 0; j < kColumns; ++j, column += 8) {
    if (column >= m) break;
    T element = found(j);
    out[row * out_stride + column] = element;
    if (symmetric) out[column * out_stride + row] = element;
  }
}

// A warp has 4 x 8 threads, a block 4 x kWarpColumns warps. Stages have kFeatures features each, and there are two.
template <class T, int kRows, int kColumns, int kWarpColumns, int kFeatures>
__device__ void dense(const Side<T>& a, const Side<T>& b, i64 vectors, T* out, i64 out_stride, int ratio,
                      bool symmetric) {
  constexpr int kOf = 16 / sizeof(T), kTileRows = 16 * kRows, kTileColumns = 8 * kWarpColumns * kColumns;
  constexpr int kThreads = 4 * kWarpColumns * kWarp, kVectors = kFeatures / kOf, kPerGroup = kGroup / kOf;
  typedef decltype(vector_of(T())) Vec;
  typedef Stages<kTileRows, kTileColumns, kVectors, kThreads> Copies;
  if (symmetric && ((i64)blockIdx.x + 1) * kTileColumns <= (i64)blockIdx.y * kTileRows) return;
  KS_DYNAMIC_SHARED(shared);
  uint4* stages = (uint4*)shared;
  double* totals = (double*)(stages + 2 * Copies::kSize) + threadIdx.x;  // one per pair, kThreads apart
  int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  int top = warp / kWarpColumns * 4 * kRows + lane / 8, left = warp % kWarpColumns * 8 * kColumns + lane % 8;
  i64 first_row = (i64)blockIdx.y * kTileRows, first_column = (i64)blockIdx.x * kTileColumns;
  Copies copies(stages, a.packed, first_row, b.packed, first_column, vectors);
  T sums[kRows][kColumns];
  each_pair<kRows, kColumns>([&](int i, int j) { sums[i][j] = 0; });
  for (int step = 0; copies.next(); ++step) {
    const Vec *a_stage = (const Vec*)copies.rows() + top, *b_stage = (const Vec*)copies.columns() + left;
#pragma unroll
    for (int g = 0; g < kFeatures / kGroup; ++g) {
      T w[kColumns][kGroup];
#pragma unroll
      for (int v = 0; v < kPerGroup; ++v)
#pragma unroll
        for (int j = 0; j < kColumns; ++j) *(Vec*)&w[j][v * kOf] = b_stage[(g * kPerGroup + v) * kTileColumns + 8 * j];
#pragma unroll
      for (int i = 0; i < kRows; ++i) {
        T u[kGroup];
#pragma unroll
        for (int v = 0; v < kPerGroup; ++v) *(Vec*)&u[v * kOf] = a_stage[(g * kPerGroup + v) * kTileRows + 4 * i];
#pragma unroll
        for (int j = 0; j < kColumns; ++j) {
          T m[kGroup];
#pragma unroll
          for (int e = 0; e < kGroup; ++e) m[e] = least(u[e], w[j][e]);
          sums[i][j] = tree_sum(m) + sums[i][j];
        }
      }
    }
    if ((step + 1) * kFeatures % kChunk == 0 || copies.left == 0) {
      bool start = step * kFeatures < kChunk;
      each_pair<kRows, kColumns>([&](int i, int j) {
        double* total = totals + (i * kColumns + j) * kThreads;
        *total = (double)sums[i][j] + (start ? 0.0 : *total);
        sums[i][j] = 0;
      });
    }
  }
  T column_sums[kColumns], column_norms[kColumns];
  bool column_filled[kColumns];
#pragma unroll
  for (int j = 0; j < kColumns; ++j) {
    i64 column = first_column + left + 8 * j;  // columns past the last are packed, too
    column_sums[j] = b.sums[column], column_norms[j] = b.norms[column], column_filled[j] = b.nonempty[column];
  }
#pragma unroll 1
  for (int i = 0; i < kRows; ++i, totals += kColumns * kThreads) {
    i64 row = first_row + top + 4 * i;
    if (row >= a.n) break;
    T row_sum = a.sums[row], row_norm = a.norms[row];
    bool row_filled = a.nonempty[row];
    write_row<kColumns>(row, first_column + left, b.n, out, out_stride, symmetric, [&](int j) {
      T minima = (T)totals[j * kThreads];
      T distance = (row_sum + column_sums[j]) - (minima + minima);
      T found = of_distance(row_norm + column_norms[j], distance, (Ratio)ratio);
      return row_filled && column_filled[j] ? found : (T)0;
    });
  }
}

// Rows of bytes, packed as words of four, by sums of absolute differences.
template <class T>
__device__ void bytes(const u32* a, const T* a_norms, i64 n, const u32* b, const T* b_norms, i64 m, i64 vectors, T* out,
                      i64 out_stride, int ratio, bool symmetric) {
  constexpr int kRows = 8, kColumns = 8, kTileRows = 128, kTileColumns = 128, kVectors = 4, kThreads = 256;
  typedef Stages<kTileRows, kTileColumns, kVectors, kThreads> Copies;
  if (symmetric && blockIdx.x < blockIdx.y) return;
  KS_DYNAMIC_SHARED(shared);
  uint4* stages = (uint4*)shared;
  int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  int top = warp / 2 * 4 * kRows + lane / 8, left = warp % 2 * 8 * kColumns + lane % 8;
  i64 first_row = (i64)blockIdx.y * kTileRows, first_column = (i64)blockIdx.x * kTileColumns;
  Copies copies(stages, a, first_row, b, first_column, vectors);
  u32 sums[kRows][kColumns];
  each_pair<kRows, kColumns>([&](int i, int j) { sums[i][j] = 0; });
  while (copies.next()) {
    const uint4 *a_stage = copies.rows() + top, *b_stage = copies.columns() + left;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      uint4 u[kRows];
#pragma unroll
      for (int i = 0; i < kRows; ++i) u[i] = a_stage[v * kTileRows + 4 * i];
#pragma unroll
      for (int j = 0; j < kColumns; ++j) {
        uint4 w = b_stage[v * kTileColumns + 8 * j];
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          u32 s = add_differences(u[i].x, w.x, sums[i][j]);
          s = add_differences(u[i].y, w.y, s);
          s = add_differences(u[i].z, w.z, s);
          sums[i][j] = add_differences(u[i].w, w.w, s);
        }
      }
    }
  }
  __syncthreads();
  u32* found = (u32*)shared + threadIdx.x;  // where a loop over rows can read them
  each_pair<kRows, kColumns>([&](int i, int j) { found[(i * kColumns + j) * kThreads] = sums[i][j]; });
  T column_norms[kColumns];
#pragma unroll
  for (int j = 0; j < kColumns; ++j)
    column_norms[j] = first_column + left + 8 * j < m ? b_norms[first_column + left + 8 * j] : (T)0;
#pragma unroll 1
  for (int i = 0; i < kRows; ++i, found += kColumns * kThreads) {
    i64 row = first_row + top + 4 * i;
    if (row >= n) break;
    T x = a_norms[row];
    write_row<kColumns>(row, first_column + left, m, out, out_stride, symmetric, [&](int j) {
      T y = column_norms[j], element = of_distance(x + y, (T)found[j * kThreads], (Ratio)ratio);
      return x > 0 && y > 0 ? element : (T)0;
    });
  }
}

// The L1 norms of sparse rows in double, in the order of the features.
template <class T>
__device__ void sparse_norms(const i64* indptr, const T* data, i64 n, double* norms) {
  i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  double sum = 0;
  for (i64 k = indptr[row]; k < indptr[row + 1]; ++k) sum += (double)(data[k] < 0 ? -data[k] : data[k]);
  norms[row] = sum;
}

// A block takes a row of a, and a thread a row of b.
template <class T, class Index>
__device__ void sparse(const i64* a_starts, const Index* a_indices, const T* a_data, const double* a_norms, i64 n,
                       const i64* b_starts, const Index* b_indices, const T* b_data, const double* b_norms, i64 m,
                       T* out, i64 out_stride, int ratio) {
  i64 row = blockIdx.y, column = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  i64 at = column < m ? b_starts[column] : 0, end = column < m ? b_starts[column + 1] : 0;
  double minima = 0;
  common_keys(a_indices, a_data, a_starts[row], a_starts[row + 1], b_indices, at, end,
              [&](T x, i64 place) { minima += (double)shared(x, b_data[place]); });
  if (column < m) out[row * out_stride + column] = (T)of_minima(minima, a_norms[row] + b_norms[column], (Ratio)ratio);
}

}  // namespace

// The largest of the values of sparse rows, which are not negative.
extern "C" __global__ void gmm_maxima(const i64* indptr, const double* values, i64 n, double* largest) {
  i64 row = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= n) return;
  double most = 0;
  for (i64 k = indptr[row]; k < indptr[row + 1]; ++k) most = values[k] > most ? values[k] : most;
  largest[row] = most;
}

#define KS_PACK(name, T)                                                                            \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(256, 1)                                               \
      gmm_pack_##name(const T* x, i64 n, i64 d, i64 stride, i64 padded_rows, i64 vectors, T* out) { \
    pack<T>(x, n, d, stride, padded_rows, vectors, out);                                            \
  }

#define KS_FLOATS(name, T, rows, columns, warp_columns, features, blocks)                                             \
  extern "C" __global__ void gmm_sums_##name(const T* packed, i64 padded_rows, i64 vectors, T* sums, T* norms,        \
                                             u8* nonempty) {                                                          \
    row_sums<T>(packed, padded_rows, vectors, sums, norms, nonempty);                                                 \
  }                                                                                                                   \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(128 * warp_columns, blocks) gmm_dense_##name(                           \
      const T* a, const T* a_sums, const T* a_norms, const u8* a_nonempty, i64 n, const T* b, const T* b_sums,        \
      const T* b_norms, const u8* b_nonempty, i64 m, i64 vectors, T* out, i64 out_stride, i64 ratio, i64 symmetric) { \
    dense<T, rows, columns, warp_columns, features>({a, a_sums, a_norms, a_nonempty, n},                              \
                                                    {b, b_sums, b_norms, b_nonempty, m}, vectors, out, out_stride,    \
                                                    (int)ratio, symmetric != 0);                                      \
  }                                                                                                                   \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(256, 1)                                                                 \
      gmm_bytes_##name(const u32* a, const T* a_norms, i64 n, const u32* b, const T* b_norms, i64 m, i64 vectors,     \
                       T* out, i64 out_stride, i64 ratio, i64 symmetric) {                                            \
    bytes<T>(a, a_norms, n, b, b_norms, m, vectors, out, out_stride, ratio, symmetric != 0);                          \
  }                                                                                                                   \
  extern "C" __global__ void gmm_norms_##name(const i64* indptr, const T* data, i64 n, double* norms) {               \
    sparse_norms<T>(indptr, data, n, norms);                                                                          \
  }                                                                                                                   \
  KS_SPARSE(name##_i32, T, i32)                                                                                       \
  KS_SPARSE(name##_i64, T, i64)

#define KS_SPARSE(name, T, Index)                                                                                      \
  extern "C" __global__ void gmm_sparse_##name(                                                                        \
      const i64* a_starts, const Index* a_indices, const T* a_data, const double* a_norms, i64 n, const i64* b_starts, \
      const Index* b_indices, const T* b_data, const double* b_norms, i64 m, T* out, i64 out_stride, i64 ratio) {      \
    sparse<T, Index>(a_starts, a_indices, a_data, a_norms, n, b_starts, b_indices, b_data, b_norms, m, out,            \
                     out_stride, ratio);                                                                               \
  }

KS_PACK(f32, float)
KS_PACK(f64, double)
KS_PACK(u32, u32)
KS_FLOATS(f32, float, 8, 4, 1, 16, 4)
KS_FLOATS(f64, double, 4, 4, 2, 16, 1)
