// Arrays as the bindings take them, and what every binding does around a call.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

namespace kernelsketch::bindings {

namespace nb = nanobind;
using namespace nanobind::literals;

// An array that is taken as it is: one of another type or layout is a TypeError, and none is copied.
template <class Array>
struct Exact : Array {
  Exact() = default;
  Exact(Array array) : Array(std::move(array)) {}
};
template <class T>
using Matrix = Exact<nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>>;
template <class T>
using Vector = Exact<nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>>;
template <class T>
using Series = Exact<nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>>;  // a vector to write to
template <class T>
using Target = Exact<nb::ndarray<T, nb::ndim<2>, nb::device::cpu>>;  // a matrix to write to; rows may lie apart
template <class T>
using AnyOrder =
    Exact<nb::ndarray<const T, nb::ndim<2>, nb::device::cpu>>;  // a matrix whose rows and values may lie apart

// The same for an array whose elements have one of the types Ts. `Layout` says which arrays it takes: `Layout::Of<T>` with
// elements of type T, `Layout::Any` with elements of any type.
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

// A check of n elements: other threads run meanwhile, unless there are so few that it takes no longer than to let them.
template <class Check>
void require_each(int64_t n, const Check& check, const char* what) {
  bool right = false;
  if (n < 4096)
    right = check();
  else
    without_gil([&] { right = check(); });
  require(right, what);
}

// Rows one after the other, of numbers one after the other; the stride of a single row or column does not matter.
bool in_order(const auto& x, int64_t columns) {
  return x.shape(0) == 0 || x.shape(1) == 0 ||
         ((columns == 1 || x.stride(1) == 1) && (x.shape(0) == 1 || x.stride(0) == columns));
}

int64_t rows(const auto& x) { return static_cast<int64_t>(x.shape(0)); }
int64_t columns(const auto& x) { return static_cast<int64_t>(x.shape(1)); }

// Ends ascend from 0 to the number of items.
inline void require_ends(const Vector<int64_t>& ends, int64_t items, const char* what) {
  const int64_t *first = ends.data(), *last = first + rows(ends);
  require(first != last && *first == 0 && last[-1] == items, what);
  require_each(rows(ends), [&] { return std::is_sorted(first, last); }, what);
}

// Numbers are from 0 to `end` - 1.
template <class Number>
void require_below(const Number* numbers, int64_t n, int64_t end, const char* what) {
  static_assert(std::is_signed_v<Number> || sizeof(Number) < 8, "int64_t holds all of them");
  const auto most = static_cast<int64_t>(std::numeric_limits<Number>::max());
  if (std::is_unsigned_v<Number> && most < end) return;
  require_each(
      n,
      [&] {
        Number least = 0, largest = 0;
        for (int64_t i = 0; i < n; ++i) {
          least = std::min(least, numbers[i]);
          largest = std::max(largest, numbers[i]);
        }
        return n == 0 || (least >= 0 && static_cast<int64_t>(largest) < end);
      },
      what);
}

// The files of bindings, each with a function define_NAME(module).
// clang-format off
#define KS_BINDINGS(DEFINE) \
  DEFINE(rows) DEFINE(gmm) DEFINE(gcws) DEFINE(codes) DEFINE(fourier) DEFINE(linear) DEFINE(measure) \
  DEFINE(newton) DEFINE(predictor) DEFINE(index) DEFINE(join) DEFINE(quantiles) DEFINE(csv) DEFINE(libsvm) \
  DEFINE(shingles) DEFINE(text) DEFINE(growth) DEFINE(trees) DEFINE(table_model)
// clang-format on
#define KS_DECLARE_BINDING(name) void define_##name(nb::module_& m);
KS_BINDINGS(KS_DECLARE_BINDING)

}  // namespace kernelsketch::bindings

// How nanobind makes these from a Python object, and how the stub names them: OneOf is a union of the arrays that it takes.
template <class Array>
struct nanobind::detail::type_caster<kernelsketch::bindings::Exact<Array>> {
  NB_TYPE_CASTER(kernelsketch::bindings::Exact<Array>, make_caster<Array>::Name)

  bool from_python(handle src, uint8_t flags, cleanup_list* cleanup) noexcept {
    make_caster<Array> caster;
    if (!caster.from_python(src, flags & ~static_cast<uint8_t>(cast_flags::convert), cleanup)) return false;
    value = std::move(caster.value);
    return true;
  }
};

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
