// A block of rows, and the inner products of those that can move.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernelsketch/dispatch.h"
#include "kernelsketch/linear.h"
#include "kernelsketch/parallel.h"
#include "kernelsketch/team.h"

namespace kernelsketch {

// The numbers of equal codes of the rows of each block, kept for the next problem: as long as no row is shrunk, blocks
// hold the same rows for every problem.
class CachedMatches {
 public:
  // The cache holds as many blocks as fit in `bytes`.
  CachedMatches(int64_t rows, int64_t k, int64_t bytes)
      : blocks_(k > 65535 ? 0 : std::min((rows + kBlockRows - 1) / kBlockRows, bytes / (2 * kBlockRows * kBlockRows))),
        counts_(blocks_ * kBlockRows * kBlockRows), index_((blocks_ * kBlockRows)), sizes_(blocks_) {}
  bool enabled() const { return blocks_ > 0; }
  bool holds(int64_t block, const int64_t* index, int64_t n) const {
    return block < blocks_ && sizes_[block] == n && std::equal(index, index + n, index_.begin() + block * kBlockRows);
  }
  // Whether to use the cache for n rows of which m can move: it has them, or they are worth keeping.
  bool serves(int64_t block, const int64_t* index, int64_t n, int64_t m) const {
    return block < blocks_ && (4 * m >= 3 * n || holds(block, index, n));
  }
  uint16_t* store(int64_t block, const int64_t* index, int64_t n) {
    sizes_[block] = n;
    std::copy_n(index, n, index_.begin() + block * kBlockRows);
    return counts_.get() + block * kBlockRows * kBlockRows;
  }
  const uint16_t* counts(int64_t block) const { return counts_.get() + block * kBlockRows * kBlockRows; }

 private:
  int64_t blocks_;
  Buffer<uint16_t> counts_;  // [block][row][row]
  std::vector<int64_t> index_, sizes_;
};

// Rows that are visited together. Those that can move have places: the inner products are by place.
template <class Code, class Real>
struct Block {
  explicit Block(int64_t k) : products(kBlockRows * kBlockRows), share_(1 / static_cast<Real>(k)) {
    std::fill_n(products.get(), kBlockRows * kBlockRows, Real{0});
  }
  int64_t number = 0, segment = 0, n = 0, full = 0;
  int64_t seen[kBlockRows];               // the rows
  float y[kBlockRows], cost[kBlockRows];  // their targets and costs
  Real beta[kBlockRows];                  // their duals before the block moves
  int32_t place[kBlockRows];              // of each row, or -1
  const Code* rows[kBlockRows];           // those that are not empty
  int64_t places = 0;                     // given so far
  Buffer<Real> products;                  // [place][place]; the diagonal is the caller's

  void clear(int64_t next) {
    number = next;
    n = full = places = 0;
    some_empty_ = false;
  }
  void add(const CodeRows<Code>& x, int64_t i, float target, float cost_of, Real dual) {
    if (!x.empty[i])
      rows[full++] = x.row(i);
    else
      some_empty_ = true;
    place[n] = -1;
    y[n] = target;
    cost[n] = cost_of;
    beta[n] = dual;
    seen[n++] = i;
  }
  void give_place(const CodeRows<Code>& x, int64_t r) {
    if (place[r] >= 0) return;
    row_at_[places] = x.row(seen[r]);
    empty_at_[places] = x.empty[seen[r]];
    place[r] = static_cast<int32_t>(places++);
  }

  // The products of the places from `first` on with all before them: one share of the work.
  void match(const Isa& isa, const CodeRows<Code>& x, Real corner, int64_t first, int share) {
    tiles(isa, x.k, first, share, [&](int64_t u, int64_t v0, int64_t v1, const int32_t* counts) {
      Real* to = products.get() + u * kBlockRows;
      for (int64_t v = v0; v < v1; ++v) to[v] = static_cast<Real>(counts[v - v0]) * share_ + corner;
      if (some_empty_)
        for (int64_t v = v0; v < v1; ++v)
          if (empty_at_[u] || empty_at_[v]) to[v] = corner;
      for (int64_t v = v0; v < v1; ++v) products[v * kBlockRows + u] = to[v];
    });
  }

  // The same for numbers of equal codes, and all places.
  void count(const Isa& isa, const CodeRows<Code>& x, uint16_t* to, int share) {
    tiles(isa, x.k, 0, share, [&](int64_t u, int64_t v0, int64_t v1, const int32_t* counts) {
      for (int64_t v = v0; v < v1; ++v)
        to[u * kBlockRows + v] = to[v * kBlockRows + u] = static_cast<uint16_t>(counts[v - v0]);
    });
  }

  void take_places() {
    std::fill_n(place, n, -1);
    places = 0;
  }

  // All products, from numbers of equal codes by row. Places were given to `rows_at`, one after the other.
  void multiply(Real corner, const uint16_t* counts, const int64_t* rows_at) {
    for (int64_t u = 0; u < places; ++u) {
      const uint16_t* from = counts + rows_at[u] * kBlockRows;
      Real* to = products.get() + u * kBlockRows;
      for (int64_t v = 0; v < places; ++v) to[v] = static_cast<Real>(from[rows_at[v]]) * share_ + corner;
      if (some_empty_)
        for (int64_t v = 0; v < places; ++v)
          if (empty_at_[u] || empty_at_[v]) to[v] = corner;
    }
  }

 private:
  static constexpr int64_t kTile = 16;
  // put(u, v0, v1, numbers of equal codes of place u with the places v0 .. v1 - 1, all before u)
  template <class Put>
  void tiles(const Isa& isa, int64_t k, int64_t first, int share, const Put& put) {
    int32_t counts[kTile * kTile];
    int64_t number = 0;
    for (int64_t u0 = first; u0 < places; u0 += kTile) {
      const int64_t u1 = std::min(places, u0 + kTile);
      for (int64_t v0 = 0; v0 < u1 - 1; v0 += kTile) {
        if (number++ % Desk::kShares != share) continue;
        const int64_t v1 = std::min(u1 - 1, v0 + kTile);
        for (int64_t u = v1 > u0 ? std::max(u0, v0) : u0, rows; u < u1; u += rows) {
          rows = std::min<int64_t>(v1 > u0 ? 4 : kTile, u1 - u);  // few at a time where the diagonal cuts the tile
          const int64_t last = std::min(v1, u + rows - 1);
          if (last <= v0) continue;
          isa.codes.of<Code>().match_rows(row_at_ + u, row_at_ + v0, rows, last - v0, k, counts, kTile);
          for (int64_t r = 0; r < rows; ++r)
            if (std::min(last, u + r) > v0) put(u + r, v0, std::min(last, u + r), counts + r * kTile);
        }
      }
    }
  }

  const Code* row_at_[kBlockRows];
  uint8_t empty_at_[kBlockRows];
  bool some_empty_ = false;
  Real share_;
};

}  // namespace kernelsketch
