// Generalized consistent weighted sampling; native/include/kernelsketch/gcws.h has the definition, reference/gcws.py
// the order of operations.
//
// 1. Rows are taken in groups of kRows. A kernel lists for each group the slots that occur in it, in ascending order,
//    each with a mask of its rows (an entry), and the logarithms of the nonzero values in the same order.
// 2. A kernel makes a table of the parameters of the used slots, for a tile of hashes.
// 3. A warp walks through the entries of a group for 128 hashes, four per lane. It loads the parameters of an entry
//    once for all rows of its mask. The running minima of the group stay in registers: which value wins, and its a.
//    A block is one warp, so that the compiler knows that the masks are equal in all lanes.
// 4. Codes of up to 8 bits without t* leave the third kernel as they are. Everything else is made by a last kernel from
//    the numbers of the winning values; it computes t* again.
//
// Cost: seven instructions per nonzero value and hash. The parameters take 16 bytes in the wide form of the table and 8
// in the packed form, which costs six more instructions per entry and hash and pays where few rows share a slot.
#include "device.h"

using namespace ks;

#ifndef KS_GCWS_ROWS
#define KS_GCWS_ROWS 16
#endif

namespace {

constexpr int kRows = KS_GCWS_ROWS;  // rows per group; backends/cuda/_gcws.py knows this number
constexpr int kTile = 128;           // hashes per warp
constexpr int kBlock = 256;          // threads of a block that lists entries

struct __align__(8) Entry {
  i32 key;
  u32 mask;
};

// The running sum of `value` over the threads of a block before this one; `total` becomes the sum over all.
__device__ __forceinline__ u32 block_scan(u32 value, u32& total) {
  __shared__ u32 warps[kBlock / kWarp];
  int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  u32 sum = value;
  for (int step = 1; step < kWarp; step *= 2) {
    u32 other = __shfl_up_sync(kAllLanes, sum, step);
    if (lane >= step) sum += other;
  }
  __syncthreads();
  if (lane == kWarp - 1) warps[warp] = sum;
  __syncthreads();
  u32 before = 0;
  total = 0;
  for (int w = 0; w < kBlock / kWarp; ++w) {
    if (w < warp) before += warps[w];
    total += warps[w];
  }
  return before + sum - value;
}

__device__ __forceinline__ void keep_largest(float* largest, float log) {
  atomicMax((i32*)largest, bits_of(log < 0 ? -log : log));
}

// Lists the entries of groups of dense rows. Group g has room for 2 d entries and kRows * d values.
template <class T>
__device__ void list_dense(const T* x, i64 n, i64 d, i64 stride, const double* center, double p, Entry* entries,
                           i32* counts, float* logs, i32* keys, u8* used, u8* empty, float* largest) {
  __shared__ u32 present;
  i64 group = blockIdx.x, first = group * kRows;
  int rows = (int)(n - first < kRows ? n - first : kRows);
  entries += group * 2 * d;
  logs += group * kRows * d;
  i32 base = (i32)(group * kRows * d);
  if (threadIdx.x == 0) present = 0;
  u32 listed = 0, stored = 0, seen = 0;
  float size = 0;
  for (i64 start = 0; start < d; start += kBlock) {
    i64 f = start + threadIdx.x;
    u32 masks[2] = {0, 0};
    double values[kRows];
    if (f < d) {
      for (int r = 0; r < rows; ++r) {
        double value = (double)x[(first + r) * stride + f];
        if (center) value -= center[f];
        values[r] = value;
        if (value > 0) masks[0] |= 1u << r;
        if (value < 0) masks[1] |= 1u << r;
      }
    }
    seen |= masks[0] | masks[1];
    u32 total, of = (u32)((masks[0] != 0) + (masks[1] != 0)) << 16 | (u32)__popc(masks[0] | masks[1]);
    u32 before = block_scan(of, total);
    u32 entry = listed + (before >> 16), value = stored + (before & 0xFFFF);
    for (int sign = 0; sign < 2; ++sign) {
      if (!masks[sign]) continue;
      i32 key = (i32)(2 * f + sign);
      entries[entry++] = {key, masks[sign]};
      used[key] = 1;
      for (int r = 0; r < kRows; ++r) {
        if (!(masks[sign] >> r & 1)) continue;
        float log = log_weight(values[r], p);
        size = size > log ? size : log;
        size = size > -log ? size : -log;
        logs[value] = log;
        keys[base + value] = key;
        ++value;
      }
    }
    listed += total >> 16;
    stored += total & 0xFFFF;
  }
  keep_largest(largest, size);
  atomicOr(&present, seen);
  __syncthreads();
  if (threadIdx.x == 0) counts[group] = (i32)listed;
  if ((int)threadIdx.x < rows) empty[first + threadIdx.x] = !(present >> threadIdx.x & 1);
}

// The number of keys[begin .. end) below `key`; they ascend.
__device__ __forceinline__ i64 count_below(const i32* keys, i64 begin, i64 end, i32 key) {
  i64 low = begin, high = end;
  while (low < high) {
    i64 middle = (low + high) / 2;
    if (keys[middle] < key) low = middle + 1; else high = middle;
  }
  return low - begin;
}

// Lists the entries of groups of sparse rows, given by the key of each nonzero value. Values and entries of a group
// take the place of its values in the matrix.
template <class T>
__device__ void list_sparse(const i64* starts, const i32* row_keys, const T* data, i64 n, double p, Entry* entries,
                            i32* counts, float* logs, i32* keys, u8* rows_of, u8* used, u8* empty, float* largest) {
  i64 first = (i64)blockIdx.x * kRows;
  int rows = (int)(n - first < kRows ? n - first : kRows);
  i64 begin = starts[first], end = starts[first + rows];
  float size = 0;
  for (i64 i = begin + threadIdx.x; i < end; i += kBlock) {
    i32 key = row_keys[i];
    i64 place = begin;
    int own = 0;
    for (int r = 0; r < rows; ++r) {
      i64 from = starts[first + r], to = starts[first + r + 1];
      if (i >= from && i < to) {
        own = r;
        place += i - from;
        continue;
      }
      i64 found = count_below(row_keys, from, to, key);
      place += found;
      if (i >= to && from + found < to && row_keys[from + found] == key) ++place;  // a row above has the slot, too
    }
    float log = log_weight((double)data[i], p);
    size = size > log ? size : log;
    size = size > -log ? size : -log;
    keys[place] = key;
    logs[place] = log;
    rows_of[place] = (u8)own;
    used[key] = 1;
  }
  keep_largest(largest, size);
  __syncthreads();
  u32 listed = 0;
  for (i64 start = begin; start < end; start += kBlock) {
    i64 i = start + threadIdx.x;
    bool head = i < end && (i == begin || keys[i] != keys[i - 1]);
    u32 total, entry = listed + block_scan(head, total);
    if (head) {
      u32 mask = 0;
      for (i64 j = i; j < end && keys[j] == keys[i]; ++j) mask |= 1u << rows_of[j];
      entries[begin + entry] = {keys[i], mask};
    }
    listed += total;
  }
  if (threadIdx.x == 0) counts[blockIdx.x] = (i32)listed;
  if ((int)threadIdx.x < rows) empty[first + threadIdx.x] = starts[first + threadIdx.x] == starts[first + threadIdx.x + 1];
}

// The table: [key][4][hashes] floats, or [key][2][hashes] words if packed. Slots are keys unless slot_of is given.
template <bool wide>
__device__ void make_table(u64 seed, const i64* slot_of, const u8* used, i64 keys, u32 first_hash, i64 hashes,
                           u32* table) {
  i64 key = blockIdx.x;
  if (!used[key]) return;
  u64 state = slot_state(seed, slot_of ? (u64)slot_of[key] : (u64)key);
  for (i64 j = threadIdx.x; j < hashes; j += blockDim.x) {
    PackedParameters packed = packed_parameters(state, first_hash + (u32)j);
    if (wide) {
      Parameters of = unpacked(packed);
      u32* at = table + key * 4 * hashes + j;
      at[0] = (u32)bits_of(of.r);
      at[hashes] = (u32)bits_of(of.reciprocal);
      at[2 * hashes] = (u32)bits_of(of.above_beta);
      at[3 * hashes] = (u32)bits_of(of.A);
    } else {
      u32* at = table + key * 2 * hashes + j;
      at[0] = packed.r_beta;
      at[hashes] = (u32)bits_of(packed.A);
    }
  }
}

template <bool wide>
struct Loaded {
  uint4 words[wide ? 4 : 2];
};

template <bool wide>
__device__ __forceinline__ Loaded<wide> load_parameters(const u32* table, i64 hashes, i32 key) {
  Loaded<wide> found;
#pragma unroll
  for (int w = 0; w < (wide ? 4 : 2); ++w)
    found.words[w] = *(const uint4*)(table + ((i64)key * (wide ? 4 : 2) + w) * hashes);
  return found;
}

__device__ __forceinline__ u32 word_of(const uint4& words, int h) {
  return h == 0 ? words.x : h == 1 ? words.y : h == 2 ? words.z : words.w;
}

template <bool wide>
__device__ __forceinline__ Parameters parameters_of(const Loaded<wide>& loaded, int h) {
  if (wide)
    return {float_of(word_of(loaded.words[0], h)), float_of(word_of(loaded.words[1], h)),
            float_of(word_of(loaded.words[wide ? 2 : 0], h)), float_of(word_of(loaded.words[wide ? 3 : 0], h))};
  return unpacked({float_of(word_of(loaded.words[1], h)), word_of(loaded.words[0], h)});
}

// Walks through `count` entries; winner[r][h] becomes the number of the winning value of row r, or stays -1.
template <bool wide, bool fast>
__device__ __forceinline__ void walk(const Entry* entries, i32 count, const float* logs, i32 base, const u32* table,
                                     i64 hashes, i32 (&winner)[kRows][4]) {
  int lane = threadIdx.x;
  float best[kRows][4];
#pragma unroll
  for (int r = 0; r < kRows; ++r)
#pragma unroll
    for (int h = 0; h < 4; ++h) {
      best[r][h] = float_of(0x7F800000u);
      winner[r][h] = -1;
    }
  if (count == 0) return;
  Entry entry = entries[0], following = entries[count > 1 ? 1 : 0];
  Loaded<wide> loaded = load_parameters<wide>(table, hashes, entry.key);
  float log = lane < __popc(entry.mask) ? logs[lane] : 0.0f;
  i32 at = 0;
  for (i32 e = 0; e < count; ++e) {
    // The next entry is loaded ahead.
    int size = __popc(entry.mask);
    Entry after = entries[e + 2 < count ? e + 2 : count - 1];
    Loaded<wide> next = load_parameters<wide>(table, hashes, following.key);
    float next_log = e + 1 < count && lane < __popc(following.mask) ? logs[at + size + lane] : 0.0f;
    Parameters of[4];
#pragma unroll
    for (int h = 0; h < 4; ++h) of[h] = parameters_of<wide>(loaded, h);
    i32 value = base + at;
    int source = 0;
#pragma unroll
    for (int quarter = 0; quarter < kRows; quarter += 4) {
      if (!(entry.mask >> quarter & 15)) continue;
#pragma unroll
      for (int r = quarter; r < quarter + 4; ++r) {
        if (!(entry.mask >> r & 1)) continue;
        float L = __shfl_sync(kAllLanes, log, source);
#pragma unroll
        for (int h = 0; h < 4; ++h) {
          float x = fused(L, of[h].reciprocal, of[h].above_beta);
          float above = fast ? fast_below(x) : below(x);
          float a = fused(-of[h].r, above, of[h].A);
          bool less = a < best[r][h];
          best[r][h] = less ? a : best[r][h];
          winner[r][h] = less ? value + source : winner[r][h];
        }
        ++source;
      }
    }
    at += size;
    entry = following;
    following = after;
    loaded = next;
    log = next_log;
  }
}

struct Groups {
  const i64* starts;  // of sparse rows, or null
  i64 d;              // of dense rows
  const Entry* entries;
  const i32* counts;
  const float* logs;
  const i32* keys;
};

// Either codes of up to 8 bits without t*, or, if `codes` is null, the numbers of the winning values.
template <bool wide>
__device__ void sample(const Groups& of, i64 n, const float* largest, const u32* table, i64 table_hashes,
                       const i64* slot_of, i64 first_hash, i64 k, int bits, u8* codes, i32* winners) {
  i64 group = blockIdx.x, first = group * kRows;
  i64 tile = (i64)blockIdx.y * kTile + 4 * threadIdx.x;
  i64 base = of.starts ? of.starts[first] : group * kRows * of.d;
  const Entry* entries = of.entries + (of.starts ? base : group * 2 * of.d);
  i32 winner[kRows][4];
  if (*largest < kLargestFastLog)
    walk<wide, true>(entries, of.counts[group], of.logs + base, (i32)base, table + tile, table_hashes, winner);
  else
    walk<wide, false>(entries, of.counts[group], of.logs + base, (i32)base, table + tile, table_hashes, winner);
  i64 hash = first_hash + tile;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    i64 row = first + r;
    if (row >= n) break;
    if (codes) {
      u32 word = 0;
#pragma unroll
      for (int h = 0; h < 4; ++h) {
        if (winner[r][h] < 0 || hash + h >= k) continue;
        i32 key = of.keys[winner[r][h]];
        word |= code_of(slot_of ? (u64)slot_of[key] : (u64)key, 0, bits, 0) << (8 * h);
      }
      u8* at = codes + row * k + hash;
      if (k % 4 == 0 && hash < k)
        *(u32*)at = word;
      else
        for (int h = 0; h < 4 && hash + h < k; ++h) at[h] = (u8)(word >> (8 * h));
    } else {
#pragma unroll
      for (int h = 0; h < 4; ++h)
        if (hash + h < k) winners[row * k + hash + h] = winner[r][h];
    }
  }
}

enum { kCode8 = 0, kCode16 = 1, kCode32 = 2, kSamples = 3, kFingerprints = 4 };

}  // namespace

#define KS_LIST(name, T)                                                                                              \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(256, 1) gcws_list_dense_##name(                                         \
      const T* x, i64 n, i64 d, i64 stride, const double* center, double p, Entry* entries, i32* counts, float* logs, \
      i32* keys, u8* used, u8* empty, float* largest) {                                                               \
    list_dense<T>(x, n, d, stride, center, p, entries, counts, logs, keys, used, empty, largest);                     \
  }                                                                                                                   \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(256, 1) gcws_list_sparse_##name(                                        \
      const i64* starts, const i32* row_keys, const T* data, i64 n, double p, Entry* entries, i32* counts,            \
      float* logs, i32* keys, u8* rows_of, u8* used, u8* empty, float* largest) {                                     \
    list_sparse<T>(starts, row_keys, data, n, p, entries, counts, logs, keys, rows_of, used, empty, largest);         \
  }
KS_LIST(f32, float)
KS_LIST(f64, double)

#define KS_SAMPLE(name, wide)                                                                                         \
  extern "C" __global__ void gcws_table_##name(u64 seed, const i64* slot_of, const u8* used, i64 keys,                \
                                               i64 first_hash, i64 hashes, u32* table) {                              \
    make_table<wide>(seed, slot_of, used, keys, (u32)first_hash, hashes, table);                                      \
  }                                                                                                                   \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(32, 8)                                                                  \
      gcws_sample_##name(const i64* starts, i64 d, const Entry* entries, const i32* counts, const float* logs,        \
                         const i32* keys, i64 n, const float* largest, const u32* table, i64 table_hashes,            \
                         const i64* slot_of, i64 first_hash, i64 k, i64 bits, u8* codes, i32* winners) {              \
    sample<wide>({starts, d, entries, counts, logs, keys}, n, largest, table, table_hashes, slot_of, first_hash, k,   \
                 bits, codes, winners);                                                                               \
  }
KS_SAMPLE(wide, true)
KS_SAMPLE(packed, false)

// Codes, samples or fingerprints of the winning values.
extern "C" __global__ void gcws_finish(const i32* winners, i64 n, i64 k, const float* logs, const i32* keys,
                                       const i64* slot_of, u64 seed, i64 bits, i64 t_bits, i64 what, void* out,
                                       i64* t_out) {
  i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * k) return;
  i32 winner = winners[i];
  i64 hash = i % k, slot = -1, t = 0;
  if (winner >= 0) {
    slot = slot_of ? slot_of[keys[winner]] : keys[winner];
    if (t_bits > 0 || what >= kSamples) {
      Parameters of = unpacked(packed_parameters(slot_state(seed, (u64)slot), (u32)hash));
      t = (i64)above_of(logs[winner], of) - 1;
    }
  }
  u32 code = slot < 0 || what >= kSamples ? 0 : code_of((u64)slot, t, bits, t_bits);
  if (what == kCode8) ((u8*)out)[i] = (u8)code;
  if (what == kCode16) ((u16*)out)[i] = (u16)code;
  if (what == kCode32) ((u32*)out)[i] = code;
  if (what == kFingerprints) ((u8*)out)[i] = slot < 0 ? 0 : fingerprint_of((u64)slot, t, (u64)hash);
  if (what == kSamples) {
    ((i64*)out)[i] = slot;
    t_out[i] = t;
  }
}

// Signatures of the eGMM kernel: hash j is a 63-bit mix of the samples starts[j] .. starts[j + 1].
extern "C" __global__ void gcws_concatenate(const i64* slots, const i64* t, i64 n, i64 samples, const i64* starts,
                                            i64 count, i64* out) {
  i64 i = (i64)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n * count) return;
  i64 row = i / count, j = i % count;
  u64 h = 0;
  for (i64 q = starts[j]; q < starts[j + 1]; ++q) {
    h = mix64(h + (u64)slots[row * samples + q] + kGolden64);
    h = mix64(h + (u64)t[row * samples + q] + kGolden64);
  }
  out[i] = (i64)(h >> 1);
}
