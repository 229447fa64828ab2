// Python's view of gcws.h.
#include "kernelsketch/gcws.h"

#include "kernelsketch/dispatch.h"
#include "rows.h"

namespace kernelsketch::bindings {
namespace {

// What a sample depends on besides the row, and what of it a code keeps.
struct PyGcwsParams {
  double p;
  uint64_t seed;
  int bits, t_bits;
};

template <class Out>
void run(const std::string& isa, const PyRows& rows, const GcwsParams& params, const Out& out, int threads) {
  visit_rows(rows, [&](const auto& view) {
    without_gil([&] { gcws(find_isa(isa), view, params, out, threads, interrupted); });
  });
}

GcwsParams core_params(const PyGcwsParams& params, const PyRows& rows, int64_t hashes) {
  require(hashes > 0 && params.bits >= 1 && params.bits <= 16 && params.t_bits >= 0 && params.t_bits <= 8,
          "hashes or bits: out of range");
  return {center_of(rows), params.p, params.seed, hashes, params.bits, params.t_bits};
}

void require_shape(const auto& codes, const Series<uint8_t>& empty, int64_t n, const char* what) {
  require(rows(codes) == n && in_order(codes, columns(codes)), what);
  require(rows(empty) == n, "empty: wrong length");
}

void codes_of(const std::string& isa, const PyRows& rows, const PyGcwsParams& params,
              const TargetOf<uint8_t, uint16_t, uint32_t>& codes, const Series<uint8_t>& empty, int threads) {
  require_shape(codes, empty, rows.n(), "codes: wrong shape or strides");
  const GcwsParams all = core_params(params, rows, columns(codes));
  codes.visit([&]<class Code>(Code* to) {
    require(all.bits + all.t_bits <= static_cast<int>(8 * sizeof(Code)), "codes: too narrow");
    run(isa, rows, all, CodeOutput<Code>{to, empty.data()}, threads);
  });
}

void samples_of(const std::string& isa, const PyRows& rows, const PyGcwsParams& params, const Target<int64_t>& slots,
                const Target<int64_t>& t, const Series<uint8_t>& empty, int threads) {
  for (const auto* x : {&slots, &t}) require_shape(*x, empty, rows.n(), "slots or t: wrong shape or strides");
  require(columns(slots) == columns(t), "slots or t: wrong shape or strides");
  run(isa, rows, core_params(params, rows, columns(slots)), SampleOutput{slots.data(), t.data(), empty.data()},
      threads);
}

void fingerprints_of(const std::string& isa, const PyRows& rows, const PyGcwsParams& params,
                     const Target<uint8_t>& fingerprints, const Series<uint8_t>& empty, int threads) {
  require_shape(fingerprints, empty, rows.n(), "fingerprints: wrong shape or strides");
  run(isa, rows, core_params(params, rows, columns(fingerprints)), FingerprintOutput{fingerprints.data(), empty.data()},
      threads);
}

void concatenate_samples(Matrix<int64_t> slots, Matrix<int64_t> t, Vector<int64_t> counts, Target<int64_t> out,
                         int threads) {
  int64_t total = 0;
  for (std::size_t j = 0; j < counts.shape(0); ++j) {
    require(counts.data()[j] >= 0, "counts: negative");
    total += counts.data()[j];
  }
  require(columns(slots) == total && columns(t) == total && rows(slots) == rows(t), "slots or t: wrong shape");
  require(rows(out) == rows(t) && columns(out) == rows(counts) && in_order(out, rows(counts)),
          "out: wrong shape or strides");
  without_gil(
      [&] { concatenate(slots.data(), t.data(), rows(slots), counts.data(), rows(counts), out.data(), threads); });
}

}  // namespace

void define_gcws(nb::module_& m) {
  nb::class_<PyGcwsParams>(m, "GcwsParams",
                           "What a sample depends on besides the row (`p` and `seed`), and the bits of a code.")
      .def(nb::init<double, uint64_t, int, int>(), "p"_a, "seed"_a, "bits"_a = 1, "t_bits"_a = 0);
  m.def("gcws_codes", codes_of, "isa"_a, "rows"_a, "params"_a, "codes"_a, "empty"_a, "threads"_a,
        "Fill `codes` (rows, hashes), and `empty` with 1 for each row without a nonzero.");
  m.def("gcws_samples", samples_of, "isa"_a, "rows"_a, "params"_a, "slots"_a, "t"_a, "empty"_a, "threads"_a,
        "Fill `slots` and `t` (rows, hashes) with the full samples.");
  m.def("gcws_fingerprints", fingerprints_of, "isa"_a, "rows"_a, "params"_a, "fingerprints"_a, "empty"_a, "threads"_a,
        "Fill `fingerprints` (rows, hashes) with one byte per full sample.");
  m.def("concatenate", concatenate_samples, "slots"_a, "t"_a, "counts"_a, "out"_a, "threads"_a,
        "Fill `out` with one 63-bit hash per group of successive samples.");
}

}  // namespace kernelsketch::bindings
