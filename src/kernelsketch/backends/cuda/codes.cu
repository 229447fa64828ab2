// Codes: packing, numbering and comparison (reference/pack.py has the definitions).
#include "device.h"

using namespace ks;

namespace {

constexpr int kThreads = 256, kTile = 64, kWords = 16;

// A byte of packed codes: bits 8 i ... 8 i + 7 of a row, least significant bit first.
template <class Code>
__device__ void pack(const Code* codes, i64 n, i64 k, i64 width, i64 bytes, u8* packed) {
  i64 i = (i64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= n * bytes) return;
  const Code* row = codes + i / bytes * k;
  i64 first = i % bytes * 8;
  u32 byte = 0;
  for (i64 at = first; at < first + 8 && at < k * width;) {
    i64 inside = at % width, count = width - inside < first + 8 - at ? width - inside : first + 8 - at;
    u32 piece = (u32)((u64)row[at / width] >> inside) & ((1u << count) - 1);
    byte |= piece << (at - first);
    at += count;
  }
  packed[i] = (u8)byte;
}

template <class Code>
__device__ void unpack(const u8* packed, i64 n, i64 k, i64 width, i64 bytes, Code* codes) {
  i64 i = (i64)blockIdx.x * kThreads + threadIdx.x;
  if (i >= n * k) return;
  const u8* row = packed + i / k * bytes;
  i64 first = i % k * width;
  u64 word = 0;
  for (i64 byte = first / 8; byte <= (first + width - 1) / 8; ++byte)
    word |= (u64)row[byte] << (8 * (byte - first / 8));
  codes[i] = (Code)((word >> first % 8) & (((u64)1 << width) - 1));
}

// Threads look before they write, so that few of them write.
template <class Code>
__device__ void mark_used(const Code* codes, i64 count, u8* used) {
  for (i64 i = (i64)blockIdx.x * kThreads + threadIdx.x; i < count; i += (i64)gridDim.x * kThreads)
    if (!used[codes[i]]) used[codes[i]] = 1;
}

template <class Code, class Number>
__device__ void renumber(const Code* codes, i64 count, const Number* number_of, Number* out, u32* largest) {
  u32 most = 0;
  for (i64 i = (i64)blockIdx.x * kThreads + threadIdx.x; i < count; i += (i64)gridDim.x * kThreads) {
    Number number = number_of[codes[i]];
    out[i] = number;
    most = number > most ? number : most;
  }
  if (most > 0) atomicMax(largest, most);
}

// Columns of codes, out[k][n], for tiles of 64 x 64. Words of four bytes are copied where rows and columns have whole ones.
template <class Code>
__device__ void transpose(const Code* codes, i64 n, i64 k, Code* out) {
  constexpr int kOf = 4 / sizeof(Code), kRowWords = kTile / kOf;
  union Word {
    u32 all;
    Code of[kOf];
  };
  __shared__ Word tile[kTile][kRowWords + 1];
  i64 top = (i64)blockIdx.x * kTile, left = (i64)blockIdx.y * kTile;
  for (int i = threadIdx.x; i < kTile * kRowWords; i += kThreads) {
    i64 row = top + i / kRowWords, column = left + i % kRowWords * kOf;
    if (row >= n) continue;
    Word word = {0};
    if (k % kOf == 0 && column < k) word.all = *(const u32*)(codes + row * k + column);
    for (int e = 0; k % kOf != 0 && e < kOf && column + e < k; ++e) word.of[e] = codes[row * k + column + e];
    tile[i / kRowWords][i % kRowWords] = word;
  }
  __syncthreads();
  for (int i = threadIdx.x; i < kTile * kRowWords; i += kThreads) {
    int r = i % kRowWords * kOf, c = i / kRowWords;
    i64 row = top + r, column = left + c;
    if (column >= k) continue;
    Word word = {0};
    for (int e = 0; e < kOf; ++e) word.of[e] = tile[r + e][c / kOf].of[c % kOf];
    if (n % kOf == 0 && row < n) *(u32*)(out + column * n + row) = word.all;
    for (int e = 0; n % kOf != 0 && e < kOf && row + e < n; ++e) out[column * n + row + e] = word.of[e];
  }
}

// The numbers of equal codes of pairs of rows, for tiles of 64 x 64 pairs, 4 x 4 per thread. A grid may have several
// layers, each with the next n rows of a and m rows of b.
template <class Code>
__device__ void match(const Code* a, const u8* a_empty, i64 n, const Code* b, const u8* b_empty, i64 m, i64 k,
                      i32* counts) {
  __shared__ Code rows[kWords][kTile + 4], columns[kWords][kTile + 4];
  i64 top = (i64)blockIdx.y * kTile, left = (i64)blockIdx.x * kTile, layer = blockIdx.z;
  a += layer * n * k, a_empty += layer * n, b += layer * m * k, b_empty += layer * m, counts += layer * n * m;
  int y = threadIdx.x / 16, x = threadIdx.x % 16;
  i32 found[4][4] = {};
  for (i64 j = 0; j < k; j += kWords) {
    __syncthreads();
    for (int i = threadIdx.x; i < kTile * kWords; i += kThreads) {
      int row = i / kWords, h = i % kWords;
      rows[h][row] = top + row < n && j + h < k ? a[(top + row) * k + j + h] : (Code)0;
      columns[h][row] = left + row < m && j + h < k ? b[(left + row) * k + j + h] : (Code)0;
    }
    __syncthreads();
    int hashes = (int)(k - j < kWords ? k - j : kWords);
    for (int h = 0; h < hashes; ++h)
      each_pair<4, 4>([&](int r, int c) { found[r][c] += rows[h][y + 16 * r] == columns[h][x + 16 * c]; });
  }
  each_pair<4, 4>([&](int r, int c) {
    i64 row = top + y + 16 * r, column = left + x + 16 * c;
    if (row < n && column < m) counts[row * m + column] = a_empty[row] || b_empty[column] ? 0 : found[r][c];
  });
}

}  // namespace

#define KS_RENUMBER(name, Code, Number)                                                                                \
  extern "C" __global__ void codes_renumber_##name(const Code* codes, i64 count, const Number* number_of, Number* out, \
                                                   u32* largest) {                                                     \
    renumber<Code, Number>(codes, count, number_of, out, largest);                                                     \
  }
#define KS_CODES(name, Code)                                                                                          \
  extern "C" __global__ void codes_pack_##name(const Code* codes, i64 n, i64 k, i64 width, i64 bytes, u8* packed) {   \
    pack<Code>(codes, n, k, width, bytes, packed);                                                                    \
  }                                                                                                                   \
  extern "C" __global__ void codes_unpack_##name(const u8* packed, i64 n, i64 k, i64 width, i64 bytes, Code* codes) { \
    unpack<Code>(packed, n, k, width, bytes, codes);                                                                  \
  }                                                                                                                   \
  extern "C" __global__ void codes_transpose_##name(const Code* codes, i64 n, i64 k, Code* out) {                     \
    transpose<Code>(codes, n, k, out);                                                                                \
  }                                                                                                                   \
  extern "C" __global__ void codes_used_##name(const Code* codes, i64 count, u8* used) {                              \
    mark_used<Code>(codes, count, used);                                                                              \
  }                                                                                                                   \
  KS_RENUMBER(name##_u8, Code, u8)                                                                                    \
  KS_RENUMBER(name##_u16, Code, u16)                                                                                  \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(256, 1) codes_match_##name(                                             \
      const Code* a, const u8* a_empty, i64 n, const Code* b, const u8* b_empty, i64 m, i64 k, i32* counts) {         \
    match<Code>(a, a_empty, n, b, b_empty, m, k, counts);                                                             \
  }
KS_CODES(u8, u8)
KS_CODES(u16, u16)
KS_CODES(u32, u32)
