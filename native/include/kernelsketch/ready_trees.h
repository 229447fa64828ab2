// Trees (trees.h) in the form that rows walk by, made once for many predictions.
#pragma once

#include <cstdint>
#include <vector>

#include "kernelsketch/trees.h"

namespace kernelsketch {

struct Forest {
  std::vector<TreeNode> nodes;
  std::vector<double> values;
  std::vector<int32_t> roots;
  std::vector<int64_t> columns;  // of a block: 2 feature, plus 1 for missing values on the left
};

class ReadyTrees {
 public:
  // Rows have d features. Throws std::invalid_argument as trees_decide does.
  ReadyTrees(const Trees& trees, int64_t d);
  // The same as trees_decide.
  void decide(const Isa& isa, const Features& x, double* out, int threads, Interrupted interrupted) const;
  int64_t outputs() const { return static_cast<int64_t>(baseline_.size()); }

 private:
  Forest forest_;
  std::vector<double> baseline_;
  int64_t d_;
};

}  // namespace kernelsketch
