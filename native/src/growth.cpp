#include "kernelsketch/growth.h"

#include <algorithm>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <utility>

#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kHessian = (int64_t{1} << kCountShift) - 1;

GrowthSum operator+(GrowthSum a, GrowthSum b) { return {a.gradient + b.gradient, a.rest + b.rest}; }
GrowthSum operator-(GrowthSum a, GrowthSum b) { return {a.gradient - b.gradient, a.rest - b.rest}; }
int64_t count(GrowthSum sum) { return sum.rest >> kCountShift; }
double gradient(GrowthSum sum) { return static_cast<double>(sum.gradient); }
double hessian(GrowthSum sum) { return static_cast<double>(sum.rest & kHessian); }

double worth(GrowthSum sum, double ridge) {
  const double g = gradient(sum);
  return g * g / (hessian(sum) + ridge);
}

struct Split {
  double gain = 0;  // above 0 if there is one
  int32_t feature = 0, bin = 0;
  bool missing_left = false;
  GrowthSum left;
};

struct Leaf {
  int32_t node;
  int64_t begin, end;  // in the order of rows
  GrowthSum total;
  Split split;
  std::unique_ptr<GrowthSum[]> histogram;
};

}  // namespace

// Grows one tree.
class Grower {
 public:
  Grower(const GrowthRows& rows, const GrowthSettings& settings, const int32_t* gradients, const int32_t* hessians)
      : rows_(rows), settings_(settings), sums_(rows.rows_), order_(rows.rows_), spare_(rows.rows_) {
    for (int64_t i = 0; i < rows.rows_; ++i) sums_[i] = {gradients[i], (int64_t{1} << kCountShift) + hessians[i]};
    std::iota(order_.get(), order_.get() + rows.rows_, 0);
  }

  // Returns the number of nodes.
  int64_t grow(const GrownTree& tree, double* values) {
    int32_t size = 0;
    std::vector<Leaf> leaves;
    leaves.push_back(root(size++));
    while (static_cast<int64_t>(leaves.size()) < settings_.leaves) {
      auto best = leaves.begin();
      for (auto leaf = leaves.begin(); leaf != leaves.end(); ++leaf)
        if (leaf->split.gain > best->split.gain) best = leaf;
      if (!(best->split.gain > 0)) break;
      const int32_t node = best->node, left = size, right = size + 1;
      size += 2;
      tree.feature[node] = best->split.feature;
      tree.bin[node] = best->split.bin;
      tree.missing_left[node] = best->split.missing_left;
      tree.left[node] = left;
      tree.right[node] = right;
      tree.value[node] = 0;
      auto [first, second] = halves(*best, left, right);
      *best = std::move(first);
      leaves.push_back(std::move(second));
    }
    for (const Leaf& leaf : leaves) {
      const double below = hessian(leaf.total) + settings_.ridge;
      const double value = below > 0 ? -settings_.rate * gradient(leaf.total) / below : 0.0;
      tree.feature[leaf.node] = tree.bin[leaf.node] = 0;
      tree.missing_left[leaf.node] = 0;
      tree.left[leaf.node] = tree.right[leaf.node] = -1;
      tree.value[leaf.node] = value;
      for (int64_t i = leaf.begin; i < leaf.end; ++i) values[order_[i]] = value;
    }
    return size;
  }

 private:
  int64_t bins() const { return rows_.first_.back(); }

  Leaf root(int32_t node) {
    Leaf leaf{node, 0, rows_.rows_, {}, {}, {}};
    for (int64_t i = 0; i < rows_.rows_; ++i) leaf.total = leaf.total + sums_[i];
    if (splittable(leaf)) {
      leaf.histogram = histogram_of(leaf);
      find_split(leaf);
    }
    return leaf;
  }

  bool splittable(const Leaf& leaf) const {
    return settings_.leaves > 1 && count(leaf.total) >= 2 * settings_.leaf_rows;
  }

  // The children of a leaf, whose histogram becomes that of the larger child.
  std::pair<Leaf, Leaf> halves(Leaf& parent, int32_t left_node, int32_t right_node) {
    const int64_t middle = partition(parent);
    Leaf left{left_node, parent.begin, middle, parent.split.left, {}, {}};
    Leaf right{right_node, middle, parent.end, parent.total - parent.split.left, {}, {}};
    const bool left_is_smaller = left.end - left.begin <= right.end - right.begin;
    Leaf& small = left_is_smaller ? left : right;
    Leaf& large = left_is_smaller ? right : left;
    if (splittable(large)) {
      small.histogram = histogram_of(small);
      large.histogram = std::move(parent.histogram);
      for (int64_t b = 0; b < bins(); ++b) large.histogram[b] = large.histogram[b] - small.histogram[b];
      find_split(large);
      if (splittable(small)) find_split(small);
    }
    for (Leaf* leaf : {&left, &right})
      if (!(leaf->split.gain > 0) && leaf->histogram) free_.push_back(std::move(leaf->histogram));
    if (parent.histogram) free_.push_back(std::move(parent.histogram));
    return {std::move(left), std::move(right)};
  }

  // Moves the rows that go left before the others, both in their order, and returns where the others begin.
  int64_t partition(const Leaf& leaf) {
    const Split& split = leaf.split;
    const uint8_t* bins = rows_.binned_ + split.feature * rows_.rows_;
    const auto f = static_cast<std::size_t>(split.feature);
    const int32_t missing = rows_.first_[f + 1] - rows_.first_[f] - 1;
    int64_t left = leaf.begin, right = 0;
    for (int64_t i = leaf.begin; i < leaf.end; ++i) {
      const int32_t row = order_[i], bin = bins[row];
      const bool goes_left = bin == missing ? split.missing_left : bin <= split.bin;
      order_[left] = spare_[right] = row;
      left += goes_left;
      right += !goes_left;
    }
    std::copy_n(spare_.get(), right, order_.get() + left);
    return left;
  }

  std::unique_ptr<GrowthSum[]> histogram_of(const Leaf& leaf) {
    std::unique_ptr<GrowthSum[]> histogram;
    if (free_.empty()) {
      histogram.reset(new GrowthSum[bins()]);
    } else {
      histogram = std::move(free_.back());
      free_.pop_back();
      std::fill_n(histogram.get(), bins(), GrowthSum{});
    }
    GrowthSum* sums = histogram.get();
    const int32_t* entries = rows_.entries_.data();
    for (int64_t i = leaf.begin; i < leaf.end; ++i) {
      const int32_t row = order_[i];
      const GrowthSum own = sums_[row];
      const int64_t end = rows_.starts_[row + 1];
      for (int64_t e = rows_.starts_[row]; e < end; ++e) sums[entries[e]] = sums[entries[e]] + own;
    }
    for (std::size_t f = 0; f + 1 < rows_.first_.size(); ++f) {
      GrowthSum others;
      for (int32_t b = rows_.first_[f]; b < rows_.first_[f + 1]; ++b) others = others + sums[b];
      sums[rows_.frequent_[f]] = leaf.total - others;
    }
    return histogram;
  }

  void find_split(Leaf& leaf) const {
    const double before = worth(leaf.total, settings_.ridge);
    const int64_t rows = count(leaf.total);
    Split& best = leaf.split;
    const auto consider = [&](GrowthSum left, std::size_t f, int32_t bin, bool missing_left, bool has_missing) {
      const GrowthSum right = leaf.total - left;
      if (count(left) < settings_.leaf_rows || count(right) < settings_.leaf_rows) return;
      if (!(hessian(left) + settings_.ridge > 0) || !(hessian(right) + settings_.ridge > 0)) return;
      const double gain = worth(left, settings_.ridge) + worth(right, settings_.ridge) - before;
      if (!(gain > best.gain)) return;
      // Without missing values here, later ones go where most rows go.
      best = {gain, static_cast<int32_t>(f), bin, has_missing ? missing_left : count(left) > count(right), left};
    };
    for (std::size_t f = 0; f + 1 < rows_.first_.size(); ++f) {
      const GrowthSum* sums = leaf.histogram.get() + rows_.first_[f];
      const int32_t last = rows_.first_[f + 1] - rows_.first_[f] - 1;  // the bin of missing values
      const GrowthSum missing = sums[last];
      const bool has_missing = count(missing) > 0;
      GrowthSum left;
      for (int32_t b = 0; b < last; ++b) {
        if (count(sums[b]) == 0) continue;
        left = left + sums[b];
        if (rows - count(left) < settings_.leaf_rows) break;
        consider(left, f, b, false, has_missing);
        if (has_missing) consider(left + missing, f, b, true, true);
      }
    }
  }

  const GrowthRows& rows_;
  const GrowthSettings& settings_;
  Buffer<GrowthSum> sums_;  // of each row
  Buffer<int32_t> order_, spare_;
  std::vector<std::unique_ptr<GrowthSum[]>> free_;
};

GrowthRows::GrowthRows(const uint8_t* binned, int64_t features, int64_t rows, const int32_t* bins)
    : binned_(binned), features_(features), rows_(rows) {
  if (rows >= int64_t{1} << 23) throw std::invalid_argument("rows: too many");
  first_.assign(1, 0);
  std::vector<int64_t> counts;
  for (int64_t f = 0; f < features; ++f) {
    if (bins[f] < 1 || bins[f] > 255) throw std::invalid_argument("bins: from 1 to 255");
    if (first_.back() > (int32_t{1} << 30)) throw std::invalid_argument("features: too many");
    counts.assign(256, 0);
    for (int64_t i = 0; i < rows; ++i) ++counts[binned[f * rows + i]];
    for (int b = bins[f] + 1; b < 256; ++b)
      if (counts[b]) throw std::invalid_argument("binned: a bin does not exist");
    const auto most = std::max_element(counts.begin(), counts.begin() + bins[f] + 1) - counts.begin();
    frequent_.push_back(first_.back() + static_cast<int32_t>(most));
    first_.push_back(first_.back() + bins[f] + 1);
  }
  starts_.assign(rows + 1, 0);
  constexpr int64_t kBlock = 256;  // rows, whose parts of all columns are read one after the other
  std::vector<int64_t> ends(kBlock);
  for (int64_t begin = 0; begin < rows; begin += kBlock) {
    const int64_t end = std::min(rows, begin + kBlock);
    const auto each_entry = [&](const auto& call) {
      for (int64_t f = 0; f < features; ++f)
        for (int64_t i = begin; i < end; ++i) {
          const int32_t bin = first_[f] + binned[f * rows + i];
          if (bin != frequent_[f]) call(i, bin);
        }
    };
    each_entry([&](int64_t i, int32_t) { ++starts_[i + 1]; });
    for (int64_t i = begin; i < end; ++i) {
      ends[i - begin] = starts_[i];
      starts_[i + 1] += starts_[i];
    }
    entries_.resize(starts_[end]);
    each_entry([&](int64_t i, int32_t bin) { entries_[ends[i - begin]++] = bin; });
  }
}

void GrowthRows::grow(const int32_t* gradients, const int32_t* hessians, int64_t outputs,
                      const GrowthSettings& settings, const GrownTree* trees, int64_t* sizes, double* values,
                      int threads, Interrupted interrupted) const {
  each_item(outputs, threads, interrupted, [&](int64_t o) {
    sizes[o] = Grower(*this, settings, gradients + o * rows_, hessians + o * rows_).grow(trees[o], values + o * rows_);
  });
}

}  // namespace kernelsketch
