// tests/ops/elementwise/float_mode.cpp - results do not depend on the floating-point mode of the caller.
// SPDX-License-Identifier: Apache-2.0
#include "support/objects.hpp"

#include <cmath>
#include <cstring>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace ruda::test;

// Threads that were made before compute beside the caller: both must use one mode, and the caller's is there
// again after the call.
RUDA_TEST(results_in_every_float_mode) {
#if defined(__x86_64__)
  if (env.settings.backend != RUDA_BACKEND_CPU) throw Skip("a GPU has no mode of the host's");
  constexpr int64_t count = 1 << 20;
  std::vector<float> gate(count), up(count);
  for (int64_t i = 0; i < count; ++i) {
    gate[size_t(i)] = i % 3 ? 1e-39f * float(i % 1000) : float(i) / 777;
    up[size_t(i)] = i % 2 ? 1.7f : 3e-39f;
  }
  ruda_tensor x = new_tensor(env.context, RUDA_F32, {count}), y = new_tensor(env.context, RUDA_F32, {count});
  MUST(ruda_tensor_write(env.stream, x, gate.data(), count * 4));
  MUST(ruda_tensor_write(env.stream, y, up.data(), count * 4));
  const auto result = [&](uint32_t mode) {
    const uint32_t former = _mm_getcsr();
    _mm_setcsr(former | mode);
    ruda_tensor out = nullptr;
    const ruda_status status = ruda_silu_mul(env.stream, x, y, &out);
    const uint32_t found = _mm_getcsr();
    _mm_setcsr(former);
    MUST(status);
    CHECK((found & ~0x3Fu) == ((former | mode) & ~0x3Fu), "the mode is 0x%x after the call, it was 0x%x",
          found, former | mode);
    std::vector<float> values(count);
    MUST(ruda_tensor_read(env.stream, out, values.data(), count * 4));
    ruda_release(out);
    return values;
  };
  const std::vector<float> want = result(0);
  struct {
    const char* name;
    uint32_t bits;
  } const modes[] = {{"flush to zero", 0x8040}, {"toward zero", 0x6000}, {"upward", 0x4000}};
  for (const auto& mode : modes) {
    set_case(mode.name);
    for (int round = 0; round < 4; ++round) {
      const std::vector<float> got = result(mode.bits);
      CHECK(std::memcmp(got.data(), want.data(), count * 4) == 0, "other bits in this mode");
    }
  }
  ruda_release(x);
  ruda_release(y);
#else
  (void)env;
  throw Skip("the mode is set by instructions of x86-64");
#endif
}

// A fill rounds its number before any kernel sees it.
RUDA_TEST(fill_in_every_float_mode) {
#if defined(__x86_64__)
  ruda_tensor x = new_tensor(env.context, RUDA_I32, {3});
  for (const uint32_t mode : {0x2000u, 0x4000u, 0x6000u})
    for (const double value : {2.25, 2.75, -2.25, -2.75, 2.5}) {
      const uint32_t former = _mm_getcsr();
      _mm_setcsr(former | mode);
      const ruda_status status = ruda_tensor_fill(env.stream, x, value);
      _mm_setcsr(former);
      MUST(status);
      int32_t got[3];
      MUST(ruda_tensor_read(env.stream, x, got, sizeof got));
      CHECK(got[0] == int32_t(std::nearbyint(value)), "%g in mode 0x%x is %d", value, mode, got[0]);
    }
  ruda_release(x);
#else
  (void)env;
  throw Skip("the mode is set by instructions of x86-64");
#endif
}
