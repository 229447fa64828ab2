// Python's view of newton.h.
#include "kernelsketch/newton.h"

#include <algorithm>

#include "kernelsketch/dispatch.h"
#include "tables.h"

using namespace nanobind::literals;

namespace kernelsketch::bindings {
namespace {

// The arrays of a step; see NewtonStep in newton.h for each.
class PyNewtonStep {
 public:
  PyNewtonStep(std::optional<Vector<int32_t>> labels, std::optional<Vector<float>> targets, Vector<float> cost,
               Vector<int32_t> positive, Matrix<float> factors, Vector<uint8_t> running, Vector<uint8_t> fresh,
               double tol, Matrix<uint16_t> symbols, Vector<int64_t> counts, Vector<int32_t> cells, int64_t together, int64_t sample,
               Vector<int64_t> most, TargetOf<float, double> beta, TargetOf<float, double> f,
               Target<double> stats, bool mapped)
      : labels_(std::move(labels)), targets_(std::move(targets)), cost_(std::move(cost)),
        positive_(std::move(positive)), factors_(std::move(factors)), running_(std::move(running)),
        fresh_(std::move(fresh)), tol_(tol), symbols_(std::move(symbols)), counts_(std::move(counts)),
        cells_(std::move(cells)), together_(together), sample_(sample), most_(std::move(most)), beta_(std::move(beta)), f_(std::move(f)),
        stats_(std::move(stats)), mapped_(mapped) {
    const int64_t n = rows(cost_), problems = rows(positive_);
    require(labels_.has_value() != targets_.has_value(), "labels or targets: one of them");
    require((labels_ ? rows(*labels_) : rows(*targets_)) == n, "labels, targets, cost: wrong length");
    require(rows(factors_) == problems && columns(factors_) == 2 && rows(running_) == problems &&
                rows(fresh_) == problems && rows(most_) == problems,
            "positive, factors, running, fresh, most: one per problem");
    require(rows(beta_) == problems && columns(beta_) == n && in_order(beta_, n), "beta: wrong shape or strides");
    require(rows(f_) == problems && columns(f_) == n && in_order(f_, n), "f: wrong shape or strides");
    require(rows(stats_) == problems && columns(stats_) == kNewtonStats && in_order(stats_, kNewtonStats),
            "stats: wrong shape or strides");
    require(sample_ >= 0, "sample: negative");
    const int64_t groups = columns(symbols_);
    require(rows(symbols_) == n && rows(counts_) == groups && together_ > 0, "symbols, counts: wrong shape");
    require(groups > 0 && rows(cells_) % (groups * together_) == 0, "cells: wrong length");
    stride_ = rows(cells_) / (groups * together_);
    for (int64_t g = 0; g < groups; ++g)
      require(counts_.data()[g] >= 0 && counts_.data()[g] <= stride_, "counts: out of range");
  }

  template <class Real>
  NewtonStep<Real> view(const auto& x, int64_t stride, int64_t problems) const {
    const int64_t n = x.n, k = x.k;
    require((k + together_ - 1) / together_ == columns(symbols_), "symbols: wrong shape");
    for (int64_t i = 0; i < rows(cells_); ++i)
      require(cells_.data()[i] >= 0 && cells_.data()[i] < k * stride, "cells: out of range");
    require(rows(cost_) == n, "labels, targets, cost: wrong length");
    require(rows(positive_) == problems, "positive, factors, running, fresh, most: one per problem");
    require_type(beta_.holds<Real>() && f_.holds<Real>(), "beta, f: another type than that of w");
    return {labels_ ? labels_->data() : nullptr,
            targets_ ? targets_->data() : nullptr,
            cost_.data(),
            positive_.data(),
            factors_.data(),
            running_.data(),
            fresh_.data(),
            tol_,
            {symbols_.data(), counts_.data(), cells_.data(), columns(symbols_), stride_, together_,
             mapped_ ? FileMap(symbols_.data(), n * columns(symbols_) * 2) : FileMap()},
            sample_,
            most_.data(),
            beta_.data<Real>(),
            f_.data<Real>(),
            n,
            stats_.data(),
            mapped_ ? FileMap(x.codes, n * k * static_cast<int64_t>(sizeof(*x.codes))) : FileMap()};
  }

 private:
  std::optional<Vector<int32_t>> labels_;
  std::optional<Vector<float>> targets_;
  Vector<float> cost_;
  Vector<int32_t> positive_;
  Matrix<float> factors_;
  Vector<uint8_t> running_, fresh_;
  double tol_;
  Matrix<uint16_t> symbols_;
  Vector<int64_t> counts_;
  Vector<int32_t> cells_;
  int64_t together_, stride_ = 0, sample_;
  Vector<int64_t> most_;
  TargetOf<float, double> beta_, f_;
  Target<double> stats_;
  bool mapped_;
};

void step(const std::string& isa, const PyCodeRows& code_rows, const LinearObjective& objective,
          const PyNewtonStep& arrays, const TablesArray& w, const Series<double>& bias, int threads) {
  const Isa& set = find_isa(isa);
  visit_codes(code_rows, [&](const auto& x) {
    w.visit([&]<class Real>(Real* data) {
      const auto tables = tables_of<WeightTables<Real>>(w, data, bias, x.k);
      const NewtonStep<Real> view = arrays.view<Real>(x, tables.stride, tables.count);
      without_gil([&] { newton_step(set, x, objective, view, tables, threads, interrupted); });
    });
  });
}

bool symbols(const PyCodeRows& code_rows, int64_t together, const Target<uint16_t>& out,
             const Series<int64_t>& counts, const Target<int32_t>& first, int threads, bool mapped) {
  bool fits = true;
  visit_codes(code_rows, [&](const auto& x) {
    require(together == 2 || together == 4 || together == kMostTogether, "together: neither 2, 4 nor 8");
    const int64_t groups = (x.k + together - 1) / together;
    require(rows(out) == x.n && columns(out) == groups && in_order(out, groups), "out: wrong shape or strides");
    require(rows(counts) == groups && rows(first) == groups && in_order(first, columns(first)) && columns(first) < 65536,
            "counts, first: wrong shape or strides");
    without_gil([&] {
      fits = make_symbols(x, together, columns(first), out.data(), counts.data(), first.data(), threads, interrupted,
                          mapped);
    });
  });
  return fits;
}

}  // namespace

void define_newton(nb::module_& m) {
  nb::class_<PyNewtonStep>(m, "NewtonStep",
                           "The arrays of one step of Newton's method: `beta`, `f` and `stats` are changed by it.")
      .def(nb::init<std::optional<Vector<int32_t>>, std::optional<Vector<float>>, Vector<float>, Vector<int32_t>,
                    Matrix<float>, Vector<uint8_t>, Vector<uint8_t>, double, Matrix<uint16_t>, Vector<int64_t>, Vector<int32_t>, int64_t, int64_t, Vector<int64_t>, TargetOf<float, double>,
                    TargetOf<float, double>, Target<double>, bool>(),
           "labels"_a.noconvert().none(), "targets"_a.noconvert().none(), "cost"_a.noconvert(),
           "positive"_a.noconvert(), "factors"_a.noconvert(), "running"_a.noconvert(), "fresh"_a.noconvert(), "tol"_a,
           "symbols"_a.noconvert(), "counts"_a.noconvert(), "cells"_a.noconvert(), "together"_a, "sample"_a, "most"_a.noconvert(), "beta"_a, "f"_a, "stats"_a.noconvert(),
           "mapped"_a = false);
  m.def("newton_step", step, "isa"_a, "rows"_a, "objective"_a, "arrays"_a, "w"_a, "bias"_a.noconvert(), "threads"_a,
        "Make one step of Newton's method for each problem; `w` and `bias` are changed.");
  m.def("make_symbols", symbols, "rows"_a, "together"_a, "out"_a.noconvert(), "counts"_a.noconvert(), "first"_a.noconvert(), "threads"_a, "mapped"_a = false,
        "Fill `out` with a symbol for each group of codes; false if a group has more than `first` has room for. "
        "`mapped` says that codes and `out` are maps of files.");
}

}  // namespace kernelsketch::bindings
