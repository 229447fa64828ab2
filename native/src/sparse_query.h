// A sparse row that is compared with many others.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "kernelsketch/rng.h"

namespace kernelsketch {

inline void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

template <class T>
void prefetch(const T* p, int64_t count) {
#if defined(__GNUC__)
  const char* begin = reinterpret_cast<const char*>(p);
  for (int64_t b = 0; b < count * static_cast<int64_t>(sizeof(T)); b += 64) __builtin_prefetch(begin + b);
#endif
}

// The values of one sparse query by feature: in an array over all features or, where there are many, by open addressing.
// Few features are common to two rows. With the array goes a bit a feature, which all fit into the fastest cache:
// they tell the common features, and only these are looked up and summed.
class SparseQuery {
 public:
  template <class Index>
  void set(const Index* indices, const float* data, int64_t count, int64_t d) {
    for (const uint64_t f : used_) {
      values_[f] = 0;
      bits_[f / 64] = 0;
    }
    used_.clear();
    direct_ = d <= kDirectFeatures;
    if (direct_) {
      const uint64_t size = std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(d, 64)));
      values_.resize(size);
      bits_.resize(size / 64);
      mask_ = size - 1;
      for (int64_t q = 0; q < count; ++q) {
        require(indices[q] >= 0 && indices[q] < d, kNotThere);
        const auto f = static_cast<uint64_t>(indices[q]);
        values_[f] = data[q];
        bits_[f / 64] |= uint64_t{1} << (f % 64);
        used_.push_back(f);
      }
      return;
    }
    int64_t size = 16;
    shift_ = 60;
    for (; size < 4 * count; size *= 2) --shift_;
    mask_ = static_cast<uint64_t>(size - 1);
    slots_.assign(static_cast<std::size_t>(size), Slot{-1, 0});
    for (int64_t q = 0; q < count; ++q) slots_[probe(indices[q])] = {static_cast<int64_t>(indices[q]), data[q]};
  }

  // Sum of min(|a|, |b|) over features of equal sign, in the order of the row.
  template <class Index>
  double common(const Index* indices, const float* data, int64_t count) {
    double sum = 0;
    if (!direct_) {
      for (int64_t q = 0; q < count; ++q) sum += shared(slots_[probe(indices[q])].value, data[q]);
      return sum;
    }
    if (static_cast<int64_t>(both_.size()) < count) both_.resize(static_cast<std::size_t>(count));
    Index all = 0;  // a row is checked before its features are places
    for (int64_t q = 0; q < count; ++q) all |= indices[q];
    require(static_cast<uint64_t>(all) <= mask_, kNotThere);
    const uint64_t* bits = bits_.data();
    int64_t* both = both_.data();
    int64_t found = 0;
    for (int64_t q = 0; q < count; ++q) {
      const auto f = static_cast<std::make_unsigned_t<Index>>(indices[q]);
      both[found] = q;  // kept if it is common: no branch, which nobody could predict
      found += bits[f / 64] >> (f % 64) & 1;
    }
    for (int64_t b = 0; b < found; ++b) sum += shared(values_[static_cast<std::size_t>(indices[both[b]])], data[both[b]]);
    return sum;
  }

 private:
  static constexpr int64_t kDirectFeatures = int64_t{1} << 20;
  static constexpr const char* kNotThere = "the index is damaged: a feature that is not there";
  struct Slot {
    int64_t feature;
    float value;
  };
  static double shared(float a, float b) {
    const float low = std::min(a, b), high = std::max(a, b);
    return static_cast<double>(std::max(low, 0.0f) - std::min(high, 0.0f));
  }
  std::size_t probe(int64_t feature) const {
    uint64_t i = (static_cast<uint64_t>(feature) * kGolden64) >> shift_;
    for (;; ++i) {
      const Slot& slot = slots_[i & mask_];
      if (slot.feature == feature || slot.feature < 0) return i & mask_;
    }
  }
  bool direct_ = true;
  uint64_t mask_ = 0;  // of features, or of slots
  int shift_ = 0;
  std::vector<float> values_;
  std::vector<uint64_t> bits_, used_;
  std::vector<int64_t> both_;
  std::vector<Slot> slots_;
};

}  // namespace kernelsketch
