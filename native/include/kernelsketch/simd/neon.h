// simd.h for NEON, which every arm64 processor has. A mask is a vector whose lanes are all ones or all zeros.
#pragma once

#include <arm_neon.h>

#define KS_32_REGISTERS 1  // others have 16

namespace kernelsketch::KERNELSKETCH_ISA {

template <>
struct Vec<int32_t> {
  static constexpr int width = 4;
  uint32x4_t v;
  static KS_INLINE Vec set(uint32_t x) { return {vdupq_n_u32(x)}; }
  static KS_INLINE Vec load(const int32_t* p) { return {vreinterpretq_u32_s32(vld1q_s32(p))}; }
  KS_INLINE void store(int32_t* p) const { vst1q_s32(p, vreinterpretq_s32_u32(v)); }
  friend KS_INLINE Vec operator^(Vec a, Vec b) { return {veorq_u32(a.v, b.v)}; }
  friend KS_INLINE Vec operator&(Vec a, Vec b) { return {vandq_u32(a.v, b.v)}; }
  friend KS_INLINE Vec operator|(Vec a, Vec b) { return {vorrq_u32(a.v, b.v)}; }
  friend KS_INLINE Vec operator+(Vec a, Vec b) { return {vaddq_u32(a.v, b.v)}; }
  friend KS_INLINE Vec operator-(Vec a, Vec b) { return {vsubq_u32(a.v, b.v)}; }
  friend KS_INLINE Vec operator*(Vec a, Vec b) { return {vmulq_u32(a.v, b.v)}; }
  KS_SHIFT(right, vshrq_n_u32(v, n))
  KS_SHIFT(right_signed, vreinterpretq_u32_s32(vshrq_n_s32(vreinterpretq_s32_u32(v), n)))
  KS_SHIFT(left, vshlq_n_u32(v, n))
};

template <>
struct Vec<double> {
  static constexpr int width = 2;
  float64x2_t v;
  static KS_INLINE Vec set(double x) { return {vdupq_n_f64(x)}; }
  static KS_INLINE Vec load(const double* p) { return {vld1q_f64(p)}; }
  static KS_INLINE Vec load(const float* p) { return {vcvt_f64_f32(vld1_f32(p))}; }
  KS_INLINE void store(double* p) const { vst1q_f64(p, v); }
  KS_INLINE void store(float* p) const { vst1_f32(p, vcvt_f32_f64(v)); }
  KS_ARITHMETIC(v, q_f64)
  static KS_INLINE Vec fma(Vec a, Vec b, Vec c) { return {vfmaq_f64(c.v, a.v, b.v)}; }
  KS_INLINE Vec nearest() const { return {vrndnq_f64(v)}; }
  KS_INLINE double total() const { return vaddvq_f64(v); }
};

template <>
struct Vec<float> {
  static constexpr int width = 4;
  float32x4_t v;
  static KS_INLINE Vec set(float x) { return {vdupq_n_f32(x)}; }
  static KS_INLINE Vec load(const float* p) { return {vld1q_f32(p)}; }
  KS_INLINE void store(float* p) const { vst1q_f32(p, v); }
  KS_ARITHMETIC(v, q_f32)
  static KS_INLINE Vec fma(Vec a, Vec b, Vec c) { return {vfmaq_f32(c.v, a.v, b.v)}; }
  static KS_INLINE Vec fnma(Vec a, Vec b, Vec c) { return {vfmsq_f32(c.v, a.v, b.v)}; }
  KS_INLINE Vec floor() const { return {vrndmq_f32(v)}; }
  KS_INLINE Vec nearest() const { return {vrndnq_f32(v)}; }
  static KS_INLINE Vec from_int(Vec<int32_t> x) { return {vcvtq_f32_s32(vreinterpretq_s32_u32(x.v))}; }
  static KS_INLINE Vec from_bits(Vec<int32_t> x) { return {vreinterpretq_f32_u32(x.v)}; }
  KS_INLINE Vec<int32_t> bits() const { return {vreinterpretq_u32_f32(v)}; }
  KS_INLINE Vec<double> part(int i) const { return {i == 0 ? vcvt_f64_f32(vget_low_f32(v)) : vcvt_high_f64_f32(v)}; }
};

struct Mask {  // of lanes of 32 bits
  static constexpr int width = 4;
  uint32x4_t v;
};
KS_INLINE Mask less(Vec<float> a, Vec<float> b) { return {vcltq_f32(a.v, b.v)}; }
KS_INLINE uint64x2_t less(Vec<double> a, Vec<double> b) { return vcltq_f64(a.v, b.v); }
KS_INLINE Vec<float> select(Mask mask, Vec<float> a, Vec<float> b) { return {vbslq_f32(mask.v, a.v, b.v)}; }
KS_INLINE Vec<int32_t> select(Mask mask, Vec<int32_t> a, Vec<int32_t> b) { return {vbslq_u32(mask.v, a.v, b.v)}; }
KS_INLINE Vec<double> select(uint64x2_t mask, Vec<double> a, Vec<double> b) { return {vbslq_f64(mask, a.v, b.v)}; }
KS_INLINE uint32_t bits(Mask mask) {
  constexpr uint32_t kBits[] = {1, 2, 4, 8};
  return vaddvq_u32(vandq_u32(mask.v, vld1q_u32(kBits)));
}

struct Bytes {
  static constexpr int width = 2;
  uint64x2_t v;
  static KS_INLINE Bytes zero() { return {vdupq_n_u64(0)}; }
  static KS_INLINE Bytes load(const uint8_t* p) { return {vreinterpretq_u64_u8(vld1q_u8(p))}; }
  static KS_INLINE Bytes set8(const uint8_t* p) {
    const uint8x8_t x = vld1_u8(p);
    return {vreinterpretq_u64_u8(vcombine_u8(x, x))};
  }
  KS_INLINE void add_differences(Bytes a, Bytes b) {
    const uint8x16_t d = vabdq_u8(vreinterpretq_u8_u64(a.v), vreinterpretq_u8_u64(b.v));
    v = vpadalq_u32(v, vpaddlq_u16(vpaddlq_u8(d)));
  }
  KS_INLINE void store(float* p) const {
    p[0] = static_cast<float>(vgetq_lane_u64(v, 0));
    p[1] = static_cast<float>(vgetq_lane_u64(v, 1));
  }
  KS_INLINE int64_t total() const { return static_cast<int64_t>(vgetq_lane_u64(v, 0) + vgetq_lane_u64(v, 1)); }
};

constexpr int kEqualBytes = 8;
KS_INLINE uint32_t equal_bytes(const uint8_t* a, const uint8_t* b) {
  return vaddv_u8(vand_u8(vceq_u8(vld1_u8(a), vld1_u8(b)), vcreate_u8(0x8040201008040201u)));
}

}  // namespace kernelsketch::KERNELSKETCH_ISA
