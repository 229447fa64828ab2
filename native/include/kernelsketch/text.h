// Rows as LIBSVM text, out. A line, as tests/helpers/libsvm.py writes it too:
//
//   line = head [ " qid:" group ] { " " id ":" value } LF
//
// The head is the label. Numbers are those of decimal.h.
#pragma once

#include <cstdint>

namespace kernelsketch {

// Texts one after the other: the i-th from ends[i] to ends[i + 1].
struct Texts {
  const char* text;
  const int64_t* ends;
};

// Value is float, double, int64_t or uint64_t.
template <class Value>
struct TextRows {
  int64_t n;
  Texts heads;
  const int64_t* qid;  // below 0 where a row has none; may be null
  const int64_t* indptr;
  const int64_t* ids;  // counted from 0; 2^63 - 2 at most
  const Value* values;
  int64_t base;  // what the first id is called
};

// Bytes that are enough for rows with so many pairs, and heads of so many bytes.
int64_t text_bound(int64_t n, int64_t pairs, int64_t heads);

// Writes the lines to `out` and returns their size.
template <class Value>
int64_t text_lines(const TextRows<Value>& rows, char* out);

// Writes n numbers to `out`, of kDecimalSize characters a number, and to `ends` (n + 1) where they end.
template <class Value>
void text_numbers(const Value* values, int64_t n, char* out, int64_t* ends);

}  // namespace kernelsketch
