// Python's view of growth.h.
#include "kernelsketch/growth.h"

#include <memory>

#include "arrays.h"

namespace kernelsketch::bindings {
namespace {

// Where the nodes of trees are written, one tree per output; see GrownTree in growth.h for each array.
class PyGrownTrees {
 public:
  PyGrownTrees(Target<int32_t> feature, Target<int32_t> bin, Target<int32_t> left, Target<int32_t> right,
               Target<uint8_t> missing_left, Target<double> value)
      : feature_(std::move(feature)), bin_(std::move(bin)), left_(std::move(left)), right_(std::move(right)),
        missing_left_(std::move(missing_left)), value_(std::move(value)) {}
  std::vector<GrownTree> trees(int64_t outputs, int64_t nodes) const {
    const auto fits = [&](const auto& array) {
      return rows(array) == outputs && columns(array) == nodes && in_order(array, nodes);
    };
    require(fits(feature_) && fits(bin_) && fits(left_) && fits(right_) && fits(missing_left_) && fits(value_),
            "feature, bin, left, right, missing_left, value: (outputs, 2 leaves - 1)");
    std::vector<GrownTree> found;
    for (int64_t at = 0; at < outputs * nodes; at += nodes)
      found.push_back({feature_.data() + at, bin_.data() + at, left_.data() + at, right_.data() + at,
                       missing_left_.data() + at, value_.data() + at});
    return found;
  }

 private:
  Target<int32_t> feature_, bin_, left_, right_;
  Target<uint8_t> missing_left_;
  Target<double> value_;
};

// The bins of training rows, which it keeps alive.
class PyGrowthRows {
 public:
  PyGrowthRows(Matrix<uint8_t> binned, const Vector<int32_t>& bins) : binned_(std::move(binned)) {
    require(rows(bins) == rows(binned_), "bins: one per feature");
    without_gil(
        [&] { rows_ = std::make_unique<GrowthRows>(binned_.data(), rows(binned_), columns(binned_), bins.data()); });
  }

  std::vector<int64_t> grow(const Matrix<int32_t>& gradients, const Matrix<int32_t>& hessians,
                            const GrowthSettings& settings, const PyGrownTrees& trees, const Target<double>& values,
                            int threads) const {
    const int64_t outputs = rows(gradients), n = rows_->rows();
    require(settings.leaves >= 1 && settings.leaf_rows >= 1, "leaves, leaf_rows: at least 1");
    require(settings.ridge >= 0, "ridge: at least 0");
    require(columns(gradients) == n && rows(hessians) == outputs && columns(hessians) == n,
            "gradients, hessians: (outputs, rows)");
    require(rows(values) == outputs && columns(values) == n && in_order(values, n), "values: wrong shape or strides");
    const std::vector<GrownTree> to = trees.trees(outputs, 2 * settings.leaves - 1);
    std::vector<int64_t> sizes(outputs);
    without_gil([&] {
      rows_->grow(gradients.data(), hessians.data(), outputs, settings, to.data(), sizes.data(), values.data(), threads,
                  interrupted);
    });
    return sizes;
  }

 private:
  Matrix<uint8_t> binned_;
  std::unique_ptr<GrowthRows> rows_;
};

}  // namespace

void define_growth(nb::module_& m) {
  nb::class_<GrowthSettings>(m, "GrowthSettings", "The size of trees, and the values of their leaves.")
      .def(nb::init<int64_t, int64_t, double, double>(), "leaves"_a, "leaf_rows"_a, "ridge"_a, "rate"_a);
  nb::class_<PyGrownTrees>(m, "GrownTrees", "Where the nodes of trees are written, (outputs, 2 leaves - 1) each.")
      .def(nb::init<Target<int32_t>, Target<int32_t>, Target<int32_t>, Target<int32_t>, Target<uint8_t>,
                    Target<double>>(),
           "feature"_a, "bin"_a, "left"_a, "right"_a, "missing_left"_a, "value"_a);
  nb::class_<PyGrowthRows>(m, "GrowthRows", "Training rows as bins (features, rows), on which trees grow.")
      .def(nb::init<Matrix<uint8_t>, const Vector<int32_t>&>(), "binned"_a, "bins"_a)
      .def("grow", &PyGrowthRows::grow, "gradients"_a, "hessians"_a, "settings"_a, "trees"_a, "values"_a, "threads"_a,
           "Grow one tree per output, fill in its nodes and the value of each row, and return their number.");
}

}  // namespace kernelsketch::bindings
