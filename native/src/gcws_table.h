// The parameters of Algorithm 1 as a table, for rows that walk it nonzero by nonzero.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernelsketch/gcws.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {

// The parameters of all slots of d features, tile by tile: [tile][key][group of the tile][kParameterFloats].
// The key of a slot is its feature, plus d for negative values: what occurs together lies together.
class ParameterTable {
 public:
  ParameterTable(const GcwsOps& ops, uint64_t seed, int64_t d, int64_t group, int64_t groups, int threads,
                 Interrupted interrupted)
      : keys_(2 * d), groups_(groups), parameters_(keys_ * groups * kParameterFloats) {
    std::vector<uint64_t> slots(keys_);
    for (int64_t key = 0; key < keys_; ++key) slots[key] = slot_of(key, d);
    const int64_t tiles = (groups + kTileGroups - 1) / kTileGroups;
    finished_ = each_item(tiles, threads, interrupted, [&](int64_t tile) {
      ops.parameters(seed, slots.data(), keys_, group + tile * kTileGroups,
                     std::min(kTileGroups, groups_ - tile * kTileGroups), parameters_.get() + start(tile));
    });
  }
  bool finished() const { return finished_; }
  const float* tile(int64_t tile) const { return parameters_.get() + start(tile); }
  static uint64_t slot_of(int64_t key, int64_t d) {
    return static_cast<uint64_t>(key < d ? 2 * key : 2 * (key - d) + 1);
  }

 private:
  int64_t start(int64_t tile) const { return tile * kTileGroups * keys_ * kParameterFloats; }
  int64_t keys_, groups_;
  bool finished_ = true;
  Buffer<float> parameters_;
};

}  // namespace kernelsketch
