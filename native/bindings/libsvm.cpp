// Python's view of libsvm.h.
#include "kernelsketch/libsvm.h"

#include "returned.h"

namespace kernelsketch::bindings {
namespace {

// The rows of a text, in CSR form. After an error only the error, at and length mean something.
struct Parsed {
  LibsvmFound found;
  Returned<double> labels;
  ReturnedMatrix<int64_t> label_at;
  Returned<int64_t> qid, indptr, ids;
  std::variant<Returned<float>, Returned<double>> values;
};

template <class Real>
Parsed parse(const Vector<uint8_t>& text, int64_t base, int threads) {
  const int64_t size = rows(text);
  LibsvmSize bounds{};
  without_gil([&] { bounds = libsvm_size(chars(text), size); });
  const Allocated<double> labels(bounds.lines);
  const Allocated<int64_t> label_at(bounds.lines, 2), qid(bounds.lines), indptr(bounds.lines + 1), ids(bounds.colons);
  const Allocated<Real> values(bounds.colons);
  LibsvmFound found;
  without_gil([&] {
    const LibsvmRows<Real> to{labels.data(), label_at.data(), qid.data(), indptr.data(), ids.data(), values.data()};
    found = libsvm_parse<Real>(chars(text), size, base, to, threads, interrupted);
  });
  const int64_t n = found.rows;
  return {found,
          labels.leading(n),
          label_at.leading(n, 2),
          qid.leading(n),
          indptr.leading(n + 1),
          ids.leading(found.pairs),
          values.leading(found.pairs)};
}

}  // namespace

void define_libsvm(nb::module_& m) {
  nb::class_<Parsed>(m, "LibsvmParsed")
      .def_ro("labels", &Parsed::labels, nb::rv_policy::automatic)
      .def_ro("label_at", &Parsed::label_at, nb::rv_policy::automatic)
      .def_ro("qid", &Parsed::qid, nb::rv_policy::automatic)
      .def_ro("indptr", &Parsed::indptr, nb::rv_policy::automatic)
      .def_ro("ids", &Parsed::ids, nb::rv_policy::automatic)
      .def_ro("values", &Parsed::values, nb::rv_policy::automatic)
      .def_prop_ro("largest_id", [](const Parsed& x) { return x.found.largest_id; })
      .def_prop_ro("first_text", [](const Parsed& x) { return x.found.first_text; })
      .def_prop_ro("any_qid", [](const Parsed& x) { return x.found.any_qid; })
      .def_prop_ro("error", [](const Parsed& x) { return static_cast<int>(x.found.error); })
      .def_prop_ro("at", [](const Parsed& x) { return x.found.at; })
      .def_prop_ro("length", [](const Parsed& x) { return x.found.length; });
  m.def(
      "libsvm_parse",
      [](Vector<uint8_t> text, int64_t base, bool single, int threads) {
        require(rows(text) == 0 || chars(text)[rows(text) - 1] == '\n', "text: does not end a line");
        require(base == 0 || base == 1, "base: neither 0 nor 1");
        return single ? parse<float>(text, base, threads) : parse<double>(text, base, threads);
      },
      "text"_a, nb::kw_only(), "base"_a, "single"_a, "threads"_a);
}

}  // namespace kernelsketch::bindings
