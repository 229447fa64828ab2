// Panels of rows, packed feature by feature, which the register tiles of gmm.h read.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernelsketch/gmm.h"
#include "kernelsketch/rows.h"

namespace kernelsketch {

// panel[f][c] = b[c0 + c][f0 + f], zeros past the last row and feature.
template <class Value, class T>
void pack_panel(const DenseRows<Value>& b, int64_t c0, int cols, int64_t f0, int64_t features, T* panel) {
  const int64_t padded = (features + kFeatureGroup - 1) / kFeatureGroup * kFeatureGroup;
  const int64_t used = std::min<int64_t>(cols, b.n - c0);
  constexpr int64_t step = 16;  // features in turn: a line of each row, few lines of the panel
  for (int64_t f = 0; f < padded; f += step) {
    const int64_t end = std::min(f + step, padded), real = std::min(end, features);
    int64_t c = 0;
    for (; c + 4 <= used; c += 4) {  // four rows at a time, for one store of their four values
      const Value* row = b.data + (c0 + c) * b.stride + f0;
      for (int64_t g = f; g < real; ++g) {
        const T values[4] = {static_cast<T>(row[g]), static_cast<T>(row[g + b.stride]),
                             static_cast<T>(row[g + 2 * b.stride]), static_cast<T>(row[g + 3 * b.stride])};
        std::copy_n(values, 4, panel + g * cols + c);
      }
      for (int64_t g = real; g < end; ++g) std::fill_n(panel + g * cols + c, 4, T(0));
    }
    for (; c < cols; ++c) {
      const Value* row = b.data + (c0 + c) * b.stride + f0;
      for (int64_t g = f; g < end; ++g) panel[g * cols + c] = c < used && g < real ? static_cast<T>(row[g]) : T(0);
    }
  }
}

// The same for bytes: panel[f / 8][c][f % 8]. Rows past the last are like it.
inline void pack_bytes(const DenseRows<uint8_t>& b, int64_t c0, int cols, uint8_t* panel) {
  const int64_t whole = b.d / kByteGroup * kByteGroup;
  for (int64_t c = 0; c < cols; ++c) {
    const uint8_t* row = b.data + std::min(c0 + c, b.n - 1) * b.stride;
    uint8_t* to = panel + c * kByteGroup;
    for (int64_t f = 0; f < whole; f += kByteGroup) std::copy_n(row + f, kByteGroup, to + f * cols);
    if (whole < b.d) {
      std::fill_n(to + whole * cols, kByteGroup, uint8_t{0});
      std::copy_n(row + whole, b.d - whole, to + whole * cols);
    }
  }
}

}  // namespace kernelsketch
