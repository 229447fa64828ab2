// Fourier features (reference/arithmetic.py, fourier.py): cosines, and the random numbers of weights and phases.
#pragma once

#include "core/log2.h"
#include "core/rng.h"

// Coefficients of cos(2 pi f) in powers of f^2, the highest power first.
#define KS_COS32                                                                                        \
  6.527706146240234f, -25.96688461303711f, 60.16743087768555f, -85.45011138916016f, 64.93911743164062f, \
      -19.73920440673828f, 1.0f
#define KS_COS64                                                                                          \
  0.003359676254891574, -0.03613799133425832, 0.2819245703565778, -1.7143738447256551, 7.903534122041613, \
      -26.426256590531025, 60.24464136156249, -85.45681720637177, 64.93939402266314, -19.739208802178684, 1.0
#define KS_PHASE_SLOT (1ull << 63)  // the slot of the phases: no feature has it
#define KS_TWO_LN_2 1.3862944f

// cos(2 pi y).
KS_FUNCTION float ks_cos_turnsf(float y) {
  const float c[] = {KS_COS32}, f = y - ks_rintf(y), z = f * f;
  float p = c[0];
  for (int i = 1; i < 7; ++i) p = ks_fmaf(p, z, c[i]);
  return p;
}
KS_FUNCTION double ks_cos_turns(double y) {
  const double c[] = {KS_COS64}, f = y - ks_rint(y), z = f * f;
  double p = c[0];
  for (int i = 1; i < 11; ++i) p = ks_fma(p, z, c[i]);
  return p;
}

// A standard normal number by the method of Box and Muller, and a number of turns.
KS_FUNCTION float ks_normal(ks_u64 slot_state, ks_u32 hash) {
  const ks_u32 length = ks_word(ks_word_key(slot_state, KS_WORDS), hash);
  const ks_u32 angle = ks_word(ks_word_key(slot_state, KS_WORDS + 1), hash);
  const float u = ks_fmaf((float)(length >> 1), 4.656612873077393e-10f, 2.3283064365386963e-10f);
  return ks_sqrtf(KS_TWO_LN_2 * -ks_log2f(u)) * ks_cos_turnsf(ks_uniform23(angle >> 9));
}
KS_FUNCTION float ks_phase(ks_u64 seed_key, ks_u32 hash) {
  return ks_uniform23(ks_word(ks_word_key(ks_slot_state(seed_key, KS_PHASE_SLOT), KS_WORDS), hash) >> 9);
}
