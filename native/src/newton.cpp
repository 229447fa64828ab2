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

namespace kernelsketch {
namespace {

constexpr int kShares = Desk::kShares;
constexpr int64_t kRowsAtOnce = 1024;    // whose symbols are read for their decision values, and then for their sums
constexpr int64_t kSpanBytes = 1 << 19;  // of a file, from the first to the last row that are read at once
constexpr int64_t kRowsPerCell = 4;      // of a slice, on average: its table must not cost more than its rows

struct Slice {
  int64_t first, last;
};
Slice slice_of(int64_t n, int64_t number, int64_t of = kShares) { return {n * number / of, n * (number + 1) / of}; }

// Weights and sums of symbols, and how they come from those of codes and go back to them.
template <class Real>
class SymbolSums {
 public:
  SymbolSums(const LinearOps<Real>& ops, const Symbols& symbols, int64_t hashes, int64_t stride, int threads)
      : ops_(ops), symbols_(symbols), hashes_(hashes), stride_(stride), wide_cells_(symbols.k * symbols.stride),
        sums_(hashes * stride), wide_(wide_cells_), slices_(wide_cells_) {
    if (!symbols.map) return;
    for (at_once_ = 1; at_once_ < kShares && 2 * at_once_ <= threads;) at_once_ *= 2;
  }

  Real of_code(int64_t cell) const { return sums_[cell]; }

  // The weights of symbols: sums of the weights of their codes.
  void widen(Lead& lead, const Real* table) {
    lead.share_out(wide_cells_ >= kJobCodes, [&](int share) {
      for (int64_t g = share; g < symbols_.k; g += kShares) {
        Real* to = wide_.get() + g * symbols_.stride;
        const int64_t members = symbols_.members(g, hashes_);
        for (int64_t s = 0; s < symbols_.counts[g]; ++s) {
          const int32_t* cells = symbols_.cells_of(g, s);
          Real sum = table[cells[0]];
          for (int64_t i = 1; i < members; ++i) sum += table[cells[i]];
          to[s] = sum;
        }
      }
    });
  }

  // The sums of codes, from those of symbols in some slices.
  void narrow(Lead& lead, int64_t slices) {
    lead.share_out(wide_cells_ >= kJobCodes, [&](int share) {
      for (int64_t g = share; g < symbols_.k; g += kShares) {
        const int64_t members = symbols_.members(g, hashes_), first = g * symbols_.together;
        std::fill(sums_.get() + first * stride_, sums_.get() + (first + members) * stride_, Real{0});
        for (int64_t s = 0; s < symbols_.counts[g]; ++s) {
          const int64_t at = g * symbols_.stride + s;
          Real sum = slices_[at];
          for (int64_t q = 1; q < slices && fit(slices); ++q) sum += slice_table(q)[at];
          const int32_t* cells = symbols_.cells_of(g, s);
          for (int64_t i = 0; i < members; ++i) sums_[cells[i]] += sum;
        }
      }
    });
  }

  void add_weights(const uint16_t* const* rows, int64_t n, Real* sums) {
    ops_.of16.sums(rows, n, all_hashes(symbols_.k), wide_.get(), symbols_.stride, sums);
  }

  // Into how many slices some rows are cut that are added to tables: a power of 2.
  int64_t slices_for(int64_t n) const {
    int64_t slices = 1;
    while (slices < kShares && n * symbols_.k >= 2 * slices * kRowsPerCell * wide_cells_) slices *= 2;
    return slices;
  }
  // Whether all slices have a table of their own at the same time.
  bool fit(int64_t slices) const { return slices <= at_once_; }
  void make_slices(int64_t slices) {
    const int64_t tables = fit(slices) ? slices : at_once_ + 1;
    const std::size_t size = static_cast<std::size_t>((tables - 1) * wide_cells_);
    if (more_.size() < size) more_.resize(size);
  }
  Real* slice_table(int64_t number) { return number == 0 ? slices_.get() : more_.data() + (number - 1) * wide_cells_; }

  // call(first, count, rows) for blocks of a slice of the rows
  template <class Call>
  static void in_blocks(const Symbols& of, const int32_t* index, const Slice& slice, const Call& call) {
    const uint16_t* rows[kRowsAtOnce];
    for (int64_t first = slice.first, count; first < slice.last; first += count) {
      count = std::min(slice.last - first, kRowsAtOnce);
      if (of.map)
        while (count > 1 && (index[first + count - 1] - index[first]) * of.k * 2 > kSpanBytes) count /= 2;
      for (int64_t i = 0; i < count; ++i) rows[i] = of.row(index[first + i]);
      call(first, count, rows);
      of.map.release(rows[0], rows[count - 1] + of.k);
    }
  }

  void add(const uint16_t* const* rows, int64_t n, const HashRange& range, const Real* values, Real* table) {
    ops_.of16.add(rows, n, range, values, table, symbols_.stride);
  }

  // Adds a number for each row to the cells of its symbols. Shares have a slice of the rows and a part of the symbols.
  void scatter(Lead& lead, const Symbols& of, const int32_t* index, int64_t n, const Real* values, int64_t slices) {
    const int64_t round = std::min(slices, at_once_), groups = kShares / round;
    make_slices(slices);
    for (int64_t start = 0; start < slices; start += round) {
      const int64_t tables = start > 0;  // the first table has the sum of the rounds before
      lead.share_out(n * symbols_.k >= kJobCodes, [&](int share) {
        const Slice slice = slice_of(n, start + share / groups, slices);
        const Slice columns = slice_of(symbols_.k, share % groups, groups);
        const HashRange range = {columns.first, columns.last, columns.last - columns.first};
        Real* table = slice_table(tables + share / groups);
        std::fill(table + range.first * symbols_.stride, table + range.last * symbols_.stride, Real{0});
        in_blocks(of, index, slice, [&](int64_t first, int64_t count, const uint16_t* const* rows) {
          add(rows, count, range, values + first, table);
        });
      });
      if (!fit(slices)) add_up(lead, tables + round);
    }
  }

 private:
  // Adds some tables of slices to the first, in their order.
  void add_up(Lead& lead, int64_t tables) {
    lead.share_out(wide_cells_ >= kJobCodes, [&](int share) {
      const Slice cells = slice_of(wide_cells_, share);
      for (int64_t q = 1; q < tables; ++q)
        for (int64_t at = cells.first; at < cells.last; ++at) slices_[at] += slice_table(q)[at];
    });
  }

  const LinearOps<Real>& ops_;
  const Symbols& symbols_;
  int64_t hashes_, stride_, wide_cells_;
  int64_t at_once_ = kShares;  // slices that have tables at the same time
  Buffer<Real> sums_;          // by code
  Buffer<Real> wide_;          // weights, by symbol
  Buffer<Real> slices_;        // sums of a slice of the rows, by symbol
  std::vector<Real> more_;     // further slices
};

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
    const double gradient = find_gradient(), squares = dot(w_, w_, bias_ * bias_), objective = squares / 2 + losses_;
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
    const auto cell = [&](int64_t c) {
      r.table[c] = of_.sums.of_code(c) * share_ - w_[c];
      return times(r.table[c], r.table[c]);
    };
    return product(cell, r.bias * r.bias);
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
      const auto cell = [&](int64_t c) {
        x.table[c] += length * v.table[c];
        r.table[c] -= length * q.table[c];
        return times(r.table[c], r.table[c]);
      };
      if (product(cell, r.bias * r.bias) <= target) return;
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
    const auto cell = [&](int64_t c) {
      q.table[c] = v.table[c] + of_.sums.of_code(c) * share_;
      return times(v.table[c], q.table[c]);
    };
    return product(cell, v.bias * q.bias);
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
      return dot(r.table.get(), z.table.get(), r.bias * z.bias);
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
    const auto cell = [&](int64_t c) {
      z.table[c] = r.table[c] - of_.sums.of_code(c) * share_;
      return times(r.table[c], z.table[c]);
    };
    return product(cell, r.bias * z.bias);
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
    const double along = dot(w_, x.table.get(), bias_ * x.bias);
    const double of_x = dot(x.table.get(), x.table.get(), x.bias * x.bias);
    const double length = ks::best_length(squares, along, of_x, objective, [&](int t) { return losses[t].total(); });
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

  // The inner product of two vectors, from what `cell` returns for each cell and the product of the biases.
  template <class Cell>
  double product(const Cell& cell, double biases) {
    return in_cells(cell) * static_cast<double>(x_.k) + biases;
  }
  // The sum over all cells of what `cell` returns for each, by parts of the hashes.
  template <class Cell>
  double in_cells(const Cell& cell) {
    ShareSums sums;
    lead_.share_out(cells_ >= kJobCodes, [&](int share) {
      const HashRange range = hashes_of_part(x_.k, share);
      const int64_t first = range.first * stride_, last = range.last * stride_;
      double lanes[kLanes] = {};
      int64_t c = first;
      for (; c + kLanes <= last; c += kLanes)
        for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += cell(c + lane);
      for (int lane = 0; c < last; ++c, ++lane) lanes[lane] += cell(c);  // tables of more than 64 codes have no padding
      for (const double lane : lanes) sums[share] += lane;
    });
    return sums.total();
  }
  double dot(const Real* a, const Real* b, double biases) {
    return product([&](int64_t c) { return times(a[c], b[c]); }, biases);
  }
  static double times(double a, double b) { return a * b; }

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
KS_EACH_CODE_AND_REAL(KS_INSTANTIATE)

}  // namespace kernelsketch
