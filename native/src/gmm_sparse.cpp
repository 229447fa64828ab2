// Sparse rows: an inverted index of a block of b, walked by each row of a. Features that many rows of the block
// have (stop words) are kept as whole columns, which vector code adds faster than single entries.
#include <algorithm>
#include <cmath>
#include <vector>

#include "kernelsketch/dispatch.h"
#include "kernelsketch/gmm.h"
#include "kernelsketch/mirror.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

// A block of b: its accumulators (8 bytes per row) stay in the L2 cache, its index under about 32 MB.
constexpr int64_t kIndexedRows = 8192;
constexpr int64_t kIndexedEntries = int64_t{1} << 19;
constexpr int64_t kColumnShare = 8;  // a feature of more than 1 in 8 rows is kept as a column
// Up to here the index has one slot per feature; beyond, features are numbered by a hash table.
constexpr int64_t kDirectFeatures = int64_t{1} << 22;
constexpr int64_t kItemRows = 32;

// Numbers the features that occur in a block: 0, 1, ... in order of appearance; -1 for any other.
class FeatureNumbers {
 public:
  FeatureNumbers(int64_t features, int64_t entries) : direct_(features <= kDirectFeatures), count_(features) {
    if (direct_) return;
    count_ = 0;
    int64_t size = 16;
    shift_ = 60;
    for (; size < 2 * entries; size *= 2) --shift_;
    mask_ = static_cast<uint64_t>(size - 1);
    slots_.assign(static_cast<std::size_t>(size), Slot{-1, -1});
  }
  int64_t count() const { return count_; }
  int64_t add(int64_t feature) {
    if (direct_) return feature;
    Slot& slot = slots_[probe(feature)];
    if (slot.feature < 0) slot = {feature, count_++};
    return slot.number;
  }
  int64_t find(int64_t feature) const { return direct_ ? feature : slots_[probe(feature)].number; }

 private:
  struct Slot {
    int64_t feature, number;
  };
  std::size_t probe(int64_t feature) const {
    uint64_t i = (static_cast<uint64_t>(feature) * 0x9E3779B97F4A7C15u) >> shift_;  // the best mixed bits
    for (;; ++i) {
      const Slot& slot = slots_[i & mask_];
      if (slot.feature == feature || slot.feature < 0) return i & mask_;
    }
  }
  bool direct_;
  int64_t count_;
  uint64_t mask_ = 0;
  int shift_ = 0;
  std::vector<Slot> slots_;
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
  InvertedIndex(const CsrRows<T, Index>& b, int64_t first, int64_t last)
      : numbers_(b.d, b.indptr[last] - b.indptr[first]), entries_(b.indptr[last] - b.indptr[first]) {
    const int64_t begin = b.indptr[first], end = b.indptr[last];
    rows_ = last - first;
    starts_.resize(static_cast<std::size_t>(numbers_.count()) + 1);
    for (int64_t q = begin; q < end; ++q) {
      const auto f = static_cast<std::size_t>(numbers_.add(b.indices[q]));
      if (f + 1 >= starts_.size()) starts_.resize(f + 2);
      ++starts_[f + 1];
    }
    int32_t columns = 0;
    columns_of_.assign(starts_.size(), -1);
    for (std::size_t f = 1; f < starts_.size(); ++f) {
      if (starts_[f] > rows_ / kColumnShare && rows_ >= kColumnShare) columns_of_[f - 1] = columns++;
      starts_[f] += starts_[f - 1];
    }
    columns_.resize(static_cast<std::size_t>(columns * rows_));
    std::vector<int32_t> place = starts_;
    for (int64_t i = first; i < last; ++i)
      for (int64_t q = b.indptr[i]; q < b.indptr[i + 1]; ++q) {
        const auto f = static_cast<std::size_t>(numbers_.find(b.indices[q]));
        if (columns_of_[f] >= 0)
          columns_[static_cast<std::size_t>(columns_of_[f] * rows_ + (i - first))] = b.data[q];
        else
          entries_[place[f]++] = {static_cast<int32_t>(i - first), b.data[q]};
      }
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
    for (; entry < end; ++entry) {
      const T least = std::min(size, sign * entry->value);
      minima[entry->row] += static_cast<double>(least > 0 ? least : T(0));
    }
  }

 private:
  FeatureNumbers numbers_;
  Buffer<Entry<T>> entries_;
  int64_t rows_;
  std::vector<int32_t> starts_, columns_of_;
  std::vector<T> columns_;
};

template <class T, class Index>
double norm(const CsrRows<T, Index>& x, int64_t i) {
  double sum = 0;
  for (int64_t q = x.indptr[i]; q < x.indptr[i + 1]; ++q) sum += std::fabs(static_cast<double>(x.data[q]));
  return sum;
}

template <class T, class Index>
int64_t block_end(const CsrRows<T, Index>& b, int64_t first) {
  int64_t last = first + 1;
  while (last < b.n && last - first < kIndexedRows && b.indptr[last + 1] - b.indptr[first] <= kIndexedEntries) ++last;
  return last;
}

}  // namespace

template <class T, class Index>
void gmm_sparse(const Isa& isa, CsrRows<T, Index> a, CsrRows<T, Index> b, Output<T> out, Ratio ratio, bool symmetric,
                int threads, Interrupted interrupted) {
  const GmmOps<T>& ops = gmm_ops<T>(isa);
  for (int64_t first = 0, last; first < b.n; first = last) {
    last = block_end(b, first);
    const InvertedIndex<T, Index> index(b, first, last);
    const int64_t m = last - first;
    const Buffer<double> norms(m);
    for (int64_t j = 0; j < m; ++j) norms[j] = norm(b, first + j);

    // In the symmetric case the rows up to each column suffice: row i from column i on.
    const int64_t rows = symmetric ? last : a.n;
    const bool finished = parallel((rows + kItemRows - 1) / kItemRows, threads, interrupted, [&](const auto& next) {
      const Buffer<double> minima(m);
      std::fill_n(minima.get(), m, 0.0);
      for (int64_t item; (item = next()) >= 0;)
        for (int64_t i = item * kItemRows; i < std::min((item + 1) * kItemRows, rows); ++i) {
          const int64_t from = symmetric ? std::max<int64_t>(0, i - first) : 0;
          for (int64_t q = a.indptr[i]; q < a.indptr[i + 1]; ++q)
            index.add_minima(ops, a.indices[q], a.data[q], from, minima.get());
          ops.finish_sparse(minima.get() + from, m - from, norm(a, i), norms.get() + from,
                            out.data + i * out.stride + first + from, ratio);
        }
    });
    if (!finished) return;
  }
  if (symmetric) mirror(out, a.n, threads, interrupted);
}

#define KERNELSKETCH_INSTANTIATE(T, Index)                                                                     \
  template void gmm_sparse(const Isa&, CsrRows<T, Index>, CsrRows<T, Index>, Output<T>, Ratio, bool, int, Interrupted);
KERNELSKETCH_INSTANTIATE(float, int32_t)
KERNELSKETCH_INSTANTIATE(float, int64_t)
KERNELSKETCH_INSTANTIATE(double, int32_t)
KERNELSKETCH_INSTANTIATE(double, int64_t)

}  // namespace kernelsketch
