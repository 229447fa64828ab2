// Python's view of shingles.h.
#include "kernelsketch/shingles.h"

#include <nanobind/stl/tuple.h>

#include <algorithm>
#include <tuple>

#include "text_arrays.h"

using namespace nanobind::literals;

namespace kernelsketch::bindings {
namespace {

// indptr, features and counts of CSR rows, one per text.
std::tuple<Returned<int64_t>, Returned<int64_t>, Returned<float>> rows_of(Vector<uint8_t> text, Vector<int64_t> ends,
                                                                         bool words, int64_t n_min, int64_t n_max,
                                                                         bool lowercase, int threads) {
  const int64_t n = rows(ends) - 1;
  require(n >= 0 && ends.data()[0] == 0 && ends.data()[n] == rows(text), "ends: not those of the text");
  for (int64_t i = 0; i < n; ++i) require(ends.data()[i] <= ends.data()[i + 1], "ends: not ascending");
  require(n_min >= 1 && n_max >= n_min, "n_min, n_max: out of range");
  std::vector<ShingleRows> parts;
  without_gil([&] {
    parts = shingles(chars(text), ends.data(), n, {words, n_min, n_max, lowercase}, threads, interrupted);
  });
  int64_t total = 0;
  for (const auto& part : parts) total += part.features.size();
  const Allocated<int64_t> indptr(n + 1), features(total);
  const Allocated<float> counts(total);
  without_gil([&] {
    int64_t row = 0, at = 0;
    indptr.data()[0] = 0;
    for (auto& part : parts) {
      for (const int64_t size : part.sizes) {
        indptr.data()[row + 1] = indptr.data()[row] + size;
        ++row;
      }
      const int64_t size = part.features.size();
      std::copy_n(part.features.data(), size, features.data() + at);
      std::copy_n(part.counts.data(), size, counts.data() + at);
      at += size;
      part = {};
    }
  });
  return {indptr.leading(n + 1), features.leading(total), counts.leading(total)};
}

}  // namespace

void define_shingles(nb::module_& m) {
  m.def("shingles", rows_of, "text"_a.noconvert(), "ends"_a.noconvert(), nb::kw_only(), "words"_a, "n_min"_a, "n_max"_a,
        "lowercase"_a, "threads"_a);
}

}  // namespace kernelsketch::bindings
