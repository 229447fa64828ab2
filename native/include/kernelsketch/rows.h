// Rows, dense and sparse, and the matrix that results go to. All of them are views of memory that the caller keeps.
#pragma once

#include <cstdint>

#include "core/arithmetic.h"

namespace kernelsketch {

// Rows of a matrix.
template <class T>
struct DenseRows {
  using Value = T;
  const T* data;
  int64_t n;
  int64_t d;
  int64_t stride;                                                                   // elements between rows
  int64_t stored(int64_t first, int64_t last) const { return (last - first) * d; }  // values of some rows
  // call(feature, value) for the values of a row
  template <class Call>
  void visit(int64_t i, const Call& call) const {
    for (int64_t f = 0; f < d; ++f) call(f, data[i * stride + f]);
  }
};

// Rows in compressed sparse row form.
template <class T, class Index>
struct CsrRows {
  using Value = T;
  const int64_t* indptr;
  const Index* indices;  // ascending within a row, no duplicates
  const T* data;
  int64_t n;
  int64_t d;
  int64_t stored(int64_t first, int64_t last) const { return indptr[last] - indptr[first]; }
  template <class Call>
  void visit(int64_t i, const Call& call) const {
    for (int64_t q = indptr[i]; q < indptr[i + 1]; ++q) call(static_cast<int64_t>(indices[q]), data[q]);
  }
};

// The L1 norm of a row, summed in the order of its features.
template <class T, class Index>
double row_norm(const CsrRows<T, Index>& x, int64_t i) {
  double sum = 0;
  for (int64_t q = x.indptr[i]; q < x.indptr[i + 1]; ++q) sum += ks_fabs(static_cast<double>(x.data[q]));
  return sum;
}

// DO(type of values, type of indices) for each type of sparse rows, and DO(type) for each type of rows of numbers.
#define KS_EACH_CSR(DO) DO(float, int32_t) DO(float, int64_t) DO(double, int32_t) DO(double, int64_t)
using CsrFloat32 = CsrRows<float, int32_t>;
using CsrFloat64 = CsrRows<float, int64_t>;
using CsrDouble32 = CsrRows<double, int32_t>;
using CsrDouble64 = CsrRows<double, int64_t>;
#define KS_EACH_ROWS(DO) \
  DO(DenseRows<float>) DO(DenseRows<double>) DO(CsrFloat32) DO(CsrFloat64) DO(CsrDouble32) DO(CsrDouble64)

// A matrix of results.
template <class T>
struct Output {
  T* data;
  int64_t stride;
};

}  // namespace kernelsketch
