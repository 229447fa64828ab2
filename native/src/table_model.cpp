#include "kernelsketch/table_model.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "core/tables.h"
#include "kernelsketch/dispatch.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kRowsTogether = 1024;  // whose features are held at a time
constexpr int64_t kRowsOfAThread = 16;

// sums[k] = sum over j of (standard[j] - mean[j]) directions[j][k]
template <class Standard>
void turn(const Standard& standard, const double* mean, const double* directions, int64_t d, int64_t count,
          double* sums) {
  std::fill_n(sums, count, 0.0);
  for (int64_t j = 0; j < d; ++j) {
    const double centered = static_cast<double>(standard(j)) - mean[j];
    const double* direction = directions + j * count;
    for (int64_t k = 0; k < count; ++k) sums[k] += centered * direction[k];
  }
}

}  // namespace

void components(const Strided<float>& standard, const double* mean, const double* directions, int64_t count, float* out,
                int threads, Interrupted interrupted) {
  in_parts(standard.n, kRowsOfAThread, threads, interrupted, [&](int64_t first, int64_t last) {
    std::vector<double> sums(count);
    for (int64_t i = first; i < last; ++i) {
      turn([&](int64_t j) { return standard(i, j); }, mean, directions, standard.d, count, sums.data());
      for (int64_t k = 0; k < count; ++k) out[i * count + k] = static_cast<float>(sums[k]);
    }
  });
}

void shares(const double* logits, int64_t n, int problems, double* out) {
  const int classes = problems == 1 ? 2 : problems;
  for (int64_t i = 0; i < n; ++i) ks_shares(logits + i * problems, problems, out + i * classes);
}

TableModel::TableModel(const Isa& isa, TableParts parts, Decide decide, std::optional<ReadyTrees> trees)
    : isa_(isa), parts_(std::move(parts)), decide_(std::move(decide)), trees_(std::move(trees)) {
  for (const FeatureSource& feature : parts_.features) numbers_ = std::max(numbers_, feature.number + 1);
}

// The weighted columns of all views. `base` holds the standardized features, the components and the quantiles.
void TableModel::row_columns(const double* features, double* sums, float* base, float* out) const {
  const auto d = static_cast<int64_t>(parts_.features.size()), m = static_cast<int64_t>(parts_.levels.size());
  const int64_t count = parts_.components;
  float* quantiles = base + d + count;
  for (int64_t f = 0; f < d; ++f) {
    const int64_t s = parts_.features[f].scale;
    if (s < 0) {
      base[f] = quantiles[f] = ks_flag(features[f]);
      continue;
    }
    const Scale& scale = parts_.scales[s];
    const double x = ks_in_range(features[f], scale.unit, scale.low, scale.high);
    base[f] = ks_standardized(x, scale.mean, scale.spread);
    if (parts_.has_quantiles) {
      const double* table = parts_.quantiles.data() + s * m;
      quantiles[f] =
          static_cast<float>(ks_quantile_level(x, ks_entries_up_to(x, table, m), table, m, parts_.levels.data()));
    }
  }
  if (count > 0) {
    turn([&](int64_t j) { return base[j]; }, parts_.mean.data(), parts_.directions.data(), d, count, sums);
    for (int64_t k = 0; k < count; ++k) base[d + k] = static_cast<float>(sums[k]);
  }
  for (const ViewColumn& column : parts_.columns) *out++ = base[column.source] * column.weight;
}

// Logits or a predicted number from decision values, and from the sums of the trees if there are any.
void TableModel::finish(const double* decided, const double* trees, double* scratch, double* out) const {
  const int64_t problems = parts_.problems;
  if (parts_.intercepts.empty()) {
    const double number = parts_.center + parts_.spread * decided[0];
    out[0] = trees ? (1 - parts_.share) * number + parts_.share * trees[0] : number;
    return;
  }
  double* logits = scratch;
  if (static_cast<int64_t>(parts_.slopes.size()) == problems) {
    for (int64_t p = 0; p < problems; ++p) logits[p] = decided[p] * parts_.slopes[p] + parts_.intercepts[p];
  } else {
    for (int64_t p = 0; p < problems; ++p) {
      logits[p] = parts_.intercepts[p];
      for (int64_t q = 0; q < problems; ++q) logits[p] += decided[q] * parts_.slopes[q * problems + p];
    }
  }
  if (trees) {
    const int64_t classes = std::max<int64_t>(2, problems);
    ks_blended(logits, trees, static_cast<int>(problems), parts_.share, parts_.temperature, scratch + problems,
               scratch + problems + classes, out);
  } else {
    for (int64_t p = 0; p < problems; ++p) out[p] = logits[p] / parts_.temperature;
  }
}

bool TableModel::values(const Strided<double>& numbers, const Strided<int32_t>& positions, double* out, int threads,
                        Interrupted interrupted) const {
  const auto d = static_cast<int64_t>(parts_.features.size()), width = static_cast<int64_t>(parts_.columns.size());
  const int64_t problems = parts_.problems, most = std::min(numbers.n, kRowsTogether);
  std::vector<double> features(most * d), decided(most * problems), raw(trees_ ? most * problems : 0),
      scratch(3 * problems + 4);
  std::vector<float> columns(most * width);
  for (int64_t first = 0; first < numbers.n; first += most) {
    const int64_t n = std::min(most, numbers.n - first);
    const bool finished = in_parts(n, kRowsOfAThread, threads, interrupted, [&](int64_t from, int64_t to) {
      std::vector<double> sums(parts_.components);
      std::vector<float> base(2 * d + parts_.components);
      for (int64_t i = from; i < to; ++i) {
        double* row = features.data() + i * d;
        for (int64_t f = 0; f < d; ++f) {
          const int64_t number = parts_.features[f].number;
          row[f] = number < 0 ? 0 : numbers(first + i, number);
        }
        for (int64_t c = 0; c < n_flagged(); ++c) {
          const int32_t position = positions(first + i, c);
          if (position >= 0) row[parts_.starts[c] + position] = 1;
        }
        row_columns(row, sums.data(), base.data(), columns.data() + i * width);
      }
    });
    if (!finished || !decide_(columns.data(), n, width, decided.data(), threads)) return false;
    if (trees_) trees_->decide(isa_, Features{features.data(), n, d, d, 1}, raw.data(), threads, interrupted);
    for (int64_t i = 0; i < n; ++i)
      finish(decided.data() + i * problems, trees_ ? raw.data() + i * problems : nullptr, scratch.data(),
             out + (first + i) * problems);
  }
  return true;
}

}  // namespace kernelsketch
