// A look at rows before work on them: how large their values are, and rows of small whole numbers as bytes.
#pragma once

#include <cstdint>

#include "kernelsketch/gmm.h"

namespace kernelsketch {

// What all values have in common. A sparse row has zeros besides its values.
struct Measure {
  double low = 0, high = 0;  // the smallest and the largest value, if all are finite
  bool small = true;         // all are whole numbers from -255 to 255
};

// sizes[i] is the largest absolute value of row i, or NaN if a value of the row is NaN or infinite.
template <class AnyRows>
Measure measure(const AnyRows& x, double* sizes, int threads);

// out[i][f] = x[i][f] - offset, which must be a whole number from 0 to 255, and zeros up to `width`; sums[i] is the sum of
// the absolute values of row i.
template <class T>
void to_bytes(const DenseRows<T>& x, int offset, uint8_t* out, int64_t width, double* sums, int threads);

// Whether CSR arrays have the form that the core takes: `indptr` ascends from 0 to at most `count`, and the indices of a
// row ascend within 0 .. features - 1. `ends` has n + 1 elements.
template <class End, class Index>
bool is_canonical(const End* ends, int64_t n, const Index* indices, int64_t count, int64_t features, int threads);

}  // namespace kernelsketch
