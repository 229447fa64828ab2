// Threads for independent items of work, and the memory they work in.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <new>
#include <thread>
#include <vector>

#include "kernelsketch/interrupt.h"

namespace kernelsketch {

// Uninitialized memory aligned to a cache line.
template <class T>
class Buffer {
 public:
  explicit Buffer(int64_t size)
      : data_(static_cast<T*>(::operator new(static_cast<std::size_t>(size) * sizeof(T) + 1, std::align_val_t{64}))) {}
  ~Buffer() { ::operator delete(data_, std::align_val_t{64}); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  T* get() const { return data_; }
  T& operator[](int64_t i) const { return data_[i]; }

 private:
  T* data_;
};

// What a worker of `parallel` draws its items from.
class Items {
 public:
  Items(int64_t items, std::atomic<int64_t>& counter, std::atomic<bool>& stop, Interrupted interrupted)
      : items_(items), counter_(counter), stop_(stop), interrupted_(interrupted), asked_(Clock::now()) {}
  // The next item, or -1.
  int64_t operator()() const {
    if (stopped()) return -1;
    const int64_t item = counter_.fetch_add(1);
    return item < items_ ? item : -1;
  }
  // Whether to stop early; long items call this while they run.
  bool stopped() const {
    if (interrupted_) {
      const auto now = Clock::now();
      if (now - asked_ > std::chrono::milliseconds(100)) {
        asked_ = now;
        if (interrupted_()) stop_ = true;
      }
    }
    return stop_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  int64_t items_;
  std::atomic<int64_t>& counter_;
  std::atomic<bool>& stop_;
  Interrupted interrupted_;
  mutable Clock::time_point asked_;
};

// Runs `work` on `threads` threads, the calling one among them. `work(next)` is called once per thread and draws item
// numbers 0 .. items - 1 from `next()`, which gives -1 when none is left, after a failure, or once `interrupted` has
// answered true; the calling thread calls it about ten times per second. The first exception of any thread is thrown
// again here. Returns false if it was interrupted.
template <class Work>
bool parallel(int64_t items, int threads, Interrupted interrupted, const Work& work) {
  std::atomic<int64_t> counter{0};
  std::atomic<bool> stop{false};
  std::exception_ptr failure;
  std::mutex failure_lock;
  const auto run = [&](bool caller) {
    const Items next(items, counter, stop, caller ? interrupted : nullptr);
    try {
      work(next);
    } catch (...) {
      const std::lock_guard<std::mutex> guard(failure_lock);
      if (!failure) failure = std::current_exception();
      stop = true;
    }
  };
  std::vector<std::thread> pool;
  const int64_t wanted = threads < items ? threads : items;
  try {
    for (int64_t i = 1; i < wanted; ++i) pool.emplace_back(run, false);
  } catch (...) {
    // The system gives no more threads: those that started, and this one, do the work.
  }
  run(true);
  for (auto& thread : pool) thread.join();
  if (failure) std::rethrow_exception(failure);
  return !stop;
}

// The same where threads need nothing of their own: calls work(item).
template <class Work>
bool each_item(int64_t items, int threads, Interrupted interrupted, const Work& work) {
  return parallel(items, threads, interrupted, [&](const Items& next) {
    for (int64_t item; (item = next()) >= 0;) work(item);
  });
}

// Calls work(first, last) for parts of n items, `size` of them each. Returns false if it was interrupted.
template <class Work>
bool in_parts(int64_t n, int64_t size, int threads, Interrupted interrupted, const Work& work) {
  return each_item((n + size - 1) / size, threads, interrupted,
                   [&](int64_t part) { work(part * size, std::min(n, (part + 1) * size)); });
}

// The same for each of the items: calls work(i).
template <class Work>
bool each_row(int64_t n, int64_t size, int threads, Interrupted interrupted, const Work& work) {
  return in_parts(n, size, threads, interrupted, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) work(i);
  });
}

}  // namespace kernelsketch
