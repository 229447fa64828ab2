// The generalized min-max kernel of two sets of rows.
//
//   GMM(u, v) = sum min(u~, v~) / sum max(u~, v~),   u~, v~: u, v with the signs split into two slots.
//
// No sign split is needed. With |.| the L1 norm, sum max = |u| + |v| - sum min and
//   D = |u - v| = sum u + sum v - 2 M,    M = sum min(u_f, v_f) on the signed values,
//   GMM = (|u| + |v| - D) / (|u| + |v| + D),
// so one pass of minima and additions serves.
//
// Dense rows. M is summed over groups of eight features as a tree, the groups added in turn to a sum of
// the input's type, which every 64 features is added to a double. With unit roundoff e, a sum of
// terms of one size is off by at most (8 + 1) / 2 e + 3 e = 7.5 e relative, whatever the number of
// features. Near GMM = 1, where it matters most, the errors of M, sum u and sum v can add up to 30 e in
// the quotient, 1.8e-6 for float32; the worst constructed data gave 1.6e-6, random data give 2e-7.
// Row sums take the same order, so D is exactly 0 for equal rows and their kernel exactly 1. The result
// does not depend on the vector width, on threads or on blocks. It is clipped to [0, 1].
//
// Bytes. Rows of integers that span at most 255 and lie in [-255, 255], up to 16,384 features: every
// sum above is an integer below 2^24, so D by sums of absolute differences of bytes gives the same bits.
//
// Sparse rows. M is the sum over shared features of equal sign of min(|u_f|, |v_f|), in double, in
// the order of the features; GMM = M / ((|u| + |v|) - M) in double, rounded once.
//
// A row of zeros has similarity 0 to every row, itself included.
// The caller scales rows so that no sum overflows and no row vanishes (kernels/_operand.py).
#pragma once

#include <cstdint>

namespace kernelsketch {

inline constexpr int64_t kGroup = 8;            // features added as a tree
inline constexpr int64_t kChunk = 64;           // features summed before the double
inline constexpr int64_t kByteGroup = 8;        // features in one step of the byte kernel
inline constexpr int64_t kPanelFeatures = 2048; // features of a packed panel (a multiple of kChunk)

// What the sums become: sum min / sum max, or sum min over the mean of the two norms, which for
// rows of unit norm is the intersection kernel.
enum class Ratio : int { min_max = 0, intersection = 1 };

// The arithmetic of one instruction set; src/isa/gmm.cpp fills it in.
template <class T>
struct GmmOps {
  int rows;  // of a register tile
  int cols;  // of a register tile and of a packed panel
  // sums[rows][cols] = M of `n` <= rows rows of `a` (stride apart) and a panel [d][cols], d padded
  // with zeros to a multiple of kGroup. When features arrive in several panels, `totals` carries
  // the doubles between calls: `start` on the first, `end` on the last.
  void (*tile)(const T* a, int64_t stride, int n, const T* panel, int64_t d, double* totals, T* sums,
               bool start, bool end);
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

template <class T>
struct Dense {
  const T* data;
  int64_t n;
  int64_t d;
  int64_t stride;  // elements between rows
};

template <class T, class Index>
struct Csr {
  const int64_t* indptr;
  const Index* indices;  // ascending within a row, no duplicates
  const T* data;
  int64_t n;
  int64_t d;
};

template <class T>
struct Output {
  T* data;
  int64_t stride;
};

// Asked now and then from the calling thread; true ends the work early.
using Interrupted = bool (*)();

struct Isa;

// `symmetric`: b is a; only half is computed, the rest is mirrored.
template <class T>
void gmm_dense(const Isa& isa, Dense<T> a, Dense<T> b, Output<T> out, Ratio ratio, bool symmetric, int threads,
               Interrupted interrupted);

// a, b: bytes with rows padded by equal values to a multiple of kByteGroup; norms: the L1 norms of the rows.
template <class T>
void gmm_bytes(const Isa& isa, Dense<uint8_t> a, Dense<uint8_t> b, const T* a_norms, const T* b_norms,
               Output<T> out, Ratio ratio, bool symmetric, int threads, Interrupted interrupted);

template <class T, class Index>
void gmm_sparse(const Isa& isa, Csr<T, Index> a, Csr<T, Index> b, Output<T> out, Ratio ratio, bool symmetric,
                int threads, Interrupted interrupted);

}  // namespace kernelsketch
