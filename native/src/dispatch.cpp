#include "kernelsketch/dispatch.h"

#include <stdexcept>

#include "kernelsketch/compiler.h"

namespace kernelsketch {

#define KS_DECLARE(isa)                       \
  namespace isa {                             \
  extern const ByType<GmmOps> gmm;            \
  extern const ByteOps gmm_bytes;             \
  extern const DifferenceOps gmm_differences; \
  extern const GcwsOps gcws;                  \
  extern const BoundOps bounds;               \
  extern const CodeOps codes;                 \
  extern const ByType<FourierOps> fourier;    \
  extern const WeightOps fourier_weights;     \
  extern const ByType<LinearOps> linear;      \
  extern const ByType<CholeskyOps> cholesky;  \
  extern const ByType<MeasureOps> measure;    \
  extern const IndexOps index;                \
  extern const GraphOps graph;                \
  extern const TreeOps trees;                 \
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

#define KS_ROW(test, isa)                                                                                     \
  {                                                                                                           \
    test, {                                                                                                   \
      #isa, isa::gmm, isa::gmm_bytes, isa::gmm_differences, isa::gcws, isa::bounds, isa::codes, isa::fourier, \
          isa::fourier_weights, isa::linear, isa::cholesky, isa::measure, isa::index, isa::trees, isa::graph  \
    }                                                                                                         \
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
