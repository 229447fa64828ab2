// A sparse query that is compared with many rows.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "hash_table.h"
#include "kernelsketch/index.h"

namespace kernelsketch {

// An index file that was mapped without its checksum can hold anything: what would lead out of an array is refused.
inline void require_intact(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

// The values of one sparse query by feature: in an array over all features or, where there are many, in a hash table.
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
        require_intact(indices[q] >= 0 && indices[q] < d,
                       "the index is damaged: a vector has a feature that does not exist");
        used_.push_back(static_cast<uint64_t>(indices[q]));
        values_[used_.back()] = data[q];
      }
      return;
    }
    sparse_.clear(4 * count);
    for (int64_t q = 0; q < count; ++q) sparse_.enter(static_cast<int64_t>(indices[q])) = data[q];
  }

  // M of the query and a row.
  template <class Index>
  double common(const IndexOps& ops, const Index* indices, const float* data, int64_t count) {
    if constexpr (std::is_same_v<Index, int32_t>)
      if (direct_) return ops.common_sparse(values_.data(), static_cast<uint32_t>(mask_), indices, data, count);
    if (static_cast<int64_t>(found_.size()) < count) found_.resize(count);
    for (int64_t q = 0; q < count; ++q)
      found_[q] =
          direct_ ? values_[static_cast<uint64_t>(indices[q]) & mask_] : sparse_[static_cast<int64_t>(indices[q])];
    return ops.common(found_.data(), data, count);
  }

 private:
  static constexpr int64_t kDirectFeatures = int64_t{1} << 20;
  bool direct_ = true;
  uint64_t mask_ = 0;  // of features
  std::vector<float> values_, found_;
  std::vector<uint64_t> used_;
  HashTable<int64_t, float> sparse_{0.0f};
};

}  // namespace kernelsketch
