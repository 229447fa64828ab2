// Shingles: from texts to sparse rows of 62-bit features and their counts, as reference/shingles.py specifies.
//
// A unit (a word, or a character) is hashed to 64 bits, u. A shingle of n units has p = sum of u_i G^(n-1-i) modulo
// 2^64, which rolls along the text, and the feature mix64(p + n) >> 2. Features of different shingles are equal with a
// probability of about 2^-62. All arithmetic is in integers, so there is one implementation for all instruction sets.
//
// Time is linear in the bytes: features are uniform, so a row is sorted by its leading bits (shingles.cpp). New
// memory takes much of the time, so texts are read where they are, and rows are written once, to the arrays that Python
// gets.
#pragma once

#include <cstdint>
#include <vector>

#include "growing.h"
#include "kernelsketch/interrupt.h"

namespace kernelsketch {

struct ShingleParams {
  bool words;            // units are words; otherwise characters
  int64_t n_min, n_max;  // units of a shingle
  bool lowercase;
};

// CSR rows of successive texts.
struct ShingleRows {
  Growing<int64_t> indptr;
  Growing<int64_t> features;
  Growing<float> counts;
  void grow(int64_t room) {  // of features
    features.grow(room);
    counts.grow(room);
  }
};

// The bytes of a text.
struct TextSpan {
  const uint8_t* data;
  int64_t size;
};

// Rows of texts. The result does not depend on the number of threads. Returns nothing if it was interrupted.
ShingleRows shingles(const std::vector<TextSpan>& texts, const ShingleParams& params, int threads,
                     Interrupted interrupted);

}  // namespace kernelsketch
