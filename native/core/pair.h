// The similarity of a pair of rows (reference/gmm.py, index.py, join.py), from what they share. C++ only.
#pragma once

#include "core/overloads.h"

namespace ks {

// What the sums become: sum min / sum max, or sum min over the mean of the two norms, which for rows of unit norm is the
// intersection kernel.
enum class Ratio : int { min_max = 0, intersection = 1 };
constexpr int kRatios = 2;

KS_FUNCTION float in_unit(float x) { return between(x, 0.0f, 1.0f); }
KS_FUNCTION double in_unit(double x) { return between(x, 0.0, 1.0); }

// From |u| + |v| and D = |u - v|, between 0 and 1, of rows that are not zero. V is a number or a vector of numbers.
template <class V>
KS_FUNCTION V of_distance(V total, V distance, Ratio ratio) {
  return in_unit(quotient(total - distance, ratio == Ratio::min_max ? total + distance : total));
}

// From the sum of minima and |u| + |v|, at most 1; 0 for rows of zeros.
template <class T>
KS_FUNCTION T of_minima(T minima, T total, Ratio ratio = Ratio::min_max) {
  const T over = ratio == Ratio::min_max ? minima : minima + minima;
  const T under = ratio == Ratio::min_max ? total - minima : total;
  const T found = quotient(over, under > 0 ? under : (T)1);
  return found > 1 ? (T)1 : found;
}

// The smaller size of two values of equal sign, else 0; and the same of a size and a value whose sign was compared.
template <class T>
KS_FUNCTION T shared(T a, T b) {
  const T low = a < b ? a : b, high = a < b ? b : a;
  return (low > 0 ? low : (T)0) - (high < 0 ? high : (T)0);
}
template <class T>
KS_FUNCTION T shared_size(T size, T value) {
  const T least = value < size ? value : size;
  return least > 0 ? least : (T)0;
}

// Levels of similarity, by which candidates are ranked.
constexpr int kLevels = 4096;

template <class T>
KS_FUNCTION int level_of(T similarity) {
  const T level = (T)kLevels * similarity;
  return level >= (T)(kLevels - 1) ? kLevels - 1 : level > 0 ? (int)level : 0;
}

}  // namespace ks
