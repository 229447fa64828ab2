// Losses, and the exact minimization of the dual in one coordinate, operation by operation as in the specification
// (src/kernelsketch/_loss_formulas.py). C++ only.
//
// Consider a row with decision value f, target y, cost c, q = |x|^2 and dual variable beta. A loss is a struct of static
// functions, some of which depend on the parameter of the loss, if it has one:
//   value(f, y, c, parameter)    the loss;
//   conjugate(beta, y, c)        its convex conjugate at -beta;
//   low, high(y, c, parameter)   the bounds of beta.
// The minimum in one coordinate is the beta' that minimizes q/2 (beta' - beta)^2 + f (beta' - beta) + conjugate(beta').
// If the conjugate is ridge/2 beta^2 - y beta (kHasRidge), a loss has
//   ridge(c),
// and the minimum is beta - (f - y + ridge beta) / (q + ridge), or the nearer bound. Any other loss has
//   step(f, y, beta, c, q)       the minimum, and
//   gradient(f, y, beta, c)      how far beta is from it.
// A loss whose derivative is continuous (kIsSmooth) also has
//   dual(f, y, c, parameter)       minus its derivative, which is beta at the solution;
//   curvature(f, y, c, parameter)  its second derivative, from one side where it jumps.
// With kHasMargin, rows beyond a margin have a loss of 0.
//
// `value` and `conjugate` always compute in double, the others in Real, float or double.
#pragma once

#include "core/overloads.h"

// The list of losses: the name that Python and the enumeration use, and the struct. To add a loss, write its struct
// below and add a line at the end here. Dispatch in native code and on GPUs, and what they refuse, follow from this list.
#define KS_LOSSES(LOSS)             \
  LOSS(squared_hinge, SquaredHinge) \
  LOSS(hinge, Hinge)                \
  LOSS(log_loss, LogLoss)           \
  LOSS(squared_error, SquaredError) \
  LOSS(huber, Huber)                \
  LOSS(quantile, Quantile)

namespace ks {

#define KS_LOSS_NUMBER(name, Struct) name,
enum class Loss : int { KS_LOSSES(KS_LOSS_NUMBER) };
#undef KS_LOSS_NUMBER

namespace {  // code for one instruction set stays in its file

// The conjugate of a squared loss, and that of a loss with straight sides.
template <class Real>
struct Squared {
  static constexpr bool kHasRidge = true, kIsSmooth = true, kHasMargin = false;
  static double conjugate(double beta, double y, double c) { return beta * beta / (4 * c) - y * beta; }
  static Real ridge(Real c) { return quotient(Real(0.5), c); }
};
template <class Real>
struct Straight {
  static constexpr bool kHasRidge = true, kIsSmooth = false, kHasMargin = false;
  static double conjugate(double beta, double y, double) { return -y * beta; }
  static Real ridge(Real) { return 0; }
};

// c max(0, 1 - y f)^2
template <class Real>
struct SquaredHinge : Squared<Real> {
  static constexpr bool kHasMargin = true;
  static double value(double f, double y, double c, double) {
    const double m = 1 - y * f;
    return m > 0 ? c * m * m : 0;
  }
  static Real low(Real y, Real, Real) { return y > 0 ? Real(0) : -infinity<Real>(); }
  static Real high(Real y, Real, Real) { return y > 0 ? infinity<Real>() : Real(0); }
  static Real dual(Real f, Real y, Real c, Real) {
    const Real m = 1 - y * f;
    return m > 0 ? y * (2 * c * m) : 0;
  }
  static Real curvature(Real f, Real y, Real c, Real) { return 1 - y * f > 0 ? 2 * c : 0; }
};

// c max(0, 1 - y f)
template <class Real>
struct Hinge : Straight<Real> {
  static constexpr bool kHasMargin = true;
  static double value(double f, double y, double c, double) { return c * larger(0.0, 1 - y * f); }
  static Real low(Real y, Real c, Real) { return y > 0 ? 0 : -c; }
  static Real high(Real y, Real c, Real) { return y > 0 ? c : 0; }
};

// c log(1 + exp(-y f)). The minimum has no closed form. Newton's method finds it, in double, from the side where it
// converges.
template <class Real>
struct LogLoss {
  static constexpr bool kHasRidge = false, kIsSmooth = true, kHasMargin = false;
  static constexpr double kLeast = 1e-8;  // share of c at which rows start
  static double value(double f, double y, double c, double) {
    const double m = -y * f;
    return c * (larger(m, 0.0) + ks_log1p(ks_exp(-magnitude(m))));
  }
  static double conjugate(double beta, double y, double c) {
    const double a = between(y * beta, 0.0, c), rest = c - a;
    return (a > 0 ? a * ks_log(a / c) : 0) + (rest > 0 ? rest * ks_log(rest / c) : 0);
  }
  static Real low(Real y, Real c, Real) { return y > 0 ? 0 : -c; }
  static Real high(Real y, Real c, Real) { return y > 0 ? c : 0; }
  static double miss(Real f, Real y) { return 1 / (1 + ks_exp((double)y * (double)f)); }
  static Real dual(Real f, Real y, Real c, Real) { return (Real)((double)y * ((double)c * miss(f, y))); }
  static Real curvature(Real f, Real y, Real c, Real) {
    const double p = miss(f, y);
    return (Real)((double)c * (p * (1 - p)));
  }
  static double share(Real y, Real beta, double c) {
    return between((double)y * (double)beta, kLeast * c, (1 - kLeast) * c);
  }
  static Real gradient(Real f, Real y, Real beta, Real c) {
    const double cost = (double)c, a = share(y, beta, cost);
    const double g = (double)y * (double)f + ks_log(a / (cost - a));
    return (Real)(g * a * (cost - a) / (cost * cost));  // about the relative change of a
  }
  static Real step(Real f, Real y, Real beta, Real c, Real q) {
    const double cost = (double)c, a = share(y, beta, cost), curve = (double)q, slope = (double)y * (double)f;
    const bool upper = curve * (cost / 2 - a) + slope < 0;  // the minimum is above c/2: look from the other end
    const double from = upper ? cost - a : a, b = upper ? -slope : slope;
    double z = smaller(from, cost / 2);
    for (int i = 0; i < 50; ++i) {
      const double g = curve * (z - from) + b + ks_log(z / (cost - z));
      const double h = curve + cost / (z * (cost - z));
      const double next = z - g / h;
      const double to = next <= 0 ? z / 10 : smaller(next, cost / 2 + (cost / 2 - z) / 2);
      if (magnitude(to - z) <= 1e-12 * z) break;
      z = to;
    }
    z = larger(z, kLeast * cost);
    return (Real)((double)y * (upper ? cost - z : z));
  }
};

// c (f - y)^2
template <class Real>
struct SquaredError : Squared<Real> {
  static double value(double f, double y, double c, double) { return c * (f - y) * (f - y); }
  static Real low(Real, Real, Real) { return -infinity<Real>(); }
  static Real high(Real, Real, Real) { return infinity<Real>(); }
  static Real dual(Real f, Real y, Real c, Real) { return 2 * c * (y - f); }
  static Real curvature(Real, Real, Real c, Real) { return 2 * c; }
};

// c r^2 up to |r| = |f - y| = epsilon, then c epsilon (2 |r| - epsilon)
template <class Real>
struct Huber : Squared<Real> {
  static double value(double f, double y, double c, double epsilon) {
    const double r = magnitude(f - y);
    return c * (r <= epsilon ? r * r : epsilon * (2 * r - epsilon));
  }
  static Real low(Real, Real c, Real epsilon) { return -(2 * c * epsilon); }
  static Real high(Real, Real c, Real epsilon) { return 2 * c * epsilon; }
  static Real dual(Real f, Real y, Real c, Real epsilon) {
    const Real r = y - f;
    return 2 * c * (r > epsilon ? epsilon : r < -epsilon ? -epsilon : r);
  }
  static Real curvature(Real f, Real y, Real c, Real epsilon) { return magnitude(y - f) <= epsilon ? 2 * c : 0; }
};

// c q (y - f) for targets above the decision value, c (1 - q) (f - y) for those below it
template <class Real>
struct Quantile : Straight<Real> {
  static double value(double f, double y, double c, double q) {
    const double r = y - f;
    return c * larger(q * r, (q - 1) * r);
  }
  static Real low(Real, Real c, Real q) { return -((1 - q) * c); }
  static Real high(Real, Real c, Real q) { return q * c; }
};

}  // namespace

// How far beta is from the minimum of the dual in its coordinate: 0 at the minimum and where a bound holds it.
template <class Real, template <class> class LossOf>
KS_FUNCTION Real gradient_of(LossOf<Real>, Real f, Real y, Real beta, Real c, Real parameter) {
  if constexpr (LossOf<Real>::kHasRidge) {
    const Real g = f - y + beta * LossOf<Real>::ridge(c);
    return (beta > LossOf<Real>::low(y, c, parameter) || g < 0) && (beta < LossOf<Real>::high(y, c, parameter) || g > 0)
               ? g
               : Real(0);
  } else {
    return LossOf<Real>::gradient(f, y, beta, c);
  }
}

// Whether a row that does not move, at beta = 0, has slack above the threshold.
template <class Real, template <class> class LossOf>
KS_FUNCTION bool can_shrink(LossOf<Real>, Real f, Real y, Real threshold) {
  return LossOf<Real>::kHasMargin && y * f - 1 > threshold;
}

// call(a loss), by its number in the list. Returns whether there is such a loss.
template <class Real, class Call>
KS_FUNCTION bool with_loss(ks_i64 number, const Call& call) {
  switch (number) {
#define KS_LOSS_CASE(name, Struct) \
  case (ks_i64)Loss::name: call(Struct<Real>{}); return true;
    KS_LOSSES(KS_LOSS_CASE)
#undef KS_LOSS_CASE
    default: return false;
  }
}

}  // namespace ks
