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

namespace kernelsketch {
namespace {

constexpr int64_t kQueriesAtOnce = 16;   // of an item of work
constexpr int64_t kRowsAtOnce = 2048;    // whose codes stay in the cache when every row is a candidate
constexpr int64_t kDirectFeatures = int64_t{1} << 20;  // up to here sparse queries are spread over all features
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

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

struct Candidate {
  int32_t matches;
  int32_t segment;
  int64_t row;
};

// The best candidates so far, at most `depth` at the end: most equal codes, then the smaller id.
class Best {
 public:
  Best(const IndexSegment* segments, int64_t depth, int64_t k)
      : segments_(segments), depth_(depth), histogram_(static_cast<std::size_t>(k) + 1) {}
  void clear() {
    held_.clear();
    least_ = 0;
  }
  int32_t least() const { return least_; }  // matches that a candidate needs
  void add(const Candidate& c) {
    held_.push_back(c);
    if (depth_ > 0 && static_cast<int64_t>(held_.size()) >= 4 * depth_ + 256) cut();  // soon: most are then refused
  }
  const std::vector<Candidate>& finish() {
    cut();
    return held_;
  }

 private:
  void cut() {
    const auto size = static_cast<int64_t>(held_.size());
    if (depth_ == 0 || size <= depth_) return;
    std::fill(histogram_.begin(), histogram_.end(), 0);
    for (const Candidate& c : held_) ++histogram_[static_cast<std::size_t>(c.matches)];
    auto level = static_cast<int64_t>(histogram_.size()) - 1;
    for (int64_t above = 0; (above += histogram_[static_cast<std::size_t>(level)]) < depth_;) --level;
    least_ = static_cast<int32_t>(level);
    std::erase_if(held_, [&](const Candidate& c) { return c.matches < least_; });
    if (static_cast<int64_t>(held_.size()) > depth_) {
      std::nth_element(held_.begin(), held_.begin() + depth_ - 1, held_.end(),
                       [&](const Candidate& a, const Candidate& b) {
                         return a.matches != b.matches ? a.matches > b.matches : id(a) < id(b);
                       });
      held_.resize(static_cast<std::size_t>(depth_));
    }
  }
  int64_t id(const Candidate& c) const { return segments_[c.segment].ids[c.row]; }

  const IndexSegment* segments_;
  int64_t depth_;
  int32_t least_ = 0;
  std::vector<Candidate> held_;
  std::vector<int64_t> histogram_;
};

// The values of one sparse query by feature: in an array over all features or, where there are many, by open addressing.
class SparseQuery {
 public:
  template <class Index>
  void set(const Index* indices, const float* data, int64_t count, int64_t d) {
    for (const int64_t f : used_) values_[static_cast<std::size_t>(f)] = 0;
    used_.clear();
    direct_ = d <= kDirectFeatures;
    if (direct_) {
      values_.resize(static_cast<std::size_t>(d));
      for (int64_t q = 0; q < count; ++q) {
        require(indices[q] >= 0 && indices[q] < d, "the index is damaged: a feature that is not there");
        values_[static_cast<std::size_t>(indices[q])] = data[q];
        used_.push_back(indices[q]);
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
  template <class Index>
  double common(const Index* indices, const float* data, int64_t count) const {
    double sum = 0;
    if (direct_) {
      const auto d = static_cast<uint64_t>(values_.size());
      bool inside = true;
      for (int64_t q = 0; q < count; ++q) {
        const auto feature = static_cast<uint64_t>(indices[q]);
        inside &= feature < d;
        sum += shared(values_[feature < d ? feature : 0], data[q]);
      }
      require(inside, "the index is damaged: a feature that is not there");
      return sum;
    }
    for (int64_t q = 0; q < count; ++q) sum += shared(slots_[probe(indices[q])].value, data[q]);
    return sum;
  }

 private:
  struct Slot {
    int64_t feature;
    float value;
  };
  // min(|a|, |b|) where the signs are equal, else 0.
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
  uint64_t mask_ = 0;
  int shift_ = 0;
  std::vector<float> values_;
  std::vector<int64_t> used_;
  std::vector<Slot> slots_;
};

// What one thread works with.
class Searcher {
 public:
  Searcher(const Isa& isa, const IndexQueries& queries, const IndexSegment* segments, int64_t count,
           const IndexTask& task)
      : isa_(isa), queries_(queries), segments_(segments), count_(count), task_(task), best_(segments, task.depth, task.k),
        firsts_(static_cast<std::size_t>((task.k + 63) / 64)) {
    for (int64_t l = 0; l < task.tables; ++l)
      firsts_[static_cast<std::size_t>(l * task.band / 64)] |= uint64_t{1} << (l * task.band % 64);
    int64_t most = 0;
    for (int64_t s = 0; s < count; ++s) most = std::max(most, segments[s].n);
    if (task.tables > 0) seen_.resize(static_cast<std::size_t>((most + 63) / 64));
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

  // Queries first .. last, at most kQueriesAtOnce: while they pass by, codes of some rows stay in the cache.
  template <class Lists>
  void by_scan(int64_t first, int64_t last, Lists& to) {
    std::vector<Best> best(static_cast<std::size_t>(last - first), best_);
    rows_.resize(kRowsAtOnce);
    counts_.resize(kRowsAtOnce);
    for (int64_t s = 0; s < count_; ++s)
      for (int64_t r0 = 0; r0 < segments_[s].n; r0 += kRowsAtOnce) {
        const int64_t rows = std::min(kRowsAtOnce, segments_[s].n - r0);
        for (int64_t i = first; i < last; ++i) {
          if (queries_.empty[i]) continue;
          Best& mine = best[static_cast<std::size_t>(i - first)];
          const int64_t found = isa_.index.scan(queries_.codes + i * task_.k, segments_[s].codes + r0 * task_.k, rows,
                                                task_.k, mine.least(), rows_.data(), counts_.data());
          for (int64_t c = 0; c < found; ++c) offer(i, s, r0 + rows_[c], counts_[c], mine);
        }
      }
    for (int64_t i = first; i < last; ++i)
      rank(i, best[static_cast<std::size_t>(i - first)].finish(), to[i]);
  }

 private:
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
    if (static_cast<int64_t>(rows_.size()) < entries) rows_.resize(static_cast<std::size_t>(2 * entries));
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

  void offer(int64_t i, int64_t s, int64_t row, int32_t matches, Best& best) {
    if (matches < best.least() || segments_[s].flags[row]) return;
    if (queries_.segment >= 0) {
      if (s == queries_.segment && row == queries_.first + i) return;
      if (task_.later && segments_[s].ids[row] < segments_[queries_.segment].ids[queries_.first + i]) return;
    }
    best.add({matches, static_cast<int32_t>(s), row});
  }

  void rank(int64_t i, const std::vector<Candidate>& candidates, std::vector<Neighbor>& to) {
    if (candidates.empty()) return;
    if (task_.exact) take_features(i);
    for (const Candidate& c : candidates) {
      const double s = task_.exact ? similarity(i, segments_[c.segment].vectors, c.row) : estimate(c.matches);
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

  double estimate(int32_t matches) const {
    const double share = static_cast<double>(matches) / static_cast<double>(task_.k);
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
  double similarity(int64_t i, const IndexVectors& x, int64_t row) const {
    const IndexVectors& q = queries_.vectors;
    const double total = q.norms[i] + x.norms[row];
    double common = 0;
    if (x.indptr) {
      const Span span = row_of(x, row);
      common = x.narrow ? sparse_.common(x.narrow + span.begin, x.data + span.begin, span.count)
                        : sparse_.common(x.wide + span.begin, x.data + span.begin, span.count);
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

void index_norms(const int64_t* indptr, const float* data, int64_t n, double* norms, int threads) {
  each_row(n, threads, [&](int64_t i) {
    double sum = 0;
    for (int64_t q = indptr[i]; q < indptr[i + 1]; ++q) sum += static_cast<double>(std::fabs(data[q]));
    norms[i] = sum;
  });
}

template <class List>
void index_search(const Isa& isa, const IndexQueries& queries, const IndexSegment* segments, int64_t count,
                  const IndexTask& task, List* found, int threads, Interrupted interrupted) {
  parallel((queries.n + kQueriesAtOnce - 1) / kQueriesAtOnce, threads, interrupted, [&](const auto& next) {
    Searcher searcher(isa, queries, segments, count, task);
    for (int64_t item; (item = next()) >= 0;) {
      const int64_t first = item * kQueriesAtOnce, last = std::min(first + kQueriesAtOnce, queries.n);
      if (task.tables == 0) {
        searcher.by_scan(first, last, found);
        continue;
      }
      for (int64_t i = first; i < last && !next.stopped(); ++i) searcher.by_tables(i, found[i]);
    }
  });
}
template void index_search(const Isa&, const IndexQueries&, const IndexSegment*, int64_t, const IndexTask&,
                           std::vector<Neighbor>*, int, Interrupted);

}  // namespace kernelsketch
