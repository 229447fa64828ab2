// Python's view of the look at rows.
#include "kernelsketch/measure.h"

#include <nanobind/stl/tuple.h>

#include <tuple>

#include "kernelsketch/dispatch.h"
#include "rows.h"

namespace kernelsketch::bindings {
namespace {

std::tuple<double, double, bool> sizes_of(const std::string& isa, const PyRows& of, const Series<double>& sizes,
                                          int threads) {
  ValueRange found{};
  visit_rows(of, [&](const auto& x) {
    require(rows(sizes) == x.n, "sizes: wrong length");
    without_gil([&] { found = measure(find_isa(isa), x, sizes.data(), threads); });
  });
  return {found.low, found.high, found.small};
}

void bytes_of(const std::string& isa, const PyDenseRows& of, int offset, const Target<uint8_t>& out,
              const Series<double>& sums, int threads) {
  std::visit(
      [&](const auto& x) {
        require(rows(out) == x.n && columns(out) >= x.d && in_order(out, columns(out)) && rows(sums) == x.n,
                "out, sums: wrong shape or strides");
        without_gil([&] { to_bytes(find_isa(isa), x, offset, out.data(), columns(out), sums.data(), threads); });
      },
      of.view());
}

bool canonical(const VectorOf<int32_t, int64_t>& indptr, const VectorOf<int32_t, int64_t>& indices, int64_t n_features,
               int threads) {
  require(rows(indptr) >= 1, "indptr: empty");
  bool found = false;
  indptr.visit([&](const auto* ends) {
    indices.visit([&](const auto* features) {
      without_gil([&] { found = is_canonical(ends, rows(indptr) - 1, features, rows(indices), n_features, threads); });
    });
  });
  return found;
}

}  // namespace

void define_measure(nb::module_& m) {
  m.def("measure", sizes_of, "isa"_a, "rows"_a, "sizes"_a, "threads"_a,
        "Fill `sizes` with the largest absolute value of each row, NaN if one is not finite; return the smallest and "
        "the largest value of all, and whether all are whole numbers from -255 to 255.");
  m.def("to_bytes", bytes_of, "isa"_a, "rows"_a, "offset"_a, "out"_a, "sums"_a, "threads"_a,
        "Fill `out` with values minus `offset`, and `sums` with the sums of the absolute values.");
  m.def("is_canonical", canonical, "indptr"_a, "indices"_a, "n_features"_a, "threads"_a,
        "Whether the indices of each row of a CSR matrix ascend within the features.");
}

}  // namespace kernelsketch::bindings
