// src/model/text/hash.hpp - a seeded hash for tables that a file fills: it cannot choose keys that all
// collide.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace ruda::text {

inline uint64_t hash_mix(uint64_t a, uint64_t b) {
  const auto product = static_cast<unsigned __int128>(a) * b;
  return uint64_t(product) ^ uint64_t(product >> 64);
}

// Differs between runs; no result may depend on it.
inline uint64_t hash_seed(const void* address) {
  const auto now = uint64_t(std::chrono::steady_clock::now().time_since_epoch().count());
  return hash_mix(now ^ 0x9E3779B97F4A7C15ULL, uint64_t(reinterpret_cast<uintptr_t>(address)) | 1);
}

inline uint64_t hash_word(uint64_t word, uint64_t seed) {
  return hash_mix(word ^ 0x9E3779B97F4A7C15ULL ^ seed, 0xD6E8FEB86659FD93ULL ^ seed);
}

inline uint64_t hash_text(std::string_view text, uint64_t seed) {
  uint64_t hash = seed ^ text.size();
  while (!text.empty()) {
    uint64_t word = 0;
    const size_t n = std::min<size_t>(text.size(), 8);
    std::memcpy(&word, text.data(), n);
    hash = hash_word(hash ^ word, seed);
    text.remove_prefix(n);
  }
  return hash;
}

}  // namespace ruda::text
