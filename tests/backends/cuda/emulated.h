// A GPU for machines without one: the threads of a block are fibers of one thread of the processor, which run in turn
// until each waits at a barrier. Kernels are compiled as plain C++; shared memory is static, since blocks run one after
// the other. `emulate` launches a kernel. Its arguments are 64-bit integers, pointers and doubles.
#pragma once

#include <setjmp.h>
#include <ucontext.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __shared__ static
#define __align__(n) alignas(n)
#define KS_DYNAMIC_SHARED(name) unsigned char* name = emulated::dynamic_shared
#define KS_LAUNCH_BOUNDS(threads, blocks)

struct alignas(16) float4 {
  float x, y, z, w;
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(8) uint2 {
  unsigned x, y;
};
struct alignas(16) double2 {
  double x, y;
};
struct alignas(16) uint4 {
  unsigned x, y, z, w;
};

namespace emulated {

struct Index {
  unsigned x, y, z;
};
enum State { runs, waits_for_block, waits_for_warp, ended };

struct Fiber {
  ucontext_t context;  // where it starts
  jmp_buf place;       // where it waits; jumps are faster than switches of contexts, which call the system
  bool started;
  std::unique_ptr<char[]> stack;
  State state;
  Index thread;
  unsigned number, exchanges;
};

inline Index block, block_size, grid_size;
alignas(64) inline unsigned char dynamic_shared[256 * 1024];
inline std::vector<Fiber> fibers;
inline Fiber* current;
inline jmp_buf scheduler;
inline void (*body)();
inline unsigned char exchanged[1024][2][8];

constexpr size_t kStack = 128 * 1024;

inline void pause(State state) {
  current->state = state;
  if (_setjmp(current->place) == 0) _longjmp(scheduler, 1);
}

inline void run_fiber() {
  body();
  current->state = ended;
  _longjmp(scheduler, 1);
}

inline void resume(Fiber& fiber) {
  current = &fiber;
  if (_setjmp(scheduler) != 0) return;
  if (fiber.started) _longjmp(fiber.place, 1);
  fiber.started = true;
  setcontext(&fiber.context);
}

inline bool all_wait(size_t first, size_t last, State state) {
  for (size_t i = first; i < last && i < fibers.size(); ++i)
    if (fibers[i].state != state && fibers[i].state != ended) return false;
  return true;
}

inline void release(size_t first, size_t last) {
  for (size_t i = first; i < last && i < fibers.size(); ++i)
    if (fibers[i].state != ended) fibers[i].state = runs;
}

inline void run_block() {
  for (size_t i = 0; i < fibers.size(); ++i) {
    Fiber& f = fibers[i];
    f.state = runs;
    f.exchanges = 0;
    getcontext(&f.context);
    f.context.uc_stack.ss_sp = f.stack.get();
    f.context.uc_stack.ss_size = kStack;
    f.context.uc_link = nullptr;
    f.started = false;
    makecontext(&f.context, run_fiber, 0);
  }
  for (bool alive = true; alive;) {
    alive = false;
    for (size_t i = 0; i < fibers.size(); ++i) {
      if (fibers[i].state == runs) resume(fibers[i]);
    }
    for (size_t i = 0; i < fibers.size(); i += 32) {
      bool some = false;
      for (size_t j = i; j < i + 32 && j < fibers.size(); ++j) some |= fibers[j].state == waits_for_warp;
      if (some && all_wait(i, i + 32, waits_for_warp)) release(i, i + 32);
    }
    if (all_wait(0, fibers.size(), waits_for_block)) release(0, fibers.size());
    bool waiting = false;
    for (Fiber& f : fibers) {
      alive |= f.state == runs;
      waiting |= f.state != ended && f.state != runs;
    }
    if (!alive && waiting) {
      std::fprintf(stderr, "emulated GPU: threads of a block wait at different barriers\n");
      std::abort();
    }
  }
}

template <class T>
T exchange(T value, int source) {
  static_assert(sizeof(T) <= 8, "at most 8 bytes");
  unsigned number = current->number, side = current->exchanges++ % 2;
  std::memcpy(exchanged[number][side], &value, sizeof value);
  pause(waits_for_warp);
  T found;
  unsigned from = number / 32 * 32 + (unsigned)source % 32;
  std::memcpy(&found, exchanged[from < fibers.size() ? from : number][side], sizeof found);
  return found;
}

inline int lane() { return (int)(current->number % 32); }

typedef void (*Kernel)(long long, long long, long long, long long, long long, long long, long long, long long,
                       long long, long long, long long, long long, long long, long long, long long, long long,
                       long long, long long, long long, long long, long long, long long, long long, long long, double,
                       double, double, double);
inline Kernel kernel;
inline long long integers[24];
inline double doubles[4];

inline void call_kernel() {
  long long* a = integers;
  kernel(a[0], a[1], a[2], a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15], a[16],
         a[17], a[18], a[19], a[20], a[21], a[22], a[23], doubles[0], doubles[1], doubles[2], doubles[3]);
}

}  // namespace emulated

#define threadIdx (emulated::current->thread)
#define blockIdx (emulated::block)
#define blockDim (emulated::block_size)
#define gridDim (emulated::grid_size)

inline void __syncthreads() { emulated::pause(emulated::waits_for_block); }
inline void __syncwarp() { emulated::pause(emulated::waits_for_warp); }
template <class T>
T __shfl_sync(unsigned, T value, int source) {
  return emulated::exchange(value, source);
}
template <class T>
T __shfl_xor_sync(unsigned, T value, int mask) {
  return emulated::exchange(value, emulated::lane() ^ mask);
}
template <class T>
T __shfl_up_sync(unsigned, T value, int step) {
  int from = emulated::lane() - step;
  return emulated::exchange(value, from < 0 ? emulated::lane() : from);
}
template <class T>
T __shfl_down_sync(unsigned, T value, int step) {
  int from = emulated::lane() + step;
  return emulated::exchange(value, from > 31 ? emulated::lane() : from);
}
inline unsigned __ballot_sync(unsigned, bool value) {
  unsigned number = emulated::current->number, side = emulated::current->exchanges++ % 2, found = 0;
  emulated::exchanged[number][side][0] = value;
  emulated::pause(emulated::waits_for_warp);
  for (unsigned i = number / 32 * 32, bit = 0; bit < 32 && i + bit < emulated::fibers.size(); ++bit)
    if (emulated::fibers[i + bit].state != emulated::ended && emulated::exchanged[i + bit][side][0]) found |= 1u << bit;
  return found;
}
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 32; i += 8) c += (int)(signed char)(a >> i) * (int)(signed char)(b >> i);
  return c;
}
inline unsigned __vcmpeq4(unsigned a, unsigned b) {
  unsigned found = 0;
  for (int i = 0; i < 32; i += 8)
    if (((a ^ b) >> i & 255) == 0) found |= 255u << i;
  return found;
}
template <class T>
T atomicMax(T* at, T value) {
  T old = *at;
  if (value > old) *at = value;
  return old;
}
template <class T>
T atomicMin(T* at, T value) {
  T old = *at;
  if (value < old) *at = value;
  return old;
}
template <class T>
T atomicOr(T* at, T value) {
  T old = *at;
  *at = old | value;
  return old;
}
template <class T>
T atomicAdd(T* at, T value) {
  T old = *at;
  *at = old + value;
  return old;
}

extern "C" inline __attribute__((used)) void emulate(void* kernel, const unsigned* grid, const unsigned* block,
                                                     const long long* integers, int integer_count,
                                                     const double* doubles, int double_count) {
  using namespace emulated;
  emulated::kernel = (Kernel)kernel;
  std::memset(emulated::integers, 0, sizeof emulated::integers);
  std::memcpy(emulated::integers, integers, sizeof(long long) * (size_t)integer_count);
  std::memcpy(emulated::doubles, doubles, sizeof(double) * (size_t)double_count);
  body = call_kernel;
  grid_size = {grid[0], grid[1], grid[2]};
  block_size = {block[0], block[1], block[2]};
  size_t count = (size_t)block[0] * block[1] * block[2];
  while (fibers.size() > count) fibers.pop_back();
  while (fibers.size() < count) {
    fibers.emplace_back();
    fibers.back().stack.reset(new char[kStack]);
  }
  for (size_t i = 0; i < count; ++i) {
    fibers[i].number = (unsigned)i;
    fibers[i].thread = {(unsigned)(i % block[0]), (unsigned)(i / block[0] % block[1]),
                        (unsigned)(i / block[0] / block[1])};
  }
  for (unsigned z = 0; z < grid[2]; ++z)
    for (unsigned y = 0; y < grid[1]; ++y)
      for (unsigned x = 0; x < grid[0]; ++x) {
        emulated::block = {x, y, z};
        run_block();
      }
}
