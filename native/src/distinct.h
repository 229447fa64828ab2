// Distinct features of a text in ascending order, with their counts.
//
// Features are uniform below 2^62. They are put into buckets by their leading bits, one to eight buckets for each, after
// which hardly any is out of place. Counters of buckets are as narrow as the number of features allows: eight or four
// of them are summed up by one multiplication.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "kernelsketch/shingles.h"
#include "words.h"

namespace kernelsketch {

// Sorts and counts features, in memory that it keeps.
class Distinct {
 public:
  // Writes the distinct ones of n features and their counts; returns how many they are. There is room for n.
  int64_t write(const uint64_t* from, int64_t n, int64_t* features, float* counts) {
    sorted_.grow(n + 1);
    uint64_t* const sorted = sorted_.data();
    if (n < 256)
      sort<uint8_t>(from, n, sorted);
    else if (n < 65536 && std::endian::native == std::endian::little)  // load8 has the first counter lowest
      sort<uint16_t>(from, n, sorted);
    else
      sort<uint64_t>(from, n, sorted);
    sorted[n] = ~uint64_t{0};
    lasts_.grow(n + 1);
    uint32_t* const lasts = lasts_.data();  // modulo 2^32: where each feature ends
    int64_t size = 0;
    lasts[0] = 0;
    for (int64_t i = 0; i < n; ++i) {
      features[size] = static_cast<int64_t>(sorted[i]);
      lasts[size + 1] = static_cast<uint32_t>(i + 1);
      size += sorted[i] != sorted[i + 1];
    }
    for (int64_t i = 0; i < size; ++i) counts[i] = static_cast<float>(static_cast<int32_t>(lasts[i + 1] - lasts[i]));
    return size;
  }

 private:
  template <class Count>
  void sort(const uint64_t* from, int64_t n, uint64_t* to) {
    constexpr int64_t lanes = 8 / sizeof(Count);
    constexpr int bits_of = 8 * sizeof(Count);
    constexpr uint64_t each = ~uint64_t{0} / (~uint64_t{0} >> (64 - bits_of));
    constexpr int more = lanes == 8 ? 2 : lanes == 4 ? 1 : 0;  // narrow counters are summed up faster
    const int bits = std::max(static_cast<int>(std::bit_width(static_cast<uint64_t>(n))) + more, 3), shift = 62 - bits;
    const int64_t buckets = int64_t{1} << bits;
    counters_.grow(buckets / lanes);
    auto* const starts = reinterpret_cast<Count*>(counters_.data());
    std::memset(starts, 0, static_cast<std::size_t>(buckets) * sizeof(Count));
    for (int64_t i = 0; i < n; ++i) ++starts[from[i] >> shift];
    uint64_t sum = 0;
    for (int64_t b = 0; b < buckets; b += lanes) {
      const uint64_t sizes = load8(starts + b), ends = sizes * each;
      store8(ends - sizes + sum * each, starts + b);
      sum += ends >> (64 - bits_of);
    }
    for (int64_t i = 0; i < n; ++i) to[starts[from[i] >> shift]++] = from[i];
    for (int64_t i = 1; i < n; ++i) {
      if (to[i - 1] <= to[i]) continue;
      const uint64_t x = to[i];
      int64_t j = i;
      for (; j > 0 && to[j - 1] > x; --j) to[j] = to[j - 1];
      to[j] = x;
    }
  }

  Growing<uint64_t> sorted_, counters_;
  Growing<uint32_t> lasts_;
};

}  // namespace kernelsketch
