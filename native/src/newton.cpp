// Steps of Newton's method: gradients, conjugate gradients with a preconditioner, and the search along a step.
#include "kernelsketch/newton.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "block_products.h"
#include "core/losses.h"
#include "core/newton.h"
#include "kernelsketch/cholesky.h"
#include "kernelsketch/dispatch.h"
#include "kernelsketch/parallel.h"
#include "kernelsketch/team.h"
#include "symbol_sums.h"

namespace kernelsketch {
namespace {

constexpr int kLanes = 8;
constexpr double kRidge = 0.1;  // for what a sample does not see of the Hessian

// A sum in lanes: term i goes to lane i % 8.
struct LaneSum {
  double lanes[kLanes] = {};
  void add(int64_t i, double x) { lanes[i % kLanes] += x; }
  double total() const {
    double sum = 0;
    for (const double lane : lanes) sum += lane;
    return sum;
  }
};

// Sums of the shares of a job, each on a cache line of its own.
class ShareSums {
 public:
  double& operator[](int share) { return of_[share].sum; }
  double total() const {
    double sum = 0;
    for (const auto& share : of_) sum += share.sum;
    return sum;
  }

 private:
  struct alignas(64) One {
    double sum = 0;
  };
  One of_[kShares];
};

// A vector of the space of models: a table and a bias.
template <class Real>
struct Vector {
  explicit Vector(int64_t cells) : table(cells) {}
  Buffer<Real> table;
  double bias = 0;
};

// Rows that are not empty and have a derivative: those that a step looks at.
template <class Real>
struct ActiveRows {
  explicit ActiveRows(int64_t n) : index(n), beta(n), curvature(n) {}
  Buffer<int32_t> index;
  Buffer<Real> beta, curvature;
  int64_t size = 0;
};

// The memory that a leader works in.
template <class Real>
struct Scratch {
  Scratch(const LinearOps<Real>& ops, const Symbols& symbols, int64_t n, int64_t k, int64_t stride, int threads)
      : moved(n), active(n), along(n), x(k * stride), r(k * stride), v(k * stride), q(k * stride), z(k * stride),
        sums(ops, symbols, k, stride, threads) {}
  Buffer<Real> moved;  // [n]: decision values of the step
  ActiveRows<Real> active;
  Buffer<Real> along;          // D times the decision values of a direction, by active row
  Vector<Real> x, r, v, q, z;  // the step, what is left of its equations, a direction, its product; P^-1 r
  SymbolSums<Real> sums;
  std::vector<int32_t> sample;  // rows: their numbers in the sample
  std::vector<Real> values;     // a number for each
};

template <class Code, class Real, class LossOf>
class NewtonProblem {
 public:
  NewtonProblem(const Isa& isa, const CodeRows<Code>& x, const LinearObjective& objective, const NewtonStep<Real>& step,
                const WeightTables<Real>& tables, int64_t number, Team& team, Scratch<Real>& scratch)
      : isa_(isa), x_(x), step_(step), parameter_(static_cast<Real>(objective.parameter)), number_(number),
        stride_(tables.stride), cells_(x.k * tables.stride), symbols_(step.symbols), w_(tables.w + number * cells_),
        bias_(tables.bias[number]), beta_(step.beta + number * step.ld), f_(step.f + number * step.ld),
        scale_(objective.scale), share_(1 / static_cast<Real>(x.k)), stats_(step.stats + kNewtonStats * number),
        lead_(team, number, false), of_(scratch) {}

  void run(const Items& next) {
    if (step_.fresh[number_]) decide(w_, bias_, f_);
    find_residuals();
    const double gradient = find_gradient(), squares = dot(w_, w_) + bias_ * bias_, objective = squares / 2 + losses_;
    stats_[0] = objective;
    stats_[1] = gradient / 2;
    stats_[2] = 1;
    stats_[3] = 0;
    if (stats_[1] <= step_.tol * objective || step_.most[number_] <= 1 || next.stopped()) return;
    make_preconditioner();
    conjugate_gradients(std::max(ks::exact_enough(gradient), ks::aim(step_.tol, objective)), next);
    if (!next.stopped()) search(squares, objective);
  }

 private:
  // f = sum of the weights of the row's codes, and the intercept
  void decide(const Real* table, double bias, Real* f) {
    const Real intercept = static_cast<Real>(scale_ * bias);
    of_.sums.widen(lead_, table);
    lead_.share_out(x_.n * symbols_.k >= kJobCodes, [&](int share) {
      const Slice slice = slice_of(x_.n, share);
      const uint16_t* rows[kRowsAtOnce];
      Real sums[kRowsAtOnce];
      for (int64_t first = slice.first; first < slice.last; first += kRowsAtOnce) {
        const int64_t last = std::min(slice.last, first + kRowsAtOnce);
        int64_t full = 0;
        for (int64_t i = first; i < last; ++i)
          if (!x_.empty[i]) rows[full++] = symbols_.row(i);
        std::fill_n(sums, full, Real{0});
        of_.sums.add_weights(rows, full, sums);
        full = 0;
        for (int64_t i = first; i < last; ++i) f[i] = (x_.empty[i] ? 0 : sums[full++]) + intercept;
        symbols_.map.release(symbols_.row(first), symbols_.row(last));
      }
    });
  }
  // Losses and duals of all rows, and the list of active rows.
  void find_residuals() {
    ShareSums losses, betas, of_empty;
    int64_t counts[kShares + 1] = {};
    ActiveRows<Real>& active = of_.active;
    const bool worth_it = x_.n * 8 >= kJobCodes;
    lead_.share_out(worth_it, [&](int share) {
      const Slice slice = slice_of(x_.n, share);
      LaneSum loss, beta;
      double empty = 0;
      int64_t count = 0;
      for (int64_t i = slice.first; i < slice.last; ++i) {
        const float y = step_.targets.y_of(i, number_), cost = step_.targets.cost_of(i, number_, y);
        const Real curvature = LossOf::curvature(f_[i], y, cost, parameter_);
        loss.add(i - slice.first, LossOf::value(f_[i], y, cost, parameter_));
        beta_[i] = LossOf::dual(f_[i], y, cost, parameter_);
        beta.add(i - slice.first, beta_[i]);
        if (x_.empty[i])
          empty += curvature;
        else
          count += beta_[i] != 0 || curvature > 0;
      }
      losses[share] = loss.total();
      betas[share] = beta.total();
      of_empty[share] = empty;
      counts[share + 1] = count;
    });
    losses_ = losses.total();
    betas_ = betas.total();
    empty_curvature_ = of_empty.total();
    for (int share = 0; share < kShares; ++share) counts[share + 1] += counts[share];
    active.size = counts[kShares];
    lead_.share_out(worth_it, [&](int share) {
      const Slice slice = slice_of(x_.n, share);
      int64_t at = counts[share];
      for (int64_t i = slice.first; i < slice.last && at < counts[share + 1]; ++i) {
        if (x_.empty[i]) continue;
        const float y = step_.targets.y_of(i, number_);
        const Real curvature = LossOf::curvature(f_[i], y, step_.targets.cost_of(i, number_, y), parameter_);
        if (beta_[i] == 0 && !(curvature > 0)) continue;
        active.index[at] = static_cast<int32_t>(i);
        active.beta[at] = beta_[i];
        active.curvature[at++] = curvature;
      }
    });
  }

  // r = X'beta - w; returns its squared norm.
  double find_gradient() {
    const int64_t slices = of_.sums.slices_for(of_.active.size);
    of_.sums.scatter(lead_, symbols_, of_.active.index.get(), of_.active.size, of_.active.beta.get(), slices);
    of_.sums.narrow(lead_, slices);
    Vector<Real>& r = of_.r;
    r.bias = scale_ * betas_ - bias_;
    return in_cells([&](int64_t q) {
             r.table[q] = of_.sums.of_code(q) * share_ - w_[q];
             return square(r.table[q]);
           }) * static_cast<double>(x_.k) +
           r.bias * r.bias;
  }

  void conjugate_gradients(double target, const Items& next) {
    Vector<Real>&x = of_.x, &r = of_.r, &v = of_.v, &q = of_.q, &z = of_.z;
    std::fill_n(x.table.get(), cells_, Real{0});
    x.bias = 0;
    double rz = precondition();
    std::copy_n(z.table.get(), cells_, v.table.get());
    v.bias = z.bias;
    while (stats_[2] < static_cast<double>(step_.most[number_]) && !next.stopped()) {
      const double along = ks::conjugate_length(rz, multiply());
      stats_[2] += 1;
      if (along == 0) return;
      const Real length = static_cast<Real>(along);
      x.bias += static_cast<double>(length) * v.bias;
      r.bias -= static_cast<double>(length) * q.bias;
      const double left = in_cells([&](int64_t c) {
                            x.table[c] += length * v.table[c];
                            r.table[c] -= length * q.table[c];
                            return square(r.table[c]);
                          }) * static_cast<double>(x_.k) +
                          r.bias * r.bias;
      if (left <= target) return;
      const double before = rz;
      rz = precondition();
      const Real turn = static_cast<Real>(ks::conjugate_turn(rz, before));
      v.bias = z.bias + static_cast<double>(turn) * v.bias;
      in_cells([&](int64_t c) {
        v.table[c] = z.table[c] + turn * v.table[c];
        return 0.0;
      });
    }
  }

  // q = (1 + X'DX) v; returns v . q
  double multiply() {
    Vector<Real>&v = of_.v, &q = of_.q;
    const ActiveRows<Real>& active = of_.active;
    const int64_t n = active.size, slices = of_.sums.slices_for(n);
    const Real intercept = static_cast<Real>(scale_ * v.bias);
    const bool at_once = slices == kShares && of_.sums.fit(slices);
    of_.sums.make_slices(slices);
    of_.sums.widen(lead_, v.table.get());
    ShareSums totals;
    lead_.share_out(n * symbols_.k >= kJobCodes, [&](int share) {
      const Slice slice = slice_of(n, share);
      Real* to = at_once ? of_.sums.slice_table(share) : nullptr;
      if (to) std::fill_n(to, symbols_.k * symbols_.stride, Real{0});
      LaneSum total;
      of_.sums.in_blocks(symbols_, active.index.get(), slice,
                         [&](int64_t first, int64_t count, const uint16_t* const* rows) {
                           Real* along = of_.along.get() + first;
                           std::fill_n(along, count, Real{0});
                           of_.sums.add_weights(rows, count, along);
                           for (int64_t i = 0; i < count; ++i) {
                             along[i] = active.curvature[first + i] * (along[i] + intercept);
                             total.add(first + i - slice.first, along[i]);
                           }
                           if (to) of_.sums.add(rows, count, all_hashes(symbols_.k), along, to);
                         });
      totals[share] = total.total();
    });
    if (!at_once) of_.sums.scatter(lead_, symbols_, active.index.get(), n, of_.along.get(), slices);
    of_.sums.narrow(lead_, slices);
    q.bias = v.bias + scale_ * (totals.total() + empty_curvature_ * static_cast<double>(intercept));
    return in_cells([&](int64_t c) {
             q.table[c] = v.table[c] + of_.sums.of_code(c) * share_;
             return static_cast<double>(v.table[c]) * static_cast<double>(q.table[c]);
           }) * static_cast<double>(x_.k) +
           v.bias * q.bias;
  }

  // A sample of the active rows, by their second derivatives, and the factor of the numbers of their equal codes.
  void make_preconditioner() {
    const ActiveRows<Real>& active = of_.active;
    const int64_t n = active.size, m = std::min(step_.sample, n);
    of_.sample.clear();
    codes_.clear();
    double total = 0;
    for (int64_t i = 0; i < n; ++i) total += active.curvature[i];
    if (m == 0 || !(total > 0)) return;
    const double each = total / static_cast<double>(m);
    int64_t at = 0;
    double so_far = active.curvature[0];
    sample_codes_.resize((m * x_.k));
    sample_symbols_.resize((m * symbols_.k));
    for (int64_t i = 0; i < m; ++i) {
      const double until = (static_cast<double>(i) + 0.5) * each;
      while (at + 1 < n && so_far <= until) so_far += active.curvature[++at];
      const Code* codes = x_.row(active.index[at]);
      const uint16_t* symbols = symbols_.row(active.index[at]);
      of_.sample.push_back(static_cast<int32_t>(i));
      codes_.push_back(std::copy_n(codes, x_.k, sample_codes_.data() + i * x_.k) - x_.k);
      std::copy_n(symbols, symbols_.k, sample_symbols_.data() + i * symbols_.k);
      step_.codes.release(codes, codes + x_.k);
      symbols_.map.release(symbols, symbols + symbols_.k);
    }
    sampled_.rows = sample_symbols_.data();
    sampled_.map = {};
    const Real ridge = static_cast<Real>(kRidge + 1 / each), corner = static_cast<Real>(scale_ * scale_);
    ld_ = (m + kColumns - 1) / kColumns * kColumns;
    of_.values.resize(ld_);
    factor_.assign((m * ld_), Real{0});
    lead_.share_out(m * m * x_.k / 2 >= 64 * kJobCodes, [&](int share) {
      constexpr int64_t kTile = 16;
      int32_t counts[kTile * kTile];
      int64_t number = 0;
      for (int64_t u0 = 0; u0 < m; u0 += kTile)
        for (int64_t v0 = 0; v0 <= u0; v0 += kTile) {
          if (number++ % kShares != share) continue;
          const int64_t u1 = std::min(m, u0 + kTile), v1 = std::min(m, v0 + kTile);
          isa_.codes.of<Code>().match_rows(codes_.data() + u0, codes_.data() + v0, u1 - u0, v1 - v0, x_.k, counts,
                                           kTile);
          for (int64_t u = u0; u < u1; ++u)
            for (int64_t v = v0; v < v1; ++v) {
              const Real product = static_cast<Real>(counts[(u - u0) * kTile + v - v0]) * share_ + corner;
              factor_[(u * ld_ + v)] = factor_[(v * ld_ + u)] = product;
            }
        }
    });
    for (int64_t u = 0; u < m; ++u) factor_[(u * ld_ + u)] += ridge;
    factor(isa_.cholesky.of<Real>(), lead_, factor_.data(), m, ld_);
  }

  // z = P^-1 r, up to a factor; returns r . z
  double precondition() {
    Vector<Real>&r = of_.r, &z = of_.z;
    const int64_t m = static_cast<int64_t>(of_.sample.size());
    if (m == 0) {
      std::copy_n(r.table.get(), cells_, z.table.get());
      z.bias = r.bias;
      return dot(r.table.get(), z.table.get()) + r.bias * z.bias;
    }
    Real* values = of_.values.data();
    const Real intercept = static_cast<Real>(scale_ * r.bias);
    of_.sums.widen(lead_, r.table.get());
    lead_.share_out(m * symbols_.k >= kJobCodes, [&](int share) {
      const Slice slice = slice_of(m, share);
      std::fill(values + slice.first, values + slice.last, Real{0});
      of_.sums.in_blocks(sampled_, of_.sample.data(), slice,
                         [&](int64_t first, int64_t count, const uint16_t* const* rows) {
                           of_.sums.add_weights(rows, count, values + first);
                         });
      for (int64_t i = slice.first; i < slice.last; ++i) values[i] += intercept;
    });
    std::fill(values + m, values + ld_, Real{0});
    isa_.cholesky.of<Real>().solve(factor_.data(), m, ld_, values);
    LaneSum total;
    for (int64_t i = 0; i < m; ++i) total.add(i, values[i]);
    z.bias = r.bias - scale_ * total.total();
    of_.sums.scatter(lead_, sampled_, of_.sample.data(), m, values, 1);
    of_.sums.narrow(lead_, 1);
    return in_cells([&](int64_t c) {
             z.table[c] = r.table[c] - of_.sums.of_code(c) * share_;
             return static_cast<double>(r.table[c]) * static_cast<double>(z.table[c]);
           }) * static_cast<double>(x_.k) +
           r.bias * z.bias;
  }

  // Goes along x as far as the objective falls.
  void search(double squares, double objective) {
    const Vector<Real>& x = of_.x;
    decide(x.table.get(), x.bias, of_.moved.get());
    ShareSums losses[ks::kLengthCount];
    lead_.share_out(x_.n * 8 * ks::kLengthCount >= kJobCodes, [&](int share) {
      const Slice slice = slice_of(x_.n, share);
      double sums[ks::kLengthCount] = {};
      for (int64_t i = slice.first; i < slice.last; ++i) {
        const float y = step_.targets.y_of(i, number_), cost = step_.targets.cost_of(i, number_, y);
        for (int t = 0; t < ks::kLengthCount; ++t)
          sums[t] +=
              LossOf::value(f_[i] + static_cast<Real>(ks::length_of_step(t)) * of_.moved[i], y, cost, parameter_);
      }
      for (int t = 0; t < ks::kLengthCount; ++t) losses[t][share] = sums[t];
    });
    const double product = dot(w_, x.table.get()) + bias_ * x.bias;
    const double of_x = dot(x.table.get(), x.table.get()) + x.bias * x.bias;
    const double length = ks::best_length(squares, product, of_x, objective, [&](int t) { return losses[t].total(); });
    stats_[3] = length;
    if (length == 0) return;
    const Real by = static_cast<Real>(length);
    bias_ += length * x.bias;
    in_cells([&](int64_t c) {
      w_[c] += by * x.table[c];
      return 0.0;
    });
    lead_.share_out(x_.n * 8 >= kJobCodes, [&](int share) {
      const Slice slice = slice_of(x_.n, share);
      for (int64_t i = slice.first; i < slice.last; ++i) f_[i] += by * of_.moved[i];
    });
  }

  // The sum over all cells of what `cell` returns for each, by parts of the hashes.
  template <class Cell>
  double in_cells(const Cell& cell) {
    ShareSums sums;
    lead_.share_out(cells_ >= kJobCodes, [&](int share) {
      const HashRange range = hashes_of_part(x_.k, share);
      const int64_t first = range.first * stride_, last = range.last * stride_;
      double lanes[kLanes] = {};
      for (int64_t c = first; c < last; c += kLanes)
        for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += cell(c + lane);
      for (const double lane : lanes) sums[share] += lane;
    });
    return sums.total();
  }
  double dot(const Real* a, const Real* b) {
    return in_cells([&](int64_t c) { return static_cast<double>(a[c]) * static_cast<double>(b[c]); }) *
           static_cast<double>(x_.k);
  }
  static double square(Real x) { return static_cast<double>(x) * static_cast<double>(x); }

  const Isa& isa_;
  const CodeRows<Code>& x_;
  const NewtonStep<Real>& step_;
  Real parameter_;  // of the loss
  int64_t number_, stride_, cells_;
  const Symbols& symbols_;
  Real* w_;
  double& bias_;
  Real *beta_, *f_;
  double scale_;
  Real share_;
  double* stats_;
  Lead lead_;
  Scratch<Real>& of_;
  double losses_ = 0, betas_ = 0, empty_curvature_ = 0;
  int64_t ld_ = 0;
  Symbols sampled_ = step_.symbols;  // the symbols of the sample
  std::vector<const Code*> codes_;   // the codes of the sample, which are copies
  std::vector<Code> sample_codes_;
  std::vector<uint16_t> sample_symbols_;
  std::vector<Real> factor_;  // [sample][ld_]
};

}  // namespace

template <class Code, class Real>
void newton_step(const Isa& isa, const CodeRows<Code>& x, const LinearObjective& objective,
                 const NewtonStep<Real>& step, const WeightTables<Real>& tables, int threads, Interrupted interrupted) {
  const bool known = ks::with_loss<Real>(static_cast<int>(objective.loss), [&]<class LossOf>(LossOf) {
    if constexpr (LossOf::kIsSmooth)
      lead_problems(
          step.running, tables.count, x.n * step.symbols.k / kThreadCodes, threads, interrupted,
          [&](int64_t, int64_t) {
            return Scratch<Real>(isa.linear.of<Real>(), step.symbols, x.n, x.k, tables.stride, threads);
          },
          [&](int64_t number, Team& team, Scratch<Real>& scratch, const Items& next) {
            NewtonProblem<Code, Real, LossOf>(isa, x, objective, step, tables, number, team, scratch).run(next);
          });
    else
      throw std::invalid_argument("loss: not smooth");
  });
  if (!known) throw std::invalid_argument("loss: unknown number " + std::to_string(static_cast<int>(objective.loss)));
}

#define KS_INSTANTIATE(Code, Real)                                                                              \
  template void newton_step(const Isa&, const CodeRows<Code>&, const LinearObjective&, const NewtonStep<Real>&, \
                            const WeightTables<Real>&, int, Interrupted);
KS_INSTANTIATE(uint8_t, float)
KS_INSTANTIATE(uint16_t, float)
KS_INSTANTIATE(uint8_t, double)
KS_INSTANTIATE(uint16_t, double)

}  // namespace kernelsketch
