// src/core/fork.hpp - what leaves the library usable in a forked child: its mutexes, turns and statics.
// SPDX-License-Identifier: Apache-2.0
//
// Goals: whatever the other threads are doing at a fork, the child finds every mutex of the CPU half free
// and what it guards whole; taking a free mutex costs what it costs without all this. Not goals: the device
// (a GPU does not survive a fork) and the work of threads that the child does not have. Rejected: counting
// the threads inside the library (two more atomic additions at each mutex), and fresh mutexes in the child
// (a lost thread may have been half way through a change).
#pragma once
#include "core/lock.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <new>
#include <type_traits>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define RUDA_SANITIZED 1
#elif defined(__has_feature)
#define RUDA_SANITIZED (__has_feature(address_sanitizer) || __has_feature(thread_sanitizer))
#else
#define RUDA_SANITIZED 0
#endif

namespace ruda {

// Rises by one in every forked child; handlers are set as the library is loaded.
extern std::atomic<uint32_t> fork_generation;

inline uint32_t fork_generation_now() noexcept { return fork_generation.load(std::memory_order_relaxed); }
inline bool forked_since(uint32_t generation) noexcept { return fork_generation_now() != generation; }

// A fork takes all of them before it copies the process, and gives them back in parent and child. So that it
// takes them in any order: whoever holds one takes, makes and destroys no other, calls nobody back and waits
// for nothing. A sanitized build ends at once where this is broken. What lasts is a Turn. A few a context,
// since making one takes a lock of the process.
class Mutex {
 public:
  Mutex() noexcept;
  ~Mutex();
  Mutex(const Mutex&) = delete;
  Mutex& operator=(const Mutex&) = delete;
  void lock() noexcept {
    if constexpr (watched) expect_none_held(), ++held;
    lock_.lock();
  }
  void unlock() noexcept {
    lock_.unlock();
    if constexpr (watched) --held;
  }

 private:
  friend struct ForkHandlers;
#if RUDA_SANITIZED
  static constexpr bool watched = true;
#else
  static constexpr bool watched = false;
#endif
  static void expect_none_held() noexcept {
    if (watched && held) __builtin_trap();
  }
  static thread_local int held;  // by this thread, in a watched build
  Lock lock_;
  Mutex *before_ = nullptr, *next_ = nullptr;
};

// One thread at a time, for as long as it likes. A fork does not wait for it: in the child a turn of a lost
// thread is over. What a turn works on is therefore whole at any moment, by changes under a Mutex.
class Turn {
 public:
  class Hold {
   public:
    explicit Hold(Turn& turn) noexcept : turn_(turn), token_(turn.take()) {}
    ~Hold() { turn_.give(token_); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    Turn& turn_;
    const uint32_t token_;
  };

 private:
  uint32_t take() noexcept;
  void give(uint32_t token) noexcept;
  // 0, or one more than the generation of the process whose thread holds it.
  std::atomic<uint32_t> holder_{0};
};

// A static that is never destroyed: threads may use it while the process exits.
template <class T>
class Lasting {
 public:
  Lasting() noexcept {
    static_assert(std::is_nothrow_default_constructible_v<T>);
    new (bytes_) T;
  }
  T& operator*() { return *std::launder(reinterpret_cast<T*>(bytes_)); }

 private:
  alignas(T) std::byte bytes_[sizeof(T)];
};

// A static that is made at its first use. A static of a function does not do: a child waits for ever for one
// that a lost thread was making.
template <class T>
class Once {
 public:
  Once() noexcept = default;
  template <class Make>
  const T& get(Make&& make) {
    if (!made_.load(std::memory_order_acquire)) [[unlikely]] {
      const std::lock_guard lock(*mutex_);
      if (!made_.load(std::memory_order_relaxed)) {
        new (bytes_) T(make());
        made_.store(true, std::memory_order_release);
      }
    }
    return *std::launder(reinterpret_cast<const T*>(bytes_));
  }

 private:
  std::atomic<bool> made_{false};
  Lasting<Mutex> mutex_;
  alignas(T) std::byte bytes_[sizeof(T)];
};

}  // namespace ruda
