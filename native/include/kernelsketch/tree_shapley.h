// Shapley values of the sums of trees, against background rows.
//
// Each feature belongs to a column. The value of a set S of columns is the mean of the sums of trees over the background
// rows z, of rows that have the columns of S from the row x and the others from z. Such a row reaches a leaf if x passes
// the splits of S on the path, and z those of the other columns. With the sets
//   A: columns of the path that x passes and z does not,   B: those that z passes and x does not,
// and none that both fail, the Shapley value of the indicator of the leaf is W(|A|, |B|) for each column of A and
// -W(|B|, |A|) for each of B, with W(a, b) = (a - 1)! b! / (a + b)!.
//
// A background row is one bit of a set, so a step down a tree handles 64 of them. B is the same for all background rows
// that reach a leaf: the columns that x fails. So these rows only need to be counted by |A|. A subtree that no mixture
// reaches is left out. Sums run in the order of the leaves, so they depend on no other row and on no threads.
//
// Reference: reference/tree_shapley.py.
#pragma once

#include <cstdint>

#include "kernelsketch/interrupt.h"
#include "kernelsketch/trees.h"

namespace kernelsketch {

inline constexpr int32_t kDeepestTree = 512;  // splits on a path

// out[i][column][output] for the rows of x. `owners` has the column of each feature. Throws std::invalid_argument as
// trees_decide does, and for trees with more than kDeepestTree splits on a path or nodes with two parents.
void tree_shapley(const Features& x, const Features& background, const Trees& trees, const int32_t* owners,
                  int64_t columns, double* out, int threads, Interrupted interrupted);

}  // namespace kernelsketch
