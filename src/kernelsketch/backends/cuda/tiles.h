// Tiles of a matrix of pairs of rows: packed rows, and copies of those of a tile to shared memory.
//
// Rows are packed as vectors of 16 bytes, [128 rows][vector][row], with zeros past the last row and value. Loads then need
// no checks and hardly any arithmetic, and threads of a warp read neighbouring vectors.
#pragma once

#include "core/pair.h"
#include "device.h"

namespace ks {

template <class T>
__device__ __forceinline__ T least(T a, T b) {
  return b < a ? b : a;
}
#ifdef __CUDA_ARCH__
template <>
__device__ __forceinline__ float least(float a, float b) {
  return fminf(a, b);
}
#endif

constexpr int kTogether = 128;  // rows that are packed together

// Packs x[n][d] (rows `stride` apart) for blocks of (32, 8) threads, each a tile of 32 rows and 32 features.
template <class T>
__device__ void pack(const T* x, i64 n, i64 d, i64 stride, i64 padded_rows, i64 vectors, T* out) {
  constexpr int kOf = 16 / sizeof(T);
  __shared__ T tile[32][33];
  i64 first_row = (i64)blockIdx.x * 32, first = (i64)blockIdx.y * 32;
  for (int r = threadIdx.y; r < 32; r += 8) {
    i64 row = first_row + r, f = first + threadIdx.x;
    tile[r][threadIdx.x] = row < n && f < d ? x[row * stride + f] : (T)0;
  }
  __syncthreads();
  for (int v = threadIdx.y; v < 32 / kOf; v += 8) {
    i64 vector = first / kOf + v, row = first_row + threadIdx.x;
    if (vector >= vectors || row >= padded_rows) continue;
    T* at = out + ((row / kTogether * vectors + vector) * kTogether + row % kTogether) * kOf;
    for (int e = 0; e < kOf; ++e) at[e] = tile[threadIdx.x][v * kOf + e];
  }
}

// Copies the vectors of a tile's rows and columns to shared memory, stage by stage: kVectors per row, rows first. There is
// shared memory for two stages: while one is worked on, the next one is copied.
//
//   for (Copies copies(...); copies.next();) work(copies.rows(), copies.columns());
//
// It is a loop and not a function that calls its work, because the compiler then keeps all sums of index_count in registers.
template <int kTileRows, int kTileColumns, int kVectors, int kThreads>
struct Stages {
  static constexpr int kSize = (kTileRows + kTileColumns) * kVectors;
  static_assert(kThreads % kTileRows == 0 && kThreads % kTileColumns == 0 && kTogether % kTileRows == 0,
                "whole copies");
  static_assert(kTileRows * kVectors % kThreads == 0 && kTileColumns * kVectors % kThreads == 0, "whole copies");
  uint4* stages;
  const uint4* a;
  const uint4* b;
  int left;          // stages that are to come
  int side = kSize;  // place of the stage that is worked on, 0 or kSize

  __device__ __forceinline__ Stages(uint4* stages, const void* a, i64 first_row, const void* b, i64 first_column,
                                    i64 vectors)
      : stages(stages), a(start((const uint4*)a, first_row, vectors, kTileRows)),
        b(start((const uint4*)b, first_column, vectors, kTileColumns)), left((int)(vectors / kVectors)) {
    load(stages);
    end_copies();
  }

  static __device__ __forceinline__ const uint4* start(const uint4* packed, i64 first, i64 vectors, int tile) {
    return packed + first / kTogether * vectors * kTogether + first % kTogether + threadIdx.x / tile * kTogether +
           threadIdx.x % tile;
  }

  __device__ __forceinline__ void load(uint4* stage) {
#pragma unroll
    for (int i = 0; i < kTileRows * kVectors / kThreads; ++i)
      copy_async(stage + threadIdx.x + i * kThreads, a + i * (kThreads / kTileRows) * kTogether);
#pragma unroll
    for (int i = 0; i < kTileColumns * kVectors / kThreads; ++i)
      copy_async(stage + kTileRows * kVectors + threadIdx.x + i * kThreads,
                 b + i * (kThreads / kTileColumns) * kTogether);
    a += kVectors * kTogether;
    b += kVectors * kTogether;
  }

  // Waits for the next stage and begins to copy the one after it. Returns false after the last.
  __device__ __forceinline__ bool next() {
    if (left == 0) return false;
    copies_done<0>();
    __syncthreads();
    side = kSize - side;
    if (--left > 0) load(stages + (kSize - side));
    end_copies();
    return true;
  }

  __device__ __forceinline__ const uint4* rows() const { return stages + side; }
  __device__ __forceinline__ const uint4* columns() const { return stages + side + kTileRows * kVectors; }
};

// Calls found(value of a, place of b) for the keys that a row of a, from `first` to `last`, has in common with a row of b,
// from `at` to `end`. A block takes a row of a, in pieces that fit in shared memory, and a thread a row of b, whose keys
// it looks up. Keys ascend.
template <class Key, class T, class Found>
__device__ __forceinline__ void common_keys(const Key* a_keys, const T* a_values, i64 first, i64 last,
                                            const Key* b_keys, i64 at, i64 end, Found found) {
  constexpr int kPiece = 1024;
  __shared__ Key keys[kPiece];
  __shared__ T values[kPiece];
  for (; first < last; first += kPiece) {
    int count = (int)(last - first < kPiece ? last - first : kPiece), low = 0;
    __syncthreads();
    for (int i = threadIdx.x; i < count; i += blockDim.x) {
      keys[i] = a_keys[first + i];
      values[i] = a_values[first + i];
    }
    __syncthreads();
    for (; at < end && b_keys[at] <= keys[count - 1]; ++at) {
      Key key = b_keys[at];
      low = first_not(low, count, [&](int place) { return keys[place] < key; });
      if (keys[low] == key) found(values[low], at);
    }
  }
}

}  // namespace ks
