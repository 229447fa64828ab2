// Block dual coordinate descent on codes (reference/linear.py): the solver of streams and of losses that are not smooth.
//
// Up to 256 rows are a block. Their decision values and the numbers of equal codes of all pairs are known. One block of
// threads sweeps over the rows of a problem, one thread per row: the thread whose turn it is moves its dual, and all move
// their slopes. Another kernel then moves the weights, one thread per hash, in the order of the rows. All of this has the
// order of operations of the reference, whose results it equals bit for bit, apart from the logarithmic loss.
#include "device.h"

using namespace ks;

namespace {

constexpr int kThreads = 256;
constexpr bool kNear = kSharedKib >= 132;  // whether the matches of a block of rows fit in shared memory
constexpr double kLeastShare = 1e-8;
enum { kSquaredHinge = 0, kHinge = 1, kLogLoss = 2, kSquaredError = 3, kHuber = 4 };

// A row of a problem: target, cost, dual and the decision value.
template <class Real>
struct Row {
  Real y, c, beta, f;
};

// y beta, kept away from 0 and from the cost, where the logarithms have no limit.
__device__ __forceinline__ double share_of(double a, double cost) {
  double low = kLeastShare * cost, high = (1 - kLeastShare) * cost;
  return a < low ? low : a > high ? high : a;
}

// How far the dual is from the minimum in its coordinate; 0 where a bound holds it.
template <class Real>
__device__ Real gradient(i64 loss, const Row<Real>& of, Real epsilon) {
  Real a = of.y * of.beta;
  if (loss == kSquaredHinge) {
    Real g = of.y * of.f - (Real)1 + a * quotient((Real)0.5, of.c);
    return a > 0 || g < 0 ? g : (Real)0;
  }
  if (loss == kHinge) {
    Real g = of.y * of.f - (Real)1;
    return (a > 0 || g < 0) && (a < of.c || g > 0) ? g : (Real)0;
  }
  if (loss == kLogLoss) {
    double cost = (double)of.c, s = share_of((double)of.y * (double)of.beta, cost);
    double g = (double)of.y * (double)of.f + log(s / (cost - s));
    return (Real)(g * s * (cost - s) / (cost * cost));
  }
  Real g = of.f - of.y + of.beta * quotient((Real)0.5, of.c);
  if (loss == kSquaredError) return g;
  Real most = (Real)2 * of.c * epsilon;
  return (of.beta > -most || g < 0) && (of.beta < most || g > 0) ? g : (Real)0;
}

__device__ double log_step(double f, double y, double beta, double cost, double q) {
  double a = share_of(y * beta, cost), slope = y * f;
  bool upper = q * (cost / 2 - a) + slope < 0;
  double start = upper ? cost - a : a, b = upper ? -slope : slope, z = start < cost / 2 ? start : cost / 2;
  for (int i = 0; i < 50; ++i) {
    double g = q * (z - start) + b + log(z / (cost - z));
    double following = z - g / (q + cost / (z * (cost - z))), most = cost / 2 + (cost / 2 - z) / 2;
    double to = following <= 0 ? z / 10 : following < most ? following : most, change = to - z;
    if ((change < 0 ? -change : change) <= 1e-12 * z) break;
    z = to;
  }
  z = z > kLeastShare * cost ? z : kLeastShare * cost;
  return y * (upper ? cost - z : z);
}

// The bounds of a dual.
template <class Real>
__device__ void bounds(i64 loss, const Row<Real>& of, Real epsilon, Real* low, Real* high) {
  const Real infinity = (Real)(1e300 * 1e300);
  bool positive = of.y > 0;
  if (loss == kSquaredHinge) {
    *low = positive ? (Real)0 : -infinity;
    *high = positive ? infinity : (Real)0;
  } else if (loss == kHinge) {
    *low = positive ? (Real)0 : -of.c;
    *high = positive ? of.c : (Real)0;
  } else {
    *high = loss == kHuber ? (Real)2 * of.c * epsilon : infinity;
    *low = -*high;
  }
}

__device__ double value(i64 loss, double f, double y, double c, double epsilon) {
  double m = 1 - y * f;
  if (loss == kSquaredHinge) return m > 0 ? c * m * m : 0;
  if (loss == kHinge) return m > 0 ? c * m : 0;
  if (loss == kLogLoss) {
    double margin = y * f;
    return c * (margin < 0 ? log1p(exp(margin)) - margin : log1p(exp(-margin)));
  }
  double r = f < y ? y - f : f - y;
  return loss == kSquaredError || r <= epsilon ? c * r * r : c * epsilon * (2 * r - epsilon);
}

__device__ double conjugate(i64 loss, double beta, double y, double c) {
  if (loss == kHinge) return -y * beta;
  if (loss != kLogLoss) return beta * beta / (4 * c) - y * beta;
  double a = y * beta < 0 ? 0 : y * beta > c ? c : y * beta, rest = c - a;
  return (a > 0 ? a * log(a / c) : 0) + (rest > 0 ? rest * log(rest / c) : 0);
}

// A sum or a maximum over the block, in all threads.
template <class T, class Join>
__device__ __forceinline__ T over_block(T value, Join join) {
  __shared__ T warps[kThreads / kWarp];
  for (int step = kWarp / 2; step > 0; step /= 2) value = join(value, __shfl_xor_sync(kAllLanes, value, step));
  __syncthreads();
  if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = value;
  __syncthreads();
  T found = warps[0];
  for (int w = 1; w < kThreads / kWarp; ++w) found = join(found, warps[w]);
  return found;
}

template <class T>
__device__ __forceinline__ T block_sum(T value) {
  return over_block(value, [](T a, T b) { return a + b; });
}
template <class T>
__device__ __forceinline__ T block_max(T value) {
  return over_block(value, [](T a, T b) { return a > b ? a : b; });
}

// One block per problem and one thread per row of the block. f and changes are [problem][n], beta [problem][all rows];
// matches [n][n]. Rows have numbers, by which targets, costs and duals are found. stats [problem][4] are added to.
template <class Real>
__device__ void descend(i64 loss, double epsilon, double scale, i64 k, i64 sweeps, i64 n, const i32* rows, i64 all,
                        const i32* labels, const float* targets, const float* cost, const i32* positive,
                        const float* factors, const u8* running, const u8* empty, const i32* matches, const Real* f,
                        Real* beta, Real* changes, double* stats) {
  KS_DYNAMIC_SHARED(dynamic);
  u16* equal = (u16*)dynamic;  // the matches of pairs of rows, [n][n]
  __shared__ Real moved[2];
  __shared__ i32 moving[kThreads];
  __shared__ u32 before[kThreads / kWarp];
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
  Real share = quotient((Real)1, (Real)k), corner = (Real)(scale * scale), limit = (Real)epsilon;
  Real g = counts ? gradient(loss, of, limit) : (Real)0;
  double losses = block_sum(counts ? value(loss, (double)of.f, (double)of.y, (double)of.c, epsilon) : 0.0);
  double violation = block_max((double)(g < 0 ? -g : g));
  bool moves = g != 0;
  u32 place = moves;
  for (int step = 1; step < kWarp; step *= 2) {
    u32 other = __shfl_up_sync(kAllLanes, place, step);
    if ((int)r % kWarp >= step) place += other;
  }
  if (r % kWarp == kWarp - 1) before[r / kWarp] = place;
  __syncthreads();
  u32 count = 0;
  for (int w = 0; w < kThreads / kWarp; ++w) {
    if (w < (int)r / kWarp) place += before[w];
    count += before[w];
  }
  if (moves) moving[place - 1] = (i32)r;
  __syncthreads();
  Real norm = (none ? (Real)0 : (Real)1) + corner, q = norm > (Real)1e-12f ? norm : (Real)1e-12f;
  Real old = of.beta, slope = of.f, low = 0, high = 0, inverse = 0;
  bool quadratic = loss != kLogLoss;
  if (quadratic && counts) {
    Real ridge = loss == kHinge ? (Real)0 : quotient((Real)0.5, of.c);
    bounds(loss, of, limit, &low, &high);
    inverse = quotient((Real)-1, q + ridge);
    slope = slope - of.y + of.beta * ridge;
    norm = norm + ridge;
  }
  Real first = 0;
  int turn = 0;
  for (i64 sweep = 0; count && sweep < sweeps; ++sweep) {
    Real largest = 0;
    for (u32 i = 0; i < count; ++i, turn ^= 1) {
      int u = moving[sweep % 2 ? count - 1 - i : i];
      if (r == u) {
        Real d, to;
        if (quadratic) {
          Real down = low - of.beta, up = high - of.beta;
          d = slope * inverse;
          d = d > down ? d : down;
          d = d < up ? d : up;
          to = d == down ? low : d == up ? high : of.beta + d;
        } else {
          to = (Real)log_step((double)slope, (double)of.y, (double)of.beta, (double)of.c, (double)q);
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
    largest = block_max(largest);
    if (sweep == 0) first = largest;
    if (largest <= (Real)0.02f * first) break;
  }
  if (inside) {
    beta[p * all + row] = of.beta;
    changes[p * n + r] = of.beta - old;
  }
  bool used = counts && of.beta != 0;
  double conjugates = block_sum(used ? conjugate(loss, (double)of.beta, (double)of.y, (double)of.c) : 0.0);
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

#define KS_APPLY(real, Real, name, Code)                                                                              \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(256, 1)                                                                 \
      descent_apply_##real##_##name(const Real* changes, i64 n, const Code* codes, const u8* empty, i64 k,            \
                                    i64 stride, double scale, Real* w, double* bias) {                                \
    apply<Real, Code>(changes, n, codes, empty, k, stride, scale, w, bias);                                           \
  }
#define KS_DESCENT(real, Real)                                                                                        \
  extern "C" __global__ void KS_LAUNCH_BOUNDS(256, 1) descent_sweep_##real(                                           \
      i64 loss, double epsilon, double scale, i64 k, i64 sweeps, i64 n, const i32* rows, i64 all, const i32* labels,  \
      const float* targets, const float* cost, const i32* positive, const float* factors, const u8* running,          \
      const u8* empty, const i32* matches, const Real* f, Real* beta, Real* changes, double* stats) {                 \
    descend<Real>(loss, epsilon, scale, k, sweeps, n, rows, all, labels, targets, cost, positive, factors, running,   \
                  empty, matches, f, beta, changes, stats);                                                           \
  }                                                                                                                   \
  KS_APPLY(real, Real, u8, u8)                                                                                        \
  KS_APPLY(real, Real, u16, u16)
KS_DESCENT(f32, float)
KS_DESCENT(f64, double)
