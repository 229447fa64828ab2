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
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernelsketch/dispatch.h"
#include "kernelsketch/index.h"
#include "kernelsketch/parallel.h"
#include "panel.h"

namespace kernelsketch {

class DenseScan {
 public:
  DenseScan(const Isa& isa, const IndexVectors& queries)
      : isa_(isa),
        queries_(queries),
        d_(queries.d),
        padded_((d_ + kByteGroup - 1) / kByteGroup * kByteGroup),
        floats_(queries.dense ? padded_ * isa.gmm_float.cols : 0),
        bytes_(queries.bytes ? padded_ * isa.gmm_bytes.cols : 0),
        sums_(most(isa.gmm_float.rows, isa.gmm_bytes.rows) * most(isa.gmm_float.cols, isa.gmm_bytes.cols)),
        totals_(static_cast<int64_t>(isa.gmm_float.rows) * isa.gmm_float.cols),
        norms_(most(isa.gmm_float.cols, isa.gmm_bytes.cols)),
        negatives_(most(isa.gmm_float.cols, isa.gmm_bytes.cols)),
        marks_(most(isa.gmm_float.cols, isa.gmm_bytes.cols)) {}

  // Whether so many queries pay for the packing of rows.
  static bool pays(int64_t queries, int64_t d) { return queries >= kLeastQueries && d <= kMostFeatures; }

  // Queries to be compared with rows.
  void take_queries(int64_t first, int64_t last) {
    first_ = first;
    if (queries_.bytes) {
      byte_queries_.assign(static_cast<std::size_t>((last - first) * padded_), 0);
      for (int64_t i = first; i < last; ++i)
        std::copy_n(queries_.bytes + i * d_, d_, byte_queries_.data() + (i - first) * padded_);
    }
    if (queries_.dense) {
      query_negatives_.assign(static_cast<std::size_t>(last - first), 0.0);
      for (int64_t i = first; i < last; ++i)
        for (int64_t f = 0; f < d_; ++f)
          query_negatives_[static_cast<std::size_t>(i - first)] -= std::min(queries_.dense[i * d_ + f], 0.0f);
    }
  }

  // Packs some rows from `first` on, and returns where they end.
  int64_t take_rows(const IndexVectors& x, int64_t first, int64_t end) {
    as_bytes_ = queries_.bytes && x.bytes;
    cols_ = as_bytes_ ? isa_.gmm_bytes.cols : isa_.gmm_float.cols;
    count_ = static_cast<int>(std::min<int64_t>(cols_, end - first));
    const int64_t last = first + count_;
    std::fill_n(totals_.get(), isa_.gmm_float.cols, 0.0);
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
    const int n = static_cast<int>(std::min<int64_t>(as_bytes_ ? isa_.gmm_bytes.rows : isa_.gmm_float.rows, end - i));
    if (as_bytes_)
      isa_.gmm_bytes.tile(byte_queries_.data() + (i - first_) * padded_, padded_, n, bytes_.get(), padded_, sums_.get());
    else
      isa_.gmm_float.tile(queries_.dense + i * d_, d_, n, floats_.get(), d_, totals_.get(), sums_.get(), true, true);
    return i + n;
  }

  // Calls visit(c) if the similarity of query i, which was just compared, and row c can reach `similarity`.
  template <class Visit>
  void find(int64_t i, double similarity, const Visit& visit) const {
    const double share = similarity / (1 + similarity) - kMargin - (as_bytes_ ? 0.5 : 0.0);
    const double negative = as_bytes_ ? 0.0 : query_negatives_[static_cast<std::size_t>(i - first_)];
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

}  // namespace kernelsketch
