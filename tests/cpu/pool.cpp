// tests/cpu/pool.cpp - the thread pool: each part once, nesting, rivals, exceptions, fork, host pools.
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"
#include "cpu/runtime/memory.hpp"
#include "cpu/runtime/pool.hpp"
#include "support/expect_all.hpp"

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <sys/wait.h>
#include <unistd.h>

using namespace ruda::cpu;

namespace {

void every_part_once(ThreadPool& pool) {
  for (int parts : {0, 1, 2, 3, 7, 64, 1000})
    for (int round = 0; round < 200; round++) {
      std::vector<int> hits(size_t(parts) + 1);
      pool.run(parts, [&](int part) { hits[size_t(part)]++; });
      for (int part = 0; part < parts; part++) EXPECT(hits[size_t(part)] == 1);
      EXPECT(hits[size_t(parts)] == 0);
    }
}

void ranges_cover(ThreadPool& pool) {
  for (int64_t count : {0, 1, 2, 15, 16, 17, 63, 64, 65, 1000, 4097})
    for (int64_t grain : {0, 1, 7, 16, 100, 5000}) {
      std::vector<int> hits(size_t(count) + 1);
      std::vector<int64_t> begins(64, -1);
      pool.ranges(count, grain, [&](int64_t begin, int64_t end, int part) {
        begins[size_t(part)] = begin;
        for (int64_t i = begin; i < end; i++) hits[size_t(i)]++;
      });
      for (int64_t i = 0; i < count; i++) EXPECT(hits[size_t(i)] == 1);
      const int parts = pool.range_parts(count, grain);
      EXPECT(parts >= 1 && parts <= pool.size());
      EXPECT(parts == 1 || count / parts >= grain);
      for (int part = 0; part < parts && count; part++) {
        const int64_t border = ThreadPool::range_border(count, grain, parts, part);
        EXPECT(begins[size_t(part)] == border || begins[size_t(part)] == -1);
        if (grain >= 64) EXPECT(border % 64 == 0);
      }
    }
  const int64_t huge = INT64_MAX;
  for (int part = 0; part < 7; part++)
    EXPECT(ThreadPool::range_border(huge, 64, 7, part) < ThreadPool::range_border(huge, 64, 7, part + 1));
  EXPECT(ThreadPool::range_border(huge, 64, 7, 7) == huge);
}

void exceptions_arrive(ThreadPool& pool) {
  for (int round = 0; round < 100; round++) {
    std::atomic<int> ran{0};
    std::string text;
    try {
      pool.run(9, [&](int part) {
        ran++;
        if (part >= 3) throw std::runtime_error(std::to_string(part));
      });
    } catch (const std::exception& e) {
      text = e.what();
    }
    EXPECT(text == "3");
    EXPECT(ran == 9);
  }
}

void nested_and_rival(ThreadPool& pool) {
  std::atomic<int> count{0};
  pool.run(8, [&](int) { pool.run(5, [&](int) { count++; }); });
  EXPECT(count == 40);

  count = 0;
  std::vector<std::thread> rivals;
  for (int i = 0; i < 4; i++)
    rivals.emplace_back([&] {
      for (int round = 0; round < 500; round++) pool.run(6, [&](int) { count.fetch_add(1); });
    });
  for (std::thread& t : rivals) t.join();
  EXPECT(count == 4 * 500 * 6);
}

void sleeping_workers_wake(ThreadPool& pool) {
  for (int round = 0; round < 20; round++) {
    std::this_thread::sleep_for(std::chrono::microseconds(round * 20));
    std::atomic<int> count{0};
    pool.run(pool.size(), [&](int) { count++; });
    EXPECT(count == pool.size());
  }
}

// The child must not hang on workers that it does not have, nor on a pool that was busy at the fork.
[[maybe_unused]] void fork_works() {
  ThreadPool pool(3);
  std::atomic<int> count{0};
  pool.run(3, [&](int) { count++; });
  std::atomic<bool> stop{false};
  std::thread user([&] {
    while (!stop) pool.run(3, [&](int) { count++; });
  });
  for (int round = 0; round < 20; round++) {
    const pid_t child = fork();
    if (child == 0) {
      alarm(20);
      int ok = 1;
      {
        std::atomic<int> mine{0};
        for (int i = 0; i < 50; i++) pool.run(3, [&](int) { mine++; });
        ok = mine == 150;
        ThreadPool other(2);
        other.run(2, [&](int) { mine++; });
        ok = ok && mine == 152;
      }
      _exit(ok ? 0 : 1);
    }
    int state = 0;
    EXPECT(waitpid(child, &state, 0) == child);
    EXPECT(WIFEXITED(state) && WEXITSTATUS(state) == 0);
  }
  stop = true;
  user.join();
}

struct Host {
  int calls = 0, answer = 0, skip = 0;
};

int host_parallel(void* user, int parts, void (*task)(void*, int), void* arg) {
  Host& host = *static_cast<Host*>(user);
  host.calls++;
  std::thread other([&] {
    for (int part = 1; part < parts; part += 2) task(arg, part);
  });
  for (int part = host.skip ? 2 : 0; part < parts; part += 2) task(arg, part);
  other.join();
  return host.answer;
}

void host_pool() {
  Host host;
  ThreadPool pool(HostPool{4, &host, host_parallel});
  EXPECT(pool.size() == 4);
  every_part_once(pool);
  ranges_cover(pool);
  exceptions_arrive(pool);
  EXPECT(host.calls > 0);
  host.answer = 17;
  ruda_status status = RUDA_OK;
  int code = 0;
  try {
    pool.run(3, [](int) {});
  } catch (const ruda::Error& e) {
    status = e.status, code = e.native_code;
  }
  EXPECT(status == RUDA_E_CALLBACK && code == 17);
  host.answer = 0, host.skip = 1, status = RUDA_OK;
  try {
    pool.run(3, [](int) {});
  } catch (const ruda::Error& e) {
    status = e.status;
  }
  EXPECT(status == RUDA_E_CALLBACK);
}

void bad_arguments() {
  int refused = 0;
  for (int threads : {0, -1, 4097}) {
    try {
      ThreadPool pool(threads);
    } catch (const ruda::Error& e) {
      refused += e.status == RUDA_E_ARGUMENT;
    }
  }
  try {
    ThreadPool pool(HostPool{});
  } catch (const ruda::Error& e) {
    refused += e.status == RUDA_E_NULL;
  }
  EXPECT(refused == 4);
}

void memory() {
  for (size_t bytes : {size_t{0}, size_t{1}, size_t{4096}, size_t{3} << 20}) {
    HostBuffer block(bytes);
    EXPECT(reinterpret_cast<uintptr_t>(block.as<char>()) % 64 == 0);
    if (bytes) std::memset(block.as<char>(), 1, bytes);
    HostBuffer moved(std::move(block));
    EXPECT(!block.as<char>() && moved.bytes() == bytes);
  }
  bool thrown = false;
  try {
    HostBuffer block(SIZE_MAX - 5);
  } catch (const std::bad_alloc&) {
    thrown = true;
  }
  EXPECT(thrown);
}

}  // namespace

int main() {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT(pool.size() == threads);
    every_part_once(pool);
    ranges_cover(pool);
    exceptions_arrive(pool);
    nested_and_rival(pool);
    sleeping_workers_wake(pool);
  }
  for (int i = 0; i < 200; i++) {  // shutdown at once, with and without use
    ThreadPool pool(4);
    if (i % 2) pool.run(4, [](int) {});
  }
  host_pool();
  bad_arguments();
  memory();
#if !RUDA_TEST_SANITIZED
  fork_works();  // a sanitizer's own locks do not follow a multi-threaded fork
#endif
  EXPECT(available_processors() >= 1);
  return failures_to_exit_code();
}
