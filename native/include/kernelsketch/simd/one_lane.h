// simd.h for any other processor: one lane, which compilers may join to vectors of their own.
#pragma once

#include "core/overloads.h"

namespace kernelsketch::KERNELSKETCH_ISA {

template <>
struct Vec<int32_t> {
  static constexpr int width = 1;
  uint32_t v;
  static KS_INLINE Vec set(uint32_t x) { return {x}; }
  static KS_INLINE Vec load(const int32_t* p) { return {static_cast<uint32_t>(*p)}; }
  KS_INLINE void store(int32_t* p) const { *p = static_cast<int32_t>(v); }
  friend KS_INLINE Vec operator^(Vec a, Vec b) { return {a.v ^ b.v}; }
  friend KS_INLINE Vec operator&(Vec a, Vec b) { return {a.v & b.v}; }
  friend KS_INLINE Vec operator|(Vec a, Vec b) { return {a.v | b.v}; }
  friend KS_INLINE Vec operator+(Vec a, Vec b) { return {a.v + b.v}; }
  friend KS_INLINE Vec operator-(Vec a, Vec b) { return {a.v - b.v}; }
  friend KS_INLINE Vec operator*(Vec a, Vec b) { return {a.v * b.v}; }
  KS_SHIFT(right, v >> n)
  KS_SHIFT(right_signed, static_cast<uint32_t>(static_cast<int32_t>(v) >> n))
  KS_SHIFT(left, v << n)
};

template <class T>
struct Vec {
  static constexpr int width = 1;
  T v;
  static KS_INLINE Vec set(T x) { return {x}; }
  static KS_INLINE Vec load(const auto* p) { return {static_cast<T>(*p)}; }
  KS_INLINE void store(auto* p) const { *p = static_cast<decltype(*p + 0)>(v); }
  static KS_INLINE Vec min(Vec a, Vec b) { return {a.v < b.v ? a.v : b.v}; }
  static KS_INLINE Vec max(Vec a, Vec b) { return {a.v > b.v ? a.v : b.v}; }
  friend KS_INLINE Vec operator+(Vec a, Vec b) { return {a.v + b.v}; }
  friend KS_INLINE Vec operator-(Vec a, Vec b) { return {a.v - b.v}; }
  friend KS_INLINE Vec operator*(Vec a, Vec b) { return {a.v * b.v}; }
  friend KS_INLINE Vec operator/(Vec a, Vec b) { return {a.v / b.v}; }
  static KS_INLINE Vec fma(Vec a, Vec b, Vec c) { return {ks::fused(a.v, b.v, c.v)}; }
  static KS_INLINE Vec fnma(Vec a, Vec b, Vec c) { return {ks::fused(-a.v, b.v, c.v)}; }
  KS_INLINE Vec root() const { return {ks::root(v)}; }
  KS_INLINE Vec floor() const { return {ks_floorf(v)}; }
  KS_INLINE Vec nearest() const { return {ks::nearest(v)}; }
  KS_INLINE double total() const { return v; }
  static KS_INLINE Vec from_int(Vec<int32_t> x) { return {static_cast<T>(static_cast<int32_t>(x.v))}; }
  static KS_INLINE Vec from_bits(Vec<int32_t> x) { return {ks_float32(x.v)}; }
  KS_INLINE Vec<int32_t> bits() const { return {ks_bits32(v)}; }
  KS_INLINE Vec<double> part(int) const { return {v}; }
};

struct Mask {
  static constexpr int width = 1;
  bool v;
};
template <class T>
KS_INLINE Mask less(Vec<T> a, Vec<T> b) {
  return {a.v < b.v};
}
template <class T>
KS_INLINE Vec<T> select(Mask mask, Vec<T> a, Vec<T> b) {
  return {mask.v ? a.v : b.v};
}
KS_INLINE uint32_t bits(Mask mask) { return mask.v; }

struct Bytes {
  static constexpr int width = 1;
  const uint8_t* p = nullptr;
  uint32_t v = 0;
  static KS_INLINE Bytes zero() { return {}; }
  static KS_INLINE Bytes load(const uint8_t* q) { return {q, 0}; }
  static KS_INLINE Bytes set8(const uint8_t* q) { return {q, 0}; }
  KS_INLINE void add_differences(Bytes a, Bytes b) {
    for (int i = 0; i < 8; ++i) v += a.p[i] > b.p[i] ? a.p[i] - b.p[i] : b.p[i] - a.p[i];
  }
  KS_INLINE void store(float* q) const { *q = static_cast<float>(v); }
  KS_INLINE int64_t total() const { return v; }
};

constexpr int kEqualBytes = 1;
KS_INLINE uint32_t equal_bytes(const uint8_t* a, const uint8_t* b) { return *a == *b; }

}  // namespace kernelsketch::KERNELSKETCH_ISA
