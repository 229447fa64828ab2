// The similarity join of sparse rows: keys of equal rows, prefixes that similar rows share, and exact similarities, as
// reference/join.py specifies, where it is also proved that the prefixes miss no pair. Sums are in double, in the order
// of the features, so there is one implementation for all instruction sets.
#pragma once

#include <cstdint>

#include "kernelsketch/interrupt.h"
#include "kernelsketch/rows.h"

namespace kernelsketch {

// Two keys per row, to out (n, 2).
template <class T, class Index>
void join_keys(const CsrRows<T, Index>& x, uint64_t* out, int threads, Interrupted interrupted);

// Adds 1 to the counter of every nonzero, up to 2^16 - 1. There are 2^bits counters.
template <class T, class Index>
void join_count(const CsrRows<T, Index>& x, uint16_t* counters, int bits);

// Sets out to 1 for the nonzeros of prefixes whose counter is above 1, and to 0 for others.
template <class T, class Index>
void join_prefixes(const CsrRows<T, Index>& x, const uint16_t* counters, int bits, double threshold, uint8_t* out,
                   int threads, Interrupted interrupted);

// The GMM kernel of `pairs` pairs of rows.
template <class T, class Index>
void join_similarities(const CsrRows<T, Index>& x, const int64_t* left, const int64_t* right, int64_t pairs,
                       double* out, int threads, Interrupted interrupted);

}  // namespace kernelsketch
