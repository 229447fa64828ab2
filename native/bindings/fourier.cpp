// Python's view of fourier.h.
#include "kernelsketch/fourier.h"

#include "kernelsketch/dispatch.h"
#include "rows.h"

namespace kernelsketch::bindings {
namespace {

struct PyFourierParams {
  double scale;
  uint64_t seed;
  bool normalize;
  int64_t table_bytes;
};

bool features(const std::string& isa, const PyRows& rows, const PyFourierParams& params,
              const TargetOf<float, double>& out, int threads) {
  require(!center_of(rows), "center: Fourier features take rows that are centered already");
  const int64_t hashes = columns(out);
  const FourierParams all{params.scale, params.seed, hashes, params.normalize, params.table_bytes};
  bool finite = true;
  visit_rows(rows, [&]<class View>(const View& view) {
    using T = typename View::Value;
    require(hashes > 0 && view.d > 0, "out or x: no columns");
    const Output<T> target = output_of<T>(out, view.n, hashes);
    without_gil([&] { finite = fourier<View, T>(find_isa(isa), view, all, target, threads, interrupted); });
  });
  return finite;
}

}  // namespace

void define_fourier(nb::module_& m) {
  nb::class_<PyFourierParams>(
      m, "FourierParams",
      "What Fourier features depend on besides the row: `scale` is sqrt(gamma) / 2 pi. Weights of "
      "more than `table_bytes` bytes are made in blocks.")
      .def(nb::init<double, uint64_t, bool, int64_t>(), "scale"_a, "seed"_a, "normalize"_a, "table_bytes"_a);
  m.def("fourier", features, "isa"_a, "rows"_a, "params"_a, "out"_a, "threads"_a,
        "Fill `out` (rows, hashes) with Fourier features. Return False where a value is NaN or infinite.");
}

}  // namespace kernelsketch::bindings
