// tests/bench/ceilings.cpp - what this processor can do at most, measured beside the benchmarks: arithmetic
// and memory.
// SPDX-License-Identifier: Apache-2.0
//
// usage: ceilings [threads]     prints one JSON object: F32 FMA, BF16 and INT8 dot products (vectors and
// tiles) in operations a second, reads of 256 MiB and of 96 MiB, as large as a small model, and copies in
// bytes a second; 0 where the processor lacks the instruction. The best of several rounds, of BF16 tiles the
// median too: some processors slow the tile unit down under load.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace {

using Clock = std::chrono::steady_clock;

struct Rates {
  double best, median;
};

// Work done by `threads` at once, over several rounds. The threads live through all rounds and spin
// before each, so their start is not counted.
Rates rates(int threads, double work_a_call, const std::function<void(int)>& call) {
  constexpr int round_count = 8;
  std::atomic<int> arrived{0}, done{0};
  const auto work = [&](int thread, std::vector<double>* found) {
    for (int round = 1; round <= round_count; ++round) {
      arrived.fetch_add(1);
      while (arrived.load() < threads * round) {
      }
      const auto start = Clock::now();
      call(thread);
      done.fetch_add(1);
      while (done.load() < threads * round) {
      }
      if (found)
        found->push_back(work_a_call * threads / std::chrono::duration<double>(Clock::now() - start).count());
    }
  };
  std::vector<double> found;
  std::vector<std::thread> others;
  for (int t = 1; t < threads; ++t) others.emplace_back(work, t, nullptr);
  work(0, &found);
  for (auto& thread : others) thread.join();
  std::sort(found.begin(), found.end());
  return {found.back(), found[found.size() / 2]};
}

double rate(int threads, double work_a_call, const std::function<void(int)>& call) {
  return rates(threads, work_a_call, call).best;
}

volatile float sink_float;
volatile int sink_int;

#if defined(__x86_64__)

constexpr int rounds = 4000000;

__attribute__((target("avx512f"))) void fma_avx512(int) {
  __m512 a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11;
  a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = a8 = a9 = a10 = a11 = _mm512_setzero_ps();
  const __m512 x = _mm512_set1_ps(1.0001f), y = _mm512_set1_ps(0.9999f);
  for (int i = 0; i < rounds; ++i) {
    a0 = _mm512_fmadd_ps(x, y, a0), a1 = _mm512_fmadd_ps(x, y, a1), a2 = _mm512_fmadd_ps(x, y, a2);
    a3 = _mm512_fmadd_ps(x, y, a3), a4 = _mm512_fmadd_ps(x, y, a4), a5 = _mm512_fmadd_ps(x, y, a5);
    a6 = _mm512_fmadd_ps(x, y, a6), a7 = _mm512_fmadd_ps(x, y, a7), a8 = _mm512_fmadd_ps(x, y, a8);
    a9 = _mm512_fmadd_ps(x, y, a9), a10 = _mm512_fmadd_ps(x, y, a10), a11 = _mm512_fmadd_ps(x, y, a11);
    asm volatile("" : "+v"(a0), "+v"(a1), "+v"(a2), "+v"(a3), "+v"(a4), "+v"(a5));
    asm volatile("" : "+v"(a6), "+v"(a7), "+v"(a8), "+v"(a9), "+v"(a10), "+v"(a11));
  }
  sink_float = _mm512_cvtss_f32(a0) + _mm512_cvtss_f32(a11);
}

__attribute__((target("avx2,fma"))) void fma_avx2(int) {
  __m256 a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11;
  a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = a8 = a9 = a10 = a11 = _mm256_setzero_ps();
  const __m256 x = _mm256_set1_ps(1.0001f), y = _mm256_set1_ps(0.9999f);
  for (int i = 0; i < rounds; ++i) {
    a0 = _mm256_fmadd_ps(x, y, a0), a1 = _mm256_fmadd_ps(x, y, a1), a2 = _mm256_fmadd_ps(x, y, a2);
    a3 = _mm256_fmadd_ps(x, y, a3), a4 = _mm256_fmadd_ps(x, y, a4), a5 = _mm256_fmadd_ps(x, y, a5);
    a6 = _mm256_fmadd_ps(x, y, a6), a7 = _mm256_fmadd_ps(x, y, a7), a8 = _mm256_fmadd_ps(x, y, a8);
    a9 = _mm256_fmadd_ps(x, y, a9), a10 = _mm256_fmadd_ps(x, y, a10), a11 = _mm256_fmadd_ps(x, y, a11);
    asm volatile("" : "+x"(a0), "+x"(a1), "+x"(a2), "+x"(a3), "+x"(a4), "+x"(a5));
    asm volatile("" : "+x"(a6), "+x"(a7), "+x"(a8), "+x"(a9), "+x"(a10), "+x"(a11));
  }
  sink_float = _mm256_cvtss_f32(a0) + _mm256_cvtss_f32(a11);
}

__attribute__((target("avx512f,avx512bf16"))) void dot_bf16(int) {
  __m512 a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11;
  a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = a8 = a9 = a10 = a11 = _mm512_setzero_ps();
  const __m512bh x = (__m512bh)_mm512_set1_epi16(0x3f80), y = (__m512bh)_mm512_set1_epi16(0x3f00);
  for (int i = 0; i < rounds; ++i) {
    a0 = _mm512_dpbf16_ps(a0, x, y), a1 = _mm512_dpbf16_ps(a1, x, y), a2 = _mm512_dpbf16_ps(a2, x, y);
    a3 = _mm512_dpbf16_ps(a3, x, y), a4 = _mm512_dpbf16_ps(a4, x, y), a5 = _mm512_dpbf16_ps(a5, x, y);
    a6 = _mm512_dpbf16_ps(a6, x, y), a7 = _mm512_dpbf16_ps(a7, x, y), a8 = _mm512_dpbf16_ps(a8, x, y);
    a9 = _mm512_dpbf16_ps(a9, x, y), a10 = _mm512_dpbf16_ps(a10, x, y), a11 = _mm512_dpbf16_ps(a11, x, y);
    asm volatile("" : "+v"(a0), "+v"(a1), "+v"(a2), "+v"(a3), "+v"(a4), "+v"(a5));
    asm volatile("" : "+v"(a6), "+v"(a7), "+v"(a8), "+v"(a9), "+v"(a10), "+v"(a11));
  }
  sink_float = _mm512_cvtss_f32(a0) + _mm512_cvtss_f32(a11);
}

__attribute__((target("avx512f,avx512vnni"))) void dot_int8(int) {
  __m512i a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11;
  a0 = a1 = a2 = a3 = a4 = a5 = a6 = a7 = a8 = a9 = a10 = a11 = _mm512_setzero_si512();
  const __m512i x = _mm512_set1_epi8(3), y = _mm512_set1_epi8(-5);
  for (int i = 0; i < rounds; ++i) {
    a0 = _mm512_dpbusd_epi32(a0, x, y), a1 = _mm512_dpbusd_epi32(a1, x, y),
    a2 = _mm512_dpbusd_epi32(a2, x, y);
    a3 = _mm512_dpbusd_epi32(a3, x, y), a4 = _mm512_dpbusd_epi32(a4, x, y),
    a5 = _mm512_dpbusd_epi32(a5, x, y);
    a6 = _mm512_dpbusd_epi32(a6, x, y), a7 = _mm512_dpbusd_epi32(a7, x, y),
    a8 = _mm512_dpbusd_epi32(a8, x, y);
    a9 = _mm512_dpbusd_epi32(a9, x, y), a10 = _mm512_dpbusd_epi32(a10, x, y),
    a11 = _mm512_dpbusd_epi32(a11, x, y);
    asm volatile("" : "+v"(a0), "+v"(a1), "+v"(a2), "+v"(a3), "+v"(a4), "+v"(a5));
    asm volatile("" : "+v"(a6), "+v"(a7), "+v"(a8), "+v"(a9), "+v"(a10), "+v"(a11));
  }
  sink_int = _mm512_cvtsi512_si32(_mm512_add_epi32(a0, a11));
}

constexpr int tile_rounds = 400000;

bool tiles_allowed() {
  constexpr int request_permission = 0x1023, tile_data = 18;
  return __builtin_cpu_supports("amx-tile") && syscall(SYS_arch_prctl, request_permission, tile_data) == 0;
}

__attribute__((target("amx-tile,amx-bf16,amx-int8"))) void tiles(bool bf16) {
  alignas(64) uint8_t config[64] = {1};
  for (int t = 0; t < 8; ++t) {
    config[16 + 2 * t] = 64;
    config[48 + t] = 16;
  }
  alignas(64) static const uint8_t ones[1024] = {1, 1, 1};
  _tile_loadconfig(config);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  _tile_loadd(4, ones, 64);
  _tile_loadd(5, ones, 64);
  _tile_loadd(6, ones, 64);
  _tile_loadd(7, ones, 64);
  for (int i = 0; i < tile_rounds; ++i) {
    if (bf16) {
      _tile_dpbf16ps(0, 4, 6);
      _tile_dpbf16ps(1, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    } else {
      _tile_dpbssd(0, 4, 6);
      _tile_dpbssd(1, 4, 7);
      _tile_dpbssd(2, 5, 6);
      _tile_dpbssd(3, 5, 7);
    }
  }
  alignas(64) uint8_t out[1024];
  _tile_stored(0, out, 64);
  sink_int = out[0];
  _tile_release();
}

#endif

constexpr size_t memory_bytes = size_t(256) << 20, model_bytes = size_t(96) << 20;

typedef uint64_t Line __attribute__((vector_size(64)));

// Four streams: a processor fetches ahead in each only so far.
void read_memory(const std::vector<uint64_t>& memory, int part, int parts) {
  const size_t begin = memory.size() * size_t(part) / size_t(parts),
               end = memory.size() * size_t(part + 1) / size_t(parts);
  const size_t length = (end - begin) / 4 / 8 * 8;
  const uint64_t* from = memory.data() + begin;
  Line a{}, b{}, c{}, d{}, line;
  for (size_t i = 0; i < length; i += 8) {
    std::memcpy(&line, from + i, sizeof line), a ^= line;
    std::memcpy(&line, from + length + i, sizeof line), b ^= line;
    std::memcpy(&line, from + 2 * length + i, sizeof line), c ^= line;
    std::memcpy(&line, from + 3 * length + i, sizeof line), d ^= line;
  }
  a ^= b ^ c ^ d;
  sink_int = int(a[0] ^ a[1] ^ a[2] ^ a[3] ^ a[4] ^ a[5] ^ a[6] ^ a[7]);
}

}  // namespace

int main(int argc, char** argv) {
  const int threads = argc > 1 ? std::max(1, std::atoi(argv[1])) : int(std::thread::hardware_concurrency());
  double fma = 0, bf16 = 0, int8 = 0, int8_tiles = 0;
  Rates bf16_tiles{};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f"))
    fma = rate(threads, rounds * 12.0 * 32, fma_avx512);
  else if (__builtin_cpu_supports("avx2"))
    fma = rate(threads, rounds * 12.0 * 16, fma_avx2);
  if (__builtin_cpu_supports("avx512bf16")) bf16 = rate(threads, rounds * 12.0 * 64, dot_bf16);
  if (__builtin_cpu_supports("avx512vnni")) int8 = rate(threads, rounds * 12.0 * 128, dot_int8);
  if (tiles_allowed()) {
    bf16_tiles = rates(threads, tile_rounds * 4.0 * 2 * 16 * 16 * 32, [](int) { tiles(true); });
    int8_tiles = rate(threads, tile_rounds * 4.0 * 2 * 16 * 16 * 64, [](int) { tiles(false); });
  }
#endif
  std::vector<uint64_t> from(memory_bytes / 8, 1), to(memory_bytes / 8, 2);
  const double read =
      rate(threads, double(memory_bytes) / threads, [&](int t) { read_memory(from, t, threads); });
  const std::vector<uint64_t> model(model_bytes / 8, 1);
  const double read_model =
      rate(threads, double(model_bytes) / threads, [&](int t) { read_memory(model, t, threads); });
  const double copy = rate(threads, 2.0 * double(memory_bytes) / threads, [&](int t) {
    const size_t part = from.size() / size_t(threads);
    std::memcpy(to.data() + part * size_t(t), from.data() + part * size_t(t), part * 8);
  });
  std::printf(
      "{\"threads\": %d, \"f32_fma\": %.4g, \"bf16_dot\": %.4g, \"int8_dot\": %.4g, \"bf16_tiles\": %.4g, "
      "\"bf16_tiles_median\": %.4g, \"int8_tiles\": %.4g, \"read\": %.4g, \"read_model\": %.4g, \"copy\": "
      "%.4g}\n",
      threads, fma, bf16, int8, bf16_tiles.best, bf16_tiles.median, int8_tiles, read, read_model, copy);
  return 0;
}
