// Python's view of predictor.h.
#include "predictor.h"

namespace kernelsketch::bindings {

void define_predictor(nb::module_& m) {
  nb::class_<HashView>(m, "HashView", "A group of columns, and its hash; `counts` is empty without gamma.")
      .def(nb::init<uint64_t, int64_t, int64_t, std::vector<int64_t>>(), "seed"_a, "width"_a, "hashes"_a, "counts"_a);
  nb::class_<PredictorHash>(m, "PredictorHash", "The hash of a model; `center` is empty if there is none.")
      .def(nb::init<std::vector<HashView>, std::vector<double>, double, int, int>(), "views"_a, "center"_a, "p"_a,
           "bits"_a, "t_bits"_a);
  nb::class_<PyPredictor>(m, "Predictor", "A model with everything ready that does not depend on a row.")
      .def(nb::init<const std::string&, PredictorHash, VectorOf<uint8_t, uint16_t>, FixedTablesArray, Vector<double>>(),
           "isa"_a, "hash"_a, "number_of"_a, "w"_a, "offset"_a)
      .def("decide", &PyPredictor::decide, "rows"_a, "out"_a, "threads"_a,
           "Fill `out` (rows, problems) with decision values. False if a value of the rows is not finite.");
}

}  // namespace kernelsketch::bindings
