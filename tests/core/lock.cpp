// tests/core/lock.cpp - the library's lock: one holder at a time, sleepers that wake, forks, no nesting.
// SPDX-License-Identifier: Apache-2.0
#include "core/fork.hpp"
#include "support/expect_all.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <thread>
#include <vector>

#include <csignal>
#include <ctime>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace std::chrono_literals;

// What the lock guards is no atomic: two holders at once lose increments. Some holds are long enough that the
// others fall asleep.
template <class Guard>
void one_holder() {
  Guard guard;
  constexpr int threads = 4, rounds = 5000;
  uint64_t count = 0;
  std::vector<std::thread> all;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      for (int i = 0; i < rounds; ++i) {
        const std::lock_guard hold(guard);
        const uint64_t seen = count;
        if (i % 500 == t) std::this_thread::sleep_for(100us);
        count = seen + 1;
      }
    });
  for (std::thread& thread : all) thread.join();
  EXPECT(count == uint64_t(threads) * rounds);
}

double processor_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + double(now.tv_nsec) * 1e-9;
}

// Who waits for long does not turn in circles.
void waiting_sleeps() {
  ruda::Lock lock;
  std::atomic<bool> waits{false};
  double spent = 1;
  lock.lock();
  std::thread waiter([&] {
    const double before = processor_seconds();
    waits.store(true);
    lock.lock();
    spent = processor_seconds() - before;
    lock.unlock();
  });
  while (!waits.load()) std::this_thread::yield();
  std::this_thread::sleep_for(200ms);
  lock.unlock();
  waiter.join();
  EXPECT(spent < 0.1);
}

// The holder, sleepers and the lock itself are as in the parent, without the threads: a child takes it.
void child_takes_it() {
  static ruda::Lasting<ruda::Mutex> mutex;
  static uint64_t pair[2] = {0, 0};  // equal whenever nobody holds the mutex
  std::atomic<bool> stop{false};
  std::vector<std::thread> all;
  for (int t = 0; t < 3; ++t)
    all.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        const std::lock_guard hold(*mutex);
        ++pair[0];
        ++pair[1];
      }
    });
  for (int round = 0; round < 50; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      bool whole = true;
      for (int i = 0; i < 100; ++i) {
        const std::lock_guard hold(*mutex);
        whole &= pair[0] == pair[1];
        ++pair[0];
        ++pair[1];
      }
      _exit(whole ? 0 : 1);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT(WIFEXITED(status) && WEXITSTATUS(status) == 0);
  }
  stop.store(true);
  for (std::thread& thread : all) thread.join();
  EXPECT(pair[0] == pair[1]);
}

// A fork takes all mutexes in its own order, so a second one under a first may wait for it for ever.
[[maybe_unused]] void nesting_ends_the_process() {
  ruda::Mutex first, second;
  for (const bool nested : {false, true}) {
    const pid_t child = fork();
    if (child == 0) {
      first.lock();
      if (!nested) first.unlock();
      second.lock();
      _exit(0);
    }
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT((WIFEXITED(status) && WEXITSTATUS(status) == 0) == !nested);
  }
}

}  // namespace

int main() {
  one_holder<ruda::Lock>();
  one_holder<ruda::Mutex>();
  waiting_sleeps();
#if RUDA_TEST_SANITIZED
  nesting_ends_the_process();
#else
  child_takes_it();  // a sanitizer's own locks do not follow a multi-threaded fork
#endif
  return failures_to_exit_code();
}
