// Python's view of linear.h.
#include "kernelsketch/linear.h"

#include "arrays.h"
#include "kernelsketch/dispatch.h"

using namespace nanobind::literals;

namespace kernelsketch::bindings {
namespace {

template <class T>
using Cube = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;

template <class Code>
CodeRows<Code> code_rows(const Matrix<Code>& codes, const Vector<uint8_t>& empty) {
  require(rows(empty) == rows(codes), "empty: wrong length");
  return {codes.data(), empty.data(), rows(codes), columns(codes)};
}

template <class Kind>
Kind tables_of(const auto& w, const auto& bias, int64_t k) {
  require(static_cast<int64_t>(w.shape(1)) == k && rows(bias) == static_cast<int64_t>(w.shape(0)), "w: wrong shape");
  return {w.data(), bias.data(), static_cast<int64_t>(w.shape(0)), static_cast<int64_t>(w.shape(2))};
}

template <class Code, class Real>
void visit(const std::string& isa, Matrix<Code> codes, Vector<uint8_t> empty, int loss, double scale, double epsilon,
           Vector<int32_t> order, std::optional<Vector<int32_t>> labels, std::optional<Vector<float>> targets,
           Vector<float> cost, Vector<int32_t> positive, Matrix<float> factors, Vector<float> threshold,
           Vector<uint8_t> running, Cube<Real> w, Series<double> bias, Target<Real> beta, Target<uint8_t> rests,
           Target<double> stats, int threads) {
  const CodeRows<Code> x = code_rows<Code>(codes, empty);
  const auto tables = tables_of<Tables<Real>>(w, bias, x.k);
  require(labels.has_value() != targets.has_value(), "labels or targets: one of them");
  require((labels ? rows(*labels) : rows(*targets)) == x.n && rows(order) == x.n && rows(cost) == x.n,
          "order, labels, targets, cost: wrong length");
  for (int64_t i = 0; i < x.n; ++i)
    require(order.data()[i] >= 0 && order.data()[i] < x.n, "order: out of range");
  require(rows(positive) == tables.count && rows(factors) == tables.count && columns(factors) == 2 &&
              rows(threshold) == tables.count && rows(running) == tables.count,
          "positive, factors, threshold, running: one a problem");
  require(rows(beta) == tables.count && columns(beta) == x.n && rows(rests) == tables.count && columns(rests) == x.n &&
              (x.n <= 1 || (beta.stride(1) == 1 && rests.stride(1) == 1)) &&
              (tables.count <= 1 || beta.stride(0) == rests.stride(0)),
          "beta, rests: wrong shape or strides");
  require(rows(stats) == tables.count && columns(stats) == kStats && in_order(stats, kStats), "stats: wrong shape or strides");
  require(loss >= 0 && loss <= static_cast<int>(Loss::huber), "loss: unknown");
  const Isa& set = find_isa(isa);
  const LinearTask task{static_cast<Loss>(loss), scale, epsilon};
  const Visit<Real> what{order.data(),     labels ? labels->data() : nullptr,
                   targets ? targets->data() : nullptr,
                   cost.data(),      positive.data(),
                   factors.data(),   threshold.data(),
                   running.data(),   beta.data(),
                   rests.data(),     tables.count > 1 ? beta.stride(0) : x.n,
                   stats.data()};
  without_gil([&] { linear_visit(set, x, task, what, tables, threads, interrupted); });
}

template <class Code, class Real>
void decide(const std::string& isa, Matrix<Code> codes, Vector<uint8_t> empty, double scale, Cube<const Real> w,
            Vector<double> bias, Target<Real> out, int threads) {
  const CodeRows<Code> x = code_rows<Code>(codes, empty);
  const auto tables = tables_of<FixedTables<Real>>(w, bias, x.k);
  require(rows(out) == x.n && columns(out) == tables.count && in_order(out, tables.count),
          "out: wrong shape or strides");
  const Isa& set = find_isa(isa);
  without_gil([&] { linear_decide(set, x, scale, tables, out.data(), threads, interrupted); });
}

template <class Code, class Real>
void accumulate(Matrix<Code> codes, Vector<uint8_t> empty, Vector<Real> beta, Target<double> sums, int threads) {
  const CodeRows<Code> x = code_rows<Code>(codes, empty);
  require(rows(beta) == x.n && rows(sums) == x.k && in_order(sums, columns(sums)), "beta or sums: wrong shape");
  without_gil([&] { linear_accumulate(x, beta.data(), sums.data(), columns(sums), threads, interrupted); });
}

template <class Code, class Real>
void define(nb::module_& m) {
  m.def("linear_visit", visit<Code, Real>, "isa"_a, "codes"_a.noconvert(), "empty"_a.noconvert(), "loss"_a, "scale"_a,
        "epsilon"_a, "order"_a.noconvert(), "labels"_a.noconvert().none(), "targets"_a.noconvert().none(),
        "cost"_a.noconvert(), "positive"_a.noconvert(), "factors"_a.noconvert(), "threshold"_a.noconvert(),
        "running"_a.noconvert(), "w"_a.noconvert(), "bias"_a.noconvert(), "beta"_a.noconvert(), "rests"_a.noconvert(),
        "stats"_a.noconvert(), "threads"_a);
  m.def("linear_decide", decide<Code, Real>, "isa"_a, "codes"_a.noconvert(), "empty"_a.noconvert(), "scale"_a,
        "w"_a.noconvert(), "bias"_a.noconvert(), "out"_a.noconvert(), "threads"_a);
  m.def("linear_accumulate", accumulate<Code, Real>, "codes"_a.noconvert(), "empty"_a.noconvert(), "beta"_a.noconvert(),
        "sums"_a.noconvert(), "threads"_a);
}

}  // namespace

void define_linear(nb::module_& m) {
  define<uint8_t, float>(m);
  define<uint16_t, float>(m);
  define<uint8_t, double>(m);
  define<uint16_t, double>(m);
}

}  // namespace kernelsketch::bindings
