// What linear models learn from, as Python hands it over: tables of weights, codes that such tables have entries for,
// and targets.
#pragma once

#include <optional>
#include <variant>

#include "kernelsketch/linear.h"
#include "rows.h"

namespace kernelsketch::bindings {

// The tables of all problems, [problem][hash][code]: to be read, or to be written.
struct TablesLayout {
  template <class T>
  using Of = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
  using Any = nb::ndarray<nb::ndim<3>, nb::c_contig, nb::device::cpu>;
};
struct FixedTablesLayout {
  template <class T>
  using Of = nb::ndarray<const T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
  using Any = nb::ndarray<nb::ro, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
};
using TablesArray = OneOf<TablesLayout, float, double>;
using FixedTablesArray = OneOf<FixedTablesLayout, float, double>;

template <class Kind>
Kind tables_of(const auto& w, auto* data, const auto& bias, int64_t k) {
  require(static_cast<int64_t>(w.shape(1)) == k && rows(bias) == static_cast<int64_t>(w.shape(0)), "w: wrong shape");
  return {data, bias.data(), static_cast<int64_t>(w.shape(0)), static_cast<int64_t>(w.shape(2))};
}

// The targets of all problems; see LinearTargets in linear.h for each array.
class PyLinearTargets {
 public:
  PyLinearTargets(std::optional<Vector<int32_t>> labels, std::optional<Vector<float>> targets, Vector<float> cost,
                  Vector<int32_t> positive, Matrix<float> factors)
      : labels_(std::move(labels)), targets_(std::move(targets)), cost_(std::move(cost)),
        positive_(std::move(positive)), factors_(std::move(factors)) {
    require(labels_.has_value() != targets_.has_value(), "labels or targets: one of them");
    require((labels_ ? rows(*labels_) : rows(*targets_)) == n(), "labels, targets, cost: wrong length");
    require(rows(factors_) == problems() && columns(factors_) == 2, "positive, factors: one per problem");
  }
  int64_t n() const { return rows(cost_); }
  int64_t problems() const { return rows(positive_); }
  LinearTargets view() const {
    return {labels_ ? labels_->data() : nullptr, targets_ ? targets_->data() : nullptr, cost_.data(), positive_.data(),
            factors_.data()};
  }

 private:
  std::optional<Vector<int32_t>> labels_;
  std::optional<Vector<float>> targets_;
  Vector<float> cost_;
  Vector<int32_t> positive_;
  Matrix<float> factors_;
};

// call(rows of codes): a model has tables for codes of 8 and 16 bits.
template <class Call>
void visit_codes(const PyCodeRows& rows, const Call& call) {
  std::visit(
      [&]<class Code>(const CodeRows<Code>& x) {
        if constexpr (sizeof(Code) <= 2)
          call(x);
        else
          throw nb::type_error("codes: neither uint8 nor uint16");
      },
      rows.view());
}

}  // namespace kernelsketch::bindings
