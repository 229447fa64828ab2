// Python's view of csv.h.
#include "kernelsketch/csv.h"

#include "arrays.h"

using namespace nanobind::literals;

namespace kernelsketch::bindings {
namespace {

const char* chars(const Vector<uint8_t>& text) { return reinterpret_cast<const char*>(text.data()); }

// (rows, lines, bytes) that were taken
template <class Real>
std::vector<int64_t> parse(Vector<uint8_t> text, char delimiter, int64_t label, Target<Real> values,
                           std::optional<Series<double>> labels, std::optional<Target<int64_t>> label_at, int threads) {
  const int64_t size = rows(text), most = rows(values), width = columns(values) + (label >= 0);
  require(size == 0 || chars(text)[size - 1] == '\n', "text: does not end a line");
  require(csv_delimiter(delimiter), "delimiter: not one that native code takes");
  require(label >= -1 && label < width && columns(values) > 0, "label: no column");
  require(labels.has_value() + label_at.has_value() == (label >= 0), "labels, label_at: not one of them");
  require(in_order(values, columns(values)) && (!labels || rows(*labels) == most), "arrays of different lengths");
  require(!label_at || (rows(*label_at) == most && columns(*label_at) == 2 && in_order(*label_at, 2)),
          "label_at: not begin and end of each row");
  CsvTaken taken;
  without_gil([&] {
    taken = csv_parse<Real>(chars(text), size, {delimiter, width, label},
                            {most, values.data(), labels ? labels->data() : nullptr, label_at ? label_at->data() : nullptr},
                            threads);
  });
  return {taken.rows, taken.lines, taken.bytes};
}

template <class Real>
void define(nb::module_& m) {
  m.def("csv_parse", parse<Real>, "text"_a.noconvert(), "delimiter"_a, "label"_a, "values"_a.noconvert(),
        "labels"_a.noconvert().none(), "label_at"_a.noconvert().none(), "threads"_a);
}

int64_t distinct(Vector<uint8_t> text, Matrix<int64_t> at, Series<int64_t> numbers, Series<int64_t> first) {
  const int64_t count = rows(at), size = rows(text);
  require(columns(at) == 2 && rows(numbers) == count && rows(first) == count, "arrays of different lengths");
  for (int64_t i = 0; i < count; ++i)
    require(0 <= at.data()[2 * i] && at.data()[2 * i] <= at.data()[2 * i + 1] && at.data()[2 * i + 1] <= size,
            "at: outside the text");
  int64_t found = 0;
  without_gil([&] { found = distinct_texts(chars(text), at.data(), count, numbers.data(), first.data()); });
  return found;
}

}  // namespace

void define_csv(nb::module_& m) {
  m.def("csv_delimiter", csv_delimiter, "delimiter"_a);
  m.def("distinct_texts", distinct, "text"_a.noconvert(), "at"_a.noconvert(), "numbers"_a.noconvert(),
        "first"_a.noconvert());
  define<float>(m);
  define<double>(m);
}

}  // namespace kernelsketch::bindings
