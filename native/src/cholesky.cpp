// The Cholesky factor, panel by panel.
#include "kernelsketch/cholesky.h"

#include <algorithm>
#include <cmath>

#include "kernelsketch/team.h"

namespace kernelsketch {
namespace {

// Factors the panel's own rows.
template <class Real>
void factor_corner(Real* a, int64_t ld, int64_t left, int64_t right) {
  for (int64_t j = left; j < right; ++j) {
    Real* of = a + j * ld;
    of[j] = std::sqrt(of[j]);
    for (int64_t i = j + 1; i < right; ++i) of[i] = a[i * ld + j] = a[i * ld + j] / of[j];
    for (int64_t i = j + 1; i < right; ++i) {
      Real* row = a + i * ld;
      const Real by = of[i];
      for (int64_t q = j + 1; q <= i; ++q) row[q] -= by * of[q];
    }
  }
}

}  // namespace

template <class Real>
void factor(const CholeskyOps<Real>& ops, Lead& lead, Real* a, int64_t m, int64_t ld) {
  constexpr int64_t kTile = 16, kAlone = int64_t{1} << 16;  // rows of an item; products that are not worth a job
  const auto rows_in_tiles = [&](int64_t first, int64_t work, const auto& call) {
    lead.share_out((m - first) * work >= kAlone, [&](int share) {
      for (int64_t i = first + share * kTile; i < m; i += Desk::kShares * kTile) call(i, std::min(m, i + kTile));
    });
  };
  for (int64_t left = 0; left < m; left += kColumns) {
    const int64_t right = std::min(m, left + kColumns);
    if (left > 0)
      rows_in_tiles(left, left * kColumns, [&](int64_t i, int64_t end) { ops.subtract(a, ld, left, i, end); });
    factor_corner(a, ld, left, right);
    rows_in_tiles(right, kColumns * kColumns / 2, [&](int64_t i, int64_t end) { ops.divide(a, ld, left, i, end); });
  }
}

template void factor(const CholeskyOps<float>&, Lead&, float*, int64_t, int64_t);
template void factor(const CholeskyOps<double>&, Lead&, double*, int64_t, int64_t);

}  // namespace kernelsketch
