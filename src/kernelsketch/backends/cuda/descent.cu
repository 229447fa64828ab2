// Block dual coordinate descent on codes (reference/linear.py): the solver of streams and of losses that are not smooth.
//
// Up to 256 rows are a block. Their decision values and the numbers of equal codes of all pairs are known. One block of
// threads sweeps over the rows of a problem, one thread per row: the thread whose turn it is moves its dual, and all move
// their slopes. Another kernel then moves the weights, one thread per hash, in the order of the rows. All of this has the
// order of operations of the reference, whose results it equals bit for bit, apart from the logarithmic loss.
#include "core/losses.h"
#include "device.h"

using namespace ks;

namespace {

constexpr int kThreads = 256;
constexpr bool kNear = kSharedKib >= 132;  // whether the matches of a block of rows fit in shared memory

// A row of a problem: target, cost, dual and the decision value.
template <class Real>
struct Row {
  Real y, c, beta, f;
};

// One block per problem and one thread per row of the block. f and changes are [problem][n], beta [problem][all rows];
// matches [n][n]. Rows have numbers, by which targets, costs and duals are found. stats [problem][4] are added to.
template <class Real>
__device__ void descend(i64 loss, double parameter, double scale, i64 k, i64 sweeps, i64 n, const i32* rows, i64 all,
                        const i32* labels, const float* targets, const float* cost, const i32* positive,
                        const float* factors, const u8* running, const u8* empty, const i32* matches, const Real* f,
                        Real* beta, Real* changes, double* stats) {
  KS_DYNAMIC_SHARED(dynamic);
  u16* equal = (u16*)dynamic;  // the matches of pairs of rows, [n][n]
  __shared__ Real moved[2];
  __shared__ i32 moving[kThreads];
  i64 p = blockIdx.x, r = threadIdx.x;
  if (!running[p]) {
    if (r < n) changes[p * n + r] = 0;
    return;
  }
  for (i64 i = r; kNear && i < n * n; i += kThreads) equal[i] = (u16)matches[i];
  bool inside = r < n;
  i64 row = inside ? rows[r] : 0;
  Row<Real> of = {1, 0, 0, 0};
  if (inside) {
    bool own = labels && labels[row] == positive[p];
    of.y = labels ? (own ? (Real)1 : (Real)-1) : (Real)targets[row];
    of.c = (Real)(labels ? cost[row] * factors[2 * p + own] : cost[row]);
    of.beta = beta[p * all + row];
    of.f = f[p * n + r];
  }
  bool counts = inside && of.c > 0, none = inside && empty[r];
  Real share = quotient((Real)1, (Real)k), corner = (Real)(scale * scale), of_loss = (Real)parameter;
  Real g = 0;
  double losses = 0;
  with_loss<Real>(loss, [&](auto chosen) {
    if (!counts) return;
    g = gradient_of(chosen, of.f, of.y, of.beta, of.c, of_loss);
    losses = decltype(chosen)::value((double)of.f, (double)of.y, (double)of.c, parameter);
  });
  losses = block_join<kThreads>(losses, Sum());
  double violation = block_join<kThreads>((double)(g < 0 ? -g : g), Largest());
  u32 count, place = block_scan<kThreads>(g != 0, count);
  if (g != 0) moving[place] = (i32)r;
  __syncthreads();
  Real norm = (none ? (Real)0 : (Real)1) + corner, q = norm > (Real)1e-12f ? norm : (Real)1e-12f;
  Real old = of.beta, slope = of.f, low = 0, high = 0, inverse = 0;
  bool has_ridge = false;
  with_loss<Real>(loss, [&](auto chosen) {
    using LossOf = decltype(chosen);
    if constexpr (LossOf::kHasRidge) {
      if (!counts) return;
      Real ridge = LossOf::ridge(of.c);
      has_ridge = true;
      low = LossOf::low(of.y, of.c, of_loss);
      high = LossOf::high(of.y, of.c, of_loss);
      inverse = quotient((Real)-1, q + ridge);
      slope = slope - of.y + of.beta * ridge;
      norm = norm + ridge;
    }
  });
  Real first = 0;
  int turn = 0;
  for (i64 sweep = 0; count && sweep < sweeps; ++sweep) {
    Real largest = 0;
    for (u32 i = 0; i < count; ++i, turn ^= 1) {
      int u = moving[sweep % 2 ? count - 1 - i : i];
      if (r == u) {
        Real d, to = of.beta;
        if (has_ridge) {
          Real down = low - of.beta, up = high - of.beta;
          d = slope * inverse;
          d = d > down ? d : down;
          d = d < up ? d : up;
          to = d == down ? low : d == up ? high : of.beta + d;
        } else {
          with_loss<Real>(loss, [&](auto chosen) {
            using LossOf = decltype(chosen);
            if constexpr (!LossOf::kHasRidge) to = LossOf::step(slope, of.y, of.beta, of.c, q);
          });
          d = to - of.beta;
        }
        if (d != 0) of.beta = to;
        largest = (d < 0 ? -d : d) > largest ? (d < 0 ? -d : d) : largest;
        moved[turn] = d;
      }
      __syncthreads();
      Real d = moved[turn];
      if (d != 0) {
        i64 pair = u * n + (inside ? r : 0);
        Real product = (kNear ? (Real)equal[pair] : (Real)matches[pair]) * share + corner;
        slope += d * (r == u ? norm : product);
      }
    }
    largest = block_join<kThreads>(largest, Largest());
    if (sweep == 0) first = largest;
    if (largest <= (Real)0.02f * first) break;
  }
  if (inside) {
    beta[p * all + row] = of.beta;
    changes[p * n + r] = of.beta - old;
  }
  double conjugates = 0;
  with_loss<Real>(loss, [&](auto chosen) {
    if (counts && of.beta != 0) conjugates = decltype(chosen)::conjugate((double)of.beta, (double)of.y, (double)of.c);
  });
  conjugates = block_join<kThreads>(conjugates, Sum());
  if (r == 0) {
    stats[4 * p] += losses;
    stats[4 * p + 1] = stats[4 * p + 1] > violation ? stats[4 * p + 1] : violation;
    stats[4 * p + 2] += (double)count;
    stats[4 * p + 3] += conjugates;
  }
}

// Moves the weights of a hash, one per thread, and the bias by the changes of the duals of rows, in their order.
template <class Real, class Code>
__device__ void apply(const Real* changes, i64 n, const Code* codes, const u8* empty, i64 k, i64 stride, double scale,
                      Real* w, double* bias) {
  i64 j = (i64)blockIdx.x * kThreads + threadIdx.x, p = blockIdx.y;
  changes += p * n;
  Real share = quotient((Real)1, (Real)k);
  if (j < k)
    for (i64 i = 0; i < n; ++i)
      if (changes[i] != 0 && !empty[i]) w[(p * k + j) * stride + codes[i * k + j]] += changes[i] * share;
  if (j == 0)
    for (i64 i = 0; i < n; ++i)
      if (changes[i] != 0) bias[p] += (double)changes[i] * scale;
}

}  // namespace

#define KS_APPLY(real, Real, name, Code)                                                                               \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(256, 1)                                                                  \
      descent_apply_##real##_##name(const Real* changes, i64 n, const Code* codes, const u8* empty, i64 k, i64 stride, \
                                    double scale, Real* w, double* bias) {                                             \
    apply<Real, Code>(changes, n, codes, empty, k, stride, scale, w, bias);                                            \
  }
#define KS_DESCENT(real, Real)                                                                                         \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(256, 1) descent_sweep_##real(                                            \
      i64 loss, double parameter, double scale, i64 k, i64 sweeps, i64 n, const i32* rows, i64 all, const i32* labels, \
      const float* targets, const float* cost, const i32* positive, const float* factors, const u8* running,           \
      const u8* empty, const i32* matches, const Real* f, Real* beta, Real* changes, double* stats) {                  \
    descend<Real>(loss, parameter, scale, k, sweeps, n, rows, all, labels, targets, cost, positive, factors, running,  \
                  empty, matches, f, beta, changes, stats);                                                            \
  }                                                                                                                    \
  KS_APPLY(real, Real, u8, u8)                                                                                         \
  KS_APPLY(real, Real, u16, u16)
KS_DESCENT(f32, float)
KS_DESCENT(f64, double)
