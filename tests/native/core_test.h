// What the parts of the native test share.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernelsketch/dispatch.h"

extern int failures;

void test_bounds(const kernelsketch::Isa& isa);
void test_index(const kernelsketch::Isa& isa);
void test_linear(const kernelsketch::Isa& isa);
void test_measure(const kernelsketch::Isa& isa);
void test_texts();

template <class T>
double formula(const T* u, const T* v, int64_t d) {
  double above = 0, below = 0;
  for (int64_t f = 0; f < d; ++f)
    for (int sign : {1, -1}) {
      const double a = std::max(sign * static_cast<double>(u[f]), 0.0);
      const double b = std::max(sign * static_cast<double>(v[f]), 0.0);
      above += std::min(a, b);
      below += std::max(a, b);
    }
  return below > 0 ? above / below : 0;
}
