// Passes over blocks of rows, and dual coordinate descent within each block.
#include "kernelsketch/linear.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "block_products.h"
#include "core/losses.h"
#include "kernelsketch/dispatch.h"
#include "kernelsketch/parallel.h"
#include "kernelsketch/team.h"

namespace kernelsketch {
namespace {

constexpr int64_t kCacheBytes = int64_t{16} << 20;  // of numbers of equal codes, over all threads
constexpr int64_t kJobMatches = 1 << 20;            // codes to compare: a hundred times as fast
constexpr int64_t kChunkRows = 1024;                // whose conjugates are summed by one thread

// The memory that a leader works in. Arrays by row follow the block, arrays by place its products.
template <class Code, class Real>
struct Scratch {
  explicit Scratch(int64_t k)
      : blocks{Block<Code, Real>(k), Block<Code, Real>(k), Block<Code, Real>(k)}, parts(kParts * kBlockRows) {}
  Block<Code, Real> blocks[3];  // the one in work, and the next two
  Buffer<Real> parts;           // [part][row]: sums of the weights of a part of the hashes
  Real sums[kBlockRows];
  int64_t moving[kBlockRows];                                      // rows of the block that can move
  int32_t at[kBlockRows];                                          // and their places
  Real f[kBlockRows];                                              // decision values, by row
  alignas(64) Real slope[kBlockRows] = {}, beta[kBlockRows] = {};  // from here on by place
  alignas(64) Real inverse[kBlockRows] = {}, low[kBlockRows] = {}, high[kBlockRows] = {};
  Real y[kBlockRows], cost[kBlockRows], q[kBlockRows];
  const Code* moved[kBlockRows];  // rows whose steps the table does not have yet
  Real steps[kBlockRows];
  int64_t moves = 0;
};

// A pass for one problem.
template <class Code, class Real, class LossOf>
class ProblemPass {
  static constexpr bool kQuadratic = LossOf::kHasRidge;

 public:
  ProblemPass(const Isa& isa, const CodeRows<Code>& x, const LinearObjective& objective, const LinearPass<Real>& pass,
              const WeightTables<Real>& tables, int64_t number, Team& team, Scratch<Code, Real>& scratch,
              CachedMatches& cached)
      : isa_(isa), ops_(isa.linear.of<Real>()), x_(x), pass_(pass), parameter_(static_cast<Real>(objective.parameter)),
        number_(number), w_(tables.w + number * x.k * tables.stride), bias_(tables.bias + number),
        stride_(tables.stride), beta_(pass.beta + number * pass.ld), shrunk_(pass.shrunk + number * pass.ld),
        scale_(objective.scale), corner_(static_cast<Real>(scale_ * scale_)), stats_(pass.stats + kStats * number),
        lead_(team, number, true), scratch_(scratch), cached_(cached) {}

  void run(const Items& next) {
    std::fill(stats_, stats_ + kStats, 0.0);
    Block<Code, Real>*now = &scratch_.blocks[0], *ahead = &scratch_.blocks[1], *later = &scratch_.blocks[2];
    double losses = 0;  // of a segment, and then added to those of the pass: a caller may run it segment by segment
    int64_t segment = 0;
    gather(*now);
    gather(*ahead);
    while (now->n > 0) {
      bring_up_to_date(*now);
      if (now->segment != segment) {
        stats_[0] += losses;
        losses = 0;
        segment = now->segment;
      }
      const int64_t m = find_moving(*now, losses);
      if (m > 0) give_places(*now, m);
      const auto job = [&](int share) {
        ahead->match(isa_, x_, corner_, 0, share);
        if (share == Desk::kShares - 1) gather(*later);
      };
      lead_.next_step();
      const bool helped = !cached_.enabled() && lead_.has_helpers() && guess(*ahead) > 0;
      if (helped)
        lead_.open(job);
      else
        gather(*later);
      if (m > 0) descend(*now, m);
      if (helped) lead_.finish();
      if (m > 0) keep_steps(*now, m);
      if (next.stopped()) return;
      std::swap(now, ahead);
      std::swap(ahead, later);
    }
    bring_up_to_date(*now);
    stats_[0] += losses;
    sum_up();
  }

 private:
  // The rows of the next block. A block ends with its segment of the order.
  void gather(Block<Code, Real>& block) {
    block.clear(blocks_++);
    while (at_ < pass_.count && block.n == 0) {
      block.segment = at_ / kPassSegment;
      const int64_t end = std::min(pass_.count, (block.segment + 1) * kPassSegment);
      for (; at_ < end && block.n < kBlockRows; ++at_) {
        const int64_t i = pass_.order[at_];
        if (shrunk_[i]) continue;
        const float y = pass_.targets.y_of(i, number_), cost = pass_.targets.cost_of(i, number_, y);
        if (cost > 0) block.add(x_, i, y, cost, beta_[i]);
      }
    }
  }

  // Adds the steps of the last block to the table, and sums the weights of the rows of this one.
  void bring_up_to_date(const Block<Code, Real>& block) {
    lead_.share_out((scratch_.moves + block.full) * x_.k >= kJobCodes, [&](int share) {
      const HashRange range = hashes_of_part(x_.k, share);
      if (range.first == range.last) return;
      ops_.template of<Code>().add(scratch_.moved, scratch_.moves, range, scratch_.steps, w_, stride_);
      Real* sums = scratch_.parts.get() + share * kBlockRows;
      std::fill(sums, sums + block.full, Real{0});
      ops_.template of<Code>().sums(block.rows, block.full, range, w_, stride_, sums);
    });
    scratch_.moves = 0;
    std::fill(scratch_.sums, scratch_.sums + block.full, Real{0});
    for (int64_t part = 0; part * hashes_per_part(x_.k) < x_.k; ++part) {
      const Real* sums = scratch_.parts.get() + part * kBlockRows;
      for (int64_t r = 0; r < block.full; ++r) scratch_.sums[r] += sums[r];
    }
  }

  // Losses of the rows as they are met. Rows that stay where they are may be shrunk, the others are listed.
  int64_t find_moving(const Block<Code, Real>& block, double& losses) {
    const Real intercept = static_cast<Real>(scale_ * *bias_), threshold = pass_.threshold[number_];
    int64_t m = 0, full = 0, resting = 0, leaving = 0;
    for (int64_t r = 0; r < block.n; ++r) {
      const int64_t i = block.seen[r];
      const Real f = (x_.empty[i] ? 0 : scratch_.sums[full++]) + intercept;
      const float y = block.y[r], cost = block.cost[r];
      const Real beta = block.beta[r];
      losses += LossOf::value(f, y, cost, parameter_);
      const Real g = ks::gradient_of<Real>(LossOf{}, f, y, beta, cost, parameter_);
      resting += beta == 0;
      if (g == 0) {
        shrunk_[i] = beta == 0 && ks::can_shrink<Real>(LossOf{}, f, y, threshold);
        continue;
      }
      stats_[1] = std::max(stats_[1], std::abs(static_cast<double>(g)));
      scratch_.f[r] = f;
      scratch_.moving[m++] = r;
      leaving += beta == 0;
    }
    stats_[2] += static_cast<double>(m);
    if (resting > 0) most_leave_ = 2 * leaving > resting;
    return m;
  }

  // Gives places to the rows that will probably move.
  int64_t guess(Block<Code, Real>& block) {
    for (int64_t r = 0; r < block.n; ++r)
      if (most_leave_ || block.beta[r] != 0) block.give_place(x_, r);
    return block.places;
  }

  // Gives places to the rows that move, computes their products, and fills the arrays by place.
  void give_places(Block<Code, Real>& block, int64_t m) {
    const int64_t before = block.places;
    if (cached_.serves(block.number, block.seen, block.n, m)) {
      if (!cached_.holds(block.number, block.seen, block.n)) {
        for (int64_t r = 0; r < block.n; ++r) block.give_place(x_, r);
        uint16_t* counts = cached_.store(block.number, block.seen, block.n);
        lead_.share_out(block.n * block.n * x_.k / 2 >= kJobMatches,
                        [&](int share) { block.count(isa_, x_, counts, share); });
        block.take_places();
      }
      for (int64_t z = 0; z < m; ++z) block.give_place(x_, scratch_.moving[z]);
      block.multiply(corner_, cached_.counts(block.number), scratch_.moving);
    } else {
      for (int64_t z = 0; z < m; ++z) block.give_place(x_, scratch_.moving[z]);
      if (block.places > before)
        lead_.share_out((block.places - before) * block.places * x_.k / 2 >= kJobMatches,
                        [&](int share) { block.match(isa_, x_, corner_, before, share); });
    }
    for (int64_t z = 0; z < m; ++z) {
      const int64_t r = scratch_.moving[z], i = block.seen[r];
      const int32_t u = scratch_.at[z] = block.place[r];
      const Real y = block.y[r], cost = block.cost[r], beta = block.beta[r];
      const Real norm = (x_.empty[i] ? 0 : 1) + corner_, q = std::max<Real>(norm, 1e-12f);
      Real& diagonal = block.products[u * kBlockRows + u];
      scratch_.beta[u] = beta;
      if constexpr (kQuadratic) {
        const Real ridge = LossOf::ridge(cost);
        diagonal = norm + ridge;
        scratch_.slope[u] = scratch_.f[r] - y + beta * ridge;
        scratch_.inverse[u] = -1 / (q + ridge);
        scratch_.low[u] = LossOf::low(y, cost, parameter_);
        scratch_.high[u] = LossOf::high(y, cost, parameter_);
      } else {
        diagonal = norm;
        scratch_.slope[u] = scratch_.f[r];
        scratch_.y[u] = y;
        scratch_.cost[u] = cost;
        scratch_.q[u] = q;
      }
    }
  }

  void descend(const Block<Code, Real>& block, int64_t m) {
    const int64_t lanes = (block.places + 15) / 16 * 16;
    if constexpr (kQuadratic) {
      ops_.descend({scratch_.at, m, lanes, block.products.get(), scratch_.slope, scratch_.beta, scratch_.inverse,
                    scratch_.low, scratch_.high, pass_.sweeps});
    } else {
      Real first = 0;
      for (int sweep = 0; sweep < pass_.sweeps; ++sweep) {
        Real largest = 0;
        for (int64_t z = 0; z < m; ++z) {
          const int32_t u = scratch_.at[sweep % 2 ? m - 1 - z : z];
          const Real beta =
              LossOf::step(scratch_.slope[u], scratch_.y[u], scratch_.beta[u], scratch_.cost[u], scratch_.q[u]);
          const Real d = beta - scratch_.beta[u];
          if (d == 0) continue;
          scratch_.beta[u] = beta;
          largest = std::max(largest, std::abs(d));
          ops_.axpy(d, block.products.get() + u * kBlockRows, lanes, scratch_.slope);
        }
        if (sweep == 0) first = largest;
        if (largest <= kSettled * first) break;
      }
    }
  }

  // Moves the duals and the bias; the table follows with the next block.
  void keep_steps(const Block<Code, Real>& block, int64_t m) {
    const Real share = 1 / static_cast<Real>(x_.k);
    for (int64_t z = 0; z < m; ++z) {
      const int64_t r = scratch_.moving[z], i = block.seen[r];
      const Real beta = scratch_.beta[scratch_.at[z]], d = beta - block.beta[r];
      if (d == 0) continue;
      beta_[i] = beta;
      *bias_ += static_cast<double>(d) * scale_;
      if (x_.empty[i]) continue;
      scratch_.moved[scratch_.moves] = x_.row(i);
      scratch_.steps[scratch_.moves++] = d * share;
    }
  }

  // Conjugates after the pass, and squares of the table.
  void sum_up() {
    const int64_t chunks = (pass_.count + kChunkRows - 1) / kChunkRows;
    std::vector<double> conjugates(chunks);
    double squares[kParts] = {};
    lead_.share_out(pass_.count * 8 >= kJobCodes, [&](int share) {
      for (int64_t c = share; c < chunks; c += Desk::kShares)
        conjugates[c] = conjugates_of(c * kChunkRows, std::min(pass_.count, (c + 1) * kChunkRows));
      const HashRange range = hashes_of_part(x_.k, share);
      double sums[8] = {};  // one would wait for each addition
      for (int64_t q = range.first * stride_; q < range.last * stride_; ++q)
        sums[q % 8] += static_cast<double>(w_[q]) * static_cast<double>(w_[q]);
      for (const double sum : sums) squares[share] += sum;
    });
    double segment = 0;
    for (int64_t c = 0; c < chunks; ++c) {
      segment += conjugates[c];
      if ((c + 1) % (kPassSegment / kChunkRows) != 0 && c + 1 < chunks) continue;
      stats_[3] += segment;
      segment = 0;
    }
    for (const double part : squares) stats_[4] += part;
  }
  double conjugates_of(int64_t first, int64_t last) const {
    double sum = 0;
    for (int64_t at = first; at < last; ++at) {
      const int64_t i = pass_.order[at];
      const float y = pass_.targets.y_of(i, number_), cost = pass_.targets.cost_of(i, number_, y);
      if (cost > 0 && beta_[i] != 0) sum += LossOf::conjugate(beta_[i], y, cost);
    }
    return sum;
  }

  const Isa& isa_;
  const LinearOps<Real>& ops_;
  const CodeRows<Code>& x_;
  const LinearPass<Real>& pass_;
  Real parameter_;  // of the loss
  int64_t number_;
  Real* w_;
  double* bias_;
  int64_t stride_;
  Real* beta_;
  uint8_t* shrunk_;
  double scale_;
  Real corner_;
  double* stats_;
  Lead lead_;
  Scratch<Code, Real>& scratch_;
  CachedMatches& cached_;
  int64_t at_ = 0, blocks_ = 0;  // of the order; blocks so far
  bool most_leave_ = true;       // of the last rows with beta = 0, most could move
};

// The memory of a leader, and the matches that it keeps from problem to problem.
template <class Code, class Real>
struct Leading {
  Scratch<Code, Real> scratch;
  CachedMatches cached;
};

}  // namespace

template <class Code, class Real>
void linear_pass(const Isa& isa, const CodeRows<Code>& x, const LinearObjective& objective,
                 const LinearPass<Real>& pass, const WeightTables<Real>& tables, int threads, Interrupted interrupted) {
  const bool known = ks::with_loss<Real>(static_cast<int>(objective.loss), [&]<class LossOf>(LossOf) {
    lead_problems(
        pass.running, tables.count, pass.count * x.k / kThreadCodes, threads, interrupted,
        [&](int64_t problems, int64_t workers) {
          return Leading<Code, Real>{Scratch<Code, Real>(x.k),
                                     CachedMatches(problems > workers ? x.n : 0, x.k, kCacheBytes / workers)};
        },
        [&](int64_t number, Team& team, Leading<Code, Real>& of, const Items& next) {
          ProblemPass<Code, Real, LossOf>(isa, x, objective, pass, tables, number, team, of.scratch, of.cached)
              .run(next);
        });
  });
  if (!known) throw std::invalid_argument("loss: unknown number " + std::to_string(static_cast<int>(objective.loss)));
}

template <class Code, class Real>
void linear_accumulate(const CodeRows<Code>& x, const Real* beta, double* sums, int64_t stride, int threads,
                       Interrupted interrupted) {
  in_parts(x.k, 16, threads, interrupted, [&](int64_t first, int64_t last) {
    for (int64_t i = 0; i < x.n; ++i) {
      if (beta[i] == 0 || x.empty[i]) continue;
      const Code* c = x.row(i);
      const double b = beta[i];
      for (int64_t j = first; j < last; ++j) sums[j * stride + c[j]] += b;
    }
  });
}

#define KS_INSTANTIATE(Code, Real)                                                                              \
  template void linear_pass(const Isa&, const CodeRows<Code>&, const LinearObjective&, const LinearPass<Real>&, \
                            const WeightTables<Real>&, int, Interrupted);                                       \
  template void linear_accumulate(const CodeRows<Code>&, const Real*, double*, int64_t, int, Interrupted);
KS_EACH_CODE_AND_REAL(KS_INSTANTIATE)

}  // namespace kernelsketch
