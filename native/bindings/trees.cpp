// Python's view of trees.h.
#include "kernelsketch/trees.h"

#include "arrays.h"
#include "kernelsketch/dispatch.h"

namespace kernelsketch::bindings {
namespace {

// The arrays of an ensemble; see Trees in trees.h for each.
class PyTrees {
 public:
  PyTrees(Vector<int32_t> feature, Vector<double> threshold, Vector<int32_t> left, Vector<int32_t> right,
          Vector<uint8_t> missing_left, Vector<double> value, Vector<int32_t> roots, Vector<double> baseline)
      : feature_(std::move(feature)), threshold_(std::move(threshold)), left_(std::move(left)),
        right_(std::move(right)), missing_left_(std::move(missing_left)), value_(std::move(value)),
        roots_(std::move(roots)), baseline_(std::move(baseline)) {
    const int64_t n = rows(feature_);
    require(
        rows(threshold_) == n && rows(left_) == n && rows(right_) == n && rows(missing_left_) == n && rows(value_) == n,
        "feature, threshold, left, right, missing_left, value: one per node");
    require(rows(baseline_) > 0, "baseline: no outputs");
  }

  Trees view() const {
    return {feature_.data(), threshold_.data(), left_.data(), right_.data(),    missing_left_.data(), value_.data(),
            rows(feature_),  roots_.data(),     rows(roots_), baseline_.data(), rows(baseline_)};
  }

 private:
  Vector<int32_t> feature_;
  Vector<double> threshold_;
  Vector<int32_t> left_, right_;
  Vector<uint8_t> missing_left_;
  Vector<double> value_;
  Vector<int32_t> roots_;
  Vector<double> baseline_;
};

void decide(const std::string& isa, const AnyOrder<double>& features, const PyTrees& arrays, const Target<double>& out,
            int threads) {
  const Trees trees = arrays.view();
  require(rows(out) == rows(features) && columns(out) == trees.outputs && in_order(out, trees.outputs),
          "out: wrong shape or strides");
  const Features x = {features.data(), rows(features), columns(features), features.stride(0), features.stride(1)};
  without_gil([&] { trees_decide(find_isa(isa), x, trees, out.data(), threads, interrupted); });
}

}  // namespace

void define_trees(nb::module_& m) {
  nb::class_<PyTrees>(m, "Trees", "The nodes of an ensemble of decision trees, its roots, and a baseline per output.")
      .def(nb::init<Vector<int32_t>, Vector<double>, Vector<int32_t>, Vector<int32_t>, Vector<uint8_t>, Vector<double>,
                    Vector<int32_t>, Vector<double>>(),
           "feature"_a, "threshold"_a, "left"_a, "right"_a, "missing_left"_a, "value"_a, "roots"_a, "baseline"_a);
  m.def("trees_decide", decide, "isa"_a, "features"_a, "trees"_a, "out"_a, "threads"_a,
        "Fill `out` (rows, outputs) with the baseline plus the values of the leaves that rows reach.");
}

}  // namespace kernelsketch::bindings
