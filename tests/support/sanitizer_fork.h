/* tests/support/sanitizer_fork.h - forks beside threads that allocate, under the sanitizers. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_TESTS_SANITIZER_FORK_H
#define RUDA_TESTS_SANITIZER_FORK_H

#include <pthread.h>

#ifndef __has_feature
#define __has_feature(name) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
/* The address sanitizer of clang 14 leaves the locks of its own allocator to the child as other threads held
   them. What it locks for its leak check is locked here, after the library's part of a fork, since that waits
   for threads which may allocate: handlers that were set earlier run later. */
void lock_allocator(void) __asm__("_ZN6__lsan13LockAllocatorEv") __attribute__((weak));
void unlock_allocator(void) __asm__("_ZN6__lsan15UnlockAllocatorEv") __attribute__((weak));
void lock_stacks(void) __asm__("_ZN11__sanitizer17StackDepotLockAllEv") __attribute__((weak));
void unlock_stacks(void) __asm__("_ZN11__sanitizer19StackDepotUnlockAllEv") __attribute__((weak));

static int sanitizer_forks(void) {
  return lock_allocator && unlock_allocator && lock_stacks && unlock_stacks;
}
static void before_fork(void) { lock_allocator(), lock_stacks(); }
static void after_fork(void) { unlock_stacks(), unlock_allocator(); }
static void before_libraries(void) {
  if (sanitizer_forks()) pthread_atfork(before_fork, after_fork, after_fork);
}
__attribute__((section(".preinit_array"), used)) static void (*const preinit)(void) = before_libraries;
#else
static int sanitizer_forks(void) { return 1; }
#endif

/* The thread sanitizer of clang 14 leaves the locks of its own allocator so too, and nothing reaches those: a
   child that hangs tells nothing there. */
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
__attribute__((unused)) static int sanitizer_hangs(void) { return 1; }
#else
__attribute__((unused)) static int sanitizer_hangs(void) { return 0; }
#endif

#endif
