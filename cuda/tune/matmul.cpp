// cuda/tune/matmul.cpp - choices for the matrix products.
// SPDX-License-Identifier: Apache-2.0
#include "tune/matmul.hpp"

namespace ruda::cuda::tune {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

}  // namespace

Gemv matmul_gemv(const Capability& gpu, int64_t rows, int64_t n, int64_t k, int64_t step) {
  // As in block_gemv: for 1x4096x4096 of bf16 on an H200, 62 warps a multiprocessor took 20 us, 31 took 26.
  // Several columns a warp pay for several rows: each of a is loaded, from the first-level cache, once for
  // all columns.
  const int64_t steps = ceil_div(k, step),
                multiprocessors = gpu.multiprocessors > 0 ? gpu.multiprocessors : 1;
  Gemv choice{1, 1};
  while (choice.splits < 4 && ceil_div(steps, choice.splits) > 4 && n * choice.splits < multiprocessors * 48)
    choice.splits *= 2;
  const int64_t warps = n * choice.splits, enough = multiprocessors * (rows == 1 ? 32 : 8);
  if (warps >= 4 * enough)
    choice.columns = 4;
  else if (warps >= 2 * enough)
    choice.columns = 2;
  return choice;
}

BlockGemv block_gemv(const Capability& gpu, int64_t rows, int64_t n, int64_t k) {
  // A warp takes 256 elements of k a step and has four steps in flight. More warps share a column while that
  // shortens the chain of loads and the GPU has warps to spare: 64 a multiprocessor are resident.
  const int64_t steps = ceil_div(k, 256), multiprocessors = gpu.multiprocessors > 0 ? gpu.multiprocessors : 1;
  BlockGemv choice{1, 1};
  while (choice.splits < 4 && ceil_div(steps, choice.splits) > 4 && n * choice.splits < multiprocessors * 64)
    choice.splits *= 2;
  // Several columns a warp share the loads of x, once there are warps enough to hide the latency.
  const int64_t warps = n * choice.splits, enough = multiprocessors * (rows == 1 ? 48 : 8);
  if (warps >= 4 * enough)
    choice.rows_per_warp = 4;
  else if (warps >= 2 * enough)
    choice.rows_per_warp = 2;
  return choice;
}

int block_tile(const Capability& gpu, int64_t rows, int64_t n) {
  // Larger tiles read x half as often; smaller ones fill the GPU.
  const int64_t blocks = ceil_div(n, 32) * ceil_div(rows, 64);
  return rows > 16 && blocks >= gpu.multiprocessors   ? 32
         : blocks >= 4 * int64_t(gpu.multiprocessors) ? 32
                                                      : 16;
}

BlockStaged block_staged(const Capability& gpu, int64_t rows, int64_t n, int64_t chunks) {
  // The order of a sum, and so its bits, may not depend on the rows: the warps follow from n and k alone.
  const int64_t multiprocessors = gpu.multiprocessors > 0 ? gpu.multiprocessors : 1;
  const int64_t most = ceil_div(n, 16) <= multiprocessors ? 16 : 8;
  BlockStaged choice{16, int(chunks < most ? chunks : most)};
  if (rows > 16 && ceil_div(n, 32) >= 2 * multiprocessors && choice.warps <= 8) choice.tile = 32;
  return choice;
}

}  // namespace ruda::cuda::tune
