#include "kernelsketch/codes.h"

#include <algorithm>
#include <mutex>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "kernelsketch/dispatch.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kRows = 256;       // packed by one item of work
constexpr int64_t kCodes = 1 << 16;  // numbered by one item of work

template <class Each>
void each_row(int64_t n, int threads, const Each& each) {
  parallel((n + kRows - 1) / kRows, threads, nullptr, [&](const auto& next) {
    for (int64_t item; (item = next()) >= 0;)
      for (int64_t i = item * kRows; i < std::min((item + 1) * kRows, n); ++i) each(i);
  });
}

// A code, which is checked: there is room for every code of 8 or 16 bits.
template <class Code>
int64_t within(Code code, int64_t size) {
  if constexpr (sizeof(Code) == 4)
    if (code >= size) throw std::invalid_argument("codes: out of range");
  return code;
}

}  // namespace

template <class Code>
void pack(const Code* codes, int64_t n, int64_t k, int width, uint8_t* packed, int threads) {
  const int64_t bytes = (k * width + 7) / 8;
  each_row(n, threads, [&](int64_t i) {
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
  each_row(n, threads, [&](int64_t i) {
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

template <class Code>
void mark_used(const Code* codes, int64_t count, uint8_t* used, int64_t size, int threads) {
  std::mutex lock;
  parallel((count + kCodes - 1) / kCodes, threads, nullptr, [&](const auto& next) {
    std::vector<uint8_t> mine(static_cast<std::size_t>(size));
    for (int64_t item; (item = next()) >= 0;)
      for (int64_t i = item * kCodes; i < std::min((item + 1) * kCodes, count); ++i)
        mine[static_cast<std::size_t>(within(codes[i], size))] = 1;
    const std::lock_guard<std::mutex> guard(lock);
    for (int64_t c = 0; c < size; ++c) used[c] |= mine[static_cast<std::size_t>(c)];
  });
}

template <class Code, class Number>
void renumber(const Code* codes, int64_t count, const Number* numbers, int64_t size, Number* to, int threads) {
  parallel((count + kCodes - 1) / kCodes, threads, nullptr, [&](const auto& next) {
    for (int64_t item; (item = next()) >= 0;)
      for (int64_t i = item * kCodes; i < std::min((item + 1) * kCodes, count); ++i)
        to[i] = numbers[within(codes[i], size)];
  });
}

template <class Code>
void match_counts(const Isa& isa, const Code* a, int64_t n, const uint8_t* a_empty, const Code* b, int64_t m,
                  const uint8_t* b_empty, int64_t k, int32_t* counts, int threads, Interrupted interrupted) {
  // Blocks of b that stay in the L2 cache while rows of a pass by, four at a time.
  const int64_t width = std::max<int64_t>(8, (256 << 10) / std::max<int64_t>(1, k * int64_t{sizeof(Code)}) / 8 * 8);
  constexpr int64_t rows = 64;
  const int64_t groups = (m + width - 1) / width, ranges = (n + rows - 1) / rows;
  parallel(groups * ranges, threads, interrupted, [&](const auto& next) {
    for (int64_t item; (item = next()) >= 0;) {
      const int64_t i0 = item % ranges * rows, i1 = std::min(i0 + rows, n);
      const int64_t j0 = item / ranges * width, j1 = std::min(j0 + width, m);
      int32_t* to = counts + i0 * m + j0;
      const Code *left = a + i0 * k, *right = b + j0 * k;
      if constexpr (std::is_same_v<Code, uint8_t>)
        isa.codes.match8(left, right, i1 - i0, j1 - j0, k, to, m);
      else if constexpr (std::is_same_v<Code, uint16_t>)
        isa.codes.match16(left, right, i1 - i0, j1 - j0, k, to, m);
      else
        isa.codes.match32(left, right, i1 - i0, j1 - j0, k, to, m);
      for (int64_t i = i0; i < i1; ++i)
        for (int64_t j = j0; j < j1; ++j)
          if (a_empty[i] | b_empty[j]) counts[i * m + j] = 0;
    }
  });
}

#define KERNELSKETCH_INSTANTIATE(Code)                                                                          \
  template void pack(const Code*, int64_t, int64_t, int, uint8_t*, int);                                        \
  template void unpack(const uint8_t*, int64_t, int64_t, int, int64_t, Code*, int);                             \
  template void mark_used(const Code*, int64_t, uint8_t*, int64_t, int);                                        \
  template void renumber(const Code*, int64_t, const uint8_t*, int64_t, uint8_t*, int);                         \
  template void renumber(const Code*, int64_t, const uint16_t*, int64_t, uint16_t*, int);                       \
  template void match_counts(const Isa&, const Code*, int64_t, const uint8_t*, const Code*, int64_t,            \
                             const uint8_t*, int64_t, int32_t*, int, Interrupted);
KERNELSKETCH_INSTANTIATE(uint8_t)
KERNELSKETCH_INSTANTIATE(uint16_t)
KERNELSKETCH_INSTANTIATE(uint32_t)

}  // namespace kernelsketch
