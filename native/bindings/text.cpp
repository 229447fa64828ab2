// Python's view of text.h.
#include "kernelsketch/text.h"

#include <nanobind/stl/pair.h>

#include "kernelsketch/decimal.h"
#include "returned.h"

namespace kernelsketch::bindings {
namespace {

// The bytes of one line per row.
template <class Value>
Returned<uint8_t> lines(Vector<uint8_t> heads, Vector<int64_t> head_ends, std::optional<Vector<int64_t>> qid,
                        Vector<int64_t> indptr, Vector<int64_t> ids, Vector<Value> values, int64_t base) {
  const int64_t n = rows(indptr) - 1;
  require(rows(values) == rows(ids), "indptr, ids, values: not rows");
  require_ends(indptr, rows(ids), "indptr, ids, values: not rows");
  require(rows(head_ends) == n + 1, "heads: not one per row");
  require_ends(head_ends, rows(heads), "heads: not one per row");
  require(!qid || rows(*qid) == n, "qid: not one per row");
  require(base == 0 || base == 1, "base: neither 0 nor 1");
  const Allocated<uint8_t> out(text_bound(n, rows(ids), rows(heads)));
  int64_t size = 0;
  without_gil([&] {
    const Texts labels{chars(heads), head_ends.data()};
    const int64_t* const groups = qid ? qid->data() : nullptr;
    const TextRows<Value> given{n, labels, groups, indptr.data(), ids.data(), values.data(), base};
    size = text_lines<Value>(given, reinterpret_cast<char*>(out.data()));
  });
  return out.leading(size);
}

// The bytes of all numbers, and where each ends.
template <class Value>
std::pair<Returned<uint8_t>, Returned<int64_t>> numbers(Vector<Value> values) {
  const int64_t n = rows(values);
  const Allocated<uint8_t> out(n * kDecimalSize);
  const Allocated<int64_t> ends(n + 1);
  without_gil([&] { text_numbers<Value>(values.data(), n, reinterpret_cast<char*>(out.data()), ends.data()); });
  return {out.leading(ends.data()[n]), ends.leading(n + 1)};
}

template <class Value>
void define(nb::module_& m) {
  m.def("text_lines", lines<Value>, nb::kw_only(), "heads"_a, "head_ends"_a, "qid"_a.none(), "indptr"_a, "ids"_a,
        "values"_a, "base"_a);
  m.def("text_numbers", numbers<Value>, "values"_a);
}

}  // namespace

void define_text(nb::module_& m) {
  define<float>(m);
  define<double>(m);
  define<int64_t>(m);
  define<uint64_t>(m);
}

}  // namespace kernelsketch::bindings
