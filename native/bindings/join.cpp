// Python's view of join.h.
#include "kernelsketch/join.h"

#include <bit>

#include "rows.h"

namespace kernelsketch::bindings {
namespace {

template <class Call>
void visit(const PyCsrRows& rows, const Call& call) {
  std::visit([&](const auto& view) { without_gil([&] { call(view); }); }, rows.view());
}

int64_t nonzeros_of(const PyCsrRows& rows) {
  return std::visit([](const auto& view) { return view.indptr[view.n]; }, rows.view());
}

int bits_of(const auto& counters) {
  require(std::has_single_bit(counters.shape(0)) && counters.shape(0) > 1, "counters: not a power of two");
  return std::bit_width(counters.shape(0)) - 1;
}

void keys(const PyCsrRows& rows, Target<uint64_t> out, int threads) {
  require(bindings::rows(out) == rows.n() && columns(out) == 2 && in_order(out, 2), "out: wrong shape");
  visit(rows, [&](const auto& view) { join_keys(view, out.data(), threads, interrupted); });
}

void count(const PyCsrRows& rows, Series<uint16_t> counters) {
  const int bits = bits_of(counters);
  visit(rows, [&](const auto& view) { join_count(view, counters.data(), bits); });
}

void prefixes(const PyCsrRows& rows, Vector<uint16_t> counters, double threshold, Series<uint8_t> out, int threads) {
  const int bits = bits_of(counters);
  require(bindings::rows(out) == nonzeros_of(rows), "out: wrong length");
  visit(rows, [&](const auto& view) {
    join_prefixes(view, counters.data(), bits, threshold, out.data(), threads, interrupted);
  });
}

void similarities(const PyCsrRows& rows, Vector<int64_t> left, Vector<int64_t> right, Series<double> out, int threads) {
  const int64_t pairs = bindings::rows(left), n = rows.n();
  require(bindings::rows(right) == pairs && bindings::rows(out) == pairs, "left, right, out: different lengths");
  for (const auto* side : {&left, &right}) require_below(side->data(), pairs, n, "left, right: no such row");
  visit(rows, [&](const auto& view) {
    join_similarities(view, left.data(), right.data(), pairs, out.data(), threads, interrupted);
  });
}

}  // namespace

void define_join(nb::module_& m) {
  m.def("join_keys", keys, "rows"_a, "out"_a, "threads"_a);
  m.def("join_count", count, "rows"_a, "counters"_a);
  m.def("join_prefixes", prefixes, "rows"_a, "counters"_a, "threshold"_a, "out"_a, "threads"_a);
  m.def("join_similarities", similarities, "rows"_a, "left"_a, "right"_a, "out"_a, "threads"_a);
}

}  // namespace kernelsketch::bindings
