// The Cholesky factor of a symmetric positive definite matrix, and the solution of equations with it.
//
// A matrix is [m][ld], ld a multiple of 64 and 0 beyond column m. The factor L takes its place: its rows below the diagonal, and its columns as
// rows above it, so that both halves are read in the order of memory. Every element subtracts its products one after
// the other, in the order of columns, without contraction: the factor does not depend on threads, on instruction sets
// or on the panels into which the work is cut.
#pragma once

#include <cstdint>

#include "kernelsketch/by_type.h"

namespace kernelsketch {

class Lead;

inline constexpr int64_t kColumns = 64;  // columns that are finished together

// The arithmetic of one instruction set; src/isa/cholesky.cpp fills it in.
template <class Real>
struct CholeskyOps {
  // Rows `first` .. `last` - 1 of the panel of columns `left` .. `left` + 63: subtracts the products of the columns
  // before the panel.
  void (*subtract)(Real* a, int64_t ld, int64_t left, int64_t first, int64_t last);
  // Divides the same rows, which are below the panel's own, by the panel's factor, and mirrors them.
  void (*divide)(Real* a, int64_t ld, int64_t left, int64_t first, int64_t last);
  // x becomes the solution of L L' x = b. It has ld elements.
  void (*solve)(const Real* a, int64_t m, int64_t ld, Real* x);
};

// Factors a matrix, with the helpers of a leader.
template <class Real>
void factor(const CholeskyOps<Real>& ops, Lead& lead, Real* a, int64_t m, int64_t ld);

}  // namespace kernelsketch
