// b-bit codes: packed rows, and how many codes two rows share.
//
// A packed row holds its codes of w = 1 .. 24 bits one after the other, least significant bit first, in
// ceil(k w / 8) bytes; the bits past the last code are 0. For w = 8 and 16 that is an array of integers.
#pragma once

#include <cstdint>

#include "kernelsketch/gmm.h"

namespace kernelsketch {

// The arithmetic of one instruction set; src/isa/codes.cpp fills it in.
struct CodeOps {
  // counts[r][c] = number of equal codes of a row and b row; `rows` rows of a, `cols` of b, k codes each.
  void (*match8)(const uint8_t* a, const uint8_t* b, int64_t rows, int64_t cols, int64_t k, int32_t* counts,
                 int64_t stride);
  void (*match16)(const uint16_t* a, const uint16_t* b, int64_t rows, int64_t cols, int64_t k, int32_t* counts,
                  int64_t stride);
  void (*match32)(const uint32_t* a, const uint32_t* b, int64_t rows, int64_t cols, int64_t k, int32_t* counts,
                  int64_t stride);
};

template <class Code>
void pack(const Code* codes, int64_t n, int64_t k, int width, uint8_t* packed, int threads);

template <class Code>
void unpack(const uint8_t* packed, int64_t n, int64_t k, int width, int64_t stride, Code* codes, int threads);

// counts[n][m] of equal codes; rows flagged empty match nothing.
template <class Code>
void match_counts(const Isa& isa, const Code* a, int64_t n, const uint8_t* a_empty, const Code* b, int64_t m,
                  const uint8_t* b_empty, int64_t k, int32_t* counts, int threads, Interrupted interrupted);

}  // namespace kernelsketch
