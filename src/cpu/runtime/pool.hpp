// src/cpu/runtime/pool.hpp - a thread pool partitioned by sizes only, and the hook for a host's own pool.
// SPDX-License-Identifier: Apache-2.0
//
// Goals: a fork-join of about a microsecond, no allocation per call, the same partition at every call, safe
// in a forked child, nothing leaked into the host's threads. Not goals: task graphs, priorities, nested
// parallelism. Rejected: OpenMP (a region in a forked child hangs for ever), one queue per worker with
// stealing (parts are few and of equal size).
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <type_traits>

namespace ruda::cpu {

// A host application's pool. `parallel` runs task(arg, part) once for each part in 0..parts-1, on any
// threads, returns when all are done, and answers 0; another answer is an error of the call.
struct HostPool {
  int size = 0;
  void* user = nullptr;
  int (*parallel)(void* user, int parts, void (*task)(void* arg, int part), void* arg) = nullptr;
};

// Processors that this process may run on, at least 1.
int available_processors() noexcept;

class ThreadPool {
 public:
  explicit ThreadPool(int threads);  // RUDA_E_ARGUMENT outside 1..4096; threads start at the first use
  explicit ThreadPool(const HostPool& host);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const noexcept { return size_; }

  // f(part) once for each part in 0..parts-1; part 0 on the calling thread. Returns when all are done. A
  // submitter that finds the pool busy, a nested one among them, runs its parts alone, in order. Of
  // exceptions thrown by parts the one of the lowest part is thrown on, after all parts ended.
  template <class F>
  void run(int parts, F&& f) {
    if (parts <= 0) return;
    using Callable = std::remove_reference_t<F>;
    if (parts == 1) {
      f(0);
      return;
    }
    void* arg = const_cast<void*>(static_cast<const void*>(std::addressof(f)));
    run_parts(
        parts, [](void* callable, int part) { (*static_cast<Callable*>(callable))(part); }, arg);
  }

  // Splits 0..count-1 into at most size() ranges of about equal length, none under `grain` (unless count is),
  // and calls f(begin, end, part). Inner borders are multiples of the largest power of two that is <=
  // min(grain, 64).
  template <class F>
  void ranges(int64_t count, int64_t grain, F&& f) {
    if (count <= 0) return;
    const int parts = range_parts(count, grain);
    if (parts == 1) {
      f(int64_t{0}, count, 0);
      return;
    }
    run(parts, [&](int part) {
      const int64_t begin = range_border(count, grain, parts, part),
                    end = range_border(count, grain, parts, part + 1);
      if (begin < end) f(begin, end, part);
    });
  }

  // How many ranges `ranges` makes, and where part begins: for callers that keep scratch per part.
  int range_parts(int64_t count, int64_t grain) const noexcept;
  static int64_t range_border(int64_t count, int64_t grain, int parts, int part) noexcept;

 private:
  using Task = void (*)(void* arg, int part);
  struct Crew;

  void run_parts(int parts, Task task, void* arg);
  void run_on_host(int parts, Task task, void* arg);
  Crew* crew();

  int size_ = 1;
  HostPool host_;
  std::atomic<Crew*> crew_{nullptr};
};

}  // namespace ruda::cpu
