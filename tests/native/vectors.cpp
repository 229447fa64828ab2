// The operations of simd.h against the standard library, for one instruction set. Prints how many results differ.
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>

#include "kernelsketch/simd.h"

using namespace kernelsketch::KERNELSKETCH_ISA;

namespace {

int64_t failures = 0;
std::mt19937_64 generator(1);

bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
}
bool same(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b);
}

// Numbers of both signs, of similar sizes or of very different ones, zeros and infinities.
float draw_float(bool similar) {
  const auto exponent = static_cast<uint32_t>(similar ? 117 + generator() % 20 : 30 + generator() % 190);
  const float x = std::bit_cast<float>((static_cast<uint32_t>(generator()) & 0x807FFFFFu) | exponent << 23);
  return generator() % 50 != 0 ? x : generator() % 2 ? 0.0f : std::copysign(INFINITY, x);
}
double draw_double() {
  const double x = std::bit_cast<double>((generator() & 0x800FFFFFFFFFFFFFu) | (1003 + generator() % 40) << 52);
  return generator() % 3 ? x : static_cast<float>(x);
}

// Calls expect(i) for each lane, arrays beginning where they are not aligned.
template <class V, class T, class Expect>
void compare(const char* what, V found, const T*, const Expect& expect) {
  T lanes[V::width + 1];
  found.store(lanes + 1);
  for (int i = 0; i < V::width; ++i) {
    if (same(lanes[i + 1], expect(i))) continue;
    if (failures++ < 10) std::printf("%s: %a, expected %a\n", what, lanes[i + 1], expect(i));
  }
}

void check(bool right, const char* what) {
  if (!right && failures++ < 10) std::printf("%s\n", what);
}

void test_floats(bool similar) {
  float numbers[3][17];
  for (auto& row : numbers)
    for (float& x : row) x = draw_float(similar);
  const float *x = numbers[0] + 1, *y = numbers[1] + 1, *z = numbers[2] + 1;
  const F16 a = F16::load(x), b = F16::load(y), c = F16::load(z);
  compare("fma", F16::fma(a, b, c), x, [&](int i) { return std::fma(x[i], y[i], z[i]); });
  compare("fnma", F16::fnma(a, b, c), x, [&](int i) { return std::fma(-x[i], y[i], z[i]); });
  compare("floor", a.floor() + F16::set(0), x, [&](int i) { return std::floor(x[i]) + 0.0f; });  // -0 may be 0
  compare("nearest", a.nearest() + F16::set(0), x, [&](int i) { return std::nearbyint(x[i]) + 0.0f; });
  compare("select", select(less(a, b), a, c), x, [&](int i) { return x[i] < y[i] ? x[i] : z[i]; });
  compare("as double", D8::load(x), static_cast<double*>(nullptr), [&](int i) { return static_cast<double>(x[i]); });
  float packed[16];
  const uint32_t mask = bits(less(a, b));
  pack(a, mask, packed);
  for (int i = 0, next = 0; i < 16; ++i) {
    check((mask >> i & 1) == (x[i] < y[i]), "bits");
    if (mask >> i & 1) check(same(packed[next++], x[i]), "pack");
  }
}

void test_doubles() {
  double numbers[3][9];
  for (auto& row : numbers)
    for (double& x : row) x = draw_double();
  const double *x = numbers[0] + 1, *y = numbers[1] + 1, *z = numbers[2] + 1;
  const D8 a = D8::load(x);
  compare("fma", D8::fma(a, D8::load(y), D8::load(z)), x, [&](int i) { return std::fma(x[i], y[i], z[i]); });
  compare("nearest", a.nearest() + D8::set(0), x, [&](int i) { return std::nearbyint(x[i]) + 0.0; });
  compare("as float", a, static_cast<float*>(nullptr), [&](int i) { return static_cast<float>(x[i]); });
  check(same(a.total(), ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]))), "total");
}

void test_integers() {
  int32_t numbers[2][17], found[17];
  for (auto& row : numbers)
    for (int32_t& x : row) x = static_cast<int32_t>(generator());
  const int32_t *x = numbers[0] + 1, *y = numbers[1] + 1;
  const I16 a = I16::load(x), b = I16::load(y);
  (a * b + a.right<7>() - b.right_signed<3>()).store(found + 1);
  for (int i = 0; i < 16; ++i) {
    const auto u = static_cast<uint32_t>(x[i]), v = static_cast<uint32_t>(y[i]);
    check(static_cast<uint32_t>(found[i + 1]) == u * v + (u >> 7) - static_cast<uint32_t>(y[i] >> 3), "integers");
  }
}

void test_bytes(int64_t n) {
  uint8_t a[64], b[64];
  uint64_t expected = 0;
  for (int i = 0; i < 64; ++i) {
    a[i] = generator() % 2, b[i] = generator() % 2;
    if (i < n) expected |= static_cast<uint64_t>(a[i] == b[i]) << i;
  }
  check(equal_bytes(a, b, n) == expected, "equal_bytes");
}

}  // namespace

int main() {
  for (int round = 0; round < 20000; ++round) {
    test_floats(round % 2 == 0);
    test_doubles();
    test_integers();
    test_bytes(round % 65);
  }
  std::printf("%lld differ\n", static_cast<long long>(failures));
  return failures != 0;
}
