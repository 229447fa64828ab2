#include "kernelsketch/csv.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernelsketch/decimal.h"
#include "kernelsketch/lines.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kLeastPart = int64_t{1} << 17;  // bytes that are worth a thread

// Takes lines one after the other. No cell goes beyond the LF that ends its line.
template <class Real>
class Parser {
 public:
  Parser(const char* text, const CsvTable& table, const CsvRows<Real>& rows)
      : text_(text), table_(table), rows_(rows) {}

  CsvTaken run(const char* const begin, const char* const end) {
    CsvTaken taken;
    const char* p = begin;
    while (p < end && taken.rows < rows_.most) {
      const bool blank = *p == '\n' || (*p == '\r' && p[1] == '\n');
      if (!blank && !row(p, taken.rows)) break;
      if (*p == '\r') ++p;
      if (*p != '\n') break;
      ++p;
      taken.rows += !blank;
      ++taken.lines;
      taken.bytes = p - begin;
    }
    return taken;
  }

 private:
  bool is_blank(char c) const { return (c == ' ' || c == '\t') && c != table_.delimiter; }

  // A row of cells; p goes to where its last cell ends.
  bool row(const char*& p, int64_t row) {
    Real* value = rows_.values + row * table_.features;
    for (int64_t column = 0; column < table_.width; ++column) {
      if (column > 0 && *p++ != table_.delimiter) return false;
      const char* const cell = p;
      const bool quoted = *p == '"';
      if (quoted) ++p;
      if (table_.left_out && table_.left_out[column]) {
        for (; !ends_text(*p, quoted); ++p)
          if (static_cast<signed char>(*p) < 0) return false;  // whether it is UTF-8 is for the caller to see
      } else if (column != table_.label) {
        if (!number(p, *value++)) return false;
      } else if (rows_.label_at) {
        const char* const first = p;
        while (!ends_text(*p, quoted)) ++p;
        if (p == first) return false;
        rows_.label_at[2 * row] = first - text_;
        rows_.label_at[2 * row + 1] = p - text_;
      } else if (!number(p, rows_.labels[row])) {
        return false;
      }
      if (quoted && *p++ != '"') return false;
      if (p - cell > kLongestCell) return false;
    }
    return true;
  }

  bool ends_text(char c, bool quoted) const {
    return c == '\n' || c == '\r' || c == '"' || (c == table_.delimiter && !quoted);
  }

  template <class Number>
  bool number(const char*& p, Number& value) const {
    while (is_blank(*p)) ++p;
    const Decimal<Number> found = read_decimal<Number>(p);
    if (!found.end || !std::isfinite(found.value)) return false;
    value = found.value;
    for (p = found.end; is_blank(*p);) ++p;
    return true;
  }

  const char* text_;
  CsvTable table_;
  CsvRows<Real> rows_;
};

template <class Real>
CsvRows<Real> shifted(const CsvRows<Real>& rows, int64_t row, int64_t most, int64_t features) {
  return {most, rows.values + row * features, rows.labels ? rows.labels + row : nullptr,
          rows.label_at ? rows.label_at + 2 * row : nullptr};
}

}  // namespace

bool csv_delimiter(char c) {
  return (c == '\t' || (c >= ' ' && c <= '~')) && !is_digit(c) && !std::strchr("+-.eE\"", c);
}

template <class Real>
CsvTaken csv_parse(const char* text, int64_t size, const CsvTable& table, const CsvRows<Real>& rows, int threads) {
  // Lines are a bound of the rows: threads get no more of them than there is room for.
  const char* end = text;
  if (threads > 1 && size > kLeastPart)
    for (int64_t k = 0; k < rows.most && end < text + size; ++k) end = next_line(end, text + size);
  const int64_t parts = std::min<int64_t>((end - text) / kLeastPart, threads);
  if (parts <= 1) return Parser<Real>(text, table, rows).run(text, text + size);

  // Each part goes to where it would begin if no line before it were blank; then they close ranks.
  const std::vector<const char*> begin = line_parts(text, end - text, parts);
  const int64_t features = table.features;
  std::vector<int64_t> offset(parts + 1);
  std::vector<CsvTaken> taken(parts);
  const auto each = [&](const auto& work) {
    each_item(parts, threads, nullptr, [&](int64_t i) { work(static_cast<std::size_t>(i)); });
  };
  each([&](std::size_t i) { offset[i + 1] = std::count(begin[i], begin[i + 1], '\n'); });
  for (std::size_t i = 0; i < taken.size(); ++i) offset[i + 1] += offset[i];
  each([&](std::size_t i) {
    const CsvRows<Real> part = shifted(rows, offset[i], offset[i + 1] - offset[i], features);
    taken[i] = Parser<Real>(text, table, part).run(begin[i], begin[i + 1]);
  });

  CsvTaken all;
  for (std::size_t i = 0; i < taken.size(); ++i) {
    const CsvRows<Real> from = shifted(rows, offset[i], 0, features), to = shifted(rows, all.rows, 0, features);
    close_ranks(to.values, from.values, taken[i].rows * features);
    if (to.labels) close_ranks(to.labels, from.labels, taken[i].rows);
    if (to.label_at) close_ranks(to.label_at, from.label_at, 2 * taken[i].rows);
    all.rows += taken[i].rows;
    all.lines += taken[i].lines;
    all.bytes += taken[i].bytes;
    if (taken[i].bytes < begin[i + 1] - begin[i]) break;  // a line that is not ordinary
  }
  return all;
}

int64_t distinct_texts(const char* text, const int64_t* at, int64_t count, int64_t* numbers, int64_t* first) {
  std::unordered_map<std::string_view, int64_t> known;
  for (int64_t i = 0; i < count; ++i) {
    const std::string_view found(text + at[2 * i], static_cast<std::size_t>(at[2 * i + 1] - at[2 * i]));
    const auto next = static_cast<int64_t>(known.size());
    const auto [place, is_new] = known.try_emplace(found, next);
    if (is_new) first[next] = i;
    numbers[i] = place->second;
  }
  return static_cast<int64_t>(known.size());
}

template CsvTaken csv_parse<float>(const char*, int64_t, const CsvTable&, const CsvRows<float>&, int);
template CsvTaken csv_parse<double>(const char*, int64_t, const CsvTable&, const CsvRows<double>&, int);

}  // namespace kernelsketch
