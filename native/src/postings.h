// Candidates among sparse rows by the features that make most of them up.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernelsketch/index.h"
#include "sparse_query.h"

namespace kernelsketch {

// Finds the heavy part of rows: the largest values, as few as hold a part of the norm.
class HeavyPart {
 public:
  // The least size of a value of the heavy part, 0 where that is the whole row. Sizes are counted by their leading bits,
  // largest first; only those at which the sum passes the goal are brought into order.
  float least(const float* data, int64_t count, double norm, double mass) {
    if (count == 0) return 0;
    const double scale = kWhole / norm;
    const auto goal = static_cast<uint64_t>(mass * kWhole);
    uint32_t first = kGroups - 1, last = 0;
    for (int64_t q = 0; q < count; ++q) {
      const uint32_t g = group(data[q]);
      sums_[g] += share(data[q], scale);
      first = std::min(first, g);
      last = std::max(last, g);
    }
    uint64_t before = 0;  // of groups that are taken whole
    uint32_t at = last;
    for (; at > first && before + sums_[at] < goal; --at) before += sums_[at];
    std::fill(sums_.begin() + first, sums_.begin() + last + 1, 0);
    some_.clear();
    for (int64_t q = 0; q < count; ++q)
      if (group(data[q]) == at) some_.push_back(std::fabs(data[q]));
    std::sort(some_.begin(), some_.end(), std::greater<float>());
    for (const float size : some_)
      if ((before += share(size, scale)) >= goal) return size;
    return 0;
  }

 private:
  static constexpr double kWhole = 1099511627776.0;  // 2^40
  static constexpr uint32_t kGroups = 1 << 11;       // sign, exponent and two bits of a float
  static uint32_t group(float x) { return std::bit_cast<uint32_t>(std::fabs(x)) >> 21; }
  static uint64_t share(float x, double scale) {
    const double part = static_cast<double>(std::fabs(x)) * scale;
    return part >= 0 && part <= 2 * kWhole ? static_cast<uint64_t>(part) : 0;  // others are those of a damaged file
  }
  std::array<uint64_t, kGroups> sums_{};
  std::vector<float> some_;
};

// What rows of a segment share with the heavy part of one query.
class SharedFeatures {
 public:
  explicit SharedFeatures(int64_t most_rows)
      : shared_(std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(most_rows, 1)))), mask_(shared_.size() - 1) {}

  template <class Index>
  void set(const Index* indices, const float* data, int64_t count, double norm, double mass) {
    const float least = heavy_.least(data, count, norm, mass);
    norm_ = static_cast<float>(norm);
    keys_.clear();
    for (int64_t q = 0; q < count; ++q)
      if (std::fabs(data[q]) >= least)
        keys_.push_back({2 * static_cast<uint64_t>(indices[q]) + (data[q] < 0), std::fabs(data[q])});
  }

  // The level that a row needs to have some similarity s. Of two norms the heavy parts leave out 1 - mass, and the minima
  // must be s / (1 + s) of both: so at least the difference is shared by the heavy parts. Less what rounding can do.
  int32_t least_level(double similarity, double mass) const {
    const double share = similarity / (1 + similarity) - (1 - mass);
    if (share <= 0) return 0;
    const double slack = 2 + static_cast<double>(keys_.size()) / kLevels;
    return static_cast<int32_t>(std::max(0.0, kLevels * (share / (1 - share)) - slack));
  }

  // Rows that share some of it: their numbers to `rows`, their levels to `levels`; how many.
  int64_t find(const IndexPostings& p, const IndexSegment& segment, std::vector<uint32_t>& rows,
               std::vector<int32_t>& levels) {
    spans_.clear();
    int64_t entries = 0;
    for (const Key& k : keys_) {
      const uint64_t group = k.key >> p.shift;
      if (group >= static_cast<uint64_t>(p.groups)) continue;
      const uint32_t low = p.directory[group], high = p.directory[group + 1];
      require(low <= high && high <= p.count, kDamaged);
      const int64_t* key = std::lower_bound(p.keys + low, p.keys + high, static_cast<int64_t>(k.key));
      if (key == p.keys + high || *key != static_cast<int64_t>(k.key)) continue;
      const int64_t begin = p.starts[key - p.keys], end = p.starts[key - p.keys + 1];
      require(0 <= begin && begin <= end && end <= p.stored, kDamaged);
      prefetch(p.entries + begin, std::min<int64_t>(end - begin, 64));
      spans_.push_back({begin, end, k.size});
      entries += end - begin;
    }
    if (static_cast<int64_t>(rows.size()) < entries) {
      rows.resize(static_cast<std::size_t>(2 * entries));
      levels.resize(rows.size());
    }
    int64_t count = 0;
    for (const Span& span : spans_)
      for (int64_t e = span.begin; e < span.end; ++e) {
        const auto [row, value] = p.entries[e];
        float& shared = shared_[row & mask_];
        rows[static_cast<std::size_t>(count)] = row;  // kept if it is new: no branch, which nobody could predict
        count += shared == 0;
        shared += std::min(span.size, value);
      }
    for (int64_t c = 0; c < count; ++c) {
      const uint32_t row = rows[static_cast<std::size_t>(c)];
      float& shared = shared_[row & mask_];
      if (row < segment.n) levels[static_cast<std::size_t>(c)] = level(shared, segment.vectors.norms[row]);
      damaged_ |= row >= segment.n;
      shared = 0;
    }
    require(!damaged_, kDamaged);
    return count;
  }

 private:
  static constexpr const char* kDamaged = "the index is damaged: postings out of order";
  struct Key {
    uint64_t key;
    float size;
  };
  struct Span {
    int64_t begin, end;
    float size;
  };
  int32_t level(float shared, double norm) const {
    const float part = static_cast<float>(kLevels) * (shared / (norm_ + static_cast<float>(norm) - shared));
    return part >= kLevels - 1 ? kLevels - 1 : part > 0 ? static_cast<int32_t>(part) : 0;
  }
  HeavyPart heavy_;
  float norm_ = 0;
  std::vector<Key> keys_;
  std::vector<Span> spans_;
  std::vector<float> shared_;  // 0 between queries
  uint64_t mask_;
  bool damaged_ = false;
};

}  // namespace kernelsketch
