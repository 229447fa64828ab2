// The arithmetic of cholesky.h for one instruction set. Compiled once per set: see simd.h for what may be included.
#include "kernelsketch/cholesky.h"

#include "kernelsketch/simd.h"

namespace kernelsketch::KERNELSKETCH_ISA {
namespace {

// N rows of one panel, as many columns at a time as there are registers for.
template <int N, class Real>
KS_INLINE void subtract_rows(Real* a, int64_t ld, int64_t left, int64_t first) {
  using V = Vec<Real>;
  constexpr int kVectors = 4;
  for (int64_t at = left; at < left + kColumns; at += kVectors * V::width) {
    V sum[N][kVectors];
    for (int i = 0; i < N; ++i)
      for (int v = 0; v < kVectors; ++v) sum[i][v] = V::load(a + (first + i) * ld + at + v * V::width);
    for (int64_t p = 0; p < left; ++p) {
      const Real* of = a + p * ld + at;  // a column of L
      V column[kVectors];
      for (int v = 0; v < kVectors; ++v) column[v] = V::load(of + v * V::width);
      KS_UNROLL
      for (int i = 0; i < N; ++i) {
        const V factor = V::set(a[(first + i) * ld + p]);
        KS_UNROLL
        for (int v = 0; v < kVectors; ++v) sum[i][v] = sum[i][v] - factor * column[v];
      }
    }
    for (int i = 0; i < N; ++i)
      for (int v = 0; v < kVectors; ++v) sum[i][v].store(a + (first + i) * ld + at + v * V::width);
  }
}

template <class Real>
void subtract(Real* a, int64_t ld, int64_t left, int64_t first, int64_t last) {
  constexpr int kRows = Vec<Real>::width * sizeof(Real) == 64 ? 4 : 2;  // as many as there are registers for
  for (; first + kRows <= last; first += kRows) subtract_rows<kRows>(a, ld, left, first);
  for (; first < last; ++first) subtract_rows<1>(a, ld, left, first);
}

// x[i] -= factor y[i] from `begin` on, which need not be aligned
template <class Real>
KS_INLINE void reduce(Real* x, Real factor, const Real* y, int64_t begin, int64_t end) {
  using V = Vec<Real>;
  const V by = V::set(factor);
  int64_t i = begin;
  for (; i + V::width <= end; i += V::width) (V::load(x + i) - by * V::load(y + i)).store(x + i);
  for (; i < end; ++i) x[i] = x[i] - factor * y[i];
}

template <class Real>
void divide(Real* a, int64_t ld, int64_t left, int64_t first, int64_t last) {
  const int64_t right = left + kColumns;
  for (int64_t i = first; i < last; ++i) {
    Real* row = a + i * ld;
    for (int64_t j = left; j < right; ++j) {
      row[j] = row[j] / a[j * ld + j];
      reduce(row, row[j], a + j * ld, j + 1, right);
    }
  }
  for (int64_t j = left; j < right; ++j)
    for (int64_t i = first; i < last; ++i) a[j * ld + i] = a[i * ld + j];
}

// N unknowns, one after the other, and then all that are left: these are read and written once for N of them. Unknown i
// of the N is at `at[i]`; those that are left are from `begin` to `end`.
template <int N, class Real>
KS_INLINE void solve_some(const Real* a, int64_t ld, Real* x, const int64_t* at, int64_t begin, int64_t end) {
  using V = Vec<Real>;
  KS_UNROLL
  for (int i = 0; i < N; ++i) {
    const Real* row = a + at[i] * ld;
    x[at[i]] = x[at[i]] / row[at[i]];
    KS_UNROLL
    for (int j = i + 1; j < N; ++j) x[at[j]] = x[at[j]] - x[at[i]] * row[at[j]];
  }
  V by[N];
  for (int i = 0; i < N; ++i) by[i] = V::set(x[at[i]]);
  int64_t u = begin;
  for (; u + V::width <= end; u += V::width) {
    V sum = V::load(x + u);
    KS_UNROLL
    for (int i = 0; i < N; ++i) sum = sum - by[i] * V::load(a + at[i] * ld + u);
    sum.store(x + u);
  }
  for (; u < end; ++u)
    for (int i = 0; i < N; ++i) x[u] = x[u] - x[at[i]] * a[at[i] * ld + u];
}

template <class Real>
void solve(const Real* a, int64_t m, int64_t ld, Real* x) {
  constexpr int kTogether = 4;
  int64_t j = 0, at[kTogether];
  for (; j + kTogether <= m; j += kTogether) {
    for (int i = 0; i < kTogether; ++i) at[i] = j + i;
    solve_some<kTogether>(a, ld, x, at, j + kTogether, m);
  }
  for (; j < m; ++j) solve_some<1>(a, ld, x, &j, j + 1, m);
  for (j = m; j >= kTogether; j -= kTogether) {
    for (int i = 0; i < kTogether; ++i) at[i] = j - 1 - i;
    solve_some<kTogether>(a, ld, x, at, 0, j - kTogether);
  }
  for (; j > 0; --j) {
    at[0] = j - 1;
    solve_some<1>(a, ld, x, at, 0, j - 1);
  }
}

}  // namespace

extern const ByType<CholeskyOps> cholesky = {{subtract, divide, solve}, {subtract, divide, solve}};

}  // namespace kernelsketch::KERNELSKETCH_ISA
