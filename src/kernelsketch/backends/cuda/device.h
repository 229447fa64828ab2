// What kernels need besides the arithmetic of native/core: vectors of 16 bytes, dynamic shared memory, asynchronous
// copies, and what a GPU does in another way than a processor.
//
// NVRTC compiles kernels with --fmad=false: products and sums are rounded one by one. Nothing depends on the order of
// threads.
//
// On machines without a GPU, tests compile the kernels with a C++ compiler and run them on emulated threads
// (tests/backends/cuda/emulated.h), which then takes the place of the GPU's own functions.
#pragma once

#include "core/gcws.h"
#include "core/overloads.h"

#ifdef __CUDACC__
#define KS_DYNAMIC_SHARED(name) extern __shared__ __align__(16) unsigned char name[]
#define KS_LAUNCH_BOUNDS(threads, blocks) __launch_bounds__(threads, blocks)
#else
#include "emulated.h"
#endif

// Kibibytes of shared memory that a block can have on the GPU that this is compiled for.
#ifndef KS_SHARED_KIB
#define KS_SHARED_KIB 227
#endif

typedef ks_u8 u8;
typedef ks_u16 u16;
typedef ks_u32 u32;
typedef ks_u64 u64;
typedef ks_i32 i32;
typedef ks_i64 i64;

namespace ks {

constexpr int kSharedKib = KS_SHARED_KIB;
constexpr int kWarp = 32;
constexpr u32 kAllLanes = 0xFFFFFFFFu;

// Copies 16 or 8 bytes from global to shared memory. They arrive after `copies_done<n>`, which leaves the last n groups open.
__device__ __forceinline__ void copy_async(void* shared, const void* global) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  u32 address = (u32)__cvta_generic_to_shared(shared);
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(address), "l"(global));
#else
  *(uint4*)shared = *(const uint4*)global;
#endif
}

__device__ __forceinline__ void copy_async8(void* shared, const void* global) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  u32 address = (u32)__cvta_generic_to_shared(shared);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(address), "l"(global));
#else
  *(u64*)shared = *(const u64*)global;
#endif
}

__device__ __forceinline__ void end_copies() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;");
#endif
}

template <int open>
__device__ __forceinline__ void copies_done() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group %0;" ::"n"(open));
#endif
}

// A value that all lanes of a warp have in common, in a form in which the compiler knows this. Branches on it are cheap.
__device__ __forceinline__ u32 in_common(u32 value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_or_sync(kAllLanes, value);
#else
  return value;
#endif
}

// Adding and subtracting 1.5 * 2^23 with rounding downwards is the floor of numbers below 2^22, at full speed on a GPU.
// Since r is above 2.1e-5, they are below 2^22 if the logarithm of a value is below kLargestFastLog.
constexpr float kLargestFastLog = 80.0f;
__device__ __forceinline__ float fast_floor(float x) {
#ifdef __CUDA_ARCH__
  return __fadd_rn(__fadd_rd(x, 12582912.0f), -12582912.0f);
#else
  return ks_floorf(x);
#endif
}

// The a of a value.
template <bool fast>
__device__ __forceinline__ float a_of(float log, const ks_parameters& of) {
  return ks_a(fast ? fast_floor(ks_unrounded(log, of)) : ks_above(log, of), of);
}

// a * b + c, between 0 and 1.
__device__ __forceinline__ float fused_share(float a, float b, float c) {
#ifdef __CUDA_ARCH__
  float found;
  asm("fma.rn.sat.f32 %0, %1, %2, %3;" : "=f"(found) : "f"(a), "f"(b), "f"(c));
  return found;
#else
  float found = fused(a, b, c);
  return found > 0 ? (found < 1 ? found : 1.0f) : 0.0f;
#endif
}

// Calls each(i, j) for the pairs of a thread, whose numbers stay in registers.
template <int kRows, int kColumns, class Each>
__device__ __forceinline__ void each_pair(Each each) {
#pragma unroll
  for (int i = 0; i < kRows; ++i)
#pragma unroll
    for (int j = 0; j < kColumns; ++j) each(i, j);
}

// The value that lanes of a warp make together, in all of them: join(value, other) in a fixed order.
template <class T, class Join>
__device__ __forceinline__ T warp_join(T value, Join join) {
  for (int step = kWarp / 2; step > 0; step /= 2) value = join(value, __shfl_xor_sync(kAllLanes, value, step));
  return value;
}
struct Sum {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a + b;
  }
};
struct Largest {
  template <class T>
  __device__ __forceinline__ T operator()(T a, T b) const {
    return a > b ? a : b;
  }
};

// The bits that any lane of a warp has.
__device__ __forceinline__ u32 warp_or(u32 value) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  return __reduce_or_sync(kAllLanes, value);
#else
  return warp_join(value, [](u32 a, u32 b) { return a | b; });
#endif
}

// The same of the threads of a block, warp by warp.
template <int kThreads, class T, class Join>
__device__ __forceinline__ T block_join(T value, Join join) {
  __shared__ T warps[kThreads / kWarp];
  value = warp_join(value, join);
  __syncthreads();
  if (threadIdx.x % kWarp == 0) warps[threadIdx.x / kWarp] = value;
  __syncthreads();
  T found = warps[0];
  for (int w = 1; w < kThreads / kWarp; ++w) found = join(found, warps[w]);
  return found;
}

// The first place from `low` on where before(place) is false, or `high`; it is true for all places before that.
template <class Place, class Before>
__device__ __forceinline__ Place first_not(Place low, Place high, Before before) {
  while (low < high) {
    Place middle = (low + high) / 2;
    if (before(middle))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

// The running sum of `value` over the threads of a block before this one; `total` becomes the sum over all.
template <int kThreads>
__device__ __forceinline__ u32 block_scan(u32 value, u32& total) {
  __shared__ u32 warps[kThreads / kWarp];
  int lane = threadIdx.x % kWarp, warp = threadIdx.x / kWarp;
  u32 sum = value;
  for (int step = 1; step < kWarp; step *= 2) {
    u32 other = __shfl_up_sync(kAllLanes, sum, step);
    if (lane >= step) sum += other;
  }
  __syncthreads();
  if (lane == kWarp - 1) warps[warp] = sum;
  __syncthreads();
  u32 before = 0;
  total = 0;
  for (int w = 0; w < kThreads / kWarp; ++w) {
    if (w < warp) before += warps[w];
    total += warps[w];
  }
  return before + sum - value;
}

// The sum of absolute differences of four bytes, added to `sum`.
__device__ __forceinline__ u32 add_differences(u32 a, u32 b, u32 sum) {
#ifdef __CUDA_ARCH__
  u32 found;
  asm("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;" : "=r"(found) : "r"(a), "r"(b), "r"(sum));
  return found;
#else
  for (int i = 0; i < 32; i += 8) {
    int d = (int)((a >> i) & 255) - (int)((b >> i) & 255);
    sum += (u32)(d < 0 ? -d : d);
  }
  return sum;
#endif
}

}  // namespace ks
