// Generalized consistent weighted sampling; native/include/kernelsketch/gcws.h has the definition, reference/gcws.py
// the order of operations.
//
// 1. Rows are taken in groups of kRows. A kernel lists for each group the slots that occur in it, in ascending order:
//    an entry has a mask of the rows that have the slot, and the logarithms of their values. The slots that occur
//    anywhere are then numbered by rank.
// 2. A kernel makes a table of the parameters of the used slots, for tiles of 128 hashes.
// 3. A warp walks through the entries of a group for 128 hashes, four per lane. It loads the parameters of an entry
//    once for all rows of its mask. The running minima of the group stay in registers: which value wins, and its a.
//    Where most slots occur in most groups, the warps of a block walk side by side: parameters of the next slots are
//    copied to shared memory for all of them (the wide form, 16 bytes per parameter set). Otherwise each warp is a
//    block of its own and reads the table where it is (the packed form, 8 bytes, whose unpacking costs six
//    instructions).
// 4. Codes of up to 8 bits without t* leave the third kernel as they are. Everything else is made by a last kernel from
//    the numbers of the winning entries; it computes t* again.
//
// Cost: seven instructions per nonzero value and hash. Side by side, a slot costs 16 bytes of shared memory per group and
// hash. Alone, an entry costs 8 bytes from the cache of the GPU (L2), which bounds the speed.
#include "samples.h"

using namespace ks;

namespace {

// _gcws.py has the same numbers.
constexpr int kTogetherRows = 8, kAloneRows = 2;  // rows per group, if groups walk side by side or each alone
constexpr int kTile = 128;                        // hashes per warp that walks side by side with others, four per lane
constexpr int kAloneHashes = 4;                   // hashes per lane of a warp that walks alone
constexpr int kBlock = 256;                       // threads of a block that lists entries
constexpr int kWarps = 16;                        // groups that walk side by side
constexpr int kSlots = kSharedKib >= 136 ? 24 : kSharedKib >= 96 ? 14 : 6;  // with parameters in shared memory

// A slot, by its key or, later, by its rank, and the rows that have it.
struct __align__(8) Entry {
  i32 slot;
  u32 mask;
};

// The logarithms of an entry by row; those of rows without the slot are not used.
template <int kRows>
struct __align__(4 * kRows) Logs {
  float of[kRows];
};

__device__ __forceinline__ void keep_largest(float* largest, float log) {
  atomicMax((i32*)largest, (i32)ks_bits32(log < 0 ? -log : log));
}

// Lists the entries of groups of dense rows. Group g has room for 2 d entries.
template <class T>
__device__ void list_dense(const T* x, i64 n, i64 d, i64 stride, const double* center, double p, Entry* entries,
                           i32* counts, Logs<kTogetherRows>* logs, u8* used, u8* empty, float* largest) {
  constexpr int kRows = kTogetherRows;
  __shared__ u32 present;
  i64 group = blockIdx.x, first = group * kRows;
  int rows = (int)(n - first < kRows ? n - first : kRows);
  entries += group * 2 * d;
  logs += group * 2 * d;
  if (threadIdx.x == 0) present = 0;
  u32 listed = 0, seen = 0;
  float size = 0;
  for (i64 start = 0; start < d; start += kBlock) {
    i64 f = start + threadIdx.x;
    u32 masks[2] = {0, 0};
    Logs<kRows> of = {};
    if (f < d) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) {
        if (r >= rows) break;
        double value = (double)x[(first + r) * stride + f];
        if (center) value -= center[f];
        if (value == 0) continue;
        masks[value < 0] |= 1u << r;
        float log = ks_log_weight(value, p);
        of.of[r] = log;
        size = size > log ? size : log;
        size = size > -log ? size : -log;
      }
    }
    seen |= masks[0] | masks[1];
    u32 total, entry = listed + block_scan<kBlock>((u32)((masks[0] != 0) + (masks[1] != 0)), total);
    for (int sign = 0; sign < 2; ++sign) {
      if (!masks[sign]) continue;
      entries[entry] = {(i32)(2 * f + sign), masks[sign]};
      logs[entry++] = of;
      used[2 * f + sign] = 1;
    }
    listed += total;
  }
  keep_largest(largest, size);
  atomicOr(&present, seen);
  __syncthreads();
  if (threadIdx.x == 0) counts[group] = (i32)listed;
  if ((int)threadIdx.x < rows) empty[first + threadIdx.x] = !(present >> threadIdx.x & 1);
}

// The number of keys[begin .. end) below `key`; they ascend.
__device__ __forceinline__ i64 count_below(const i32* keys, i64 begin, i64 end, i32 key) {
  return first_not(begin, end, [&](i64 place) { return keys[place] < key; }) - begin;
}

// Lists the entries of groups of sparse rows, given by the key of each nonzero value. The entries of a group start
// where its values start in the matrix; `order` is scratch memory for the values in ascending order of keys.
template <class T, int kRows>
__device__ void list_sparse(const i64* starts, const i32* keys, const T* data, i64 n, double p, Entry* entries,
                            i32* counts, Logs<kRows>* logs, i64* order, u8* used, u8* empty, float* largest) {
  i64 first = (i64)blockIdx.x * kRows;
  int rows = (int)(n - first < kRows ? n - first : kRows);
  i64 begin = starts[first], end = starts[first + rows];
  for (i64 i = begin + threadIdx.x; i < end; i += kBlock) {
    i32 key = keys[i];
    i64 place = begin;
    int own = 0;
    for (int r = 0; r < rows; ++r) {
      i64 from = starts[first + r], to = starts[first + r + 1];
      if (i >= from && i < to) {
        own = r;
        place += i - from;
        continue;
      }
      i64 found = count_below(keys, from, to, key);
      place += found;
      if (i >= to && from + found < to && keys[from + found] == key) ++place;  // a row above has the slot, too
    }
    order[place] = i * kRows + own;
    used[key] = 1;
  }
  __syncthreads();
  u32 listed = 0;
  float size = 0;
  for (i64 start = begin; start < end; start += kBlock) {
    i64 i = start + threadIdx.x;
    i32 key = i < end ? keys[order[i] / kRows] : 0;
    bool head = i < end && (i == begin || keys[order[i - 1] / kRows] != key);
    u32 total, entry = listed + block_scan<kBlock>(head, total);
    if (head) {
      u32 mask = 0;
      Logs<kRows> of = {};
      for (i64 j = i; j < end && keys[order[j] / kRows] == key; ++j) {
        int row = (int)(order[j] % kRows);
        float log = ks_log_weight((double)data[order[j] / kRows], p);
        size = size > log ? size : log;
        size = size > -log ? size : -log;
        mask |= 1u << row;
#pragma unroll
        for (int r = 0; r < kRows; ++r)
          if (r == row) of.of[r] = log;
      }
      entries[begin + entry] = {key, mask};
      logs[begin + entry] = of;
    }
    listed += total;
  }
  keep_largest(largest, size);
  if (threadIdx.x == 0) counts[blockIdx.x] = (i32)listed;
  if ((int)threadIdx.x < rows)
    empty[first + threadIdx.x] = starts[first + threadIdx.x] == starts[first + threadIdx.x + 1];
}

// The tables of slots that are used, by their ranks: [tile][rank][4][128] floats, or [tile][rank][2][128] words if
// packed.
template <bool wide>
__device__ void make_table(u64 seed, const i64* slot_of, const i32* slots, i64 room, u32 first_hash, u32* table) {
  constexpr int kWords = wide ? 4 : 2, kTile = wide ? ::kTile : kWarp * kAloneHashes;
  i64 rank = blockIdx.x, tile = blockIdx.y;
  if (rank >= *slots) return;
  u64 state = ks_slot_state(ks_seed_key(seed), (u64)slot_of[rank]);
  u32* at = table + (tile * room + rank) * kWords * kTile + threadIdx.x;
  ks_packed_parameters packed = ks_pack_parameters(state, first_hash + (u32)(tile * kTile) + threadIdx.x);
  if (wide) {
    ks_parameters of = ks_unpack_parameters(packed);
    at[0] = ks_bits32(of.r);
    at[kTile] = ks_bits32(of.reciprocal);
    at[2 * kTile] = ks_bits32(of.above_beta);
    at[3 * kTile] = ks_bits32(of.A);
  } else {
    at[0] = packed.r_beta;
    at[kTile] = ks_bits32(packed.A);
  }
}

__device__ __forceinline__ u32 word_of(const uint4& words, int h) {
  return h == 0 ? words.x : h == 1 ? words.y : h == 2 ? words.z : words.w;
}

// Keeps a and its number if a is less than the best. Additions of 0 under a condition run in another unit than
// selections, which share theirs with comparisons and integers. The compiler must not see that it is 0. The bits of a
// number below 2^23 are a subnormal, to which a times 0 adds nothing.
__device__ __forceinline__ void keep_less(float a, i32 number, float zero, float& best, i32& winner) {
#ifdef __CUDA_ARCH__
  float moved = __int_as_float(winner), with = __int_as_float(number);
  asm("{\n .reg .pred less;\n setp.lt.f32 less, %2, %0;\n @less add.rn.f32 %0, %2, %4;\n @less fma.rn.f32 %1, %2, %4, "
      "%3;\n}"
      : "+f"(best), "+f"(moved)
      : "f"(a), "f"(with), "f"(zero));
  winner = __float_as_int(moved);
#else
  if (a < best) {
    best = a;
    winner = number;
  }
#endif
}

// The running minima of a group of rows: the least a, and the number of the entry that has it, or -1.
template <int kRows, int kHashes>
struct Minima {
  float best[kRows][kHashes];
  i32 winner[kRows][kHashes];
  float zero;

  __device__ __forceinline__ void start() {
    zero = ks_float32(blockDim.z - 1);
#pragma unroll
    for (int r = 0; r < kRows; ++r)
#pragma unroll
      for (int h = 0; h < kHashes; ++h) {
        best[r][h] = ks_float32(0x7F800000u);
        winner[r][h] = -1;
      }
  }

  // Adds the values of entry `number`. Rows that all have the slot need no branches.
  template <bool fast>
  __device__ __forceinline__ void add(u32 mask, const Logs<kRows>& logs, i32 number,
                                      const ks_parameters (&of)[kHashes]) {
    if (mask == (1u << kRows) - 1) {
#pragma unroll
      for (int r = 0; r < kRows; ++r) add_row<fast>(r, logs, number, of);
    } else {
#pragma unroll
      for (int r = 0; r < kRows; ++r)
        if (mask >> r & 1) add_row<fast>(r, logs, number, of);
    }
  }

  template <bool fast>
  __device__ __forceinline__ void add_row(int r, const Logs<kRows>& logs, i32 number,
                                          const ks_parameters (&of)[kHashes]) {
#pragma unroll
    for (int h = 0; h < kHashes; ++h) {
      keep_less(a_of<fast>(logs.of[r], of[h]), number, zero, best[r][h], winner[r][h]);
    }
  }
};

// The words of the hashes of a lane.
struct __align__(4 * kAloneHashes) AloneWords {
  u32 of[kAloneHashes];
};

// Walks through the entries of one group with the packed table. Entries are loaded ahead.
template <bool fast>
__device__ __forceinline__ void walk_alone(const Entry* entries, i32 count, const Logs<kAloneRows>* logs,
                                           const u32* table, Minima<kAloneRows, kAloneHashes>& minima) {
  minima.start();
  if (count == 0) return;
  const AloneWords* words = (const AloneWords*)table + threadIdx.x;
  Entry entry = entries[0], following = entries[count > 1 ? 1 : 0];
  Logs<kAloneRows> of_entry = logs[0];
  AloneWords r_beta = words[(i64)entry.slot * 2 * kWarp], A = words[(i64)entry.slot * 2 * kWarp + kWarp];
  for (i32 e = 0; e < count; ++e) {
    Entry after = entries[e + 2 < count ? e + 2 : count - 1];
    Logs<kAloneRows> next_logs = logs[e + 1 < count ? e + 1 : e];
    const AloneWords* next = words + (i64)following.slot * 2 * kWarp;
    AloneWords next_r_beta = next[0], next_A = next[kWarp];
    ks_parameters of[kAloneHashes];
#pragma unroll
    for (int h = 0; h < kAloneHashes; ++h) of[h] = ks_unpack_parameters({ks_float32(A.of[h]), r_beta.of[h]});
    minima.template add<fast>(entry.mask, of_entry, e, of);
    entry = following;
    following = after;
    of_entry = next_logs;
    r_beta = next_r_beta;
    A = next_A;
  }
}

__device__ __forceinline__ void load_slots(uint4* stage, const uint4* table, i32 first, i32 slots) {
  i32 count = (slots - first < kSlots ? slots - first : kSlots) * kTile;
  for (i32 i = threadIdx.x; i < count; i += kWarps * kWarp) copy_async(stage + i, table + (i64)first * kTile + i);
  end_copies();
}

// Copies the next entries of a group to the shared memory of its warp; entries past the last are past all slots.
__device__ __forceinline__ void load_entries(Entry* to, Logs<kTogetherRows>* logs_to, const Entry* entries,
                                             const Logs<kTogetherRows>* logs, i32 first, i32 count, i32 past) {
  i32 lane = threadIdx.x % kWarp, e = first + lane;
  if (e < count) {
    copy_async8(to + lane, entries + e);
#pragma unroll
    for (int part = 0; part < (int)sizeof(*logs) / 16; ++part)
      copy_async((uint4*)(logs_to + lane) + part, (const uint4*)(logs + e) + part);
  } else {
    to[lane] = {past, 0};
  }
  end_copies();
}

// Walks through the entries of the groups of a block side by side, with the wide table.
template <bool fast>
__device__ __forceinline__ void walk_together(const Entry* entries, i32 count, const Logs<kTogetherRows>* logs,
                                              const u32* table, i32 slots, Minima<kTogetherRows, 4>& minima) {
  typedef Logs<kTogetherRows> Logs;
  KS_DYNAMIC_SHARED(shared);
  uint4* stages = (uint4*)shared;
  int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  Logs* own_logs = (Logs*)(stages + 2 * kSlots * kTile) + warp * 2 * kWarp;
  Entry* own = (Entry*)((Logs*)(stages + 2 * kSlots * kTile) + kWarps * 2 * kWarp) + warp * 2 * kWarp;
  minima.start();
  i32 past = slots + kSlots;
  load_entries(own, own_logs, entries, logs, 0, count, past);
  load_slots(stages, (const uint4*)table, 0, slots);
  copies_done<0>();
  __syncwarp();
  load_entries(own + kWarp, own_logs + kWarp, entries, logs, kWarp, count, past);
  u32 e = 0, ready = kWarp;  // entries before `ready` are in shared memory, and the next ones are being copied
  i32 rank = (i32)in_common((u32)own[0].slot);
  u32 mask = in_common(own[0].mask);
  for (i32 first = 0, side = 0; first < slots; first += kSlots, side ^= 1) {
    copies_done<0>();
    __syncthreads();
    if (first + kSlots < slots)
      load_slots(stages + (side ^ 1) * kSlots * kTile, (const uint4*)table, first + kSlots, slots);
    const uint4* stage = stages + (side * kSlots - first) * kTile + lane;
    i32 limit = first + kSlots;
    while (rank < limit) {
      Logs of_entry = own_logs[e % (2 * kWarp)];  // before these are overwritten
      u32 next = e + 1;
      if (next == ready) {
        copies_done<0>();
        __syncwarp();
        ready += kWarp;
        u32 other = ready / kWarp % 2 * kWarp;
        load_entries(own + other, own_logs + other, entries, logs, (i32)ready, count, past);
      }
      Entry following = own[next % (2 * kWarp)];
      const uint4* words = stage + rank * kTile;
      uint4 r = words[0], reciprocal = words[kTile / 4], above_beta = words[2 * kTile / 4], A = words[3 * kTile / 4];
      i32 next_rank = (i32)in_common((u32)following.slot);
      u32 next_mask = in_common(following.mask);
      ks_parameters of[4];
#pragma unroll
      for (int h = 0; h < 4; ++h)
        of[h] = {ks_float32(word_of(r, h)), ks_float32(word_of(reciprocal, h)), ks_float32(word_of(above_beta, h)),
                 ks_float32(word_of(A, h))};
      minima.template add<fast>(mask, of_entry, (i32)e, of);
      e = next;
      rank = next_rank;
      mask = next_mask;
    }
  }
}

struct Groups {
  const i64* starts;  // of sparse rows, or null
  i64 d;              // of dense rows
  const Entry* entries;
  const i32* counts;
  const float* logs;
};

// Where the entries of a group of so many rows begin.
__device__ __forceinline__ i64 begin_of(const Groups& of, i64 group, i64 rows) {
  return of.starts ? of.starts[group * rows] : group * 2 * of.d;
}

// Either codes of up to 8 bits without t*, or, if `codes` is null, the numbers of the winning entries in their groups.
template <bool together>
__device__ void sample(const Groups& of, i64 n, const float* largest, const u32* table, i64 room, const i32* slots,
                       const i64* slot_of, i64 first_hash, i64 k, i64 bits, u8* codes, i32* winners) {
  constexpr int kRows = together ? kTogetherRows : kAloneRows, kHashes = together ? 4 : kAloneHashes;
  constexpr int kTile = kWarp * kHashes;
  i64 group = together ? (i64)blockIdx.x * kWarps + threadIdx.x / kWarp : (i64)blockIdx.x, first = group * kRows;
  int lane = threadIdx.x % kWarp;
  bool inside = first < n;
  i64 begin = inside ? begin_of(of, group, kRows) : 0;
  const Entry* entries = of.entries + begin;
  const Logs<kRows>* logs = (const Logs<kRows>*)of.logs + begin;
  const u32* own = table + (i64)blockIdx.y * room * (together ? 4 : 2) * kTile;
  i32 count = inside ? of.counts[group] : 0;
  Minima<kRows, kHashes> minima;
  bool fast = *largest < kLargestFastLog;
  if constexpr (together) {
    if (fast)
      walk_together<true>(entries, count, logs, own, *slots, minima);
    else
      walk_together<false>(entries, count, logs, own, *slots, minima);
  } else if (fast) {
    walk_alone<true>(entries, count, logs, own, minima);
  } else {
    walk_alone<false>(entries, count, logs, own, minima);
  }
  i64 hash = first_hash + (i64)blockIdx.y * kTile + kHashes * lane;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    i64 row = first + r;
    if (row >= n) break;
    if (codes) {
      u32 word = 0;
#pragma unroll
      for (int h = 0; h < kHashes; ++h) {
        if (minima.winner[r][h] < 0 || hash + h >= k) continue;
        u64 slot = (u64)slot_of[entries[minima.winner[r][h]].slot];
        word |= ks_slot_code(slot, (int)bits) << (8 * h);
      }
      u8* at = codes + row * k + hash;
      if (kHashes == 4 && k % 4 == 0) {
        if (hash < k) *(u32*)at = word;
      } else {
        for (int h = 0; h < kHashes && hash + h < k; ++h) at[h] = (u8)(word >> (8 * h));
      }
    } else {
#pragma unroll
      for (int h = 0; h < kHashes; ++h)
        if (hash + h < k) winners[row * k + hash + h] = minima.winner[r][h];
    }
  }
}

}  // namespace

#define KS_LIST(name, T)                                                                                           \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(256, 1)                                                              \
      gcws_list_dense_##name(const T* x, i64 n, i64 d, i64 stride, const double* center, double p, Entry* entries, \
                             i32* counts, Logs<kTogetherRows>* logs, u8* used, u8* empty, float* largest) {        \
    list_dense<T>(x, n, d, stride, center, p, entries, counts, logs, used, empty, largest);                        \
  }                                                                                                                \
  KS_LIST_SPARSE(together_##name, T, kTogetherRows)                                                                \
  KS_LIST_SPARSE(alone_##name, T, kAloneRows)
#define KS_LIST_SPARSE(name, T, rows)                                                                             \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(256, 1)                                                             \
      gcws_list_sparse_##name(const i64* starts, const i32* keys, const T* data, i64 n, double p, Entry* entries, \
                              i32* counts, Logs<rows>* logs, i64* order, u8* used, u8* empty, float* largest) {   \
    list_sparse<T, rows>(starts, keys, data, n, p, entries, counts, logs, order, used, empty, largest);           \
  }
KS_LIST(f32, float)
KS_LIST(f64, double)

// Turns the keys of entries into ranks, a block per group.
extern "C" __global__ void gcws_rank(const i64* starts, i64 d, i64 rows, Entry* entries, const i32* counts,
                                     const i32* ranks) {
  Entry* own = entries + begin_of({starts, d, entries, counts, nullptr}, blockIdx.x, rows);
  for (i32 e = threadIdx.x; e < counts[blockIdx.x]; e += blockDim.x) own[e].slot = ranks[own[e].slot];
}

// slot_of[rank]. Keys are slots, unless their slots are given.
extern "C" __global__ void gcws_slots(const i64* slot_of_key, const u8* used, const i32* ranks, i64 keys,
                                      i64* slot_of) {
  i64 key = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (key < keys && used[key]) slot_of[ranks[key]] = slot_of_key ? slot_of_key[key] : key;
}

#define KS_SAMPLE(name, together, threads, blocks)                                                                     \
  extern "C" __global__ void gcws_table_##name(u64 seed, const i64* slot_of, const i32* slots, i64 room,               \
                                               i64 first_hash, u32* table) {                                           \
    make_table<together>(seed, slot_of, slots, room, (u32)first_hash, table);                                          \
  }                                                                                                                    \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(threads, blocks)                                                         \
      gcws_sample_##name(const i64* starts, i64 d, const Entry* entries, const i32* counts, const float* logs, i64 n,  \
                         const float* largest, const u32* table, i64 room, const i32* slots, const i64* slot_of,       \
                         i64 first_hash, i64 k, i64 bits, u8* codes, i32* winners) {                                   \
    sample<together>({starts, d, entries, counts, logs}, n, largest, table, room, slots, slot_of, first_hash, k, bits, \
                     codes, winners);                                                                                  \
  }
KS_SAMPLE(together, true, 32 * kWarps, 1)
KS_SAMPLE(alone, false, 32, 32)

// Codes, samples or fingerprints of the winning entries.
extern "C" __global__ void gcws_finish(const i64* starts, i64 d, i64 rows, const Entry* entries, const i32* counts,
                                       const float* logs, const i32* winners, i64 n, i64 k, const i64* slot_of,
                                       u64 seed, i64 bits, i64 t_bits, i64 what, void* out, i64* t_out) {
  i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * k) return;
  i32 winner = winners[i];
  i64 row = i / k, hash = i % k, slot = -1, t = 0;
  if (winner >= 0) {
    i64 entry = begin_of({starts, d, entries, counts, logs}, row / rows, rows) + winner;
    slot = slot_of[entries[entry].slot];
    if (t_bits > 0 || what >= kSamples) {
      ks_parameters of =
          ks_unpack_parameters(ks_pack_parameters(ks_slot_state(ks_seed_key(seed), (u64)slot), (u32)hash));
      t = (i64)ks_above(logs[entry * rows + row % rows], of) - 1;
    }
  }
  write_sample(out, t_out, i, slot, t, (u64)hash, bits, t_bits, what);
}

// Signatures of the eGMM kernel: hash j is a 63-bit mix of the samples starts[j] .. starts[j + 1].
extern "C" __global__ void gcws_concatenate(const i64* slots, const i64* t, i64 n, i64 samples, const i64* starts,
                                            i64 count, i64* out) {
  i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * count) return;
  i64 row = i / count, j = i % count;
  u64 h = 0;
  for (i64 q = starts[j]; q < starts[j + 1]; ++q) h = ks_join(h, (u64)slots[row * samples + q], t[row * samples + q]);
  out[i] = (i64)ks_signature(h);
}
