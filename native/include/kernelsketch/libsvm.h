// LIBSVM text: one row a line, `label id:value id:value ...`. The grammar, which tests/helpers/libsvm.py has too:
//
//   line   = blanks [ label [ blanks "qid:" digits ] { blanks id ":" number } blanks ] [ "#" anything ] end
//   end    = LF | CR LF                                blanks = spaces and tabs
//   label  = bytes above 32 other than "#", ":" and DEL; a number where it reads as a finite one, else text
//   id     = digits; from base (0 or 1) to 2^62 - 1
//   number = [ "+" | "-" ] ( digits [ "." [ digits ] ] | "." digits ) [ ( "e" | "E" ) [ "+" | "-" ] digits ]
//
// Lines without a label are skipped. A "#" starts a comment wherever it stands. Ids of a row ascend in the result: rows
// that do not are sorted, an id that occurs twice is an error, as are nan, inf and numbers that overflow.
//
// Numbers are correctly rounded to Real. An integer w < 2^53 times or over 10^e, e <= 22, takes one rounding, since
// both are exact in float64 (Clinger, 1990). All others go to the standard library. For float32 a result is rounded
// twice, which errs only if the float64 lies exactly between two floats: those, too, go to the standard library.
//
// The first error in the order of the text is reported, by its place. Of one pair, its id and value are looked at
// before whether the id has occurred.
#pragma once

#include <cstdint>

#include "kernelsketch/interrupt.h"

namespace kernelsketch {

enum class LibsvmError : int {
  none,
  label_missing,
  label_character,
  pair,
  id,
  id_small,
  id_large,
  id_repeated,
  qid_place,
  qid,
  value_missing,
  value,
  value_nan,
  value_infinite,
  value_large,
};

constexpr int64_t kLargestId = (int64_t{1} << 62) - 1;

// Bounds of what a text holds: lines of rows, colons of pairs.
struct LibsvmSize {
  int64_t lines, colons;
};

// Where the rows go: arrays for `lines` rows and `colons` pairs.
template <class Real>
struct LibsvmRows {
  double* labels;     // nan for text
  int64_t* label_at;  // begin and end of each label in the text
  int64_t* qid;       // -1 where there is none
  int64_t* indptr;    // lines + 1
  int64_t* ids;       // counted from 0
  Real* values;
};

struct LibsvmFound {
  int64_t rows = 0, pairs = 0;
  int64_t largest_id = -1;  // counted from 0
  int64_t first_text = -1;  // row of the first label that is not a number
  bool any_qid = false;
  LibsvmError error = LibsvmError::none;
  int64_t at = 0, length = 0;  // of the offending text
};

LibsvmSize libsvm_size(const char* text, int64_t size);

// The text must end with LF. After an error the arrays hold nothing of use, nor does anything once `interrupted` has
// answered true.
template <class Real>
LibsvmFound libsvm_parse(const char* text, int64_t size, int64_t base, const LibsvmRows<Real>& rows, int threads,
                         Interrupted interrupted = nullptr);

}  // namespace kernelsketch
