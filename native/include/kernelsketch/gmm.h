// The generalized min-max kernel (GMM) of two matrices of rows.
//
// Definition. Let u~ and v~ be u and v with each feature split into two slots, one for the positive part and one for
// the negative part. Then
//   GMM(u, v) = sum min(u~, v~) / sum max(u~, v~).
//
// The code needs no sign split. Let |.| be the L1 norm and M = sum min(u_f, v_f) on the signed values. Then
//   sum max = |u| + |v| - sum min,    D = |u - v| = sum u + sum v - 2 M,
//   GMM = (|u| + |v| - D) / (|u| + |v| + D),
// so a single pass of minima and additions suffices.
//
// Dense rows. M is summed over groups of eight features as a tree. The groups are added in turn to a sum of the input's
// type, and every 64 features that sum is added to a double. Let e be the unit roundoff. A sum of terms of equal size
// is off by at most (8 + 1) / 2 e + 3 e = 7.5 e relative, whatever the number of features. Near GMM = 1, where it
// matters most, the errors of M, sum u and sum v can add up to 30 e in the quotient: 1.8e-6 for float32. The worst
// constructed data gave 1.6e-6, random data give 2e-7. Row sums take the same order, so D is exactly 0 for equal rows
// and their kernel is exactly 1. The result does not depend on the vector width, on threads or on blocks. It is clipped
// to [0, 1].
//
// Bytes. This path takes rows of integers that span at most 255 and lie in [-255, 255], up to 16,384 features. Every
// sum above is then an integer below 2^24, so computing D by sums of absolute differences of bytes gives the same bits.
//
// Sparse rows. M is the sum over shared features of equal sign of min(|u_f|, |v_f|), in double, in the order of the
// features. GMM = M / ((|u| + |v|) - M) is computed in double and rounded once.
//
// Weighted differences. The derivative of the kernel with respect to the weight of a feature f needs the sums
//   sum over i < j of w_ij |x_if - x_jf|
// for each feature. They are summed over j in float for each i, in ascending order, and over i in double.
//
// A row of zeros has similarity 0 to every row, including itself.
// The caller scales rows so that no sum overflows and no row vanishes (kernels/_operand.py).
//
// Reference: reference/gmm.py.
#pragma once

#include <cstdint>

#include "core/pair.h"
#include "kernelsketch/by_type.h"
#include "kernelsketch/interrupt.h"
#include "kernelsketch/rows.h"

namespace kernelsketch {

struct Isa;

inline constexpr int64_t kFeatureGroup = 8;      // features that are added as a tree
inline constexpr int64_t kFeatureChunk = 64;     // features that are summed before the sum goes to a double
inline constexpr int64_t kByteGroup = 8;         // features per step of the byte kernel
inline constexpr int64_t kPanelFeatures = 2048;  // features per packed panel (a multiple of kFeatureChunk)

using ks::Ratio;

// The arithmetic of one instruction set; src/isa/gmm.cpp fills it in.
template <class T>
struct GmmOps {
  int rows;  // rows per register tile
  int cols;  // columns per register tile and per packed panel
  // sums[rows][cols] = M of `n` <= rows rows of `a` (stride apart) and a panel [d][cols], d padded
  // with zeros to a multiple of kFeatureGroup. When features arrive in several panels, `totals` carries
  // the doubles between calls: `start` on the first, `end` on the last.
  void (*tile)(const T* a, int64_t stride, int n, const T* panel, int64_t d, double* totals, T* sums, bool start,
               bool end);
  // out[n][m] from the M (or, if `distances`, the D) of a tile; b_sum and b_abs are padded to whole vectors.
  void (*finish)(const T* sums, int stride, bool distances, int n, int m, const T* a_sum, const T* a_abs,
                 const T* b_sum, const T* b_abs, T* out, int64_t out_stride, Ratio ratio);
  // minima[j] += min(size, sign * column[j]) where that is positive: one feature of a sparse row against a column.
  void (*add_minima)(double* minima, const T* column, int64_t m, T size, T sign);
  // out[m] from the double M of one sparse row, which are set back to 0.
  void (*finish_sparse)(double* minima, int64_t m, double a_abs, const double* b_abs, T* out, Ratio ratio);
};

struct ByteOps {
  int rows;
  int cols;
  // distances[rows][cols] = D of byte rows, d a multiple of kByteGroup; the panel is [d / 8][cols][8].
  void (*tile)(const uint8_t* a, int64_t stride, int n, const uint8_t* panel, int64_t d, float* distances);
};

struct DifferenceOps {
  int rows;  // rows per tile
  int cols;  // features per tile
  // totals[cols] += sums of w[j][r] |a_r - x_j| over n rows of x, for `rows` rows a. Rows are `stride`
  // apart.
  void (*tile)(const float* a, const float* x, int64_t n, int64_t stride, const float* w, double* totals);
};

// `symmetric` says that b is a: then only one half is computed and the other half is mirrored.
template <class T>
void gmm_dense(const Isa& isa, DenseRows<T> a, DenseRows<T> b, Output<T> out, Ratio ratio, bool symmetric, int threads,
               Interrupted interrupted);

// The rows of a and b are padded by equal values to a multiple of kByteGroup bytes; the norms are their L1 norms.
template <class T>
void gmm_bytes(const Isa& isa, DenseRows<uint8_t> a, DenseRows<uint8_t> b, const T* a_norms, const T* b_norms,
               Output<T> out, Ratio ratio, bool symmetric, int threads, Interrupted interrupted);

template <class T, class Index>
void gmm_sparse(const Isa& isa, CsrRows<T, Index> a, CsrRows<T, Index> b, Output<T> out, Ratio ratio, bool symmetric,
                int threads, Interrupted interrupted);

// sums[d] = weighted differences of the rows; `weights` is [n][n], of which the part above the diagonal is read.
void weighted_differences(const Isa& isa, DenseRows<float> x, const float* weights, double* sums, int threads,
                          Interrupted interrupted);

}  // namespace kernelsketch
