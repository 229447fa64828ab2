#include "kernelsketch/tree_shapley.h"

#include <algorithm>
#include <bit>
#include <stdexcept>
#include <vector>

#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kBits = 64;  // of a word of a set

void require(bool condition, const char* what) {
  if (!condition) throw std::invalid_argument(what);
}

bool goes_left(const Trees& t, int64_t node, double x) {
  return static_cast<int>(x <= t.threshold[node]) | (static_cast<int>(x != x) & (t.missing_left[node] != 0));
}

double at(const Features& x, int64_t row, int64_t feature) {
  return x.data[row * x.row_stride + feature * x.column_stride];
}

// The largest number of splits on a path.
int32_t checked_depth(const Trees& t, int64_t features) {
  std::vector<int32_t> depth(t.nodes, 0);
  int32_t deepest = 0;
  for (int64_t i = 0; i < t.nodes; ++i) {
    const int32_t left = t.left[i], right = t.right[i];
    if (left < 0 && right < 0) continue;
    require(left > i && left < t.nodes && right > i && right < t.nodes, "left, right: out of range");
    require(left != right && depth[left] == 0 && depth[right] == 0, "left, right: a node has two parents");
    require(t.feature[i] >= 0 && t.feature[i] < features, "feature: out of range");
    depth[left] = depth[right] = depth[i] + 1;
    deepest = std::max(deepest, depth[left]);
    require(deepest <= kDeepestTree, "trees: too deep");
  }
  for (int64_t tree = 0; tree < t.trees; ++tree)
    require(t.roots[tree] >= 0 && t.roots[tree] < t.nodes, "roots: out of range");
  return deepest;
}

// What all rows share.
struct Plan {
  Plan(const Features& background, const Trees& trees, const int32_t* owner, int64_t n_columns)
      : t(trees), owners(owner), columns(n_columns), words((background.n + kBits - 1) / kBits),
        depth(checked_depth(trees, background.d)), most(std::min<int64_t>(depth, columns)),
        left(trees.nodes * words, 0), all(words, 0), weight((most + 1) * (most + 1), 0.0) {
    std::vector<double> values(background.n * background.d);  // column after column
    for (int64_t z = 0; z < background.n; ++z) {
      all[z / kBits] |= uint64_t{1} << (z % kBits);
      for (int64_t f = 0; f < background.d; ++f) values[f * background.n + z] = at(background, z, f);
    }
    for (int64_t i = 0; i < t.nodes; ++i) {
      if (t.left[i] < 0) continue;
      const double* const of_feature = values.data() + t.feature[i] * background.n;
      for (int64_t z = 0; z < background.n; ++z)
        left[i * words + z / kBits] |= uint64_t{goes_left(t, i, of_feature[z])} << (z % kBits);
    }
    for (int64_t a = 1; a <= most; ++a) {
      double* const of_a = weight.data() + a * (most + 1);
      of_a[0] = 1 / static_cast<double>(a);
      for (int64_t b = 1; b <= most; ++b) of_a[b] = of_a[b - 1] * static_cast<double>(b) / static_cast<double>(a + b);
    }
  }
  double w(int64_t a, int64_t b) const { return weight[a * (most + 1) + b]; }

  const Trees& t;
  const int32_t* owners;
  int64_t columns, words;
  int32_t depth;
  int64_t most;                // columns on a path
  std::vector<uint64_t> left;  // per node, the background rows that go left
  std::vector<uint64_t> all;
  std::vector<double> weight;
};

// The path from a root to a node, and the sums of a row.
class Walk {
 public:
  explicit Walk(const Plan& plan)
      : p_(plan), words_(plan.words), place_(plan.columns, -1), column_(plan.most + 1), mine_(plan.most + 1),
        passed_((plan.most + 1) * words_), reached_((plan.depth + 2) * words_), before_((plan.depth + 2) * words_),
        by_size_((plan.most + 2) * words_) {}

  void row(const Features& x, int64_t i, double* out) {
    x_ = &x;
    i_ = i;
    for (int64_t tree = 0; tree < p_.t.trees; ++tree) {
      std::copy(p_.all.begin(), p_.all.end(), reached_.begin());
      out_ = out + tree % p_.t.outputs;
      down(p_.t.roots[tree], 0, 0);
    }
  }

 private:
  // Goes on below a node, with `depth` splits of `n` columns above it.
  void down(int32_t node, int64_t depth, int64_t n) {
    const Trees& t = p_.t;
    if (t.left[node] < 0) return add(t.value[node], depth, n);
    const int32_t column = p_.owners[t.feature[node]];
    const bool x_left = goes_left(t, node, at(*x_, i_, t.feature[node]));
    const bool is_new = place_[column] < 0;
    const int64_t e = is_new ? n : place_[column];
    uint64_t *const passed = passed_.data() + e * words_, *const before = before_.data() + depth * words_;
    const uint64_t *const left = p_.left.data() + node * words_, *const here = reached_.data() + depth * words_;
    uint64_t* const below = reached_.data() + (depth + 1) * words_;
    if (is_new) {
      place_[column] = static_cast<int32_t>(e);
      column_[e] = column;
      mine_[e] = 1;
      std::copy(p_.all.begin(), p_.all.end(), passed);
    }
    const uint8_t mine = mine_[e];
    std::copy(passed, passed + words_, before);
    for (const bool to_left : {true, false}) {
      mine_[e] = mine != 0 && to_left == x_left;
      uint64_t any = 0;
      for (int64_t k = 0; k < words_; ++k) {
        passed[k] = before[k] & (to_left ? left[k] : ~left[k]);
        below[k] = mine_[e] ? here[k] : here[k] & passed[k];
        any |= below[k];
      }
      if (any) down(to_left ? t.left[node] : t.right[node], depth + 1, n + is_new);
    }
    mine_[e] = mine;
    std::copy(before, before + words_, passed);
    if (is_new) place_[column] = -1;
  }

  // Adds a leaf. by_size_[a] are the background rows that reach it with |A| = a.
  void add(double value, int64_t depth, int64_t n) {
    const uint64_t* const reached = reached_.data() + depth * words_;
    std::copy(reached, reached + words_, by_size_.begin());
    int64_t most = 0, b = 0;
    for (int64_t e = 0; e < n; ++e) {
      const uint64_t* const passed = passed_.data() + e * words_;
      if (!mine_[e]) {
        ++b;
        continue;
      }
      uint64_t any = 0;
      for (int64_t k = 0; k < words_; ++k) any |= reached[k] & ~passed[k];
      if (!any) continue;
      uint64_t* const sets = by_size_.data();
      ++most;
      for (int64_t k = 0; k < words_; ++k) {
        sets[most * words_ + k] = sets[(most - 1) * words_ + k] & ~passed[k];
        for (int64_t a = most - 1; a > 0; --a)
          sets[a * words_ + k] = (sets[a * words_ + k] & passed[k]) | (sets[(a - 1) * words_ + k] & ~passed[k]);
        sets[k] &= passed[k];
      }
    }
    if (b > 0) {
      double total = 0;
      for (int64_t a = 0; a <= most; ++a) total += count(a, nullptr) * p_.w(b, a);
      for (int64_t e = 0; e < n; ++e)
        if (!mine_[e]) out_[column_[e] * p_.t.outputs] -= value * total;
    }
    if (most == 0) return;
    for (int64_t e = 0; e < n; ++e) {
      if (!mine_[e]) continue;
      double total = 0;
      for (int64_t a = 1; a <= most; ++a) total += count(a, passed_.data() + e * words_) * p_.w(a, b);
      out_[column_[e] * p_.t.outputs] += value * total;
    }
  }

  // How many rows of by_size_[a] are not in a set.
  double count(int64_t a, const uint64_t* without) const {
    int64_t found = 0;
    for (int64_t k = 0; k < words_; ++k) found += std::popcount(by_size_[a * words_ + k] & ~(without ? without[k] : 0));
    return static_cast<double>(found);
  }

  const Plan& p_;
  int64_t words_;
  const Features* x_ = nullptr;
  int64_t i_ = 0;
  double* out_ = nullptr;
  std::vector<int32_t> place_;     // of a column on the path, or -1
  std::vector<int32_t> column_;    // per place
  std::vector<uint8_t> mine_;      // per place, whether the row passes
  std::vector<uint64_t> passed_;   // per place, the background rows that pass
  std::vector<uint64_t> reached_;  // per depth, the background rows of which a mixture gets there
  std::vector<uint64_t> before_;   // per depth, what passed_ was
  std::vector<uint64_t> by_size_;
};

}  // namespace

void tree_shapley(const Features& x, const Features& background, const Trees& trees, const int32_t* owners,
                  int64_t columns, double* out, int threads, Interrupted interrupted) {
  require(x.d == background.d, "features: wrong number");
  require(background.n > 0, "background: no rows");
  const Plan plan(background, trees, owners, columns);
  const int64_t size = columns * trees.outputs;
  parallel(x.n, threads, interrupted, [&](const auto& next) {
    Walk walk(plan);
    for (int64_t i; (i = next()) >= 0;) {
      std::fill(out + i * size, out + (i + 1) * size, 0.0);
      walk.row(x, i, out + i * size);
      for (int64_t k = 0; k < size; ++k) out[i * size + k] /= static_cast<double>(background.n);
    }
  });
}

}  // namespace kernelsketch
