#include "kernelsketch/join.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>
#include <vector>

#include "core/pair.h"
#include "core/rng.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kRows = 1024;                          // rows or pairs that a thread takes at a time
constexpr double kSlack = 1 - 1.0 / (int64_t{1} << 20);  // rounding may not end a prefix too early

template <class Index>
uint64_t mixed(Index feature) {
  return ks_mix64(static_cast<uint64_t>(feature) + KS_GOLDEN64);
}

template <class T, class Index>
double similarity(const CsrRows<T, Index>& x, int64_t a, int64_t b) {
  double minima = 0;
  int64_t i = x.indptr[a], j = x.indptr[b];
  const int64_t i_end = x.indptr[a + 1], j_end = x.indptr[b + 1];
  while (i < i_end && j < j_end) {
    const Index f = x.indices[i], g = x.indices[j];
    if (f == g) minima += static_cast<double>(ks::shared(x.data[i], x.data[j]));
    i += f <= g;
    j += g <= f;
  }
  return ks::of_minima(minima, row_norm(x, a) + row_norm(x, b));
}

}  // namespace

template <class T, class Index>
void join_keys(const CsrRows<T, Index>& x, uint64_t* out, int threads, Interrupted interrupted) {
  each_row(x.n, kRows, threads, interrupted, [&](int64_t row) {
    uint64_t one = 0, two = 0;
    for (int64_t k = x.indptr[row]; k < x.indptr[row + 1]; ++k) {
      if (x.data[k] == 0) continue;
      const uint64_t e = ks_mix64(mixed(x.indices[k]) ^ std::bit_cast<uint64_t>(static_cast<double>(x.data[k])));
      one += e;
      two += ks_mix64(e + KS_GOLDEN64);
    }
    out[2 * row] = one;
    out[2 * row + 1] = two;
  });
}

template <class T, class Index>
void join_count(const CsrRows<T, Index>& x, uint16_t* counters, int bits) {
  for (int64_t k = 0; k < x.indptr[x.n]; ++k) {
    uint16_t& counter = counters[mixed(x.indices[k]) >> (64 - bits)];
    counter = static_cast<uint16_t>(counter + (counter < 0xFFFF));
  }
}

template <class T, class Index>
void join_prefixes(const CsrRows<T, Index>& x, const uint16_t* counters, int bits, double threshold, uint8_t* out,
                   int threads, Interrupted interrupted) {
  in_parts(x.n, kRows, threads, interrupted, [&](int64_t first, int64_t last) {
    std::vector<std::pair<uint16_t, int64_t>> order;  // counters above 1, and places: features ascend with them
    for (int64_t row = first; row < last; ++row) {
      order.clear();
      const double norm = row_norm(x, row), least = threshold * norm * kSlack;
      double rest = norm;
      for (int64_t k = x.indptr[row]; k < x.indptr[row + 1]; ++k) {
        out[k] = 0;
        if (x.data[k] == 0) continue;
        const uint16_t count = counters[mixed(x.indices[k]) >> (64 - bits)];
        if (count > 1)
          order.emplace_back(count, k);
        else if (rest >= least)
          rest -= std::abs(static_cast<double>(x.data[k]));
      }
      std::sort(order.begin(), order.end());
      for (const auto& [count, k] : order) {
        if (rest < least) break;
        out[k] = 1;
        rest -= std::abs(static_cast<double>(x.data[k]));
      }
    }
  });
}

template <class T, class Index>
void join_similarities(const CsrRows<T, Index>& x, const int64_t* left, const int64_t* right, int64_t pairs,
                       double* out, int threads, Interrupted interrupted) {
  each_row(pairs, kRows, threads, interrupted, [&](int64_t i) { out[i] = similarity(x, left[i], right[i]); });
}

#define KS_INSTANTIATE(T, Index)                                                                                   \
  template void join_keys(const CsrRows<T, Index>&, uint64_t*, int, Interrupted);                                  \
  template void join_count(const CsrRows<T, Index>&, uint16_t*, int);                                              \
  template void join_prefixes(const CsrRows<T, Index>&, const uint16_t*, int, double, uint8_t*, int, Interrupted); \
  template void join_similarities(const CsrRows<T, Index>&, const int64_t*, const int64_t*, int64_t, double*, int, \
                                  Interrupted);
KS_EACH_CSR(KS_INSTANTIATE)

}  // namespace kernelsketch
