// Losses, and the exact minimization of the dual in one coordinate.
//
// Consider a row with decision value f, target y, cost c, q = |x|^2 and dual variable beta. A loss is a struct with
//   value(f, y, c)             the loss;
//   conjugate(beta, y, c)      its convex conjugate at -beta;
//   gradient(f, y, beta, c)    how far beta is from the minimum of the dual in its coordinate: 0 at the minimum,
//                              projected at bounds;
//   can_shrink(f, y, threshold) whether a row that does not move, at beta = 0, has slack above the threshold.
// The minimum in one coordinate is the beta' that minimizes q/2 (beta' - beta)^2 + f (beta' - beta) + conjugate(beta').
// If the conjugate is ridge/2 beta^2 - y beta between two bounds, a loss says so by
//   ridge(c), low(y, c), high(y, c),
// and the minimum is beta - (f - y + ridge beta) / (q + ridge), or the nearer bound. Any other loss has
//   step(f, y, beta, c, q)     the minimum.
// A loss whose derivative is continuous also has
//   dual(f, y, c)              minus its derivative, which is beta at the solution;
//   curvature(f, y, c)         its second derivative, from one side where it jumps.
// A loss with a parameter holds it as its only member, `epsilon`.
//
// `value` and `conjugate` always compute in double, the others in Real, float or double.
//
// Reference: reference/linear.py has the same formulas.
#pragma once

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

#include "kernelsketch/linear.h"

namespace kernelsketch {

// The list of losses: the name that Python and the enumeration use, and the struct. To add a loss, write its struct
// below and add a line at the end here. Dispatch, the checks of the bindings and `loss_names` follow from this list.
#define KERNELSKETCH_LOSSES(LOSS)      \
  LOSS(squared_hinge, SquaredHinge)    \
  LOSS(hinge, Hinge)                   \
  LOSS(log_loss, LogLoss)              \
  LOSS(squared_error, SquaredError)    \
  LOSS(huber, Huber)

#define KERNELSKETCH_LOSS_VALUE(name, Struct) name,
#define KERNELSKETCH_LOSS_NAME(name, Struct) #name,
enum class Loss : int { KERNELSKETCH_LOSSES(KERNELSKETCH_LOSS_VALUE) };
inline constexpr const char* kLossNames[] = {KERNELSKETCH_LOSSES(KERNELSKETCH_LOSS_NAME)};
inline constexpr int kLossCount = static_cast<int>(std::size(kLossNames));
#undef KERNELSKETCH_LOSS_VALUE
#undef KERNELSKETCH_LOSS_NAME

// c max(0, 1 - y f)^2
template <class Real>
struct SquaredHinge {
  static double value(double f, double y, double c) {
    const double m = 1 - y * f;
    return m > 0 ? c * m * m : 0;
  }
  static double conjugate(double beta, double y, double c) { return beta * beta / (4 * c) - y * beta; }
  static Real gradient(Real f, Real y, Real beta, Real c) {
    const Real a = y * beta, g = y * f - 1 + a * (Real{0.5} / c);
    return a > 0 || g < 0 ? g : 0;
  }
  static Real dual(Real f, Real y, Real c) {
    const Real m = 1 - y * f;
    return m > 0 ? y * (2 * c * m) : 0;
  }
  static Real curvature(Real f, Real y, Real c) { return 1 - y * f > 0 ? 2 * c : 0; }
  static Real ridge(Real c) { return Real{0.5} / c; }
  static Real low(Real y, Real) { return y > 0 ? 0 : -std::numeric_limits<Real>::infinity(); }
  static Real high(Real y, Real) { return y > 0 ? std::numeric_limits<Real>::infinity() : 0; }
  static bool can_shrink(Real f, Real y, Real threshold) { return y * f - 1 > threshold; }
};

// c max(0, 1 - y f)
template <class Real>
struct Hinge {
  static double value(double f, double y, double c) { return c * std::max(0.0, 1 - y * f); }
  static double conjugate(double beta, double y, double) { return -y * beta; }
  static Real gradient(Real f, Real y, Real beta, Real c) {
    const Real a = y * beta, g = y * f - 1;
    return (a > 0 || g < 0) && (a < c || g > 0) ? g : 0;
  }
  static Real ridge(Real) { return 0; }
  static Real low(Real y, Real c) { return y > 0 ? 0 : -c; }
  static Real high(Real y, Real c) { return y > 0 ? c : 0; }
  static bool can_shrink(Real f, Real y, Real threshold) { return y * f - 1 > threshold; }
};

// c log(1 + exp(-y f)). The minimum has no closed form. Newton's method finds it, in double, from the side where it
// converges.
template <class Real>
struct LogLoss {
  static constexpr double kLeast = 1e-8;  // share of c at which rows start
  static double value(double f, double y, double c) {
    const double m = -y * f;
    return c * (std::max(m, 0.0) + std::log1p(std::exp(-std::abs(m))));
  }
  static double conjugate(double beta, double y, double c) {
    const double a = std::clamp(y * beta, 0.0, c), rest = c - a;
    return (a > 0 ? a * std::log(a / c) : 0) + (rest > 0 ? rest * std::log(rest / c) : 0);
  }
  static double miss(Real f, Real y) { return 1 / (1 + std::exp(static_cast<double>(y) * static_cast<double>(f))); }
  static Real dual(Real f, Real y, Real c) { return static_cast<Real>(y * (c * miss(f, y))); }
  static Real curvature(Real f, Real y, Real c) {
    const double p = miss(f, y);
    return static_cast<Real>(c * (p * (1 - p)));
  }
  static double share(Real y, Real beta, double c) {
    return std::clamp(static_cast<double>(y) * static_cast<double>(beta), kLeast * c, (1 - kLeast) * c);
  }
  static Real gradient(Real f, Real y, Real beta, Real c) {
    const double cost = c, a = share(y, beta, cost);
    const double g = static_cast<double>(y) * static_cast<double>(f) + std::log(a / (cost - a));
    return static_cast<Real>(g * a * (cost - a) / (cost * cost));  // about the relative change of a
  }
  static Real step(Real f, Real y, Real beta, Real c, Real q) {
    const double cost = c, a = share(y, beta, cost), curve = q, slope = static_cast<double>(y) * static_cast<double>(f);
    const bool upper = curve * (cost / 2 - a) + slope < 0;  // the minimum is above c/2: look from the other end
    const double from = upper ? cost - a : a, b = upper ? -slope : slope;
    double z = std::min(from, cost / 2);
    for (int i = 0; i < 50; ++i) {
      const double g = curve * (z - from) + b + std::log(z / (cost - z));
      const double h = curve + cost / (z * (cost - z));
      const double next = z - g / h;
      const double to = next <= 0 ? z / 10 : std::min(next, cost / 2 + (cost / 2 - z) / 2);
      if (std::abs(to - z) <= 1e-12 * z) break;
      z = to;
    }
    z = std::max(z, kLeast * cost);
    return static_cast<Real>(static_cast<double>(y) * (upper ? cost - z : z));
  }
  static bool can_shrink(Real, Real, Real) { return false; }
};

// c (f - y)^2
template <class Real>
struct SquaredError {
  static double value(double f, double y, double c) { return c * (f - y) * (f - y); }
  static double conjugate(double beta, double y, double c) { return beta * beta / (4 * c) - y * beta; }
  static Real gradient(Real f, Real y, Real beta, Real c) { return f - y + beta * (Real{0.5} / c); }
  static Real dual(Real f, Real y, Real c) { return 2 * c * (y - f); }
  static Real curvature(Real, Real, Real c) { return 2 * c; }
  static Real ridge(Real c) { return Real{0.5} / c; }
  static Real low(Real, Real) { return -std::numeric_limits<Real>::infinity(); }
  static Real high(Real, Real) { return std::numeric_limits<Real>::infinity(); }
  static bool can_shrink(Real, Real, Real) { return false; }
};

// c r^2 up to |r| = epsilon, then c epsilon (2 |r| - epsilon)
template <class Real>
struct Huber {
  Real epsilon;
  double value(double f, double y, double c) const {
    const double r = std::abs(f - y), e = epsilon;
    return c * (r <= e ? r * r : e * (2 * r - e));
  }
  static double conjugate(double beta, double y, double c) { return beta * beta / (4 * c) - y * beta; }
  Real gradient(Real f, Real y, Real beta, Real c) const {
    const Real g = f - y + beta * (Real{0.5} / c), most = 2 * c * epsilon;
    return (beta > -most || g < 0) && (beta < most || g > 0) ? g : 0;
  }
  Real dual(Real f, Real y, Real c) const {
    const Real r = y - f;
    return 2 * c * (r > epsilon ? epsilon : r < -epsilon ? -epsilon : r);
  }
  Real curvature(Real f, Real y, Real c) const { return std::abs(y - f) <= epsilon ? 2 * c : 0; }
  static Real ridge(Real c) { return Real{0.5} / c; }
  Real low(Real, Real c) const { return -high(0, c); }
  Real high(Real, Real c) const { return 2 * c * epsilon; }
  static bool can_shrink(Real, Real, Real) { return false; }
};

// call(the loss of an objective)
template <class Real, class Call>
void with_loss(const LinearObjective& objective, const Call& call) {
  const auto make = [&]<class LossOf>() -> LossOf {
    if constexpr (requires { LossOf{Real{}}; })
      return {static_cast<Real>(objective.epsilon)};
    else
      return {};
  };
  switch (objective.loss) {
#define KERNELSKETCH_LOSS_CASE(name, Struct) \
  case Loss::name:                           \
    return call(make.template operator()<Struct<Real>>());
    KERNELSKETCH_LOSSES(KERNELSKETCH_LOSS_CASE)
#undef KERNELSKETCH_LOSS_CASE
  }
}

}  // namespace kernelsketch
