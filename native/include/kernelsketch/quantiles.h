// Quantiles of numbers: where they stand in a table of quantiles of training rows, from -1 to 1.
//
// Let g_0 <= ... <= g_(m-1) be the table and L_j = -1 + 2 j / (m - 1) its levels. A number x between two neighbours
// g_j < x < g_(j+1) gets the level between L_j and L_(j+1) on the line through both. It is computed from either side, by
//   rising = L_j + s (x - g_j),    falling = -(L_(m-2-j) + s' (g_(j+1) - x)),
// and the mean of the two is taken, so that the level of -x in the mirrored table is exactly the negative. A number
// that is in the table, perhaps several times, gets the mean of its first and its last level. Numbers outside get -1
// or 1, and NaN gets 0. All arithmetic is in double; the result is rounded to float.
//
// Reference: reference/quantiles.py.
#pragma once

#include <cstdint>

namespace kernelsketch {

// out[i] = level of x[i * stride], for n numbers, in a table of m >= 2 quantiles in ascending order.
void quantile_levels(const double* x, int64_t stride, int64_t n, const double* table, int64_t m, const double* levels,
                     float* out);

}  // namespace kernelsketch
