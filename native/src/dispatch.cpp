#include "kernelsketch/dispatch.h"

#include <stdexcept>

#include "kernelsketch/compiler.h"

namespace kernelsketch {

#define KS_DECLARE(isa)                             \
  namespace isa {                                   \
  extern const GmmOps<float> gmm_float;             \
  extern const GmmOps<double> gmm_double;           \
  extern const ByteOps gmm_bytes;                   \
  extern const DifferenceOps gmm_differences;       \
  extern const GcwsOps gcws;                        \
  extern const BoundOps bounds;                     \
  extern const CodeOps codes;                       \
  extern const FourierOps<float> fourier_float;     \
  extern const FourierOps<double> fourier_double;   \
  extern const WeightOps fourier_weights;           \
  extern const LinearOps<float> linear_float;       \
  extern const LinearOps<double> linear_double;     \
  extern const CholeskyOps<float> cholesky_float;   \
  extern const CholeskyOps<double> cholesky_double; \
  extern const MeasureOps<float> measure_float;     \
  extern const MeasureOps<double> measure_double;   \
  extern const IndexOps index;                      \
  extern const TreeOps trees;                       \
  }
KS_DECLARE(baseline)
#if defined(KERNELSKETCH_X86_SETS)
KS_DECLARE(avx2)
KS_DECLARE(avx512)
#endif

namespace {

bool always() { return true; }

struct Row {
  bool (*runs_here)();
  Isa isa;
};

#define KS_ROW(test, isa)                                                                                    \
  {                                                                                                          \
    test, {                                                                                                  \
      #isa, {isa::gmm_float, isa::gmm_double}, isa::gmm_bytes, isa::gmm_differences, isa::gcws, isa::bounds, \
          isa::codes, {isa::fourier_float, isa::fourier_double}, isa::fourier_weights,                       \
          {isa::linear_float, isa::linear_double}, {isa::cholesky_float, isa::cholesky_double},              \
          {isa::measure_float, isa::measure_double}, isa::index, isa::trees                                  \
    }                                                                                                        \
  }

// Best first. A function, so that the tables of the other files are there when it is filled.
const std::vector<Row>& table() {
  static const std::vector<Row> rows = {
#if defined(KERNELSKETCH_X86_SETS)
      KS_ROW(has_avx512, avx512),
      KS_ROW(has_avx2, avx2),
#endif
      KS_ROW(always, baseline),
  };
  return rows;
}

}  // namespace

std::vector<std::string> supported_isas() {
  std::vector<std::string> names;
  for (const Row& row : table())
    if (row.runs_here()) names.emplace_back(row.isa.name);
  return names;
}

const Isa& find_isa(const std::string& name) {
  for (const Row& row : table())
    if (name == row.isa.name && row.runs_here()) return row.isa;
  throw std::invalid_argument("instruction set not supported here: " + name);
}

}  // namespace kernelsketch
