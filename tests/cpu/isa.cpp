// tests/cpu/isa.cpp - detection of the instruction set, its cap by RUDA_CPU_ISA, the choice of a table.
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"
#include "cpu/runtime/isa.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include <sys/wait.h>
#include <unistd.h>

using namespace ruda::cpu;

namespace {

int failures = 0;

void expect(bool ok, const char* what) {
  if (ok) return;
  failures++;
  std::printf("FAIL %s\n", what);
}

// Each setting needs a process of its own, since the level is found once. The child answers 10 + level, or 1
// for an error whose text holds `part` and whose status is RUDA_E_ARGUMENT, or 2.
int answer(const char* setting, const char* part = "") {
  const pid_t child = fork();
  if (child == 0) {
    if (setting)
      setenv("RUDA_CPU_ISA", setting, 1);
    else
      unsetenv("RUDA_CPU_ISA");
    int code;
    try {
      code = 10 + int(detect());
      if (detect() != isa()) code = 3;
    } catch (const ruda::Error& e) {
      code = e.status == RUDA_E_ARGUMENT && std::strstr(e.what(), part) && isa() == hardware_isa() ? 1 : 2;
    }
    _exit(code);
  }
  int state = 0;
  return waitpid(child, &state, 0) == child && WIFEXITED(state) ? WEXITSTATUS(state) : -1;
}

struct Table {
  Isa level;
};

}  // namespace

int main() {
  const Isa top = hardware_isa();
  std::printf("hardware %s\n", isa_name(top));  // isa() stays untouched in this process
#if defined(__x86_64__)
  __builtin_cpu_init();
  expect((top >= Isa::avx2) == (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")),
         "avx2 as the compiler says");
  expect((top >= Isa::avx512) == (__builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")),
         "avx512 as the compiler says");
  const Isa levels[] = {Isa::scalar, Isa::sse4, Isa::avx2, Isa::avx512, Isa::avx512bf16, Isa::amx};
#elif defined(__aarch64__)
  const Isa levels[] = {Isa::scalar, Isa::neon};
#else
  const Isa levels[] = {Isa::scalar};
#endif
  expect(answer(nullptr) == 10 + int(top), "unset");
  expect(answer("") == 10 + int(top), "empty");
  expect(answer("pentium", "\"pentium\", expected one of scalar") == 1, "unknown name");
  for (Isa level : levels) {
    if (level <= top)
      expect(answer(isa_name(level)) == 10 + int(level), isa_name(level));
    else
      expect(answer(isa_name(level), isa_name(top)) == 1, "level that the processor lacks");
  }

  static const Table low{Isa::scalar}, high{levels[sizeof levels / sizeof *levels - 1]};
  const IsaTable<Table> list[] = {{high.level, &high}, {Isa::scalar, &low}};
  expect(&pick(list, high.level) == &high, "pick the best");
  expect(&pick(list, Isa::scalar) == &low, "pick the last");
  if (failures) std::printf("%d failures\n", failures);
  return failures ? 1 : 0;
}
