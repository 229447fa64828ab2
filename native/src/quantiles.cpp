#include "kernelsketch/quantiles.h"

#include "core/tables.h"

namespace kernelsketch {
namespace {

constexpr int kAtOnce = 16;  // searches that run at a time, because each step of one waits for the last

// up_to[i] = number of table entries up to x[i]. Every search takes the same steps, without branches: the table is cut
// in half until one entry is left.
void search(const double* x, const double* table, int64_t m, int64_t* up_to) {
  for (int i = 0; i < kAtOnce; ++i) up_to[i] = 0;
  int64_t size = m;
  while (size > 1) {
    const int64_t half = size / 2;
    for (int i = 0; i < kAtOnce; ++i) up_to[i] += half & -int64_t{table[up_to[i] + half - 1] <= x[i]};
    size -= half;
  }
  for (int i = 0; i < kAtOnce; ++i) up_to[i] += table[up_to[i]] <= x[i];
}

}  // namespace

void quantile_levels(const double* x, int64_t stride, int64_t n, const double* table, int64_t m, const double* levels,
                     float* out) {
  double values[kAtOnce];
  int64_t up_to[kAtOnce];
  for (int64_t first = 0; first < n; first += kAtOnce) {
    const int64_t count = n - first < kAtOnce ? n - first : kAtOnce;
    for (int64_t i = 0; i < kAtOnce; ++i) values[i] = x[(first + (i < count ? i : 0)) * stride];
    search(values, table, m, up_to);
    for (int64_t i = 0; i < count; ++i)
      out[first + i] = static_cast<float>(ks_quantile_level(values[i], up_to[i], table, m, levels));
  }
}

}  // namespace kernelsketch
