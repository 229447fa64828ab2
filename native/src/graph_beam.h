// The search of graph.h: the nearest rows found so far, and which rows were compared with the query.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "kernelsketch/compiler.h"
#include "kernelsketch/graph.h"
#include "sparse_query.h"

namespace kernelsketch {

struct Near {
  float key;
  uint32_t row;
  bool is_open = true;  // whether it can be a neighbour
  bool expanded = false;
};

inline bool nearer(const Near& a, const Near& b) { return a.key != b.key ? a.key < b.key : a.row < b.row; }

// Rows that a graph links: what a search reads.
struct GraphView {
  const uint8_t* bytes;  // [n][d]
  const float* norms;
  int64_t n, d;
  const uint32_t* links;  // [n][degree]
  int64_t degree;
  const uint32_t* entries;
  int64_t entry_count;
};

// Searches for one query after another; each thread has its own.
class GraphBeam {
 public:
  // Returns the rows of the beam, nearest first. `is_open(row)` says whether a row can be a neighbour. Rows that were
  // expanded are added to `expanded`, if it is given.
  template <class IsOpen>
  const std::vector<Near>& search(const GraphOps& ops, const GraphView& graph, const uint8_t* query, float norm,
                                  int64_t ef, const IsOpen& is_open, std::vector<Near>* expanded) {
    seen_.resize((graph.n + 63) / 64);
    beam_.clear();
    open_ = 0;
    compare(ops, graph, query, norm, ef, is_open, graph.entries, graph.entry_count, graph.n);
    for (std::size_t place = 0; place < beam_.size();) {
      if (beam_[place].expanded) {
        ++place;
        continue;
      }
      beam_[place].expanded = true;
      const uint32_t row = beam_[place].row;
      if (expanded) expanded->push_back(beam_[place]);
      ++place;
      if (place < beam_.size() && !beam_[place].expanded)
        prefetch(graph.links + beam_[place].row * graph.degree, graph.degree);
      place = std::min(
          place, compare(ops, graph, query, norm, ef, is_open, graph.links + row * graph.degree, graph.degree, row));
    }
    for (const uint32_t row : compared_) seen_[row / 64] = 0;
    compared_.clear();
    return beam_;
  }

 private:
  // Compares rows of a list, which ends at the number `self`, and returns the first place of the beam that changed.
  template <class IsOpen>
  std::size_t compare(const GraphOps& ops, const GraphView& graph, const uint8_t* query, float norm, int64_t ef,
                      const IsOpen& is_open, const uint32_t* list, int64_t count, int64_t self) {
    const std::size_t before = compared_.size();
    compared_.resize(before + count);
    uint32_t* fresh = compared_.data() + before;
    int64_t found = 0;
    for (int64_t i = 0; i < count && list[i] != self; ++i) {
      const uint32_t row = list[i];
      require_intact(row < graph.n, "the index is damaged: its graph links to a row that does not exist");
      uint64_t& word = seen_[row / 64];
      fresh[found] = row;  // kept if it is new: no branch, which nobody could predict
      found += (word >> (row % 64) & 1) ^ 1;
      word |= uint64_t{1} << (row % 64);
    }
    compared_.resize(before + found);
    if (static_cast<int64_t>(keys_.size()) < found) keys_.resize(found);
    ops.keys(query, norm, graph.bytes, graph.norms, graph.d, fresh, found, keys_.data());
    const bool full = open_ >= ef;
    std::size_t first = beam_.size();
    for (int64_t i = 0; i < found; ++i)
      if (!full || keys_[i] <= beam_.back().key) first = std::min(first, offer({keys_[i], fresh[i]}, ef, is_open));
    return first;
  }

  template <class IsOpen>
  std::size_t offer(Near found, int64_t ef, const IsOpen& is_open) {
    if (open_ >= ef && !nearer(found, beam_.back())) return beam_.size();
    found.is_open = is_open(found.row);
    const auto at = std::lower_bound(beam_.begin(), beam_.end(), found, nearer);
    const auto place = static_cast<std::size_t>(at - beam_.begin());
    beam_.insert(at, found);
    open_ += found.is_open;
    while (open_ > ef || (open_ == ef && !beam_.back().is_open)) {
      open_ -= beam_.back().is_open;
      beam_.pop_back();
    }
    return place;
  }

  std::vector<Near> beam_;
  int64_t open_ = 0;  // rows of the beam that can be neighbours
  std::vector<uint64_t> seen_;
  std::vector<uint32_t> compared_;
  std::vector<float> keys_;
};

}  // namespace kernelsketch
