// Linear models whose input is the matrix of codes: learned and evaluated without the one-hot features.
//
// A row with codes c_1 .. c_k is the unit vector with 1/sqrt(k) at (j, c_j), and, with an intercept, the number s
// beside them. A model is a table w of k x alphabet numbers, in units of 1/sqrt(k), and a bias b:
//     f = sum_j w[j][c_j] + s b.
// An empty row has f = s b.
//
// Learning minimizes 1/2 |w|^2 + sum_i loss(f_i, y_i) by its dual, one number beta_i a row with
// w = sum_i beta_i x_i, block by block: the decision values of up to 256 rows are computed at once, while the part of
// the table that they need is in the L1 cache; the inner products of those of them that can move (the matches of
// their codes) let coordinate descent run within the block as if each step had been applied to the table; then the
// table is brought up to date. That is exact dual coordinate descent, several sweeps a block for the price of one.
//
// Sums run in the order of hashes, steps in the order of rows, all in one type (Real: float, or double for gaps that
// float cannot reach) without contraction: results do not depend on threads or instruction sets.
#pragma once

#include <cstdint>

#include "kernelsketch/gmm.h"

namespace kernelsketch {

inline constexpr int64_t kBlockRows = 256;  // whose decision values are computed at once
inline constexpr int64_t kSegment = 16384;  // visits after which a block ends: what a pass may read at a time
inline constexpr int64_t kStats = 5;
inline constexpr int kSweeps = 32;          // of coordinate descent within a block, at most

// The arithmetic of one instruction set; src/isa/linear.cpp fills it in. Tables are [k][stride].
template <class Real>
struct LinearOps {
  // sums[r] = sum_j w[j][rows[r][j]]
  void (*sums8)(const uint8_t* const* rows, int64_t n, int64_t k, const Real* w, int64_t stride, Real* sums);
  void (*sums16)(const uint16_t* const* rows, int64_t n, int64_t k, const Real* w, int64_t stride, Real* sums);
  // w[j][rows[r][j]] += steps[r], row after row
  void (*add8)(const uint8_t* const* rows, int64_t n, int64_t k, const Real* steps, Real* w, int64_t stride);
  void (*add16)(const uint16_t* const* rows, int64_t n, int64_t k, const Real* steps, Real* w, int64_t stride);
  // y[i] += a x[i]
  void (*axpy)(Real a, const Real* x, int64_t n, Real* y);
};

enum class Loss : int { squared_hinge, hinge, log, squared, huber };

// Rows: all of them, or a part that is in memory.
template <class Code>
struct CodeRows {
  const Code* codes;        // [n][k]
  const uint8_t* empty;     // [n]
  int64_t n, k;
  const Code* row(int64_t i) const { return codes + i * k; }
};

// Several problems with the same rows: each has a table, a bias, and one beta a row.
template <class Weight, class Bias>
struct TablesOf {
  Weight* w;                // [count][k][stride]
  Bias* bias;               // [count]
  int64_t count, stride;
};
template <class Real>
using Tables = TablesOf<Real, double>;
template <class Real>
using FixedTables = TablesOf<const Real, const double>;  // of a model that is not to be changed, or cannot be

struct LinearTask {
  Loss loss;
  double scale;             // s, 0 for no intercept
  double epsilon;           // of the Huber loss
};

// One visit of every row, in the given order.
template <class Real>
struct Visit {
  const int32_t* order;     // [n]
  const int32_t* labels;    // [n]: y is 1 where the label is that of the problem, else -1; or null
  const float* targets;     // [n]: y; or null
  const float* cost;        // [n]: C times the weight of a row; rows of cost 0 are passed over
  const int32_t* positive;  // [problems]: label
  const float* factors;     // [problems][2]: of the cost, for y = -1 and y = 1
  const float* threshold;   // [problems]: rows at rest stay out once their slack is above it
  const uint8_t* running;   // [problems]: problems to work on
  Real* beta;               // [problems][ld]
  uint8_t* rests;           // [problems][ld]: rows that are left out
  int64_t ld;
  double* stats;            // [problems][kStats]: sum of losses as met, largest violation, rows worked on,
                            // sum of conjugates after the visit, sum of squares of the table. Sums run within
                            // a segment in the order of visits, then over segments
};

template <class Code, class Real>
void linear_visit(const Isa& isa, const CodeRows<Code>& x, const LinearTask& task, const Visit<Real>& visit,
                  const Tables<Real>& tables, int threads, Interrupted interrupted);

// out[i][problem] = decision value
template <class Code, class Real>
void linear_decide(const Isa& isa, const CodeRows<Code>& x, double scale, const FixedTables<Real>& tables, Real* out,
                   int threads, Interrupted interrupted);

// sums[j][code] += beta of the rows with that code
template <class Code, class Real>
void linear_accumulate(const CodeRows<Code>& x, const Real* beta, double* sums, int64_t stride, int threads,
                       Interrupted interrupted);

}  // namespace kernelsketch
