// What becomes of samples: codes of 8, 16 or 32 bits, the samples themselves, or fingerprints.
#pragma once

#include "core/codes.h"
#include "device.h"

namespace ks {

// _gcws_values.py has the same numbers.
enum { kCode8 = 0, kCode16 = 1, kCode32 = 2, kSamples = 3, kFingerprints = 4 };

__device__ __forceinline__ void write_code(void* out, i64 at, u32 code, i64 what) {
  if (what == kCode8) ((u8*)out)[at] = (u8)code;
  if (what == kCode16) ((u16*)out)[at] = (u16)code;
  if (what == kCode32) ((u32*)out)[at] = code;
}

// The sample (slot, t) of a hash; the slot of an empty row is -1.
__device__ __forceinline__ void write_sample(void* out, i64* t_out, i64 at, i64 slot, i64 t, u64 hash, i64 bits,
                                             i64 t_bits, i64 what) {
  if (what == kFingerprints) {
    ((u8*)out)[at] = slot < 0 ? 0 : ks_fingerprint((u64)slot, t, hash);
  } else if (what == kSamples) {
    ((i64*)out)[at] = slot;
    t_out[at] = t;
  } else {
    write_code(out, at, slot < 0 ? 0 : ks_code(ks_slot_code((u64)slot, (int)bits), t, (int)bits, (int)t_bits), what);
  }
}

}  // namespace ks
