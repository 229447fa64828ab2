// The bucket of a row in an LSH table.
#pragma once

#include <cstdint>

#include "kernelsketch/rng.h"

namespace kernelsketch {

// The leading `bits` bits of a hash of the band: `size` codes, one byte each.
inline uint64_t bucket_of(const uint8_t* band, int size, int64_t table, int bits) {
  if (bits == 0) return 0;
  uint64_t key = 0;
  for (int j = 0; j < size; ++j) key |= static_cast<uint64_t>(band[j]) << (8 * j);
  return mix64(key + static_cast<uint64_t>(table + 1) * kGolden64) >> (64 - bits);
}

}  // namespace kernelsketch
