// Linear models on codes: decision values, sums over the rows of each code, and the vectors of Newton's method.
//
// Decision values. A block takes rows and one part of the hashes (reference/linear.py sums parts by themselves). It
// brings the weights of 16 hashes at a time to shared memory, those of kProblems problems side by side, and each
// thread adds the weights of its rows in the order of the hashes. A second kernel adds the parts in their order. The
// results equal those of the reference bit for bit.
//
// Sums over rows. For each hash and each chunk of up to 16,384 rows, the rows are sorted by code once. The sum of a code is
// then the sum of a segment of a list, without atomic additions, whose order would change from run to run. The numbers
// that are summed are in shared memory.
//
// Problems may share the rows, or have rows of their own, whose codes then follow each other: a Span says which rows a
// problem has and where its numbers are.
//
// Newton's method (_newton.py). Vectors are [problem][hash][code] in units of 1/sqrt(k), as the table of weights, and
// have one more element for the bias, in an array of its own. The inner product of two vectors is k times that of their
// tables plus that of their biases. Sums over many numbers are double, in a fixed order.
#include "core/losses.h"
#include "core/newton.h"
#include "device.h"

using namespace ks;

namespace {

constexpr int kThreads = 256;
constexpr int kHashes = 16;                              // hashes whose weights are in shared memory
constexpr int kDecideThreads = 512, kRowsPerThread = 8;  // of a block that computes decision values
// Rows that are sorted together, and the threads that sort them.
constexpr int kChunk = kSharedKib >= 193 ? 16384 : kSharedKib >= 129 ? 8192 : kSharedKib >= 97 ? 4096 : 2048;
constexpr int kSorters = kSharedKib >= 162 ? 256 : kSharedKib >= 97 ? 128 : 64;
constexpr int kSumThreads = 512, kBlockHashes = kSharedKib >= 97 ? 32 : 16;  // of a block that sums over rows

// The rows of a problem: the first of them, their number, and the places of the first row's number in arrays of numbers
// per row and in the output.
struct Span {
  i64 first, rows, value, out;
};

// parts[part][size]: the sums of kProblems problems from `first` on, which have the same rows if they are several. With
// `shared_weights` off, tables are too large for shared memory and are read where they are.
template <class Code, class Real, int kProblems, bool shared_weights>
__device__ void partial_decisions(const Code* codes, const Span* spans, i64 size, i64 k, const Real* w, i64 stride,
                                  i64 problems, i64 part_size, Real* parts) {
  KS_DYNAMIC_SHARED(shared);
  Real* weights = (Real*)shared;
  i64 first_row = (i64)blockIdx.x * kDecideThreads * kRowsPerThread, part = blockIdx.y,
      first = (i64)blockIdx.z * kProblems;
  i64 n = spans[first].rows;
  if (first_row >= n) return;
  codes += spans[first].first * k;
  Real sums[kRowsPerThread][kProblems];
#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i)
#pragma unroll
    for (int p = 0; p < kProblems; ++p) sums[i][p] = 0;
  i64 end = (part + 1) * part_size < k ? (part + 1) * part_size : k;
  for (i64 j = part * part_size; j < end; j += kHashes) {
    int hashes = (int)(end - j < kHashes ? end - j : kHashes);
    if (shared_weights) {
      __syncthreads();
      for (int p = 0; p < kProblems; ++p)
        for (i64 i = threadIdx.x; i < hashes * stride; i += kDecideThreads)
          weights[i * kProblems + p] = first + p < problems ? w[((first + p) * k + j) * stride + i] : (Real)0;
      __syncthreads();
    }
    bool whole = sizeof(Code) == 1 && hashes == kHashes && k % 16 == 0;
#pragma unroll
    for (int i = 0; i < kRowsPerThread; ++i) {
      i64 row = first_row + i * kDecideThreads + threadIdx.x;
      if (row >= n) break;
      const Code* at = codes + row * k + j;
      uint4 words = {0, 0, 0, 0};
      if (whole) words = *(const uint4*)at;
#pragma unroll
      for (int h = 0; h < kHashes; ++h) {
        if (h >= hashes) break;
        u32 word = h < 4 ? words.x : h < 8 ? words.y : h < 12 ? words.z : words.w;
        i64 code = whole ? (i64)(word >> (8 * (h % 4)) & 255) : (i64)at[h];
        if (shared_weights) {
          const Real* of = weights + (h * stride + code) * kProblems;
#pragma unroll
          for (int p = 0; p < kProblems; ++p) sums[i][p] += of[p];
        } else {
#pragma unroll
          for (int p = 0; p < kProblems; ++p)
            if (first + p < problems) sums[i][p] += w[((first + p) * k + j + h) * stride + code];
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < kRowsPerThread; ++i) {
    i64 row = first_row + i * kDecideThreads + threadIdx.x;
    if (row >= n) break;
#pragma unroll
    for (int p = 0; p < kProblems; ++p)
      if (first + p < problems) parts[part * size + spans[first + p].value + row] = sums[i][p];
  }
}

// The sum of a value over a block.
__device__ __forceinline__ double block_sum(double value) { return block_join<kThreads>(value, Sum()); }

// Decision values: the parts in their order, plus the problem's offset. If there is a `curvature`, products with it are
// written to `scaled`, and their sums over each block to `totals` [problem][block].
template <class Real>
__device__ void combine(const Real* parts, i64 count, const Span* spans, i64 size, const u8* empty,
                        const double* offsets, double scale, Real* out, i64 row_step, const Real* curvature,
                        Real* scaled, double* totals) {
  i64 row = (i64)blockIdx.x * kThreads + threadIdx.x, p = blockIdx.y;
  Span span = spans[p];
  double product = 0;
  if (row < span.rows) {
    i64 at = span.value + row;
    Real sum = 0;
    for (i64 part = 0; part < count; ++part) sum += parts[part * size + at];
    Real found = (empty[span.first + row] ? (Real)0 : sum) + (Real)(scale * offsets[p]);
    if (out) out[span.out + row * row_step] = found;
    if (curvature) {
      Real z = curvature[at] * found;
      scaled[at] = z;
      product = (double)z;
    }
  }
  if (curvature) {
    double sum = block_sum(product);
    if (threadIdx.x == 0) totals[p * gridDim.x + blockIdx.x] = sum;
  }
}

// Up to kChunk rows, which are sorted together: the first of them, and their number.
struct Chunk {
  i64 first, rows;
};

// Sorts rows by a digit below 256 of their code. row_at(i) is the i-th row, digit_of(row) its digit, put(place, row) takes
// it to its place. A thread counts successive rows, so the order is stable. Returns where the rows of digit t begin, and
// their number.
constexpr int kPerSorter = kChunk / kSorters, kPadded = kSorters + 2;

template <class RowAt, class Digit, class Put>
__device__ __forceinline__ uint2 sort_by_digit(u16* counts, int rows, RowAt row_at, Digit digit_of, Put put) {
  int t = threadIdx.x;
  __syncthreads();
  for (int i = t; i < 256 * kPadded; i += kThreads) counts[i] = 0;
  __syncthreads();
  int end = t < kSorters ? (t + 1) * kPerSorter : 0;
  end = end < rows ? end : rows;
  for (int i = t * kPerSorter; i < end; ++i) ++counts[digit_of(row_at(i)) * kPadded + t];
  __syncthreads();
  u32 total = 0;  // of digit t
  for (int i = 0; i < kSorters; ++i) total += counts[t * kPadded + i];
  u32 all, before = block_scan<kThreads>(total, all), begin = before;
  for (int i = 0; i < kSorters; ++i) {
    u32 count = counts[t * kPadded + i];
    counts[t * kPadded + i] = (u16)before;
    before += count;
  }
  __syncthreads();
  for (int i = t * kPerSorter; i < end; ++i) {
    int row = row_at(i);
    put(counts[digit_of(row) * kPadded + t]++, row);
  }
  __syncthreads();
  return {begin, total};
}

// ids[chunk][hash][kChunk]: the rows of a chunk, sorted by code and then by number. segments[chunk][hash][3][places]:
// codes, and where the segments of these codes begin and end; codes without rows come last. `columns` are the codes
// [hash][n] of the rows from `start` on.
//
// Codes of 8 bits are in descending order of their number of rows, so that segments that are summed at the same time have
// about the same length. Codes of 16 bits are sorted by two digits, and are in ascending order.
__device__ void sort_rows(const u8* columns, i64 start, i64 n, const Chunk* chunks, i64 k, i64 places, u16* ids,
                          u16* segments) {
  KS_DYNAMIC_SHARED(shared);
  u16* counts = (u16*)shared;  // [digit][thread], padded
  __shared__ u32 sizes[kThreads];
  i64 hash = blockIdx.x, chunk = blockIdx.y;
  int rows = (int)chunks[chunk].rows, t = threadIdx.x;
  columns += hash * n + chunks[chunk].first - start;
  ids += (chunk * k + hash) * kChunk;
  segments += (chunk * k + hash) * 3 * places;
  uint2 own = sort_by_digit(
      counts, rows, [](int i) { return i; }, [&](int row) { return (int)columns[row]; },
      [&](int place, int row) { ids[place] = (u16)row; });
  u32 begin = own.x, total = own.y;
  sizes[t] = total;
  __syncthreads();
  if (t < places) {
    int rank = 0;
    for (int c = 0; c < places; ++c) rank += sizes[c] > total || (sizes[c] == total && c < t);
    segments[rank] = (u16)t;
    segments[places + rank] = (u16)begin;
    segments[2 * places + rank] = (u16)(begin + total);
  }
}

__device__ void sort_rows(const u16* columns, i64 start, i64 n, const Chunk* chunks, i64 k, i64 places, u16* ids,
                          u16* segments) {
  KS_DYNAMIC_SHARED(shared);
  u16* counts = (u16*)shared;
  u16* half = counts + 256 * kPadded;  // the rows, sorted by the last digit
  i64 hash = blockIdx.x, chunk = blockIdx.y;
  int rows = (int)chunks[chunk].rows, t = threadIdx.x;
  columns += hash * n + chunks[chunk].first - start;
  ids += (chunk * k + hash) * kChunk;
  segments += (chunk * k + hash) * 3 * places;
  sort_by_digit(
      counts, rows, [](int i) { return i; }, [&](int row) { return columns[row] & 255; },
      [&](int place, int row) { half[place] = (u16)row; });
  sort_by_digit(
      counts, rows, [&](int i) { return (int)half[i]; }, [&](int row) { return columns[row] >> 8; },
      [&](int place, int row) { ids[place] = (u16)row; });
  auto begins = [&](int i) { return i == 0 || columns[ids[i]] != columns[ids[i - 1]]; };  // a segment
  constexpr int kPerThread = kChunk / kThreads;
  u32 count = 0;
  for (int i = t * kPerThread; i < (t + 1) * kPerThread && i < rows; ++i) count += begins(i);
  u32 last, at = block_scan<kThreads>(count, last);
  for (int i = t * kPerThread; i < (t + 1) * kPerThread && i < rows; ++i) {
    if (!begins(i)) continue;
    segments[at] = columns[ids[i]];
    segments[places + at] = (u16)i;
    if (at > 0) segments[2 * places + at - 1] = (u16)i;
    ++at;
  }
  __syncthreads();
  if (t == 0 && rows > 0) segments[2 * places + last - 1] = (u16)rows;
  for (i64 i = last + t; i < places; i += kThreads) segments[places + i] = segments[2 * places + i] = 0;
}

// sums[slice][problem][hash][code] over the rows of some chunks of a problem, from_chunk[problem][0] to
// from_chunk[problem][1]; rows that are empty do not count. kLanes lanes of a warp sum one segment. The sums of a block stay in shared
// memory until the last chunk; those of wide tables are where they will be, and no two warps add to the same one.
template <class Real, int kLanes, bool wide>
__device__ void sum_rows(const u16* ids, const u16* segments, const Chunk* chunks, const i64* from_chunk,
                         const Span* spans, i64 k, i64 stride, i64 places, const u8* empty, const Real* values,
                         Real* sums) {
  KS_DYNAMIC_SHARED(shared);
  Real* chunk_values = (Real*)shared;
  i64 slice = blockIdx.y, slices = gridDim.y, p = blockIdx.z, problems = gridDim.z;
  i64 first_hash = (i64)blockIdx.x * kBlockHashes,
      hashes = k - first_hash < kBlockHashes ? k - first_hash : kBlockHashes;
  sums += ((slice * problems + p) * k + first_hash) * stride;
  Real* block_sums = wide ? sums : chunk_values + kChunk + 2;
  int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, own = lane % kLanes;
  values += spans[p].value - spans[p].first;
  for (i64 i = threadIdx.x; i < hashes * stride; i += kSumThreads) block_sums[i] = 0;
  i64 begin_chunk = from_chunk[2 * p], count = from_chunk[2 * p + 1] - begin_chunk;
  for (i64 chunk = begin_chunk + count * slice / slices; chunk < begin_chunk + count * (slice + 1) / slices; ++chunk) {
    i64 first = chunks[chunk].first;
    int rows = (int)chunks[chunk].rows;
    __syncthreads();
    if (threadIdx.x == 0) chunk_values[kChunk] = 0;
    for (int i = threadIdx.x; i < rows; i += kSumThreads)
      chunk_values[i] = empty[first + i] ? (Real)0 : values[first + i];
    __syncthreads();
    for (int h = warp; h < kBlockHashes; h += kSumThreads / kWarp) {
      i64 hash = first_hash + h;
      if (hash >= k) break;
      const u16* list = ids + (chunk * k + hash) * kChunk;
      const u16* of_hash = segments + (chunk * k + hash) * 3 * places;
      for (i64 place = 0; place < places; place += kWarp) {
        bool inside = place + lane < places;
        int code = inside ? of_hash[place + lane] : 0;
        int begin = inside ? of_hash[places + place + lane] : 0, last = inside ? of_hash[2 * places + place + lane] : 0;
        if (__shfl_sync(kAllLanes, last - begin, 0) == 0) break;  // this code and all that follow have no rows
#pragma unroll 2
        for (int s = lane / kLanes; s < kWarp; s += kWarp / kLanes) {
          int from = __shfl_sync(kAllLanes, begin, s), to = __shfl_sync(kAllLanes, last, s);
          int of = __shfl_sync(kAllLanes, code, s);
          Real sum = 0;
#pragma unroll 2
          for (int i = from / 4 * 4 + 4 * own; i < to; i += 4 * kLanes) {  // four rows at a time
            uint2 four = *(const uint2*)(list + i);
#pragma unroll
            for (int q = 0; q < 4; ++q) {
              u32 row = (q < 2 ? four.x : four.y) >> (16 * (q % 2)) & 0xFFFF;
              sum += chunk_values[i + q >= from && i + q < to ? row : kChunk];  // the value past the last is 0
            }
          }
#pragma unroll
          for (int step = kLanes / 2; step > 0; step /= 2) sum += __shfl_xor_sync(kAllLanes, sum, step);
          if (own == 0 && to > from) block_sums[(i64)h * stride + of] += sum;
        }
      }
    }
  }
  if (wide) return;
  __syncthreads();
  for (i64 i = threadIdx.x; i < hashes * stride; i += kSumThreads) sums[i] = block_sums[i];
}

// out = `of` v + `factor` * the sum of the slices, and the sums of out * with over each block, [problem][block].
template <class Real>
__device__ void add_slices(const Real* sums, i64 slices, i64 size, double of, const Real* v, double factor, Real* out,
                           const Real* with, double* dots) {
  i64 p = blockIdx.y, problems = gridDim.y;
  double dot = 0;
  for (i64 i = (i64)blockIdx.x * kThreads + threadIdx.x; i < size; i += (i64)gridDim.x * kThreads) {
    Real sum = 0;
    for (i64 s = 0; s < slices; ++s) sum += sums[(s * problems + p) * size + i];
    Real found = (v ? (Real)of * v[p * size + i] : (Real)0) + (Real)factor * sum;
    out[p * size + i] = found;
    dot += (double)found * (double)(with ? with[p * size + i] : found);
  }
  dot = block_sum(dot);
  if (threadIdx.x == 0) dots[p * gridDim.x + blockIdx.x] = dot;
}

struct Targets {
  const i32* labels;  // or null
  const float* targets;
  const float* cost;
  const i32* positive;
  const float* factors;  // [problem][2]
};

__device__ __forceinline__ void target_of(const Targets& of, i64 row, i64 p, double& y, double& c) {
  c = (double)of.cost[row];
  if (of.labels) {
    bool inside = of.labels[row] == of.positive[p];
    y = inside ? 1 : -1;
    c = (double)(of.cost[row] * of.factors[2 * p + inside]);
  } else {
    y = (double)of.targets[row];
  }
}

// beta and curvature of each row, and the sums of losses and of beta over each block, [problem][block][2].
template <class Real>
__device__ void residuals(i64 loss, double parameter, const Targets& of, const Real* f, i64 n, Real* beta,
                          Real* curvature, double* totals) {
  i64 row = (i64)blockIdx.x * kThreads + threadIdx.x, p = blockIdx.y;
  double value = 0, dual = 0, bent = 0;
  if (row < n) {
    double y, c, at = (double)f[p * n + row];
    target_of(of, row, p, y, c);
    with_loss<double>(loss, [&](auto chosen) {
      using LossOf = decltype(chosen);
      if constexpr (LossOf::kIsSmooth) {
        if (!(c > 0)) return;
        value = LossOf::value(at, y, c, parameter);
        dual = LossOf::dual(at, y, c, parameter);
        bent = LossOf::curvature(at, y, c, parameter);
      }
    });
    beta[p * n + row] = (Real)dual;
    curvature[p * n + row] = (Real)bent;
  }
  value = block_sum(value);
  double sum = block_sum(dual);
  if (threadIdx.x == 0) {
    totals[(p * gridDim.x + blockIdx.x) * 2] = value;
    totals[(p * gridDim.x + blockIdx.x) * 2 + 1] = sum;
  }
}

// The sums of losses at f + each length * direction over each block, [problem][length][block].
template <class Real>
__device__ void line(i64 loss, double parameter, const Targets& of, const Real* f, const Real* direction, i64 n,
                     double* totals) {
  i64 row = (i64)blockIdx.x * kThreads + threadIdx.x, p = blockIdx.y;
  double y = 0, c = 0, at = 0, by = 0;
  if (row < n) {
    target_of(of, row, p, y, c);
    at = (double)f[p * n + row];
    by = (double)direction[p * n + row];
  }
#pragma unroll 1
  for (int t = 0; t < kLengthCount; ++t) {
    double value = 0;
    with_loss<double>(loss, [&](auto chosen) {
      if (c > 0) value = decltype(chosen)::value(at + length_of_step(t) * by, y, c, parameter);
    });
    value = block_sum(value);
    if (threadIdx.x == 0) totals[(p * kLengthCount + t) * gridDim.x + blockIdx.x] = value;
  }
}

// One step of conjugate gradients: x += alpha v, r -= alpha q, and the sums of r * r over each block.
template <class Real>
__device__ void conjugate_step(i64 size, const double* alpha, const Real* v, const Real* q, Real* x, Real* r,
                               double* dots) {
  i64 p = blockIdx.y;
  Real a = (Real)alpha[p];
  double dot = 0;
  for (i64 i = p * size + (i64)blockIdx.x * kThreads + threadIdx.x; i < (p + 1) * size;
       i += (i64)gridDim.x * kThreads) {
    x[i] += a * v[i];
    Real left = r[i] - a * q[i];
    r[i] = left;
    dot += (double)left * (double)left;
  }
  dot = block_sum(dot);
  if (threadIdx.x == 0) dots[p * gridDim.x + blockIdx.x] = dot;
}

// y = a[p] x + b[p] y, the step of many vectors; without `b`, b is 1.
template <class Real>
__device__ void combine_vectors(i64 size, const double* a, const Real* x, const double* b, Real* y) {
  i64 p = blockIdx.y;
  Real by = a ? (Real)a[p] : (Real)1, of = b ? (Real)b[p] : (Real)1;
  for (i64 i = p * size + (i64)blockIdx.x * kThreads + threadIdx.x; i < (p + 1) * size; i += (i64)gridDim.x * kThreads)
    y[i] = by * x[i] + of * y[i];
}

}  // namespace

// The numbers of conjugate gradients, [which][problem]: the product of the residual r with the preconditioned residual z,
// alpha, beta, whether a problem still runs, its objective, and the first product; the biases of v, x, r, z and w; and
// |w|^2 and the length of the step, for the search along it.
enum { kProduct, kAlpha, kBeta, kRuns, kObjective, kFirst, kBiasV, kBiasX, kBiasR, kBiasZ, kBiasW, kSquares, kLength };

// The sum of numbers, by a block.
__device__ __forceinline__ double sum_of(const double* numbers, i64 count) {
  double sum = 0;
  for (i64 i = threadIdx.x; i < count; i += kThreads) sum += numbers[i];
  return block_sum(sum);
}

// alpha, from the sums of v * q over blocks and the sums of curvature * decisions over blocks. A block per problem.
extern "C" __global__ void KS_LAUNCH_BOUNDS(256, 1)
    linear_alpha(double* numbers, const double* dots, i64 blocks, const double* totals, i64 row_blocks, i64 k,
                 double scale) {
  i64 p = blockIdx.x, problems = gridDim.x;
  double dot = sum_of(dots + p * blocks, blocks), total = sum_of(totals + p * row_blocks, row_blocks);
  if (threadIdx.x > 0) return;
  double v = numbers[kBiasV * problems + p], q = v + scale * total;
  double product = (double)k * dot + v * q;
  double alpha = numbers[kRuns * problems + p] != 0 ? conjugate_length(numbers[kProduct * problems + p], product) : 0;
  numbers[kAlpha * problems + p] = alpha;
  numbers[kBiasX * problems + p] += alpha * v;
  numbers[kBiasR * problems + p] -= alpha * q;
}

// beta, from the sums of r * r and r * z over blocks; without a preconditioner z is r. A problem stops at its target, or
// when rounding errors are as large as the product. The bias of v moves as v will.
extern "C" __global__ void KS_LAUNCH_BOUNDS(256, 1)
    linear_beta(double* numbers, const double* norms, const double* products, i64 blocks, i64 k, double tol) {
  i64 p = blockIdx.x, problems = gridDim.x;
  double r = numbers[kBiasR * problems + p], z = products ? numbers[kBiasZ * problems + p] : r;
  double norm = (double)k * sum_of(norms + p * blocks, blocks) + r * r;
  double product = products ? (double)k * sum_of(products + p * blocks, blocks) + r * z : norm;
  if (threadIdx.x > 0) return;
  double beta = conjugate_turn(product, numbers[kProduct * problems + p]);
  numbers[kBeta * problems + p] = beta;
  numbers[kProduct * problems + p] = product;
  if (!(norm > aim(tol, numbers[kObjective * problems + p]) && product > exact_enough(numbers[kFirst * problems + p])))
    numbers[kRuns * problems + p] = 0;
  numbers[kBiasV * problems + p] = z + beta * numbers[kBiasV * problems + p];
}

// The length of the step, from sums over blocks: of losses [problem][length][block], of x * x and of w * x.
extern "C" __global__ void KS_LAUNCH_BOUNDS(256, 1)
    linear_search(double* numbers, const double* totals, i64 row_blocks, const double* squares, const double* products,
                  i64 blocks, i64 k) {
  i64 p = blockIdx.x, problems = gridDim.x;
  double losses[kLengthCount], bias = numbers[kBiasX * problems + p];
  for (int t = 0; t < kLengthCount; ++t) losses[t] = sum_of(totals + (p * kLengthCount + t) * row_blocks, row_blocks);
  double of_x = (double)k * sum_of(squares + p * blocks, blocks) + bias * bias;
  double product = (double)k * sum_of(products + p * blocks, blocks) + bias * numbers[kBiasW * problems + p];
  if (threadIdx.x > 0) return;
  numbers[kLength * problems + p] = best_length(numbers[kSquares * problems + p], product, of_x,
                                                numbers[kObjective * problems + p], [&](int t) { return losses[t]; });
}

#define KS_SORT(name, Code)                                                                                     \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(256, 1) linear_sort_##name(                                       \
      const Code* columns, i64 start, i64 n, const Chunk* chunks, i64 k, i64 places, u16* ids, u16* segments) { \
    sort_rows(columns, start, n, chunks, k, places, ids, segments);                                             \
  }
KS_SORT(u8, u8)
KS_SORT(u16, u16)

#define KS_DECIDE(name, Code, Real, problems, in_shared)                                                           \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(512, problems == 1 ? 2 : 1)                                          \
      linear_decide_##name(const Code* codes, const Span* spans, i64 size, i64 k, const Real* w, i64 stride,       \
                           i64 count, i64 part_size, Real* parts) {                                                \
    partial_decisions<Code, Real, problems, in_shared>(codes, spans, size, k, w, stride, count, part_size, parts); \
  }
#define KS_DECIDES(real, Real, many)                  \
  KS_DECIDE(u8_##real##_one, u8, Real, 1, true)       \
  KS_DECIDE(u8_##real##_many, u8, Real, many, true)   \
  KS_DECIDE(u8_##real##_large, u8, Real, 1, false)    \
  KS_DECIDE(u16_##real##_one, u16, Real, 1, true)     \
  KS_DECIDE(u16_##real##_many, u16, Real, many, true) \
  KS_DECIDE(u16_##real##_large, u16, Real, 1, false)
KS_DECIDES(f32, float, 4)
KS_DECIDES(f64, double, 2)

#define KS_SUM(name, Real, lanes, wide)                                                                            \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(512, 2) linear_sum_##name(                                           \
      const u16* ids, const u16* segments, const Chunk* chunks, const i64* from_chunk, const Span* spans, i64 k,   \
      i64 stride, i64 places, const u8* empty, const Real* values, Real* sums) {                                   \
    sum_rows<Real, lanes, wide>(ids, segments, chunks, from_chunk, spans, k, stride, places, empty, values, sums); \
  }
#define KS_VECTORS(real, Real)                                                                                         \
  extern "C" __global__ void linear_combine_##real(                                                                    \
      const Real* parts, i64 count, const Span* spans, i64 size, const u8* empty, const double* offsets, double scale, \
      Real* out, i64 row_step, const Real* curvature, Real* scaled, double* totals) {                                  \
    combine<Real>(parts, count, spans, size, empty, offsets, scale, out, row_step, curvature, scaled, totals);         \
  }                                                                                                                    \
  KS_SUM(real##_8, Real, 8, false)                                                                                     \
  KS_SUM(real##_32, Real, 32, false)                                                                                   \
  KS_SUM(real##_wide, Real, 8, true)                                                                                   \
  extern "C" __global__ void linear_slices_##real(const Real* sums, i64 slices, i64 size, double of, const Real* v,    \
                                                  double factor, Real* out, const Real* with, double* dots) {          \
    add_slices<Real>(sums, slices, size, of, v, factor, out, with, dots);                                              \
  }                                                                                                                    \
  extern "C" __global__ void linear_residuals_##real(                                                                  \
      i64 loss, double parameter, const i32* labels, const float* targets, const float* cost, const i32* positive,     \
      const float* factors, const Real* f, i64 n, Real* beta, Real* curvature, double* totals) {                       \
    residuals<Real>(loss, parameter, {labels, targets, cost, positive, factors}, f, n, beta, curvature, totals);       \
  }                                                                                                                    \
  extern "C" __global__ void linear_line_##real(i64 loss, double parameter, const i32* labels, const float* targets,   \
                                                const float* cost, const i32* positive, const float* factors,          \
                                                const Real* f, const Real* direction, i64 n, double* totals) {         \
    line<Real>(loss, parameter, {labels, targets, cost, positive, factors}, f, direction, n, totals);                  \
  }                                                                                                                    \
  extern "C" __global__ void linear_step_##real(i64 size, const double* alpha, const Real* v, const Real* q, Real* x,  \
                                                Real* r, double* dots) {                                               \
    conjugate_step<Real>(size, alpha, v, q, x, r, dots);                                                               \
  }                                                                                                                    \
  extern "C" __global__ void linear_vectors_##real(i64 size, const double* a, const Real* x, const double* b,          \
                                                   Real* y) {                                                          \
    combine_vectors<Real>(size, a, x, b, y);                                                                           \
  }
KS_VECTORS(f32, float)
KS_VECTORS(f64, double)
