// Weighted sampling of long rows: most of their values cannot win, and bounds say which. gcws.cu is for short rows.
//
// A value with log weight L has a = A - r floor(L / r + 1 + beta), which does not rise with L. The a of the largest L that
// a slot has in some rows is a bound for all of them, in floating point, too, because every operation is monotone. A row
// that has an a below a threshold needs no look at slots whose bound is at or above it. The least a of a row of total
// weight W is log2(E / W) + 0.53 with an exponential E, so a threshold of log2(c / W) + 0.53 fails for exp(-c) of the
// hashes. Some ten values per row and hash are left to visit, however long the row is.
//
// 1. A kernel lists the nonzero values of each row: the key of the slot (if slots are many, it becomes the rank among
//    those that occur) and the logarithm; and it computes the logarithm of W. Rows are put in descending order of W and
//    divided into tiles, each of which has a threshold.
// 2. The values of a tile are put in the order of slots and, within a slot, of classes: octaves below the largest.
// 3. For each hash, kernels list the slots whose bound is below the threshold of a tile.
// 4. A block takes a tile and a hash. It visits the values of the listed slots, as many classes as the bounds require.
//    The least a of each row is in shared memory, rounded, with the number of its slot in the last bits.
// 5. A last kernel looks at all values of a row where the threshold failed or two rounded a are equal, which happens to
//    one in several hundred, and makes codes, samples or fingerprints.
//
// The order of values within a class differs from run to run; results do not depend on it, nor on thresholds.
#include "samples.h"

using namespace ks;

namespace {

// _gcws_bounds.py has the same numbers.
constexpr int kThreads = 256;  // of all kernels but that of the visits
constexpr int kRowsPerBlock = kThreads / kWarp;
constexpr int kPlaces = 128;    // rows of a block that puts values in order; a tile has a multiple of them
constexpr int kClasses = 4;     // the last has everything from three octaves below the largest value on
constexpr int kHashes = 8;      // hashes per thread that chooses slots
constexpr int kTile = 32;       // rows and hashes of a block of the last kernel
constexpr int kLongItem = 256;  // values per item from which on items are visited one by one
constexpr int kAhead = 4;       // values per lane that are loaded at a time
constexpr i32 kUnknown = -2;    // a winner that the visits did not find
constexpr u32 kInfinity = 0x7F800000u, kMinusInfinity = 0xFF800000u;

// Unsigned integers in the order of floats; 0 is below all of them.
__device__ __forceinline__ u32 ordered(float x) {
  u32 bits = ks_bits32(x);
  return bits ^ ((u32)((i32)bits >> 31) | 0x80000000u);
}

__device__ __forceinline__ float in_order(u32 x) { return ks_float32(x ^ ((u32)((i32)~x >> 31) | 0x80000000u)); }

// Ranks are slots if there is no array of slots.
__device__ __forceinline__ u64 slot_at(const i64* slot_of, u32 rank) { return slot_of ? (u64)slot_of[rank] : rank; }

// The values of each row, in ascending order of keys.
struct Lists {
  const i64* starts;  // of sparse rows; or null, and row i begins at i * d
  i64 d;
  const i32* counts;
  i32* keys;
  float* logs;
};

__device__ __forceinline__ i64 begin_of(const Lists& of, i64 row) { return of.starts ? of.starts[row] : row * of.d; }

// What is known of a row after its values were listed, by the lanes of a warp together.
struct Seen {
  float largest = 0, most = ks_float32(kMinusInfinity);

  __device__ __forceinline__ void add(float log) {
    float size = log < 0 ? -log : log;
    largest = largest > size ? largest : size;
    most = most > log ? most : log;
  }

  // Writes the number of values, minus the logarithm of their sum and whether there are none.
  __device__ __forceinline__ void end(i64 row, i32 count, const float* logs, i32* counts, float* lightness, u8* empty,
                                      float* largest_of_all) {
    int lane = threadIdx.x % kWarp;
    most = warp_join(most, Largest());
    __syncwarp();
    float sum = 0;
    for (i32 i = lane; i < count; i += kWarp) sum += exp2f(logs[i] - most);  // no result depends on it
    sum = warp_join(sum, Sum());
    atomicMax((i32*)largest_of_all, (i32)ks_bits32(largest));
    if (lane == 0) {
      counts[row] = count;
      lightness[row] = count ? -(most + log2f(sum)) : ks_float32(kInfinity);
      empty[row] = count == 0;
    }
  }
};

// Lists the values of a dense row, one warp per row. Values wait until there are enough for all lanes, since logarithms
// take longer than everything else.
template <class T>
__device__ void list_dense(const T* __restrict__ x, i64 n, i64 d, i64 stride, const double* __restrict__ center,
                           double p, i32* keys, float* logs, i32* counts, float* lightness, u8* empty, float* largest) {
  __shared__ double waiting_values[kRowsPerBlock][2 * kWarp];
  __shared__ i32 waiting_keys[kRowsPerBlock][2 * kWarp];
  int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  i64 row = (i64)blockIdx.x * kRowsPerBlock + warp;
  if (row >= n) return;
  double* own_values = waiting_values[warp];
  i32* own_keys = waiting_keys[warp];
  x += row * stride;
  keys += row * d;
  logs += row * d;
  i32 count = 0, waiting = 0;
  Seen seen;
  auto list = [&](i32 many) {
    __syncwarp();
    if (lane < many) {
      float log = ks_log_weight(own_values[lane], p);
      keys[count + lane] = own_keys[lane];
      logs[count + lane] = log;
      seen.add(log);
    }
    count += many;
    waiting -= many;
    __syncwarp();
    if (lane < waiting) {
      own_values[lane] = own_values[kWarp + lane];
      own_keys[lane] = own_keys[kWarp + lane];
    }
    __syncwarp();
  };
  for (i64 first = 0; first < d; first += kAhead * kWarp) {
    double values[kAhead];
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      i64 f = first + i * kWarp + lane;
      values[i] = f < d ? (double)x[f] - (center ? center[f] : 0.0) : 0.0;
    }
#pragma unroll
    for (int i = 0; i < kAhead; ++i) {
      u32 mask = __ballot_sync(kAllLanes, values[i] != 0);
      if (values[i] != 0) {
        i32 at = waiting + __popc(mask & ((1u << lane) - 1));
        own_values[at] = values[i];
        own_keys[at] = (i32)(2 * (first + i * kWarp + lane) + (values[i] < 0));
      }
      waiting += __popc(mask);
      if (waiting >= kWarp) list(kWarp);
    }
  }
  if (waiting > 0) list(waiting);
  seen.end(row, count, logs, counts, lightness, empty, largest);
}

// Computes the logarithms of the values of a sparse row, one warp per row. No value is 0.
template <class T>
__device__ void list_sparse(const i64* starts, const i32* keys, const T* data, i64 n, double p, float* logs,
                            i32* counts, float* lightness, u8* used, u8* empty, float* largest) {
  i64 row = (i64)blockIdx.x * kRowsPerBlock + threadIdx.x / kWarp;
  if (row >= n) return;
  i64 begin = starts[row], end = starts[row + 1];
  Seen seen;
  for (i64 i = begin + threadIdx.x % kWarp; i < end; i += kWarp) {
    float log = ks_log_weight((double)data[i], p);
    logs[i] = log;
    if (!used[keys[i]]) used[keys[i]] = 1;
    seen.add(log);
  }
  seen.end(row, (i32)(end - begin), logs + begin, counts, lightness, empty, largest);
}

// The class of a value, and a bound of the logarithms of a class whose slot has at most `top`.
__device__ __forceinline__ int class_of(float top, float log) {
  float below_top = top - log;
  return below_top < kClasses - 1 ? (int)below_top : kClasses - 1;
}

__device__ __forceinline__ float class_bound(float top, int c) {
  if (c == 0) return top;
  float size = top < 0 ? -top : top;
  return (top - (float)c) + (size + 4) * 2.384185791015625e-7f;  // 2^-22, above the errors of both differences
}

// Calls work(place, key, logarithm, index) for the values of the rows of a block, each row by a warp.
template <class Work>
__device__ __forceinline__ void for_values(const Lists& of, const i64* row_at, i64 n, Work work) {
  i64 first = (i64)blockIdx.x * kPlaces;
  for (i64 place = first + threadIdx.x / kWarp; place < first + kPlaces && place < n; place += kThreads / kWarp) {
    i64 row = row_at[place], begin = begin_of(of, row), end = begin + of.counts[row];
    for (i64 i = begin + threadIdx.x % kWarp; i < end; i += kAhead * kWarp) {
      i32 key[kAhead];
      float log[kAhead];
#pragma unroll
      for (int w = 0; w < kAhead; ++w) {
        bool inside = i + w * kWarp < end;
        key[w] = inside ? of.keys[i + w * kWarp] : 0;
        log[w] = inside ? of.logs[i + w * kWarp] : 0.0f;
      }
#pragma unroll
      for (int w = 0; w < kAhead; ++w)
        if (i + w * kWarp < end) work(place, key[w], log[w], i + w * kWarp);
    }
  }
}

// The number of the class of a value among the classes of all slots of a tile.
__device__ __forceinline__ i64 class_number(const u32* tops, i32 rank, float log) {
  return (i64)rank * kClasses + class_of(in_order(tops[rank]), log);
}

// Counts the values of a block by class in shared memory.
__device__ __forceinline__ void count_classes(const Lists& of, const i64* row_at, i64 n, const u32* tops, i64 classes,
                                              u32* counts) {
  for (i64 i = threadIdx.x; i < classes; i += kThreads) counts[i] = 0;
  __syncthreads();
  for_values(of, row_at, n,
             [&](i64, i32 rank, float log, i64) { atomicAdd(counts + class_number(tops, rank, log), 1u); });
  __syncthreads();
}

// The minima of a tile in 32 bits: how far a is below the threshold, rounded to steps, and the number of its item.
// Rounding keeps the order. Two items of a row with equal rounded a mark it by 0: it is looked at again in the end.
struct Minima {
  u32* least;
  float limit, steps;
  int bits;   // of the number of an item
  u32 above;  // keys from here on have no a below the threshold

  __device__ __forceinline__ Minima(u32* least, float threshold, i32 items) : least(least), bits(1) {
    while (bits < 24 && items > 1 << bits) ++bits;
    int digits = 32 - bits < 22 ? 32 - bits : 22;
    limit = threshold * kShare;
    steps = (float)((1u << digits) - 3);
    above = ((u32)steps + 1) << bits;
  }

  // The key of an item with an a of at least the threshold, plus what the bits of kMagic subtract from it.
  __device__ __forceinline__ u32 base(i32 item) const { return (above | (u32)item) + (ks_bits32(kMagic) << bits); }

  __device__ __forceinline__ void keep(u32 row, float a, u32 base) const {
    float share = fused_share(-kShare, a, limit);
    u32 key = base - (ks_bits32(fused(share, steps, kMagic)) << bits);
    u32 old = atomicMin(least + row, key);
    if ((old ^ key) >> bits == 0 && key < above) atomicMin(least + row, 0u);
  }

  __device__ __forceinline__ bool found(u32 key) const { return key - 1 < above - 1; }
  __device__ __forceinline__ u32 item(u32 key) const { return key & ((1u << bits) - 1); }

 private:
  static constexpr float kShare = 0.0625f;     // 16 units of a below the threshold are distinguished
  static constexpr float kMagic = 8388608.0f;  // 2^23: its sum with a smaller number has that in its last bits
};

// A slot that can win, and its values in a tile.
struct __align__(16) Item {
  ks_parameters of;
  u32 base;
  i32 begin, end;  // of the values
  i32 before;      // values of the items of the batch before it
};

// The values of a tile, and the hash.
struct Tile {
  const u32* tops;
  const u32* starts;
  const u16* rows;
  const float* logs;
  const u64* states;
  u32 hash;
  float threshold;
};

// An item, without values if none of them can win.
__device__ __forceinline__ Item item_of(const Tile& tile, u32 rank, u32 base) {
  Item item = {ks_unpack_parameters(ks_pack_parameters(tile.states[rank], tile.hash)), base, 0, 0, 0};
  u32 top = tile.tops[rank];
  if (!top) return item;
  const u32* starts = tile.starts + (i64)rank * kClasses;
  item.begin = item.end = (i32)starts[0];
  for (int c = 0; c < kClasses; ++c) {
    if (!(a_of<false>(class_bound(in_order(top), c), item.of) < tile.threshold)) break;
    item.end = (i32)starts[c + 1];
  }
  return item;
}

// Visits items one by one, in pieces that the warps of a block take in turn. The next piece is that of warp `turn`.
template <bool fast>
__device__ __forceinline__ void visit_long_items(const Tile& tile, const Minima& minima, const Item* items, int count,
                                                 int& turn) {
  constexpr int kPiece = kAhead * kWarp;
  int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp;  // a power of two
  for (int s = 0; s < count; ++s) {
    Item of = items[s];
    i32 pieces = (of.end - of.begin + kPiece - 1) / kPiece, piece = (warp - turn) & (warps - 1);
    turn = (turn + pieces) & (warps - 1);
    for (; piece < pieces; piece += warps) {
      i32 first = of.begin + piece * kPiece + lane, left = of.end - first;
      const float* logs = tile.logs + first;
      const u16* rows = tile.rows + first;
      float log[kAhead];
      u32 row[kAhead];
#pragma unroll
      for (int w = 0; w < kAhead; ++w) {
        bool inside = w * kWarp < left;
        log[w] = inside ? logs[w * kWarp] : 0.0f;
        row[w] = inside ? rows[w * kWarp] : 0u;
      }
#pragma unroll
      for (int w = 0; w < kAhead; ++w)
        if (w * kWarp < left) minima.keep(row[w], a_of<fast>(log[w], of.of), of.base);
    }
  }
}

// Visits the values of up to 32 items, one after the other, 32 at a time. A lane has the item of its number in `own`.
template <bool fast>
__device__ __forceinline__ void visit_short_items(const Tile& tile, const Minima& minima, const Item* items,
                                                  const Item& own, i32 total, i32 first, i32 step) {
  int lane = threadIdx.x % kWarp;
  u32 up_to_lane = 0xFFFFFFFFu >> (kWarp - 1 - lane);
  bool filled = own.end > own.begin;
  for (i32 window = first; window < total; window += kAhead * step) {
    int item[kAhead];
    float log[kAhead];
    u32 row[kAhead];
#pragma unroll
    for (int w = 0; w < kAhead; ++w) {
      // The number of items that begin at or before each value of the window, less one.
      i32 start = window + w * step, v = start + lane;
      u32 inside = (u32)(own.before - start);
      u32 heads = warp_or(filled && inside < (u32)kWarp ? 1u << inside : 0u);
      int earlier = __popc(__ballot_sync(kAllLanes, filled && own.before < start));
      item[w] = v < total ? earlier + __popc(heads & up_to_lane) - 1 : -1;
      i32 i = item[w] < 0 ? 0 : items[item[w]].begin + (v - items[item[w]].before);
      log[w] = item[w] < 0 ? 0.0f : tile.logs[i];
      row[w] = item[w] < 0 ? 0u : tile.rows[i];
    }
#pragma unroll
    for (int w = 0; w < kAhead; ++w)
      if (item[w] >= 0) minima.keep(row[w], a_of<fast>(log[w], items[item[w]].of), items[item[w]].base);
  }
}

template <bool fast>
__device__ __forceinline__ void visit(const Tile& tile, const Minima& minima, const u32* ranks, i32 count,
                                      Item* staged) {
  int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp, warps = blockDim.x / kWarp, turn = 0;
  bool apart = count >= 2 * warps * kWarp;  // each warp has items of its own; otherwise they share all of them
  staged += warp * kWarp;
  for (i32 first = apart ? warp * kWarp : 0; first < count; first += apart ? warps * kWarp : kWarp) {
    i32 number = first + lane;
    Item own = number < count ? item_of(tile, ranks[number], minima.base(number)) : Item{};
    i32 size = own.end - own.begin, sum = size;
    for (int step = 1; step < kWarp; step *= 2) {
      i32 other = __shfl_up_sync(kAllLanes, sum, step);
      if (lane >= step) sum += other;
    }
    own.before = sum - size;
    i32 total = __shfl_sync(kAllLanes, sum, kWarp - 1);
    u32 filled = __ballot_sync(kAllLanes, size > 0);
    if (size > 0) staged[__popc(filled & ((1u << lane) - 1))] = own;
    __syncwarp();
    int items = __popc(filled);
    if (!apart && total > items * kLongItem)
      visit_long_items<fast>(tile, minima, staged, items, turn);
    else
      visit_short_items<fast>(tile, minima, staged, own, total, apart ? 0 : warp * kWarp,
                              apart ? kWarp : warps * kWarp);
    __syncwarp();
  }
}

// The rank of the slot with the least a of all values of a row, by the lanes of a warp together; -1 if it has none.
__device__ __forceinline__ i32 winner_of(const Lists& of, i64 row, const u64* states, u32 hash) {
  u64 least = ~(u64)0;
  i64 begin = begin_of(of, row), end = begin + of.counts[row];
  for (i64 i = begin + threadIdx.x % kWarp; i < end; i += kWarp) {
    u32 rank = (u32)of.keys[i];
    float a = a_of<false>(of.logs[i], ks_unpack_parameters(ks_pack_parameters(states[rank], hash)));
    u64 key = (u64)ordered(a) << 32 | rank;  // ties go to the lowest slot
    least = key < least ? key : least;
  }
  least = warp_join(least, [](u64 a, u64 b) { return b < a ? b : a; });
  return least == ~(u64)0 ? -1 : (i32)(u32)least;
}

// The logarithm of the value that a row has in the slot of a rank.
__device__ __forceinline__ float log_of(const Lists& of, i64 row, i32 rank) {
  i64 begin = begin_of(of, row);
  return of.logs[first_not(begin, begin + of.counts[row], [&](i64 place) { return of.keys[place] < rank; })];
}

}  // namespace

#define KS_LIST(name, T)                                                                                               \
  extern "C" __global__ void gcws_bounds_list_dense_##name(const T* x, i64 n, i64 d, i64 stride, const double* center, \
                                                           double p, i32* keys, float* logs, i32* counts,              \
                                                           float* lightness, u8* empty, float* largest) {              \
    list_dense<T>(x, n, d, stride, center, p, keys, logs, counts, lightness, empty, largest);                          \
  }                                                                                                                    \
  extern "C" __global__ void gcws_bounds_list_sparse_##name(const i64* starts, const i32* keys, const T* data, i64 n,  \
                                                            double p, float* logs, i32* counts, float* lightness,      \
                                                            u8* used, u8* empty, float* largest) {                     \
    list_sparse<T>(starts, keys, data, n, p, logs, counts, lightness, used, empty, largest);                           \
  }
KS_LIST(f32, float)
KS_LIST(f64, double)

// The states of the generator and the codes without t* of slots.
extern "C" __global__ void gcws_bounds_slots(u64 seed, const i64* slot_of, i64 slots, i64 bits, u64* states,
                                             u32* codes) {
  i64 rank = (i64)blockIdx.x * kThreads + threadIdx.x;
  if (rank >= slots) return;
  u64 slot = slot_at(slot_of, (u32)rank);
  states[rank] = ks_slot_state(ks_seed_key(seed), slot);
  codes[rank] = bits ? ks_slot_code(slot, (int)bits) : 0;
}

// The threshold of each tile: that of one of its light rows, of which there is one in `share`.
extern "C" __global__ void gcws_bounds_thresholds(const float* lightness, const i64* row_at, i64 n, i64 tile_rows,
                                                  i64 tiles, i64 share, double least, float* thresholds) {
  i64 tile = (i64)blockIdx.x * kThreads + threadIdx.x, first = tile * tile_rows;
  if (tile >= tiles) return;
  i64 last = first + tile_rows < n ? first + tile_rows : n;
  i64 empty = first_not(first, last, [&](i64 place) { return lightness[row_at[place]] < ks_float32(kInfinity); });
  i64 light = empty - 1 - (empty - first) / share;
  thresholds[tile] = empty > first ? lightness[row_at[light]] + (float)least : ks_float32(kMinusInfinity);
}

// Finds the largest value of each slot in each tile. Keys become ranks, which are counted from 1, if these are given.
extern "C" __global__ void gcws_bounds_tops(const i64* starts, i64 d, const i32* counts, i32* keys, float* logs,
                                            const i64* row_at, i64 n, i64 tile_rows, const i32* ranks, i64 slots,
                                            u32* tops) {
  tops += (i64)blockIdx.x * kPlaces / tile_rows * slots;
  for_values({starts, d, counts, keys, logs}, row_at, n, [&](i64, i32 rank, float log, i64 i) {
    if (ranks) keys[i] = rank = ranks[rank] - 1;
    u32 size = ordered(log);
    if (tops[rank] < size) atomicMax(tops + rank, size);
  });
}

// Counts the values of each slot and class in each tile. If there are few classes, a block counts in shared memory first,
// since additions to the same place in the memory of the GPU wait for each other.
extern "C" __global__ void gcws_bounds_count(const i64* starts, i64 d, const i32* counts, i32* keys, float* logs,
                                             const i64* row_at, i64 n, i64 tile_rows, i64 slots, const u32* tops,
                                             i64 few, u32* sizes) {
  KS_DYNAMIC_SHARED(shared);
  Lists of = {starts, d, counts, keys, logs};
  i64 tile = (i64)blockIdx.x * kPlaces / tile_rows, classes = slots * kClasses;
  tops += tile * slots;
  sizes += tile * classes;
  if (!few) {
    for_values(of, row_at, n,
               [&](i64, i32 rank, float log, i64) { atomicAdd(sizes + class_number(tops, rank, log), 1u); });
    return;
  }
  u32* own = (u32*)shared;
  count_classes(of, row_at, n, tops, classes, own);
  for (i64 i = threadIdx.x; i < classes; i += kThreads)
    if (own[i]) atomicAdd(sizes + i, own[i]);
}

// Puts the values in the order of tiles, slots and classes. `ends` has the starts of all classes, and then their ends.
extern "C" __global__ void gcws_bounds_place(const i64* starts, i64 d, const i32* counts, i32* keys, float* logs,
                                             const i64* row_at, i64 n, i64 tile_rows, i64 slots, const u32* tops,
                                             i64 few, u32* ends, u16* placed_rows, float* placed_logs) {
  KS_DYNAMIC_SHARED(shared);
  Lists of = {starts, d, counts, keys, logs};
  i64 tile = (i64)blockIdx.x * kPlaces / tile_rows, first = tile * tile_rows, classes = slots * kClasses;
  tops += tile * slots;
  ends += tile * classes;
  auto put = [&](u32 at, i64 place, float log) {
    placed_rows[at] = (u16)(place - first);
    placed_logs[at] = log;
  };
  if (!few) {
    for_values(of, row_at, n, [&](i64 place, i32 rank, float log, i64) {
      put(atomicAdd(ends + class_number(tops, rank, log), 1u), place, log);
    });
    return;
  }
  u32* own = (u32*)shared;
  count_classes(of, row_at, n, tops, classes, own);
  for (i64 i = threadIdx.x; i < classes; i += kThreads)
    if (own[i]) own[i] = atomicAdd(ends + i, own[i]);
  __syncthreads();
  for_values(of, row_at, n, [&](i64 place, i32 rank, float log, i64) {
    put(atomicAdd(own + class_number(tops, rank, log), 1u), place, log);
  });
}

// Finds the slots that can win for a hash in some tile: bits of masks[hash][slot / 32].
extern "C" __global__ void KS_LAUNCH_BOUNDS(kThreads, 1)
    gcws_bounds_choose(const u64* states, i64 slots, const u32* tops, const float* thresholds, i64 tiles,
                       const float* largest, i64 first_hash, i64 hashes, u32* masks) {
  constexpr int kKept = 4;  // tiles whose largest values are in registers
  i64 rank = (i64)blockIdx.x * kThreads + threadIdx.x, words = (slots + kWarp - 1) / kWarp;
  bool there = rank < slots, fast = *largest < kLargestFastLog;
  u64 state = there ? states[rank] : 0;
  float top[kKept], threshold[kKept];  // a slot that a tile does not have never wins there
#pragma unroll
  for (int t = 0; t < kKept; ++t) {
    u32 found = there && t < tiles ? tops[t * slots + rank] : 0;
    top[t] = in_order(found);
    threshold[t] = found ? thresholds[t] : ks_float32(kMinusInfinity);
  }
#pragma unroll
  for (int h = 0; h < kHashes; ++h) {
    i64 hash = (i64)blockIdx.y * kHashes + h;
    if (hash >= hashes) break;
    ks_parameters of = ks_unpack_parameters(ks_pack_parameters(state, (u32)(first_hash + hash)));
    bool chosen = false;
#pragma unroll
    for (int t = 0; t < kKept; ++t) chosen |= (fast ? a_of<true>(top[t], of) : a_of<false>(top[t], of)) < threshold[t];
    for (i64 t = kKept; there && t < tiles; ++t) {
      u32 found = tops[t * slots + rank];
      chosen |= found && a_of<false>(in_order(found), of) < thresholds[t];
    }
    u32 mask = __ballot_sync(kAllLanes, chosen);
    if (threadIdx.x % kWarp == 0 && there) masks[hash * words + rank / kWarp] = mask;
  }
}

// Lists the slots of masks, one block per hash.
extern "C" __global__ void KS_LAUNCH_BOUNDS(kThreads, 1)
    gcws_bounds_items(i64 slots, const u32* masks, u32* items, i32* item_counts) {
  i64 hash = blockIdx.x, words = (slots + kWarp - 1) / kWarp;
  masks += hash * words;
  items += hash * slots;
  u32 listed = 0;
  for (i64 first = 0; first < words; first += kThreads) {
    i64 word = first + threadIdx.x;
    u32 mask = word < words ? masks[word] : 0, total;
    u32 at = listed + block_scan<kThreads>((u32)__popc(mask), total);
    for (; mask; mask &= mask - 1) items[at++] = (u32)(word * kWarp) + (u32)__popc((mask & (0u - mask)) - 1);
    listed += total;
  }
  if (threadIdx.x == 0) item_counts[hash] = (i32)listed;
}

// Visits the values of the listed slots: a block per hash and tile. winners[hash][place] becomes the rank of the slot.
extern "C" __global__ void KS_LAUNCH_BOUNDS(1024, 1)
    gcws_bounds_visit(const u64* states, i64 n, i64 tile_rows, i64 slots, const u32* tops, const u32* starts,
                      const u16* rows, const float* logs, const float* thresholds, const float* largest, i64 first_hash,
                      const u32* items, const i32* item_counts, i32* winners) {
  KS_DYNAMIC_SHARED(shared);
  i64 hash = blockIdx.x, tile = blockIdx.y, first = tile * tile_rows;
  i32 own_rows = (i32)(n - first < tile_rows ? n - first : tile_rows);
  Item* staged = (Item*)shared;
  items += hash * slots;
  i32 count = item_counts[hash];
  Tile of = {tops + tile * slots, starts + tile * slots * kClasses, rows, logs, states, (u32)(first_hash + hash),
             thresholds[tile]};
  Minima minima((u32*)(staged + blockDim.x), of.threshold, count);
  for (i32 i = threadIdx.x; i < own_rows; i += blockDim.x) minima.least[i] = ~0u;
  __syncthreads();
  if (*largest < kLargestFastLog)
    visit<true>(of, minima, items, count, staged);
  else
    visit<false>(of, minima, items, count, staged);
  __syncthreads();
  winners += hash * n + first;
  for (i32 i = threadIdx.x; i < own_rows; i += blockDim.x) {
    u32 key = minima.least[i];
    winners[i] = minima.found(key) ? (i32)items[minima.item(key)] : kUnknown;
  }
}

// Turns winners into codes, samples or fingerprints of rows, out[row][k], for tiles of 32 places and 32 hashes.
extern "C" __global__ void KS_LAUNCH_BOUNDS(kThreads, 1)
    gcws_bounds_finish(const i64* starts, i64 d, const i32* counts, i32* keys, float* logs, const i64* row_at, i64 n,
                       const i64* slot_of, const u64* states, const u32* codes, const i32* winners, i64 first_hash,
                       i64 hashes, i64 k, i64 bits, i64 t_bits, i64 what, void* out, i64* t_out) {
  __shared__ i32 tile[kTile][kTile + 1];
  Lists of = {starts, d, counts, keys, logs};
  int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  i64 first_place = (i64)blockIdx.x * kTile, first = (i64)blockIdx.y * kTile;
  for (int h = warp; h < kTile; h += kThreads / kWarp)
    if (first + h < hashes && first_place + lane < n) tile[h][lane] = winners[(first + h) * n + first_place + lane];
  __syncthreads();
  u32 hash = (u32)(first_hash + first) + lane;
  bool inside = first + lane < hashes;
  for (int r = warp; r < kTile && first_place + r < n; r += kThreads / kWarp) {
    i64 row = row_at[first_place + r], at = row * k + hash;
    i32 winner = inside ? tile[lane][r] : -1;
    for (u32 open = __ballot_sync(kAllLanes, winner == kUnknown); open; open &= open - 1) {
      int source = __popc((open & (0u - open)) - 1);
      i32 found = winner_of(of, row, states, hash - lane + source);
      if (lane == source) winner = found;
    }
    if (!inside) continue;
    if (t_bits == 0 && what < kSamples) {
      write_code(out, at, winner < 0 ? 0 : codes[winner], what);
      continue;
    }
    i64 slot = -1, t = 0;
    if (winner >= 0) {
      slot = (i64)slot_at(slot_of, (u32)winner);
      t = (i64)ks_above(log_of(of, row, winner), ks_unpack_parameters(ks_pack_parameters(states[winner], hash))) - 1;
    }
    write_sample(out, t_out, at, slot, t, hash, bits, t_bits, what);
  }
}
