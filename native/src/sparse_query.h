// A sparse query that is compared with many rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "kernelsketch/index.h"
#include "kernelsketch/rng.h"

namespace kernelsketch {

// An index file that was mapped without its checksum can hold anything: what would lead out of an array is refused.
inline void require_intact(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

template <class T>
void prefetch(const T* p, int64_t count) {
#if defined(__GNUC__)
  const char* begin = reinterpret_cast<const char*>(p);
  for (int64_t b = 0; b < count * static_cast<int64_t>(sizeof(T)); b += 64) __builtin_prefetch(begin + b);
#endif
}

// The values of one sparse query by feature: in an array over all features or, where there are many, by open
// addressing.
class SparseQuery {
 public:
  template <class Index>
  void set(const Index* indices, const float* data, int64_t count, int64_t d) {
    for (const uint64_t f : used_) values_[f] = 0;
    used_.clear();
    direct_ = d <= kDirectFeatures;
    if (direct_) {
      values_.resize(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(d, 1))));
      mask_ = values_.size() - 1;
      for (int64_t q = 0; q < count; ++q) {
        require_intact(indices[q] >= 0 && indices[q] < d, "the index is damaged: a vector has a feature that does not exist");
        used_.push_back(static_cast<uint64_t>(indices[q]));
        values_[used_.back()] = data[q];
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

  // M of the query and a row.
  template <class Index>
  double common(const IndexOps& ops, const Index* indices, const float* data, int64_t count) {
    if constexpr (std::is_same_v<Index, int32_t>)
      if (direct_) return ops.common_sparse(values_.data(), static_cast<uint32_t>(mask_), indices, data, count);
    if (static_cast<int64_t>(found_.size()) < count) found_.resize(static_cast<std::size_t>(count));
    for (int64_t q = 0; q < count; ++q)
      found_[static_cast<std::size_t>(q)] =
          direct_ ? values_[static_cast<uint64_t>(indices[q]) & mask_] : slots_[probe(indices[q])].value;
    return ops.common(found_.data(), data, count);
  }

 private:
  static constexpr int64_t kDirectFeatures = int64_t{1} << 20;
  struct Slot {
    int64_t feature;
    float value;
  };
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
  std::vector<float> values_, found_;
  std::vector<uint64_t> used_;
  std::vector<Slot> slots_;
};

}  // namespace kernelsketch
