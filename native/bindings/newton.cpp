// Python's view of newton.h.
#include "kernelsketch/newton.h"

#include "kernelsketch/dispatch.h"
#include "tables.h"

namespace kernelsketch::bindings {
namespace {

// Rows as symbols; see Symbols in newton.h for each array.
class PySymbols {
 public:
  using Cells = Exact<nb::ndarray<const int32_t, nb::ndim<3>, nb::c_contig, nb::device::cpu>>;

  PySymbols(Matrix<uint16_t> symbols, Vector<int64_t> counts, Cells cells, bool mapped)
      : rows_(std::move(symbols)), counts_(std::move(counts)), cells_(std::move(cells)), mapped_(mapped) {
    const auto stride = static_cast<int64_t>(cells_.shape(1)), together = static_cast<int64_t>(cells_.shape(2));
    require(k() > 0 && together > 0 && rows(counts_) == k() && rows(cells_) == k(),
            "symbols, counts, cells: wrong shape");
    require_below(counts_.data(), k(), stride + 1, "counts: out of range");
    view_ = {rows_.data(),
             counts_.data(),
             cells_.data(),
             k(),
             stride,
             together,
             map_of(rows_.data(), bindings::rows(rows_) * k())};
  }
  int64_t n() const { return rows(rows_); }
  // The symbols of `hashes` codes per row, with tables of so many codes.
  Symbols view(int64_t hashes, int64_t codes) const {
    require((hashes + view_.together - 1) / view_.together == view_.k, "symbols: wrong shape");
    require_below(cells_.data(), static_cast<int64_t>(cells_.size()), hashes * codes, "cells: out of range");
    return view_;
  }
  template <class T>
  FileMap map_of(const T* data, int64_t size) const {
    return mapped_ ? FileMap(data, size * static_cast<int64_t>(sizeof(T))) : FileMap();
  }

 private:
  int64_t k() const { return columns(rows_); }
  Matrix<uint16_t> rows_;
  Vector<int64_t> counts_;
  Cells cells_;
  bool mapped_;
  Symbols view_;
};

// The arrays of a step; see NewtonStep in newton.h for each.
class PyNewtonStep {
 public:
  PyNewtonStep(const PyLinearTargets& targets, const PySymbols& symbols, Vector<uint8_t> running, Vector<uint8_t> fresh,
               Vector<int64_t> most, double tol, int64_t sample, TargetOf<float, double> beta,
               TargetOf<float, double> f, Target<double> stats)
      : targets_(targets), symbols_(symbols), running_(std::move(running)), fresh_(std::move(fresh)),
        most_(std::move(most)), tol_(tol), sample_(sample), beta_(std::move(beta)), f_(std::move(f)),
        stats_(std::move(stats)) {
    const int64_t n = targets_.n(), problems = targets_.problems();
    require(symbols_.n() == n, "symbols, targets: different numbers of rows");
    require(rows(running_) == problems && rows(fresh_) == problems && rows(most_) == problems,
            "running, fresh, most: one per problem");
    require(rows(beta_) == problems && columns(beta_) == n && in_order(beta_, n), "beta: wrong shape or strides");
    require(rows(f_) == problems && columns(f_) == n && in_order(f_, n), "f: wrong shape or strides");
    require(rows(stats_) == problems && columns(stats_) == kNewtonStats && in_order(stats_, kNewtonStats),
            "stats: wrong shape or strides");
    require(sample_ >= 0, "sample: negative");
  }

  template <class Real>
  NewtonStep<Real> view(const auto& x, int64_t stride, int64_t problems) const {
    require(targets_.n() == x.n, "targets: wrong length");
    require(targets_.problems() == problems, "targets: of other problems");
    require_type(beta_.holds<Real>() && f_.holds<Real>(), "beta, f: another type than that of w");
    return {targets_.view(),
            running_.data(),
            fresh_.data(),
            tol_,
            symbols_.view(x.k, stride),
            sample_,
            most_.data(),
            beta_.data<Real>(),
            f_.data<Real>(),
            x.n,
            stats_.data(),
            symbols_.map_of(x.codes, x.n * x.k)};
  }

 private:
  PyLinearTargets targets_;
  PySymbols symbols_;
  Vector<uint8_t> running_, fresh_;
  Vector<int64_t> most_;
  double tol_;
  int64_t sample_;
  TargetOf<float, double> beta_, f_;
  Target<double> stats_;
};

void step(const std::string& isa, const PyCodeRows& code_rows, const LinearObjective& objective,
          const PyNewtonStep& arrays, const TablesArray& w, const Series<double>& bias, int threads) {
  visit_codes(code_rows, [&](const auto& x) {
    w.visit([&]<class Real>(Real* data) {
      const auto tables = tables_of<WeightTables<Real>>(w, data, bias, x.k);
      const NewtonStep<Real> view = arrays.view<Real>(x, tables.stride, tables.count);
      without_gil([&] { newton_step(find_isa(isa), x, objective, view, tables, threads, interrupted); });
    });
  });
}

bool symbols(const PyCodeRows& code_rows, int64_t together, const Target<uint16_t>& out, const Series<int64_t>& counts,
             const Target<int32_t>& first, int threads, bool mapped) {
  bool fits = true;
  visit_codes(code_rows, [&](const auto& x) {
    require(together == 2 || together == 4 || together == kMostTogether, "together: neither 2, 4 nor 8");
    const int64_t groups = (x.k + together - 1) / together;
    require(rows(out) == x.n && columns(out) == groups && in_order(out, groups), "out: wrong shape or strides");
    require(
        rows(counts) == groups && rows(first) == groups && in_order(first, columns(first)) && columns(first) < 65536,
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
  nb::class_<PySymbols>(m, "Symbols", "Rows as symbols, each of which stands for the codes of neighbouring hashes.")
      .def(nb::init<Matrix<uint16_t>, Vector<int64_t>, PySymbols::Cells, bool>(), "rows"_a, "counts"_a, "cells"_a,
           "mapped"_a = false);
  nb::class_<PyNewtonStep>(m, "NewtonStep",
                           "The arrays of one step of Newton's method: `beta`, `f` and `stats` are changed by it.")
      .def(nb::init<const PyLinearTargets&, const PySymbols&, Vector<uint8_t>, Vector<uint8_t>, Vector<int64_t>, double,
                    int64_t, TargetOf<float, double>, TargetOf<float, double>, Target<double>>(),
           "targets"_a, "symbols"_a, "running"_a, "fresh"_a, "most"_a, "tol"_a, "sample"_a, "beta"_a, "f"_a, "stats"_a);
  m.def("newton_step", step, "isa"_a, "rows"_a, "objective"_a, "arrays"_a, "w"_a, "bias"_a, "threads"_a,
        "Make one step of Newton's method for each problem; `w` and `bias` are changed.");
  m.def("make_symbols", symbols, "rows"_a, "together"_a, "out"_a, "counts"_a, "first"_a, "threads"_a,
        "mapped"_a = false,
        "Fill `out` with a symbol for each group of codes; false if a group has more than `first` has room for. "
        "`mapped` says that codes and `out` are maps of files.");
}

}  // namespace kernelsketch::bindings
