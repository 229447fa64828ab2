// Tables of weights as Python hands them over, and codes that such tables have entries for.
#pragma once

#include <string>
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
