// Sums of decision trees, as gradient boosting makes them.
//
// An inner node sends a row to its left child if x[feature] <= threshold, and to its right child otherwise. A missing
// value (NaN) goes left if the node says so. The leaf that a row reaches has the value that the tree adds to an output:
//   out[i][o] = (...((baseline[o] + v_0) + v_1) + ...), with the values of the trees o, o + outputs, o + 2 outputs, ...
// in double. Sums run in the order of the trees, so they depend on neither threads nor blocks of rows.
//
// Blocks of rows are copied, column after column, so that their values and the nodes of a tree stay in the L1 cache.
// A step loads a node, loads a value and compares. Several rows take it at a time, because each step waits for the last.
//
// Reference: reference/trees.py.
#pragma once

#include <cstdint>

#include "kernelsketch/interrupt.h"

namespace kernelsketch {

struct Isa;

inline constexpr int64_t kTreeBlock = 64;  // rows whose values are copied at a time

// A node as rows walk by: its children stand side by side. Comparisons send NaN to the right, so nodes that want it on
// the left read a copy of the feature with -infinity in its place. A leaf is its own left child and sends every row
// there, so that rows which have arrived may walk on.
struct TreeNode {
  double threshold;
  int32_t column;  // where the values of its feature begin in a block
  int32_t left;
};

// The steps of one instruction set; src/isa/trees.cpp fills it in.
struct TreeOps {
  // sums[i * stride] += value of the leaf that row i of a block [feature][kTreeBlock] reaches from the root, for `count`
  // rows. The block is full all the same.
  void (*walk)(const TreeNode* nodes, const double* values, int32_t root, const double* block, int64_t count,
               double* sums, int64_t stride);
};

// Nodes of all trees. The children of a node have larger numbers than the node itself; those of a leaf are -1.
struct Trees {
  const int32_t* feature;
  const double* threshold;
  const int32_t* left;
  const int32_t* right;
  const uint8_t* missing_left;
  const double* value;  // of leaves
  int64_t nodes;
  const int32_t* roots;  // one per tree
  int64_t trees;
  const double* baseline;
  int64_t outputs;
};

// A matrix of doubles in any order.
struct Features {
  const double* data;
  int64_t n, d;
  int64_t row_stride, column_stride;
};

// Throws std::invalid_argument for nodes, children or features that do not exist, and for thresholds that are NaN.
void trees_decide(const Isa& isa, const Features& x, const Trees& trees, double* out, int threads,
                  Interrupted interrupted);

}  // namespace kernelsketch
