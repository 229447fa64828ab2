// Decimal numbers, in and out. Reading is correctly rounded: see libsvm.h for the grammar and the bounds.
//
// Writing gives the shortest digits that read back as the same Real, of these the nearest. Numbers from 1e-4 to 1e16
// (float: 1e6), without the latter, stand as they are, 0.25 or 1024; others have an exponent of two digits at least,
// 2.5e-05 or 1e+16. Whole numbers that stand as they are have no shorter text than their own digits: as they are below
// 2^54, and even from 2^53 on, no number with a zero more at its end is as near as half a step.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <type_traits>
#if !defined(__cpp_lib_to_chars) && !defined(_MSC_VER)
#include <locale.h>
#if defined(__APPLE__)
#include <xlocale.h>
#endif
#endif

namespace kernelsketch {

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') < 10; }

// What was read: `end` is null if no number begins here; an overflow gives infinity.
template <class Real>
struct Decimal {
  Real value;
  const char* end;
};

namespace decimal {

constexpr double kPowers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                              1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

// A number without a sign, known to fill [first, last), by the standard library; `above`: whether it is above 1.
template <class Real>
Real by_library(const char* first, const char* last, bool above) {
#if defined(__cpp_lib_to_chars) || defined(_MSC_VER)
  Real value = 0;
  const auto found = std::from_chars(first, last, value);
  if (found.ec == std::errc::result_out_of_range) return above ? std::numeric_limits<Real>::infinity() : Real(0);
  return value;
#else
  // strtod stops at `last` by itself: what stands there belongs to no number. The locale is always C's.
  static const locale_t plain = newlocale(LC_ALL_MASK, "C", static_cast<locale_t>(0));
  (void)last, (void)above;
  if constexpr (sizeof(Real) == 4)
    return strtof_l(first, nullptr, plain);
  else
    return strtod_l(first, nullptr, plain);
#endif
}

// Whether a float64 between the smallest and the largest normal float lies exactly between two floats.
inline bool is_between_floats(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return (bits & 0x1FFFFFFF) == 0x10000000;
}

}  // namespace decimal

// Reads the longest number at `p`. A byte that belongs to no number must follow somewhere.
template <class Real>
Decimal<Real> read_decimal(const char* p) {
  const bool negative = *p == '-';
  if (*p == '-' || *p == '+') ++p;
  const char* const first = p;
  uint64_t digits = 0;  // as an integer; wraps beyond 19 digits, when it is not used
  for (; is_digit(*p); ++p) digits = 10 * digits + static_cast<uint64_t>(*p - '0');
  int64_t count = p - first, exponent = 0;
  if (*p == '.') {
    const char* const fraction = ++p;
    for (; is_digit(*p); ++p) digits = 10 * digits + static_cast<uint64_t>(*p - '0');
    exponent = fraction - p;
    count -= exponent;
  }
  if (count == 0) return {0, nullptr};
  if (*p == 'e' || *p == 'E') {
    ++p;
    const bool down = *p == '-';
    if (*p == '-' || *p == '+') ++p;
    if (!is_digit(*p)) return {0, nullptr};
    int64_t power = 0;
    for (; is_digit(*p); ++p)
      if (power < (int64_t{1} << 60) / 10) power = 10 * power + (*p - '0');  // a text has fewer digits than that
    exponent += down ? -power : power;
  }
  Real value;
  if (count <= 19 && digits <= (uint64_t{1} << 53) && exponent >= -22 && exponent <= 22) {
    const double w = static_cast<double>(digits);
    const double exact = exponent < 0 ? w / decimal::kPowers[-exponent] : w * decimal::kPowers[exponent];
    value = static_cast<Real>(exact);  // 0, or from 1e-22 to 9.1e37
    if constexpr (sizeof(Real) == 4)
      if (decimal::is_between_floats(exact)) value = decimal::by_library<Real>(first, p, exact > 1);
  } else {
    const char* lead = first;  // the first digit that counts
    while (*lead == '0' || *lead == '.') ++lead;
    if (!is_digit(*lead)) {
      value = 0;
    } else {
      int64_t counting = 0;  // The number lies from a tenth of 10^(counting + exponent) to that.
      for (const char* q = lead; is_digit(*q) || *q == '.'; ++q) counting += *q != '.';
      value = decimal::by_library<Real>(first, p, counting + exponent > 0);
    }
  }
  return {negative ? -value : value, p};
}

// The most characters that write_decimal needs: -2.2250738585072014e-308.
constexpr int64_t kDecimalSize = 24;

namespace decimal {

// Numbers that stand as they are lie below it.
template <class Real>
constexpr double kScientific = sizeof(Real) == 4 ? 1e6 : 1e16;

inline char* put(char* p, const char* text, int count) {
  std::memcpy(p, text, count);
  return p + count;
}

// The shortest text of a number above 0, for standard libraries that cannot do it: more and more digits until they read
// back as the value. A normal number that has a text of digits10 digits or fewer is found with digits10, and zeros after
// it. Below a power of two floats are closer than above it, so that the nearest text may read as the one below, and the
// next one up as the value. (Not if the last digit is a nine: then the next one up is shorter.)
template <class Real>
char* print_shortest(char* p, Real value, bool fixed) {
  using Limits = std::numeric_limits<Real>;
  char digits[20] = {}, text[40];
  int count = value < Limits::min() ? 1 : Limits::digits10, exponent = 0;
  for (;; ++count) {
    std::snprintf(text, sizeof text, "%.*e", count - 1, static_cast<double>(value));
    const char* q = text;
    char* end = digits;
    for (; *q != 'e'; ++q)
      if (is_digit(*q)) *end++ = *q;  // whatever the locale has for a point
    exponent = std::atoi(q + 1);
    const auto reads_back = [&] {
      std::snprintf(text, sizeof text, "%.*se%d", count, digits, exponent - count + 1);
      return read_decimal<Real>(text).value == value;
    };
    if (reads_back()) break;
    if (end[-1] != '9' && (++end[-1], reads_back())) break;
  }
  while (count > 1 && digits[count - 1] == '0') --count;
  const int whole = fixed ? exponent + 1 : 1;  // digits before the point
  if (whole <= 0) {
    p = put(p, "0.000", 2 - whole);
    return put(p, digits, count);
  }
  p = put(p, digits, whole < count ? whole : count);
  for (int k = count; k < whole; ++k) *p++ = '0';
  if (count > whole) {
    *p++ = '.';
    p = put(p, digits + whole, count - whole);
  }
  if (fixed) return p;
  const int size = std::snprintf(text, sizeof text, "e%+03d", exponent);
  return put(p, text, size);
}

// Text of a number from 1e-4 to 1e7 that has eight decimals or fewer, null for others: much faster than the general way.
// n / 1e8 takes one rounding, so it is what the text reads as. With 15 digits at most no other text as short reads as it.
inline char* put_short(char* p, double value) {
  if (value >= 1e7) return nullptr;
  const auto n = static_cast<uint64_t>(value * 1e8 + 0.5);
  if (static_cast<double>(n) / 1e8 != value) return nullptr;
  p = std::to_chars(p, p + 7, n / 100000000).ptr;
  *p++ = '.';
  auto rest = static_cast<uint32_t>(n % 100000000);
  for (int k = 7; k >= 0; --k, rest /= 10) p[k] = static_cast<char>('0' + rest % 10);
  for (p += 8; p[-1] == '0';) --p;
  return p;
}

template <class Real>
char* put_shortest(char* p, Real value, bool fixed) {
#if defined(__cpp_lib_to_chars) || defined(_MSC_VER)
  return std::to_chars(p, p + kDecimalSize, value, fixed ? std::chars_format::fixed : std::chars_format::scientific)
      .ptr;
#else
  return print_shortest(p, value, fixed);
#endif
}

}  // namespace decimal

// Writes a number of any type to `p`, where kDecimalSize characters have room, and returns where it ends.
template <class Value>
char* write_decimal(char* p, Value value) {
  if constexpr (std::is_integral_v<Value>) {
    return std::to_chars(p, p + kDecimalSize, value).ptr;
  } else {
    if (std::isnan(value)) return decimal::put(p, "nan", 3);
    if (std::signbit(value)) {
      *p++ = '-';
      value = -value;
    }
    if (std::isinf(value)) return decimal::put(p, "inf", 3);
    const bool below = static_cast<double>(value) < decimal::kScientific<Value>;
    if (below && value == std::floor(value))
      return std::to_chars(p, p + kDecimalSize, static_cast<uint64_t>(value)).ptr;
    const bool fixed = below && static_cast<double>(value) >= 1e-4;
    if constexpr (sizeof(Value) == 8)
      if (char* const end = fixed ? decimal::put_short(p, value) : nullptr) return end;
    return decimal::put_shortest(p, value, fixed);
  }
}

}  // namespace kernelsketch
