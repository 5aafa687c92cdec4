// cuda/device/paging.cuh - where a position of a sequence lies in a cache of pages.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>

namespace ruda::cuda {

// A cache [pages, page_size, ..]: position p of the sequence lies in page table[p / page_size]. A page size
// that is a power of two costs a shift.
struct Pages {
  const int32_t* table;
  int64_t page_stride, row_stride;  // in elements
  int page_size, shift;             // shift: log2 of page_size, or -1

  __device__ int64_t offset(int position) const {
    const int page = shift >= 0 ? position >> shift : position / page_size;
    const int row = shift >= 0 ? position & (page_size - 1) : position - page * page_size;
    return int64_t(__ldg(table + page)) * page_stride + int64_t(row) * row_stride;
  }
};

__host__ __device__ inline int page_shift(int page_size) {
  for (int shift = 0; shift < 31; ++shift)
    if (page_size == 1 << shift) return shift;
  return -1;
}

}  // namespace ruda::cuda
