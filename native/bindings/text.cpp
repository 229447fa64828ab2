// Python's view of text.h.
#include "kernelsketch/text.h"

#include "arrays.h"
#include "kernelsketch/decimal.h"

using namespace nanobind::literals;

namespace kernelsketch::bindings {
namespace {

// From 0, never down, to the number of items.
bool are_ends(const Vector<int64_t>& ends, int64_t items) {
  if (rows(ends) == 0 || ends.data()[0] != 0) return false;
  for (int64_t i = 1; i < rows(ends); ++i)
    if (ends.data()[i] < ends.data()[i - 1]) return false;
  return ends.data()[rows(ends) - 1] == items;
}

template <class Value>
int64_t lines(Vector<uint8_t> heads, Vector<int64_t> head_ends, std::optional<Vector<int64_t>> qid,
              const std::string& mark, Vector<int64_t> indptr, Vector<int64_t> ids, Vector<Value> values, int64_t base,
              Series<uint8_t> out) {
  const int64_t n = rows(indptr) - 1;
  require(are_ends(indptr, rows(ids)) && rows(values) == rows(ids), "indptr, ids, values: not rows");
  require(rows(head_ends) == n + 1 && are_ends(head_ends, rows(heads)), "heads: not one a row");
  require(!qid || rows(*qid) == n, "qid: not one a row");
  require(base == 0 || base == 1, "base: neither 0 nor 1");
  require(rows(out) >= text_bound(n, rows(ids), rows(heads), static_cast<int64_t>(mark.size())), "out: too short");
  int64_t size = 0;
  without_gil([&] {
    size = text_lines<Value>({n,
                              {reinterpret_cast<const char*>(heads.data()), head_ends.data()},
                              qid ? qid->data() : nullptr,
                              mark,
                              indptr.data(),
                              ids.data(),
                              values.data(),
                              base},
                             reinterpret_cast<char*>(out.data()));
  });
  return size;
}

template <class Value>
void numbers(Vector<Value> values, Series<uint8_t> out, Series<int64_t> ends) {
  require(rows(ends) == rows(values) + 1, "ends: not one more than values");
  require(rows(out) >= rows(values) * kDecimalSize, "out: too short");
  without_gil([&] {
    text_numbers<Value>(values.data(), rows(values), reinterpret_cast<char*>(out.data()), ends.data());
  });
}

template <class Value>
void define(nb::module_& m) {
  m.def("text_lines", lines<Value>, "heads"_a.noconvert(), "head_ends"_a.noconvert(), "qid"_a.noconvert().none(),
        "mark"_a, "indptr"_a.noconvert(), "ids"_a.noconvert(), "values"_a.noconvert(), "base"_a, "out"_a.noconvert());
  m.def("text_numbers", numbers<Value>, "values"_a.noconvert(), "out"_a.noconvert(), "ends"_a.noconvert());
}

}  // namespace

void define_text(nb::module_& m) {
  m.attr("DECIMAL_SIZE") = kDecimalSize;
  m.def("text_bound", text_bound, "n"_a, "pairs"_a, "heads"_a, "mark"_a);
  define<float>(m);
  define<double>(m);
  define<int64_t>(m);
  define<uint64_t>(m);
}

}  // namespace kernelsketch::bindings
