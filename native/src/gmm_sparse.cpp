// Sparse rows: an inverted index of a block of b, walked by each row of a. Features that many rows of the block
// have (stop words) are kept as whole columns, which vector code adds faster than single entries.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>
#include <vector>

#include "hash_table.h"
#include "kernelsketch/dispatch.h"
#include "kernelsketch/gmm.h"
#include "kernelsketch/mirror.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

// A block of b. Its accumulators (8 bytes per row) stay in the L1 cache, which two hyper-threads may share, unless there
// are few rows of a: each block costs a look at all features. The index takes under about 32 MB.
constexpr int64_t kIndexedRows = 2048, kMoreIndexedRows = 8192, kFewRows = 1024;
constexpr int64_t kIndexedEntries = int64_t{1} << 19;
constexpr int64_t kColumnShare = 8;  // a feature of more than 1 in 8 rows is kept as a column
// Up to here the index has one slot per feature; beyond, features are numbered by a hash table.
constexpr int64_t kDirectFeatures = int64_t{1} << 22;
constexpr int64_t kItemRows = 32;
constexpr int64_t kAskAfter = int64_t{1} << 14;  // nonzeros of a long row between two looks at whether to stop
constexpr int64_t kNormRows = 1024;              // whose norms are an item of work
constexpr int64_t kShareEntries = 4096;          // that pay for a thread, if there are not more features

// Numbers the features that occur in a block: 0, 1, ... in order of appearance; -1 for any other.
class FeatureNumbers {
 public:
  FeatureNumbers(int64_t features, int64_t entries) : direct_(features <= kDirectFeatures) {
    if (direct_)
      count_ = features;
    else
      numbers_.clear(2 * entries);
  }
  bool direct() const { return direct_; }
  int64_t count() const { return count_; }
  void add(int64_t feature) {
    int64_t& number = numbers_.enter(feature);
    if (number < 0) number = count_++;
  }
  int64_t find(int64_t feature) const { return direct_ ? feature : numbers_[feature]; }

 private:
  bool direct_;
  int64_t count_ = 0;
  HashTable<int64_t, int64_t> numbers_{-1};
};

template <class T>
struct Entry {
  int32_t row;  // within the block
  T value;
};

// For each feature of rows first .. last of b: the rows that have it, ascending, with their values; or its column.
template <class T, class Index>
class InvertedIndex {
 public:
  InvertedIndex(const CsrRows<T, Index>& b, int64_t first, int64_t last, int threads)
      : numbers_(b.d, b.indptr[last] - b.indptr[first]), entries_(b.indptr[last] - b.indptr[first]),
        rows_(last - first) {
    const int64_t begin = b.indptr[first], end = b.indptr[last];
    if (!numbers_.direct())
      for (int64_t q = begin; q < end; ++q) numbers_.add(b.indices[q]);
    const int64_t features = numbers_.count();
    starts_.resize(features + 1);
    columns_of_.assign(features, -1);

    // A share is a part of the rows when entries are counted and placed, and a part of the features in between.
    const int64_t shares = std::clamp<int64_t>((end - begin) / std::max<int64_t>(features, kShareEntries), 1, threads);
    const auto part = [shares](int64_t n, int64_t share) { return n * share / shares; };
    const auto each_share = [&](const auto& work) { each_item(shares, threads, nullptr, work); };
    const Buffer<int32_t> places(shares * features);  // [share][feature]: counts, then where the next entry goes
    const auto each_entry = [&](int64_t share, const auto& call) {  // call(row, feature, value)
      for (int64_t i = part(rows_, share); i < part(rows_, share + 1); ++i)
        for (int64_t q = b.indptr[first + i]; q < b.indptr[first + i + 1]; ++q)
          call(i, numbers_.find(b.indices[q]), b.data[q]);
    };
    each_share([&](int64_t share) {
      int32_t* counts = places.get() + share * features;
      std::fill_n(counts, features, 0);
      each_entry(share, [&](int64_t, int64_t f, T) { ++counts[f]; });
    });
    std::vector<int32_t> entries_before(shares + 1), columns_before(entries_before);
    const auto each_feature = [&](int64_t share, const auto& call) {  // call(feature, entries)
      for (int64_t f = part(features, share); f < part(features, share + 1); ++f) {
        int32_t count = 0;
        for (int64_t s = 0; s < shares; ++s) count += places[s * features + f];
        call(f, count);
      }
    };
    const auto is_column = [&](int32_t count) { return rows_ >= kColumnShare && count > rows_ / kColumnShare; };
    each_share([&](int64_t share) {
      each_feature(share, [&](int64_t, int32_t count) {
        entries_before[share + 1] += count;
        columns_before[share + 1] += is_column(count);
      });
    });
    std::partial_sum(entries_before.begin(), entries_before.end(), entries_before.begin());
    std::partial_sum(columns_before.begin(), columns_before.end(), columns_before.begin());
    columns_.resize((columns_before.back() * rows_));
    starts_.back() = entries_before.back();
    each_share([&](int64_t share) {
      int32_t at = entries_before[share], column = columns_before[share];
      each_feature(share, [&](int64_t f, int32_t count) {
        starts_[f] = at;
        if (is_column(count)) columns_of_[f] = column++;
        for (int64_t s = 0; s < shares; ++s) at += std::exchange(places[s * features + f], at);
      });
    });
    each_share([&](int64_t share) {
      int32_t* place = places.get() + share * features;
      each_entry(share, [&](int64_t i, int64_t f, T value) {
        if (const int64_t column = columns_of_[f]; column >= 0)
          columns_[(column * rows_ + i)] = value;
        else
          entries_[place[f]++] = {static_cast<int32_t>(i), value};
      });
    });
  }

  // minima[j] += min(|x|, |v_j|) for the rows j >= from whose v has the sign of x.
  void add_minima(const GmmOps<T>& ops, int64_t feature, T x, int64_t from, double* minima) const {
    const int64_t number = numbers_.find(feature);
    if (number < 0) return;
    const auto f = static_cast<std::size_t>(number);
    const T size = std::fabs(x), sign = x > 0 ? T(1) : T(-1);
    if (columns_of_[f] >= 0) {
      ops.add_minima(minima + from, columns_.data() + columns_of_[f] * rows_ + from, rows_ - from, size, sign);
      return;
    }
    const Entry<T>*entry = entries_.get() + starts_[f], *end = entries_.get() + starts_[f + 1];
    if (from > 0)
      entry = std::lower_bound(entry, end, from, [](const Entry<T>& e, int64_t row) { return e.row < row; });
    for (; entry < end; ++entry) minima[entry->row] += static_cast<double>(ks::shared_size(size, sign * entry->value));
  }

 private:
  FeatureNumbers numbers_;
  Buffer<Entry<T>> entries_;
  int64_t rows_;
  std::vector<int32_t> starts_, columns_of_;
  std::vector<T> columns_;
};

template <class T, class Index>
int64_t block_end(const CsrRows<T, Index>& b, int64_t first, int64_t rows) {
  int64_t last = first + 1;
  while (last < b.n && last - first < rows && b.indptr[last + 1] - b.indptr[first] <= kIndexedEntries) ++last;
  return last;
}

}  // namespace

template <class T, class Index>
void gmm_sparse(const Isa& isa, CsrRows<T, Index> a, CsrRows<T, Index> b, Output<T> out, Ratio ratio, bool symmetric,
                int threads, Interrupted interrupted) {
  const GmmOps<T>& ops = isa.gmm.of<T>();
  for (int64_t first = 0, last; first < b.n; first = last) {
    last = block_end(b, first, a.n > kFewRows ? kIndexedRows : kMoreIndexedRows);
    const InvertedIndex<T, Index> index(b, first, last, threads);
    const int64_t m = last - first;
    const Buffer<double> norms(m);
    each_row(m, kNormRows, threads, nullptr, [&](int64_t j) { norms[j] = row_norm(b, first + j); });

    // In the symmetric case the rows up to each column suffice: row i from column i on.
    const int64_t rows = symmetric ? last : a.n;
    const bool finished = parallel((rows + kItemRows - 1) / kItemRows, threads, interrupted, [&](const auto& next) {
      const Buffer<double> minima(m);
      std::fill_n(minima.get(), m, 0.0);
      for (int64_t item; (item = next()) >= 0;)
        for (int64_t i = item * kItemRows; i < std::min((item + 1) * kItemRows, rows) && !next.stopped(); ++i) {
          const int64_t from = symmetric ? std::max<int64_t>(0, i - first) : 0;
          for (int64_t q = a.indptr[i]; q < a.indptr[i + 1]; ++q) {
            if ((q - a.indptr[i]) % kAskAfter == kAskAfter - 1 && next.stopped()) return;
            index.add_minima(ops, a.indices[q], a.data[q], from, minima.get());
          }
          ops.finish_sparse(minima.get() + from, m - from, row_norm(a, i), norms.get() + from,
                            out.data + i * out.stride + first + from, ratio);
        }
    });
    if (!finished) return;
  }
  if (symmetric) mirror(out, a.n, threads, interrupted);
}

#define KS_INSTANTIATE(T, Index) \
  template void gmm_sparse(const Isa&, CsrRows<T, Index>, CsrRows<T, Index>, Output<T>, Ratio, bool, int, Interrupted);
KS_EACH_CSR(KS_INSTANTIATE)

}  // namespace kernelsketch
