// What becomes of the winners: codes, full samples or fingerprints.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "core/codes.h"
#include "gcws_blocks.h"
#include "kernelsketch/gcws.h"

namespace kernelsketch {

// The code of a slot, without t, as a label.
inline int32_t code_of(uint64_t slot, int bits) { return static_cast<int32_t>(ks_slot_code(slot, bits)); }

// Winners of `groups` groups from `group` on, [row][groups][16], into the output. Empty rows have label 0 and t = 0.
// Rows is RowBlock or OrderedRows.
template <class Code, class Rows, class SlotOf>
void write_winners(const CodeOutput<Code>& out, const GcwsParams& params, const Rows& block, const SlotOf&,
                   int64_t group, int64_t groups, const Winners& winners) {
  const int64_t hash = group * kLanes, used = std::min(groups * kLanes, params.hashes - hash);
  for (int64_t i = 0; i < block.rows(); ++i) {
    Code* to = out.codes + block.row(i) * params.hashes + hash;
    const int32_t* label = winners.label + i * groups * kLanes;
    if (params.t_bits == 0) {
      if (used == groups * kLanes && used % kLanes == 0) {
        for (int64_t g = 0; g < used; g += kLanes)
          for (int64_t j = 0; j < kLanes; ++j) to[g + j] = static_cast<Code>(label[g + j]);
      } else {
        for (int64_t j = 0; j < used; ++j) to[j] = static_cast<Code>(label[j]);
      }
    } else {
      const float* above = winners.above + i * groups * kLanes;
      for (int64_t j = 0; j < used; ++j)
        to[j] = static_cast<Code>(
            ks_code(static_cast<uint32_t>(label[j]), static_cast<int64_t>(above[j]) - 1, params.bits, params.t_bits));
    }
  }
}

// Outputs of whole samples: labels are numbers of slots.
template <class Out>
constexpr bool kWholeSamples = std::is_same_v<Out, SampleOutput> || std::is_same_v<Out, FingerprintOutput>;

template <class Rows, class SlotOf>
void write_winners(const SampleOutput& out, const GcwsParams& params, const Rows& block, const SlotOf& slot_of,
                   int64_t group, int64_t groups, const Winners& winners) {
  const int64_t hash = group * kLanes, used = std::min(groups * kLanes, params.hashes - hash);
  for (int64_t i = 0; i < block.rows(); ++i) {
    const bool empty = block.empty(i);
    const int64_t to = block.row(i) * params.hashes + hash;
    const int64_t from = i * groups * kLanes;
    for (int64_t j = 0; j < used; ++j) {
      out.slots[to + j] = empty ? -1 : static_cast<int64_t>(slot_of(winners.label[from + j]));
      out.t[to + j] = empty ? 0 : static_cast<int64_t>(winners.above[from + j]) - 1;
    }
  }
}

template <class Rows, class SlotOf>
void write_winners(const FingerprintOutput& out, const GcwsParams& params, const Rows& block, const SlotOf& slot_of,
                   int64_t group, int64_t groups, const Winners& winners) {
  const int64_t hash = group * kLanes, used = std::min(groups * kLanes, params.hashes - hash);
  for (int64_t i = 0; i < block.rows(); ++i) {
    uint8_t* to = out.fingerprints + block.row(i) * params.hashes + hash;
    if (block.empty(i)) {  // its labels are those of no slot
      std::fill_n(to, used, uint8_t{0});
      continue;
    }
    const int64_t from = i * groups * kLanes;
    for (int64_t j = 0; j < used; ++j) {
      const uint64_t slot = slot_of(winners.label[from + j]);
      const int64_t t = static_cast<int64_t>(winners.above[from + j]) - 1;
      to[j] = ks_fingerprint(slot, t, static_cast<uint64_t>(hash + j));
    }
  }
}

}  // namespace kernelsketch
