// Candidates among sparse rows, found by inverted lists of the features that make up most of them.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <vector>

#include "kernelsketch/compiler.h"
#include "kernelsketch/index.h"
#include "sparse_query.h"

namespace kernelsketch {

// Finds the heavy part of rows: the largest values, as few as hold a part of the norm.
class HeavyPart {
 public:
  // The least size of a value of the heavy part, 0 where that is the whole row. Sizes are counted by their leading
  // bits, largest first; only those at which the sum passes the goal are brought into order.
  float least(const float* data, int64_t count, double norm, double heavy_fraction) {
    if (count == 0) return 0;
    const double scale = kWhole / norm;
    const auto goal = static_cast<uint64_t>(heavy_fraction * kWhole);
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
    some_.resize(count + 1);
    std::size_t some = 0;
    for (int64_t q = 0; q < count; ++q) {
      some_[some] = std::fabs(data[q]);
      some += group(data[q]) == at;
    }
    some_.resize(some);
    std::sort(some_.begin(), some_.end(), std::greater<float>());
    for (const float size : some_)
      if ((before += share(size, scale)) >= goal) return size;
    return 0;
  }

 private:
  static constexpr double kWhole = 1099511627776.0;  // 2^40
  static constexpr uint32_t kGroups = 1 << 10;       // exponent and two bits of a float
  static uint32_t group(float x) { return std::bit_cast<uint32_t>(std::fabs(x)) >> 21; }
  static uint64_t share(float x, double scale) {
    const double part = static_cast<double>(std::fabs(x)) * scale;
    return part >= 0 && part <= 2 * kWhole ? static_cast<uint64_t>(static_cast<int64_t>(part))
                                           : 0;  // else it is damaged
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
  void set(const Index* indices, const float* data, int64_t count, double norm, double heavy_fraction) {
    const float least = heavy_.least(data, count, norm, heavy_fraction);
    norm_ = static_cast<float>(norm);
    keys_.resize(count + 1);
    std::size_t taken = 0;
    for (int64_t q = 0; q < count; ++q) {  // without a branch, too
      keys_[taken] = {2 * static_cast<uint64_t>(indices[q]) + (data[q] < 0), std::fabs(data[q])};
      taken += std::fabs(data[q]) >= least;
    }
    keys_.resize(taken);
  }

  // The level that a row needs to have similarity s. Of the sum of both norms the heavy parts leave out a part of at
  // most 1 - heavy_fraction, and the minima must be a part s / (1 + s) of it. So the heavy parts share at least the
  // difference x of these two, and the level is x / (1 - x). Rounding makes a sum of n terms smaller by n / 2^24 of it,
  // and the level by twice that, as x <= 1/2.
  int32_t least_level(double similarity, double heavy_fraction) const {
    const double share = similarity / (1 + similarity) - (1 - heavy_fraction);
    const double slack = 2 + static_cast<double>(keys_.size()) / 1024;
    return share <= 0 ? 0 : static_cast<int32_t>(std::max(0.0, kLevels * (share / (1 - share)) - slack));
  }

  // Finds rows that share some of it: calls `offer(row, level)` for rows of at least a level that each call returns
  // anew. `guess` is where that level may end: if it ends no lower, rows below the guess are never looked at.
  template <class Offer>
  void find(const IndexOps& ops, const IndexSegment& segment, const Offer& offer, int32_t least, int32_t guess) {
    if (look_up(segment.postings) >= segment.n / 8)
      find_among_all(ops, segment, offer, least, guess);
    else
      find_among_few(segment, offer, least);
  }

 private:
  static constexpr int64_t kAtOnce = 512;
  static constexpr const char* kDamaged = "the index is damaged: its postings are out of order";
  struct Key {
    uint64_t key;
    float size;
  };
  struct Group {
    Key key;
    uint32_t low, high;
  };
  struct Span {
    int64_t begin, end;
    float size;
  };
  // Where the rows of each key are, to spans_; how many.
  int64_t look_up(const IndexPostings& p) {
    groups_.clear();
    for (const Key& k : keys_) {
      const uint64_t group = k.key >> p.shift;
      if (group >= static_cast<uint64_t>(p.groups)) continue;
      const uint32_t low = p.directory[group], high = p.directory[group + 1];
      require_intact(low <= high && high <= p.count, kDamaged);
      if (low == high) continue;
      prefetch(p.keys + low, 1);
      prefetch(p.starts + low, 1);
      groups_.push_back({k, low, high});
    }
    spans_.clear();
    int64_t entries = 0;
    for (const Group& g : groups_) {  // what was fetched by now
      const int64_t* key = std::lower_bound(p.keys + g.low, p.keys + g.high, static_cast<int64_t>(g.key.key));
      if (key == p.keys + g.high || *key != static_cast<int64_t>(g.key.key)) continue;
      const int64_t begin = p.starts[key - p.keys], end = p.starts[key - p.keys + 1];
      require_intact(0 <= begin && begin <= end && end <= p.stored, kDamaged);
      prefetch(p.entries + 2 * begin, 2 * std::min<int64_t>(end - begin, 64));
      spans_.push_back({begin, end, g.key.size});
      entries += end - begin;
    }
    return entries;
  }

  // Sums of all rows are looked at, in order: vectors of them, and most share too little.
  template <class Offer>
  void find_among_all(const IndexOps& ops, const IndexSegment& segment, const Offer& offer, int32_t least,
                      int32_t guess) {
    float* const shared = shared_.data();  // copies: for the compiler, no store below can change them
    const uint32_t* const entries = segment.postings.entries;
    const uint64_t mask = mask_;
    uint32_t largest = 0;
    for (const Span& span : spans_)
      for (int64_t e = span.begin; e < span.end; ++e) {
        const uint32_t row = entries[2 * e];
        largest = std::max(largest, row);
        shared[row & mask] += std::min(span.size, std::bit_cast<float>(entries[2 * e + 1]));
      }
    require_intact(largest < segment.n || spans_.empty(), kDamaged);
    const bool guessed = guess > least;
    const int32_t wanted = sweep(ops, segment, offer, guessed ? guess : least, kLevels);
    if (guessed && wanted < guess) sweep(ops, segment, offer, std::max(least, wanted), guess);
    std::fill_n(shared, segment.n, 0.0f);
  }

  // Offers rows of a level from `least` on and below `end`; the least that is still wanted.
  template <class Offer>
  int32_t sweep(const IndexOps& ops, const IndexSegment& segment, const Offer& offer, int32_t least, int32_t end) {
    std::array<uint64_t, kAtOnce / 8> marks{};  // one byte per row
    const float* const shared = shared_.data();
    const double* const norms = segment.vectors.norms;
    int32_t wanted = 0;
    for (int64_t first = 0; first < segment.n; first += kAtOnce) {
      const int64_t count = std::min(kAtOnce, segment.n - first);
      if (count < kAtOnce) marks.fill(0);
      ops.sharing(shared + first, norms + first, count, norm_, part_of(least),
                  reinterpret_cast<uint8_t*>(marks.data()));
      for (std::size_t word = 0; word < marks.size(); ++word)
        for (uint64_t rest = marks[word]; rest != 0; rest &= rest - 1) {
          const int64_t row = first + 8 * static_cast<int64_t>(word) + byte_of(rest);
          const int32_t found = level(shared[row], norm_ + static_cast<float>(norms[row]));
          if (found < least || found >= end) continue;
          wanted = offer(static_cast<uint32_t>(row), found);
          least = std::max(least, wanted);
        }
    }
    return wanted;
  }
  // The first byte in memory that is 1, of bytes that are 0 or 1; the bit is cleared as the lowest of the word.
  static int byte_of(uint64_t word) { return std::countr_zero(word) / 8; }

  template <class Offer>
  void find_among_few(const IndexSegment& segment, const Offer& offer, int32_t least) {
    const int64_t n = segment.n;
    if (static_cast<int64_t>(rows_.size()) <= n) rows_.resize(n + 1);
    float* const shared = shared_.data();
    uint32_t* const rows = rows_.data();
    const uint32_t* const entries = segment.postings.entries;
    const uint64_t mask = mask_;
    int64_t count = 0;
    for (const Span& span : spans_)
      for (int64_t e = span.begin; e < span.end; ++e) {
        const uint32_t row = entries[2 * e];
        float& sum = shared[row & mask];
        rows[count] = row;  // kept if it is new: no branch, which nobody could predict
        count += (std::bit_cast<uint32_t>(sum) == 0) & (count < n);  // in a damaged file a row can be new again
        sum += std::min(span.size, std::bit_cast<float>(entries[2 * e + 1]));
      }
    float cut = part_of(least);
    for (int64_t c = 0; c < count; ++c) {
      const uint32_t row = rows[c];
      require_intact(row < n, kDamaged);
      const float sum = shared[row], both = norm_ + static_cast<float>(segment.vectors.norms[row]);
      shared[row] = 0;
      if (sum < cut * both) continue;
      const int32_t found = level(sum, both);
      if (found >= least) cut = part_of(least = offer(row, found));
    }
  }

  static int32_t level(float shared, float both) { return ks::level_of(ks::of_minima(shared, both)); }
  // Rows that share less than this part of both norms are below a level, with some room for rounding.
  static float part_of(int32_t level) {
    const float below = static_cast<float>(std::max(level - 1, 0)) / kLevels;
    return below / (1 + below);
  }
  HeavyPart heavy_;
  float norm_ = 0;
  std::vector<Key> keys_;
  std::vector<Group> groups_;
  std::vector<Span> spans_;
  std::vector<uint32_t> rows_;
  std::vector<float> shared_;  // 0 between queries
  uint64_t mask_;
};

}  // namespace kernelsketch
