// Linear models on codes, trained and evaluated without materializing the one-hot features.
//
// Model. A row with codes c_1 .. c_k stands for the unit vector with 1/sqrt(k) at each (j, c_j) and, if there is an
// intercept, the number s beside them. A model is a table w of k x (number of codes) weights, in units of 1/sqrt(k),
// and a bias b. The decision value is
//     f = sum_j w[j][c_j] + s b,
// and s b for an empty row.
//
// Training minimizes 1/2 |w|^2 + sum_i loss(f_i, y_i) by block dual coordinate descent. The dual has one variable
// beta_i per row, with w = sum_i beta_i x_i. The decision values of up to 256 rows are computed at once, while the part
// of the table that they need is in the L1 cache. The inner products of the rows that can move (their numbers of equal
// codes) let coordinate descent run within the block as if each step had been applied to the table. Then the table is
// brought up to date. This is exact dual coordinate descent: a block gets several sweeps for the price of one.
//
// Shrinking. A row whose beta is 0 and whose slack is above a threshold is marked as shrunk, and later passes skip it.
//
// Prediction. Three problems or more with a large table are evaluated side by side: a part of the table is turned so that
// the weights of all problems of a code stand together, and one load serves them all.
//
// Sums run in the order of hashes, within each of 16 parts of them and then over the parts; steps run in the order of
// rows, all in one type without contraction. That type is Real: float, or double for duality gaps that float cannot
// reach. Results do not depend on threads or on instruction sets.
//
// Threads. Each problem has a leader, and threads without a problem help (team.h). The hashes are shared out: a helper
// adds the steps of the last block to its part of the table and sums the weights of the next block there, so that the
// part stays in its cache. Inner products do not depend on the weights: while the leader sweeps over one block, helpers
// match the rows of the next block that will probably move. What is left to the leader alone are the sweeps.
//
// References: reference/linear.py; C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi and S. Sundararajan, "A dual
// coordinate descent method for large-scale linear SVM", ICML 2008.
#pragma once

#include <cstdint>

#include "kernelsketch/by_type.h"
#include "kernelsketch/interrupt.h"

namespace ks {
enum class Loss : int;  // core/losses.h lists them
}

namespace kernelsketch {

struct Isa;

inline constexpr int64_t kBlockRows = 256;      // rows whose decision values are computed at once
inline constexpr int64_t kPassSegment = 16384;  // rows of the order after which a block ends; a pass may read so many
inline constexpr int64_t kStats = 5;
inline constexpr float kSettled = 0.02f;  // sweeps end when the largest step is this share of the first sweep's

inline constexpr int64_t kProblemLanes = 16;  // problems whose weights stand side by side where many are evaluated

// Hashes `first` .. `last` - 1, of which `part` at a time are summed. `first` begins a part.
struct HashRange {
  int64_t first, last, part;
};

// A decision value is the sum of the sums of at most 16 parts of the hashes, so that threads can share the hashes.
inline constexpr int64_t kParts = 16;
constexpr int64_t hashes_per_part(int64_t k) { return ((k + kParts - 1) / kParts + 15) / 16 * 16; }
constexpr HashRange all_hashes(int64_t k) { return {0, k, hashes_per_part(k)}; }
constexpr HashRange hashes_of_part(int64_t k, int64_t part) {  // none for the last parts of few hashes
  const int64_t size = hashes_per_part(k), first = part * size < k ? part * size : k;
  return {first, first + size < k ? first + size : k, size};
}

// The rows of a block that can move. Arrays are by the place of a row in the block, and as long as kBlockRows; `lanes`
// is the number of places, up to a multiple of 16. Vectors may work on places that no row has.
template <class Real>
struct BlockProblem {
  const int32_t* at;  // [count]: places of the rows that can move, in the order of the pass
  int64_t count, lanes;
  const Real* products;    // [kBlockRows][kBlockRows]: inner products, the ridge of the loss added on the diagonal
  Real *slope, *beta;      // derivative of the dual in each beta, without the bounds; beta
  const Real* inverse;     // -1 over the second derivative
  const Real *low, *high;  // the bounds of beta
  int sweeps;              // at most
};

// The arithmetic of one instruction set; src/isa/linear.cpp fills it in. Tables are [k][stride].
template <class Code, class Real>
struct SumOps {
  // sums[r] += sum_j w[j][rows[r][j]] over the hashes of a range, one part after the other
  void (*sums)(const Code* const* rows, int64_t n, const HashRange& range, const Real* w, int64_t stride, Real* sums);
  // sums[r][problem] += sum over j from first to last of w[j - first][rows[r][j]][problem], with kProblemLanes problems
  void (*lanes)(const Code* const* rows, int64_t n, int64_t first, int64_t last, const Real* w, int64_t stride,
                Real* sums);
  // w[j][rows[r][j]] += steps[r] for the hashes of a range, row after row
  void (*add)(const Code* const* rows, int64_t n, const HashRange& range, const Real* steps, Real* w, int64_t stride);
};
template <class Real>
struct LinearOps {
  SumOps<uint8_t, Real> of8;
  SumOps<uint16_t, Real> of16;
  template <class Code>
  const SumOps<Code, Real>& of() const {
    if constexpr (sizeof(Code) == 1)
      return of8;
    else
      return of16;
  }
  // The sum over all k hashes of a row, as of8 and of16 add it: sum_j w[at[j]], with at[j] = j * stride + code j.
  Real (*sum_row)(const int32_t* at, int64_t k, const Real* w);
  // y[i] += a x[i], up to a multiple of 16 lanes
  void (*axpy)(Real a, const Real* x, int64_t lanes, Real* y);
  // Sweeps of coordinate descent: the dual of the block is quadratic within bounds.
  void (*descend)(const BlockProblem<Real>& problem);
};

// Rows of codes: all of them, or a part that is in memory.
template <class Code>
struct CodeRows {
  const Code* codes;     // [n][k]
  const uint8_t* empty;  // [n]
  int64_t n, k;
  const Code* row(int64_t i) const { return codes + i * k; }
};

// DO(type of codes, type of weights) for each pair.
#define KS_EACH_CODE_AND_REAL(DO) DO(uint8_t, float) DO(uint16_t, float) DO(uint8_t, double) DO(uint16_t, double)

// The models of several problems with the same rows: each problem has a table and a bias.
template <class Weight, class Bias>
struct WeightTablesOf {
  Weight* w;   // [count][k][stride]
  Bias* bias;  // [count]
  int64_t count, stride;
};
template <class Real>
using WeightTables = WeightTablesOf<Real, double>;
template <class Real>
using FixedWeightTables = WeightTablesOf<const Real, const double>;  // models that are only evaluated

// What training minimizes.
struct LinearObjective {
  ks::Loss loss;
  double scale;      // s, 0 for no intercept
  double parameter;  // of the loss, if it has one
};

// What the problems learn from the rows.
struct LinearTargets {
  const int32_t* labels;    // [n]: y is 1 where the label is that of the problem, else -1; or null
  const float* targets;     // [n]: y; or null
  const float* cost;        // [n]: C times the weight of the row; rows of cost 0 are skipped
  const int32_t* positive;  // [problems]: the label that counts as y = 1
  const float* factors;     // [problems][2]: factors of the cost, for y = -1 and y = 1

  float y_of(int64_t i, int64_t problem) const {
    if (targets) return targets[i];
    return labels[i] == positive[problem] ? 1.0f : -1.0f;
  }
  float cost_of(int64_t i, int64_t problem, float y) const {
    return cost[i] * (targets ? 1.0f : factors[2 * problem + (y > 0)]);
  }
};

// One pass over rows, in the given order: all of them, or a part that ends with a segment of the order.
template <class Real>
struct LinearPass {
  const int32_t* order;  // [count]
  LinearTargets targets;
  const float* threshold;  // [problems]: the slack above which a row is shrunk
  const uint8_t* running;  // [problems]: problems to work on
  int sweeps;              // of coordinate descent per block, at most
  Real* beta;              // [problems][ld]: dual variables
  uint8_t* shrunk;         // [problems][ld]: rows that are skipped
  int64_t ld;
  int64_t count;  // of rows in the order
  double* stats;  // [problems][kStats]: sum of the losses as met, largest violation, rows worked on,
                  // sum of conjugates after the pass, sum of squares of the table. Sums run within a
                  // segment of the order first, then over segments
};

template <class Code, class Real>
void linear_pass(const Isa& isa, const CodeRows<Code>& x, const LinearObjective& objective,
                 const LinearPass<Real>& pass, const WeightTables<Real>& tables, int threads, Interrupted interrupted);

// out[i][problem] = decision value
template <class Code, class Real>
void linear_decide(const Isa& isa, const CodeRows<Code>& x, double scale, const FixedWeightTables<Real>& tables,
                   Real* out, int threads, Interrupted interrupted);

// sums[j][code] += beta of the rows with that code
template <class Code, class Real>
void linear_accumulate(const CodeRows<Code>& x, const Real* beta, double* sums, int64_t stride, int threads,
                       Interrupted interrupted);

}  // namespace kernelsketch
