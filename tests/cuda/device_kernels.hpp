// tests/cuda/device_kernels.hpp - one tile of work by each header of cuda/device, from host to host memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace ruda::test {

// Each returns nullptr, or what CUDA said. Matrices are bf16 bits, row by row.
// c [16, 8] = a [16, 16] * b [8, 16]^T by one warp: async_copy.cuh, mma.cuh.
const char* warp_product(const uint16_t* a, const uint16_t* b, float* c);
// c [64, 64] = a [64, 64] * b [64, 64]^T by four warps; a and b are rows row0.. of matrices with `stride`
// elements a row: tma.cuh, wgmma.cuh.
const char* group_product(const uint16_t* a, const uint16_t* b, int rows, int stride, int row0, float* c);
// y[i] = cache[pages[i / page_size], i % page_size]: paging.cuh.
const char* paged_rows(const int32_t* cache, int cache_pages, int page_size, const int32_t* table, int pages,
                       int32_t* y, int length);
bool has_group_product();

}  // namespace ruda::test
