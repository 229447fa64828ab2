// Generalized consistent weighted sampling (reference/rng.py, gcws.py): the parameters of a slot and a hash, and one step
// of Algorithm 1. With L = p log2|value| a value has t + 1 = floor(L / r + (1 + beta)) and a = A - r (t + 1); the sample
// of a row is the slot of least a, among equals the lowest one.
#pragma once

#include "core/log2.h"
#include "core/rng.h"

typedef struct {
  float r, reciprocal, above_beta, A;  // above_beta is 1 + beta
} ks_parameters;

// The same in two words: A, and r (8 significant bits) with the 16 bits of beta.
typedef struct {
  float A;
  ks_u32 r_beta;
} ks_packed_parameters;

KS_FUNCTION ks_packed_parameters ks_pack_parameters(ks_u64 slot_state, ks_u32 hash) {
  const ks_u32 w0 = ks_word(ks_word_key(slot_state, 0), hash);
  const ks_u32 w1 = ks_word(ks_word_key(slot_state, 1), hash);
  const ks_u32 w2 = ks_word(ks_word_key(slot_state, 2), hash);
  const ks_u32 m = ((w1 & 0xFF) << 8) | (w2 & 0xFF);
  const float r = -ks_log2f(ks_uniform16(w0 >> 16) * ks_uniform16(w0 & 0xFFFF));
  const ks_u32 rounded = (ks_bits32(r) + 0x8000u) & 0xFFFF0000u;
  const float c = -ks_log2f(ks_uniform23(w1 >> 9) * ks_uniform23(w2 >> 9));
  const ks_packed_parameters packed = {ks_fmaf(ks_float32(rounded), ks_uniform16(m), ks_log2f(c)), rounded | m};
  return packed;
}

KS_FUNCTION ks_parameters ks_unpack_parameters(ks_packed_parameters packed) {
  const float r = ks_float32(packed.r_beta & 0xFFFF0000u);
  const ks_parameters of = {r, ks_reciprocal(r), ks_above_one16(packed.r_beta & 0xFFFFu), packed.A};
  return of;
}

KS_FUNCTION float ks_log_weight(double value, double p) { return (float)(p * ks_log2(value < 0 ? -value : value)); }

// t + 1 is the floor of a number, and a follows from it.
KS_FUNCTION float ks_unrounded(float log_weight, ks_parameters of) {
  return ks_fmaf(log_weight, of.reciprocal, of.above_beta);
}
KS_FUNCTION float ks_above(float log_weight, ks_parameters of) { return ks_floorf(ks_unrounded(log_weight, of)); }
KS_FUNCTION float ks_a(float above, ks_parameters of) { return ks_fmaf(-of.r, above, of.A); }
