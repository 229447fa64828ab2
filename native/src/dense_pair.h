// What a dense query and a dense row share: the sum M of index.h.
#pragma once

#include <cstdint>

#include "kernelsketch/index.h"

namespace kernelsketch {

inline double dense_common(const IndexOps& ops, const IndexVectors& q, int64_t i, const IndexVectors& x, int64_t row) {
  const int64_t d = x.d;
  if (x.bytes && q.bytes) {
    const double total = q.norms[i] + x.norms[row];
    return (total - static_cast<double>(ops.distance_bytes(q.bytes + i * d, x.bytes + row * d, d))) / 2;
  }
  if (x.bytes) return ops.common_bytes(q.dense + i * d, x.bytes + row * d, d);
  return ops.common(q.dense + i * d, x.dense + row * d, d);
}

}  // namespace kernelsketch
