// Python's view of csv.h.
#include "kernelsketch/csv.h"

#include <nanobind/stl/pair.h>

#include "returned.h"

namespace kernelsketch::bindings {
namespace {

// Rows go to arrays of the caller, who appends to a block: values, and labels or label_at where there is a label.
template <class Real>
CsvTaken parse(Vector<uint8_t> text, char delimiter, std::optional<int64_t> label, Target<Real> values,
               std::optional<Series<double>> labels, std::optional<Target<int64_t>> label_at,
               std::optional<Vector<uint8_t>> left_out, int threads) {
  const int64_t size = rows(text), most = rows(values), features = columns(values);
  const int64_t width = left_out ? rows(*left_out) : features + label.has_value();
  require(size == 0 || chars(text)[size - 1] == '\n', "text: does not end a line");
  require(csv_delimiter(delimiter), "delimiter: not one that native code takes");
  require((!label || (*label >= 0 && *label < width)) && features > 0, "label: no column");
  if (left_out) {
    int64_t read = width - label.has_value();
    for (int64_t column = 0; column < width; ++column) read -= left_out->data()[column] != 0;
    require(read == features && !(label && left_out->data()[*label]), "left_out: not the columns without values");
  }
  require(labels.has_value() + label_at.has_value() == label.has_value(), "labels, label_at: not one of them");
  require(in_order(values, features) && (!labels || rows(*labels) == most), "arrays of different lengths");
  require(!label_at || (rows(*label_at) == most && columns(*label_at) == 2 && in_order(*label_at, 2)),
          "label_at: not begin and end of each row");
  CsvTaken taken;
  without_gil([&] {
    taken = csv_parse<Real>(
        chars(text), size, {delimiter, width, label.value_or(-1), left_out ? left_out->data() : nullptr, features},
        {most, values.data(), labels ? labels->data() : nullptr, label_at ? label_at->data() : nullptr}, threads);
  });
  return taken;
}

template <class Real>
void define(nb::module_& m) {
  m.def("csv_parse", parse<Real>, "text"_a, nb::kw_only(), "delimiter"_a, "label"_a.none(), "values"_a,
        "labels"_a.none() = nb::none(), "label_at"_a.none() = nb::none(), "left_out"_a.none() = nb::none(),
        "threads"_a);
}

// For each text which of the distinct ones it is, and for each of these where it first occurs.
std::pair<Returned<int64_t>, Returned<int64_t>> distinct(Vector<uint8_t> text, Matrix<int64_t> at) {
  const int64_t count = rows(at), size = rows(text);
  require(columns(at) == 2, "at: not begin and end of each text");
  const auto inside = [&, place = at.data()] {
    for (int64_t i = 0; i < count; ++i)
      if (!(0 <= place[2 * i] && place[2 * i] <= place[2 * i + 1] && place[2 * i + 1] <= size)) return false;
    return true;
  };
  require_each(count, inside, "at: outside the text");
  const Allocated<int64_t> numbers(count), first(count);
  int64_t found = 0;
  without_gil([&] { found = distinct_texts(chars(text), at.data(), count, numbers.data(), first.data()); });
  return {numbers.leading(count), first.leading(found)};
}

}  // namespace

void define_csv(nb::module_& m) {
  nb::class_<CsvTaken>(m, "CsvTaken")
      .def_ro("rows", &CsvTaken::rows)
      .def_ro("lines", &CsvTaken::lines)
      .def_ro("bytes", &CsvTaken::bytes);
  m.def("csv_delimiter", csv_delimiter, "delimiter"_a);
  m.def("distinct_texts", distinct, "text"_a, "at"_a);
  define<float>(m);
  define<double>(m);
}

}  // namespace kernelsketch::bindings
