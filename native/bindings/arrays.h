// Arrays as the bindings take them, and what every binding does around a call.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <utility>

namespace kernelsketch::bindings {

namespace nb = nanobind;

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Series = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;  // a vector to write to
template <class T>
using Target = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;  // a matrix to write to; rows may lie apart

// An array whose elements have one of the types Ts. `Layout` says which arrays it takes: `Layout::Of<T>` with elements
// of type T, `Layout::Any` with elements of any type. An array of another type or layout is a TypeError; none is
// copied.
template <class Layout, class... Ts>
struct OneOf {
  typename Layout::Any array;

  template <class T>
  bool holds() const {
    return array.dtype() == nb::dtype<T>();
  }
  auto shape(std::size_t axis) const { return array.shape(axis); }
  auto stride(std::size_t axis) const { return array.stride(axis); }
  template <class T>
  auto* data() const {
    if constexpr (std::is_const_v<std::remove_pointer_t<decltype(array.data())>>)
      return static_cast<const T*>(array.data());
    else
      return static_cast<T*>(array.data());
  }
  // call(pointer to the first element), with the pointer's own type.
  template <class Call>
  void visit(const Call& call) const {
    (void)((holds<Ts>() && (call(data<Ts>()), true)) || ...);
  }
};

struct MatrixLayout {
  template <class T>
  using Of = Matrix<T>;
  using Any = nb::ndarray<nb::ro, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
};
struct VectorLayout {
  template <class T>
  using Of = Vector<T>;
  using Any = nb::ndarray<nb::ro, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
};
struct TargetLayout {
  template <class T>
  using Of = Target<T>;
  using Any = nb::ndarray<nb::ndim<2>, nb::device::cpu>;
};

template <class... Ts>
using MatrixOf = OneOf<MatrixLayout, Ts...>;
template <class... Ts>
using VectorOf = OneOf<VectorLayout, Ts...>;
template <class... Ts>
using TargetOf = OneOf<TargetLayout, Ts...>;

inline thread_local PyObject* heartbeat = nullptr;  // what `set_heartbeat` has set for the calling thread

// Runs about ten times per second during a long call: signals are handled, and the caller's heartbeat is called.
inline bool interrupted() {
  const nb::gil_scoped_acquire gil;
  if (PyErr_CheckSignals() != 0) return true;  // leaves KeyboardInterrupt set
  PyObject* const call = heartbeat;
  if (!call) return false;
  heartbeat = nullptr;  // native code that it calls has none
  PyObject* const answer = PyObject_CallNoArgs(call);
  heartbeat = call;
  Py_XDECREF(answer);
  return answer == nullptr;  // leaves its exception set
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

inline void require_type(bool condition, const char* what) {
  if (!condition) throw nb::type_error(what);
}

// Rows one after the other; the stride of a single row does not matter.
bool in_order(const auto& x, int64_t columns) {
  return x.shape(0) <= 1 || x.shape(1) == 0 || (x.stride(0) == columns && (columns == 1 || x.stride(1) == 1));
}

int64_t rows(const auto& x) { return static_cast<int64_t>(x.shape(0)); }
int64_t columns(const auto& x) { return static_cast<int64_t>(x.shape(1)); }

void define_codes(nb::module_& m);
void define_csv(nb::module_& m);
void define_fourier(nb::module_& m);
void define_gcws(nb::module_& m);
void define_gmm(nb::module_& m);
void define_growth(nb::module_& m);
void define_index(nb::module_& m);
void define_join(nb::module_& m);
void define_libsvm(nb::module_& m);
void define_linear(nb::module_& m);
void define_measure(nb::module_& m);
void define_newton(nb::module_& m);
void define_predictor(nb::module_& m);
void define_quantiles(nb::module_& m);
void define_rows(nb::module_& m);
void define_shingles(nb::module_& m);
void define_text(nb::module_& m);
void define_trees(nb::module_& m);

}  // namespace kernelsketch::bindings

// How nanobind makes a OneOf from a Python object, and how the stub names its type: a union of the arrays that it
// takes.
template <class Layout, class First, class... Rest>
struct nanobind::detail::type_caster<kernelsketch::bindings::OneOf<Layout, First, Rest...>> {
  using Array = kernelsketch::bindings::OneOf<Layout, First, Rest...>;
  NB_TYPE_CASTER(Array, (make_caster<typename Layout::template Of<First>>::Name + ... +
                         (const_name(" | ") + make_caster<typename Layout::template Of<Rest>>::Name)))

  bool from_python(handle src, auto, cleanup_list* cleanup) noexcept {
    make_caster<typename Layout::Any> caster;
    if (src.is_none() || !caster.from_python(src, 0, cleanup)) return false;
    value.array = std::move(caster.value);
    return value.template holds<First>() || (value.template holds<Rest>() || ...);
  }
};
