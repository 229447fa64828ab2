// The loops of measure.h for one instruction set. Compiled once per set: see simd.h for what may be included.
#include "kernelsketch/measure.h"

#include "kernelsketch/simd.h"

namespace kernelsketch::KERNELSKETCH_ISA {
namespace {

// Adding this number and subtracting it again rounds small numbers to whole ones.
template <class T>
constexpr T kRounds = T(1.5) * T(sizeof(T) == 4 ? int64_t{1} << 23 : int64_t{1} << 52);

template <class T>
struct Lanes {
  using V = Vec<T>;
  V low, high, rest,
      fraction;  // rest: 0 as long as all values are finite; fraction: 0 as long as all are small and whole
  KS_INLINE explicit Lanes(T first) : low(V::set(first)), high(V::set(first)), rest(V::set(0)), fraction(V::set(0)) {}
  template <bool kSmall>
  KS_INLINE void look(V v) {
    low = V::min(low, v);
    high = V::max(high, v);
    rest = rest + (v - v);
    if constexpr (kSmall) {
      const V near = V::max(V::min(v, V::set(255)), V::set(-255)), by = V::set(kRounds<T>);
      const V off = ((near + by) - by) - v;
      fraction = V::max(fraction, V::max(off, V::set(0) - off));
    }
  }
};

template <bool kSmall, class T>
KS_INLINE ValueRange look_at(const T* x, int64_t count, T first) {
  using V = Vec<T>;
  Lanes<T> a(first), b(first);
  int64_t f = 0;
  for (; f + 2 * V::width <= count; f += 2 * V::width) {
    a.template look<kSmall>(V::load(x + f));
    b.template look<kSmall>(V::load(x + f + V::width));
  }
  for (; f < count; f += V::width) {
    T last[V::width];
    for (int i = 0; i < V::width; ++i) last[i] = x[f + i < count ? f + i : f];
    a.template look<kSmall>(V::load(last));
  }
  T low[V::width], high[V::width], rest[V::width], fraction[V::width];
  V::min(a.low, b.low).store(low);
  V::max(a.high, b.high).store(high);
  (a.rest + b.rest).store(rest);
  V::max(a.fraction, b.fraction).store(fraction);
  ValueRange found{first, first, true, kSmall};
  for (int i = 0; i < V::width; ++i) {
    found.low = low[i] < found.low ? low[i] : found.low;
    found.high = high[i] > found.high ? high[i] : found.high;
    found.finite = found.finite && rest[i] == 0;
    found.small = found.small && fraction[i] == 0;
  }
  found.small = found.small && found.finite;
  return found;
}

template <class T>
ValueRange look(const T* x, int64_t count, T first, bool small) {
  return small ? look_at<true>(x, count, first) : look_at<false>(x, count, first);
}

template <class T>
int64_t to_bytes(const T* x, int64_t count, int offset, uint8_t* KS_RESTRICT out) {
  constexpr int64_t kStep = 1 << 16;  // whose sum is within 32 bits
  int64_t total = 0;
  for (int64_t start = 0; start < count; start += kStep) {
    const int64_t end = start + kStep < count ? start + kStep : count;
    int32_t sum = 0;
    for (int64_t f = start; f < end; ++f) {
      const int32_t v = static_cast<int32_t>(x[f]);
      out[f] = static_cast<uint8_t>(v - offset);
      sum += v < 0 ? -v : v;
    }
    total += sum;
  }
  return total;
}

}  // namespace

extern const ByType<MeasureOps> measure = {{look, to_bytes}, {look, to_bytes}};

}  // namespace kernelsketch::KERNELSKETCH_ISA
