// The strategy `bounds` of GCWS, for long rows: most of their values cannot win, and bounds say which.
//
// The a of a value does not rise with the value, in floating point, too, because every operation is monotone. So the a of
// the largest value of a slot in some rows is a bound for all of them, and a row with an a below a threshold needs no look
// at slots whose bound is at or above it. The least a of a row of total weight W is log2(E / W) + 0.53 with an exponential
// E. A threshold of log2(6 / W) + 0.53 fails for one hash in 400, and these look at all values of their row. For the
// others some slots are left, as many for long rows as for short ones.
//
// A block of rows is put in descending order of weights. For each hash, the slots that can win in the block are listed
// with their parameters. Tiles of rows, dense and transposed, stay in the L2 cache while the hashes pass by; each tile has
// bounds and a threshold of its own, which leave fewer slots. A vector holds sixteen rows, and values that rows do not
// have count as tiny ones.
//
// Cost: with 784 features, a fifth of them nonzero, 60 of 784 slots per hash are visited, in nine vector operations per
// sixteen rows; the other strategies look at 150 values per row.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "gcws_blocks.h"
#include "gcws_output.h"
#include "kernelsketch/gcws.h"

namespace kernelsketch {

// Some rows of a block, in another order.
struct OrderedRows {
  const RowBlock& block;
  const int32_t* order;
  int64_t count;

  int64_t rows() const { return count; }
  int64_t row(int64_t i) const { return block.first + order[i]; }
  bool empty(int64_t i) const { return block.empty(order[i]); }
};

class BoundedBlock {
 public:
  static constexpr double kExpected = 6;           // values of a row below its threshold, on average
  static constexpr int64_t kLight = 50;            // one row in so many is lighter than a threshold expects
  static constexpr int64_t kMostRows = 4096;       // of a block
  static constexpr int64_t kHashesAtOnce = 1024;   // whose candidates are listed at a time, at most
  static constexpr int64_t kMostListed = 1 << 20;  // candidates after which no further group of hashes is listed
  static constexpr int64_t kTileBytes = 1 << 20;   // of a tile, if that is 128 rows or more
  static constexpr int64_t kMostTileRows = 512;
  static constexpr float kAbsent = -1e12f;  // the logarithm of a value that a row does not have

  BoundedBlock(const GcwsOps& ops, const BoundOps& bounds, const GcwsParams& params, int64_t features,
               bool whole_samples)
      : ops_(ops), bounds_(bounds), params_(params), samples_(whole_samples),
        with_t_(whole_samples || params.t_bits > 0), column_of_((2 * features), -1) {}

  // Hashes rows from .. to. Returns false if it was stopped.
  template <class AnyRows, class Out, class Next>
  bool hash(const AnyRows& x, int64_t from, int64_t to, const Out& out, const Next& next) {
    block_.read(x, params_, ops_, from, to, int32_t{2}, int32_t{1}, values_, keys_);
    block_.flag_empty(out.empty);
    number_columns();
    order_rows();
    const auto slot_of = [&](int32_t label) { return slots_[label]; };
    for (int64_t first = 0, last; first < params_.hashes; first = last) {
      last = list_candidates(first, next);
      if (last == first) return false;
      for (int64_t start = 0; start < block_.rows(); start += tile_rows_) {
        const OrderedRows tile{block_, order_.data() + start, std::min(tile_rows_, block_.rows() - start)};
        fill(tile);
        for (int64_t hash = first; hash < last; hash += kLanes) {
          if (next.stopped()) return false;
          for (int64_t lane = 0; lane < kLanes && hash + lane < last; ++lane) visit(tile, hash + lane, first, lane);
          bounds_.turn(label_.data(), tile_rows_, labels_.data());
          if (with_t_) bounds_.turn_floats(t_.data(), tile_rows_, above_.data());
          write_winners(out, params_, tile, slot_of, hash / kLanes, 1,
                        Winners{labels_.data(), with_t_ ? above_.data() : nullptr});
        }
      }
    }
    return true;
  }

 private:
  static std::size_t at(int64_t i) { return static_cast<std::size_t>(i); }

  // Numbers the slots that occur, in ascending order. Keys become numbers of columns.
  void number_columns() {
    const int64_t count = block_.starts.back();
    slots_.clear();
    for (int64_t q = 0; q < count; ++q) column_of_[at(keys_[at(q)])] = 0;
    for (std::size_t slot = 0; slot < column_of_.size(); ++slot)
      if (column_of_[slot] == 0) {
        column_of_[slot] = static_cast<int32_t>(slots_.size());
        slots_.push_back(slot);
      }
    for (int64_t q = 0; q < count; ++q) keys_[at(q)] = column_of_[at(keys_[at(q)])];
    for (const uint64_t slot : slots_) column_of_[slot] = -1;
    columns_ = (static_cast<int64_t>(slots_.size()) + 15) / 16 * 16;
    const uint64_t seed_key = ks_seed_key(params_.seed);
    for (int w = 0; w < 6; ++w) words_[w].assign(at(columns_), 0);
    label_of_.resize(std::max<std::size_t>(1, slots_.size()));
    for (std::size_t c = 0; c < slots_.size(); ++c) {
      const uint64_t state = ks_slot_state(seed_key, slots_[c]);
      for (int w = 0; w < 6; ++w) words_[w][c] = static_cast<int32_t>(ks_word_key(state, w / 2) >> (w % 2 * 32));
      label_of_[c] = samples_ ? static_cast<int32_t>(c) : code_of(slots_[c], params_.bits);
    }
    for (int w = 0; w < 6; ++w) word_[w] = words_[w].data();
    const int64_t fitting = kTileBytes / (4 * std::max<int64_t>(1, columns_)) / kBoundedRows * kBoundedRows;
    tile_rows_ = std::clamp(fitting, kBoundedRows, kMostTileRows);
    logs_.resize(at(columns_ * tile_rows_));
    tops_.resize(at(columns_));
    kept_.resize(at(columns_));
    least_.resize(at(tile_rows_));
    label_.resize(at(tile_rows_ * kLanes));
    t_.resize(at(with_t_ ? tile_rows_ * kLanes : 0));
    labels_.resize(at(tile_rows_ * kLanes));
    above_.resize(at(with_t_ ? tile_rows_ * kLanes : 0));
  }

  // 2^x for x from -126 to 0, within 6 %: the bits of a float are nearly its logarithm. No result depends on it.
  static float roughly_exp2(float x) {
    return std::bit_cast<float>(static_cast<int32_t>((std::max(x, -126.0f) + 127) * 8388608.0f));
  }

  // Rows in descending order of the logarithms of their weights; empty rows have minus infinity.
  void order_rows() {
    const int64_t n = block_.rows();
    weights_.resize(at(n));
    for (int64_t i = 0; i < n; ++i) {
      const float* first = block_.log.data() + block_.starts[at(i)];
      const float* last = block_.log.data() + block_.starts[at(i) + 1];
      weights_[at(i)] = -HUGE_VALF;
      if (first == last) continue;
      const float most = *std::max_element(first, last);
      float sum = 0;
      for (const float* log = first; log < last; ++log) sum += roughly_exp2(*log - most);
      weights_[at(i)] = most + std::log2(sum);
    }
    order_.resize(at(n));
    std::iota(order_.begin(), order_.end(), 0);
    std::sort(order_.begin(), order_.end(), [&](int32_t a, int32_t b) {
      return weights_[at(a)] != weights_[at(b)] ? weights_[at(a)] > weights_[at(b)] : a < b;
    });
  }

  // A threshold made for one of the light rows that are not empty.
  float threshold_of(const int32_t* order, int64_t count) const {
    while (count > 0 && block_.empty(order[count - 1])) --count;
    if (count == 0) return -HUGE_VALF;
    return static_cast<float>(std::log2(kExpected) + 0.5287663729448977) -
           weights_[at(order[count - 1 - count / kLight])];
  }

  // The largest logarithms of rows by column.
  void find_tops(const int32_t* order, int64_t count) {
    std::fill(tops_.begin(), tops_.end(), kAbsent);
    for (int64_t i = 0; i < count; ++i)
      for (int64_t q = block_.starts[at(order[i])]; q < block_.starts[at(order[i]) + 1]; ++q) {
        float& top = tops_[at(keys_[at(q)])];
        top = std::max(top, block_.log[at(q)]);
      }
  }

  // Lists candidates from a hash on. Returns the hash where it ended, after whole groups; `first` if it was stopped.
  template <class Next>
  int64_t list_candidates(int64_t first, const Next& next) {
    const int64_t last = std::min(params_.hashes, first + kHashesAtOnce);
    find_tops(order_.data(), block_.rows());
    // Tiles have thresholds of their own; that of the lightest one is the largest.
    float threshold = -HUGE_VALF;
    for (int64_t start = 0; start < block_.rows(); start += tile_rows_)
      threshold = std::max(threshold, threshold_of(order_.data() + start, std::min(tile_rows_, block_.rows() - start)));
    starts_.assign(1, 0);
    for (int64_t hash = first; hash < last; ++hash) {
      if (next.stopped()) return first;
      const int64_t listed = starts_.back();
      if (listed > kMostListed && (hash - first) % kLanes == 0) return hash;
      const std::size_t room = at(listed + columns_ + 16);
      if (column_.size() < room) {
        column_.resize(2 * room);
        for (auto& list : parameters_) list.resize(2 * room);
      }
      starts_.push_back(listed + bounds_.choose(word_, tops_.data(), columns_, hash, threshold, candidates(listed)));
    }
    return last;
  }

  Candidates candidates(int64_t start) {
    return {column_.data() + start, parameters_[0].data() + start, parameters_[1].data() + start,
            parameters_[2].data() + start, parameters_[3].data() + start};
  }

  // Makes the dense, transposed rows of a tile.
  void fill(const OrderedRows& tile) {
    std::fill(logs_.begin(), logs_.end(), kAbsent);
    for (int64_t i = 0; i < tile.count; ++i)
      for (int64_t q = block_.starts[at(tile.order[i])]; q < block_.starts[at(tile.order[i]) + 1]; ++q)
        logs_[at(keys_[at(q)] * tile_rows_ + i)] = block_.log[at(q)];
    find_tops(tile.order, tile.count);
    threshold_ = threshold_of(tile.order, tile.count);
  }

  // The winners of one hash, in lane `lane`.
  void visit(const OrderedRows& tile, int64_t hash, int64_t first, int64_t lane) {
    const int64_t start = starts_[at(hash - first)], count = starts_[at(hash - first) + 1] - start;
    const Candidates of = candidates(start);
    int32_t* label = label_.data() + lane * tile_rows_;
    float* t = with_t_ ? t_.data() + lane * tile_rows_ : nullptr;
    const int64_t kept = bounds_.narrow(of, count, tops_.data(), threshold_, kept_.data());
    bounds_.visit(logs_.data(), tile_rows_, of, kept_.data(), kept, label_of_.data(), least_.data(), label, t);
    for (int64_t i = 0; i < tile.count; ++i) {
      if (least_[at(i)] < threshold_) continue;
      const int64_t from = block_.starts[at(tile.order[i])], to = block_.starts[at(tile.order[i]) + 1];
      const Sample found = bounds_.look(word_, hash, keys_.data() + from, block_.log.data() + from, to - from);
      label[i] = from == to ? 0 : label_of_[at(found.column)];
      if (t) t[i] = found.above;
    }
  }

  const GcwsOps& ops_;
  const BoundOps& bounds_;
  const GcwsParams& params_;
  bool samples_, with_t_;
  int64_t columns_ = 0, tile_rows_ = 0;
  float threshold_ = 0;
  RowBlock block_;
  std::vector<double> values_;
  std::vector<int32_t> keys_, column_of_, order_, label_of_;
  std::vector<uint64_t> slots_;
  std::vector<int32_t> words_[6];
  const int32_t* word_[6] = {};
  std::vector<float> weights_, tops_, logs_;
  std::vector<int64_t> starts_;  // of the candidates of each hash
  std::vector<int32_t> column_, kept_, label_, labels_;
  std::vector<float> parameters_[4], least_, t_, above_;
};

}  // namespace kernelsketch
