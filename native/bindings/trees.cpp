// Python's view of trees.h.
#include "trees.h"

#include "kernelsketch/dispatch.h"
#include "kernelsketch/tree_shapley.h"

namespace kernelsketch::bindings {
namespace {

void decide(const std::string& isa, const AnyOrder<double>& features, const PyTrees& arrays, const Target<double>& out,
            int threads) {
  const Trees trees = arrays.view();
  require(rows(out) == rows(features) && columns(out) == trees.outputs && in_order(out, trees.outputs),
          "out: wrong shape or strides");
  const Features x = {features.data(), rows(features), columns(features), features.stride(0), features.stride(1)};
  without_gil([&] { trees_decide(find_isa(isa), x, trees, out.data(), threads, interrupted); });
}

void shapley(const AnyOrder<double>& features, const AnyOrder<double>& background, const PyTrees& arrays,
             const Vector<int32_t>& owners, const Target<double>& out, int threads) {
  const Trees trees = arrays.view();
  require(columns(features) == columns(background) && rows(owners) == columns(features), "owners: one per feature");
  require(columns(out) % trees.outputs == 0 && rows(out) == rows(features) && in_order(out, columns(out)),
          "out: wrong shape or strides");
  const int64_t n_columns = columns(out) / trees.outputs;
  require_below(owners.data(), rows(owners), n_columns, "owners: out of range");
  const auto view = [](const AnyOrder<double>& x) {
    return Features{x.data(), rows(x), columns(x), x.stride(0), x.stride(1)};
  };
  without_gil([&] {
    tree_shapley(view(features), view(background), trees, owners.data(), n_columns, out.data(), threads, interrupted);
  });
}

}  // namespace

void define_trees(nb::module_& m) {
  nb::class_<PyTrees>(m, "Trees", "The nodes of an ensemble of decision trees, its roots, and a baseline per output.")
      .def(nb::init<Vector<int32_t>, Vector<double>, Vector<int32_t>, Vector<int32_t>, Vector<uint8_t>, Vector<double>,
                    Vector<int32_t>, Vector<double>>(),
           "feature"_a, "threshold"_a, "left"_a, "right"_a, "missing_left"_a, "value"_a, "roots"_a, "baseline"_a);
  m.def("trees_decide", decide, "isa"_a, "features"_a, "trees"_a, "out"_a, "threads"_a,
        "Fill `out` (rows, outputs) with the baseline plus the values of the leaves that rows reach.");
  m.def("tree_shapley", shapley, "features"_a, "background"_a, "trees"_a, "owners"_a, "out"_a, "threads"_a,
        "Fill `out` (rows, columns times outputs) with Shapley values against background rows.");
}

}  // namespace kernelsketch::bindings
