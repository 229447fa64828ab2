// The growth of a decision tree on gradients, as gradient boosting needs it.
//
// Numbers come as bins: bin b of a feature holds the values between two thresholds, and a last bin the missing ones.
// A node is split where the sum over both children of (sum of gradients)^2 / (sum of hessians + ridge) is largest.
// The leaf whose split gains most is split next. Gradients and hessians are integers, so that sums are exact: neither
// the order of rows nor a difference of two histograms changes a bit of the tree.
//
// Every row stores the bins that are not the most frequent ones of their features. Sums of the frequent bins are what
// is missing to the node's total, so that 0/1 features of categories cost nothing where they are 0. Only the smaller
// child of a node reads its rows; the other child is the difference.
//
// Reference: reference/growth.py.
#pragma once

#include <cstdint>
#include <vector>

#include "kernelsketch/interrupt.h"

namespace kernelsketch {

inline constexpr int kCountShift = 40;  // a sum of hessians has fewer bits

// Sums over rows: gradients, and the number of rows times 2^40 plus the sum of hessians.
struct GrowthSum {
  int64_t gradient = 0, rest = 0;
};

struct GrowthSettings {
  int64_t leaves;     // at most
  int64_t leaf_rows;  // at least
  double ridge;       // added to sums of hessians
  double rate;        // of the value of a leaf, -rate * gradients / (hessians + ridge)
};

// Where the nodes of a tree are written: 2 leaves - 1 of each. Children come after their parent; those of a leaf are
// -1. A row goes left if the bin of the feature is at most `bin`; a missing value if missing_left says so.
struct GrownTree {
  int32_t* feature;
  int32_t* bin;
  int32_t* left;
  int32_t* right;
  uint8_t* missing_left;
  double* value;  // of leaves
};

// Training rows as bins, uint8 [feature][row]. Feature f has the bins 0 .. bins[f] - 1, and bins[f] for missing values.
class GrowthRows {
 public:
  GrowthRows(const uint8_t* binned, int64_t features, int64_t rows, const int32_t* bins);

  // Grows one tree per output on gradients and hessians (outputs, rows), and writes the value of the leaf of each row
  // to `values` (outputs, rows) and the number of nodes to `sizes`. The rows' bins must still be there.
  void grow(const int32_t* gradients, const int32_t* hessians, int64_t outputs, const GrowthSettings& settings,
            const GrownTree* trees, int64_t* sizes, double* values, int threads, Interrupted interrupted) const;

  int64_t rows() const { return rows_; }

 private:
  friend class Grower;
  const uint8_t* binned_;
  int64_t features_, rows_;
  std::vector<int32_t> first_;     // number of the first bin of each feature among all bins, and their count
  std::vector<int32_t> frequent_;  // number of the most frequent bin of each feature
  std::vector<int64_t> starts_;    // of the rows' entries
  std::vector<int32_t> entries_;   // bins of rows other than the frequent ones
};

}  // namespace kernelsketch
