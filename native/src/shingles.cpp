#include "kernelsketch/shingles.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "characters.h"
#include "kernelsketch/parallel.h"
#include "kernelsketch/rng.h"

namespace kernelsketch {
namespace {

constexpr int64_t kPartBytes = 1 << 18;  // of text that a thread takes at a time
constexpr int64_t kStep = 8;             // bytes of ASCII that are looked at together, as one number
constexpr int64_t kSlack = 64;           // bytes that may be read behind a text
constexpr uint64_t kEach = 0x0101010101010101u, kTop = 0x80 * kEach;

uint64_t load(const uint8_t* text) {
  uint64_t bytes;
  std::memcpy(&bytes, text, kStep);
  return bytes;
}

// The top bits of the bytes that are at least `low` and at most `high`; all bytes are ASCII.
constexpr uint64_t between(uint64_t bytes, uint8_t low, uint8_t high) {
  return (bytes + (0x80 - low) * kEach) & ~(bytes + (0x7F - high) * kEach) & kTop;
}

// ASCII word characters in lower case (or as they are), other ASCII as 0.
template <bool lowercase>
uint64_t clean_ascii(uint64_t bytes) {
  const uint64_t letters = between(bytes | 0x20 * kEach, 'a', 'z');
  const uint64_t words = letters | between(bytes, '0', '9') | between(bytes, '_', '_');
  return (lowercase ? bytes | letters >> 2 : bytes) & (words >> 7) * 0xFF;
}

// One bit per byte of 8: whether it is not 0.
uint64_t nonzero_of_8(uint64_t bytes) {
  const uint64_t flags = (((bytes & ~kTop) + 0x7F * kEach) | bytes) & kTop;
  return (flags >> 7) * 0x0102040810204080u >> 56;
}

// Turns texts into rows, one after the other, in memory that it keeps.
class Shingler {
 public:
  explicit Shingler(const ShingleParams& params) : params_(params), characters_(Characters::get()) {
    for (uint32_t code = 0; code < 128; ++code) ascii_units_[code] = unit_of(code_of(code, characters_[code]));
  }

  void add(const uint8_t* text, int64_t size, ShingleRows& out) {
    units_.clear();
    if (params_.words) {
      const int64_t cleaned = params_.lowercase ? clean<true>(text, size) : clean<false>(text, size);
      find_words(cleaned);
    } else {
      find_characters(text, text + size);
    }
    write(out);
  }

 private:
  uint32_t code_of(uint32_t code, uint32_t known) const {
    return params_.lowercase ? known & Characters::kCode : code;
  }
  static uint64_t unit_of(uint64_t code) { return mix64(code + kGolden64); }

  // Writes the words of a text, with zeros between them, to clean_; returns the size. A character of n bytes has a
  // lower case of at most 3 n / 2.
  template <bool lowercase>
  int64_t clean(const uint8_t* p, int64_t size) {
    const uint8_t* const end = p + size;
    clean_.grow(size + size / 2 + kSlack);
    uint8_t* out = clean_.data();
    while (end - p >= kStep) {
      const uint64_t bytes = load(p);
      if ((bytes & kTop) == 0) {
        const uint64_t found = clean_ascii<lowercase>(bytes);
        std::memcpy(out, &found, kStep);
        p += kStep;
        out += kStep;
        continue;
      }
      for (const uint8_t* const stop = p + kStep; p < stop;) out = clean_one<lowercase>(p, end, out);
    }
    while (p != end) out = clean_one<lowercase>(p, end, out);
    std::memset(out, 0, kSlack);
    return out - clean_.data();
  }

  template <bool lowercase>
  uint8_t* clean_one(const uint8_t*& p, const uint8_t* end, uint8_t* out) const {
    const uint32_t code = decode(p, end), known = characters_[code];
    if (known & Characters::kWord) return out + encode(lowercase ? known & Characters::kCode : code, out);
    *out = 0;
    return out + 1;
  }

  // The hashes of the words in clean_, which are runs of bytes other than 0.
  void find_words(int64_t size) {
    const uint8_t* const text = clean_.data();
    units_.grow(size / 2 + 1);
    uint64_t* to = units_.data();
    uint64_t inside = 0;  // whether the last byte belonged to a word
    int64_t start = 0;
    for (int64_t base = 0; base <= size; base += 64) {
      const uint64_t mask = nonzero(text + base);
      uint64_t edges = mask ^ (mask << 1 | inside);
      bool open = inside;
      inside = mask >> 63;
      for (; edges; edges &= edges - 1, open = !open) {
        const int64_t at = base + std::countr_zero(edges);
        if (open)
          *to++ = hash_word(text + start, at - start);
        else
          start = at;
      }
    }
    units_.set_size(to - units_.data());
  }

  static uint64_t nonzero(const uint8_t* text) {
    uint64_t mask = 0;
    for (int i = 0; i < 8; ++i) mask |= nonzero_of_8(little_endian(load(text + 8 * i))) << (8 * i);
    return mask;
  }

  static uint64_t hash_word(const uint8_t* word, int64_t size) {
    uint64_t hash = 0;
    for (; size > 8; size -= 8, word += 8) hash = mix64(hash + little_endian(load(word)) + kGolden64);
    return mix64(hash + (little_endian(load(word)) & ~uint64_t{0} >> (64 - 8 * size)) + kGolden64);
  }

  static uint64_t little_endian(uint64_t x) {
    if constexpr (std::endian::native == std::endian::big) {
      uint64_t swapped = 0;
      for (int i = 0; i < 8; ++i) swapped |= (x >> (8 * i) & 0xFF) << (8 * (7 - i));
      return swapped;
    }
    return x;
  }

  void find_characters(const uint8_t* p, const uint8_t* end) {
    units_.grow(end - p);
    uint64_t* to = units_.data();
    const uint64_t blank = unit_of(' ');
    bool space = false;
    while (p != end) {
      const uint32_t code = decode(p, end), known = characters_[code];
      if (known & Characters::kSpace) {
        space = true;
        continue;
      }
      if (space && to != units_.data()) *to++ = blank;
      space = false;
      *to++ = code < 128 ? ascii_units_[code] : unit_of(code_of(code, known));
    }
    units_.set_size(to - units_.data());
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
    const uint64_t* const sorted = sort(total);
    const int64_t before = out.features.size();
    out.features.grow(before + total);
    out.counts.grow(before + total);
    int64_t* const features = out.features.data() + before;
    float* const counts = out.counts.data() + before;
    int64_t size = 0;
    int32_t count = 0;
    uint64_t previous = ~uint64_t{0};
    for (int64_t i = 0; i < total; ++i) {
      const bool is_new = sorted[i] != previous;
      previous = sorted[i];
      size += is_new;
      count = count * !is_new + 1;
      features[size - 1] = static_cast<int64_t>(previous);
      counts[size - 1] = static_cast<float>(count);
    }
    out.features.set_size(before + size);
    out.counts.set_size(before + size);
    out.sizes.push_back(size);
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

  // Returns the features in ascending order. They are uniform below 2^62: after they are put into buckets by their
  // leading bits, about two buckets for each, hardly any is out of place.
  const uint64_t* sort(int64_t n) {
    if (n < 2) return features_.data();
    const int bits = std::bit_width(static_cast<uint64_t>(n)), shift = 62 - bits;
    const int64_t buckets = int64_t{1} << bits;
    starts_.grow(buckets + 1);
    sorted_.grow(n);
    const uint64_t* const from = features_.data();
    uint64_t* const to = sorted_.data();
    int64_t* const starts = starts_.data();
    std::fill(starts, starts + buckets, 0);
    for (int64_t i = 0; i < n; ++i) ++starts[from[i] >> shift];
    for (int64_t b = 0, sum = 0; b < buckets; ++b) {
      const int64_t size = starts[b];
      starts[b] = sum;
      sum += size;
    }
    for (int64_t i = 0; i < n; ++i) to[starts[from[i] >> shift]++] = from[i];
    for (int64_t i = 1; i < n; ++i) {
      const uint64_t x = to[i];
      int64_t j = i;
      for (; j > 0 && to[j - 1] > x; --j) to[j] = to[j - 1];
      to[j] = x;
    }
    return to;
  }

  ShingleParams params_;
  const Characters& characters_;
  uint64_t ascii_units_[128];
  Growing<uint8_t> clean_;
  Growing<uint64_t> units_, features_, sorted_;
  Growing<int64_t> starts_;
};

}  // namespace

std::vector<ShingleRows> shingles(const char* text, const int64_t* ends, int64_t n, const ShingleParams& params,
                                  int threads, bool (*interrupted)()) {
  std::vector<int64_t> parts{0};  // the first text of each part
  for (int64_t i = 1; i < n; ++i)
    if (ends[i] - ends[parts.back()] >= kPartBytes || i - parts.back() >= kPartBytes) parts.push_back(i);
  std::vector<ShingleRows> rows(parts.size());
  parts.push_back(n);
  const auto count = static_cast<int64_t>(rows.size());
  const bool done = parallel(count, std::max(threads, 1), interrupted, [&](const auto& next) {
    Shingler shingler(params);
    for (int64_t part; (part = next()) >= 0;)
      for (int64_t i = parts[part]; i < parts[part + 1]; ++i)
        shingler.add(reinterpret_cast<const uint8_t*>(text) + ends[i], ends[i + 1] - ends[i], rows[part]);
  });
  if (!done) rows.clear();
  return rows;
}

}  // namespace kernelsketch
