// Sums over the rows of a Newton step, which reads them as symbols.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernelsketch/linear.h"
#include "kernelsketch/newton.h"
#include "kernelsketch/parallel.h"
#include "kernelsketch/team.h"

namespace kernelsketch {

inline constexpr int kShares = Desk::kShares;
inline constexpr int64_t kRowsAtOnce =
    1024;  // whose symbols are read for their decision values, and then for their sums
inline constexpr int64_t kSpanBytes = 1 << 19;  // of a file, from the first to the last row that are read at once
inline constexpr int64_t kRowsPerCell = 4;      // of a slice, on average: its table must not cost more than its rows

struct Slice {
  int64_t first, last;
};
inline Slice slice_of(int64_t n, int64_t number, int64_t of = kShares) {
  return {n * number / of, n * (number + 1) / of};
}

// Weights and sums of symbols, and how they come from those of codes and go back to them.
template <class Real>
class SymbolSums {
 public:
  SymbolSums(const LinearOps<Real>& ops, const Symbols& symbols, int64_t hashes, int64_t stride, int threads)
      : ops_(ops), symbols_(symbols), hashes_(hashes), stride_(stride), wide_cells_(symbols.k * symbols.stride),
        sums_(hashes * stride), wide_(wide_cells_), slices_(wide_cells_) {
    if (!symbols.map) return;
    for (at_once_ = 1; at_once_ < kShares && 2 * at_once_ <= threads;) at_once_ *= 2;
  }

  Real of_code(int64_t cell) const { return sums_[cell]; }

  // The weights of symbols: sums of the weights of their codes.
  void widen(Lead& lead, const Real* table) {
    lead.share_out(wide_cells_ >= kJobCodes, [&](int share) {
      for (int64_t g = share; g < symbols_.k; g += kShares) {
        Real* to = wide_.get() + g * symbols_.stride;
        const int64_t members = symbols_.members(g, hashes_);
        for (int64_t s = 0; s < symbols_.counts[g]; ++s) {
          const int32_t* cells = symbols_.cells_of(g, s);
          Real sum = table[cells[0]];
          for (int64_t i = 1; i < members; ++i) sum += table[cells[i]];
          to[s] = sum;
        }
      }
    });
  }

  // The sums of codes, from those of symbols in some slices.
  void narrow(Lead& lead, int64_t slices) {
    lead.share_out(wide_cells_ >= kJobCodes, [&](int share) {
      for (int64_t g = share; g < symbols_.k; g += kShares) {
        const int64_t members = symbols_.members(g, hashes_), first = g * symbols_.together;
        std::fill(sums_.get() + first * stride_, sums_.get() + (first + members) * stride_, Real{0});
        for (int64_t s = 0; s < symbols_.counts[g]; ++s) {
          const int64_t at = g * symbols_.stride + s;
          Real sum = slices_[at];
          for (int64_t q = 1; q < slices && fit(slices); ++q) sum += slice_table(q)[at];
          const int32_t* cells = symbols_.cells_of(g, s);
          for (int64_t i = 0; i < members; ++i) sums_[cells[i]] += sum;
        }
      }
    });
  }

  void add_weights(const uint16_t* const* rows, int64_t n, Real* sums) {
    ops_.of16.sums(rows, n, all_hashes(symbols_.k), wide_.get(), symbols_.stride, sums);
  }

  // Into how many slices some rows are cut that are added to tables: a power of 2.
  int64_t slices_for(int64_t n) const {
    int64_t slices = 1;
    while (slices < kShares && n * symbols_.k >= 2 * slices * kRowsPerCell * wide_cells_) slices *= 2;
    return slices;
  }
  // Whether all slices have a table of their own at the same time.
  bool fit(int64_t slices) const { return slices <= at_once_; }
  void make_slices(int64_t slices) {
    const int64_t tables = fit(slices) ? slices : at_once_ + 1;
    const std::size_t size = static_cast<std::size_t>((tables - 1) * wide_cells_);
    if (more_.size() < size) more_.resize(size);
  }
  Real* slice_table(int64_t number) { return number == 0 ? slices_.get() : more_.data() + (number - 1) * wide_cells_; }

  // call(first, count, rows) for blocks of a slice of the rows
  template <class Call>
  static void in_blocks(const Symbols& of, const int32_t* index, const Slice& slice, const Call& call) {
    const uint16_t* rows[kRowsAtOnce];
    for (int64_t first = slice.first, count; first < slice.last; first += count) {
      count = std::min(slice.last - first, kRowsAtOnce);
      if (of.map)
        while (count > 1 && (index[first + count - 1] - index[first]) * of.k * 2 > kSpanBytes) count /= 2;
      for (int64_t i = 0; i < count; ++i) rows[i] = of.row(index[first + i]);
      call(first, count, rows);
      of.map.release(rows[0], rows[count - 1] + of.k);
    }
  }

  void add(const uint16_t* const* rows, int64_t n, const HashRange& range, const Real* values, Real* table) {
    ops_.of16.add(rows, n, range, values, table, symbols_.stride);
  }

  // Adds a number for each row to the cells of its symbols. Shares have a slice of the rows and a part of the symbols.
  void scatter(Lead& lead, const Symbols& of, const int32_t* index, int64_t n, const Real* values, int64_t slices) {
    const int64_t round = std::min(slices, at_once_), groups = kShares / round;
    make_slices(slices);
    for (int64_t start = 0; start < slices; start += round) {
      const int64_t tables = start > 0;  // the first table has the sum of the rounds before
      lead.share_out(n * symbols_.k >= kJobCodes, [&](int share) {
        const Slice slice = slice_of(n, start + share / groups, slices);
        const Slice columns = slice_of(symbols_.k, share % groups, groups);
        const HashRange range = {columns.first, columns.last, columns.last - columns.first};
        Real* table = slice_table(tables + share / groups);
        std::fill(table + range.first * symbols_.stride, table + range.last * symbols_.stride, Real{0});
        in_blocks(of, index, slice, [&](int64_t first, int64_t count, const uint16_t* const* rows) {
          add(rows, count, range, values + first, table);
        });
      });
      if (!fit(slices)) add_up(lead, tables + round);
    }
  }

 private:
  // Adds some tables of slices to the first, in their order.
  void add_up(Lead& lead, int64_t tables) {
    lead.share_out(wide_cells_ >= kJobCodes, [&](int share) {
      const Slice cells = slice_of(wide_cells_, share);
      for (int64_t q = 1; q < tables; ++q)
        for (int64_t at = cells.first; at < cells.last; ++at) slices_[at] += slice_table(q)[at];
    });
  }

  const LinearOps<Real>& ops_;
  const Symbols& symbols_;
  int64_t hashes_, stride_, wide_cells_;
  int64_t at_once_ = kShares;  // slices that have tables at the same time
  Buffer<Real> sums_;          // by code
  Buffer<Real> wide_;          // weights, by symbol
  Buffer<Real> slices_;        // sums of a slice of the rows, by symbol
  std::vector<Real> more_;     // further slices
};

}  // namespace kernelsketch
