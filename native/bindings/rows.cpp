// Rows from Python: the checks, and the classes for Python.
#include "rows.h"

#include "kernelsketch/gmm.h"

namespace kernelsketch::bindings {

PyDenseRows::PyDenseRows(MatrixOf<float, double> values, std::optional<Vector<double>> center)
    : PyRows(true, rows(values)), values_(std::move(values)), center_(std::move(center)) {
  require(!center_ || center_->shape(0) == values_.shape(1), "center: wrong length");
  values_.visit(
      [&]<class T>(const T* data) { view_ = DenseRows<T>{data, rows(values_), columns(values_), columns(values_)}; });
}

PyCsrRows::PyCsrRows(Vector<int64_t> indptr, VectorOf<int32_t, int64_t> indices, VectorOf<float, double> data,
                     int64_t n_features)
    : PyRows(false, rows(indptr) - 1), indptr_(std::move(indptr)), indices_(std::move(indices)),
      data_(std::move(data)) {
  require(rows(indptr_) >= 1 && rows(indices_) == rows(data_), "CSR: arrays of different lengths");
  const int64_t n = rows(indptr_) - 1;
  const int64_t* ends = indptr_.data();
  require_ends(indptr_, rows(data_), "CSR: indptr does not ascend from 0 to the length of the data");
  data_.visit([&]<class T>(const T* values) {
    indices_.visit(
        [&]<class Index>(const Index* features) { view_ = CsrRows<T, Index>{ends, features, values, n, n_features}; });
  });
}

PyByteRows::PyByteRows(Matrix<uint8_t> values, VectorOf<float, double> norms)
    : values_(std::move(values)), norms_(std::move(norms)) {
  require(columns(values_) % kByteGroup == 0, "values: rows are not padded");
  require(rows(norms_) == rows(values_), "norms: wrong length");
}

PyCodeRows::PyCodeRows(MatrixOf<uint8_t, uint16_t, uint32_t> codes, Vector<uint8_t> empty)
    : codes_(std::move(codes)), empty_(std::move(empty)) {
  require(rows(empty_) == rows(codes_), "empty: wrong length");
  codes_.visit([&]<class Code>(const Code* data) {
    view_ = CodeRows<Code>{data, empty_.data(), rows(codes_), columns(codes_)};
  });
}

void define_rows(nb::module_& m) {
  nb::class_<PyRows>(m, "Rows", "Rows of numbers: DenseRows or CsrRows.");
  nb::class_<PyDenseRows, PyRows>(m, "DenseRows",
                                  "Rows of a matrix in C order. Hashing subtracts `center` from each of them.")
      .def(nb::init<MatrixOf<float, double>, std::optional<Vector<double>>>(), "values"_a, "center"_a = nb::none());
  nb::class_<PyCsrRows, PyRows>(m, "CsrRows",
                                "Rows in CSR form: `indptr` ascends from 0, indices ascend within each row.")
      .def(nb::init<Vector<int64_t>, VectorOf<int32_t, int64_t>, VectorOf<float, double>, int64_t>(), "indptr"_a,
           "indices"_a, "data"_a, "n_features"_a);
  nb::class_<PyByteRows>(m, "ByteRows",
                         "Rows of bytes, padded to a multiple of eight by equal values, and their L1 norms.")
      .def(nb::init<Matrix<uint8_t>, VectorOf<float, double>>(), "values"_a, "norms"_a);
  nb::class_<PyCodeRows>(m, "CodeRows", "Codes of rows, and 1 for each row that is empty.")
      .def(nb::init<MatrixOf<uint8_t, uint16_t, uint32_t>, Vector<uint8_t>>(), "codes"_a, "empty"_a);
}

}  // namespace kernelsketch::bindings
