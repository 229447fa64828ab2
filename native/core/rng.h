// The counter-based generator of random numbers (reference/rng.py).
//
// A random number is a function of (seed, slot, word, hash number) alone, so any part of a table of them can be made
// anywhere, in any order. ks_mix64 is the finalizer of SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, OOPSLA 2014).
#pragma once

#include "core/arithmetic.h"

#define KS_GOLDEN64 0x9E3779B97F4A7C15ull
#define KS_GOLDEN32 0x9E3779B1u
#define KS_WORDS 3  // of GCWS; Fourier features use the next ones

KS_FUNCTION ks_u64 ks_mix64(ks_u64 z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
  return z ^ (z >> 31);
}

KS_FUNCTION ks_u64 ks_seed_key(ks_u64 seed) { return ks_mix64(seed + KS_GOLDEN64); }
KS_FUNCTION ks_u64 ks_slot_state(ks_u64 seed_key, ks_u64 slot) { return ks_mix64(slot + seed_key); }

// The two keys of a word of a slot, as halves of a number.
KS_FUNCTION ks_u64 ks_word_key(ks_u64 slot_state, int word) {
  return ks_mix64(slot_state + (ks_u64)(word + 1) * KS_GOLDEN64);
}

// A word of 32 random bits of a slot and a hash.
KS_FUNCTION ks_u32 ks_word(ks_u64 word_key, ks_u32 hash) {
  ks_u32 x = (hash * KS_GOLDEN32) ^ (ks_u32)word_key;
  x ^= x >> 16;
  x *= 0x21F0AAADu;
  x ^= (x >> 15) ^ (ks_u32)(word_key >> 32);
  x *= 0x735A2D97u;
  return x ^ (x >> 15);
}

// 1 + (m + 1/2) / 2^16, and (m + 1/2) / 2^b for b = 16 and b = 23: exact, without a conversion from integers, which is
// slow on a GPU.
KS_FUNCTION float ks_above_one16(ks_u32 m) { return ks_float32(0x3F800000u | (m << 7) | 0x40u); }
KS_FUNCTION float ks_uniform16(ks_u32 m) { return ks_above_one16(m) - 1.0f; }
KS_FUNCTION float ks_uniform23(ks_u32 m) { return ks_float32(0x3F800000u | m) - (1.0f - 5.9604644775390625e-8f); }
