// Models of tables that are ready to predict: from the features of rows to decision values in one call.
//
// A row has numbers, NaN where one is missing, and for each column with flags the position of the flag that is 1. Its
// features become the columns of views, whose weights a hash sees; the linear model (predictor.h) gives decision values,
// which a calibration turns into logits; and these are blended with boosted trees. core/tables.h has the formulas.
//
// The component k of a row of standardized features s is the sum of (s_j - mean_j) directions[j][k] over ascending j, in
// double and then rounded to float. It does not depend on other rows, as a product by BLAS would.
//
// Reference: reference/tables.py, and Views.transform of tabular/_views.py.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "kernelsketch/interrupt.h"
#include "kernelsketch/ready_trees.h"

namespace kernelsketch {

// A matrix of numbers in any order.
template <class T>
struct Strided {
  const T* data;
  int64_t n, d;
  int64_t row_stride, column_stride;
  T operator()(int64_t i, int64_t j) const { return data[i * row_stride + j * column_stride]; }
};

// out[i][k] = component k of row i of the standardized features.
void components(const Strided<float>& standard, const double* mean, const double* directions, int64_t count, float* out,
                int threads, Interrupted interrupted);

// Probabilities of logits (n, problems).
void shares(const double* logits, int64_t n, int problems, double* out);

// Where a feature comes from: a number, scaled or taken as a flag, or the flags of a column.
struct FeatureSource {
  int64_t number;  // in the numbers of a row, or -1
  int64_t scale;   // in the scales, or -1
};
struct Scale {
  double unit, low, high, mean, spread;
};

// What the hash sees, column by column: source is an index of [standard | components | quantiles] of a row.
struct ViewColumn {
  int32_t source;
  float weight;
};

struct TableParts {
  std::vector<FeatureSource> features;
  std::vector<int64_t> starts;  // the first flag of each column that has flags
  std::vector<Scale> scales;
  std::vector<double> quantiles, levels;  // [scale][level], and the levels
  std::vector<double> mean, directions;   // of components: [feature], [feature][component]
  int64_t components;
  bool has_quantiles;  // whether a view needs them
  std::vector<ViewColumn> columns;
  int64_t problems;
  std::vector<double> slopes, intercepts;  // of the calibration: [row][problem]; none for numbers
  double center, spread;                   // of predicted numbers
  double share, temperature;               // of the trees in the blend; that divides logits
};

class TableModel {
 public:
  // Decision values of columns (n, width), as a Predictor computes them; false if a value is not finite.
  using Decide = std::function<bool(const float* columns, int64_t n, int64_t width, double* out, int threads)>;

  TableModel(const Isa& isa, TableParts parts, Decide decide, std::optional<ReadyTrees> trees);
  // out[i][problem]: logits, or predicted numbers. Positions are -1 where no flag is 1.
  bool values(const Strided<double>& numbers, const Strided<int32_t>& positions, double* out, int threads,
              Interrupted interrupted) const;
  int64_t n_numbers() const { return numbers_; }
  int64_t n_flagged() const { return static_cast<int64_t>(parts_.starts.size()); }
  int64_t problems() const { return parts_.problems; }

 private:
  void row_columns(const double* features, double* scratch, float* base, float* out) const;
  void finish(const double* decided, const double* trees, double* scratch, double* out) const;

  const Isa& isa_;
  TableParts parts_;
  Decide decide_;
  std::optional<ReadyTrees> trees_;
  int64_t numbers_ = 0;
};

}  // namespace kernelsketch
