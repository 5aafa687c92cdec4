// src/cpu/runtime/pool.cpp - the workers: publishing a job, taking parts, sleeping, fork and shutdown.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/runtime/pool.hpp"

#include "core/error.hpp"
#include "core/float_mode.hpp"
#include "core/fork.hpp"

#include <algorithm>
#include <chrono>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <signal.h>

namespace ruda::cpu {
namespace {

constexpr int max_threads = 4096;
constexpr auto spin_time = std::chrono::microseconds(50);

inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// Spins until `ready` or the spin time is over; says whether it is ready.
template <class Ready>
bool spin(Ready&& ready) {
  const auto end = std::chrono::steady_clock::now() + spin_time;
  do {
    for (int i = 0; i < 32; i++) {
      if (ready()) return true;
      relax();
    }
  } while (std::chrono::steady_clock::now() < end);
  return false;
}

// Keeps the exception of the lowest part.
class FirstError {
 public:
  void keep(int part) noexcept {
    std::lock_guard lock(mutex_);
    if (error_ && part_ <= part) return;
    error_ = std::current_exception();
    part_ = part;
  }
  void rethrow() {  // once all parts have ended
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
  int part_ = 0;
};

}  // namespace

// The threads of one process and the one job they share. `ticket_` holds the job's number in the upper and
// the count of parts not yet taken in the lower half; a part is taken by a compare-and-swap of the whole, so
// a thread that slept through the end of a job cannot take a part of the next one with the old task.
struct ThreadPool::Crew {
  Crew(int size, uint32_t forks) : size(size), forks(forks) {}

  ~Crew() {
    stop.store(true, std::memory_order_seq_cst);
    wake.fetch_add(1, std::memory_order_seq_cst);
    wake.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

  const int size;
  const uint32_t forks;
  Crew* next_lost = nullptr;
  bool started = false;              // guarded by busy
  std::vector<std::thread> workers;  // guarded by busy
  std::atomic<bool> busy{false};

  // What a spinning worker reads lies apart from what each job writes, and from what only sleepers need.
  alignas(64) std::atomic<uint64_t> ticket{0};
  std::atomic<Task> task{nullptr};
  std::atomic<void*> arg{nullptr};
  std::atomic<FirstError*> error{nullptr};
  std::atomic<int> parts{0};
  alignas(64) std::atomic<int> pending{0};
  alignas(64) std::atomic<int> sleepers{0};
  std::atomic<uint32_t> wake{0};
  std::atomic<bool> stop{false};

  // A machine that gives no more threads gives a slower pool, not an error: the submitter takes what nobody
  // else takes.
  void start() {
    started = true;
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);  // signals belong to the host's threads
    try {
      workers.reserve(size_t(size - 1));
      for (int i = 1; i < size; i++) workers.emplace_back([this] { work(); });
    } catch (const std::system_error&) {
    } catch (const std::bad_alloc&) {
    }
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
  }

  // Runs one part if one is left.
  bool take() noexcept {
    uint64_t seen = ticket.load(std::memory_order_acquire);
    for (;;) {
      const int left = int(seen & 0xffffffffu);
      if (left == 0) return false;
      const Task job = task.load(std::memory_order_relaxed);
      void* const job_arg = arg.load(std::memory_order_relaxed);
      FirstError* const job_error = error.load(std::memory_order_relaxed);
      const int part = parts.load(std::memory_order_relaxed) - left;
      if (!ticket.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire))
        continue;
      try {
        job(job_arg, part);
      } catch (...) {
        job_error->keep(part);
      }
      if (pending.fetch_sub(1, std::memory_order_acq_rel) == 1) pending.notify_one();
      return true;
    }
  }

  void work() noexcept {
    const FloatMode mode;  // not that of the thread that made this one
    for (;;) {
      while (take()) {
      }
      const auto left = [&](std::memory_order order) { return (ticket.load(order) & 0xffffffffu) != 0; };
      if (!spin([&] { return left(std::memory_order_relaxed); })) {
        // A submitter publishes, then looks for sleepers; a worker is one before it looks for the last time.
        sleepers.fetch_add(1, std::memory_order_seq_cst);
        const uint32_t seen = wake.load(std::memory_order_seq_cst);
        if (!left(std::memory_order_seq_cst) && !stop.load(std::memory_order_seq_cst))
          wake.wait(seen, std::memory_order_seq_cst);
        sleepers.fetch_sub(1, std::memory_order_relaxed);
      }
      if (stop.load(std::memory_order_seq_cst)) return;
    }
  }

  // Called by the owner of `busy`.
  void share(int count, Task job, void* job_arg, FirstError& job_error) noexcept {
    if (!started) start();
    task.store(job, std::memory_order_relaxed);
    arg.store(job_arg, std::memory_order_relaxed);
    error.store(&job_error, std::memory_order_relaxed);
    parts.store(count, std::memory_order_relaxed);
    pending.store(count - 1, std::memory_order_relaxed);
    const uint64_t number = (ticket.load(std::memory_order_relaxed) >> 32) + 1;
    ticket.store(number << 32 | uint32_t(count - 1), std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) != 0) {
      wake.fetch_add(1, std::memory_order_seq_cst);
      wake.notify_all();
    }

    try {
      job(job_arg, 0);
    } catch (...) {
      job_error.keep(0);
    }
    while (take()) {
    }
    if (spin([&] { return pending.load(std::memory_order_acquire) == 0; })) return;
    for (int left; (left = pending.load(std::memory_order_acquire)) != 0;)
      pending.wait(left, std::memory_order_acquire);
  }
};

int available_processors() noexcept {
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::clamp(CPU_COUNT(&set), 1, max_threads);
#endif
  return std::clamp(int(std::thread::hardware_concurrency()), 1, max_threads);
}

ThreadPool::ThreadPool(int threads) : size_(threads) {
  RUDA_CHECK(threads >= 1 && threads <= max_threads, RUDA_E_ARGUMENT, -1,
             "thread count is %d, expected 1 to %d", threads, max_threads);
}

ThreadPool::ThreadPool(const HostPool& host) : size_(host.size), host_(host) {
  RUDA_CHECK(host.parallel, RUDA_E_NULL, -1, "host pool: parallel is NULL");
  RUDA_CHECK(host.size >= 1 && host.size <= max_threads, RUDA_E_ARGUMENT, -1,
             "host pool: size is %d, expected 1 to %d", host.size, max_threads);
}

ThreadPool::~ThreadPool() {
  Crew* const current = crew_.load(std::memory_order_acquire);
  if (!current) return;
  // In a forked child the threads are gone: they can be neither joined nor detached, so the crew stays as it
  // is.
  if (current->forks == fork_generation_now()) {
    delete current;
  } else {
    static std::atomic<Crew*> lost{nullptr};
    current->next_lost = lost.load();
    while (!lost.compare_exchange_weak(current->next_lost, current)) {
    }
  }
}

// Creates the crew at the first use, and again in a forked child. No lock: a lock could be held by a thread
// that the child does not have.
ThreadPool::Crew* ThreadPool::crew() {
  const uint32_t forks = fork_generation_now();
  Crew* current = crew_.load(std::memory_order_acquire);
  if (current && current->forks == forks) return current;
  Crew* fresh = new Crew(size_, forks);
  fresh->next_lost = current;  // keeps the lost crew reachable
  if (crew_.compare_exchange_strong(current, fresh, std::memory_order_acq_rel)) return fresh;
  delete fresh;
  return current;
}

void ThreadPool::run_parts(int parts, Task task, void* arg) {
  if (host_.parallel) return run_on_host(parts, task, arg);
  FirstError error;
  Crew* const shared = size_ > 1 ? crew() : nullptr;
  if (shared && !shared->busy.exchange(true, std::memory_order_acquire)) {
    shared->share(parts, task, arg, error);
    shared->busy.store(false, std::memory_order_release);
  } else {
    for (int part = 0; part < parts; part++) {
      try {
        task(arg, part);
      } catch (...) {
        error.keep(part);
      }
    }
  }
  error.rethrow();
}

void ThreadPool::run_on_host(int parts, Task task, void* arg) {
  struct Job {
    Task task;
    void* arg;
    int parts;
    std::atomic<int> done{0};
    FirstError error;
  } job{task, arg, parts, {}, {}};
  const int answer = host_.parallel(
      host_.user, parts,
      [](void* opaque, int part) {
        Job& j = *static_cast<Job*>(opaque);
        const FloatMode mode;
        if (part < 0 || part >= j.parts) return;
        try {
          j.task(j.arg, part);
        } catch (...) {
          j.error.keep(part);
        }
        j.done.fetch_add(1, std::memory_order_acq_rel);
      },
      &job);
  if (answer != 0)
    fail_native(RUDA_E_CALLBACK, "host pool", answer, "host pool: parallel answered %d", answer);
  job.error.rethrow();
  const int done = job.done.load(std::memory_order_acquire);
  RUDA_CHECK(done == parts, RUDA_E_CALLBACK, -1, "host pool: parallel ran %d parts, expected %d", done,
             parts);
}

int ThreadPool::range_parts(int64_t count, int64_t grain) const noexcept {
  const int64_t most = count / std::max<int64_t>(grain, 1);
  return int(std::clamp<int64_t>(most, 1, size_));
}

int64_t ThreadPool::range_border(int64_t count, int64_t grain, int parts, int part) noexcept {
  if (part >= parts) return count;
  int64_t step = 1;
  while (step < 64 && step * 2 <= grain) step *= 2;
  const int64_t whole = count / parts, rest = count % parts;  // no product of count, which could overflow
  const int64_t border = whole * part + rest * part / parts;
  return border / step * step;
}

}  // namespace ruda::cpu
