// The functions of a model of tables in C. _c_header.py writes core/tables.h and the arrays of the model before it, and
// gives all names the name of the model instead of ks_. The functions ks_hash_* are those of the hash and the linear
// model. An array ks_x has ks_n_x numbers, none if the model does not need it.

// By the bits, because -ffast-math lets compilers assume that all values are finite.
static inline int ks_special(double x) { return ((ks_bits64(x) >> 52) & 0x7FF) == 0x7FF; }
static inline int ks_infinite(double x) { return ks_special(x) && (ks_bits64(x) << 12) == 0; }

// The row of a category in the table of its column: binary search among the known names, of which the first row is that
// of a gap and the last one that of all other names.
static inline int ks_known(const ks_column* column, const char* name) {
  int low = 0, high = column->names;
  if (name == NULL || name[0] == 0) return 0;
  while (low < high) {
    const int middle = (low + high) / 2, order = strcmp(ks_names[column->first_name + middle], name);
    if (order == 0) return middle + 1;
    if (order < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return column->names + 1;
}

// The features of a row; -1 if a number is infinite.
static inline int ks_features(const ks_row* row, double* features) {
  double numbers[ks_numbers + 1];
  for (int i = 0; i < ks_numbers; ++i) numbers[i] = NAN;
  for (int f = 0; f < ks_n_features; ++f) features[f] = 0;
  for (const ks_column* column = ks_columns; column < ks_columns + ks_used_columns; ++column) {
    const char* at = (const char*)row + column->offset;
    const int* targets = ks_targets + column->first_target;
    if (column->kind == 3) {
      const int known = ks_known(column, *(const char* const*)(const void*)at);
      const int position = ks_positions[column->first_row + known];
      for (int i = 0; i < column->targets; ++i)
        numbers[targets[i]] = ks_known_numbers[column->first_number + known * column->targets + i];
      if (column->start >= 0 && position >= 0) features[column->start + position] = 1;
      continue;
    }
    const double x = *(const double*)(const void*)at;
    if (ks_infinite(x) && !ks_infinity_is_missing) return -1;
    if (ks_special(x)) {
      if (column->start >= 0 && column->missing >= 0) features[column->start + column->missing] = 1;
      continue;
    }
    for (int i = 0; i < column->targets; ++i)
      numbers[targets[i]] =
          column->kind == 1 ? x : ks_date_part((ks_i64)ks_rint(x * 1e6), ks_parts[column->first_target + i]);
  }
  for (int f = 0; f < ks_n_features; ++f)
    if (ks_feature_number[f] >= 0) features[f] = numbers[ks_feature_number[f]];
  return 0;
}

static inline void ks_view_columns(const double* features, double* columns) {
  enum { all = 2 * ks_n_features + ks_components };
  float base[all];
  double sums[ks_components + 1];
  float* quantiles = base + ks_n_features + ks_components;
  for (int f = 0; f < ks_n_features; ++f) {
    const int s = ks_feature_scale[f];
    if (s < 0) {
      base[f] = quantiles[f] = ks_special(features[f]) ? 0 : ks_flag(features[f]);
    } else if (ks_special(features[f])) {
      base[f] = quantiles[f] = 0;
    } else {
      const double* scale = ks_scales + 5 * s;
      const double x = ks_in_range(features[f], scale[0], scale[1], scale[2]);
      const double* table = ks_quantiles + s * ks_n_levels;
      base[f] = ks_standardized(x, scale[3], scale[4]);
      quantiles[f] =
          (float)ks_quantile_level(x, ks_entries_up_to(x, table, ks_n_levels), table, ks_n_levels, ks_levels);
    }
  }
  for (int k = 0; k < ks_components; ++k) sums[k] = 0;
  for (int f = 0; f < ks_n_features; ++f)
    for (int k = 0; k < ks_components; ++k)
      sums[k] += ((double)base[f] - ks_component_mean[f]) * ks_directions[f * ks_components + k];
  for (int k = 0; k < ks_components; ++k) base[ks_n_features + k] = (float)sums[k];
  for (int c = 0; c < ks_n_sources; ++c) columns[c] = (double)(base[ks_sources[c]] * ks_view_weights[c]);
}

static inline void ks_sum_trees(const double* features, double* sums) {
  for (int o = 0; o < ks_n_baseline; ++o) sums[o] = ks_baseline[o];
  for (int tree = 0; tree < ks_n_roots; ++tree) {
    int node = ks_roots[tree];
    while (ks_left[node] >= 0) {
      const double x = features[ks_split_feature[node]];
      const int left = ks_special(x) ? ks_missing_left[node] : x <= ks_thresholds[node];
      node = left ? ks_left[node] : ks_right[node];
    }
    sums[tree % ks_n_baseline] += ks_leaves[node];
  }
}

static inline int ks_values(const ks_row* row, double* values) {
  double features[ks_n_features], columns[ks_n_sources], logits[ks_problems], trees[ks_problems];
  double shares[ks_problems + 1], others[ks_problems + 1];
  if (ks_features(row, features) < 0) {
    for (int p = 0; p < ks_problems; ++p) values[p] = NAN;
    return -1;
  }
  ks_view_columns(features, columns);
  ks_hash_decision(columns, logits);
  if (ks_n_roots > 0) ks_sum_trees(features, trees);
  if (ks_n_classes == 0) {
    values[0] = ks_hash_mean + ks_hash_deviation * logits[0];
    if (ks_n_roots > 0) values[0] = (1 - ks_share) * values[0] + ks_share * trees[0];
    values[0] = ldexp(values[0], ks_exponent);
  } else if (ks_n_roots > 0) {
    ks_blended(logits, trees, ks_problems, ks_share, ks_temperature, shares, others, values);
  } else {
    for (int p = 0; p < ks_problems; ++p) values[p] = logits[p] / ks_temperature;
  }
  return 0;
}

static inline ks_answer ks_predict(const ks_row* row) {
  double values[ks_problems], shares[ks_problems + 1];
  int best = 0;
  if (ks_values(row, values) < 0) return ks_nothing;
  if (ks_n_classes == 0) return (ks_answer)values[0];
  if (ks_has_threshold) {  // of two classes
    ks_shares(values, ks_problems, shares);
    return (ks_answer)(shares[1] >= ks_threshold);
  }
  if (ks_problems == 1) return (ks_answer)(values[0] > 0);
  for (int p = 1; p < ks_problems; ++p)
    if (values[p] > values[best]) best = p;
  return (ks_answer)best;
}

static inline int ks_probabilities(const ks_row* row, double* probabilities) {
  double values[ks_problems];
  const int failed = ks_values(row, values);
  for (int c = 0; c < ks_n_classes && failed; ++c) probabilities[c] = NAN;
  if (!failed && ks_n_classes > 0) ks_shares(values, ks_problems, probabilities);
  return failed;
}
