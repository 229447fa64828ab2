// The look at rows: arrays of their exact size, so that a sanitizer sees reads and writes past the end.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>
#include <vector>

#include "core_test.h"
#include "kernelsketch/dispatch.h"
#include "kernelsketch/measure.h"

using namespace kernelsketch;

namespace {

template <class T>
void run_measure(const Isa& isa, int64_t n, int64_t d, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<T> x(n * d);
  for (T& v : x) v = static_cast<T>(static_cast<int>(random() % 511) - 255);
  const auto sizes_of = [&](const std::vector<T>& rows) {
    std::vector<double> sizes(n);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t f = 0; f < d; ++f) sizes[i] = std::max(sizes[i], std::fabs(static_cast<double>(rows[i * d + f])));
    return sizes;
  };
  std::vector<double> sizes(n);
  std::vector<int64_t> ends(n + 1);
  std::vector<int32_t> indices;
  for (int64_t i = 0; i < n; ++i) {
    ends[i + 1] = (i + 1) * d;
    for (int64_t f = 0; f < d; ++f) indices.push_back(static_cast<int32_t>(f));
  }
  const auto [low, high] = std::minmax_element(x.begin(), x.end());
  ValueRange found = measure(isa, DenseRows<T>{x.data(), n, d, d}, sizes.data(), 2);
  bool right = sizes == sizes_of(x) && found.low == *low && found.high == *high && found.finite && found.small;
  found = measure(isa, CsrRows<T, int32_t>{ends.data(), indices.data(), x.data(), n, d}, sizes.data(), 2);
  right = right && sizes == sizes_of(x) && found.low == std::min<double>(0, *low) && found.small;
  right = right && is_canonical(ends.data(), n, indices.data(), n * d, d, 2);
  right = right && !is_canonical(ends.data(), n, indices.data(), n * d, d - 1, 2);
  right = right && !is_canonical(ends.data(), n, indices.data(), n * d - 1, d, 2);

  const int offset = -255;
  for (T& v : x) v = std::min<T>(v, 0);
  std::vector<uint8_t> bytes(n * (d + 3));
  std::vector<double> sums(n);
  to_bytes(isa, DenseRows<T>{x.data(), n, d, d}, offset, bytes.data(), d + 3, sums.data(), 2);
  for (int64_t i = 0; i < n; ++i) {
    double sum = 0;
    for (int64_t f = 0; f < d + 3; ++f) {
      const T v = f < d ? x[i * d + f] : static_cast<T>(offset);
      right = right && bytes[i * (d + 3) + f] == static_cast<uint8_t>(static_cast<int>(v) - offset);
      sum += f < d ? std::fabs(static_cast<double>(v)) : 0;
    }
    right = right && sums[i] == sum;
  }

  const int64_t at = static_cast<int64_t>(random() % x.size());
  x[at] = T(0.5);
  found = measure(isa, DenseRows<T>{x.data(), n, d, d}, sizes.data(), 2);
  right = right && found.finite && !found.small;
  x[at] = std::numeric_limits<T>::infinity();
  found = measure(isa, DenseRows<T>{x.data(), n, d, d}, sizes.data(), 2);
  for (int64_t i = 0; i < n; ++i) right = right && std::isnan(sizes[i]) == (i == at / d);
  if (right && !found.finite && !found.small) return;
  ++failures;
  std::printf("%s measure: seed %u\n", isa.name, seed);
}

}  // namespace

void test_measure(const Isa& isa) {
  unsigned seed = 0;
  for (const int64_t n : {1, 3, 70})
    for (const int64_t d : {1, 2, 7, 8, 9, 15, 16, 17, 33, 1000}) {
      run_measure<float>(isa, n, d, ++seed);
      run_measure<double>(isa, n, d, ++seed);
    }
}
