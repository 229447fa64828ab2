// Hashes by bounds equal those by a look at all values, whatever the rule of choice says.
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

#include "../../native/src/gcws_bounds.h"
#include "core_test.h"
#include "kernelsketch/dispatch.h"
#include "kernelsketch/gcws.h"
#include "kernelsketch/parallel.h"

using namespace kernelsketch;

namespace {

void run_bounds(const Isa& isa, int64_t n, int64_t d, int64_t k, unsigned density, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> x(n * d);
  for (int64_t i = 0; i < n; ++i) {
    const int size = static_cast<int>(random() % 40) - 20;  // light and heavy rows
    for (int64_t f = 0; f < d; ++f)
      x[i * d + f] = random() % 100 < density ? std::ldexp(static_cast<float>(random() % 2001) - 1000, size) : 0.0f;
  }
  const DenseRows<float> rows{x.data(), n, d, d};
  const GcwsParams params{nullptr, 1.0, seed, k, 8, 2};
  std::vector<int64_t> slots(n * k), t(n * k), expected_slots(n * k), expected_t(n * k);
  std::vector<uint16_t> codes(n * k), expected_codes(n * k);
  std::vector<uint8_t> empty(n), expected_empty(n);
  for (int64_t i = 0; i < n; ++i) {  // a row by itself is never hashed by bounds
    const DenseRows<float> row{x.data() + i * d, 1, d, d};
    gcws(isa, row, params, SampleOutput{&expected_slots[i * k], &expected_t[i * k], &expected_empty[i]}, 1, nullptr);
    gcws(isa, row, params, CodeOutput<uint16_t>{&expected_codes[i * k], &expected_empty[i]}, 1, nullptr);
  }
  const bool finished = parallel(1, 1, nullptr, [&](const auto& next) {
    BoundedBlock samples(isa.gcws, isa.bounds, params, d, true), codes_of(isa.gcws, isa.bounds, params, d, false);
    for (int64_t item; (item = next()) >= 0;)
      for (const int64_t half : {n / 2, n}) {  // two blocks, one after the other
        const int64_t from = half == n ? n / 2 : 0;
        samples.hash(rows, from, half, SampleOutput{slots.data(), t.data(), empty.data()}, next);
        codes_of.hash(rows, from, half, CodeOutput<uint16_t>{codes.data(), empty.data()}, next);
      }
  });
  if (!finished || slots != expected_slots || t != expected_t || codes != expected_codes || empty != expected_empty) {
    std::printf("bounds %s n=%lld d=%lld k=%lld density=%u\n", isa.name, static_cast<long long>(n),
                static_cast<long long>(d), static_cast<long long>(k), density);
    ++failures;
  }
}

}  // namespace

void test_bounds(const Isa& isa) {
  unsigned seed = 0;
  for (const int64_t n : {1, 7, 130, 300})
    for (const int64_t d : {1, 9, 150})
      for (const int64_t k : {1, 17, 40})
        for (const unsigned density : {0u, 3u, 60u, 100u}) run_bounds(isa, n, d, k, density, ++seed);
  run_bounds(isa, 20, 20000, 80, 100, ++seed);  // more candidates than are listed at a time
}
