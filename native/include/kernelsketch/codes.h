// b-bit codes: packing them, and counting the codes that two rows share.
//
// Two rows with GMM kernel s have equal b-bit codes at hash j with a probability of about s + (1 - s) / 2^b, so the
// share of equal codes estimates s.
//
// A packed row holds its codes of w = 1 .. 24 bits one after the other, least significant bit first, in ceil(k w / 8)
// bytes. The bits past the last code are 0. For w = 8 and w = 16 a packed row is an array of integers.
//
// Reference: reference/pack.py.
#pragma once

#include <cstdint>

#include "kernelsketch/interrupt.h"

namespace kernelsketch {

struct Isa;

// The arithmetic of one instruction set; src/isa/codes.cpp fills it in.
template <class Code>
struct MatchOps {
  // counts[r][c] = number of equal codes of row r of a and row c of b, for `rows` rows of a and `cols` rows of b with k
  // codes each.
  void (*match)(const Code* a, const Code* b, int64_t rows, int64_t cols, int64_t k, int32_t* counts, int64_t stride);
  // The same for rows that are anywhere in memory.
  void (*match_rows)(const Code* const* a, const Code* const* b, int64_t rows, int64_t cols, int64_t k, int32_t* counts,
                     int64_t stride);
};
struct CodeOps {
  MatchOps<uint8_t> of8;
  MatchOps<uint16_t> of16;
  MatchOps<uint32_t> of32;
  template <class Code>
  const MatchOps<Code>& of() const {
    if constexpr (sizeof(Code) == 1)
      return of8;
    else if constexpr (sizeof(Code) == 2)
      return of16;
    else
      return of32;
  }
};

template <class Code>
void pack(const Code* codes, int64_t n, int64_t k, int width, uint8_t* packed, int threads);

template <class Code>
void unpack(const uint8_t* packed, int64_t n, int64_t k, int width, int64_t stride, Code* codes, int threads);

// numbers[i] = number_of[codes[i]]; codes and numbers may be the same array. Returns the largest number.
template <class Code, class Number>
Number renumber(const Code* codes, int64_t size, const Number* number_of, Number* numbers, int threads);

// used[code] = 1 for each code that occurs; the others stay as they are. Every code is below n_codes.
template <class Code>
void mark_used(const Code* codes, int64_t size, uint8_t* used, int64_t n_codes, int threads);

// counts[n][m] = numbers of equal codes; empty rows match nothing.
template <class Code>
void match_counts(const Isa& isa, const Code* a, int64_t n, const uint8_t* a_empty, const Code* b, int64_t m,
                  const uint8_t* b_empty, int64_t k, int32_t* counts, int threads, Interrupted interrupted);

}  // namespace kernelsketch
