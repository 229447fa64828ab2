// Python's view of libsvm.h.
#include "kernelsketch/libsvm.h"

#include "arrays.h"

using namespace nanobind::literals;

namespace kernelsketch::bindings {
namespace {

const char* chars(const Vector<uint8_t>& text) { return reinterpret_cast<const char*>(text.data()); }

// (rows, pairs, largest id, first row with a text label, any qid, error, its place, its length)
template <class Real>
std::vector<int64_t> parse(Vector<uint8_t> text, int64_t base, Series<double> labels, Target<int64_t> label_at,
                           Series<int64_t> qid, Series<int64_t> indptr, Series<int64_t> ids, Series<Real> values,
                           int threads) {
  const int64_t size = rows(text);
  require(size == 0 || chars(text)[size - 1] == '\n', "text: does not end a line");
  require(base == 0 || base == 1, "base: neither 0 nor 1");
  require(rows(qid) == rows(labels) && rows(label_at) == rows(labels) && columns(label_at) == 2 &&
              in_order(label_at, 2) && rows(indptr) == rows(labels) + 1 && rows(ids) == rows(values),
          "arrays of different lengths");
  LibsvmFound found;
  bool fits = true;
  without_gil([&] {
    const LibsvmSize bounds = libsvm_size(chars(text), size);
    fits = rows(labels) >= bounds.lines && rows(ids) >= bounds.colons;
    if (!fits) return;
    const LibsvmRows<Real> to{labels.data(), label_at.data(), qid.data(), indptr.data(), ids.data(), values.data()};
    found = libsvm_parse<Real>(chars(text), size, base, to, threads);
  });
  require(fits, "arrays: too short");
  return {found.rows,           found.pairs,    found.largest_id,
          found.first_text,     found.any_qid,  static_cast<int64_t>(found.error),
          found.at,             found.length};
}

template <class Real>
void define(nb::module_& m) {
  m.def("libsvm_parse", parse<Real>, "text"_a.noconvert(), "base"_a, "labels"_a.noconvert(), "label_at"_a.noconvert(),
        "qid"_a.noconvert(), "indptr"_a.noconvert(), "ids"_a.noconvert(), "values"_a.noconvert(), "threads"_a);
}

}  // namespace

void define_libsvm(nb::module_& m) {
  m.def(
      "libsvm_size",
      [](Vector<uint8_t> text) {
        LibsvmSize found{};
        without_gil([&] { found = libsvm_size(chars(text), rows(text)); });
        return std::vector<int64_t>{found.lines, found.colons};
      },
      "text"_a.noconvert());
  define<float>(m);
  define<double>(m);
}

}  // namespace kernelsketch::bindings
