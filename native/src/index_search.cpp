// Searching an index: candidates from LSH tables, from inverted lists or from a scan, and their re-ranking.
#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "core/codes.h"
#include "dense_pair.h"
#include "kernelsketch/compiler.h"
#include "kernelsketch/dispatch.h"
#include "kernelsketch/gmm.h"
#include "kernelsketch/index.h"
#include "kernelsketch/parallel.h"
#include "kernelsketch/rows.h"
#include "panel.h"
#include "postings.h"
#include "sparse_query.h"

namespace kernelsketch {
namespace {

constexpr int64_t kQueriesAtOnce = 16;    // queries per item of work
constexpr int64_t kMostAtOnce = 64;       // the same where all codes are read: rows from memory serve so many queries
constexpr int64_t kMostInScan = 240;      // the same where dense rows are packed: a multiple of the rows of all tiles
constexpr int64_t kTileBytes = 16 << 10;  // of codes that stay in the cache while these queries pass by
constexpr int64_t kAhead = 4;             // rows that are fetched before they are compared
constexpr double kSlack = 1 + 1e-6;       // more than rounding adds to a similarity
constexpr double kChance = 1.0 / 256;     // that different samples have equal codes
constexpr std::size_t kAskAfter = 1024;   // candidates that are compared between two looks at whether to stop

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
      : segments_(segments), n_rerank_(n_rerank), with_(max_score + 1) {}
  void clear() {
    held_.clear();
    for (const int32_t score : added_) with_[score] = 0;
    added_.clear();
    least_ = 0;
    enough_ = 0;
  }
  int32_t least() const { return least_; }  // score that a candidate needs
  void add(const Candidate& c) {
    held_.push_back(c);
    if (n_rerank_ == 0) return;
    ++with_[c.score];
    added_.push_back(c.score);
    for (++enough_; enough_ - with_[least_] >= n_rerank_; ++least_) enough_ -= with_[least_];
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
    with_[least_] -= enough_ - n_rerank_;  // all that go have the least score
    enough_ = n_rerank_;
    held_.resize(n_rerank_);
  }
  int64_t id(const Candidate& c) const { return segments_[c.segment].ids[c.row]; }

  const IndexSegment* segments_;
  int64_t n_rerank_;
  int32_t least_ = 0;
  int64_t enough_ = 0;          // held with at least this score
  std::vector<int64_t> with_;   // how many were added of each score
  std::vector<int32_t> added_;  // scores where that is not 0
  std::vector<Candidate> held_;
};

// Which dense rows can be similar enough to dense queries: by approximate sums, many pairs at a time.
//
// Let M and |.| be those of index.h. A similarity of at least s needs M >= s / (1 + s) (|u| + |v|).
//
// Floats. Let n(u) be the sum of the negative values of u, without their sign. Then
//   M = sum min(u_f, v_f) + n(u) + n(v).
// The tile of gmm.h sums the minima in single precision, with an error of at most 12 e (|u| + |v|) where e = 2^-24: a
// value passes 3 additions of a tree, 8 of a chunk and the last rounding. The roundings of n(v) are below 8 e |v|, and the
// others below 5 e (|u| + |v|). So a pair is dropped if it misses the bound by kMargin = 32 e of the norms. Norms of an
// index are between 2^-100 and 2^100 (neighbors/_vectors.py), so that no sum overflows and no error vanishes.
//
// Bytes. M = (|u| + |v| - D) / 2 with the sum D of absolute differences, which is exact.
class DenseScan {
 public:
  DenseScan(const Isa& isa, const IndexVectors& queries)
      : isa_(isa), queries_(queries), d_(queries.d), padded_((d_ + kByteGroup - 1) / kByteGroup * kByteGroup),
        floats_(queries.dense ? padded_ * isa.gmm.floats.cols : 0),
        bytes_(queries.bytes ? padded_ * isa.gmm_bytes.cols : 0),
        sums_(most(isa.gmm.floats.rows, isa.gmm_bytes.rows) * most(isa.gmm.floats.cols, isa.gmm_bytes.cols)),
        totals_(static_cast<int64_t>(isa.gmm.floats.rows) * isa.gmm.floats.cols),
        norms_(most(isa.gmm.floats.cols, isa.gmm_bytes.cols)),
        negatives_(most(isa.gmm.floats.cols, isa.gmm_bytes.cols)),
        marks_(most(isa.gmm.floats.cols, isa.gmm_bytes.cols)) {}

  // Whether so many queries pay for the packing of rows.
  static bool pays(int64_t queries, int64_t d) { return queries >= kLeastQueries && d <= kMostFeatures; }

  // Queries to be compared with rows.
  void take_queries(int64_t first, int64_t last) {
    first_ = first;
    if (queries_.bytes) {
      byte_queries_.assign(((last - first) * padded_), 0);
      for (int64_t i = first; i < last; ++i)
        std::copy_n(queries_.bytes + i * d_, d_, byte_queries_.data() + (i - first) * padded_);
    }
    if (queries_.dense) {
      query_negatives_.assign((last - first), 0.0);
      for (int64_t i = first; i < last; ++i)
        for (int64_t f = 0; f < d_; ++f) query_negatives_[(i - first)] -= std::min(queries_.dense[i * d_ + f], 0.0f);
    }
  }

  // Packs some rows from `first` on, and returns where they end.
  int64_t take_rows(const IndexVectors& x, int64_t first, int64_t end) {
    as_bytes_ = queries_.bytes && x.bytes;
    cols_ = as_bytes_ ? isa_.gmm_bytes.cols : isa_.gmm.floats.cols;
    count_ = static_cast<int>(std::min<int64_t>(cols_, end - first));
    const int64_t last = first + count_;
    std::fill_n(totals_.get(), isa_.gmm.floats.cols, 0.0);
    if (as_bytes_) {
      pack_bytes({x.bytes, last, d_, d_}, first, cols_, bytes_.get());
    } else if (x.bytes) {
      pack_panel(DenseRows<uint8_t>{x.bytes, last, d_, d_}, first, cols_, 0, d_, floats_.get());
    } else {
      pack_panel(DenseRows<float>{x.dense, last, d_, d_}, first, cols_, 0, d_, floats_.get());
      for (int64_t f0 = 0; f0 < d_; f0 += kFeatureGroup) {  // the panel is padded
        std::fill_n(negatives_.get(), cols_, 0.0f);
        for (int64_t f = f0; f < f0 + kFeatureGroup; ++f)
          for (int c = 0; c < cols_; ++c) negatives_[c] -= std::min(floats_[f * cols_ + c], 0.0f);
        for (int c = 0; c < cols_; ++c) totals_[c] += static_cast<double>(negatives_[c]);
      }
    }
    for (int c = 0; c < count_; ++c) {
      norms_[c] = static_cast<float>(x.norms[first + c]);
      negatives_[c] = static_cast<float>(totals_[c]);
    }
    return last;
  }

  // Compares some queries from `i` on with the rows, and returns where they end.
  int64_t compare(int64_t i, int64_t end) {
    from_ = i;
    const int n = static_cast<int>(std::min<int64_t>(as_bytes_ ? isa_.gmm_bytes.rows : isa_.gmm.floats.rows, end - i));
    if (as_bytes_)
      isa_.gmm_bytes.tile(byte_queries_.data() + (i - first_) * padded_, padded_, n, bytes_.get(), padded_,
                          sums_.get());
    else
      isa_.gmm.floats.tile(queries_.dense + i * d_, d_, n, floats_.get(), d_, totals_.get(), sums_.get(), true, true);
    return i + n;
  }

  // Calls visit(c) if the similarity of query i, which was just compared, and row c can reach `similarity`.
  template <class Visit>
  void find(int64_t i, double similarity, const Visit& visit) const {
    const double share = similarity / (1 + similarity) - kMargin - (as_bytes_ ? 0.5 : 0.0);
    const double negative = as_bytes_ ? 0.0 : query_negatives_[(i - first_)];
    const auto base = static_cast<float>(share * queries_.norms[i] - negative);
    if (isa_.index.reaching(sums_.get() + (i - from_) * cols_, as_bytes_ ? -0.5f : 1.0f, norms_.get(), negatives_.get(),
                            count_, static_cast<float>(share), base, marks_.get()))
      for (int c = 0; c < count_; ++c)
        if (marks_[c]) visit(c);
  }

 private:
  static constexpr int64_t kLeastQueries = 6;
  static constexpr int64_t kMostFeatures = 1 << 14;  // sums of bytes are exact, and a panel of floats takes 4 MiB
  static constexpr double kMargin = 1.0 / (1 << 19);
  static int64_t most(int a, int b) { return std::max(a, b); }

  const Isa& isa_;
  const IndexVectors& queries_;
  int64_t d_, padded_;
  Buffer<float> floats_;  // packed rows
  Buffer<uint8_t> bytes_;
  Buffer<float> sums_;
  Buffer<double> totals_;
  Buffer<float> norms_, negatives_;  // |v| and n(v) of the rows
  Buffer<uint8_t> marks_;
  std::vector<uint8_t> byte_queries_;    // padded
  std::vector<double> query_negatives_;  // n(u)
  bool as_bytes_ = false;
  int cols_ = 0, count_ = 0;
  int64_t first_ = 0, from_ = 0;
};

// Searches for one query after another; each thread has its own.
class Searcher {
 public:
  Searcher(const Isa& isa, const IndexQueries& queries, const IndexSegment* segments, int64_t count, int64_t k,
           const SearchParams& params, const Items& items)
      : isa_(isa), items_(items), queries_(queries), segments_(segments), count_(count), k_(k), params_(params),
        best_(segments, params.n_rerank, params.heavy_fraction > 0 ? kLevels : k), firsts_(((k + 63) / 64)),
        shared_(params.heavy_fraction > 0 ? most_rows(segments, count) : 1) {
    for (int64_t l = 0; l < params.n_tables; ++l)
      firsts_[(l * params.hashes_per_table / 64)] |= uint64_t{1} << (l * params.hashes_per_table % 64);
    if (params.n_tables > 0) seen_.resize(((most_rows(segments, count) + 63) / 64));
  }

  void by_features(int64_t i, std::vector<Neighbor>& to) {
    if (queries_.empty[i]) return;
    const IndexVectors& q = queries_.vectors;
    const Span span = row_of(q, i);
    q.with_indices(span.begin, [&](const auto* indices) {
      shared_.set(indices, q.data + span.begin, span.count, q.norms[i], params_.heavy_fraction);
    });
    const int32_t least = shared_.least_level(params_.min_similarity, params_.heavy_fraction);
    best_.clear();
    for (int64_t s = 0; s < count_; ++s) {
      shared_.find(
          isa_.index, segments_[s],
          [&](uint32_t row, int32_t level) {
            offer(i, s, row, level, best_);
            return std::max(least, best_.least());
          },
          std::max(least, best_.least()), guess_);
    }
    guess_ = (guess_ + best_.least()) / 2 * 3 / 4;
    rank(i, best_.finish(), to);
  }

  // Finds the nearest of all rows for queries first .. last. While these pass by, some rows stay in the cache; sparse
  // queries, which are spread out to be compared, come one at a time.
  void by_all(int64_t first, int64_t last, std::vector<Neighbor>* to) {
    const IndexVectors& q = queries_.vectors;
    worst_.assign((last - first), Neighbor{0, std::numeric_limits<int64_t>::max()});
    if (is_scan(last - first)) {
      if (!scan_) scan_.emplace(isa_, q);
      scan_->take_queries(first, last);
      for (int64_t s = 0; s < count_; ++s) scan(first, last, s, to);
    } else {
      const int64_t group = q.indptr ? 1 : last - first;
      const int64_t tile = q.indptr ? kAskAfter : std::max<int64_t>(16, kTileBytes / (q.d * (q.bytes ? 1 : 4) + 1));
      for (int64_t i0 = first; i0 < last; i0 += group) {
        take_features(i0);
        for (int64_t s = 0; s < count_; ++s)
          for (int64_t r0 = 0; r0 < segments_[s].n && !items_.stopped(); r0 += tile)
            for (int64_t i = i0; i < i0 + group; ++i)
              for (int64_t row = r0; row < std::min(r0 + tile, segments_[s].n); ++row)
                compare(i, s, row, to[i], worst_[(i - first)]);
      }
    }
    for (int64_t i = first; i < last; ++i) keep_nearest(to[i]);
  }

  void by_tables(int64_t i, std::vector<Neighbor>& to) {
    if (queries_.empty[i]) return;
    const uint8_t* query = queries_.codes + i * k_;
    best_.clear();
    for (int64_t s = 0; s < count_; ++s) {
      const IndexSegment& segment = segments_[s];
      const int64_t count = collect(segment, query);
      if (counts_.size() < rows_.size()) counts_.resize(rows_.size());
      isa_.index.matches(query, segment.codes, rows_.data(), count, k_, params_.hashes_per_table, firsts_.data(),
                         counts_.data());
      for (int64_t c = 0; c < count; ++c) offer(i, s, rows_[c], counts_[c], best_);
    }
    rank(i, best_.finish(), to);
  }

  // Queries first .. last, at most kMostAtOnce: while they pass by, codes of some rows stay in the cache.
  void by_scan(int64_t first, int64_t last, std::vector<Neighbor>* to) {
    std::vector<TopCandidates> best((last - first), best_);
    const int64_t tile = std::max<int64_t>(16, kTileBytes / k_ / 16 * 16);
    counts_.resize(((last - first) * tile));
    rows_.resize(tile);
    for (int64_t s = 0; s < count_; ++s)
      for (int64_t r0 = 0; r0 < segments_[s].n && !items_.stopped(); r0 += tile) {
        const int64_t rows = std::min(tile, segments_[s].n - r0);
        isa_.codes.of8.match(queries_.codes + first * k_, segments_[s].codes + r0 * k_, last - first, rows, k_,
                             counts_.data(), tile);
        for (int64_t i = first; i < last; ++i)
          if (!queries_.empty[i]) offer_some(i, s, r0, rows, counts_.data() + (i - first) * tile, best[(i - first)]);
      }
    for (int64_t i = first; i < last; ++i) rank(i, best[(i - first)].finish(), to[i]);
  }

 private:
  static int64_t most_rows(const IndexSegment* segments, int64_t count) {
    int64_t most = 0;
    for (int64_t s = 0; s < count; ++s) most = std::max(most, segments[s].n);
    return most;
  }

  // Whether so many queries are dense, and few rows can be among their neighbours.
  bool is_scan(int64_t queries) const {
    return !queries_.vectors.indptr && DenseScan::pays(queries, queries_.vectors.d) &&
           (params_.n_neighbors > 0 || params_.min_similarity > 0);
  }

  // Rows of a segment that share a bucket with the query, each once, to rows_; their number.
  int64_t collect(const IndexSegment& segment, const uint8_t* query) {
    const int64_t width = (int64_t{1} << segment.bits) + 1;
    spans_.clear();
    int64_t entries = 0;
    for (int64_t l = 0; l < params_.n_tables; ++l) {
      const uint64_t bucket = ks_bucket(query + l * params_.hashes_per_table, params_.hashes_per_table,
                                        static_cast<uint64_t>(l), segment.bits);
      const uint32_t* start = segment.starts + l * width + bucket;
      require_intact(start[0] <= start[1] && start[1] <= segment.live,
                     "the index is damaged: its buckets are out of order");
      const uint32_t* rows = segment.rows + l * segment.live;
      spans_.push_back({rows + start[0], rows + start[1]});
      entries += start[1] - start[0];
    }
    const int64_t most = std::min(entries, segment.n) + 1;  // a row is kept once
    if (static_cast<int64_t>(rows_.size()) < most) rows_.resize(most);
    int64_t count = 0;
    const int64_t words = (segment.n + 63) / 64;
    if (entries >= words / 4) {  // many: all are marked, then read in order, which is kinder to the memory
      for (const auto& [begin, end] : spans_)
        for (const uint32_t* row = begin; row < end; ++row)
          seen_[check(*row, segment) / 64] |= uint64_t{1} << (*row % 64);
      for (int64_t w = 0; w < words; ++w)
        for (uint64_t& bits = seen_[w]; bits != 0; bits &= bits - 1)
          rows_[(count++)] = static_cast<uint32_t>(64 * w + std::countr_zero(bits));
      return count;
    }
    for (const auto& [begin, end] : spans_)
      for (const uint32_t* row = begin; row < end; ++row) {
        uint64_t& word = seen_[check(*row, segment) / 64];
        rows_[count] = *row;  // kept if it is new: no branch, which nobody could predict
        count += (word >> (*row % 64) & 1) ^ 1;
        word |= uint64_t{1} << (*row % 64);
      }
    for (int64_t c = 0; c < count; ++c) seen_[rows_[c] / 64] = 0;
    return count;
  }
  static uint32_t check(uint32_t row, const IndexSegment& segment) {
    require_intact(row < segment.n, "the index is damaged: a table holds a row that does not exist");
    return row;
  }

  // Whether a row can be a neighbour of a query: it is neither removed nor empty nor the query itself.
  bool is_open(int64_t i, int64_t s, int64_t row) const {
    if (segments_[s].flags[row]) return false;
    if (queries_.segment < 0) return true;
    if (s == queries_.segment && row == queries_.first + i) return false;
    return !params_.later_only || segments_[s].ids[row] >= segments_[queries_.segment].ids[queries_.first + i];
  }
  void offer(int64_t i, int64_t s, int64_t row, int32_t score, TopCandidates& best) {
    if (score >= best.least() && is_open(i, s, row)) best.add({score, static_cast<int32_t>(s), row});
  }

  // Dense queries and all rows of a segment: rows that can be among the neighbours of a query are compared exactly.
  void scan(int64_t first, int64_t last, int64_t s, std::vector<Neighbor>* to) {
    for (int64_t row = 0, end; row < segments_[s].n && !items_.stopped(); row = end) {
      end = scan_->take_rows(segments_[s].vectors, row, segments_[s].n);
      for (int64_t i = first; i < last;)
        for (const int64_t stop = scan_->compare(i, last); i < stop; ++i) {
          Neighbor& worst = worst_[(i - first)];
          scan_->find(i, least_of(worst), [&](int c) { compare(i, s, row + c, to[i], worst); });
        }
    }
  }
  double least_of(const Neighbor& worst) const { return std::max(worst.similarity, params_.min_similarity); }

  // Compares a query with a row, and keeps it if it can be among the neighbours; those behind `worst` cannot.
  void compare(int64_t i, int64_t s, int64_t row, std::vector<Neighbor>& to, Neighbor& worst) {
    const IndexVectors& x = segments_[s].vectors;
    const double norm = queries_.vectors.norms[i];
    // A similarity is at most the smaller of the two norms over the larger one, but for rounding.
    const double small = std::min(norm, x.norms[row]), large = std::max(norm, x.norms[row]);
    if (small * kSlack < least_of(worst) * large || queries_.empty[i] || !is_open(i, s, row)) return;
    const Neighbor found = {similarity(i, x, row), segments_[s].ids[row]};
    if (!(found.similarity > 0 && found.similarity >= params_.min_similarity) || !before(found, worst)) return;
    to.push_back(found);
    if (params_.n_neighbors == 0 || static_cast<int64_t>(to.size()) < 2 * params_.n_neighbors) return;
    std::nth_element(to.begin(), to.begin() + params_.n_neighbors - 1, to.end(), before);
    to.resize(params_.n_neighbors);
    worst = to.back();
  }

  // Neighbours in the order of their similarities, and of equal ones of their ids.
  static bool before(const Neighbor& a, const Neighbor& b) {
    return a.similarity != b.similarity ? a.similarity > b.similarity : a.id < b.id;
  }
  void keep_nearest(std::vector<Neighbor>& to) const {
    if (params_.n_neighbors > 0 && static_cast<int64_t>(to.size()) > params_.n_neighbors) {
      std::partial_sort(to.begin(), to.begin() + params_.n_neighbors, to.end(), before);
      to.resize(params_.n_neighbors);
      to.shrink_to_fit();
    } else {
      std::sort(to.begin(), to.end(), before);
    }
  }

  // Rows r0 .. r0 + rows with their counts. Most have too few equal codes; which, no branch could predict.
  void offer_some(int64_t i, int64_t s, int64_t r0, int64_t rows, const int32_t* counts, TopCandidates& best) {
    const int32_t least = best.least();
    int64_t some = 0;
    for (int64_t r = 0; r < rows; ++r) {
      rows_[some] = static_cast<uint32_t>(r);
      some += counts[r] >= least;
    }
    for (int64_t c = 0; c < some; ++c) {
      const int64_t r = rows_[c];
      offer(i, s, r0 + r, counts[r], best);
    }
  }

  void rank(int64_t i, const std::vector<Candidate>& candidates, std::vector<Neighbor>& to) {
    if (candidates.empty()) return;
    if (params_.exact) take_features(i);
    for (std::size_t n = 0; n < candidates.size(); ++n) {
      const Candidate& c = candidates[n];
      if (n % kAskAfter == kAskAfter - 1 && items_.stopped()) return;
      if (params_.exact && n + kAhead < candidates.size()) fetch(candidates[n + kAhead]);
      const double s = params_.exact ? similarity(i, segments_[c.segment].vectors, c.row) : estimate(c.score);
      if (s > 0 && s >= params_.min_similarity) to.push_back({s, segments_[c.segment].ids[c.row]});
    }
    keep_nearest(to);
  }

  double estimate(int32_t score) const {
    if (params_.heavy_fraction > 0) return static_cast<double>(score) / kLevels;
    const double share = static_cast<double>(score) / static_cast<double>(k_);
    return std::max(0.0, (share - kChance) / (1 - kChance));
  }

  struct Span {
    int64_t begin, count;
  };
  static Span row_of(const IndexVectors& x, int64_t row) {
    const int64_t begin = x.indptr[row], end = x.indptr[row + 1];
    require_intact(0 <= begin && begin <= end && end <= x.stored, "the index is damaged: its vectors are out of order");
    return {begin, end - begin};
  }
  void take_features(int64_t i) {
    const IndexVectors& q = queries_.vectors;
    if (!q.indptr) return;
    const Span span = row_of(q, i);
    q.with_indices(span.begin,
                   [&](const auto* indices) { sparse_.set(indices, q.data + span.begin, span.count, q.d); });
  }
  void fetch(const Candidate& c) const {
    const IndexVectors& x = segments_[c.segment].vectors;
    if (!x.indptr) return;
    const Span span = row_of(x, c.row);
    x.with_indices(span.begin, [&](const auto* indices) { prefetch(indices, span.count); });
    prefetch(x.data + span.begin, span.count);
  }
  double similarity(int64_t i, const IndexVectors& x, int64_t row) {
    const IndexVectors& q = queries_.vectors;
    const double total = q.norms[i] + x.norms[row];
    double common = 0;
    if (x.indptr) {
      const Span span = row_of(x, row);
      common = x.with_indices(span.begin, [&](const auto* indices) {
        return sparse_.common(isa_.index, indices, x.data + span.begin, span.count);
      });
    } else {
      common = dense_common(isa_.index, q, i, x, row);
    }
    return ks::of_minima(common, total);
  }

  const Isa& isa_;
  const Items& items_;
  const IndexQueries& queries_;
  const IndexSegment* segments_;
  int64_t count_;
  int64_t k_;  // codes per row
  const SearchParams& params_;
  TopCandidates best_;
  std::vector<uint64_t> firsts_, seen_;
  std::vector<std::pair<const uint32_t*, const uint32_t*>> spans_;
  std::vector<uint32_t> rows_;
  std::vector<int32_t> counts_;
  std::vector<Neighbor> worst_;  // of each query of a group: rows behind it are not among the nearest
  std::optional<DenseScan> scan_;
  SparseQuery sparse_;
  SharedFeatures shared_;
  int32_t guess_ = 0;  // of the level that candidates of a query need; changes nothing but the time
};

}  // namespace

template <class List>
void index_search(const Isa& isa, const IndexQueries& queries, const IndexSegment* segments, int64_t count, int64_t k,
                  const SearchParams& params, List* found, int threads, Interrupted interrupted) {
  const bool every = params.heavy_fraction == 0 && params.n_tables == 0;  // all rows are candidates
  int64_t open = 0;
  for (int64_t s = 0; every && s < count; ++s)
    open += std::count(segments[s].flags, segments[s].flags + segments[s].n, 0);
  const bool all = every && params.exact && (params.n_rerank == 0 || params.n_rerank >= open), scan = every && !all;
  const int64_t most = scan ? kMostAtOnce : all && !queries.vectors.indptr ? kMostInScan : kQueriesAtOnce;
  const int64_t items = std::max<int64_t>(1, (queries.n + most * threads - 1) / (most * threads)) * threads;
  const int64_t at_once = std::clamp((queries.n + items - 1) / items, all ? 1 : kQueriesAtOnce, most);
  parallel((queries.n + at_once - 1) / at_once, threads, interrupted, [&](const auto& next) {
    Searcher searcher(isa, queries, segments, count, k, params, next);
    for (int64_t item; (item = next()) >= 0;) {
      const int64_t first = item * at_once, last = std::min(first + at_once, queries.n);
      if (all || scan) {
        if (all)
          searcher.by_all(first, last, found);
        else
          searcher.by_scan(first, last, found);
        continue;
      }
      for (int64_t i = first; i < last && !next.stopped(); ++i) {
        if (params.heavy_fraction > 0)
          searcher.by_features(i, found[i]);
        else
          searcher.by_tables(i, found[i]);
      }
    }
  });
}
template void index_search(const Isa&, const IndexQueries&, const IndexSegment*, int64_t, int64_t, const SearchParams&,
                           std::vector<Neighbor>*, int, Interrupted);

}  // namespace kernelsketch
