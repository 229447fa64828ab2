// CSV text: rows of numbers, one column of them the label. Native code reads ordinary lines alone, and stops before the
// first that is not: src/kernelsketch/formats/_cells.py reads all of CSV, is the specification, and has the errors.
// An ordinary line:
//
//   line   = [ cell { delimiter cell } ] end           as many cells as the table has columns, or none: a blank line
//   end    = LF | CR LF                                blanks = spaces and tabs other than the delimiter
//   cell   = plain | '"' plain '"'                     of at most kLongestCell bytes
//   plain  = blanks number blanks                      finite; the number of libsvm.h, rounded as there
//   plain  = bytes                                     a text label: one at least, no quote, CR or LF, and no delimiter
//                                                      unless quoted. Whether it is UTF-8 is for the caller to see.
#pragma once

#include <cstdint>

namespace kernelsketch {

constexpr int64_t kLongestCell = 1000;

struct CsvTable {
  char delimiter;                           // no quote, no line end, and nothing that a number may have
  int64_t width;                            // columns, that of the label among them
  int64_t label;                            // its column, -1 without
  const uint8_t* left_out = nullptr;        // for each column whether its cells are passed over; null if none are
  int64_t features = width - (label >= 0);  // columns of values
};

// Where rows go, at most `most` of them. Of labels and label_at one at most is not null: it says what labels are.
template <class Real>
struct CsvRows {
  int64_t most;
  Real* values;  // (most, features)
  double* labels;
  int64_t* label_at;  // begin and end of each label in the text, without quotes
};

// How far it went: lines are rows and blank lines, bytes those of these lines.
struct CsvTaken {
  int64_t rows = 0, lines = 0, bytes = 0;
};

bool csv_delimiter(char c);  // whether it can be one here

// The text must end with LF. Values of rows that are not taken are of no use.
template <class Real>
CsvTaken csv_parse(const char* text, int64_t size, const CsvTable& table, const CsvRows<Real>& rows, int threads);

// Numbers equal texts alike, from 0 in the order in which they first occur, and says where that is; returns how many.
int64_t distinct_texts(const char* text, const int64_t* at, int64_t count, int64_t* numbers, int64_t* first);

}  // namespace kernelsketch
