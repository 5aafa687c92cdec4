// cuda/tune/matmul.cpp - choices for the matrix products.
// SPDX-License-Identifier: Apache-2.0
#include "tune/matmul.hpp"

namespace ruda::cuda::tune {
namespace {

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

// More warps share a column while that shortens the chain of loads and the GPU has warps to spare, up to
// `most` a multiprocessor. Several columns a warp share the loads of the rows, once there are warps enough to
// hide the latency: `enough` a multiprocessor for one row.
Gemv choose_gemv(const Capability& gpu, int64_t rows, int64_t n, int64_t steps, int64_t most,
                 int64_t enough) {
  const int64_t multiprocessors = gpu.multiprocessors > 0 ? gpu.multiprocessors : 1;
  Gemv choice{1, 1};
  while (choice.splits < 4 && ceil_div(steps, choice.splits) > 4 &&
         n * choice.splits < multiprocessors * most)
    choice.splits *= 2;
  const int64_t warps = n * choice.splits, busy = multiprocessors * (rows == 1 ? enough : 8);
  if (warps >= 4 * busy)
    choice.columns = 4;
  else if (warps >= 2 * busy)
    choice.columns = 2;
  return choice;
}

}  // namespace

Gemv matmul_gemv(const Capability& gpu, int64_t rows, int64_t n, int64_t k, int64_t step) {
  // For 1x4096x4096 of bf16 on an H200, 62 warps a multiprocessor took 20 us, 31 took 26. Each of a is
  // loaded, from the first-level cache, once for all columns of a warp.
  return choose_gemv(gpu, rows, n, ceil_div(k, step), 48, 32);
}

Gemv block_gemv(const Capability& gpu, int64_t rows, int64_t n, int64_t k) {
  // A warp takes 256 elements of k a step and has four steps in flight; 64 warps a multiprocessor are
  // resident.
  return choose_gemv(gpu, rows, n, ceil_div(k, 256), 64, 48);
}

int block_wide(const Capability& gpu, int64_t n, int64_t columns, int resident) {
  // As many as are resident, fewer where they would take as many turns.
  const int64_t most = resident * int64_t(gpu.multiprocessors > 0 ? gpu.multiprocessors : 1);
  const int64_t pieces = ceil_div(n, columns), rounds = ceil_div(pieces, most);
  return int(ceil_div(pieces, rounds));
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
