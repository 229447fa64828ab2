// A look at rows before work on them, on several threads.
#include "kernelsketch/measure.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <mutex>

#include "kernelsketch/dispatch.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kItemValues = int64_t{1} << 16;  // that one item of work looks at, about

template <class T>
ValueRange look_at_row(const Isa& isa, const DenseRows<T>& x, int64_t i, bool small) {
  const T* row = x.data + i * x.stride;
  return isa.measure.of<T>().look(row, x.d, row[0], small);
}
template <class T, class Index>
ValueRange look_at_row(const Isa& isa, const CsrRows<T, Index>& x, int64_t i, bool small) {
  return isa.measure.of<T>().look(x.data + x.indptr[i], x.indptr[i + 1] - x.indptr[i], T(0), small);
}

// The rows of an item, of n rows with so many values.
int64_t rows_at_once(int64_t n, int64_t values) {
  return std::max<int64_t>(1, kItemValues * n / std::max<int64_t>(1, values));
}

}  // namespace

template <class AnyRows>
ValueRange measure(const Isa& isa, const AnyRows& x, double* sizes, int threads) {
  std::mutex lock;
  constexpr double kFar = std::numeric_limits<double>::infinity();
  ValueRange all{kFar, -kFar, true, true};
  const auto add = [](ValueRange& to, const ValueRange& more) {
    to = {std::min(to.low, more.low), std::max(to.high, more.high), to.finite && more.finite, to.small && more.small};
  };
  in_parts(x.n, rows_at_once(x.n, x.stored(0, x.n)), threads, nullptr, [&](int64_t first, int64_t last) {
    ValueRange mine{kFar, -kFar, true, true};
    for (int64_t i = first; i < last; ++i) {
      const ValueRange row = look_at_row(isa, x, i, mine.small);
      sizes[i] = row.finite ? std::max(row.high, -row.low) : std::numeric_limits<double>::quiet_NaN();
      add(mine, row);
    }
    const std::lock_guard<std::mutex> guard(lock);
    add(all, mine);
  });
  return all;
}

template <class T>
void to_bytes(const Isa& isa, const DenseRows<T>& x, int offset, uint8_t* out, int64_t width, double* sums,
              int threads) {
  each_row(x.n, rows_at_once(x.n, x.stored(0, x.n)), threads, nullptr, [&](int64_t i) {
    uint8_t* to = out + i * width;
    sums[i] = static_cast<double>(isa.measure.of<T>().to_bytes(x.data + i * x.stride, x.d, offset, to));
    std::fill(to + x.d, to + width, uint8_t{0});
  });
}

template <class End, class Index>
bool is_canonical(const End* ends, int64_t n, const Index* indices, int64_t count, int64_t features, int threads) {
  if (ends[0] != 0) return false;
  for (int64_t i = 0; i < n; ++i)
    if (ends[i] > ends[i + 1]) return false;
  if (ends[n] > count) return false;
  std::atomic<bool> right{true};
  in_parts(n, rows_at_once(n, ends[n]), threads, nullptr, [&](int64_t first, int64_t last) {
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

#define KS_INSTANTIATE(T)                                                            \
  template ValueRange measure(const Isa&, const DenseRows<T>&, double*, int);        \
  template ValueRange measure(const Isa&, const CsrRows<T, int32_t>&, double*, int); \
  template ValueRange measure(const Isa&, const CsrRows<T, int64_t>&, double*, int); \
  template void to_bytes(const Isa&, const DenseRows<T>&, int, uint8_t*, int64_t, double*, int);
KS_INSTANTIATE(float)
KS_INSTANTIATE(double)
template bool is_canonical(const int32_t*, int64_t, const int32_t*, int64_t, int64_t, int);
template bool is_canonical(const int64_t*, int64_t, const int64_t*, int64_t, int64_t, int);
template bool is_canonical(const int32_t*, int64_t, const int64_t*, int64_t, int64_t, int);
template bool is_canonical(const int64_t*, int64_t, const int32_t*, int64_t, int64_t, int);

}  // namespace kernelsketch
