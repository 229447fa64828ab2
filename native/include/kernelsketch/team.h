// Threads that help one another with jobs of a few microseconds.
//
// A leader works through steps that depend on one another, such as the blocks of a pass. Where a step has parts that do
// not, the leader opens a job of kShares shares at its desk; threads without work of their own look at all desks and
// take shares. They spin, because a job is over before a sleeping thread would wake. A share that
// nobody has taken when the leader comes back is done by the leader, so that it never waits for a thread that is not
// running. Helper number i takes share i first, which keeps a share's memory in one core's cache from job to job.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include "kernelsketch/compiler.h"
#include "kernelsketch/interrupt.h"
#include "kernelsketch/parallel.h"

namespace kernelsketch {

inline constexpr int64_t kThreadCodes = 1 << 17;  // of a pass, for each thread that helps: starting it takes time too
inline constexpr int64_t kJobCodes = 1 << 14;  // to look up, from which on they are shared out: help takes microseconds

// Waiting for another thread: a while at full speed, then other threads of the machine may run. Where there are fewer
// cores than threads, the one that is waited for is among them.
class Patience {
 public:
  void wait() {
    ++turns_;
    if (turns_ > 3000) return std::this_thread::sleep_for(std::chrono::microseconds(50));
    if (turns_ > 2000) return std::this_thread::yield();
    spin_pause();
  }
  void reset() { turns_ = 0; }
  bool was_long() const { return turns_ > 3000; }

 private:
  int turns_ = 0;
};

class Desk {
 public:
  static constexpr int kShares = 16;

  // The leader's side. `work(share)` must not throw, and must live until `finish`.
  template <class Work>
  void open(const Work& work) {
    work_ = &work;
    run_ = [](const void* of, int share) { (*static_cast<const Work*>(of))(share); };
    left_.store(kShares, std::memory_order_relaxed);
    number_.store(number_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }
  // Returns false if a helper that had taken a share was not running for a while: the machine is busy with other work.
  bool finish() {
    help(0);
    const uint32_t number = number_.load(std::memory_order_relaxed);
    Patience patience;
    for (const Share& share : shares_)
      while (share.finished.load(std::memory_order_acquire) != number) patience.wait();
    return !patience.was_long();
  }

  // The helpers' side: does the shares that nobody has taken, from `first` on. Returns whether there was one.
  bool help(int first) {
    const uint32_t number = number_.load(std::memory_order_acquire);
    if (number == 0) return false;
    bool any = false;
    for (int i = 0; i < kShares; ++i) {
      if (i > 0 && left_.load(std::memory_order_relaxed) <= 0) break;  // spares a look at each of the others
      const int at = (first + i) % kShares;
      Share& share = shares_[at];
      uint32_t before = number - 1;  // a later job, which `work_` may be of by now, has taken the share already
      if (share.taken.load(std::memory_order_relaxed) != before ||
          !share.taken.compare_exchange_strong(before, number, std::memory_order_acquire))
        continue;
      left_.fetch_sub(1, std::memory_order_relaxed);
      run_(work_, at);
      share.finished.store(number, std::memory_order_release);
      any = true;
    }
    return any;
  }

 private:
  struct alignas(64) Share {
    std::atomic<uint32_t> taken{0}, finished{0};
  };
  alignas(64) std::atomic<uint32_t> number_{0};  // of the job
  alignas(64) std::atomic<int> left_{0};         // shares that nobody has taken
  const void* work_ = nullptr;
  void (*run_)(const void*, int) = nullptr;
  std::array<Share, kShares> shares_;
};

// The desks of all problems, and the threads that lead them or help.
class Team {
 public:
  Team(int64_t problems, int64_t running) : desks_(problems), running_(running) {}
  Desk& desk(int64_t problem) { return desks_[problem]; }
  bool has_helpers() const { return helping_.load(std::memory_order_relaxed) > 0; }
  void problem_is_done() { running_.fetch_sub(1); }

  // Helps until all problems are done, or a thread has failed or was interrupted.
  void help(int64_t helper, const Items& next) {
    helping_.fetch_add(1);
    Patience patience;
    while (running_.load(std::memory_order_acquire) > 0 && !next.stopped()) {
      bool any = false;
      for (Desk& desk : desks_) any = desk.help(static_cast<int>(helper % Desk::kShares)) || any;
      if (any)
        patience.reset();
      else
        patience.wait();
    }
    helping_.fetch_sub(1);
  }

 private:
  std::vector<Desk> desks_;
  std::atomic<int64_t> running_, helping_{0};
};

// The leader of a problem. If its jobs are short, helpers that do not get a core to run on are left alone for a while.
class Lead {
 public:
  Lead(Team& team, int64_t problem, bool short_jobs)
      : team_(team), desk_(team.desk(problem)), short_jobs_(short_jobs) {}
  void next_step() { alone_ = alone_ > 0 ? alone_ - 1 : 0; }
  bool has_helpers() const { return alone_ == 0 && team_.has_helpers(); }

  // A job that helpers do while the leader does something else, until it calls `finish`.
  template <class Job>
  void open(const Job& job) {
    desk_.open(job);
  }
  void finish() {
    if (desk_.finish() || !short_jobs_) {
      patience_ = patience_ - 1 > kLeastAlone ? patience_ - 1 : kLeastAlone;
    } else {
      alone_ = patience_;
      patience_ = 2 * patience_ < kMostAlone ? 2 * patience_ : kMostAlone;
    }
  }

  // Does the shares of a job, here or with the helpers.
  template <class Job>
  void share_out(bool worth_it, const Job& job) {
    if (worth_it && has_helpers()) {
      desk_.open(job);
      finish();
    } else {
      for (int share = 0; share < Desk::kShares; ++share) job(share);
    }
  }

 private:
  static constexpr int kLeastAlone = 4, kMostAlone = 64;  // steps without helpers, after one kept its leader waiting
  Team& team_;
  Desk& desk_;
  bool short_jobs_;
  int alone_ = 0;               // steps to come without helpers
  int patience_ = kLeastAlone;  // and after the next time that one of them is late
};

// Works on the problems that are running. Threads lead a problem each, as long as there are any; those that are left over
// help, up to `useful` threads in all. A leader makes its memory by `make_scratch(problems, threads)`, and calls
// `run(problem, team, scratch, next)` for one problem after the other.
template <class MakeScratch, class Run>
void lead_problems(const uint8_t* running, int64_t problems, int64_t useful, int threads, Interrupted interrupted,
                   const MakeScratch& make_scratch, const Run& run) {
  std::vector<int64_t> numbers;
  for (int64_t p = 0; p < problems; ++p)
    if (running[p]) numbers.push_back(p);
  const int64_t count = static_cast<int64_t>(numbers.size());
  const int64_t workers = threads < useful || threads < count ? threads : useful > count ? useful : count;
  std::atomic<int64_t> drawn{0};
  Team team(problems, count);
  parallel(workers, static_cast<int>(workers), interrupted, [&](const auto& next) {
    const int64_t worker = next();
    if (worker < 0) return;
    if (worker < count) {
      auto scratch = make_scratch(count, workers);
      for (int64_t p; !next.stopped() && (p = drawn.fetch_add(1)) < count;) {
        run(numbers[p], team, scratch, next);
        team.problem_is_done();
      }
    }
    team.help(worker, next);
  });
}

}  // namespace kernelsketch
