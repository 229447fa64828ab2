// Tiles of a matrix of pairs of rows: packed rows, and copies of those of a tile to shared memory.
//
// Rows are packed as vectors of 16 bytes, [128 rows][vector][row], with zeros past the last row and value. Loads then need
// no checks and hardly any arithmetic, and threads of a warp read neighbouring vectors.
#pragma once

#include "device.h"

namespace ks {

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

// Copies the vectors of a tile's rows and columns to shared memory, stage by stage: kVectors per row, rows first.
template <int kTileRows, int kTileColumns, int kVectors, int kThreads>
struct Stages {
  static constexpr int kSize = (kTileRows + kTileColumns) * kVectors;
  static_assert(kThreads % kTileRows == 0 && kThreads % kTileColumns == 0 && kTogether % kTileRows == 0, "whole copies");
  static_assert(kTileRows * kVectors % kThreads == 0 && kTileColumns * kVectors % kThreads == 0, "whole copies");
  const uint4* a;
  const uint4* b;

  __device__ __forceinline__ Stages(const void* a, i64 first_row, const void* b, i64 first_column, i64 vectors)
      : a(start((const uint4*)a, first_row, vectors, kTileRows)), b(start((const uint4*)b, first_column, vectors, kTileColumns)) {}

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
};

}  // namespace ks
