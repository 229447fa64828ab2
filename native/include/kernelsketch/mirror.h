// Completes a symmetric matrix: its lower half from its upper half.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernelsketch/interrupt.h"
#include "kernelsketch/parallel.h"
#include "kernelsketch/rows.h"

namespace kernelsketch {

// out[j][i] = out[i][j] for i < j, in square blocks.
template <class T>
void mirror(Output<T> out, int64_t n, int threads, Interrupted interrupted) {
  constexpr int64_t block = 64;
  in_parts(n, block, threads, interrupted, [&](int64_t j0, int64_t j1) {
    for (int64_t i0 = 0; i0 <= j0; i0 += block)
      for (int64_t j = j0; j < j1; ++j)
        for (int64_t i = i0; i < std::min(i0 + block, j); ++i)
          out.data[j * out.stride + i] = out.data[i * out.stride + j];
  });
}

}  // namespace kernelsketch
