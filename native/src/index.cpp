// Buckets, candidates and their order.
#include "kernelsketch/index.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernelsketch/dispatch.h"
#include "kernelsketch/parallel.h"
#include "kernelsketch/rng.h"
#include "postings.h"
#include "sparse_query.h"

namespace kernelsketch {
namespace {

constexpr int64_t kQueriesAtOnce = 16;   // of an item of work
constexpr int64_t kMostAtOnce = 64;      // where all codes are read: rows from memory serve so many queries
constexpr int64_t kTileBytes = 16 << 10;  // of codes that stay in the cache while these queries pass by
constexpr int64_t kAhead = 4;            // rows that are fetched before they are compared
constexpr double kChance = 1.0 / 256;    // of different samples to have equal codes

uint64_t bucket_of(const uint8_t* band, int size, int64_t table, int bits) {
  if (bits == 0) return 0;
  uint64_t key = 0;
  for (int j = 0; j < size; ++j) key |= static_cast<uint64_t>(band[j]) << (8 * j);
  return mix64(key + static_cast<uint64_t>(table + 1) * kGolden64) >> (64 - bits);
}

template <class Each>
void each_row(int64_t n, int threads, const Each& each) {
  constexpr int64_t rows = 1024;
  parallel((n + rows - 1) / rows, threads, nullptr, [&](const auto& next) {
    for (int64_t item; (item = next()) >= 0;)
      for (int64_t i = item * rows; i < std::min((item + 1) * rows, n); ++i) each(i);
  });
}

struct Candidate {
  int32_t score;  // equal codes, or the level of what is shared
  int32_t segment;
  int64_t row;
};

// The best candidates so far, at most `depth` at the end: the highest score, then the smaller id.
class Best {
 public:
  Best(const IndexSegment* segments, int64_t depth, int64_t most)
      : segments_(segments), depth_(depth), with_(static_cast<std::size_t>(most) + 1) {}
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
    if (depth_ == 0) return;
    ++with_[static_cast<std::size_t>(c.score)];
    added_.push_back(c.score);
    for (++enough_; enough_ - with_[static_cast<std::size_t>(least_)] >= depth_; ++least_)
      enough_ -= with_[static_cast<std::size_t>(least_)];
    if (static_cast<int64_t>(held_.size()) >= 4 * depth_ + 1024) cut();
  }
  const std::vector<Candidate>& finish() {
    cut();
    return held_;
  }

 private:
  void cut() {
    if (depth_ == 0 || static_cast<int64_t>(held_.size()) <= depth_) return;
    std::erase_if(held_, [&](const Candidate& c) { return c.score < least_; });
    if (static_cast<int64_t>(held_.size()) <= depth_) return;
    std::nth_element(held_.begin(), held_.begin() + depth_ - 1, held_.end(), [&](const Candidate& a, const Candidate& b) {
      return a.score != b.score ? a.score > b.score : id(a) < id(b);
    });
    with_[static_cast<std::size_t>(least_)] -= enough_ - depth_;  // all that go have the least score
    enough_ = depth_;
    held_.resize(static_cast<std::size_t>(depth_));
  }
  int64_t id(const Candidate& c) const { return segments_[c.segment].ids[c.row]; }

  const IndexSegment* segments_;
  int64_t depth_;
  int32_t least_ = 0;
  int64_t enough_ = 0;         // held with at least this score
  std::vector<int64_t> with_;  // how many were added of each score
  std::vector<int32_t> added_;  // scores where that is not 0
  std::vector<Candidate> held_;
};

// What one thread works with.
class Searcher {
 public:
  Searcher(const Isa& isa, const IndexQueries& queries, const IndexSegment* segments, int64_t count,
           const IndexTask& task)
      : isa_(isa), queries_(queries), segments_(segments), count_(count), task_(task),
        best_(segments, task.depth, task.mass > 0 ? kLevels : task.k),
        firsts_(static_cast<std::size_t>((task.k + 63) / 64)), shared_(task.mass > 0 ? most_rows(segments, count) : 1) {
    for (int64_t l = 0; l < task.tables; ++l)
      firsts_[static_cast<std::size_t>(l * task.band / 64)] |= uint64_t{1} << (l * task.band % 64);
    if (task.tables > 0) seen_.resize(static_cast<std::size_t>((most_rows(segments, count) + 63) / 64));
  }

  void by_features(int64_t i, std::vector<Neighbor>& to) {
    if (queries_.empty[i]) return;
    const IndexVectors& q = queries_.vectors;
    const Span span = row_of(q, i);
    if (q.narrow)
      shared_.set(q.narrow + span.begin, q.data + span.begin, span.count, q.norms[i], task_.mass);
    else
      shared_.set(q.wide + span.begin, q.data + span.begin, span.count, q.norms[i], task_.mass);
    const int32_t least = shared_.least_level(task_.least, task_.mass);
    best_.clear();
    for (int64_t s = 0; s < count_; ++s) {
      shared_.find(isa_.index, segments_[s], [&](uint32_t row, int32_t level) {
        offer(i, s, row, level, best_);
        return std::max(least, best_.least());
      }, std::max(least, best_.least()), guess_);
    }
    guess_ = (guess_ + best_.least()) / 2 * 3 / 4;
    rank(i, best_.finish(), to);
  }

  // Every row is compared exactly.
  void by_all(int64_t i, std::vector<Neighbor>& to) {
    if (queries_.empty[i]) return;
    best_.clear();
    for (int64_t s = 0; s < count_; ++s)
      for (int64_t r = 0; r < segments_[s].n; ++r) offer(i, s, r, 0, best_);
    rank(i, best_.finish(), to);
  }

  void by_tables(int64_t i, std::vector<Neighbor>& to) {
    if (queries_.empty[i]) return;
    const uint8_t* query = queries_.codes + i * task_.k;
    best_.clear();
    for (int64_t s = 0; s < count_; ++s) {
      const IndexSegment& segment = segments_[s];
      const int64_t count = collect(segment, query);
      if (counts_.size() < rows_.size()) counts_.resize(rows_.size());
      isa_.index.matches(query, segment.codes, rows_.data(), count, task_.k, task_.band, firsts_.data(), counts_.data());
      for (int64_t c = 0; c < count; ++c) offer(i, s, rows_[c], counts_[c], best_);
    }
    rank(i, best_.finish(), to);
  }

  // Queries first .. last, at most kMostAtOnce: while they pass by, codes of some rows stay in the cache.
  void by_scan(int64_t first, int64_t last, std::vector<Neighbor>* to) {
    std::vector<Best> best(static_cast<std::size_t>(last - first), best_);
    const int64_t tile = std::max<int64_t>(16, kTileBytes / task_.k / 16 * 16);
    counts_.resize(static_cast<std::size_t>((last - first) * tile));
    rows_.resize(static_cast<std::size_t>(tile));
    for (int64_t s = 0; s < count_; ++s)
      for (int64_t r0 = 0; r0 < segments_[s].n; r0 += tile) {
        const int64_t rows = std::min(tile, segments_[s].n - r0);
        isa_.codes.match8(queries_.codes + first * task_.k, segments_[s].codes + r0 * task_.k, last - first, rows,
                          task_.k, counts_.data(), tile);
        for (int64_t i = first; i < last; ++i)
          if (!queries_.empty[i])
            offer_some(i, s, r0, rows, counts_.data() + (i - first) * tile, best[static_cast<std::size_t>(i - first)]);
      }
    for (int64_t i = first; i < last; ++i)
      rank(i, best[static_cast<std::size_t>(i - first)].finish(), to[i]);
  }

 private:
  static int64_t most_rows(const IndexSegment* segments, int64_t count) {
    int64_t most = 0;
    for (int64_t s = 0; s < count; ++s) most = std::max(most, segments[s].n);
    return most;
  }

  // Rows of a segment that share a bucket with the query, each once, to rows_; their number.
  int64_t collect(const IndexSegment& segment, const uint8_t* query) {
    const int64_t width = (int64_t{1} << segment.bits) + 1;
    spans_.clear();
    int64_t entries = 0;
    for (int64_t l = 0; l < task_.tables; ++l) {
      const uint64_t bucket = bucket_of(query + l * task_.band, task_.band, l, segment.bits);
      const uint32_t* start = segment.starts + l * width + bucket;
      require(start[0] <= start[1] && start[1] <= segment.live, "the index is damaged: buckets out of order");
      const uint32_t* rows = segment.rows + l * segment.live;
      spans_.push_back({rows + start[0], rows + start[1]});
      entries += start[1] - start[0];
    }
    const int64_t most = std::min(entries, segment.n) + 1;  // a row is kept once
    if (static_cast<int64_t>(rows_.size()) < most) rows_.resize(static_cast<std::size_t>(most));
    int64_t count = 0;
    const int64_t words = (segment.n + 63) / 64;
    if (entries >= words / 4) {  // many: all are marked, then read in order, which is kinder to the memory
      for (const auto& [begin, end] : spans_)
        for (const uint32_t* row = begin; row < end; ++row) seen_[check(*row, segment) / 64] |= uint64_t{1} << (*row % 64);
      for (int64_t w = 0; w < words; ++w)
        for (uint64_t& bits = seen_[static_cast<std::size_t>(w)]; bits != 0; bits &= bits - 1)
          rows_[static_cast<std::size_t>(count++)] = static_cast<uint32_t>(64 * w + std::countr_zero(bits));
      return count;
    }
    for (const auto& [begin, end] : spans_)
      for (const uint32_t* row = begin; row < end; ++row) {
        uint64_t& word = seen_[check(*row, segment) / 64];
        rows_[static_cast<std::size_t>(count)] = *row;  // kept if it is new: no branch, which nobody could predict
        count += (word >> (*row % 64) & 1) ^ 1;
        word |= uint64_t{1} << (*row % 64);
      }
    for (int64_t c = 0; c < count; ++c) seen_[rows_[static_cast<std::size_t>(c)] / 64] = 0;
    return count;
  }
  static uint32_t check(uint32_t row, const IndexSegment& segment) {
    require(row < segment.n, "the index is damaged: a row that is not there");
    return row;
  }

  void offer(int64_t i, int64_t s, int64_t row, int32_t score, Best& best) {
    if (score < best.least() || segments_[s].flags[row]) return;
    if (queries_.segment >= 0) {
      if (s == queries_.segment && row == queries_.first + i) return;
      if (task_.later && segments_[s].ids[row] < segments_[queries_.segment].ids[queries_.first + i]) return;
    }
    best.add({score, static_cast<int32_t>(s), row});
  }

  // Rows r0 .. r0 + rows with their counts. Most have too few equal codes; which, no branch could predict.
  void offer_some(int64_t i, int64_t s, int64_t r0, int64_t rows, const int32_t* counts, Best& best) {
    const int32_t least = best.least();
    int64_t some = 0;
    for (int64_t r = 0; r < rows; ++r) {
      rows_[static_cast<std::size_t>(some)] = static_cast<uint32_t>(r);
      some += counts[r] >= least;
    }
    for (int64_t c = 0; c < some; ++c) {
      const int64_t r = rows_[static_cast<std::size_t>(c)];
      offer(i, s, r0 + r, counts[r], best);
    }
  }

  void rank(int64_t i, const std::vector<Candidate>& candidates, std::vector<Neighbor>& to) {
    if (candidates.empty()) return;
    if (task_.exact) take_features(i);
    for (std::size_t n = 0; n < candidates.size(); ++n) {
      const Candidate& c = candidates[n];
      if (task_.exact && n + kAhead < candidates.size()) fetch(candidates[n + kAhead]);
      const double s = task_.exact ? similarity(i, segments_[c.segment].vectors, c.row) : estimate(c.score);
      if (s > 0 && s >= task_.least) to.push_back({s, segments_[c.segment].ids[c.row]});
    }
    const auto before = [](const Neighbor& a, const Neighbor& b) {
      return a.similarity != b.similarity ? a.similarity > b.similarity : a.id < b.id;
    };
    if (task_.most > 0 && static_cast<int64_t>(to.size()) > task_.most) {
      std::partial_sort(to.begin(), to.begin() + task_.most, to.end(), before);
      to.resize(static_cast<std::size_t>(task_.most));
      to.shrink_to_fit();
    } else {
      std::sort(to.begin(), to.end(), before);
    }
  }

  double estimate(int32_t score) const {
    if (task_.mass > 0) return static_cast<double>(score) / kLevels;
    const double share = static_cast<double>(score) / static_cast<double>(task_.k);
    return std::max(0.0, (share - kChance) / (1 - kChance));
  }

  struct Span {
    int64_t begin, count;
  };
  static Span row_of(const IndexVectors& x, int64_t row) {
    const int64_t begin = x.indptr[row], end = x.indptr[row + 1];
    require(0 <= begin && begin <= end && end <= x.stored, "the index is damaged: vectors out of order");
    return {begin, end - begin};
  }
  void take_features(int64_t i) {
    const IndexVectors& q = queries_.vectors;
    if (!q.indptr) return;
    const Span span = row_of(q, i);
    if (q.narrow)
      sparse_.set(q.narrow + span.begin, q.data + span.begin, span.count, q.d);
    else
      sparse_.set(q.wide + span.begin, q.data + span.begin, span.count, q.d);
  }
  void fetch(const Candidate& c) const {
    const IndexVectors& x = segments_[c.segment].vectors;
    if (!x.indptr) return;
    const Span span = row_of(x, c.row);
    if (x.narrow)
      prefetch(x.narrow + span.begin, span.count);
    else
      prefetch(x.wide + span.begin, span.count);
    prefetch(x.data + span.begin, span.count);
  }
  double similarity(int64_t i, const IndexVectors& x, int64_t row) {
    const IndexVectors& q = queries_.vectors;
    const double total = q.norms[i] + x.norms[row];
    double common = 0;
    if (x.indptr) {
      const Span span = row_of(x, row);
      common = x.narrow ? sparse_.common(isa_.index, x.narrow + span.begin, x.data + span.begin, span.count)
                        : sparse_.common(isa_.index, x.wide + span.begin, x.data + span.begin, span.count);
    } else if (x.bytes && q.bytes) {
      common = (total - static_cast<double>(isa_.index.distance_bytes(q.bytes + i * x.d, x.bytes + row * x.d, x.d))) / 2;
    } else if (x.bytes) {
      common = isa_.index.common_bytes(q.dense + i * x.d, x.bytes + row * x.d, x.d);
    } else {
      common = isa_.index.common(q.dense + i * x.d, x.dense + row * x.d, x.d);
    }
    return common > 0 ? std::min(1.0, common / (total - common)) : 0.0;
  }

  const Isa& isa_;
  const IndexQueries& queries_;
  const IndexSegment* segments_;
  int64_t count_;
  const IndexTask& task_;
  Best best_;
  std::vector<uint64_t> firsts_, seen_;
  std::vector<std::pair<const uint32_t*, const uint32_t*>> spans_;
  std::vector<uint32_t> rows_;
  std::vector<int32_t> counts_;
  SparseQuery sparse_;
  SharedFeatures shared_;
  int32_t guess_ = 0;  // of the level that candidates of a query need; changes nothing but the time
};

}  // namespace

void index_tables(const uint8_t* codes, const uint8_t* flags, int64_t n, int64_t k, int band, int64_t tables, int bits,
                  int64_t live, uint32_t* rows, uint32_t* starts, int threads, Interrupted interrupted) {
  const int64_t buckets = int64_t{1} << bits;
  parallel(tables, threads, interrupted, [&](const auto& next) {
    std::vector<uint32_t> bucket(static_cast<std::size_t>(n));
    for (int64_t l; (l = next()) >= 0;) {
      uint32_t* start = starts + l * (buckets + 1);
      std::fill_n(start, buckets + 1, 0);
      for (int64_t i = 0; i < n; ++i) {
        if (flags[i]) continue;
        bucket[static_cast<std::size_t>(i)] = static_cast<uint32_t>(bucket_of(codes + i * k + l * band, band, l, bits));
        ++start[bucket[static_cast<std::size_t>(i)] + 1];
      }
      for (int64_t b = 0; b < buckets; ++b) start[b + 1] += start[b];
      // Each start moves up to the next one while its bucket is filled, and back by one place at the end.
      uint32_t* to = rows + l * live;
      for (int64_t i = 0; i < n; ++i)
        if (!flags[i]) to[start[bucket[static_cast<std::size_t>(i)]]++] = static_cast<uint32_t>(i);
      for (int64_t b = buckets; b > 0; --b) start[b] = start[b - 1];
      start[0] = 0;
    }
  });
}

void index_norms(const Isa& isa, const float* dense, int64_t n, int64_t d, double* norms, int threads) {
  each_row(n, threads, [&](int64_t i) { norms[i] = isa.index.common(dense + i * d, dense + i * d, d); });
}

void index_norms(const Isa& isa, const int64_t* indptr, const float* data, int64_t n, double* norms, int threads) {
  each_row(n, threads, [&](int64_t i) {
    norms[i] = isa.index.common(data + indptr[i], data + indptr[i], indptr[i + 1] - indptr[i]);
  });
}

void index_heavy(const int64_t* indptr, const float* data, const double* norms, int64_t n, double mass, uint8_t* heavy,
                 int threads) {
  constexpr int64_t rows = 1024;
  parallel((n + rows - 1) / rows, threads, nullptr, [&](const auto& next) {
    HeavyPart part;
    for (int64_t item; (item = next()) >= 0;)
      for (int64_t i = item * rows; i < std::min((item + 1) * rows, n); ++i) {
        const float least = part.least(data + indptr[i], indptr[i + 1] - indptr[i], norms[i], mass);
        for (int64_t q = indptr[i]; q < indptr[i + 1]; ++q) heavy[q] = std::fabs(data[q]) >= least;
      }
  });
}

template <class List>
void index_search(const Isa& isa, const IndexQueries& queries, const IndexSegment* segments, int64_t count,
                  const IndexTask& task, List* found, int threads, Interrupted interrupted) {
  const bool all = task.mass == 0 && task.tables == 0 && task.depth == 0 && task.exact;
  const bool scan = task.mass == 0 && task.tables == 0 && !all;
  const int64_t most = scan ? kMostAtOnce : kQueriesAtOnce;
  const int64_t at_once = std::clamp(queries.n / std::max(threads, 1), kQueriesAtOnce, most);
  parallel((queries.n + at_once - 1) / at_once, threads, interrupted, [&](const auto& next) {
    Searcher searcher(isa, queries, segments, count, task);
    for (int64_t item; (item = next()) >= 0;) {
      const int64_t first = item * at_once, last = std::min(first + at_once, queries.n);
      if (scan) {
        searcher.by_scan(first, last, found);
        continue;
      }
      for (int64_t i = first; i < last && !next.stopped(); ++i) {
        if (all)
          searcher.by_all(i, found[i]);
        else if (task.mass > 0)
          searcher.by_features(i, found[i]);
        else
          searcher.by_tables(i, found[i]);
      }
    }
  });
}
template void index_search(const Isa&, const IndexQueries&, const IndexSegment*, int64_t, const IndexTask&,
                           std::vector<Neighbor>*, int, Interrupted);

}  // namespace kernelsketch
