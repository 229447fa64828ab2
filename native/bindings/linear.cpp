// Python's view of linear.h.
#include "kernelsketch/linear.h"

#include "core/losses.h"
#include "kernelsketch/dispatch.h"
#include "tables.h"

namespace kernelsketch::bindings {
namespace {

#define KS_LOSS_NAME(name, Struct) #name,
constexpr const char* kLossNames[] = {KS_LOSSES(KS_LOSS_NAME)};
#undef KS_LOSS_NAME

// The arrays of a pass; see LinearPass in linear.h for each.
class PyLinearPass {
 public:
  PyLinearPass(const PyLinearTargets& targets, Vector<int32_t> order, Vector<float> threshold, Vector<uint8_t> running,
               int sweeps, TargetOf<float, double> beta, Target<uint8_t> shrunk, Target<double> stats)
      : targets_(targets), order_(std::move(order)), threshold_(std::move(threshold)), running_(std::move(running)),
        sweeps_(sweeps), beta_(std::move(beta)), shrunk_(std::move(shrunk)), stats_(std::move(stats)) {
    const int64_t n = targets_.n(), problems = targets_.problems();
    require(rows(order_) <= n, "order: wrong length");
    require(rows(threshold_) == problems && rows(running_) == problems, "threshold, running: one per problem");
    require(rows(beta_) == problems && columns(beta_) == n && rows(shrunk_) == problems && columns(shrunk_) == n &&
                (n <= 1 || (beta_.stride(1) == 1 && shrunk_.stride(1) == 1)) &&
                (problems <= 1 || beta_.stride(0) == shrunk_.stride(0)),
            "beta, shrunk: wrong shape or strides");
    require(rows(stats_) == problems && columns(stats_) == kStats && in_order(stats_, kStats),
            "stats: wrong shape or strides");
  }

  // The view of a pass over n rows for some problems. Rows are looked up by their order, which is checked at each use.
  template <class Real>
  LinearPass<Real> view(int64_t n, int64_t problems) const {
    require(targets_.n() == n, "targets: wrong length");
    require(targets_.problems() == problems, "targets: of other problems");
    require_type(beta_.holds<Real>(), "beta: another type than that of w");
    require_below(order_.data(), rows(order_), n, "order: out of range");
    return {order_.data(), targets_.view(),    threshold_.data(), running_.data(),
            sweeps_,       beta_.data<Real>(), shrunk_.data(),    problems > 1 ? beta_.stride(0) : n,
            rows(order_),  stats_.data()};
  }

 private:
  PyLinearTargets targets_;
  Vector<int32_t> order_;
  Vector<float> threshold_;
  Vector<uint8_t> running_;
  int sweeps_;
  TargetOf<float, double> beta_;
  Target<uint8_t> shrunk_;
  Target<double> stats_;
};

void pass(const std::string& isa, const PyCodeRows& code_rows, const LinearObjective& objective,
          const PyLinearPass& arrays, const TablesArray& w, const Series<double>& bias, int threads) {
  visit_codes(code_rows, [&](const auto& x) {
    w.visit([&]<class Real>(Real* data) {
      const auto tables = tables_of<WeightTables<Real>>(w, data, bias, x.k);
      const LinearPass<Real> view = arrays.view<Real>(x.n, tables.count);
      without_gil([&] { linear_pass(find_isa(isa), x, objective, view, tables, threads, interrupted); });
    });
  });
}

void decide(const std::string& isa, const PyCodeRows& code_rows, double scale, const FixedTablesArray& w,
            const Vector<double>& bias, const TargetOf<float, double>& out, int threads) {
  visit_codes(code_rows, [&](const auto& x) {
    w.visit([&]<class Real>(const Real* data) {
      const auto tables = tables_of<FixedWeightTables<Real>>(w, data, bias, x.k);
      require_type(out.holds<Real>(), "out: another type than that of w");
      require(rows(out) == x.n && columns(out) == tables.count && in_order(out, tables.count),
              "out: wrong shape or strides");
      Real* to = out.data<Real>();
      without_gil([&] { linear_decide(find_isa(isa), x, scale, tables, to, threads, interrupted); });
    });
  });
}

void accumulate(const PyCodeRows& code_rows, const VectorOf<float, double>& beta, const Target<double>& sums,
                int threads) {
  visit_codes(code_rows, [&](const auto& x) {
    require(rows(beta) == x.n && rows(sums) == x.k && in_order(sums, columns(sums)), "beta or sums: wrong shape");
    beta.visit([&](const auto* of) {
      without_gil([&] { linear_accumulate(x, of, sums.data(), columns(sums), threads, interrupted); });
    });
  });
}

}  // namespace

void define_linear(nb::module_& m) {
  nb::class_<LinearObjective>(
      m, "LinearObjective",
      "What learning minimizes: a loss (its number), the value of the intercept's feature (0 for no "
      "intercept), and the parameter of the loss.")
      .def(
          "__init__",
          [](LinearObjective* self, int loss, double scale, double parameter) {
            new (self) LinearObjective{static_cast<ks::Loss>(loss), scale, parameter};
          },
          "loss"_a, "scale"_a, "parameter"_a = 0.0);
  nb::class_<PyLinearTargets>(m, "LinearTargets",
                              "What the problems learn from the rows: labels or targets, and costs.")
      .def(nb::init<std::optional<Vector<int32_t>>, std::optional<Vector<float>>, Vector<float>, Vector<int32_t>,
                    Matrix<float>>(),
           "labels"_a.none(), "targets"_a.none(), "cost"_a, "positive"_a, "factors"_a);
  nb::class_<PyLinearPass>(
      m, "LinearPass",
      "The arrays of one pass over the rows of `order`: `beta`, `shrunk` and `stats` are changed by it.")
      .def(nb::init<const PyLinearTargets&, Vector<int32_t>, Vector<float>, Vector<uint8_t>, int,
                    TargetOf<float, double>, Target<uint8_t>, Target<double>>(),
           "targets"_a, "order"_a, "threshold"_a, "running"_a, "sweeps"_a, "beta"_a, "shrunk"_a, "stats"_a);
  m.def(
      "loss_names", [] { return std::vector<std::string>(std::begin(kLossNames), std::end(kLossNames)); },
      "Names of the losses, in the order of their numbers.");
  m.def("linear_pass", pass, "isa"_a, "rows"_a, "objective"_a, "arrays"_a, "w"_a, "bias"_a, "threads"_a,
        "Run one pass of block dual coordinate descent for each problem; `w` and `bias` are changed.");
  m.def("linear_decide", decide, "isa"_a, "rows"_a, "scale"_a, "w"_a, "bias"_a, "out"_a, "threads"_a,
        "Fill `out` (rows, problems) with decision values.");
  m.def("linear_accumulate", accumulate, "rows"_a, "beta"_a, "sums"_a, "threads"_a,
        "Add the beta of each row to `sums` (hashes, codes) at its codes.");
}

}  // namespace kernelsketch::bindings
