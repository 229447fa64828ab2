// Arrays as the bindings take them, and what every binding does around a call.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>

namespace kernelsketch::bindings {

namespace nb = nanobind;

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Series = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;  // a vector to write to
template <class T>
using Target = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;

inline bool interrupted() {
  const nb::gil_scoped_acquire gil;
  return PyErr_CheckSignals() != 0;  // leaves KeyboardInterrupt set
}

template <class Call>
void without_gil(const Call& call) {
  {
    const nb::gil_scoped_release release;
    call();
  }
  if (PyErr_Occurred()) throw nb::python_error();
}

inline void require(bool condition, const char* what) {
  if (!condition) throw nb::value_error(what);
}

// Rows one after the other; the stride of a single row does not matter.
bool in_order(const auto& x, int64_t columns) {
  return x.shape(0) <= 1 || x.shape(1) == 0 || (x.stride(0) == columns && (columns == 1 || x.stride(1) == 1));
}

int64_t rows(const auto& x) { return static_cast<int64_t>(x.shape(0)); }
int64_t columns(const auto& x) { return static_cast<int64_t>(x.shape(1)); }

void define_csv(nb::module_& m);
void define_index(nb::module_& m);
void define_libsvm(nb::module_& m);
void define_linear(nb::module_& m);
void define_text(nb::module_& m);

}  // namespace kernelsketch::bindings
