// Buckets, candidates and their order.
#include "kernelsketch/index.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <type_traits>
#include <vector>

#include "kernelsketch/dispatch.h"
#include "kernelsketch/parallel.h"
#include "kernelsketch/rng.h"

namespace kernelsketch {
namespace {

constexpr int64_t kQueriesAtOnce = 4;    // that pass over the codes together when every row is a candidate
constexpr int64_t kRowsAtOnce = 2048;    // of codes that they meet at a time
constexpr int64_t kCountsAtOnce = 32;
constexpr int64_t kQueriesOfItem = 16;   // with tables
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

// Whether one of kCountsAtOnce numbers is at least so large.
bool reaches(const int32_t* counts, int32_t least) {
  int32_t any = 0;
  for (int64_t j = 0; j < kCountsAtOnce; ++j) any |= counts[j] >= least;
  return any != 0;
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

// The features of one sparse query, in a table of open addresses.
class SparseQuery {
 public:
  template <class Index>
  void set(const Index* indices, const float* data, int64_t count) {
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
    for (int64_t q = 0; q < count; ++q) {
      const Slot& slot = slots_[probe(indices[q])];
      if (slot.feature < 0 || (slot.value > 0) != (data[q] > 0)) continue;
      sum += static_cast<double>(std::min(std::fabs(slot.value), std::fabs(data[q])));
    }
    return sum;
  }

 private:
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
  uint64_t mask_ = 0;
  int shift_ = 0;
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
      const std::size_t count = collect(segment, query);
      if (counts_.size() < count) counts_.resize(2 * count);
      isa_.index.matches(query, segment.codes, rows_.data(), static_cast<int64_t>(count), task_.k, task_.band,
                         firsts_.data(), counts_.data());
      for (std::size_t c = 0; c < count; ++c) offer(i, s, rows_[c], counts_[c]);
    }
    rank(i, best_.finish(), to);
  }

  // Queries first .. last, at most kQueriesAtOnce.
  template <class Lists>
  void by_scan(int64_t first, int64_t last, Lists& to) {
    std::vector<Best> best(static_cast<std::size_t>(last - first), best_);
    for (Best& b : best) b.clear();
    counts_.resize(static_cast<std::size_t>(kQueriesAtOnce * kRowsAtOnce));
    for (int64_t s = 0; s < count_; ++s)
      for (int64_t r0 = 0; r0 < segments_[s].n; r0 += kRowsAtOnce) {
        const int64_t rows = std::min(kRowsAtOnce, segments_[s].n - r0);
        isa_.codes.match8(queries_.codes + first * task_.k, segments_[s].codes + r0 * task_.k, last - first, rows,
                          task_.k, counts_.data(), kRowsAtOnce);
        for (int64_t i = first; i < last; ++i) {
          if (queries_.empty[i]) continue;
          std::swap(best_, best[static_cast<std::size_t>(i - first)]);
          const int32_t* counts = counts_.data() + (i - first) * kRowsAtOnce;
          for (int64_t r = 0; r < rows; r += kCountsAtOnce) {
            const int64_t end = std::min(r + kCountsAtOnce, rows);
            if (end == r + kCountsAtOnce && !reaches(counts + r, best_.least())) continue;
            for (int64_t q = r; q < end; ++q) offer(i, s, r0 + q, counts[q]);
          }
          std::swap(best_, best[static_cast<std::size_t>(i - first)]);
        }
      }
    for (int64_t i = first; i < last; ++i)
      rank(i, best[static_cast<std::size_t>(i - first)].finish(), to[i]);
  }

 private:
  // Rows of a segment that share a bucket with the query, each once, to rows_; their number.
  std::size_t collect(const IndexSegment& segment, const uint8_t* query) {
    std::size_t count = 0;
    const int64_t width = (int64_t{1} << segment.bits) + 1;
    for (int64_t l = 0; l < task_.tables; ++l) {
      const uint64_t bucket = bucket_of(query + l * task_.band, task_.band, l, segment.bits);
      const uint32_t* start = segment.starts + l * width + bucket;
      require(start[0] <= start[1] && start[1] <= segment.live, "the index is damaged: buckets out of order");
      const uint32_t* rows = segment.rows + l * segment.live;
      if (rows_.size() < count + (start[1] - start[0])) rows_.resize(2 * (count + (start[1] - start[0])));
      for (uint32_t q = start[0]; q < start[1]; ++q) {
        const uint32_t row = rows[q];
        require(row < segment.n, "the index is damaged: a row that is not there");
        uint64_t& word = seen_[row / 64];
        rows_[count] = row;  // kept if it is new: no branch, which nobody could predict
        count += (word >> (row % 64) & 1) ^ 1;
        word |= uint64_t{1} << (row % 64);
      }
    }
    for (std::size_t c = 0; c < count; ++c) seen_[rows_[c] / 64] = 0;
    return count;
  }

  void offer(int64_t i, int64_t s, int64_t row, int32_t matches) {
    if (matches < best_.least() || segments_[s].flags[row]) return;
    if (queries_.segment >= 0) {
      if (s == queries_.segment && row == queries_.first + i) return;
      if (task_.later && segments_[s].ids[row] < segments_[queries_.segment].ids[queries_.first + i]) return;
    }
    best_.add({matches, static_cast<int32_t>(s), row});
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
      sparse_.set(q.narrow + span.begin, q.data + span.begin, span.count);
    else
      sparse_.set(q.wide + span.begin, q.data + span.begin, span.count);
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
  const int64_t size = task.tables > 0 ? kQueriesOfItem : kQueriesAtOnce;
  parallel((queries.n + size - 1) / size, threads, interrupted, [&](const auto& next) {
    Searcher searcher(isa, queries, segments, count, task);
    for (int64_t item; (item = next()) >= 0;) {
      const int64_t first = item * size, last = std::min(first + size, queries.n);
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
