// A look at rows before work on them: how large their values are, and rows of small whole numbers as bytes.
#pragma once

#include <cstdint>

#include "kernelsketch/by_type.h"
#include "kernelsketch/rows.h"

namespace kernelsketch {

struct Isa;

// Of some values: the smallest and the largest, whether all are finite, and whether all are whole numbers from -255 to 255.
struct ValueRange {
  double low, high;
  bool finite, small;
};

// The arithmetic of one instruction set; src/isa/measure.cpp fills it in.
template <class T>
struct MeasureOps {
  // The range of some values and `first`. Small numbers are found only on request.
  ValueRange (*look)(const T* x, int64_t count, T first, bool small);
  // out[f] = x[f] - offset; returns the sum of the absolute values
  int64_t (*to_bytes)(const T* x, int64_t count, int offset, uint8_t* out);
};

// sizes[i] is the largest absolute value of row i, or NaN if a value of the row is NaN or infinite. Returns the range of
// all values; a sparse row has zeros besides its own.
template <class AnyRows>
ValueRange measure(const Isa& isa, const AnyRows& x, double* sizes, int threads);

// out[i][f] = x[i][f] - offset, which must be a whole number from 0 to 255, and zeros up to `width`; sums[i] is the sum of
// the absolute values of row i.
template <class T>
void to_bytes(const Isa& isa, const DenseRows<T>& x, int offset, uint8_t* out, int64_t width, double* sums,
              int threads);

// Whether CSR arrays have the form that the core takes: `ends`, of n + 1 elements, ascends from 0 to at most `count`, and
// the indices of a row ascend within 0 .. features - 1.
template <class End, class Index>
bool is_canonical(const End* ends, int64_t n, const Index* indices, int64_t count, int64_t features, int threads);

}  // namespace kernelsketch
