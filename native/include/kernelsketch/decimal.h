// Decimal numbers, correctly rounded: see libsvm.h for the grammar and the bounds.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>
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

}  // namespace kernelsketch
