#include "kernelsketch/trees.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "kernelsketch/dispatch.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

// The trees in the form that rows walk by.
struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<double> values;
  std::vector<int32_t> roots;
  std::vector<int64_t> columns;  // of a block: 2 feature, plus 1 for missing values on the left
};

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

// Copies the features in use of `count` rows, column after column.
void copy_block(const Features& x, const Forest& f, int64_t first, int64_t count, double* block) {
  constexpr double lowest = -std::numeric_limits<double>::infinity();
  if (x.d == 0) return std::fill(block, block + kTreeBlock, 0.0);
  for (const int64_t column : f.columns) {
    const double* from = x.data + first * x.row_stride + column / 2 * x.column_stride;
    for (int64_t i = 0; i < count; ++i) {
      const double value = from[i * x.row_stride];
      block[i] = column % 2 == 1 && value != value ? lowest : value;
    }
    std::fill(block + count, block + kTreeBlock, 0.0);
    block += kTreeBlock;
  }
}

}  // namespace

void trees_decide(const Isa& isa, const Features& x, const Trees& trees, double* out, int threads,
                  Interrupted interrupted) {
  require(x.d < (int64_t{1} << 30) / kTreeBlock, "features: too many");
  const Forest forest = forest_of(trees, x.d);
  const int64_t outputs = trees.outputs;
  parallel((x.n + kTreeBlock - 1) / kTreeBlock, threads, interrupted, [&](const auto& next) {
    const Buffer<double> block(static_cast<int64_t>(forest.columns.size()) * kTreeBlock);
    for (int64_t item; (item = next()) >= 0;) {
      const int64_t first = item * kTreeBlock, count = std::min(kTreeBlock, x.n - first);
      copy_block(x, forest, first, count, block.get());
      double* sums = out + first * outputs;
      for (int64_t i = 0; i < count; ++i) std::copy_n(trees.baseline, outputs, sums + i * outputs);
      for (int64_t tree = 0; tree < trees.trees; ++tree) {
        isa.trees.walk(forest.nodes.data(), forest.values.data(), forest.roots[tree], block.get(), count,
                       sums + tree % outputs, outputs);
      }
    }
  });
}

}  // namespace kernelsketch
