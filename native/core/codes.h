// What becomes of samples (reference/pack.py, gcws.py, index.py): codes of a few bits, signatures of the exponential
// kernels, which join several samples, fingerprints for the index, and buckets of them.
#pragma once

#include "core/rng.h"

// The lowest `bits` bits of the feature of a slot, its sign mixed into the highest of them; t_bits of t above them.
KS_FUNCTION ks_u32 ks_slot_code(ks_u64 slot, int bits) {
  return (ks_u32)(((slot >> 1) ^ ((slot & 1) << (bits - 1))) & (((ks_u64)1 << bits) - 1));
}
KS_FUNCTION ks_u32 ks_code(ks_u32 slot_code, ks_i64 t, int bits, int t_bits) {
  return slot_code | (ks_u32)(((ks_u64)t & (((ks_u64)1 << t_bits) - 1)) << bits);
}

// A signature begins with 0, takes its samples one after the other, and leaves out its last bit in the end.
KS_FUNCTION ks_u64 ks_join(ks_u64 joined, ks_u64 slot, ks_i64 t) {
  return ks_mix64(ks_mix64(joined + slot + KS_GOLDEN64) + (ks_u64)t + KS_GOLDEN64);
}
KS_FUNCTION ks_u64 ks_signature(ks_u64 joined) { return joined >> 1; }

KS_FUNCTION ks_u8 ks_fingerprint(ks_u64 slot, ks_i64 t, ks_u64 hash) {
  return (ks_u8)ks_mix64(ks_mix64(slot + (hash + 1) * KS_GOLDEN64) + (ks_u64)t + KS_GOLDEN64);
}

// The leading `bits` bits of a hash of a band of codes.
KS_FUNCTION ks_u64 ks_bucket(const ks_u8* band, int size, ks_u64 table, int bits) {
  ks_u64 key = 0;
  for (int j = 0; j < size; ++j) key |= (ks_u64)band[j] << (8 * j);
  return bits ? ks_mix64(key + (table + 1) * KS_GOLDEN64) >> (64 - bits) : 0;
}
