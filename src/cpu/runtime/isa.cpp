// src/cpu/runtime/isa.cpp - reads CPUID and XGETBV, asks the kernel for the AMX tiles, applies RUDA_CPU_ISA.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/runtime/isa.hpp"

#include "core/error.hpp"
#include "core/fork.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace ruda::cpu {
namespace {

struct Name {
  Isa level;
  const char* name;
};

#if defined(__aarch64__)
constexpr Name names[] = {{Isa::scalar, "scalar"}, {Isa::neon, "neon"}};
constexpr const char* known_names = "scalar, neon";
#else
constexpr Name names[] = {{Isa::scalar, "scalar"}, {Isa::sse4, "sse4"}, {Isa::avx2, "avx2"},
                          {Isa::avx512, "avx512"}, {Isa::amx, "amx"},   {Isa::avx512bf16, "avx512bf16"}};
constexpr const char* known_names = "scalar, sse4, avx2, avx512, avx512bf16, amx";
#endif

#if defined(__x86_64__)

struct Leaf {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

// All zero for a leaf that the processor does not know.
Leaf cpuid(uint32_t leaf, uint32_t sub) {
  Leaf r;
  if (!__get_cpuid_count(leaf, sub, &r.eax, &r.ebx, &r.ecx, &r.edx)) return {};
  return r;
}

constexpr bool has(uint32_t word, int bit) { return (word >> bit & 1) != 0; }

// Register state that the operating system saves at a task switch; without it the instructions must not be
// used.
uint64_t saved_state() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

// Linux hands out the tile data state on request only; the permission holds for the process and its later
// threads.
bool amx_permitted() {
#if defined(__linux__)
  constexpr long get_permission = 0x1022, request_permission = 0x1023, tile_data = 18;
  if (syscall(SYS_arch_prctl, request_permission, tile_data) != 0) return false;
  uint64_t granted = 0;
  if (syscall(SYS_arch_prctl, get_permission, &granted) != 0) return false;
  return has(uint32_t(granted), tile_data);
#else
  return false;
#endif
}

Isa probe() {
  const Leaf basic = cpuid(1, 0);
  const bool sse4 = has(basic.ecx, 0) && has(basic.ecx, 9) && has(basic.ecx, 19) && has(basic.ecx, 20) &&
                    has(basic.ecx, 23);  // SSE3, SSSE3, SSE4.1, SSE4.2, POPCNT
  if (!sse4) return Isa::scalar;

  const bool xsave = has(basic.ecx, 27);
  const uint64_t state = xsave ? saved_state() : 0;
  const Leaf seven = cpuid(7, 0), seven1 = cpuid(7, 1), extended = cpuid(0x80000001u, 0);
  const bool avx2 = (state & 0x6) == 0x6 && has(basic.ecx, 28) && has(basic.ecx, 12) && has(basic.ecx, 29) &&
                    has(seven.ebx, 5) && has(seven.ebx, 3) && has(seven.ebx, 8) && has(extended.ecx, 5);
  if (!avx2) return Isa::sse4;  // AVX, FMA, F16C, AVX2, BMI1, BMI2, LZCNT

  const bool avx512 = (state & 0xe6) == 0xe6 && has(seven.ebx, 16) && has(seven.ebx, 17) &&
                      has(seven.ebx, 28) && has(seven.ebx, 30) && has(seven.ebx, 31);
  if (!avx512) return Isa::avx2;

  const bool bf16 = has(seven.ecx, 11) && has(seven1.eax, 5);
  if (!bf16) return Isa::avx512;

  const bool tiles =
      (state & 0x60000) == 0x60000 && has(seven.edx, 22) && has(seven.edx, 24) && has(seven.edx, 25);
  return tiles && amx_permitted() ? Isa::amx : Isa::avx512bf16;
}

#elif defined(__aarch64__)

Isa probe() { return Isa::neon; }  // part of the base architecture

#else

Isa probe() { return Isa::scalar; }

#endif

Once<Isa> hardware, used;

// True when RUDA_CPU_ISA holds a usable level or is not set.
bool read_cap(Isa* cap, const char** text) {
  *cap = hardware_isa();
  *text = std::getenv("RUDA_CPU_ISA");
  if (!*text || !**text) return true;
  for (const Name& entry : names)
    if (std::strcmp(entry.name, *text) == 0) {
      if (entry.level > hardware_isa()) return false;
      *cap = entry.level;
      return true;
    }
  return false;
}

}  // namespace

Isa hardware_isa() noexcept { return hardware.get(probe); }

Isa detect() {
  Isa cap;
  const char* text;
  if (!read_cap(&cap, &text)) {
    for (const Name& entry : names)
      RUDA_CHECK(std::strcmp(entry.name, text) != 0, RUDA_E_ARGUMENT, -1,
                 "RUDA_CPU_ISA is %s, this processor has up to %s", text, isa_name(hardware_isa()));
    fail(RUDA_E_ARGUMENT, -1, "RUDA_CPU_ISA is \"%.40s\", expected one of %s", text, known_names);
  }
  return isa();
}

Isa isa() noexcept {
  const Isa known = hardware_isa();  // before the other's mutex is taken
  return used.get([known] {
    Isa cap;
    const char* text;
    return read_cap(&cap, &text) ? cap : known;
  });
}

const char* isa_name(Isa level) noexcept {
  for (const Name& entry : names)
    if (entry.level == level) return entry.name;
  return "unknown";
}

}  // namespace ruda::cpu
