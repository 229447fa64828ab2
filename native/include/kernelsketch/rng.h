// The counter-based generator of random numbers that reference/rng.py specifies: the part in 64-bit integers.
//
// mix64 is the finalizer of SplitMix64 (G. L. Steele, D. Lea and C. H. Flood, OOPSLA 2014). A random number is a
// function of (seed, slot, word, hash number) alone, so any part of a table of them can be made anywhere, in any order.
//
// Functions are static, not inline: each file has its own copy, so that code compiled for one instruction set stays
// there.
#pragma once

#include <cstdint>

namespace kernelsketch {

inline constexpr uint64_t kGolden64 = 0x9E3779B97F4A7C15u;

struct SlotKeys {
  uint32_t word[6];
};

[[maybe_unused]] static uint64_t mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

[[maybe_unused]] static uint64_t make_seed_key(uint64_t seed) { return mix64(seed + kGolden64); }

// Keys of word number w of a slot: low and high half.
[[maybe_unused]] static uint64_t make_word_key(uint64_t seed_key, uint64_t slot, uint64_t w) {
  return mix64(mix64(slot + seed_key) + (w + 1) * kGolden64);
}

[[maybe_unused]] static SlotKeys make_slot_keys(uint64_t seed_key, uint64_t slot) {
  SlotKeys keys;
  for (uint64_t w = 0; w < 3; ++w) {
    const uint64_t z = make_word_key(seed_key, slot, w);
    keys.word[2 * w] = static_cast<uint32_t>(z);
    keys.word[2 * w + 1] = static_cast<uint32_t>(z >> 32);
  }
  return keys;
}

}  // namespace kernelsketch
