// Python's view of shingles.h.
#include "kernelsketch/shingles.h"

#include <nanobind/stl/tuple.h>

#include <tuple>
#include <utility>
#include <vector>

#include "returned.h"

namespace kernelsketch::bindings {
namespace {

using Rows = std::tuple<Returned<int64_t>, Returned<int64_t>, Returned<float>>;  // indptr, features and counts

Rows rows_of(const std::vector<TextSpan>& texts, const ShingleParams& params, int threads) {
  require(params.n_min >= 1 && params.n_max >= params.n_min, "n_min, n_max: out of range");
  ShingleRows made;
  without_gil([&] { made = shingles(texts, params, threads, interrupted); });
  return {taken(std::move(made.indptr)), taken(std::move(made.features)), taken(std::move(made.counts))};
}

// The i-th text is from ends[i] to ends[i + 1].
Rows rows_of_joined(Vector<uint8_t> text, Vector<int64_t> ends, bool words, int64_t n_min, int64_t n_max,
                    bool lowercase, int threads) {
  const int64_t n = rows(ends) - 1, size = rows(text);
  bool right = n >= 0 && ends.data()[0] == 0 && ends.data()[n] == size;
  std::vector<TextSpan> texts;
  without_gil([&] {  // each end is read once, since other threads may write to the array
    texts.reserve((right ? n : 0));
    int64_t begin = 0;
    for (int64_t i = 0; i < n && right; ++i) {
      const int64_t end = ends.data()[i + 1];
      right = begin <= end && end <= size;
      texts.push_back({text.data() + begin, end - begin});
      begin = end;
    }
  });
  require(right, "ends: not those of the text");
  return rows_of(texts, {words, n_min, n_max, lowercase}, threads);
}

// Strings in ASCII and bytes are read where they are. A tuple keeps them, whatever other threads do.
Rows rows_of_texts(nb::typed<nb::tuple, nb::object, nb::ellipsis> given, bool words, int64_t n_min, int64_t n_max,
                   bool lowercase, int threads) {
  std::vector<TextSpan> texts;
  texts.reserve(given.size());
  for (const nb::handle text : given) {
    Py_ssize_t size = 0;
    const char* data = nullptr;
    if (PyUnicode_Check(text.ptr()) && PyUnicode_IS_ASCII(text.ptr())) {
      data = PyUnicode_AsUTF8AndSize(text.ptr(), &size);
    } else if (PyBytes_Check(text.ptr())) {
      data = PyBytes_AS_STRING(text.ptr());
      size = PyBytes_GET_SIZE(text.ptr());
    }
    require_type(data != nullptr, "texts: neither a string in ASCII nor bytes");
    texts.push_back({reinterpret_cast<const uint8_t*>(data), size});
  }
  return rows_of(texts, {words, n_min, n_max, lowercase}, threads);
}

}  // namespace

void define_shingles(nb::module_& m) {
  m.def("shingles", rows_of_joined, "text"_a, "ends"_a, nb::kw_only(), "words"_a, "n_min"_a, "n_max"_a, "lowercase"_a,
        "threads"_a);
  m.def("shingles_of_texts", rows_of_texts, "texts"_a, nb::kw_only(), "words"_a, "n_min"_a, "n_max"_a, "lowercase"_a,
        "threads"_a);
}

}  // namespace kernelsketch::bindings
