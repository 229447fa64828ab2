#include "kernelsketch/ready_trees.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "kernelsketch/dispatch.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kFewRows = 4;   // up to which one row after the other walks down
constexpr int64_t kTogether = 8;  // trees that a single row walks down at a time

void require(bool condition, const char* what) {
  if (!condition) throw std::invalid_argument(what);
}

Forest forest_of(const Trees& t, int64_t d) {
  Forest f;
  f.columns.push_back(1);                     // which leaves read
  std::vector<int32_t> numbers((2 * d), -1);  // of columns
  std::vector<int32_t> origin;                // of the nodes of the forest
  for (int64_t tree = 0; tree < t.trees; ++tree) {
    require(t.roots[tree] >= 0 && t.roots[tree] < t.nodes, "roots: out of range");
    const std::size_t first = origin.size();
    f.roots.push_back(static_cast<int32_t>(first));
    origin.push_back(t.roots[tree]);
    for (std::size_t i = first; i < origin.size(); ++i) {
      const int32_t at = origin[i], left = t.left[at], right = t.right[at];
      if (left < 0 && right < 0) {
        f.nodes.push_back({std::numeric_limits<double>::infinity(), 0, static_cast<int32_t>(i)});
        f.values.push_back(t.value[at]);
        continue;
      }
      require(left > at && left < t.nodes && right > at && right < t.nodes, "left, right: out of range");
      require(origin.size() + 2 - first <= static_cast<std::size_t>(t.nodes), "left, right: a node has two parents");
      require(t.feature[at] >= 0 && t.feature[at] < d, "feature: out of range");
      require(t.threshold[at] == t.threshold[at], "threshold: NaN");
      const int64_t column = 2 * int64_t{t.feature[at]} + (t.missing_left[at] != 0);
      int32_t& number = numbers[column];
      if (number < 0) {
        number = static_cast<int32_t>(f.columns.size());
        f.columns.push_back(column);
      }
      const auto begin = static_cast<int32_t>(number * kTreeBlock), next = static_cast<int32_t>(origin.size());
      f.nodes.push_back({t.threshold[at], begin, next});
      f.values.push_back(0);
      origin.push_back(left);
      origin.push_back(right);
    }
  }
  return f;
}

double of_column(const double* from, int64_t column) {
  const double value = *from;
  return column % 2 == 1 && value != value ? -std::numeric_limits<double>::infinity() : value;
}

// Copies the features in use of `count` rows, column after column.
void copy_block(const Features& x, const Forest& f, int64_t first, int64_t count, double* block) {
  if (x.d == 0) return std::fill(block, block + kTreeBlock, 0.0);
  for (const int64_t column : f.columns) {
    const double* from = x.data + first * x.row_stride + column / 2 * x.column_stride;
    for (int64_t i = 0; i < count; ++i) block[i] = of_column(from + i * x.row_stride, column);
    std::fill(block + count, block + kTreeBlock, 0.0);
    block += kTreeBlock;
  }
}

// Adds the values of all trees to the sums of a row.
void walk_row(const Forest& f, const double* row, int64_t outputs, double* sums) {
  const auto trees = static_cast<int64_t>(f.roots.size());
  for (int64_t first = 0; first < trees; first += kTogether) {
    const int64_t count = std::min(kTogether, trees - first);
    int32_t at[kTogether];
    for (int64_t i = 0; i < kTogether; ++i) at[i] = f.roots[first + (i < count ? i : 0)];
    for (int32_t moved = 1; moved != 0;) {
      moved = 0;
      for (int64_t i = 0; i < kTogether; ++i) {
        const TreeNode& node = f.nodes[at[i]];
        const int32_t next = node.left + !(row[static_cast<uint32_t>(node.column) / kTreeBlock] <= node.threshold);
        moved |= next ^ at[i];
        at[i] = next;
      }
    }
    for (int64_t i = 0; i < count; ++i) sums[(first + i) % outputs] += f.values[at[i]];
  }
}

}  // namespace

ReadyTrees::ReadyTrees(const Trees& trees, int64_t d)
    : forest_(forest_of(trees, d)), baseline_(trees.baseline, trees.baseline + trees.outputs), d_(d) {
  require(d < (int64_t{1} << 30) / kTreeBlock, "features: too many");
}

void ReadyTrees::decide(const Isa& isa, const Features& x, double* out, int threads, Interrupted interrupted) const {
  require(x.d == d_, "features: wrong number");
  const int64_t outputs = this->outputs(), trees = static_cast<int64_t>(forest_.roots.size());
  if (x.n <= kFewRows) {
    std::vector<double> row(forest_.columns.size());
    for (int64_t i = 0; i < x.n; ++i) {
      for (std::size_t c = 0; c < row.size() && x.d > 0; ++c)
        row[c] = of_column(x.data + i * x.row_stride + forest_.columns[c] / 2 * x.column_stride, forest_.columns[c]);
      std::copy(baseline_.begin(), baseline_.end(), out + i * outputs);
      walk_row(forest_, row.data(), outputs, out + i * outputs);
    }
    return;
  }
  parallel((x.n + kTreeBlock - 1) / kTreeBlock, threads, interrupted, [&](const auto& next) {
    const Buffer<double> block(static_cast<int64_t>(forest_.columns.size()) * kTreeBlock);
    for (int64_t item; (item = next()) >= 0;) {
      const int64_t first = item * kTreeBlock, count = std::min(kTreeBlock, x.n - first);
      copy_block(x, forest_, first, count, block.get());
      double* sums = out + first * outputs;
      for (int64_t i = 0; i < count; ++i) std::copy(baseline_.begin(), baseline_.end(), sums + i * outputs);
      for (int64_t tree = 0; tree < trees; ++tree) {
        isa.trees.walk(forest_.nodes.data(), forest_.values.data(), forest_.roots[tree], block.get(), count,
                       sums + tree % outputs, outputs);
      }
    }
  });
}

void trees_decide(const Isa& isa, const Features& x, const Trees& trees, double* out, int threads,
                  Interrupted interrupted) {
  ReadyTrees(trees, x.d).decide(isa, x, out, threads, interrupted);
}

}  // namespace kernelsketch
