// Arrays that bindings return.
#pragma once

#include <nanobind/stl/variant.h>

#include <cstdlib>
#include <type_traits>

#include "arrays.h"
#include "kernelsketch/growing.h"

namespace kernelsketch::bindings {

inline const char* chars(const Vector<uint8_t>& text) { return reinterpret_cast<const char*>(text.data()); }

template <class T>
using Returned = nb::ndarray<nb::numpy, T, nb::ndim<1>>;
template <class T>
using ReturnedMatrix = nb::ndarray<nb::numpy, T, nb::ndim<2>>;

// The numbers as an array of NumPy, without a copy.
template <class T>
Returned<T> taken(Growing<T> numbers) {
  numbers.shrink();
  const auto size = static_cast<std::size_t>(numbers.size());
  T* const data = numbers.release();
  return Returned<T>(data, {size}, nb::capsule(data, [](void* memory) noexcept { std::free(memory); }));
}

// A vector or matrix that NumPy allocates, so that large ones get its huge pages and count as its memory. How much of
// it is used is known only after parsing.
template <class T>
class Allocated {
 public:
  explicit Allocated(int64_t rows, int64_t columns = 1)
      : array_(nb::module_::import_("numpy").attr("empty")(rows * columns, name())),
        data_(nb::cast<Series<T>>(array_).data()) {}

  T* data() const { return data_; }
  Returned<T> leading(int64_t n) const { return Returned<T>(data_, {static_cast<size_t>(n)}, array_); }
  ReturnedMatrix<T> leading(int64_t n, int64_t columns) const {
    return ReturnedMatrix<T>(data_, {static_cast<size_t>(n), static_cast<size_t>(columns)}, array_);
  }

 private:
  static const char* name() {
    if constexpr (std::is_same_v<T, double>) return "float64";
    if constexpr (std::is_same_v<T, float>) return "float32";
    if constexpr (std::is_same_v<T, int64_t>) return "int64";
    if constexpr (std::is_same_v<T, uint8_t>) return "uint8";
  }
  nb::object array_;
  T* data_;
};

}  // namespace kernelsketch::bindings
