// The arithmetic of the strategy `bounds` of gcws.h for one instruction set, sixteen rows or sixteen slots at once.
// Compiled once per set: see simd.h for what may be included.
#include "kernelsketch/gcws.h"
#include "kernelsketch/gcws_lanes.h"

namespace kernelsketch::KERNELSKETCH_ISA {
namespace {

#if defined(KS_MASKS)
constexpr int kVectors = 8;  // vectors of rows whose running minima fit in registers
#else
constexpr int kVectors = 2;
#endif
static_assert(kBoundedRows % (16 * kVectors) == 0, "whole vectors of rows");

// The keys of sixteen columns.
struct ColumnKeys {
  I16 half[6];

  KS_INLINE PackedParameters parameters(I16 j) const {
    return make_parameters(word(j, half[0], half[1]), word(j, half[2], half[3]), word(j, half[4], half[5]));
  }
};

constexpr int32_t kNumbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

int64_t choose(const int32_t* const* words, const float* tops, int64_t columns, int64_t hash, float threshold,
               const Candidates& out) {
  const I16 j = I16::set(static_cast<uint32_t>(hash) * KS_GOLDEN32);
  int64_t count = 0;
  for (int64_t c = 0; c < columns; c += 16) {
    ColumnKeys keys;
    for (int w = 0; w < 6; ++w) keys.half[w] = I16::load(words[w] + c);
    const SlotParameters slot = unpack(keys.parameters(j));
    const F16 a = a_of(above_of(F16::load(tops + c), slot), slot);
    const uint32_t low = bits(less(a, F16::set(threshold)));
    pack(slot.reciprocal, low, out.reciprocal + count);
    pack(slot.A, low, out.A + count);
    pack(slot.r, low, out.r + count);
    pack(slot.above, low, out.above + count);
    pack(I16::set(static_cast<uint32_t>(c)) + I16::load(kNumbers), low, out.column + count);
    count += count_ones(low);
  }
  return count;
}

int64_t narrow(const Candidates& of, int64_t count, const float* tops, float threshold, int32_t* kept) {
  int64_t found = 0;
  for (int64_t i = 0; i < count; i += 16) {
    const int64_t lanes = count - i < 16 ? count - i : 16;
    alignas(64) float top[16], value[16];
    for (int64_t q = 0; q < 16; ++q) top[q] = tops[of.column[i + (q < lanes ? q : 0)]];
    const SlotParameters slot = {F16::load(of.reciprocal + i), F16::load(of.A + i), F16::load(of.r + i),
                                 F16::load(of.above + i)};
    a_of(above_of(F16::load(top), slot), slot).store(value);
    for (int64_t q = 0; q < lanes; ++q) {
      kept[found] = static_cast<int32_t>(i + q);
      found += value[q] < threshold;
    }
  }
  return found;
}

template <bool with_t>
void visit_rows(const float* logs, int64_t rows, const Candidates& of, const int32_t* kept, int64_t count,
                const int32_t* label_of, float* least, int32_t* label, float* above) {
  for (int64_t first = 0; first < rows; first += 16 * kVectors) {
    F16 best[kVectors], t[kVectors];
    I16 winner[kVectors];
    for (int v = 0; v < kVectors; ++v) {
      best[v] = F16::from_bits(I16::set(kInfinity));
      winner[v] = I16::set(0);
      t[v] = F16::set(1);
    }
    for (int64_t q = 0; q < count; ++q) {
      const int64_t i = kept[q];
      const float* log = logs + of.column[i] * rows + first;
      const SlotParameters slot = {F16::set(of.reciprocal[i]), F16::set(of.A[i]), F16::set(of.r[i]),
                                   F16::set(of.above[i])};
      const I16 id = I16::set(static_cast<uint32_t>(label_of[of.column[i]]));
      KS_UNROLL
      for (int v = 0; v < kVectors; ++v) {
        const F16 up = above_of(F16::load(log + 16 * v), slot);
        keep_less<with_t>(a_of(up, slot), best[v], id, winner[v], up, t[v]);
      }
    }
    for (int v = 0; v < kVectors; ++v) {
      best[v].store(least + first + 16 * v);
      winner[v].store(label + first + 16 * v);
      if (with_t) t[v].store(above + first + 16 * v);
    }
  }
}

void visit(const float* logs, int64_t rows, const Candidates& of, const int32_t* kept, int64_t count,
           const int32_t* label_of, float* least, int32_t* label, float* above) {
  (above ? visit_rows<true> : visit_rows<false>)(logs, rows, of, kept, count, label_of, least, label, above);
}

// Blocks of sixteen rows, which stay in the nearest cache.
template <class T>
void turn(const T* from, int64_t rows, T* to) {
  for (int64_t first = 0; first < rows; first += 16)
    for (int i = 0; i < 16; ++i)
      for (int lane = 0; lane < 16; ++lane) to[(first + i) * 16 + lane] = from[lane * rows + first + i];
}

// Sixteen values at a time. Values come in the order of slots, and the first of equals wins.
Sample look(const int32_t* const* words, int64_t hash, const int32_t* columns, const float* logs, int64_t count) {
  const I16 j = I16::set(static_cast<uint32_t>(hash) * KS_GOLDEN32);
  Sample found = {0, 1};
  float least = ks_float32(kInfinity);
  for (int64_t i = 0; i < count; i += 16) {
    const int64_t lanes = count - i < 16 ? count - i : 16;
    alignas(64) int32_t word[6][16];
    alignas(64) float log[16], up[16], value[16];
    for (int64_t q = 0; q < 16; ++q) {
      const int64_t at = i + (q < lanes ? q : 0);
      for (int w = 0; w < 6; ++w) word[w][q] = words[w][columns[at]];
      log[q] = logs[at];
    }
    ColumnKeys keys;
    for (int w = 0; w < 6; ++w) keys.half[w] = I16::load(word[w]);
    const SlotParameters slot = unpack(keys.parameters(j));
    const F16 above = above_of(F16::load(log), slot);
    above.store(up);
    a_of(above, slot).store(value);
    for (int64_t q = 0; q < lanes; ++q)
      if (value[q] < least) {
        least = value[q];
        found = {columns[i + q], up[q]};
      }
  }
  return found;
}

}  // namespace

extern const BoundOps bounds = {choose, narrow, visit, turn, turn, look};

}  // namespace kernelsketch::KERNELSKETCH_ISA
