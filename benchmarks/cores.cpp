// What the cores of a machine have to share: arithmetic that stays in registers, and writes to new and to old memory.
//
// bench_threads.py compiles this file and shows how far these speed up with threads. Where two "cores" are hyper-threads
// of one, vector arithmetic gains nothing from the second, and no program gains more.
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

namespace {

constexpr int kLanes = 16, kChains = 12;
using Lanes = float __attribute__((vector_size(kLanes * sizeof(float))));

template <class Work>
void on_threads(int threads, const Work& work) {
  std::vector<std::thread> pool;
  for (int t = 1; t < threads; ++t) pool.emplace_back(work, t);
  work(0);
  for (auto& thread : pool) thread.join();
}

float vectors(long steps) {
  Lanes chains[kChains], by, add;
  for (int lane = 0; lane < kLanes; ++lane) {
    by[lane] = 0.9999f;
    add[lane] = 1e-4f;
  }
  for (auto& chain : chains) chain = add;
  for (long step = 0; step < steps; ++step)
#pragma GCC unroll 12
    for (auto& chain : chains) chain = chain * by + add;
  float sum = 0;
  for (auto& chain : chains) sum += chain[0];
  return sum;
}

double scalars(long steps) {
  double chains[4] = {1, 2, 3, 4};
  for (long step = 0; step < steps; ++step)
#pragma GCC unroll 4
    for (double& chain : chains) chain = chain * 0.9999 + 1e-4;
  return chains[0] + chains[1] + chains[2] + chains[3];
}

}  // namespace

extern "C" {

double run_vectors(int threads, long steps) {
  std::vector<double> found(threads);
  on_threads(threads, [&](int t) { found[t] = vectors(steps / threads); });
  return found[0];
}

double run_scalars(int threads, long steps) {
  std::vector<double> found(threads);
  on_threads(threads, [&](int t) { found[t] = scalars(steps / threads); });
  return found[0];
}

void write_memory(int threads, char* memory, long bytes) {
  on_threads(threads, [&](int t) {
    const long first = bytes / threads * t;
    std::memset(memory + first, t, static_cast<std::size_t>(bytes / threads));
  });
}
}
