// The arithmetic of gcws.h for one instruction set. Compiled once per set: see simd.h for what may be included.
#include "kernelsketch/gcws.h"

#include "kernelsketch/gcws_lanes.h"

namespace kernelsketch::KERNELSKETCH_ISA {
namespace {

#if defined(KS_MASKS)
constexpr int kConcurrent = 4;  // groups whose running minima fit in registers
#else
constexpr int kConcurrent = 1;
#endif

KS_INLINE SlotParameters load_parameters(const float* p) {
  return unpack({F16::load(p), F16::load(p + 16), F16::load(p + 32).bits()});
}

template <bool with_t>
KS_INLINE void draw(const SlotParameters& slot, F16 log, I16 id, F16& best, I16& label, F16& kept) {
  const F16 above = above_of(log, slot);
  keep_less<with_t>(a_of(above, slot), best, id, label, above, kept);
}

void parameters(uint64_t seed, const uint64_t* slots, int64_t count, int64_t group, int64_t groups, float* out) {
  const uint64_t seed_key = ks_seed_key(seed);
  for (int64_t s = 0; s < count; ++s) {
    const uint64_t state = ks_slot_state(seed_key, slots[s]);
    for (int64_t g = 0; g < groups; ++g) {
      const PackedParameters slot = make_parameters(state, hash_numbers(group + g));
      float* p = out + (s * groups + g) * kParameterFloats;
      slot.reciprocal.store(p);
      slot.A.store(p + 16);
      F16::from_bits(slot.word).store(p + 32);
    }
  }
}

template <bool with_t, int concurrent>
void walk_rows(const RowEntries& entries, const float* table, int64_t groups, int64_t g0, const Winners& winners) {
  for (int64_t i = 0; i < entries.n; ++i) {
    F16 best[concurrent], kept[concurrent];
    I16 label[concurrent];
    for (int g = 0; g < concurrent; ++g) {
      best[g] = F16::from_bits(I16::set(kInfinity));
      label[g] = I16::set(0);
      kept[g] = F16::set(1);
    }
    for (int64_t q = entries.starts[i]; q < entries.starts[i + 1]; ++q) {
      const float* p = table + (static_cast<int64_t>(entries.key[q]) * groups + g0) * kParameterFloats;
      const F16 log = F16::set(entries.log[q]);
      const I16 id = I16::set(static_cast<uint32_t>(entries.label_of[entries.key[q]]));
      KS_UNROLL
      for (int g = 0; g < concurrent; ++g)
        draw<with_t>(load_parameters(p + g * kParameterFloats), log, id, best[g], label[g], kept[g]);
    }
    for (int g = 0; g < concurrent; ++g) {
      label[g].store(winners.label + (i * groups + g0 + g) * kLanes);
      if (with_t) kept[g].store(winners.above + (i * groups + g0 + g) * kLanes);
    }
  }
}

template <bool with_t>
void rows_of(const RowEntries& entries, const float* table, int64_t groups, const Winners& winners) {
  int64_t g = 0;
  for (; g + kConcurrent <= groups; g += kConcurrent)
    walk_rows<with_t, kConcurrent>(entries, table, groups, g, winners);
  if (kConcurrent > 2 && g + 2 <= groups) {
    walk_rows<with_t, 2>(entries, table, groups, g, winners);
    g += 2;
  }
  for (; g < groups; ++g) walk_rows<with_t, 1>(entries, table, groups, g, winners);
}

void rows(const RowEntries& entries, const float* table, int64_t groups, const Winners& winners) {
  (winners.above ? rows_of<true> : rows_of<false>)(entries, table, groups, winners);
}

template <bool with_t>
void columns_of(const ColumnBlock& columns, uint64_t seed, int64_t group, float* best, const Winners& winners) {
  for (int64_t at = 0; at < columns.n * kLanes; at += kLanes) {
    F16::from_bits(I16::set(kInfinity)).store(best + at);
    I16::set(0).store(winners.label + at);
    if (with_t) F16::set(1).store(winners.above + at);
  }
  const I16 j = hash_numbers(group);
  const uint64_t seed_key = ks_seed_key(seed);
  for (int64_t c = 0; c < columns.count; ++c) {
    const SlotParameters slot = unpack(make_parameters(ks_slot_state(seed_key, columns.slots[c]), j));
    const I16 id = I16::set(static_cast<uint32_t>(columns.label[c]));
    for (int64_t q = columns.starts[c]; q < columns.starts[c + 1]; ++q) {
      const int64_t at = columns.entries[q].row * kLanes;
      F16 least = F16::load(best + at), kept = F16::set(0);
      I16 label = I16::load(winners.label + at);
      if (with_t) kept = F16::load(winners.above + at);
      draw<with_t>(slot, F16::set(columns.entries[q].log), id, least, label, kept);
      least.store(best + at);
      label.store(winners.label + at);
      if (with_t) kept.store(winners.above + at);
    }
  }
}

void columns(const ColumnBlock& columns, uint64_t seed, int64_t group, float* best, const Winners& winners) {
  (winners.above ? columns_of<true> : columns_of<false>)(columns, seed, group, best, winners);
}

// Eight at a time where the processor packs them, else one by one without a branch. The intrinsics stay here: keys are
// half a register, which the lanes of simd.h have not, and other instruction sets have no such instructions.
template <class T>
int64_t nonzeros(const T* x, const double* center, int64_t d, int32_t scale, int32_t negative, double* values,
                 int32_t* keys) {
  int64_t count = 0, f = 0;
#if defined(KS_MASKS)
  const __m256i step = _mm256_set1_epi32(8 * scale), extra = _mm256_set1_epi32(negative);
  __m256i ids = _mm256_mullo_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(scale));
  for (; f + 8 <= d; f += 8) {
    __m512d v;
    if constexpr (sizeof(T) == 4)
      v = _mm512_cvtps_pd(_mm256_loadu_ps(x + f));
    else
      v = _mm512_loadu_pd(x + f);
    if (center) v = _mm512_sub_pd(v, _mm512_loadu_pd(center + f));
    const __mmask8 used = _mm512_cmp_pd_mask(v, _mm512_setzero_pd(), _CMP_NEQ_OQ);
    const __mmask8 below = _mm512_cmp_pd_mask(v, _mm512_setzero_pd(), _CMP_LT_OQ);
    const __m256i key = _mm256_mask_add_epi32(ids, below, ids, extra);
    _mm512_storeu_pd(values + count, _mm512_maskz_compress_pd(used, v));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(keys + count), _mm256_maskz_compress_epi32(used, key));
    count += count_ones(used);
    ids = _mm256_add_epi32(ids, step);
  }
#endif
  for (; f < d; ++f) {
    const double v = center ? static_cast<double>(x[f]) - center[f] : static_cast<double>(x[f]);
    values[count] = v;
    keys[count] = static_cast<int32_t>(f) * scale + (v < 0 ? negative : 0);
    count += v != 0;
  }
  return count;
}

// The compiler vectorizes this loop.
void logs(const double* x, int64_t n, double p, float* out) {
  for (int64_t i = 0; i < n; ++i) out[i] = ks_log_weight(x[i], p);
}

}  // namespace

extern const GcwsOps gcws = {logs, parameters, rows, columns, {{nonzeros}, {nonzeros}}};

}  // namespace kernelsketch::KERNELSKETCH_ISA
