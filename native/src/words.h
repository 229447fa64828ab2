// The words of a text: cleaned to lower case with zeros between them, found by their edges, and hashed.
//
// Bytes are looked at 8 at a time, as one number, in loops over 64 that compilers turn into vector code.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include "characters.h"
#include "kernelsketch/rng.h"
#include "kernelsketch/shingles.h"

namespace kernelsketch {

inline constexpr int64_t kBlock = 64;  // bytes that are looked at together
inline constexpr uint64_t kEach = 0x0101010101010101u, kTop = 0x80 * kEach;

inline uint64_t little_endian(uint64_t x) {
  if constexpr (std::endian::native == std::endian::big) {
    uint64_t swapped = 0;
    for (int i = 0; i < 8; ++i) swapped |= (x >> (8 * i) & 0xFF) << (8 * (7 - i));
    return swapped;
  }
  return x;
}

// Eight bytes as a number; the first byte is the lowest.
inline uint64_t load8(const void* from) {
  uint64_t bytes;
  std::memcpy(&bytes, from, 8);
  return little_endian(bytes);
}

inline void store8(uint64_t bytes, void* to) {
  bytes = little_endian(bytes);
  std::memcpy(to, &bytes, 8);
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
  return (lowercase ? bytes | letters >> 2 : bytes) & ((words << 1) - (words >> 7));
}

// One bit per byte of 8: whether it is not 0.
inline uint64_t nonzero_of_8(uint64_t bytes) {
  const uint64_t flags = (((bytes & ~kTop) + 0x7F * kEach) | bytes) & kTop;
  return (flags >> 7) * 0x0102040810204080u >> 56;
}

// Finds and hashes words, in memory that it keeps.
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
      std::memcpy(padded, from, static_cast<std::size_t>(size));
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
    for (; size > 8; size -= 8, word += 8) hash = mix64(hash + load8(word) + kGolden64);
    return mix64(hash + (load8(word) & ~uint64_t{0} >> (64 - 8 * size)) + kGolden64);
  }

  const Characters& characters_ = Characters::get();
  Growing<uint8_t> clean_;
};

}  // namespace kernelsketch
