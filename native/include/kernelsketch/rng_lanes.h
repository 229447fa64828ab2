// The counter-based generator of reference/rng.py on sixteen hash numbers at once. Only files that are compiled once
// per instruction set include it, like simd.h.
#pragma once

#include <cstdint>

#include "core/rng.h"
#include "kernelsketch/simd.h"

namespace kernelsketch::KERNELSKETCH_ISA {

// reference/arithmetic.py: log2_float32
KS_INLINE F16 log2_lanes(F16 x) {
  const I16 bits = x.bits();
  const I16 exponent = (bits - I16::set(0x3F3504F3u)).right_signed<23>();
  const F16 f = F16::from_bits(bits - exponent.left<23>()) - F16::set(1.0f);
  F16 p = F16::set(-0.2061910480260849f);
  p = F16::fma(p, f, F16::set(0.31819990277290344f));
  p = F16::fma(p, f, F16::set(-0.3664917051792145f));
  p = F16::fma(p, f, F16::set(0.4798118472099304f));
  p = F16::fma(p, f, F16::set(-0.7212063670158386f));
  p = F16::fma(p, f, F16::set(1.4427015781402588f));
  return F16::fma(f, p, F16::from_int(exponent));
}

// Words of hash numbers j (times the golden ratio) and of keys, of which one or the other may be the same in all lanes.
KS_INLINE I16 word(I16 j, I16 low, I16 high) {
  I16 x = j ^ low;
  x = x ^ x.right<16>();
  x = x * I16::set(0x21F0AAADu);
  x = x ^ x.right<15>() ^ high;
  x = x * I16::set(0x735A2D97u);
  return x ^ x.right<15>();
}

KS_INLINE I16 word(I16 j, uint64_t key) {
  return word(j, I16::set(static_cast<uint32_t>(key)), I16::set(static_cast<uint32_t>(key >> 32)));
}

KS_INLINE F16 uniform(I16 m, float scale) { return F16::fma(F16::from_int(m), F16::set(scale), F16::set(scale / 2)); }

KS_INLINE I16 hash_numbers(int64_t group) {  // times the golden ratio
  alignas(64) int32_t j[16];
  for (int i = 0; i < 16; ++i) j[i] = static_cast<int32_t>(static_cast<uint32_t>(group * 16 + i) * KS_GOLDEN32);
  return I16::load(j);
}

}  // namespace kernelsketch::KERNELSKETCH_ISA
