// Python's view of growth.h.
#include "kernelsketch/growth.h"

#include <memory>

#include "arrays.h"

using namespace nanobind::literals;

namespace kernelsketch::bindings {
namespace {

// The bins of training rows, which it keeps alive.
class PyGrowthRows {
 public:
  PyGrowthRows(Matrix<uint8_t> binned, const Vector<int32_t>& bins) : binned_(std::move(binned)) {
    require(rows(bins) == rows(binned_), "bins: one per feature");
    without_gil([&] {
      rows_ = std::make_unique<GrowthRows>(binned_.data(), rows(binned_), columns(binned_), bins.data());
    });
  }

  std::vector<int64_t> grow(const Matrix<int32_t>& gradients, const Matrix<int32_t>& hessians, int64_t leaves,
                            int64_t leaf_rows, double ridge, double rate, const Target<int32_t>& feature,
                            const Target<int32_t>& bin, const Target<int32_t>& left, const Target<int32_t>& right,
                            const Target<uint8_t>& missing_left, const Target<double>& value,
                            const Target<double>& values, int threads) const {
    const int64_t outputs = rows(gradients), n = rows_->rows(), nodes = 2 * leaves - 1;
    require(leaves >= 1 && leaf_rows >= 1, "leaves, leaf_rows: at least 1");
    require(ridge >= 0, "ridge: at least 0");
    require(columns(gradients) == n && rows(hessians) == outputs && columns(hessians) == n,
            "gradients, hessians: (outputs, rows)");
    require(rows(values) == outputs && columns(values) == n && in_order(values, n), "values: wrong shape or strides");
    const auto fits = [&](const auto& array) {
      return rows(array) == outputs && columns(array) == nodes && in_order(array, nodes);
    };
    require(fits(feature) && fits(bin) && fits(left) && fits(right) && fits(missing_left) && fits(value),
            "feature, bin, left, right, missing_left, value: (outputs, 2 leaves - 1)");
    std::vector<GrownTree> trees;
    for (int64_t o = 0; o < outputs; ++o) {
      const int64_t at = o * nodes;
      trees.push_back({feature.data() + at, bin.data() + at, left.data() + at, right.data() + at,
                       missing_left.data() + at, value.data() + at});
    }
    std::vector<int64_t> sizes(static_cast<std::size_t>(outputs));
    without_gil([&] {
      rows_->grow(gradients.data(), hessians.data(), outputs, {leaves, leaf_rows, ridge, rate}, trees.data(),
                  sizes.data(), values.data(), threads, interrupted);
    });
    return sizes;
  }

 private:
  Matrix<uint8_t> binned_;
  std::unique_ptr<GrowthRows> rows_;
};

}  // namespace

void define_growth(nb::module_& m) {
  nb::class_<PyGrowthRows>(m, "GrowthRows", "Training rows as bins (features, rows), on which trees grow.")
      .def(nb::init<Matrix<uint8_t>, const Vector<int32_t>&>(), "binned"_a.noconvert(), "bins"_a.noconvert())
      .def("grow", &PyGrowthRows::grow, "gradients"_a.noconvert(), "hessians"_a.noconvert(), "leaves"_a, "leaf_rows"_a,
           "ridge"_a, "rate"_a, "feature"_a.noconvert(), "bin"_a.noconvert(), "left"_a.noconvert(),
           "right"_a.noconvert(), "missing_left"_a.noconvert(), "value"_a.noconvert(), "values"_a.noconvert(),
           "threads"_a, "Grow one tree per output, fill in its nodes and the value of each row, and return their number.");
}

}  // namespace kernelsketch::bindings
