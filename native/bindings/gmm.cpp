// Python's view of gmm.h.
#include "kernelsketch/gmm.h"

#include "kernelsketch/dispatch.h"
#include "rows.h"

namespace kernelsketch::bindings {
namespace {

Ratio ratio_of(int ratio) {
  require(0 <= ratio && ratio < ks::kRatios, "ratio: no number of a ratio");
  return static_cast<Ratio>(ratio);
}

void dense_kernel(const std::string& isa, const PyDenseRows& a, const PyDenseRows& b,
                  const TargetOf<float, double>& out, int ratio, bool symmetric, int threads) {
  require(!a.center() && !b.center(), "center: kernels take rows that are centered already");
  const Ratio kind = ratio_of(ratio);
  std::visit(
      [&]<class T>(const DenseRows<T>& left) {
        const DenseRows<T>& right = same_type(left, b);
        require(left.d == right.d && left.d > 0, "a and b: different numbers of features");
        require(!symmetric || left.n == right.n, "symmetric: a and b differ");
        const Output<T> target = output_of<T>(out, left.n, right.n);
        without_gil([&] { gmm_dense<T>(find_isa(isa), left, right, target, kind, symmetric, threads, interrupted); });
      },
      a.view());
}

void byte_kernel(const std::string& isa, const PyByteRows& a, const PyByteRows& b, const TargetOf<float, double>& out,
                 int ratio, bool symmetric, int threads) {
  const DenseRows<uint8_t> left = a.view(), right = b.view();
  require(left.d == right.d && left.d > 0, "a and b: different numbers of features");
  require(!symmetric || left.n == right.n, "symmetric: a and b differ");
  const Ratio kind = ratio_of(ratio);
  a.norms().visit([&]<class T>(const T* norms) {
    require_type(b.norms().holds<T>(), "norms: different types");
    const Output<T> target = output_of<T>(out, left.n, right.n);
    const T* other = b.norms().data<T>();
    without_gil(
        [&] { gmm_bytes<T>(find_isa(isa), left, right, norms, other, target, kind, symmetric, threads, interrupted); });
  });
}

void sparse_kernel(const std::string& isa, const PyCsrRows& a, const PyCsrRows& b, const TargetOf<float, double>& out,
                   int ratio, bool symmetric, int threads) {
  const Ratio kind = ratio_of(ratio);
  std::visit(
      [&]<class T, class Index>(const CsrRows<T, Index>& left) {
        const CsrRows<T, Index>& right = same_type(left, b);
        require(left.d == right.d, "a and b: different numbers of features");
        require(!symmetric || left.n == right.n, "symmetric: a and b differ");
        const Output<T> target = output_of<T>(out, left.n, right.n);
        without_gil(
            [&] { gmm_sparse<T, Index>(find_isa(isa), left, right, target, kind, symmetric, threads, interrupted); });
      },
      a.view());
}

void differences(const std::string& isa, const Matrix<float>& x, const Matrix<float>& weights,
                 const Series<double>& sums, int threads) {
  require(rows(weights) == rows(x) && columns(weights) == rows(x), "weights: one per pair of rows");
  require(rows(sums) == columns(x), "sums: one per feature");
  const DenseRows<float> view = {x.data(), rows(x), columns(x), columns(x)};
  without_gil([&] { weighted_differences(find_isa(isa), view, weights.data(), sums.data(), threads, interrupted); });
}

}  // namespace

void define_gmm(nb::module_& m) {
  m.def("gmm_dense", dense_kernel, "isa"_a, "a"_a, "b"_a, "out"_a, "ratio"_a, "symmetric"_a, "threads"_a,
        "Fill `out` with the kernel of each row of `a` and each row of `b`.");
  m.def("gmm_bytes", byte_kernel, "isa"_a, "a"_a, "b"_a, "out"_a, "ratio"_a, "symmetric"_a, "threads"_a,
        "Fill `out` with the kernel of rows of bytes: the result equals that of `gmm_dense`.");
  m.def("gmm_sparse", sparse_kernel, "isa"_a, "a"_a, "b"_a, "out"_a, "ratio"_a, "symmetric"_a, "threads"_a,
        "Fill `out` with the kernel of rows in CSR form.");
  m.def("weighted_differences", differences, "isa"_a, "x"_a, "weights"_a, "sums"_a, "threads"_a,
        "Fill `sums` with the weighted sums of absolute differences over all pairs of rows, one per feature.");
}

}  // namespace kernelsketch::bindings
