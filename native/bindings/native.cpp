// Python's view of the native core: checks layouts, releases the GIL, calls. The Python side has checked
// values, shapes and instruction set; see _backend.py.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "kernelsketch/dispatch.h"
#include "kernelsketch/gmm.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace {

using namespace kernelsketch;

template <class T>
using Matrix = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Target = nb::ndarray<T, nb::ndim<2>, nb::device::cpu>;

bool interrupted() {
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

void require(bool condition, const char* what) {
  if (!condition) throw nb::value_error(what);
}

int64_t rows(const auto& x) { return static_cast<int64_t>(x.shape(0)); }
int64_t columns(const auto& x) { return static_cast<int64_t>(x.shape(1)); }

template <class T>
Dense<T> dense(const Matrix<T>& x) {
  return {x.data(), rows(x), columns(x), columns(x)};
}

template <class T>
Output<T> output(const Target<T>& out, int64_t n, int64_t m) {
  require(rows(out) == n && columns(out) == m && (out.stride(1) == 1 || m == 1), "out: wrong shape or strides");
  return {out.data(), out.stride(0)};
}

template <class T>
void dense_kernel(const std::string& isa, Matrix<T> a, Matrix<T> b, Target<T> out, int ratio, bool symmetric,
                  int threads) {
  require(a.shape(1) == b.shape(1) && a.shape(1) > 0, "a and b: different numbers of features");
  require(!symmetric || a.shape(0) == b.shape(0), "symmetric: a and b differ");
  const Isa& set = find_isa(isa);
  const Output<T> target = output<T>(out, rows(a), rows(b));
  without_gil([&] {
    gmm_dense<T>(set, dense<T>(a), dense<T>(b), target, static_cast<Ratio>(ratio), symmetric, threads, interrupted);
  });
}

template <class T>
void byte_kernel(const std::string& isa, Matrix<uint8_t> a, Matrix<uint8_t> b, Vector<T> a_norms, Vector<T> b_norms,
                 Target<T> out, int ratio, bool symmetric, int threads) {
  require(a.shape(1) == b.shape(1) && a.shape(1) > 0, "a and b: different numbers of features");
  require(columns(a) % kByteGroup == 0, "a and b: rows are not padded");
  require(a_norms.shape(0) == a.shape(0) && b_norms.shape(0) == b.shape(0), "norms: wrong length");
  require(!symmetric || a.shape(0) == b.shape(0), "symmetric: a and b differ");
  const Isa& set = find_isa(isa);
  const Output<T> target = output<T>(out, rows(a), rows(b));
  without_gil([&] {
    gmm_bytes<T>(set, dense<uint8_t>(a), dense<uint8_t>(b), a_norms.data(), b_norms.data(), target,
                 static_cast<Ratio>(ratio), symmetric, threads, interrupted);
  });
}

template <class T, class Index>
Csr<T, Index> csr(const Vector<int64_t>& indptr, const Vector<Index>& indices, const Vector<T>& data, int64_t d) {
  require(indptr.shape(0) >= 1 && indices.shape(0) == data.shape(0), "CSR: arrays of different lengths");
  const int64_t n = rows(indptr) - 1;
  require(indptr.data()[0] == 0 && indptr.data()[n] == rows(data), "CSR: indptr does not span the data");
  return {indptr.data(), indices.data(), data.data(), n, d};
}

template <class T, class Index>
void sparse_kernel(const std::string& isa, Vector<int64_t> a_indptr, Vector<Index> a_indices, Vector<T> a_data,
                   Vector<int64_t> b_indptr, Vector<Index> b_indices, Vector<T> b_data, int64_t n_features,
                   Target<T> out, int ratio, bool symmetric, int threads) {
  const Csr<T, Index> a = csr<T, Index>(a_indptr, a_indices, a_data, n_features);
  const Csr<T, Index> b = csr<T, Index>(b_indptr, b_indices, b_data, n_features);
  require(!symmetric || a.n == b.n, "symmetric: a and b differ");
  const Isa& set = find_isa(isa);
  const Output<T> target = output<T>(out, a.n, b.n);
  without_gil([&] {
    gmm_sparse<T, Index>(set, a, b, target, static_cast<Ratio>(ratio), symmetric, threads, interrupted);
  });
}

template <class T>
void define(nb::module_& m) {
  m.def("gmm_dense", dense_kernel<T>, "isa"_a, "a"_a.noconvert(), "b"_a.noconvert(), "out"_a.noconvert(), "ratio"_a,
        "symmetric"_a, "threads"_a);
  m.def("gmm_bytes", byte_kernel<T>, "isa"_a, "a"_a.noconvert(), "b"_a.noconvert(), "a_norms"_a.noconvert(),
        "b_norms"_a.noconvert(), "out"_a.noconvert(), "ratio"_a, "symmetric"_a, "threads"_a);
  const auto define_sparse = [&](auto kernel) {
    m.def("gmm_sparse", kernel, "isa"_a, "a_indptr"_a.noconvert(), "a_indices"_a.noconvert(), "a_data"_a.noconvert(),
          "b_indptr"_a.noconvert(), "b_indices"_a.noconvert(), "b_data"_a.noconvert(), "n_features"_a,
          "out"_a.noconvert(), "ratio"_a, "symmetric"_a, "threads"_a);
  };
  define_sparse(sparse_kernel<T, int32_t>);
  define_sparse(sparse_kernel<T, int64_t>);
}

}  // namespace

NB_MODULE(_native, m) {
  m.def("supported_isas", supported_isas, "Instruction sets of this build that this machine runs, best first.");
  define<float>(m);
  define<double>(m);
}
