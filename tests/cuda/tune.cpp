// tests/cuda/tune.cpp - the choices of cuda/tune: within what the kernels take, and as the shapes ask.
// SPDX-License-Identifier: Apache-2.0
#include "support/runner.hpp"
#include "tune/matmul.hpp"

using namespace ruda::test;
using namespace ruda::cuda::tune;

namespace {

Capability gpu_of(int multiprocessors) {
  Capability gpu;
  gpu.arch = 90;
  gpu.multiprocessors = multiprocessors;
  return gpu;
}

}  // namespace

RUDA_TEST(tune_matmul_gemv) {
  for (int multiprocessors : {0, 1, 40, 132, 1000})
    for (int64_t n : {1, 192, 576, 1536, 4096, 49152, 1 << 20})
      for (int64_t k : {1, 32, 256, 576, 1536, 4096, 1 << 16})
        for (int64_t rows = 1; rows <= 8; ++rows) {
          const Gemv c = matmul_gemv(gpu_of(multiprocessors), rows, n, k, 256);
          CHECK(c.splits == 1 || c.splits == 2 || c.splits == 4, "splits is %d", c.splits);
          CHECK(c.columns == 1 || c.columns == 2 || c.columns == 4, "columns is %d", c.columns);
        }
  const Capability h200 = gpu_of(132);
  CHECK(matmul_gemv(h200, 1, 576, 1536, 256).splits == 2, "a short matrix does not share k");
  CHECK(matmul_gemv(h200, 1, 4096, 4096, 256).columns == 1, "a matrix leaves multiprocessors idle");
  CHECK(matmul_gemv(h200, 1, 4096, 4096, 256).splits == 2, "k is a long chain of loads");
  CHECK(matmul_gemv(h200, 8, 4096, 4096, 256).columns == 4, "eight rows load a for every column");
}

RUDA_TEST(tune_block_gemv) {
  for (int multiprocessors : {0, 1, 40, 132, 1000})
    for (int64_t n : {1, 192, 576, 1536, 4096, 49152, 1 << 20})
      for (int64_t k : {32, 256, 576, 1536, 4096, 1 << 16}) {
        const Capability gpu = gpu_of(multiprocessors);
        const Gemv one = block_gemv(gpu, 1, n, k);
        for (int64_t rows : {1, 2, 3, 4}) {
          const Gemv c = block_gemv(gpu, rows, n, k);
          CHECK(c.splits == 1 || c.splits == 2 || c.splits == 4, "splits is %d", c.splits);
          CHECK(c.columns == 1 || c.columns == 2 || c.columns == 4, "columns is %d", c.columns);
          // The order of a sum, and so its bits, may not depend on the number of rows.
          CHECK(c.splits == one.splits, "%lld rows share k over %d warps, one row over %d", (long long)rows,
                c.splits, one.splits);
          CHECK(k > 4 * 256 || c.splits == 1, "k %lld is shared over %d warps", (long long)k, c.splits);
        }
      }
  const Capability h200 = gpu_of(132);
  CHECK(block_gemv(h200, 1, 576, 1536).splits == 2, "a short matrix does not share k");
  CHECK(block_gemv(h200, 1, 49152, 576).columns == 4, "a tall matrix loads x for every column");
  CHECK(block_gemv(h200, 1, 576, 576).columns == 1, "a small matrix leaves multiprocessors idle");
}

RUDA_TEST(tune_block_wide) {
  for (int multiprocessors : {0, 1, 132})
    for (int64_t n : {1, 15, 16, 17, 49152, 1 << 28}) {
      const int64_t most = 4 * std::max(multiprocessors, 1), pieces = (n + 15) / 16;
      const int64_t blocks = block_wide(gpu_of(multiprocessors), n, 16, 4);
      CHECK(blocks >= 1 && blocks <= most, "%lld blocks, expected 1 to %lld", (long long)blocks,
            (long long)most);
      const int64_t turns = (pieces + blocks - 1) / blocks, least = (pieces + most - 1) / most;
      CHECK(turns == least, "%lld columns take %lld turns, expected %lld", (long long)n, (long long)turns,
            (long long)least);
    }
}

RUDA_TEST(tune_block_staged) {
  for (int multiprocessors : {0, 1, 132})
    for (int64_t n : {1, 576, 4096, 49152})
      for (int64_t chunks : {1, 5, 32, 1000}) {
        const Capability gpu = gpu_of(multiprocessors);
        for (int64_t rows : {5, 8, 17, 64, 4096}) {
          const BlockStaged c = block_staged(gpu, rows, n, chunks);
          CHECK(c.tile == 16 || c.tile == 32, "tile is %d", c.tile);
          CHECK(c.warps >= 1 && c.warps <= chunks && c.warps <= (c.tile == 16 ? 16 : 8), "warps is %d",
                c.warps);
          // The order of a sum, and so its bits, may not depend on the number of rows.
          CHECK(c.warps == block_staged(gpu, 5, n, chunks).warps, "%lld rows change the order of sums",
                (long long)rows);
        }
      }
  CHECK(block_staged(gpu_of(132), 64, 49152, 5).tile == 32, "a tall matrix reads x too often");
  CHECK(block_staged(gpu_of(132), 64, 576, 12).warps == 12, "a small matrix leaves multiprocessors idle");
}

RUDA_TEST(tune_block_tile) {
  for (int multiprocessors : {0, 1, 132})
    for (int64_t rows : {5, 8, 64, 65, 4096})
      for (int64_t n : {1, 576, 4096, 49152}) {
        const int tile = block_tile(gpu_of(multiprocessors), rows, n);
        CHECK(tile == 16 || tile == 32, "tile is %d", tile);
      }
  CHECK(block_tile(gpu_of(132), 64, 576) == 16, "a small matrix leaves multiprocessors idle");
  CHECK(block_tile(gpu_of(132), 64, 49152) == 32, "a tall matrix reads x too often");
}
