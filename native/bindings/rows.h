// Rows as Python hands them over: arrays that are checked once, when the object is made, and the views of them that the
// core works on. The objects keep their arrays alive.
#pragma once

#include <optional>
#include <variant>

#include "arrays.h"
#include "kernelsketch/linear.h"
#include "kernelsketch/rows.h"

namespace kernelsketch::bindings {

// What functions take that accept dense and CSR rows alike: one of the two classes below.
class PyRows {
 public:
  bool is_dense() const { return is_dense_; }
  int64_t n() const { return n_; }

 protected:
  PyRows(bool is_dense, int64_t n) : is_dense_(is_dense), n_(n) {}

 private:
  bool is_dense_;
  int64_t n_;
};

// A matrix of float32 or float64, and what is to be subtracted from each of its rows, if anything.
class PyDenseRows : public PyRows {
 public:
  PyDenseRows(MatrixOf<float, double> values, std::optional<Vector<double>> center);
  const auto& view() const { return view_; }
  const double* center() const { return center_ ? center_->data() : nullptr; }

 private:
  MatrixOf<float, double> values_;
  std::optional<Vector<double>> center_;
  std::variant<DenseRows<float>, DenseRows<double>> view_;
};

// A CSR matrix of float32 or float64, with indices of int32 or int64.
class PyCsrRows : public PyRows {
 public:
  PyCsrRows(Vector<int64_t> indptr, VectorOf<int32_t, int64_t> indices, VectorOf<float, double> data,
            int64_t n_features);
  const auto& view() const { return view_; }
  const double* center() const { return nullptr; }

 private:
  Vector<int64_t> indptr_;
  VectorOf<int32_t, int64_t> indices_;
  VectorOf<float, double> data_;
  std::variant<CsrRows<float, int32_t>, CsrRows<float, int64_t>, CsrRows<double, int32_t>, CsrRows<double, int64_t>>
      view_;
};

// Rows of bytes for the byte kernel, and their L1 norms, which have the type of the kernel.
class PyByteRows {
 public:
  PyByteRows(Matrix<uint8_t> values, VectorOf<float, double> norms);
  DenseRows<uint8_t> view() const { return {values_.data(), rows(values_), columns(values_), columns(values_)}; }
  const VectorOf<float, double>& norms() const { return norms_; }

 private:
  Matrix<uint8_t> values_;
  VectorOf<float, double> norms_;
};

// Codes of rows, and which of the rows are empty.
class PyCodeRows {
 public:
  PyCodeRows(MatrixOf<uint8_t, uint16_t, uint32_t> codes, Vector<uint8_t> empty);
  const auto& view() const { return view_; }

 private:
  MatrixOf<uint8_t, uint16_t, uint32_t> codes_;
  Vector<uint8_t> empty_;
  std::variant<CodeRows<uint8_t>, CodeRows<uint16_t>, CodeRows<uint32_t>> view_;
};

// call(view of the rows): DenseRows<T> or CsrRows<T, Index>.
template <class Call>
void visit_rows(const PyRows& rows, const Call& call) {
  if (rows.is_dense())
    std::visit(call, static_cast<const PyDenseRows&>(rows).view());
  else
    std::visit(call, static_cast<const PyCsrRows&>(rows).view());
}

inline const double* center_of(const PyRows& rows) {
  return rows.is_dense() ? static_cast<const PyDenseRows&>(rows).center() : nullptr;
}

// The view of `b` that has the type of a view of `a`.
template <class View>
const View& same_type(const View&, const auto& b) {
  const View* view = std::get_if<View>(&b.view());
  require_type(view != nullptr, "a and b: different types");
  return *view;
}

// An output of n rows and m columns of type T.
template <class T>
Output<T> output_of(const TargetOf<float, double>& out, int64_t n, int64_t m) {
  require_type(out.holds<T>(), "out: another type than that of the rows");
  require(rows(out) == n && columns(out) == m && (out.stride(1) == 1 || m == 1), "out: wrong shape or strides");
  return {out.data<T>(), out.stride(0)};
}

}  // namespace kernelsketch::bindings
