// The word characters, white space and lower case of reference/characters.py, and decoding of UTF-8.
#pragma once

#include <cstdint>
#include <vector>

#include "characters_table.h"

namespace kernelsketch {

inline constexpr uint32_t kReplacement = 0xFFFD;  // stands for what is not UTF-8

// What is known of each code point: its lower case in the lower bits, and flags.
class Characters {
 public:
  static constexpr uint32_t kWord = 1u << 31, kSpace = 1u << 30, kCode = (1u << 21) - 1;

  static const Characters& get() {
    static const Characters made;
    return made;
  }
  // Flags and lower case of a code point.
  uint32_t operator[](uint32_t code) const {
    if (code < kTable) return table_[code];
    return code | (high_[(code - kTable) >> 4] >> (code & 15) & 1 ? kWord : 0);
  }

 private:
  static constexpr uint32_t kTable = 0x20000, kEnd = 0x110000;  // above the table there are only words and others

  Characters() : table_(kTable), high_((kEnd - kTable) >> 4) {
    for (uint32_t code = 0; code < kTable; ++code) table_[code] = code;
    for (const auto& run : kLowerRuns)
      for (int32_t code = run.first; code <= run.last; code += run.step) table_[code] = code + run.distance;
    for (const auto& run : kWordRuns)
      for (uint32_t code = run.first; code <= run.last; ++code) {
        if (code < kTable)
          table_[code] |= kWord;
        else
          high_[(code - kTable) >> 4] |= static_cast<uint16_t>(1 << (code & 15));
      }
    for (const auto& run : kSpaceRuns)
      for (uint32_t code = run.first; code <= run.last; ++code) table_[code] |= kSpace;
  }

  std::vector<uint32_t> table_;
  std::vector<uint16_t> high_;
};

// Decodes one character at `p`, before `end`, and moves `p` behind it. A maximal part of a character that is not valid
// is one kReplacement.
inline uint32_t decode(const uint8_t*& p, const uint8_t* end) {
  const uint8_t lead = *p++;
  if (lead < 0x80) return lead;
  int more = 0;
  uint8_t low = 0x80, high = 0xBF;  // the range of the second byte
  uint32_t code = 0;
  if (lead >= 0xC2 && lead <= 0xDF) {
    more = 1;
    code = lead & 0x1F;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    more = 2;
    code = lead & 0x0F;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    more = 3;
    code = lead & 0x07;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  } else {
    return kReplacement;
  }
  for (; more > 0; --more) {
    if (p == end || *p < low || *p > high) return kReplacement;
    code = code << 6 | (*p++ & 0x3F);
    low = 0x80;
    high = 0xBF;
  }
  return code;
}

// Writes a code point in UTF-8 and returns how many bytes it has.
inline int encode(uint32_t code, uint8_t* out) {
  if (code < 0x80) {
    out[0] = static_cast<uint8_t>(code);
    return 1;
  }
  const int size = code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
  for (int i = size - 1; i > 0; --i, code >>= 6) out[i] = static_cast<uint8_t>(0x80 | (code & 0x3F));
  out[0] = static_cast<uint8_t>((0xF00 >> size & 0xFF) | code);
  return size;
}

}  // namespace kernelsketch
