// The scalars of a step of Newton's method, as in the specification (reference/newton.py): when its equations are solved
// exactly enough, the lengths of conjugate gradients, and the search along the step. C++ only.
#pragma once

#include "core/overloads.h"

namespace ks {

// A step is exact enough when the residual of its equations is this share of the gradient,
KS_FUNCTION double exact_enough(double squared_gradient) { return 0.25 * 0.25 * squared_gradient; }

// or this share of the gradient at which the solver stops. Both are squared norms.
KS_FUNCTION double aim(double tol, double objective) { return 0.5 * 0.5 * 2 * tol * objective; }

// How far conjugate gradients go along a direction v, from r . P^-1 r and v . Hv; 0 where they end.
KS_FUNCTION double conjugate_length(double residual, double curvature) {
  return curvature > 0 && residual > 0 ? residual / curvature : 0;
}

// How much of the last direction the next one keeps.
KS_FUNCTION double conjugate_turn(double residual, double before) { return before > 0 ? residual / before : 0; }

// The lengths of a step x that are compared.
constexpr int kLengthCount = 8;
KS_FUNCTION double length_of_step(int t) {
  constexpr double lengths[kLengthCount] = {1.5, 1.25, 1.0, 0.75, 0.5, 0.25, 0.0625, 0.00390625};
  return lengths[t];
}

// The length with the smallest objective, from |w|^2, w . x, |x|^2 and the losses at each; 0 if none is below `objective`.
template <class Losses>
KS_FUNCTION double best_length(double squares, double product, double of_x, double objective, const Losses& losses_at) {
  double best = objective, length = 0;
  for (int t = 0; t < kLengthCount; ++t) {
    const double by = length_of_step(t), found = (squares + 2 * product * by + of_x * by * by) / 2 + losses_at(t);
    if (found < best) {
      best = found;
      length = by;
    }
  }
  return length;
}

}  // namespace ks
