// Models of tables (reference/tables.py, reference/quantiles.py): scales of numbers, parts of dates, and how decision
// values and trees become probabilities. Missing numbers are NaN. Exponentials and logarithms are those of the platform.
#pragma once

#include "core/arithmetic.h"

// A number in the range of the training rows.
KS_FUNCTION double ks_in_range(double x, double unit, double low, double high) {
  x = ks_div(x, unit);
  return x < low ? low : x > high ? high : x;
}
KS_FUNCTION float ks_standardized(double in_range, double mean, double spread) {
  const double z = ks_div(in_range - mean, spread);
  return z != z ? 0.0f : (float)z;
}
// A number that is 0 or 1 in all training rows, or a flag: others count as the nearer end.
KS_FUNCTION float ks_flag(double x) { return !(x > 0) ? 0.0f : x > 1 ? 1.0f : (float)x; }

// The level of a number in a table of m >= 2 ascending quantiles g: see kernelsketch/quantiles.h. The number of entries
// up to x is known.
KS_FUNCTION double ks_quantile_level(double x, ks_i64 up_to, const double* g, ks_i64 m, const double* levels) {
  const ks_i64 j = up_to - 1, back = m - 1 - up_to;
  double width, rising, falling;
  if (x != x) return 0;
  if (up_to == 0) return -1;
  if (g[j] == x) {
    ks_i64 first = 0, last = j;  // the first entry that equals x is among these
    while (first < last) {
      const ks_i64 middle = (first + last) / 2;
      if (g[middle] < x)
        first = middle + 1;
      else
        last = middle;
    }
    return (levels[j] - levels[m - 1 - first]) / 2;
  }
  if (up_to == m) return 1;
  width = g[j + 1] - g[j];
  rising = ks_div(levels[j + 1] - levels[j], width) * (x - g[j]) + levels[j];
  falling = ks_div(levels[back + 1] - levels[back], width) * (g[j + 1] - x) + levels[back];
  rising = rising < levels[j + 1] ? rising : levels[j + 1];
  falling = falling < levels[back + 1] ? falling : levels[back + 1];
  return (rising - falling) / 2;
}
// The number of entries of an ascending table up to x.
KS_FUNCTION ks_i64 ks_entries_up_to(double x, const double* table, ks_i64 m) {
  ks_i64 up_to = 0, size = m;
  while (size > 1) {
    const ks_i64 half = size / 2;
    up_to += table[up_to + half - 1] <= x ? half : 0;
    size -= half;
  }
  return up_to + (table[up_to] <= x);
}

// Parts of dates, by their place in DATE_PARTS of tabular/_columns.py. A date is microseconds since 1970.
enum {
  KS_DAY,
  KS_MONTH,
  KS_WEEKDAY,
  KS_HOUR,
  KS_DAY_WAVE,
  KS_WEEK_WAVE = KS_DAY_WAVE + 2,
  KS_YEAR_WAVE = KS_WEEK_WAVE + 2
};

KS_FUNCTION ks_i64 ks_floor_div(ks_i64 a, ks_i64 b) { return a / b - (a % b < 0); }

// The first day of a year, in days since 1970, of the proleptic Gregorian calendar.
KS_FUNCTION ks_i64 ks_first_day(ks_i64 year) {
  const ks_i64 y = year - 1;
  return 365 * (year - 1970) + ks_floor_div(y, 4) - ks_floor_div(y, 100) + ks_floor_div(y, 400) - 477;
}
KS_FUNCTION ks_i64 ks_year_of(ks_i64 day) {
  ks_i64 year = 1970 + ks_floor_div(400 * day, 146097);  // at most one off
  while (ks_first_day(year) > day) --year;
  while (ks_first_day(year + 1) <= day) ++year;
  return year;
}
KS_FUNCTION ks_i64 ks_month_of(ks_i64 day) {
  static const ks_i64 kStarts[2][12] = {{0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334},
                                        {0, 31, 60, 91, 121, 152, 182, 213, 244, 274, 305, 335}};
  const ks_i64 year = ks_year_of(day), first = ks_first_day(year);
  const int leap = ks_first_day(year + 1) - first == 366;
  ks_i64 month = 12;
  while (kStarts[leap][month - 1] > day - first) --month;
  return month;
}

KS_FUNCTION double ks_date_part(ks_i64 date, int part) {
  const ks_i64 of_a_day = 86400000000LL, day = ks_floor_div(date, of_a_day);
  const double passed = ks_div((double)(date - day * of_a_day), (double)of_a_day);
  const ks_i64 weekday = day + 3 - 7 * ks_floor_div(day + 3, 7);
  double phase;
  if (part == KS_DAY) return ks_div((double)date, 86400e6);
  if (part == KS_MONTH) return (double)ks_month_of(day);
  if (part == KS_WEEKDAY) return (double)weekday;
  if (part == KS_HOUR) return (double)((date - day * of_a_day) / 3600000000LL);
  if (part < KS_WEEK_WAVE) {
    phase = passed;
  } else if (part < KS_YEAR_WAVE) {
    phase = ks_div((double)weekday, 7);
  } else {
    const ks_i64 year = ks_year_of(day), first = ks_first_day(year);
    phase = ks_div((double)(day - first) + passed, (double)(ks_first_day(year + 1) - first));
  }
  if ((part - KS_DAY_WAVE) % 2 == 1) phase += 0.75;
  if (phase >= 1) phase -= 1;
  return ks_fabs(4 * phase - 2) - 1;
}

// Probabilities of logits, one for two classes and otherwise one per class: above 0, below 1, with the sum 1.
KS_FUNCTION void ks_shares(const double* logits, int problems, double* shares) {
  const double least = 1e-15;
  const int classes = problems == 1 ? 2 : problems;
  double most, sum = 0;
  for (int c = 0; c < classes; ++c)
    shares[c] = problems > 1 ? logits[c] : c == 0 ? ks_div(-logits[0], 2) : ks_div(logits[0], 2);
  most = shares[0];
  for (int c = 1; c < classes; ++c) most = shares[c] > most ? shares[c] : most;
  for (int c = 0; c < classes; ++c) {
    shares[c] = ks_exp(shares[c] - most);
    sum = c == 0 ? shares[0] : sum + shares[c];
  }
  for (int c = 0; c < classes; ++c) {
    const double share = ks_div(shares[c], sum);
    shares[c] = share > least ? share : least;
  }
  sum = shares[0];
  for (int c = 1; c < classes; ++c) sum += shares[c];
  for (int c = 0; c < classes; ++c) shares[c] = ks_div(shares[c], sum);
}

// Logits of the blend of a linear model and trees: raw values of the trees, one for two classes, otherwise one per class.
// `shares` and `others` are scratch memory of one number per class.
KS_FUNCTION void ks_blended(const double* logits, const double* trees, int problems, double share, double temperature,
                            double* shares, double* others, double* out) {
  const int classes = problems == 1 ? 2 : problems;
  ks_shares(logits, problems, shares);
  if (problems == 1) {
    others[1] = ks_div(1, 1 + ks_exp(-trees[0]));
    others[0] = 1 - others[1];
  } else {
    double most = trees[0], sum = 0;
    for (int c = 1; c < classes; ++c) most = trees[c] > most ? trees[c] : most;
    for (int c = 0; c < classes; ++c) {
      others[c] = ks_exp(trees[c] - most);
      sum = c == 0 ? others[0] : sum + others[c];
    }
    for (int c = 0; c < classes; ++c) others[c] = ks_div(others[c], sum);
  }
  for (int c = 0; c < classes; ++c)
    shares[c] = ks_div(ks_log((1 - share) * shares[c] + share * others[c]), temperature);
  if (problems == 1) {
    out[0] = shares[1] - shares[0];
    return;
  }
  for (int c = 0; c < classes; ++c) out[c] = shares[c];
}
