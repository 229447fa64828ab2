// Texts and joins: random bytes, cut at random places, under the sanitizers; what is checked are sizes and orders.
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

#include "core_test.h"
#include "kernelsketch/join.h"
#include "kernelsketch/shingles.h"

using namespace kernelsketch;

namespace {

void expect(bool condition, const char* what) {
  if (condition) return;
  ++failures;
  std::printf("texts: %s\n", what);
}

// Bytes in memory of exactly their size, so that reading behind them is found.
struct RandomTexts {
  std::unique_ptr<char[]> text;
  std::vector<int64_t> ends{0};

  std::vector<TextSpan> spans() const {
    std::vector<TextSpan> found;
    for (std::size_t i = 0; i + 1 < ends.size(); ++i)
      found.push_back({reinterpret_cast<const uint8_t*>(text.get()) + ends[i], ends[i + 1] - ends[i]});
    return found;
  }
};

RandomTexts random_texts(int64_t count, int64_t longest, unsigned seed) {
  std::mt19937 rng(seed);
  static const char common[] = "abcXYZ019_ ,.\n";
  RandomTexts made;
  for (int64_t i = 0; i < count; ++i) made.ends.push_back(made.ends.back() + rng() % (longest + 1));
  made.text = std::make_unique<char[]>(static_cast<std::size_t>(made.ends.back()));
  for (int64_t i = 0; i < made.ends.back(); ++i)
    made.text[i] = rng() % 4 ? common[rng() % (sizeof common - 1)] : static_cast<char>(rng() % 256);
  return made;
}

void run_texts(const ShingleParams& params, int64_t count, int64_t longest, unsigned seed) {
  const RandomTexts given = random_texts(count, longest, seed);
  const ShingleRows made = shingles(given.spans(), params, 2, nullptr);
  const std::vector<int64_t> indptr(made.indptr.data(), made.indptr.data() + made.indptr.size());
  const std::vector<int64_t> features(made.features.data(), made.features.data() + made.features.size());
  const std::vector<float> counts(made.counts.data(), made.counts.data() + made.counts.size());
  expect(static_cast<int64_t>(indptr.size()) == count + 1, "not a row for each text");
  expect(indptr.back() == static_cast<int64_t>(features.size()), "sizes do not fit");
  for (int64_t row = 0; row < count; ++row)
    for (int64_t k = indptr[row]; k < indptr[row + 1]; ++k) {
      expect(features[k] >= 0 && features[k] < int64_t{1} << 62 && counts[k] >= 1, "feature or count out of range");
      expect(k == indptr[row] || features[k - 1] < features[k], "features do not ascend");
    }

  const CsrRows<float, int64_t> rows{indptr.data(), features.data(), counts.data(), count, int64_t{1} << 62};
  std::vector<uint64_t> keys(static_cast<std::size_t>(2 * count));
  join_keys(rows, keys.data(), 2, nullptr);
  std::vector<uint16_t> counters(1 << 12);
  join_count(rows, counters.data(), 12);
  std::vector<uint8_t> inside(features.size());
  join_prefixes(rows, counters.data(), 12, 0.5, inside.data(), 2, nullptr);
  std::vector<int64_t> left, right;
  for (int64_t row = 0; row < count; ++row) {
    left.push_back(row);
    right.push_back((row * 7) % count);
  }
  std::vector<double> similarity(left.size());
  join_similarities(rows, left.data(), right.data(), count, similarity.data(), 2, nullptr);
  for (const double value : similarity) expect(value >= 0 && value <= 1, "similarity out of range");
}

}  // namespace

void test_texts() {
  unsigned seed = 0;
  for (const bool words : {true, false})
    for (const bool lowercase : {true, false})
      for (const int64_t n : {1, 3, 9})
        for (const int64_t longest : {1, 9, 70, 700}) {
          ++seed;
          run_texts({words, n, n + seed % 3, lowercase}, 60, longest, seed);
        }
}
