// Blocks of rows as GCWS reads them: nonzeros row by row, or transposed, with the logarithms of their values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "kernelsketch/gcws.h"

namespace kernelsketch {

// The nonzeros of a block of rows. A key is feature * scale, plus `negative` for a negative value.
struct RowBlock {
  int64_t first = 0, last = 0;  // rows
  std::vector<int64_t> starts;
  std::vector<float> log;

  template <class Key, class AnyRows>
  void read(const AnyRows& x, const GcwsParams& params, const GcwsOps& ops, int64_t from, int64_t to, Key scale,
            Key negative, std::vector<double>& values, std::vector<Key>& keys) {
    first = from;
    last = to;
    starts.assign(1, 0);
    const auto most = static_cast<std::size_t>(x.stored(first, last) + 8);  // 8: the last store is a whole vector
    if (values.size() < most) values.resize(most);
    if (keys.size() < most) keys.resize(most);
    for (int64_t i = first; i < last; ++i) {
      double* found = values.data() + starts.back();
      Key* ids = keys.data() + starts.back();
      int64_t count = 0;
      if constexpr (std::is_same_v<Key, int32_t> && requires { x.stride; })
        count = ops.nonzeros.of<typename AnyRows::Value>().find(x.data + i * x.stride, params.center, x.d, scale,
                                                                negative, found, ids);
      else
        x.visit(i, [&](int64_t f, auto value) {
          const double v = static_cast<double>(value) - (params.center ? params.center[f] : 0);
          found[count] = v;
          ids[count] = static_cast<Key>(f) * scale + (v < 0 ? negative : 0);
          count += v != 0;
        });
      starts.push_back(starts.back() + count);
    }
    log.resize(starts.back());
    ops.logs(values.data(), starts.back(), params.p, log.data());
  }

  int64_t rows() const { return last - first; }
  int64_t row(int64_t i) const { return first + i; }
  bool empty(int64_t row) const { return starts[row] == starts[row + 1]; }
  void flag_empty(uint8_t* flags) const {
    for (int64_t i = 0; i < rows(); ++i) flags[first + i] = empty(i);
  }
};

// A block of rows transposed: its nonzeros slot by slot. Slots are counted in an array over all of them or, where few
// of many occur, sorted.
class TransposedBlock {
 public:
  TransposedBlock(int64_t features, bool counted) : counts_((counted ? 2 * features : 0)) {}

  template <class AnyRows>
  void read(const AnyRows& x, const GcwsParams& params, const GcwsOps& ops, int64_t from, int64_t to) {
    if (counts_.empty()) {
      block_.read(x, params, ops, from, to, uint64_t{2}, uint64_t{1}, values_, slots_);
      number_sorted();
    } else {
      block_.read(x, params, ops, from, to, int32_t{2}, int32_t{1}, values_, keys_);
    }
    transpose();
  }
  const RowBlock& block() const { return block_; }
  uint64_t slot(int32_t column) const { return column_slots_[column]; }
  const std::vector<uint64_t>& slots() const { return column_slots_; }
  ColumnBlock columns(const std::vector<int32_t>& labels) const {
    return {starts_.data(),
            column_slots_.data(),
            labels.data(),
            entries_.data(),
            static_cast<int64_t>(column_slots_.size()),
            block_.rows()};
  }

 private:
  void number_sorted() {
    const auto count = static_cast<std::size_t>(block_.starts.back());
    used_.assign(slots_.begin(), slots_.begin() + block_.starts.back());
    std::sort(used_.begin(), used_.end());
    used_.erase(std::unique(used_.begin(), used_.end()), used_.end());
    if (keys_.size() < count) keys_.resize(count);
    for (std::size_t q = 0; q < count; ++q)
      keys_[q] = static_cast<int32_t>(std::lower_bound(used_.begin(), used_.end(), slots_[q]) - used_.begin());
  }
  void transpose() {
    const int64_t count = block_.starts.back();
    const bool sorted = counts_.empty();
    if (sorted) places_.assign(used_.size(), 0);
    std::vector<int32_t>& place = sorted ? places_ : counts_;
    for (int64_t q = 0; q < count; ++q) ++place[(keys_[q])];
    starts_.assign(1, 0);
    column_slots_.clear();
    for (std::size_t s = 0; s < place.size(); ++s) {
      if (place[s] == 0) continue;
      column_slots_.push_back(sorted ? used_[s] : s);
      const int64_t start = starts_.back();
      starts_.push_back(start + place[s]);
      place[s] = static_cast<int32_t>(start);
    }
    entries_.resize(count);
    for (int64_t i = 0; i < block_.rows(); ++i)
      for (int64_t q = block_.starts[i]; q < block_.starts[i + 1]; ++q)
        entries_[(place[(keys_[q])]++)] = {static_cast<int32_t>(i), block_.log[q]};
    if (!sorted)
      for (const uint64_t s : column_slots_) counts_[s] = 0;
  }

  RowBlock block_;
  std::vector<double> values_;
  std::vector<int32_t> keys_, counts_, places_;
  std::vector<uint64_t> slots_, used_, column_slots_;
  std::vector<int64_t> starts_;
  std::vector<ColumnEntry> entries_;
};

}  // namespace kernelsketch
