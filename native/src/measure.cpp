// A look at rows before work on them. The loops over a few lanes are the ones that compilers turn into vector code.
#include "kernelsketch/measure.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <mutex>

#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kItemValues = int64_t{1} << 16;  // that one item of work looks at, about
constexpr int kLanes = 16;

// Lanes of minima, maxima and flags.
template <class T>
struct Lanes {
  T low[kLanes], high[kLanes], rest[kLanes];  // rest: 0 as long as all values are finite
  int32_t fractions[kLanes] = {};             // not 0 if a value is not a small whole number
  explicit Lanes(T first) {
    std::fill_n(low, kLanes, first);
    std::fill_n(high, kLanes, first);
    std::fill_n(rest, kLanes, T(0));
  }
  void look(const T* v) {
    for (int l = 0; l < kLanes; ++l) {
      low[l] = v[l] < low[l] ? v[l] : low[l];
      high[l] = v[l] > high[l] ? v[l] : high[l];
      rest[l] += v[l] - v[l];
      T near = v[l] < T(255) ? v[l] : T(255);
      near = near > T(-255) ? near : T(-255);
      fractions[l] |= static_cast<T>(static_cast<int32_t>(near)) == v[l] ? 0 : 1;
    }
  }
};

struct Found {
  double low, high;
  bool finite, small;
};

template <class T>
Found look_at(const T* x, int64_t count, T first) {
  Lanes<T> lanes(first);
  int64_t f = 0;
  for (; f + kLanes <= count; f += kLanes) lanes.look(x + f);
  if (f < count) {
    T last[kLanes];
    std::fill_n(last, kLanes, x[f]);
    std::copy_n(x + f, count - f, last);
    lanes.look(last);
  }
  T rest = 0;
  for (const T r : lanes.rest) rest += r;
  int32_t fractions = 0;
  for (const int32_t flag : lanes.fractions) fractions |= flag;
  return {static_cast<double>(*std::min_element(lanes.low, lanes.low + kLanes)),
          static_cast<double>(*std::max_element(lanes.high, lanes.high + kLanes)), rest == 0, fractions == 0};
}

template <class T>
Found look_at_row(const DenseRows<T>& x, int64_t i) {
  const T* row = x.data + i * x.stride;
  return look_at(row, x.d, row[0]);
}
template <class T, class Index>
Found look_at_row(const CsrRows<T, Index>& x, int64_t i) {
  return look_at(x.data + x.indptr[i], x.indptr[i + 1] - x.indptr[i], T(0));
}

template <class T>
int64_t values_of(const DenseRows<T>& x) {
  return x.n * x.d;
}
template <class T, class Index>
int64_t values_of(const CsrRows<T, Index>& x) {
  return x.indptr[x.n];
}

// Calls work(first, last) for ranges of rows.
template <class Work>
void by_rows(int64_t n, int64_t values, int threads, const Work& work) {
  const int64_t rows = std::max<int64_t>(1, kItemValues * n / std::max<int64_t>(1, values));
  parallel((n + rows - 1) / rows, threads, nullptr, [&](const auto& next) {
    for (int64_t item; (item = next()) >= 0;) work(item * rows, std::min(n, (item + 1) * rows));
  });
}

}  // namespace

template <class AnyRows>
Measure measure(const AnyRows& x, double* sizes, int threads) {
  std::mutex lock;
  Measure all;
  bool any = false;
  by_rows(x.n, values_of(x), threads, [&](int64_t first, int64_t last) {
    Measure mine;
    for (int64_t i = first; i < last; ++i) {
      const Found row = look_at_row(x, i);
      sizes[i] = row.finite ? std::max(row.high, -row.low) : std::numeric_limits<double>::quiet_NaN();
      mine.low = i == first ? row.low : std::min(mine.low, row.low);
      mine.high = i == first ? row.high : std::max(mine.high, row.high);
      mine.small = mine.small && row.small;
    }
    const std::lock_guard<std::mutex> guard(lock);
    all.low = any ? std::min(all.low, mine.low) : mine.low;
    all.high = any ? std::max(all.high, mine.high) : mine.high;
    all.small = all.small && mine.small;
    any = true;
  });
  return all;
}

template <class T>
void to_bytes(const DenseRows<T>& x, int offset, uint8_t* out, int64_t width, double* sums, int threads) {
  by_rows(x.n, x.n * x.d, threads, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      const T* row = x.data + i * x.stride;
      uint8_t* to = out + i * width;
      int64_t total = 0;
      for (int64_t f0 = 0; f0 < x.d; f0 += kItemValues) {
        int32_t sum = 0;
        for (int64_t f = f0; f < std::min(x.d, f0 + kItemValues); ++f) {
          const int32_t v = static_cast<int32_t>(row[f]);
          to[f] = static_cast<uint8_t>(v - offset);
          sum += v < 0 ? -v : v;
        }
        total += sum;
      }
      std::fill(to + x.d, to + width, uint8_t{0});
      sums[i] = static_cast<double>(total);
    }
  });
}

template <class End, class Index>
bool is_canonical(const End* ends, int64_t n, const Index* indices, int64_t count, int64_t features, int threads) {
  if (ends[0] != 0) return false;
  for (int64_t i = 0; i < n; ++i)
    if (ends[i] > ends[i + 1]) return false;
  if (ends[n] > count) return false;
  std::atomic<bool> right{true};
  by_rows(n, ends[n], threads, [&](int64_t first, int64_t last) {
    bool ascends = true;
    for (int64_t i = first; i < last; ++i) {
      const int64_t begin = ends[i], end = ends[i + 1];
      if (begin == end) continue;
      ascends = ascends && indices[begin] >= 0 && static_cast<int64_t>(indices[end - 1]) < features;
      bool rises = true;
      for (int64_t q = begin + 1; q < end; ++q) rises &= indices[q - 1] < indices[q];
      ascends = ascends && rises;
    }
    if (!ascends) right = false;
  });
  return right;
}

#define KERNELSKETCH_INSTANTIATE(T)                                                            \
  template Measure measure(const DenseRows<T>&, double*, int);                                 \
  template Measure measure(const CsrRows<T, int32_t>&, double*, int);                          \
  template Measure measure(const CsrRows<T, int64_t>&, double*, int);                          \
  template void to_bytes(const DenseRows<T>&, int, uint8_t*, int64_t, double*, int);
KERNELSKETCH_INSTANTIATE(float)
KERNELSKETCH_INSTANTIATE(double)
template bool is_canonical(const int32_t*, int64_t, const int32_t*, int64_t, int64_t, int);
template bool is_canonical(const int64_t*, int64_t, const int64_t*, int64_t, int64_t, int);
template bool is_canonical(const int32_t*, int64_t, const int64_t*, int64_t, int64_t, int);
template bool is_canonical(const int64_t*, int64_t, const int32_t*, int64_t, int64_t, int);

}  // namespace kernelsketch
