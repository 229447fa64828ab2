// Python's view of quantiles.h.
#include "kernelsketch/quantiles.h"

#include "arrays.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch::bindings {
namespace {

void levels_of(const AnyOrder<double>& numbers, const Matrix<double>& tables, const Vector<double>& levels,
               const Target<float>& out, int threads) {
  const int64_t n = rows(numbers), d = columns(numbers), m = columns(tables);
  require(rows(tables) == d && m >= 2 && rows(levels) == m, "tables: at least two quantiles per column");
  require(rows(out) == d && columns(out) == n && in_order(out, n), "out: wrong shape or strides");
  without_gil([&] {
    each_item(d, threads, nullptr, [&](int64_t c) {
      quantile_levels(numbers.data() + c * numbers.stride(1), numbers.stride(0), n, tables.data() + c * m, m,
                      levels.data(), out.data() + c * n);
    });
  });
}

}  // namespace

void define_quantiles(nb::module_& m) {
  m.def("quantile_levels", levels_of, "numbers"_a, "tables"_a, "levels"_a, "out"_a, "threads"_a,
        "Fill `out` (columns, rows) with the levels of numbers (rows, columns) in the tables (columns, quantiles).");
}

}  // namespace kernelsketch::bindings
