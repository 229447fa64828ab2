// Near neighbours under the GMM kernel: scores of all pairs of queries and indexed rows, the best of each query, and their
// exact similarities. reference/index.py has the definitions, native/include/kernelsketch/index.h explains them.
//
// A GPU needs no tables: it compares the codes of all rows. A score says how good a candidate is, 0 that a row is none:
//   codes        1 + the number of equal codes, if all codes of a band are equal, or if there are no bands
//   heavy parts  1 + the level of similarity of what the heavy parts share
//   all rows     1 + the level of an approximate similarity, from which the few rows that can be neighbours are chosen
// Scores are u16, [query][row]. One kernel finds the least score of a query that counts, and how many rows of this score
// do, in the order of rows, which is that of their ids. A second one lists the rows, and a third compares them exactly.
//
// Codes are sliced into planes: bit b of plane i of a word is bit i of the code at place b. 32 codes of two rows then take
// eight operations and a count of bits. Code j of band l is at place l % 32 of word l / 32 * h + j, so that the words of
// 32 bands, with "and", show whether one of them is equal. The other codes fill the places that are left.
#include "core/codes.h"
#include "tiles.h"

using namespace ks;

namespace {

constexpr int kThreads = 256, kSelectThreads = 512;
constexpr int kPlanes = 8, kCodes = 32;                                            // of a word
constexpr int kRows = 8, kColumns = 4;                                             // pairs of a thread
constexpr int kTileRows = 128, kTileColumns = 32, kTileThreads = 128, kWords = 2;  // words of a stage
constexpr int kBins = kLevels + 2;                                                 // scores are below kBins
constexpr int kLanes = 8;                                                          // partial sums of a similarity

// Which code is at a place of a word, or -1.
__device__ i64 code_at(i64 word, i64 place, i64 k, i64 tables, i64 hashes) {
  i64 groups = (tables + kCodes - 1) / kCodes, left = groups * kCodes - tables, band = word / hashes * kCodes + place;
  if (word < groups * hashes && band < tables) return band * hashes + word % hashes;
  i64 spare = hashes * left + (word - groups * hashes) * kCodes + place;
  if (word < groups * hashes) spare = (word - (groups - 1) * hashes) * left + place - (kCodes - left);
  i64 code = tables * hashes + spare;
  return code < k ? code : -1;
}

// Sparse rows: the key of a value is 2 f for feature f, 2 f + 1 if it is negative, and its size has no sign. Row i has the
// values from starts[i] to ends[i], in the order of their keys.
struct Sparse {
  const i64* starts;
  const i64* ends;
  const i64* keys;
  const float* sizes;
  const double* norms;
};

// The score of what two rows share: in float, as reference/index.py ranks heavy parts, or in double.
template <class T>
__device__ __forceinline__ u16 score_of(T common, double a, double b) {
  return common > 0 ? (u16)(1 + level_of(of_minima(common, (T)a + (T)b))) : (u16)0;
}

// A block takes a query, and a thread an indexed row.
template <class Sum>
__device__ void share(const Sparse& a, const Sparse& b, i64 m, u16* scores, i64 stride) {
  i64 row = blockIdx.y, column = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  i64 at = column < m ? b.starts[column] : 0, end = column < m ? b.ends[column] : 0;
  Sum common = 0;
  common_keys(a.keys, a.sizes, a.starts[row], a.ends[row], b.keys, at, end,
              [&](float size, i64 place) { common += (Sum)least(size, b.sizes[place]); });
  if (column < m) scores[row * stride + column] = score_of(common, a.norms[row], b.norms[column]);
}

// The scores of a query, without its own row, and with `later` without the rows before it.
struct Scores {
  const u16* of;
  i64 m, own;
  bool later;

  // Calls each(row, score) for the rows of vectors first, first + step, ... below last; a vector has eight scores.
  template <class Each>
  __device__ __forceinline__ void visit(i64 first, i64 last, i64 step, Each each) const {
    for (i64 v = first; v < last; v += step) {
      uint4 words = *(const uint4*)(of + 8 * v);
#pragma unroll
      for (int e = 0; e < 8; ++e) {
        u32 word = e < 2 ? words.x : e < 4 ? words.y : e < 6 ? words.z : words.w;
        i64 row = 8 * v + e;
        u32 score = word >> (16 * (e % 2)) & 0xFFFF;
        if (row < m && score && row != own && !(later && row < own)) each(row, (int)score);
      }
    }
  }
};

__device__ __forceinline__ Scores scores_of(const u16* scores, i64 stride, i64 m, const i64* own, i64 later) {
  i64 q = blockIdx.x;
  return {scores + q * stride, m, own ? own[q] : -1, later != 0};
}

// The largest score that `want` rows reach, or `least` if they are fewer; above: how many are better; and the number of
// rows that have it. All threads of the block call it; bins hold the number of rows of each score.
__device__ int cut(const u32* bins, u32 want, int least, u32* above) {
  constexpr int kPer = (kBins + kSelectThreads - 1) / kSelectThreads;
  __shared__ u32 sums[kSelectThreads], found[2];
  int t = threadIdx.x;
  u32 sum = 0;
  for (int i = t * kPer; i < (t + 1) * kPer && i < kBins; ++i) sum += bins[i];
  sums[t] = sum;
  __syncthreads();
  if (t == 0) {
    u32 before = 0;
    int group = kSelectThreads - 1;
    while (group * kPer > least && before + sums[group] < want) before += sums[group--];
    int bin = (group + 1) * kPer - 1 < kBins - 1 ? (group + 1) * kPer - 1 : kBins - 1;
    while (bin > least && before + bins[bin] < want) before += bins[bin--];
    found[0] = (u32)(bin > least ? bin : least);
    found[1] = before;
  }
  __syncthreads();
  *above = found[1];
  int level = (int)found[0];
  __syncthreads();
  return level;
}

// The sum of eight lanes as a tree, in all of them.
__device__ __forceinline__ double lanes_sum(double value) {
  for (int step = 1; step < kLanes; step *= 2) value += __shfl_xor_sync(kAllLanes, value, step);
  return value;
}

// Value f of two dense rows goes to lane f % 8.
template <class A, class B>
__device__ __forceinline__ double share_dense(const A* a, const B* b, i64 d, int lane) {
  double common = 0;
  for (i64 f = lane; f < d; f += kLanes) common += (double)shared((float)a[f], (float)b[f]);
  return common;
}

// Eight lanes compare the rows of a pair: share(query, row, lane) is what a lane finds that they have in common.
template <class Share>
__device__ __forceinline__ void compare(const i32* queries, const i32* rows, i64 count, const double* a_norms,
                                        const double* b_norms, double* found, Share share) {
  i64 pair = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / kLanes;
  int lane = threadIdx.x % kLanes;
  bool valid = pair < count;
  i64 q = valid ? queries[pair] : 0, r = valid ? rows[pair] : 0;
  double common = lanes_sum(valid ? share(q, r, lane) : 0.0);
  if (valid && lane == 0) found[pair] = of_minima(common, a_norms[q] + b_norms[r]);
}

}  // namespace

// Planes of codes, packed: a thread makes one word of a row.
extern "C" __global__ void index_planes(const u8* codes, i64 n, i64 k, i64 words, i64 tables, i64 hashes, u32* out) {
  i64 i = (i64)blockIdx.x * kThreads + threadIdx.x, row = i / words, word = i % words;
  i64 padded = (n + kTogether - 1) / kTogether * kTogether;
  if (row >= padded) return;
  u32 planes[kPlanes] = {};
  for (int place = 0; row < n && place < kCodes; ++place) {
    i64 at = code_at(word, place, k, tables, hashes);
    u32 code = at < 0 ? 0 : codes[row * k + at];
#pragma unroll
    for (int p = 0; p < kPlanes; ++p) planes[p] |= (code >> p & 1) << place;
  }
#pragma unroll
  for (int p = 0; p < kPlanes; ++p)
    out[((row / kTogether * words * 2 + word * 2 + p / 4) * kTogether + row % kTogether) * 4 + p % 4] = planes[p];
}

// The pairs of a tile are [query][row]. Threads are as in gmm.cu.
extern "C" __global__ void KS_LAUNCH_BOUNDS(128, 3)
    index_count(const u32* a, i64 n, const u32* b, i64 m, i64 words, i64 tables, i64 hashes, i64 padding, u16* scores,
                i64 stride) {
  constexpr int kVectors = kWords * kPlanes / 4;
  typedef Stages<kTileRows, kTileColumns, kVectors, kTileThreads> Copies;
  __shared__ uint4 stages[2 * Copies::kSize];
  int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  int top = warp * 4 * kRows + lane / 8, left = lane % 8;
  i64 first_row = (i64)blockIdx.y * kTileRows, first_column = (i64)blockIdx.x * kTileColumns;
  u32 counts[kRows][kColumns], bands[kRows][kColumns];  // the first bit of a count says that a band is equal
  each_pair<kRows, kColumns>([&](int i, int j) { counts[i][j] = bands[i][j] = 0; });
  int inside = 0, open = (int)tables;
  for (Copies copies(stages, a, first_row, b, first_column, words * kPlanes / 4); copies.next();) {
    const uint4 *a_stage = copies.rows() + top, *b_stage = copies.columns() + left;
#pragma unroll
    for (int word = 0; word < kWords; ++word) {
      u32 differ[kRows][kColumns];
#pragma unroll
      for (int v = 2 * word; v < 2 * word + 2; ++v) {
        uint4 w[kColumns];
#pragma unroll
        for (int j = 0; j < kColumns; ++j) w[j] = b_stage[v * kTileColumns + 8 * j];
#pragma unroll
        for (int i = 0; i < kRows; ++i) {
          uint4 u = a_stage[v * kTileRows + 4 * i];
#pragma unroll
          for (int j = 0; j < kColumns; ++j) {
            u32 d = v == 2 * word ? u.x ^ w[j].x : differ[i][j] | (u.x ^ w[j].x);
            d |= u.y ^ w[j].y;
            d |= u.z ^ w[j].z;
            differ[i][j] = d | (u.w ^ w[j].w);
          }
        }
      }
      if (inside == 0) {  // the next 32 bands
        u32 all = open >= kCodes ? 0xFFFFFFFFu : open > 0 ? (1u << open) - 1 : 0u;
        open -= kCodes;
        each_pair<kRows, kColumns>([&](int i, int j) { bands[i][j] = all; });
      }
      each_pair<kRows, kColumns>([&](int i, int j) {
        counts[i][j] += __popc(~differ[i][j]);
        bands[i][j] &= ~differ[i][j];
      });
      if (++inside == hashes) {
        inside = 0;
        each_pair<kRows, kColumns>([&](int i, int j) { counts[i][j] |= bands[i][j] ? 0x80000000u : 0u; });
      }
    }
  }
  each_pair<kRows, kColumns>([&](int i, int j) {
    i64 row = first_row + top + 4 * i, column = first_column + left + 8 * j;
    bool candidate = tables == 0 || counts[i][j] >> 31;
    if (row < n && column < m)
      scores[row * stride + column] = candidate ? (u16)(1 + (counts[i][j] & 0x7FFFFFFFu) - (u32)padding) : (u16)0;
  });
}

#define KS_SHARE(name, Sum)                                                                                           \
  extern "C" __global__ void index_share_##name(const i64* a_starts, const i64* a_ends, const i64* a_keys,            \
                                                const float* a_sizes, const double* a_norms, const i64* b_starts,     \
                                                const i64* b_ends, const i64* b_keys, const float* b_sizes,           \
                                                const double* b_norms, i64 m, u16* scores, i64 stride) {              \
    share<Sum>({a_starts, a_ends, a_keys, a_sizes, a_norms}, {b_starts, b_ends, b_keys, b_sizes, b_norms}, m, scores, \
               stride);                                                                                               \
  }
KS_SHARE(f32, float)
KS_SHARE(f64, double)

// Scores of approximate similarities [n][m].
extern "C" __global__ void index_levels(const float* similarity, i64 n, i64 m, u16* scores, i64 stride) {
  i64 column = (i64)blockIdx.x * kThreads + threadIdx.x, row = blockIdx.y;
  if (column < m) scores[row * stride + column] = (u16)(1 + level_of((double)similarity[row * m + column]));
}

// found[query][3]: the least score that counts, how many rows of this score do, and how many rows in all. `want` rows are
// wanted, or all (0), of at least the score `least`. With a margin, all rows count whose score is up to so much below the
// least of the `want` best.
extern "C" __global__ void KS_LAUNCH_BOUNDS(512, 2)
    index_thresholds(const u16* scores, i64 stride, i64 m, const u8* empty, const i64* own, i64 later, i64 want,
                     i64 margin, i64 least, i64* found) {
  __shared__ u32 bins[kBins];
  int t = threadIdx.x;
  i64 vectors = (m + 7) / 8;
  Scores of = scores_of(scores, stride, m, own, later);
  found += 3 * (i64)blockIdx.x;
  if (empty[blockIdx.x]) {  // the same for all threads of the block
    if (t < 3) found[t] = 0;
    return;
  }
  int bound = (int)least;
  for (int i = t; i < kBins; i += kSelectThreads) bins[i] = 0;
  __syncthreads();
  u32 above, total;
  if (want > 0 && want <= kSelectThreads) {  // the best row of each thread: a bound that spares most counting
    int best = 0;
    of.visit(t, vectors, kSelectThreads, [&](i64, int score) { best = score > best ? score : best; });
    atomicAdd(&bins[best], 1u);
    __syncthreads();
    bound = cut(bins, (u32)want, (int)least, &above) - (int)margin;
    bound = bound > (int)least ? bound : (int)least;
    for (int i = t; i < kBins; i += kSelectThreads) bins[i] = 0;
    __syncthreads();
  }
  if (want == 0) {
    u32 count = 0;
    of.visit(t, vectors, kSelectThreads, [&](i64, int score) { count += score >= bound; });
    block_scan<kSelectThreads>(count, total);
    if (t == 0) found[0] = bound, found[1] = m, found[2] = total;
    return;
  }
  of.visit(t, vectors, kSelectThreads, [&](i64, int score) {
    if (score >= bound) atomicAdd(&bins[score], 1u);
  });
  __syncthreads();
  int level = cut(bins, (u32)want, (int)least, &above);
  if (margin > 0) {
    level = level - (int)margin > (int)least ? level - (int)margin : (int)least;
    u32 count = 0;
    for (int i = level + t; i < kBins; i += kSelectThreads) count += bins[i];
    block_scan<kSelectThreads>(count, total);
    if (t == 0) found[0] = level, found[1] = m, found[2] = total;
  } else if (t == 0) {
    i64 ties = want - above < bins[level] ? want - above : bins[level];
    found[0] = level, found[1] = ties, found[2] = above + ties;
  }
}

// The rows that count, with their query and their score, in the order of queries and rows. A thread takes successive rows.
extern "C" __global__ void KS_LAUNCH_BOUNDS(512, 2)
    index_collect(const u16* scores, i64 stride, i64 m, const i64* own, i64 later, const i64* thresholds,
                  const i64* offsets, i32* queries, i32* rows, i32* found, i64 first_row) {
  i64 q = blockIdx.x, level = thresholds[3 * q], budget = thresholds[3 * q + 1], vectors = (m + 7) / 8;
  if (thresholds[3 * q + 2] == 0) return;
  Scores of = scores_of(scores, stride, m, own, later);
  i64 per = (vectors + kSelectThreads - 1) / kSelectThreads, first = threadIdx.x * per;
  i64 last = first + per < vectors ? first + per : vectors;
  u32 above = 0, ties = 0, total;
  of.visit(first, last, 1, [&](i64, int score) {
    above += score > level;
    ties += score == level;
  });
  i64 above_before = block_scan<kSelectThreads>(above, total), ties_before = block_scan<kSelectThreads>(ties, total);
  i64 taken = ties_before < budget ? ties_before : budget, at = offsets[q] + above_before + taken;
  if (above == 0 && (ties == 0 || taken == budget)) return;
  of.visit(first, last, 1, [&](i64 row, int score) {
    if (score < level || (score == level && taken == budget)) return;
    taken += score == level;
    queries[at] = (i32)q;
    rows[at] = (i32)(first_row + row);
    found[at++] = score;
  });
}

#define KS_COMPARE(name, A, B)                                                                                 \
  extern "C" __global__ void index_compare_##name(const i32* queries, const i32* rows, i64 count, const A* a,  \
                                                  const double* a_norms, i64 a_stride, const B* b,             \
                                                  const double* b_norms, i64 b_stride, i64 d, double* found) { \
    compare(queries, rows, count, a_norms, b_norms, found,                                                     \
            [&](i64 q, i64 r, int lane) { return share_dense(a + q * a_stride, b + r * b_stride, d, lane); }); \
  }
KS_COMPARE(f32_f32, float, float)
KS_COMPARE(f32_u8, float, u8)
KS_COMPARE(u8_u8, u8, u8)

// The q-th value of a sparse indexed row goes to lane q % 8.
extern "C" __global__ void index_compare_sparse(const i32* queries, const i32* rows, i64 count, const i64* a_starts,
                                                const i64* a_ends, const i64* a_keys, const float* a_sizes,
                                                const double* a_norms, const i64* b_starts, const i64* b_ends,
                                                const i64* b_keys, const float* b_sizes, const double* b_norms,
                                                double* found) {
  compare(queries, rows, count, a_norms, b_norms, found, [&](i64 q, i64 r, int lane) {
    double common = 0;
    for (i64 at = b_starts[r] + lane; at < b_ends[r]; at += kLanes) {
      i64 key = b_keys[at], end = a_ends[q];
      i64 place = first_not(a_starts[q], end, [&](i64 of) { return a_keys[of] < key; });
      if (place < end && a_keys[place] == key) common += (double)least(a_sizes[place], b_sizes[at]);
    }
    return common;
  });
}

// L1 norms, summed as similarities are. Dense rows have no starts and d values each.
extern "C" __global__ void index_norms(const i64* starts, const float* values, i64 n, i64 d, double* norms) {
  i64 row = ((i64)blockIdx.x * blockDim.x + threadIdx.x) / kLanes;
  int lane = threadIdx.x % kLanes;
  double sum = 0;
  if (row < n) {
    i64 begin = starts ? starts[row] : row * d, end = starts ? starts[row + 1] : begin + d;
    for (i64 at = begin + lane; at < end; at += kLanes) sum += (double)(values[at] < 0 ? -values[at] : values[at]);
  }
  sum = lanes_sum(sum);
  if (row < n && lane == 0) norms[row] = sum;
}

// Whether a value belongs to the heavy part of its row: if the larger values hold less than the target, a part of 2^40.
extern "C" __global__ void index_heavy(const i64* starts, const float* values, const double* norms, i64 n, i64 target,
                                       u8* heavy) {
  i64 row = (i64)blockIdx.x * (blockDim.x / kWarp) + threadIdx.x / kWarp;
  if (row >= n) return;
  double factor = quotient(1099511627776.0, norms[row]);
  for (i64 at = starts[row] + threadIdx.x % kWarp; at < starts[row + 1]; at += kWarp) {
    float size = values[at] < 0 ? -values[at] : values[at];
    i64 larger = 0;
    for (i64 other = starts[row]; other < starts[row + 1]; ++other) {
      float of = values[other] < 0 ? -values[other] : values[other];
      if (of > size) larger += (i64)((double)of * factor);
    }
    heavy[at] = larger < target;
  }
}

// Rows by bucket of a table: bucket << 32 | row, or all ones for rows that are never neighbours.
extern "C" __global__ void index_buckets(const u8* codes, const u8* flags, i64 n, i64 k, i64 table, i64 hashes,
                                         i64 bits, u64* out) {
  i64 row = (i64)blockIdx.x * kThreads + threadIdx.x;
  if (row >= n) return;
  u64 bucket = ks_bucket(codes + row * k + table * hashes, (int)hashes, (u64)table, (int)bits);
  out[row] = flags[row] ? ~(u64)0 : bucket << 32 | (u64)row;
}
