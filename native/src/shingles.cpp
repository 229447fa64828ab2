#include "kernelsketch/shingles.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <tuple>
#include <vector>

#include "characters.h"
#include "core/rng.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {
namespace {

constexpr int64_t kPartBytes = 1 << 18;          // of text that a thread takes at a time
constexpr std::size_t kPartTexts = 1 << 18;      // the same as a number of texts
constexpr int64_t kReserved = int64_t{1} << 22;  // features that there is room for at first, at most

constexpr int64_t kBlock = 64;  // bytes that are looked at together
constexpr uint64_t kEach = 0x0101010101010101u, kTop = 0x80 * kEach;

// Eight bytes as a number; the first byte is the lowest.
uint64_t load8(const void* from) {
  uint64_t bytes;
  std::memcpy(&bytes, from, 8);
  return bytes;
}

void store8(uint64_t bytes, void* to) { std::memcpy(to, &bytes, 8); }

// The top bits of the bytes that are at least `low` and at most `high`; all bytes are ASCII.
constexpr uint64_t between(uint64_t bytes, uint8_t low, uint8_t high) {
  return (bytes + (0x80 - low) * kEach) & ~(bytes + (0x7F - high) * kEach) & kTop;
}

// ASCII word characters in lower case (or as they are), other ASCII as 0.
template <bool lowercase>
uint64_t clean_ascii(uint64_t bytes) {
  const uint64_t letters = between(bytes | 0x20 * kEach, 'a', 'z');
  const uint64_t words = letters | between(bytes, '0', '9') | between(bytes, '_', '_');
  return (lowercase ? bytes | letters >> 2 : bytes) & ((words << 1) - (words >> 7));
}

// One bit per byte of 8: whether it is not 0.
uint64_t nonzero_of_8(uint64_t bytes) {
  const uint64_t flags = (((bytes & ~kTop) + 0x7F * kEach) | bytes) & kTop;
  return (flags >> 7) * 0x0102040810204080u >> 56;
}

// Finds and hashes words, in memory that it keeps. A text is cleaned to lower case with zeros between the words, which
// are found by their edges. Bytes are looked at 8 at a time, as one number, in loops over 64 that compilers turn into
// vector code.
class Words {
 public:
  // Adds the hashes of the words of a text to `units`, which is empty.
  void find(const TextSpan& text, bool lowercase, Growing<uint64_t>& units) {
    hash(lowercase ? clean<true>(text) : clean<false>(text), units);
  }

 private:
  // Writes the words of a text, with zeros between and behind them, to clean_; returns the size. A character of n bytes
  // has a lower case of at most 3 n / 2.
  template <bool lowercase>
  int64_t clean(const TextSpan& text) {
    const uint8_t *p = text.data, *const end = p + text.size;
    clean_.grow(text.size + text.size / 2 + 2 * kBlock);
    uint8_t* out = clean_.data();
    while (p != end) {
      const int64_t ascii = clean_block<lowercase>(p, std::min<int64_t>(end - p, kBlock), out);
      p += ascii;
      out += ascii;
      while (p != end && *p >= 0x80) out = clean_one<lowercase>(p, end, out);
    }
    std::memset(out, 0, kBlock);
    return out - clean_.data();
  }

  // Cleans up to 64 bytes, and returns how many there are before the first one that is not ASCII. Writes 64 bytes.
  template <bool lowercase>
  static int64_t clean_block(const uint8_t* from, int64_t size, uint8_t* to) {
    uint8_t padded[kBlock];
    if (size < kBlock) {
      std::memset(padded, 0, kBlock);
      std::memcpy(padded, from, size);
      from = padded;
    }
    uint64_t cleaned[kBlock / 8], others = 0;
    for (int i = 0; i < kBlock / 8; ++i) {
      const uint64_t bytes = load8(from + 8 * i);
      others |= bytes;
      cleaned[i] = clean_ascii<lowercase>(bytes & ~kTop);
    }
    for (int i = 0; i < kBlock / 8; ++i) store8(cleaned[i], to + 8 * i);
    if ((others & kTop) == 0) return size;
    int64_t i = 0;
    while ((load8(from + i) & kTop) == 0) i += 8;
    return i + (std::countr_zero(load8(from + i) & kTop) >> 3);
  }

  template <bool lowercase>
  uint8_t* clean_one(const uint8_t*& p, const uint8_t* end, uint8_t* out) const {
    const uint32_t code = decode(p, end), known = characters_[code];
    if (known & Characters::kWord) return out + encode(lowercase ? known & Characters::kCode : code, out);
    *out = 0;
    return out + 1;
  }

  // Hashes the words in clean_, which are runs of bytes other than 0. A block begins where the last one had its last
  // whole word.
  void hash(int64_t size, Growing<uint64_t>& units) {
    const uint8_t *text = clean_.data(), *const end = text + size;
    units.grow(size / 2 + 1);
    uint64_t* to = units.data();
    while (text < end) {
      const uint64_t mask = nonzero(text);
      const int open = std::countl_one(mask);  // bytes of a word that does not end here
      if (open == kBlock) {
        const uint8_t* const word = text;
        while (*text) ++text;
        *to++ = hash_word(word, text - word);
        continue;
      }
      const uint64_t whole = mask & ~uint64_t{0} >> open;
      for (uint64_t starts = whole & ~(whole << 1); starts; starts &= starts - 1) {
        const int start = std::countr_zero(starts);
        *to++ = hash_word(text + start, std::countr_one(whole >> start));
      }
      text += kBlock - open;
    }
    units.set_size(to - units.data());
  }

  static uint64_t nonzero(const uint8_t* text) {
    uint64_t mask = 0;
    for (int i = 0; i < 8; ++i) mask |= nonzero_of_8(load8(text + 8 * i)) << (8 * i);
    return mask;
  }

  static uint64_t hash_word(const uint8_t* word, int64_t size) {
    uint64_t hash = 0;
    for (; size > 8; size -= 8, word += 8) hash = ks_mix64(hash + load8(word) + KS_GOLDEN64);
    return ks_mix64(hash + (load8(word) & ~uint64_t{0} >> (64 - 8 * size)) + KS_GOLDEN64);
  }

  const Characters& characters_ = Characters::get();
  Growing<uint8_t> clean_;
};

// Distinct features of a text in ascending order, with their counts.
//
// Features are uniform below 2^62. They are put into buckets by their leading bits, one to eight buckets for each, after
// which hardly any is out of place. Counters of buckets are as narrow as the number of features allows: eight or four
// of them are summed up by one multiplication. Memory is kept.
class Distinct {
 public:
  // Writes the distinct ones of n features and their counts; returns how many they are. There is room for n.
  int64_t write(const uint64_t* from, int64_t n, int64_t* features, float* counts) {
    sorted_.grow(n + 1);
    uint64_t* const sorted = sorted_.data();
    if (n < 256)
      sort<uint8_t>(from, n, sorted);
    else if (n < 65536)
      sort<uint16_t>(from, n, sorted);
    else
      sort<uint64_t>(from, n, sorted);
    sorted[n] = ~uint64_t{0};
    lasts_.grow(n + 1);
    uint32_t* const lasts = lasts_.data();  // modulo 2^32: where each feature ends
    int64_t size = 0;
    lasts[0] = 0;
    for (int64_t i = 0; i < n; ++i) {
      features[size] = static_cast<int64_t>(sorted[i]);
      lasts[size + 1] = static_cast<uint32_t>(i + 1);
      size += sorted[i] != sorted[i + 1];
    }
    for (int64_t i = 0; i < size; ++i) counts[i] = static_cast<float>(static_cast<int32_t>(lasts[i + 1] - lasts[i]));
    return size;
  }

 private:
  template <class Count>
  void sort(const uint64_t* from, int64_t n, uint64_t* to) {
    constexpr int64_t lanes = 8 / sizeof(Count);
    constexpr int bits_of = 8 * sizeof(Count);
    constexpr uint64_t each = ~uint64_t{0} / (~uint64_t{0} >> (64 - bits_of));
    constexpr int more = lanes == 8 ? 2 : lanes == 4 ? 1 : 0;  // narrow counters are summed up faster
    const int bits = std::max(static_cast<int>(std::bit_width(static_cast<uint64_t>(n))) + more, 3), shift = 62 - bits;
    const int64_t buckets = int64_t{1} << bits;
    Growing<Count>& counters = std::get<Growing<Count>>(counters_);
    counters.grow(buckets);
    Count* const starts = counters.data();
    std::memset(starts, 0, buckets * sizeof(Count));
    for (int64_t i = 0; i < n; ++i) ++starts[from[i] >> shift];
    uint64_t sum = 0;
    for (int64_t b = 0; b < buckets; b += lanes) {
      const uint64_t sizes = load8(starts + b), ends = sizes * each;
      store8(ends - sizes + sum * each, starts + b);
      sum += ends >> (64 - bits_of);
    }
    for (int64_t i = 0; i < n; ++i) to[starts[from[i] >> shift]++] = from[i];
    for (int64_t i = 1; i < n; ++i) {
      if (to[i - 1] <= to[i]) continue;
      const uint64_t x = to[i];
      int64_t j = i;
      for (; j > 0 && to[j - 1] > x; --j) to[j] = to[j - 1];
      to[j] = x;
    }
  }

  Growing<uint64_t> sorted_;
  std::tuple<Growing<uint8_t>, Growing<uint16_t>, Growing<uint64_t>> counters_;
  Growing<uint32_t> lasts_;
};

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
  uint32_t code_of(uint32_t code, uint32_t known) const { return params_.lowercase ? known & Characters::kCode : code; }
  static uint64_t unit_of(uint64_t code) { return ks_mix64(code + KS_GOLDEN64); }

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
    out.grow(before + total);
    const int64_t size =
        distinct_.write(features_.data(), total, out.features.data() + before, out.counts.data() + before);
    out.features.set_size(before + size);
    out.counts.set_size(before + size);
    out.indptr.push(before + size);
  }

  uint64_t* roll(int64_t n, uint64_t* to) const {
    const uint64_t* const units = units_.data();
    const int64_t m = units_.size();
    const auto length = static_cast<uint64_t>(n);
    if (n == 1) {
      for (int64_t i = 0; i < m; ++i) *to++ = ks_mix64(units[i] + 1) >> 2;
      return to;
    }
    uint64_t leaving = 1, p = 0;  // the factor of the unit that leaves: G^n
    for (int64_t i = 0; i < n; ++i) leaving *= KS_GOLDEN64;
    for (int64_t i = 0; i < n; ++i) p = p * KS_GOLDEN64 + units[i];
    *to++ = ks_mix64(p + length) >> 2;
    for (int64_t i = n; i < m; ++i) {
      p = p * KS_GOLDEN64 + (units[i] - leaving * units[i - n]);
      *to++ = ks_mix64(p + length) >> 2;
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
  made.indptr.push(0);
  return made;
}

// Makes room for all shingles that texts of so many bytes can have, up to some megabytes: what is not written to costs
// nothing.
void reserve(int64_t bytes, const ShingleParams& params, ShingleRows& rows) {
  const int64_t units = params.words ? bytes / 2 + 1 : bytes;
  const int64_t most = std::min(units, kReserved) * std::min(params.n_max - params.n_min + 1, kReserved);
  rows.grow(std::min(most, kReserved));
}

// Makes room for rows that will be `times` as large, and a little more.
void expect(double times, ShingleRows& rows) {
  rows.grow(static_cast<int64_t>(static_cast<double>(rows.features.size()) * times * 1.125));
}

template <class T>
void append(const Growing<T>& from, Growing<T>& to) {
  const int64_t before = to.size();
  std::copy_n(from.data(), from.size(), to.data() + before);
  to.set_size(before + from.size());
}

// Appends the rows of a part, for which there is room, and clears the part.
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
                     Interrupted interrupted) {
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
      if (alone && part == 1 && first_part > 0)
        expect(static_cast<double>(bytes) / static_cast<double>(first_part), rows);
      for (std::size_t i = firsts[part]; i < firsts[part + 1]; ++i) shingler.add(texts[i], alone ? rows : parts[part]);
    }
  });
  if (!done) return no_rows();
  int64_t total = rows.features.size();
  for (const auto& part : parts) total += part.features.size();
  rows.grow(total);
  for (auto& part : parts) append(part, rows);
  return rows;
}

}  // namespace kernelsketch
