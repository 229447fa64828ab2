#include "kernelsketch/shingles.h"

#include <algorithm>
#include <vector>

#include "characters.h"
#include "distinct.h"
#include "kernelsketch/parallel.h"
#include "kernelsketch/rng.h"
#include "words.h"

namespace kernelsketch {
namespace {

constexpr int64_t kPartBytes = 1 << 18;       // of text that a thread takes at a time
constexpr std::size_t kPartTexts = 1 << 18;   // the same as a number of texts
constexpr int64_t kReserved = int64_t{1} << 22;  // features that there is room for at first, at most

// Turns texts into rows, one after the other, in memory that it keeps.
class Shingler {
 public:
  explicit Shingler(const ShingleParams& params) : params_(params), characters_(Characters::get()) {
    for (uint32_t code = 0; code < 128; ++code) {
      ascii_spaces_[code] = characters_[code] & Characters::kSpace;
      ascii_units_[code] = unit_of(ascii_spaces_[code] ? ' ' : code_of(code, characters_[code]));
    }
  }

  void add(const TextSpan& text, ShingleRows& out) {
    units_.clear();
    if (params_.words)
      words_.find(text, params_.lowercase, units_);
    else
      find_characters(text.data, text.data + text.size);
    write(out);
  }

 private:
  uint32_t code_of(uint32_t code, uint32_t known) const {
    return params_.lowercase ? known & Characters::kCode : code;
  }
  static uint64_t unit_of(uint64_t code) { return mix64(code + kGolden64); }

  // Characters; a run of white space is one space, and none at both ends.
  void find_characters(const uint8_t* p, const uint8_t* end) {
    units_.grow(end - p + 1);
    uint64_t* to = units_.data();
    bool after_space = true;
    while (p != end) {
      const uint8_t byte = *p;
      bool space;
      if (byte < 128) {
        *to = ascii_units_[byte];
        space = ascii_spaces_[byte];
        ++p;
      } else {
        const uint32_t code = decode(p, end), known = characters_[code];
        space = known & Characters::kSpace;
        *to = unit_of(space ? ' ' : code_of(code, known));
      }
      to += !(space & after_space);
      after_space = space;
    }
    units_.set_size(to - units_.data() - (after_space && to != units_.data()));
  }

  // The features of all shingles of the units, sorted and counted.
  void write(ShingleRows& out) {
    const int64_t m = units_.size();
    const int64_t first = std::min(params_.n_min, m), last = m < params_.n_min ? m : std::min(params_.n_max, m);
    int64_t total = 0;
    for (int64_t n = std::max<int64_t>(first, 1); n <= last; ++n) total += m - n + 1;
    features_.grow(total);
    uint64_t* to = features_.data();
    for (int64_t n = std::max<int64_t>(first, 1); n <= last; ++n) to = roll(n, to);
    const int64_t before = out.features.size();
    out.features.grow(before + total);
    out.counts.grow(before + total);
    const int64_t size =
        distinct_.write(features_.data(), total, out.features.data() + before, out.counts.data() + before);
    out.features.set_size(before + size);
    out.counts.set_size(before + size);
    const int64_t row = out.indptr.size();
    out.indptr.grow(row + 1);
    out.indptr.data()[row] = before + size;
    out.indptr.set_size(row + 1);
  }

  uint64_t* roll(int64_t n, uint64_t* to) const {
    const uint64_t* const units = units_.data();
    const int64_t m = units_.size();
    const auto length = static_cast<uint64_t>(n);
    if (n == 1) {
      for (int64_t i = 0; i < m; ++i) *to++ = mix64(units[i] + 1) >> 2;
      return to;
    }
    uint64_t leaving = 1, p = 0;  // the factor of the unit that leaves: G^n
    for (int64_t i = 0; i < n; ++i) leaving *= kGolden64;
    for (int64_t i = 0; i < n; ++i) p = p * kGolden64 + units[i];
    *to++ = mix64(p + length) >> 2;
    for (int64_t i = n; i < m; ++i) {
      p = p * kGolden64 + (units[i] - leaving * units[i - n]);
      *to++ = mix64(p + length) >> 2;
    }
    return to;
  }

  ShingleParams params_;
  const Characters& characters_;
  uint64_t ascii_units_[128];
  bool ascii_spaces_[128];
  Words words_;
  Distinct distinct_;
  Growing<uint64_t> units_, features_;
};

// Rows of no text.
ShingleRows no_rows() {
  ShingleRows made;
  made.indptr.grow(1);
  made.indptr.data()[0] = 0;
  made.indptr.set_size(1);
  return made;
}

// Makes room for all shingles that texts of so many bytes can have, up to some megabytes: what is not written to costs
// nothing.
void reserve(int64_t bytes, const ShingleParams& params, ShingleRows& rows) {
  const int64_t units = params.words ? bytes / 2 + 1 : bytes;
  const int64_t most = std::min(units, kReserved) * std::min(params.n_max - params.n_min + 1, kReserved);
  rows.features.grow(std::min(most, kReserved));
  rows.counts.grow(std::min(most, kReserved));
}

// Makes room for rows that will be `times` as large, and a little more.
void expect(double times, ShingleRows& rows) {
  const auto room = static_cast<int64_t>(static_cast<double>(rows.features.size()) * times * 1.125);
  rows.features.grow(room);
  rows.counts.grow(room);
}

template <class T>
void append(const Growing<T>& from, Growing<T>& to) {
  const int64_t before = to.size();
  std::copy_n(from.data(), from.size(), to.data() + before);
  to.set_size(before + from.size());
}

// Appends the rows of a part, for which there is room, and forgets them.
void append(ShingleRows& part, ShingleRows& rows) {
  const int64_t before = rows.features.size(), row = rows.indptr.size() - 1, added = part.indptr.size();
  for (int64_t i = 1; i < added; ++i) rows.indptr.data()[row + i] = before + part.indptr.data()[i];
  rows.indptr.set_size(row + added);
  append(part.features, rows.features);
  append(part.counts, rows.counts);
  part = {};
}

}  // namespace

ShingleRows shingles(const std::vector<TextSpan>& texts, const ShingleParams& params, int threads,
                     bool (*interrupted)()) {
  std::vector<std::size_t> firsts{0};  // the first text of each part
  int64_t bytes = 0, first_part = 0;
  for (std::size_t i = 0, before = 0; i < texts.size(); ++i) {
    if (bytes - static_cast<int64_t>(before) >= kPartBytes || i - firsts.back() >= kPartTexts) {
      if (firsts.size() == 1) first_part = bytes;
      firsts.push_back(i);
      before = static_cast<std::size_t>(bytes);
    }
    bytes += texts[i].size;
  }
  const auto count = static_cast<int64_t>(firsts.size());
  firsts.push_back(texts.size());
  ShingleRows rows = no_rows();
  rows.indptr.grow(static_cast<int64_t>(texts.size()) + 1);
  reserve(bytes, params, rows);
  std::vector<ShingleRows> parts;
  const bool alone = threads <= 1 || count == 1;  // parts come in their order
  for (int64_t part = 0; !alone && part < count; ++part) parts.push_back(no_rows());
  const bool done = parallel(count, std::max(threads, 1), interrupted, [&](const auto& next) {
    Shingler shingler(params);
    for (int64_t part; (part = next()) >= 0;) {
      if (alone && part == 1 && first_part > 0) expect(static_cast<double>(bytes) / static_cast<double>(first_part), rows);
      for (std::size_t i = firsts[part]; i < firsts[part + 1]; ++i) shingler.add(texts[i], alone ? rows : parts[part]);
    }
  });
  if (!done) return no_rows();
  int64_t total = rows.features.size();
  for (const auto& part : parts) total += part.features.size();
  rows.features.grow(total);
  rows.counts.grow(total);
  for (auto& part : parts) append(part, rows);
  return rows;
}

}  // namespace kernelsketch
