// Passes over blocks of rows, and dual coordinate descent within each block.
#include "kernelsketch/linear.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <vector>

#include "kernelsketch/dispatch.h"
#include "kernelsketch/losses.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kCacheBytes = int64_t{16} << 20;  // of numbers of equal codes, over all threads
constexpr float kSettled = 0.02f;  // sweeps end when the largest step is this share of the first sweep's

template <class Real>
const LinearOps<Real>& linear_ops(const Isa& isa) {
  if constexpr (std::is_same_v<Real, float>) return isa.linear_float;
  else return isa.linear_double;
}

template <class Code>
struct OpsForCode;
template <>
struct OpsForCode<uint8_t> {
  static auto sums(const auto& linear) { return linear.sums8; }
  static auto add(const auto& linear) { return linear.add8; }
  static auto match(const Isa& isa) { return isa.codes.match8; }
};
template <>
struct OpsForCode<uint16_t> {
  static auto sums(const auto& linear) { return linear.sums16; }
  static auto add(const auto& linear) { return linear.add16; }
  static auto match(const Isa& isa) { return isa.codes.match16; }
};

// The numbers of equal codes of the rows of each block, kept for the next problem: as long as no row is shrunk, blocks
// hold the same rows for every problem.
class CachedMatches {
 public:
  // The cache holds as many blocks as fit in `bytes`.
  CachedMatches(int64_t rows, int64_t k, int64_t bytes)
      : blocks_(k > 65535 ? 0 : std::min((rows + kBlockRows - 1) / kBlockRows, bytes / (2 * kBlockRows * kBlockRows))),
        counts_(blocks_ * kBlockRows * kBlockRows), index_(static_cast<std::size_t>(blocks_ * kBlockRows)),
        sizes_(static_cast<std::size_t>(blocks_)) {}
  bool has_room(int64_t block) const { return block < blocks_; }
  bool holds(int64_t block, const int64_t* index, int64_t n) const {
    return block < blocks_ && sizes_[static_cast<std::size_t>(block)] == n &&
           std::equal(index, index + n, index_.begin() + block * kBlockRows);
  }
  uint16_t* store(int64_t block, const int64_t* index, int64_t n) {
    sizes_[static_cast<std::size_t>(block)] = n;
    std::copy_n(index, n, index_.begin() + block * kBlockRows);
    return counts_.get() + block * kBlockRows * kBlockRows;
  }
  const uint16_t* counts(int64_t block) const { return counts_.get() + block * kBlockRows * kBlockRows; }

 private:
  int64_t blocks_;
  Buffer<uint16_t> counts_;  // [block][row][row]
  std::vector<int64_t> index_, sizes_;
};

// The memory that one thread works in.
template <class Code, class Real>
struct Scratch {
  explicit Scratch(int64_t k)
      : copies(kBlockRows * k), counts(kBlockRows * kBlockRows), products(kBlockRows * kBlockRows) {}
  Buffer<Code> copies;
  Buffer<int32_t> counts;
  Buffer<Real> products;  // inner products of the rows that can move
  int64_t seen[kBlockRows], index[kBlockRows], place[kBlockRows];  // rows of a block; those that can move, and where
  const Code* rows[kBlockRows];
  Real sums[kBlockRows], f[kBlockRows], y[kBlockRows], cost[kBlockRows], beta[kBlockRows], before[kBlockRows],
      q[kBlockRows], steps[kBlockRows];
};

// A pass for one problem.
template <class Code, class Real, class LossOf>
class ProblemPass {
 public:
  ProblemPass(const Isa& isa, const CodeRows<Code>& x, const LinearObjective& objective, const LinearPass<Real>& pass,
              const LossOf& loss, const WeightTables<Real>& tables, int64_t number)
      : isa_(isa),
        ops_(linear_ops<Real>(isa)),
        x_(x),
        pass_(pass),
        loss_(loss),
        number_(number),
        w_(tables.w + number * x.k * tables.stride),
        bias_(tables.bias + number),
        stride_(tables.stride),
        beta_(pass.beta + number * pass.ld),
        shrunk_(pass.shrunk + number * pass.ld),
        scale_(objective.scale),
        stats_(pass.stats + kStats * number) {}

  void run(Scratch<Code, Real>& scratch, CachedMatches& cached, const Items& next) {
    std::fill(stats_, stats_ + kStats, 0.0);
    int64_t number = 0;
    for (int64_t first = 0; first < x_.n && !next.stopped(); first += kPassSegment)
      number = segment(scratch, cached, next, number, first, std::min(x_.n, first + kPassSegment));
    double squares[8] = {};  // eight sums: one would wait for each addition
    for (int64_t q = 0; q < x_.k * stride_; ++q)
      squares[q % 8] += static_cast<double>(w_[q]) * static_cast<double>(w_[q]);
    for (const double part : squares) stats_[4] += part;
  }

 private:
  // Sums of a segment are added to those of the pass as a whole, so a caller may run a pass segment by segment.
  int64_t segment(Scratch<Code, Real>& scratch, CachedMatches& cached, const Items& next, int64_t number, int64_t first,
                  int64_t end) {
    losses_ = 0;
    for (int64_t at = first; at < end && !next.stopped(); ++number) {
      int64_t n = 0, full = 0;
      for (; at < end && n < kBlockRows; ++at) {
        const int64_t i = pass_.order[at];
        if (shrunk_[i] || !(cost_of(i, target(i)) > 0)) continue;
        scratch.seen[n++] = i;
      }
      for (int64_t r = 0; r < n; ++r)
        if (!x_.empty[scratch.seen[r]]) scratch.rows[full++] = x_.row(scratch.seen[r]);
      OpsForCode<Code>::sums(ops_)(scratch.rows, full, x_.k, w_, stride_, scratch.sums);
      block(scratch, cached, number, n);
    }
    double conjugates = 0;
    for (int64_t at = first; at < end; ++at) {
      const int64_t i = pass_.order[at];
      const float y = target(i), cost = cost_of(i, y);
      if (cost > 0 && beta_[i] != 0) conjugates += loss_.conjugate(beta_[i], y, cost);
    }
    stats_[0] += losses_;
    stats_[3] += conjugates;
    return number;
  }

  void block(Scratch<Code, Real>& scratch, CachedMatches& cached, int64_t number, int64_t n) {
    const Real intercept = static_cast<Real>(scale_ * *bias_), corner = static_cast<Real>(scale_ * scale_);
    const Real threshold = pass_.threshold[number_];
    int64_t m = 0, full = 0;  // rows that can move; rows that are not empty
    for (int64_t r = 0; r < n; ++r) {
      const int64_t i = scratch.seen[r];
      const bool empty = x_.empty[i];
      const Real f = (empty ? 0 : scratch.sums[full++]) + intercept;
      const float y = target(i), cost = cost_of(i, y);
      const Real beta = beta_[i];
      losses_ += loss_.value(f, y, cost);
      const Real g = loss_.gradient(f, y, beta, cost);
      if (g == 0) {
        shrunk_[i] = beta == 0 && loss_.can_shrink(f, y, threshold);
        continue;
      }
      stats_[1] = std::max(stats_[1], std::abs(static_cast<double>(g)));
      scratch.index[m] = i;
      scratch.place[m] = r;
      scratch.f[m] = f;
      scratch.y[m] = y;
      scratch.cost[m] = cost;
      scratch.beta[m] = scratch.before[m] = beta;
      scratch.q[m] = std::max<Real>((empty ? 0 : 1) + corner, 1e-12f);
      ++m;
    }
    if (m == 0) return;
    stats_[2] += static_cast<double>(m);
    if (!cached.holds(number, scratch.seen, n) && 4 * m >= 3 * n && cached.has_room(number)) {
      match(scratch, scratch.seen, n);  // nearly all of the block: for the next problem too
      uint16_t* counts = cached.store(number, scratch.seen, n);
      for (int64_t u = 0; u < n; ++u)
        for (int64_t v = 0; v <= u; ++v)
          counts[u * kBlockRows + v] = static_cast<uint16_t>(scratch.counts[u * kBlockRows + v]);
    }
    if (cached.holds(number, scratch.seen, n)) {
      const uint16_t* counts = cached.counts(number);
      multiply(scratch, m, corner,
               [&](int64_t u, int64_t v) { return counts[scratch.place[u] * kBlockRows + scratch.place[v]]; });
    } else {
      match(scratch, scratch.index, m);
      multiply(scratch, m, corner, [&](int64_t u, int64_t v) { return scratch.counts[u * kBlockRows + v]; });
    }
    descend(scratch, m);
    apply(scratch, m);
  }

  float target(int64_t i) const {
    if (pass_.targets) return pass_.targets[i];
    return pass_.labels[i] == pass_.positive[number_] ? 1.0f : -1.0f;
  }
  float cost_of(int64_t i, float y) const {
    return pass_.cost[i] * (pass_.targets ? 1.0f : pass_.factors[2 * number_ + (y > 0)]);
  }

  // Equal codes of each row with those before it.
  void match(Scratch<Code, Real>& scratch, const int64_t* index, int64_t n) {
    for (int64_t u = 0; u < n; ++u) std::copy_n(x_.row(index[u]), x_.k, scratch.copies.get() + u * x_.k);
    for (int64_t u = 0; u < n; u += 4) {
      const int64_t rows = std::min<int64_t>(4, n - u);
      OpsForCode<Code>::match(isa_)(scratch.copies.get() + u * x_.k, scratch.copies.get(), rows, u + rows, x_.k,
                             scratch.counts.get() + u * kBlockRows, kBlockRows);
    }
  }

  template <class Count>
  void multiply(Scratch<Code, Real>& scratch, int64_t m, Real corner, const Count& count) {
    const Real share = 1 / static_cast<Real>(x_.k);
    for (int64_t u = 0; u < m; ++u) {
      const bool empty = x_.empty[scratch.index[u]];
      for (int64_t v = 0; v < u; ++v) {
        const bool none = empty || x_.empty[scratch.index[v]];
        const Real g = (none ? 0 : static_cast<Real>(count(u, v)) * share) + corner;
        scratch.products[u * kBlockRows + v] = g;
        scratch.products[v * kBlockRows + u] = g;
      }
      scratch.products[u * kBlockRows + u] = (empty ? 0 : 1) + corner;
    }
  }

  void descend(Scratch<Code, Real>& scratch, int64_t m) {
    Real first = 0;
    for (int sweep = 0; sweep < kSweeps; ++sweep) {
      Real largest = 0;
      for (int64_t z = 0; z < m; ++z) {
        const int64_t u = sweep % 2 ? m - 1 - z : z;
        const Real beta = loss_.step(scratch.f[u], scratch.y[u], scratch.beta[u], scratch.cost[u], scratch.q[u]);
        const Real d = beta - scratch.beta[u];
        if (d == 0) continue;
        scratch.beta[u] = beta;
        largest = std::max(largest, std::abs(d));
        ops_.axpy(d, scratch.products.get() + u * kBlockRows, m, scratch.f);
      }
      if (sweep == 0) first = largest;
      if (largest <= kSettled * first) break;
    }
  }

  void apply(Scratch<Code, Real>& scratch, int64_t m) {
    const Real share = 1 / static_cast<Real>(x_.k);
    int64_t moved = 0;
    for (int64_t u = 0; u < m; ++u) {
      const Real d = scratch.beta[u] - scratch.before[u];
      if (d == 0) continue;
      const int64_t i = scratch.index[u];
      beta_[i] = scratch.beta[u];
      *bias_ += static_cast<double>(d) * scale_;
      if (x_.empty[i]) continue;
      scratch.rows[moved] = x_.row(i);
      scratch.steps[moved++] = d * share;
    }
    OpsForCode<Code>::add(ops_)(scratch.rows, moved, x_.k, scratch.steps, w_, stride_);
  }

  const Isa& isa_;
  const LinearOps<Real>& ops_;
  const CodeRows<Code>& x_;
  const LinearPass<Real>& pass_;
  const LossOf& loss_;
  int64_t number_;
  Real* w_;
  double* bias_;
  int64_t stride_;
  Real* beta_;
  uint8_t* shrunk_;
  double scale_;
  double* stats_;
  double losses_ = 0;  // of the segment
};

template <class Code, class Real, class LossOf>
void pass_with(const Isa& isa, const CodeRows<Code>& x, const LinearObjective& objective, const LinearPass<Real>& pass,
                const LossOf& loss, const WeightTables<Real>& tables, int threads, Interrupted interrupted) {
  parallel(tables.count, threads, interrupted, [&](const auto& next) {
    Scratch<Code, Real> scratch(x.k);
    CachedMatches cached(tables.count > 1 ? x.n : 0, x.k, kCacheBytes / std::max(threads, 1));
    for (int64_t p; (p = next()) >= 0;)
      if (pass.running[p])
        ProblemPass<Code, Real, LossOf>(isa, x, objective, pass, loss, tables, p).run(scratch, cached, next);
  });
}

}  // namespace

template <class Code, class Real>
void linear_pass(const Isa& isa, const CodeRows<Code>& x, const LinearObjective& objective,
                 const LinearPass<Real>& pass, const WeightTables<Real>& tables, int threads, Interrupted interrupted) {
  with_loss<Real>(objective, [&](const auto& loss) {
    pass_with(isa, x, objective, pass, loss, tables, threads, interrupted);
  });
}

template <class Code, class Real>
void linear_decide(const Isa& isa, const CodeRows<Code>& x, double scale, const FixedWeightTables<Real>& tables,
                   Real* out, int threads, Interrupted interrupted) {
  constexpr int64_t rows = 4 * kBlockRows;  // enough for a table that comes from memory
  parallel((x.n + rows - 1) / rows, threads, interrupted, [&](const auto& next) {
    std::vector<const Code*> full;
    std::vector<int64_t> index;
    std::vector<Real> sums(rows);
    for (int64_t item; (item = next()) >= 0;) {
      const int64_t first = item * rows, last = std::min(x.n, first + rows);
      full.clear();
      index.clear();
      for (int64_t i = first; i < last; ++i)
        if (!x.empty[i]) {
          full.push_back(x.row(i));
          index.push_back(i);
        }
      for (int64_t p = 0; p < tables.count; ++p) {
        const Real intercept = static_cast<Real>(scale * tables.bias[p]);
        for (int64_t i = first; i < last; ++i) out[i * tables.count + p] = intercept;
        OpsForCode<Code>::sums(linear_ops<Real>(isa))(full.data(), static_cast<int64_t>(full.size()), x.k,
                                               tables.w + p * x.k * tables.stride, tables.stride, sums.data());
        for (std::size_t r = 0; r < index.size(); ++r) out[index[r] * tables.count + p] = sums[r] + intercept;
      }
    }
  });
}

template <class Code, class Real>
void linear_accumulate(const CodeRows<Code>& x, const Real* beta, double* sums, int64_t stride, int threads,
                       Interrupted interrupted) {
  constexpr int64_t hashes = 16;
  parallel((x.k + hashes - 1) / hashes, threads, interrupted, [&](const auto& next) {
    for (int64_t item; (item = next()) >= 0;) {
      const int64_t first = item * hashes, last = std::min(x.k, first + hashes);
      for (int64_t i = 0; i < x.n; ++i) {
        if (beta[i] == 0 || x.empty[i]) continue;
        const Code* c = x.row(i);
        const double b = beta[i];
        for (int64_t j = first; j < last; ++j) sums[j * stride + c[j]] += b;
      }
    }
  });
}

#define KERNELSKETCH_INSTANTIATE(Code, Real)                                                                         \
  template void linear_pass(const Isa&, const CodeRows<Code>&, const LinearObjective&, const LinearPass<Real>&,      \
                            const WeightTables<Real>&, int, Interrupted);                                            \
  template void linear_decide(const Isa&, const CodeRows<Code>&, double, const FixedWeightTables<Real>&, Real*, int, \
                              Interrupted);                                                                          \
  template void linear_accumulate(const CodeRows<Code>&, const Real*, double*, int64_t, int, Interrupted);
KERNELSKETCH_INSTANTIATE(uint8_t, float)
KERNELSKETCH_INSTANTIATE(uint16_t, float)
KERNELSKETCH_INSTANTIATE(uint8_t, double)
KERNELSKETCH_INSTANTIATE(uint16_t, double)

}  // namespace kernelsketch
