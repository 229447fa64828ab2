// Scalar operations with equal bits everywhere: types of fixed width, correctly rounded functions, bits of numbers.
//
// The headers of native/core hold each formula of the library once, operation by operation as the NumPy specification
// (reference/) has it. Three compilers take them:
//   C++20   scalar code of native/, also in files that are compiled once per instruction set;
//   NVRTC   the CUDA kernels of backends/cuda, and a C++ compiler where tests emulate a GPU;
//   C99     the header that Predictor.to_c writes, which contains those that it needs (not overloads.h or templates).
// So they use no standard library where the compiler has built-in functions, and all names begin with ks_ or KS_: the
// C header has the name of the model there. Functions are static, so that code compiled for one instruction set stays
// there. This is the only header that uses compilers' built-in functions for arithmetic.
//
// Logarithms and exponentials are those of the platform: the logarithmic loss, which alone uses them, differs by rounding.
//
// Every fused multiply-add is written out; all other products and sums are rounded one by one, so compilers must not
// contract them (-ffp-contract=off, --fmad=false).
#pragma once

#if defined(__CUDACC__)
#define KS_FUNCTION __host__ __device__ __forceinline__
#else
#define KS_FUNCTION static inline
#endif

typedef unsigned char ks_u8;
typedef unsigned short ks_u16;
typedef unsigned int ks_u32;
typedef unsigned long long ks_u64;
typedef int ks_i32;
typedef long long ks_i64;

#if defined(__GNUC__) && !defined(__CUDA_ARCH__)
#define KS_BUILTIN(name) __builtin_##name
#else
#if !defined(__CUDA_ARCH__)
#include <math.h>
#include <string.h>
#endif
#define KS_BUILTIN(name) name
#endif

KS_FUNCTION float ks_fmaf(float a, float b, float c) { return KS_BUILTIN(fmaf)(a, b, c); }
KS_FUNCTION double ks_fma(double a, double b, double c) { return KS_BUILTIN(fma)(a, b, c); }
KS_FUNCTION float ks_divf(float a, float b) { return a / b; }
KS_FUNCTION double ks_div(double a, double b) { return a / b; }
KS_FUNCTION float ks_sqrtf(float x) { return KS_BUILTIN(sqrtf)(x); }
KS_FUNCTION double ks_sqrt(double x) { return KS_BUILTIN(sqrt)(x); }
KS_FUNCTION float ks_rintf(float x) { return KS_BUILTIN(rintf)(x); }
KS_FUNCTION double ks_rint(double x) { return KS_BUILTIN(rint)(x); }
KS_FUNCTION float ks_floorf(float x) { return KS_BUILTIN(floorf)(x); }
KS_FUNCTION float ks_fabsf(float x) { return KS_BUILTIN(fabsf)(x); }
KS_FUNCTION double ks_fabs(double x) { return KS_BUILTIN(fabs)(x); }
KS_FUNCTION double ks_exp(double x) { return KS_BUILTIN(exp)(x); }
KS_FUNCTION double ks_log(double x) { return KS_BUILTIN(log)(x); }
KS_FUNCTION double ks_log1p(double x) { return KS_BUILTIN(log1p)(x); }
KS_FUNCTION ks_u32 ks_bits32(float x) {
  ks_u32 bits;
  KS_BUILTIN(memcpy)(&bits, &x, sizeof bits);
  return bits;
}
KS_FUNCTION float ks_float32(ks_u32 bits) {
  float x;
  KS_BUILTIN(memcpy)(&x, &bits, sizeof x);
  return x;
}
KS_FUNCTION ks_u64 ks_bits64(double x) {
  ks_u64 bits;
  KS_BUILTIN(memcpy)(&bits, &x, sizeof bits);
  return bits;
}
KS_FUNCTION double ks_float64(ks_u64 bits) {
  double x;
  KS_BUILTIN(memcpy)(&x, &bits, sizeof x);
  return x;
}

// 1 / r, correctly rounded, of positive numbers of 8 significant bits. On a GPU an approximation by hardware, off by one unit
// in the last place, and one step of Newton's method: no other numbers become exact.
KS_FUNCTION float ks_reciprocal(float r) {
#if defined(__CUDA_ARCH__)
  float y;
  asm("rcp.approx.f32 %0, %1;" : "=f"(y) : "f"(r));
  return ks_fmaf(y, ks_fmaf(-r, y, 1.0f), y);
#else
  return 1.0f / r;
#endif
}
