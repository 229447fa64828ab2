#include "kernelsketch/libsvm.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "kernelsketch/decimal.h"
#include "kernelsketch/lines.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

#ifndef KERNELSKETCH_LIBSVM_PART  // the fuzzer has small parts, to see many of them
#define KERNELSKETCH_LIBSVM_PART (int64_t{1} << 18)
#endif
constexpr int64_t kLeastPart = KERNELSKETCH_LIBSVM_PART;  // bytes that are worth a thread
constexpr int64_t kAskAfter = int64_t{1} << 14;           // lines or pairs between two looks at whether to stop
#ifndef KERNELSKETCH_LIBSVM_RUN                           // the fuzzer has short runs, to see many of them
#define KERNELSKETCH_LIBSVM_RUN (std::size_t{1} << 18)
#endif
constexpr std::size_t kSortedRun = KERNELSKETCH_LIBSVM_RUN;  // pairs that are sorted at a time

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Lower case of an ASCII letter, the byte itself otherwise.
char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool equals(const char* p, const char* end, const char* word) {
  for (; *word; ++p, ++word)
    if (p == end || lower(*p) != *word) return false;
  return p == end;
}

// Parses one part of a text, line by line. Positions count from `text`, pairs and rows from those of the part.
template <class Real>
class Parser {
 public:
  Parser(const char* text, int64_t base, const LibsvmRows<Real>& rows, const Items& items)
      : text_(text), base_(base), rows_(rows), items_(items) {}

  LibsvmFound run(const char* p, const char* end) {
    for (int64_t lines = 1; p < end && found_.error == LibsvmError::none && !stop_; ++lines) {
      if (lines % kAskAfter == 0 && stopped()) break;
      const char* const lf = static_cast<const char*>(std::memchr(p, '\n', end - p));
      line_end_ = lf > p && lf[-1] == '\r' ? lf - 1 : lf;
      line(p);
      p = lf + 1;
    }
    return found_;
  }

 private:
  bool stopped() { return stop_ = items_.stopped(); }

  bool ends_token(const char* p) const { return p == line_end_ || is_blank(*p) || *p == '#'; }

  const char* token_end(const char* p) const {
    while (!ends_token(p)) ++p;
    return p;
  }

  const char* skip_blanks(const char* p) const {
    while (p != line_end_ && is_blank(*p)) ++p;
    return p;
  }

  bool fail(LibsvmError error, const char* at, const char* end) {
    found_.error = error;
    found_.at = at - text_;
    found_.length = end - at;
    return false;
  }

  void line(const char* p) {
    p = skip_blanks(p);
    if (p == line_end_ || *p == '#') return;
    if (!label(p)) return;
    const char* const pairs = p;  // after the label
    const int64_t first = found_.pairs;
    int64_t last = -1;
    bool ascending = true, good = true;
    rows_.qid[found_.rows] = -1;
    for (p = skip_blanks(p); p != line_end_ && *p != '#'; p = skip_blanks(p)) {
      if (*p == 'q' && is_qid(p)) {
        good = found_.pairs == first && rows_.qid[found_.rows] < 0 ? qid(p)
                                                                   : fail(LibsvmError::qid_place, p, token_end(p));
      } else {
        good = pair(p);
        if (good) {
          const int64_t id = rows_.ids[found_.pairs++];
          ascending = ascending && id > last;
          last = id;
          if (id > found_.largest_id) found_.largest_id = id;
          if (found_.pairs % kAskAfter == 0 && stopped()) return;
        }
      }
      if (!good) break;
    }
    if (!ascending && !sort(first, pairs)) return;  // an id that occurs twice comes before what stopped the line
    if (good) rows_.indptr[++found_.rows] = found_.pairs;
  }

  bool label(const char*& p) {
    const int64_t row = found_.rows;
    const Decimal<double> number = read_decimal<double>(p);
    const char* end = number.end;
    if (end && ends_token(end) && std::isfinite(number.value)) {
      rows_.labels[row] = number.value;
    } else {
      end = token_end(p);
      if (std::memchr(p, ':', end - p)) return fail(LibsvmError::label_missing, p, end);
      for (const char* q = p; q != end; ++q)
        if (static_cast<unsigned char>(*q) < 32 || *q == 127) return fail(LibsvmError::label_character, q, q + 1);
      rows_.labels[row] = std::numeric_limits<double>::quiet_NaN();
      if (found_.first_text < 0) found_.first_text = row;
    }
    rows_.label_at[2 * row] = p - text_;
    rows_.label_at[2 * row + 1] = end - text_;
    p = end;
    return true;
  }

  bool is_qid(const char* p) const { return line_end_ - p >= 4 && std::memcmp(p, "qid:", 4) == 0; }

  // The digits at p as a number; -1 if there are none, kLargestId + 1 if it is larger than kLargestId.
  static int64_t whole(const char*& p) {
    const char* const first = p;
    uint64_t value = 0;
    for (; is_digit(*p); ++p) value = 10 * value + static_cast<uint64_t>(*p - '0');
    if (p - first > 18) {  // may have wrapped: once more with care
      constexpr uint64_t largest = kLargestId;
      value = 0;
      for (const char* q = first; q != p && value <= largest; ++q)
        value = value > largest / 10 ? largest + 1 : 10 * value + static_cast<uint64_t>(*q - '0');
      value = std::min(value, largest + 1);
    }
    return p == first ? -1 : static_cast<int64_t>(value);
  }

  bool qid(const char*& p) {
    const char* const begin = p;
    const char* const first = p += 4;
    const int64_t value = whole(p);
    if (value < 0 || value > kLargestId || !ends_token(p)) return fail(LibsvmError::qid, begin, token_end(first));
    rows_.qid[found_.rows] = value;
    found_.any_qid = true;
    return true;
  }

  bool pair(const char*& p) {
    const char* const begin = p;
    const int64_t id = whole(p);
    if (id < 0 || *p != ':') return bad_id(begin);
    if (id < base_ || id > kLargestId)
      return fail(id < base_ ? LibsvmError::id_small : LibsvmError::id_large, begin, p);
    const char* const first = ++p;
    const Decimal<Real> number = read_decimal<Real>(p);
    if (!number.end || !ends_token(number.end) || !std::isfinite(number.value)) return bad_value(begin, first);
    p = number.end;
    rows_.ids[found_.pairs] = id - base_;
    rows_.values[found_.pairs] = number.value;
    return true;
  }

  bool bad_id(const char* begin) {
    const char* const end = token_end(begin);
    const void* const colon = std::memchr(begin, ':', end - begin);
    if (!colon) return fail(LibsvmError::pair, begin, end);
    return fail(LibsvmError::id, begin, colon == begin ? end : static_cast<const char*>(colon));
  }

  bool bad_value(const char* begin, const char* first) {
    const char* const end = token_end(first);
    if (first == end) return fail(LibsvmError::value_missing, begin, end);
    const Decimal<Real> number = read_decimal<Real>(first);
    if (number.end == end) return fail(LibsvmError::value_large, first, end);
    const char* const word = *first == '+' || *first == '-' ? first + 1 : first;
    if (equals(word, end, "nan")) return fail(LibsvmError::value_nan, first, end);
    if (equals(word, end, "inf") || equals(word, end, "infinity")) return fail(LibsvmError::value_infinite, first, end);
    return fail(LibsvmError::value, first, end);
  }

  // Pairs from `first` on in ascending order of ids; `text` is where the row's pairs begin, to find one that repeats.
  bool sort(int64_t first, const char* text) {
    struct Item {
      int64_t id, place;
      Real value;
    };
    std::vector<Item> items;
    for (int64_t k = first; k < found_.pairs; ++k) items.push_back({rows_.ids[k], k - first, rows_.values[k]});
    if (!sort_runs(items)) return false;
    int64_t repeated = -1;
    for (std::size_t k = 0; k < items.size(); ++k) {
      rows_.ids[first + static_cast<int64_t>(k)] = items[k].id;
      rows_.values[first + static_cast<int64_t>(k)] = items[k].value;
      if (k > 0 && items[k].id == items[k - 1].id && (repeated < 0 || items[k].place < repeated))
        repeated = items[k].place;
    }
    if (repeated < 0) return true;
    const char* p = skip_blanks(text);
    if (is_qid(p)) p = skip_blanks(token_end(p));
    for (; repeated > 0; --repeated) p = skip_blanks(token_end(p));
    return fail(LibsvmError::id_repeated, p, token_end(p));
  }

  // Sorts runs, then merges them, and may stop in between: a line may have millions of pairs.
  template <class Item>
  bool sort_runs(std::vector<Item>& items) {
    const auto less = [](const Item& a, const Item& b) { return a.id != b.id ? a.id < b.id : a.place < b.place; };
    const auto at = [&](std::size_t k) {
      return items.begin() + static_cast<std::ptrdiff_t>(std::min(k, items.size()));
    };
    for (std::size_t k = 0; k < items.size(); k += kSortedRun) {
      if (k > 0 && stopped()) return false;
      std::sort(at(k), at(k + kSortedRun), less);
    }
    for (std::size_t run = kSortedRun; run < items.size(); run *= 2)
      for (std::size_t k = 0; k + run < items.size(); k += 2 * run) {
        if (stopped()) return false;
        std::inplace_merge(at(k), at(k + run), at(k + 2 * run), less);
      }
    return true;
  }

  const char* text_;
  const char* line_end_ = nullptr;
  int64_t base_;
  LibsvmRows<Real> rows_;
  LibsvmFound found_;
  const Items& items_;
  bool stop_ = false;
};

template <class Real>
LibsvmRows<Real> shifted(const LibsvmRows<Real>& rows, int64_t row, int64_t pair) {
  return {rows.labels + row, rows.label_at + 2 * row, rows.qid + row,
          rows.indptr + row, rows.ids + pair,         rows.values + pair};
}

}  // namespace

LibsvmSize libsvm_size(const char* text, int64_t size) {
  LibsvmSize found{0, 0};
  for (int64_t k = 0; k < size;) {  // short stretches, whose counts the compiler keeps in small integers
    const int64_t end = std::min(size, k + 4096);
    uint32_t lines = 0, colons = 0;
    for (; k < end; ++k) lines += text[k] == '\n', colons += text[k] == ':';
    found.lines += lines;
    found.colons += colons;
  }
  return found;
}

template <class Real>
LibsvmFound libsvm_parse(const char* text, int64_t size, int64_t base, const LibsvmRows<Real>& rows, int threads,
                         Interrupted interrupted) {
  const int64_t parts = std::clamp<int64_t>(size / kLeastPart, 1, std::max(threads, 1));
  rows.indptr[0] = 0;
  LibsvmFound all;
  if (parts == 1) {
    parallel(1, 1, interrupted, [&](const Items& next) {
      if (next() >= 0) all = Parser<Real>(text, base, rows, next).run(text, text + size);
    });
    return all;
  }

  // Parts end at line ends. Each is parsed to where it would begin if all before it were as large as their bounds;
  // then they close ranks. Their row pointers count from their own first pair, which stands in a place of its own.
  const std::vector<const char*> begin = line_parts(text, size, parts);
  std::vector<LibsvmSize> offsets(parts + 1, LibsvmSize{0, 0});
  std::vector<LibsvmFound> found(parts);
  std::vector<std::vector<int64_t>> indptr(parts);
  const auto each = [&](const auto& work) {
    return parallel(parts, threads, interrupted, [&](const Items& next) {
      for (int64_t i = next(); i >= 0; i = next()) work(static_cast<std::size_t>(i), next);
    });
  };
  const auto measure = [&](std::size_t i, const Items&) {
    offsets[i + 1] = libsvm_size(begin[i], begin[i + 1] - begin[i]);
  };
  if (!each(measure)) return all;
  for (std::size_t i = 0; i < indptr.size(); ++i) {
    indptr[i].resize((offsets[i + 1].lines) + 1);
    offsets[i + 1].lines += offsets[i].lines;
    offsets[i + 1].colons += offsets[i].colons;
  }
  const auto parse = [&](std::size_t i, const Items& next) {
    LibsvmRows<Real> part = shifted(rows, offsets[i].lines, offsets[i].colons);
    part.indptr = indptr[i].data();
    found[i] = Parser<Real>(text, base, part, next).run(begin[i], begin[i + 1]);
  };
  if (!each(parse)) return all;

  for (std::size_t i = 0; i < found.size(); ++i) {
    const LibsvmFound& part = found[i];
    if (part.error != LibsvmError::none) return part;
    const LibsvmRows<Real> from = shifted(rows, offsets[i].lines, offsets[i].colons);
    const LibsvmRows<Real> to = shifted(rows, all.rows, all.pairs);
    close_ranks(to.labels, from.labels, part.rows);
    close_ranks(to.label_at, from.label_at, 2 * part.rows);
    close_ranks(to.qid, from.qid, part.rows);
    close_ranks(to.ids, from.ids, part.pairs);
    close_ranks(to.values, from.values, part.pairs);
    for (int64_t r = 1; r <= part.rows; ++r) to.indptr[r] = all.pairs + indptr[i][r];
    if (all.first_text < 0 && part.first_text >= 0) all.first_text = all.rows + part.first_text;
    all.any_qid = all.any_qid || part.any_qid;
    all.largest_id = std::max(all.largest_id, part.largest_id);
    all.rows += part.rows;
    all.pairs += part.pairs;
  }
  return all;
}

template LibsvmFound libsvm_parse<float>(const char*, int64_t, int64_t, const LibsvmRows<float>&, int, bool (*)());
template LibsvmFound libsvm_parse<double>(const char*, int64_t, int64_t, const LibsvmRows<double>&, int, bool (*)());

}  // namespace kernelsketch
