// src/core/philox.hpp - counter-based random numbers: Philox4x32-10, the same bits on every device.
// SPDX-License-Identifier: Apache-2.0
//
// Salmon, Moraes, Dror, Shaw, "Parallel Random Numbers: As Easy as 1, 2, 3", 2011.
#pragma once
#include <array>
#include <cstdint>

namespace ruda {

constexpr std::array<uint32_t, 4> philox(uint64_t seed, uint64_t counter, uint64_t stream = 0) {
  uint32_t key[2] = {uint32_t(seed), uint32_t(seed >> 32)};
  uint32_t x[4] = {uint32_t(counter), uint32_t(counter >> 32), uint32_t(stream), uint32_t(stream >> 32)};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = uint64_t(x[0]) * 0xD2511F53u, b = uint64_t(x[2]) * 0xCD9E8D57u;
    const uint32_t next[4] = {uint32_t(b >> 32) ^ x[1] ^ key[0], uint32_t(b),
                              uint32_t(a >> 32) ^ x[3] ^ key[1], uint32_t(a)};
    for (int i = 0; i < 4; ++i) x[i] = next[i];
    key[0] += 0x9E3779B9u;
    key[1] += 0xBB67AE85u;
  }
  return {x[0], x[1], x[2], x[3]};
}

// In [0, 1), 53 bits.
constexpr double philox_uniform(uint64_t seed, uint64_t counter, uint64_t stream = 0) {
  const auto x = philox(seed, counter, stream);
  return double((uint64_t(x[0]) << 32 | x[1]) >> 11) * 0x1p-53;
}

}  // namespace ruda
