// Learning: passes, decision values and Newton steps against the relations that they stand for, on one and more threads.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "core/losses.h"
#include "core_test.h"
#include "kernelsketch/linear.h"
#include "kernelsketch/newton.h"

using namespace kernelsketch;

namespace {

using ks::Loss;

// The bounds of a dual variable.
std::pair<double, double> bounds_of(Loss loss, double y, double c, double parameter) {
  std::pair<double, double> found;
  ks::with_loss<double>(static_cast<int>(loss), [&]<class LossOf>(LossOf) {
    found = {LossOf::low(y, c, parameter), LossOf::high(y, c, parameter)};
  });
  return found;
}

std::vector<Loss> smooth_losses() {
  std::vector<Loss> found;
  bool is_smooth = false;
  const auto look = [&]<class LossOf>(LossOf) { is_smooth = LossOf::kIsSmooth; };
  for (int number = 0; ks::with_loss<double>(number, look); ++number)
    if (is_smooth) found.push_back(static_cast<Loss>(number));
  return found;
}

bool has_numbers(Loss loss) { return bounds_of(loss, 1, 1, 0.25).first < 0; }

// Passes of all losses: threads do not matter, the table is the sum of the duals, duals keep their bounds, and the dual
// objective is above 0, where it starts. Vectors have exactly the needed size.
template <class Code, class Real>
void run_linear(const Isa& isa, Loss loss, int64_t n, int64_t k, int64_t stride, unsigned seed) {
  std::mt19937 random(seed);
  const bool numbers = has_numbers(loss);
  const int64_t problems = numbers ? 1 : 3;
  std::vector<Code> codes(n * k);
  for (Code& c : codes) c = static_cast<Code>(random() % static_cast<unsigned>(stride));
  std::vector<uint8_t> empty(n), running(problems, 1);
  std::vector<int32_t> order(n), labels(n), positive(problems);
  std::vector<float> targets(n), cost(n), factors(2 * problems, 0.5f), threshold(problems, 0.01f);
  for (int64_t i = 0; i < n; ++i) {
    empty[i] = random() % 7 == 0;
    order[i] = static_cast<int32_t>((i * 5 + 3) % n);
    labels[i] = static_cast<int32_t>(random() % 3);
    targets[i] = static_cast<float>(random() % 100) / 25 - 2;
    cost[i] = static_cast<float>(random() % 4);
  }
  if (n % 5 == 0)
    for (int64_t i = 0; i < n; ++i) order[i] = static_cast<int32_t>(n - 1 - i);
  for (int64_t p = 0; p < problems; ++p) positive[p] = static_cast<int32_t>(p);
  const CodeRows<Code> x{codes.data(), empty.data(), n, k};
  const LinearObjective objective{loss, 0.5, 0.25};
  const LinearTargets targets_of{numbers ? nullptr : labels.data(), numbers ? targets.data() : nullptr, cost.data(),
                                 positive.data(), factors.data()};
  std::vector<Real> w[2], beta[2];
  std::vector<double> bias[2];
  bool right = true;
  for (const int t : {0, 1}) {
    w[t].resize(problems * k * stride);
    beta[t].resize(problems * n);
    bias[t].resize(problems);
    std::vector<uint8_t> shrunk(problems * n);
    std::vector<double> stats(problems * kStats);
    const WeightTables<Real> tables{w[t].data(), bias[t].data(), problems, stride};
    const LinearPass<Real> arrays{
        order.data(), targets_of, threshold.data(), running.data(), 8, beta[t].data(), shrunk.data(), n, n,
        stats.data()};
    for (int pass = 0; pass < 3; ++pass) linear_pass(isa, x, objective, arrays, tables, 1 + t, nullptr);
    for (int64_t p = 0; p < problems; ++p) {
      const double* s = stats.data() + p * kStats;
      const double norm = static_cast<double>(k) * s[4] + bias[t][p] * bias[t][p];
      right = right && -norm / 2 - s[3] >= -1e-6 && s[1] >= 0 && s[0] >= 0;
    }
  }
  right = right && w[0] == w[1] && beta[0] == beta[1] && bias[0] == bias[1];
  std::vector<Real> out(n * problems);
  linear_decide<Code, Real>(isa, x, objective.scale, {w[0].data(), bias[0].data(), problems, stride}, out.data(), 2,
                            nullptr);
  for (int64_t p = 0; p < problems; ++p) {
    std::vector<double> sums(k * stride);
    linear_accumulate<Code, Real>(x, beta[0].data() + p * n, sums.data(), stride, 2, nullptr);
    double shift = 0;
    for (int64_t i = 0; i < n; ++i) shift += 0.5 * static_cast<double>(beta[0][p * n + i]);
    right = right && std::fabs(shift - bias[0][p]) < 1e-4;
    for (int64_t q = 0; q < k * stride; ++q)
      right =
          right && std::fabs(sums[q] / static_cast<double>(k) - static_cast<double>(w[0][p * k * stride + q])) < 1e-4;
    for (int64_t i = 0; i < n; ++i) {
      double f = 0.5 * bias[0][p];
      for (int64_t j = 0; j < k && !empty[i]; ++j)
        f += static_cast<double>(w[0][p * k * stride + j * stride + codes[i * k + j]]);
      right = right && std::fabs(f - static_cast<double>(out[i * problems + p])) < 1e-4;
      const double b = beta[0][p * n + i], c = numbers ? cost[i] : cost[i] / 2;
      const auto [low, high] = bounds_of(loss, labels[i] == p ? 1 : -1, c, objective.parameter);
      right = right && (cost[i] > 0 ? low <= b && b <= high : b == 0);
    }
  }
  if (!right) {
    std::printf("linear %s loss=%d n=%lld k=%lld stride=%lld\n", isa.name, static_cast<int>(loss),
                static_cast<long long>(n), static_cast<long long>(k), static_cast<long long>(stride));
    ++failures;
  }
}

// Symbols stand for their codes; steps end at a small gap, which is half the squared norm of the gradient.
template <class Code, class Real>
void run_newton(const Isa& isa, Loss loss, int64_t n, int64_t k, int64_t used, int64_t together, unsigned seed) {
  std::mt19937 random(seed);
  const bool numbers = has_numbers(loss);
  const int64_t problems = numbers ? 1 : 2, stride = (used + 15) / 16 * 16, groups = (k + together - 1) / together;
  std::vector<Code> codes(n * k);
  for (Code& c : codes) c = static_cast<Code>(random() % static_cast<unsigned>(used));
  std::vector<uint8_t> empty(n), running(problems, 1), fresh(problems, 1);
  std::vector<int32_t> labels(n), positive(problems), first(groups * n), cells;
  std::vector<float> targets(n), cost(n), factors(2 * problems, 0.5f);
  for (int64_t i = 0; i < n; ++i) {
    empty[i] = random() % 7 == 0;
    labels[i] = static_cast<int32_t>(random() % 3);
    targets[i] = static_cast<float>(random() % 100) / 25 - 2;
    cost[i] = static_cast<float>(random() % 4);
  }
  for (int64_t p = 0; p < problems; ++p) positive[p] = static_cast<int32_t>(p);
  const CodeRows<Code> x{codes.data(), empty.data(), n, k};
  std::vector<uint16_t> symbols(n * groups);
  std::vector<int64_t> counts(groups), most(problems, 1000);
  bool right = make_symbols(x, together, n, symbols.data(), counts.data(), first.data(), 2, nullptr);
  const int64_t wide = std::max<int64_t>(1, *std::max_element(counts.begin(), counts.end()));
  cells.resize(groups * wide * together);
  for (int64_t g = 0; g < groups && right; ++g) {
    for (int64_t s = 0; s < counts[g]; ++s)
      for (int64_t i = 0; i < std::min(together, k - g * together); ++i) {
        const int64_t j = g * together + i;
        cells[(g * wide + s) * together + i] = static_cast<int32_t>(j * stride + codes[first[g * n + s] * k + j]);
      }
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = g * together; j < std::min(k, (g + 1) * together) && !empty[i]; ++j)
        right = right && cells[(g * wide + symbols[i * groups + g]) * together + j - g * together] ==
                             j * stride + codes[i * k + j];
  }
  const LinearTargets targets_of{numbers ? nullptr : labels.data(), numbers ? targets.data() : nullptr, cost.data(),
                                 positive.data(), factors.data()};
  std::vector<Real> w[2], beta[2], f[2];
  std::vector<double> bias[2], stats(problems * kNewtonStats);
  for (const int t : {0, 1}) {
    w[t].resize(problems * k * stride);
    beta[t].resize(problems * n);
    f[t].resize(problems * n);
    bias[t].resize(problems);
    const NewtonStep<Real> step{targets_of,
                                running.data(),
                                fresh.data(),
                                1e-3,
                                {symbols.data(), counts.data(), cells.data(), groups, wide, together},
                                static_cast<int64_t>(seed % 3) * 70,
                                most.data(),
                                beta[t].data(),
                                f[t].data(),
                                n,
                                stats.data()};
    const WeightTables<Real> tables{w[t].data(), bias[t].data(), problems, stride};
    for (int steps = 0; steps < 60; ++steps) newton_step(isa, x, {loss, 0.5, 0.25}, step, tables, 1 + 2 * t, nullptr);
  }
  right = right && w[0] == w[1] && beta[0] == beta[1] && bias[0] == bias[1];
  for (int64_t p = 0; p < problems && right; ++p) {
    const double *s = stats.data() + p * kNewtonStats, gap = s[1];
    right = right && s[3] == 0 && gap >= 0 && gap <= 1e-3 * s[0];
    std::vector<double> sums(k * stride);
    double shift = 0, norm = 0;
    for (int64_t i = 0; i < n; ++i) {
      const double b = beta[0][p * n + i];
      shift += 0.5 * b;
      for (int64_t j = 0; j < k && !empty[i]; ++j) sums[j * stride + codes[i * k + j]] += b / static_cast<double>(k);
    }
    for (int64_t q = 0; q < k * stride; ++q)
      norm += std::pow(sums[q] - static_cast<double>(w[0][p * k * stride + q]), 2) * static_cast<double>(k);
    norm += std::pow(shift - bias[0][p], 2);
    right = right && std::fabs(norm / 2 - gap) <= 1e-5 * s[0] + 1e-6;
  }
  if (!right) {
    std::printf("newton %s loss=%d n=%lld k=%lld used=%lld together=%lld\n", isa.name, static_cast<int>(loss),
                static_cast<long long>(n), static_cast<long long>(k), static_cast<long long>(used),
                static_cast<long long>(together));
    ++failures;
  }
}

}  // namespace

void test_linear(const Isa& isa) {
  unsigned seed = 0;
  for (int loss = 0; ks::with_loss<float>(loss, [](auto) {}); ++loss)
    for (const int64_t n : {1, 7, 24, 131, 300})
      for (const int64_t stride : {16, 32, 64, 65, 256}) {
        const int64_t k = 1 + seed++ * 22 % 83;
        run_linear<uint8_t, float>(isa, static_cast<Loss>(loss), n, k, stride, seed);
        run_linear<uint16_t, float>(isa, static_cast<Loss>(loss), n, k, stride + 20, seed);
        run_linear<uint8_t, double>(isa, static_cast<Loss>(loss), n, k, stride, seed);
      }
  for (const Loss loss : smooth_losses())
    for (const int64_t n : {1, 40, 300})
      for (const int64_t together : {2, 4, 8}) {
        const int64_t k = 1 + seed++ * 22 % 45;
        run_newton<uint8_t, float>(isa, loss, n, k, 1 + seed % 3, together, seed);
        run_newton<uint16_t, float>(isa, loss, n, k, 1 + seed % 5, together, seed);
        run_newton<uint8_t, double>(isa, loss, n, k, 1 + seed % 9, together, seed);
      }
}
