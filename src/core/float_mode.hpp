// src/core/float_mode.hpp - the floating-point mode that the library computes in, whatever its thread's is.
// SPDX-License-Identifier: Apache-2.0
//
// Goals: a result does not depend on which thread computed it, nor on what the caller made of its mode:
// rounding to nearest, subnormals kept, no traps; the caller finds its own mode again. Costs a read of the
// mode where it is the usual one. Rejected: the caller's mode for all threads, since the promises on bits and
// errors are those of one mode.
#pragma once
#include <cstdint>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace ruda {

class FloatMode {
 public:
  FloatMode() noexcept : former_(get()) {
    if ((former_ & ~happened) != usual) [[unlikely]]
      set(usual);
  }
  ~FloatMode() {
    if ((former_ & ~happened) != usual) [[unlikely]]
      set(former_);
  }
  FloatMode(const FloatMode&) = delete;
  FloatMode& operator=(const FloatMode&) = delete;

 private:
#if defined(__x86_64__)
  using Word = uint32_t;
  static constexpr Word usual = 0x1F80, happened = 0x3F;  // of MXCSR: what lately happened, as bits
  static Word get() noexcept { return _mm_getcsr(); }
  static void set(Word word) noexcept { _mm_setcsr(word); }
#elif defined(__aarch64__)
  using Word = uint64_t;
  static constexpr Word usual = 0, happened = 0;  // of FPCR
  static Word get() noexcept {
    Word word;
    __asm__ volatile("mrs %0, fpcr" : "=r"(word));
    return word;
  }
  static void set(Word word) noexcept { __asm__ volatile("msr fpcr, %0" : : "r"(word)); }
#else
  using Word = uint32_t;
  static constexpr Word usual = 0, happened = 0;
  static Word get() noexcept { return 0; }
  static void set(Word) noexcept {}
#endif
  const Word former_;
};

}  // namespace ruda
