// The arithmetic of graph.h for one instruction set. Compiled once per set: see simd.h for what may be included.
#include "kernelsketch/graph.h"

#include "kernelsketch/simd.h"

namespace kernelsketch::KERNELSKETCH_ISA {
namespace {

constexpr int64_t kAheadBytes = 2048;  // of rows that are fetched before they are needed, but at least kLeastAhead rows
constexpr int64_t kLeastAhead = 3, kMostAhead = 32;

void keys(const uint8_t* query, float norm, const uint8_t* bytes, const float* norms, int64_t d, const uint32_t* rows,
          int64_t count, float* keys) {
  const int64_t fits = kAheadBytes / (d + 1);
  const int64_t ahead = fits < kLeastAhead ? kLeastAhead : fits > kMostAhead ? kMostAhead : fits;
  const auto fetch = [&](int64_t i) {
    prefetch(bytes + rows[i] * d, d);
    prefetch(bytes + rows[i] * d + (d - 1));  // rows are not aligned
    prefetch(norms + rows[i]);
  };
  for (int64_t i = 0; i < ahead && i < count; ++i) fetch(i);
  for (int64_t i = 0; i < count; ++i) {
    if (i + ahead < count) fetch(i + ahead);
    const auto distance = static_cast<float>(byte_distance(query, bytes + rows[i] * d, d));
    keys[i] = distance / (norm + norms[rows[i]]);
  }
}

}  // namespace

extern const GraphOps graph = {keys};

}  // namespace kernelsketch::KERNELSKETCH_ISA
