#include "kernelsketch/codes.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <vector>

#include "kernelsketch/dispatch.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kRows = 256;      // packed by one item of work
constexpr int64_t kStep = 1 << 14;  // codes that one item of work marks or numbers

template <class Code, class Number>
void look_up(const Code* codes, int64_t size, const Number* number_of, Number* numbers) {
  int64_t i = 0;
  if constexpr (sizeof(Code) == 1 && sizeof(Number) == 1)
    for (; i + 8 <= size; i += 8) {  // one load and one store instead of eight, which the compiler may not join
      uint64_t from, to = 0;
      std::memcpy(&from, codes + i, 8);
      for (int j = 0; j < 64; j += 8) to |= uint64_t{number_of[from >> j & 255]} << j;
      std::memcpy(numbers + i, &to, 8);
    }
  for (; i < size; ++i) numbers[i] = number_of[codes[i]];
}

}  // namespace

template <class Code>
void pack(const Code* codes, int64_t n, int64_t k, int width, uint8_t* packed, int threads) {
  const int64_t bytes = (k * width + 7) / 8;
  each_row(n, kRows, threads, nullptr, [&](int64_t i) {
    const Code* from = codes + i * k;
    uint8_t* to = packed + i * bytes;
    uint64_t bits = 0;
    int held = 0;
    for (int64_t j = 0; j < k; ++j) {
      bits |= static_cast<uint64_t>(from[j]) << held;
      for (held += width; held >= 8; held -= 8, bits >>= 8) *to++ = static_cast<uint8_t>(bits);
    }
    if (held > 0) *to = static_cast<uint8_t>(bits);
  });
}

template <class Code>
void unpack(const uint8_t* packed, int64_t n, int64_t k, int width, int64_t stride, Code* codes, int threads) {
  const uint64_t mask = (uint64_t{1} << width) - 1;
  each_row(n, kRows, threads, nullptr, [&](int64_t i) {
    const uint8_t* from = packed + i * stride;
    Code* to = codes + i * k;
    uint64_t bits = 0;
    int held = 0;
    for (int64_t j = 0; j < k; ++j) {
      for (; held < width; held += 8) bits |= static_cast<uint64_t>(*from++) << held;
      to[j] = static_cast<Code>(bits & mask);
      bits >>= width;
      held -= width;
    }
  });
}

template <class Code, class Number>
Number renumber(const Code* codes, int64_t size, const Number* number_of, Number* numbers, int threads) {
  std::atomic<Number> largest{0};
  in_parts(size, kStep, threads, nullptr, [&](int64_t first, int64_t last) {
    look_up(codes + first, last - first, number_of, numbers + first);
    Number most = 0;
    for (int64_t i = first; i < last; ++i) most = std::max(most, numbers[i]);
    for (Number seen = largest; seen < most && !largest.compare_exchange_weak(seen, most);) {
    }
  });
  return largest;
}

template <class Code>
void mark_used(const Code* codes, int64_t size, uint8_t* used, int64_t n_codes, int threads) {
  std::mutex lock;
  parallel((size + kStep - 1) / kStep, threads, nullptr, [&](const auto& next) {
    std::vector<uint8_t> mine(n_codes);
    for (int64_t item; (item = next()) >= 0;)
      for (int64_t i = item * kStep; i < std::min((item + 1) * kStep, size); ++i) mine[codes[i]] = 1;
    const std::lock_guard<std::mutex> guard(lock);
    for (int64_t c = 0; c < n_codes; ++c) used[c] |= mine[c];
  });
}

template <class Code>
void match_counts(const Isa& isa, const Code* a, int64_t n, const uint8_t* a_empty, const Code* b, int64_t m,
                  const uint8_t* b_empty, int64_t k, int32_t* counts, int threads, Interrupted interrupted) {
  // Blocks of b that stay in the L2 cache while rows of a pass by, four at a time.
  const int64_t width = std::max<int64_t>(8, (256 << 10) / std::max<int64_t>(1, k * int64_t{sizeof(Code)}) / 8 * 8);
  constexpr int64_t rows = 64;
  const int64_t groups = (m + width - 1) / width, ranges = (n + rows - 1) / rows;
  each_item(groups * ranges, threads, interrupted, [&](int64_t item) {
    const int64_t i0 = item % ranges * rows, i1 = std::min(i0 + rows, n);
    const int64_t j0 = item / ranges * width, j1 = std::min(j0 + width, m);
    isa.codes.of<Code>().match(a + i0 * k, b + j0 * k, i1 - i0, j1 - j0, k, counts + i0 * m + j0, m);
    for (int64_t i = i0; i < i1; ++i)
      for (int64_t j = j0; j < j1; ++j)
        if (a_empty[i] | b_empty[j]) counts[i * m + j] = 0;
  });
}

#define KS_INSTANTIATE(Code)                                                                                         \
  template void pack(const Code*, int64_t, int64_t, int, uint8_t*, int);                                             \
  template void unpack(const uint8_t*, int64_t, int64_t, int, int64_t, Code*, int);                                  \
  template uint8_t renumber(const Code*, int64_t, const uint8_t*, uint8_t*, int);                                    \
  template uint16_t renumber(const Code*, int64_t, const uint16_t*, uint16_t*, int);                                 \
  template void mark_used(const Code*, int64_t, uint8_t*, int64_t, int);                                             \
  template void match_counts(const Isa&, const Code*, int64_t, const uint8_t*, const Code*, int64_t, const uint8_t*, \
                             int64_t, int32_t*, int, Interrupted);
KS_INSTANTIATE(uint8_t)
KS_INSTANTIATE(uint16_t)
KS_INSTANTIATE(uint32_t)

}  // namespace kernelsketch
