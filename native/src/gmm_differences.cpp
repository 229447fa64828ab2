// Weighted differences of rows: columns in groups that threads share, rows in tiles that a register tile holds.
#include <algorithm>

#include "kernelsketch/dispatch.h"
#include "kernelsketch/gmm.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {

void weighted_differences(const Isa& isa, DenseRows<float> x, const float* weights, double* sums, int threads,
                          Interrupted interrupted) {
  const DifferenceOps& ops = isa.gmm_differences;
  const int64_t rows = ops.rows, cols = ops.cols, n = x.n, d = x.d;
  const int64_t groups = (d + cols - 1) / cols, padded = (n + rows - 1) / rows * rows;
  // The weights of a tile of rows i are [j][row], 0 for j <= i: a sum begins with zeros, which change nothing.
  const Buffer<float> packed(padded * n);
  for (int64_t i0 = 0; i0 < n; i0 += rows)
    for (int64_t j = i0 + 1; j < n; ++j)
      for (int64_t r = 0; r < rows; ++r) packed[i0 * n + j * rows + r] = i0 + r < j ? weights[(i0 + r) * n + j] : 0;
  parallel(groups, threads, interrupted, [&](const auto& next) {
    const Buffer<float> columns(padded * cols);
    const Buffer<double> totals(cols);
    for (int64_t group; (group = next()) >= 0;) {
      const int64_t first = group * cols, count = std::min(cols, d - first);
      std::fill_n(columns.get(), padded * cols, 0.0f);
      std::fill_n(totals.get(), cols, 0.0);
      for (int64_t i = 0; i < n; ++i) std::copy_n(x.data + i * x.stride + first, count, columns.get() + i * cols);
      for (int64_t i0 = 0; i0 < n; i0 += rows) {
        const int64_t j = i0 + 1;
        ops.tile(columns.get() + i0 * cols, columns.get() + j * cols, n - j, cols, packed.get() + i0 * n + j * rows,
                 totals.get());
      }
      std::copy_n(totals.get(), count, sums + first);
    }
  });
}

}  // namespace kernelsketch
