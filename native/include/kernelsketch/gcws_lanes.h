// The parameters of GCWS (gcws.h) for sixteen hashes of a slot or sixteen slots of a hash at once. Only files that are
// compiled once per instruction set include it, like simd.h.
#pragma once

#include "core/gcws.h"
#include "kernelsketch/rng_lanes.h"
#include "kernelsketch/simd.h"

namespace kernelsketch::KERNELSKETCH_ISA {

struct SlotParameters {
  F16 reciprocal, A, r, above;  // above: 1 + beta
};

// r and beta in one word: the upper half of r (the lower is zero), then the 16 bits m of beta = (m + 1/2) / 2^16.
KS_INLINE F16 unpack_r(I16 word) { return F16::from_bits(word & I16::set(0xFFFF0000u)); }
KS_INLINE F16 unpack_above(I16 word) {
  return F16::from_bits((word.left<7>() & I16::set(0x007FFF80u)) | I16::set(0x3F800040u));
}

struct PackedParameters {
  F16 reciprocal, A;
  I16 word;
};

// core/gcws.h: ks_pack_parameters, of three words
KS_INLINE PackedParameters make_parameters(I16 w0, I16 w1, I16 w2) {
  const I16 low8 = I16::set(0xFF);
  const F16 u1 = uniform(w0.right<16>(), 0x1p-16f), u2 = uniform(w0 & I16::set(0xFFFF), 0x1p-16f);
  const F16 u3 = uniform(w1.right<9>(), 0x1p-23f), u4 = uniform(w2.right<9>(), 0x1p-23f);
  const I16 m = (w1 & low8).left<8>() | (w2 & low8);
  const F16 r = F16::from_bits((negative(log2_lanes(u1 * u2)).bits() + I16::set(0x8000u)) & I16::set(0xFFFF0000u));
  const F16 c = negative(log2_lanes(u3 * u4));
  return {F16::set(1.0f) / r, F16::fma(r, uniform(m, 0x1p-16f), log2_lanes(c)), r.bits() | m};
}

KS_INLINE PackedParameters make_parameters(uint64_t slot_state, I16 j) {
  return make_parameters(word(j, ks_word_key(slot_state, 0)), word(j, ks_word_key(slot_state, 1)),
                         word(j, ks_word_key(slot_state, 2)));
}

KS_INLINE SlotParameters unpack(const PackedParameters& slot) {
  return {slot.reciprocal, slot.A, unpack_r(slot.word), unpack_above(slot.word)};
}

// core/gcws.h: ks_above and ks_a
KS_INLINE F16 above_of(F16 log, const SlotParameters& slot) {
  return F16::fma(log, slot.reciprocal, slot.above).floor();
}
KS_INLINE F16 a_of(F16 above, const SlotParameters& slot) { return F16::fnma(slot.r, above, slot.A); }

// Where a < best: best = a, label = id and, with_t, kept = t.
template <bool with_t>
KS_INLINE void keep_less(F16 a, F16& best, I16 id, I16& label, F16 t, F16& kept) {
  const auto mask = less(a, best);
  best = F16::min(a, best);
  label = select(mask, id, label);
  if constexpr (with_t) kept = select(mask, t, kept);
}

constexpr uint32_t kInfinity = 0x7F800000u;  // bits of a float

}  // namespace kernelsketch::KERNELSKETCH_ISA
