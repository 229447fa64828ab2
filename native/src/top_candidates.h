// The candidates of a query that are worth an exact comparison.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernelsketch/index.h"

namespace kernelsketch {

struct Candidate {
  int32_t score;  // equal codes, or the level of what is shared
  int32_t segment;
  int64_t row;
};

// The candidates of one query to be re-ranked, at most `n_rerank` at the end: those of the highest score, then of the
// smaller id.
class TopCandidates {
 public:
  TopCandidates(const IndexSegment* segments, int64_t n_rerank, int64_t max_score)
      : segments_(segments), n_rerank_(n_rerank), with_(static_cast<std::size_t>(max_score) + 1) {}
  void clear() {
    held_.clear();
    for (const int32_t score : added_) with_[static_cast<std::size_t>(score)] = 0;
    added_.clear();
    least_ = 0;
    enough_ = 0;
  }
  int32_t least() const { return least_; }  // score that a candidate needs
  void add(const Candidate& c) {
    held_.push_back(c);
    if (n_rerank_ == 0) return;
    ++with_[static_cast<std::size_t>(c.score)];
    added_.push_back(c.score);
    for (++enough_; enough_ - with_[static_cast<std::size_t>(least_)] >= n_rerank_; ++least_)
      enough_ -= with_[static_cast<std::size_t>(least_)];
    if (static_cast<int64_t>(held_.size()) >= 4 * n_rerank_ + 1024) cut();
  }
  const std::vector<Candidate>& finish() {
    cut();
    return held_;
  }

 private:
  void cut() {
    if (n_rerank_ == 0 || static_cast<int64_t>(held_.size()) <= n_rerank_) return;
    std::erase_if(held_, [&](const Candidate& c) { return c.score < least_; });
    if (static_cast<int64_t>(held_.size()) <= n_rerank_) return;
    std::nth_element(
        held_.begin(), held_.begin() + n_rerank_ - 1, held_.end(),
        [&](const Candidate& a, const Candidate& b) { return a.score != b.score ? a.score > b.score : id(a) < id(b); });
    with_[static_cast<std::size_t>(least_)] -= enough_ - n_rerank_;  // all that go have the least score
    enough_ = n_rerank_;
    held_.resize(static_cast<std::size_t>(n_rerank_));
  }
  int64_t id(const Candidate& c) const { return segments_[c.segment].ids[c.row]; }

  const IndexSegment* segments_;
  int64_t n_rerank_;
  int32_t least_ = 0;
  int64_t enough_ = 0;         // held with at least this score
  std::vector<int64_t> with_;  // how many were added of each score
  std::vector<int32_t> added_;  // scores where that is not 0
  std::vector<Candidate> held_;
};

}  // namespace kernelsketch
