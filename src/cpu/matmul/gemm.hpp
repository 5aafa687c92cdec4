// src/cpu/matmul/gemm.hpp - plain structs between the driver of a dense product and its kernels of one level.
// SPDX-License-Identifier: Apache-2.0
//
// A product C = A x B is cut into blocks of rows and of k, whose part of A is packed into panels as high as a
// register tile and stays in the second-level cache. Columns of B are packed into panels as wide as a tile,
// one of which stays in the first-level cache while the panels of A go by. Kernels without pack_a take A
// row by row where it lies, against several panels of B.
#pragma once
#include "cpu/runtime/isa.hpp"

#include <cstdint>

namespace ruda::cpu {

enum GemmType : int32_t { gemm_f32, gemm_f16, gemm_bf16 };

// Element (i, j) of a matrix is data[i * row + j * col]; strides are counted in elements.
struct GemmMatrix {
  const void* data;
  int64_t row, col;
  GemmType type;
};

struct GemmBlock {
  int64_t rows, cols, k;
  int64_t first_panel, last_panel;  // of the row panels that `rows` make, those to multiply
  GemmMatrix a;                     // begins at the first row and the first k of the block
  void* a_panel;  // rows times k rounded up to 16 elements, or scratch_bytes where a kernel wants scratch;
                  // null: A is F32 with contiguous k and used where it lies
  int64_t
      a_packed;  // row panels of a_panel that earlier calls filled; those up to last_panel are filled now.
                 // -1: a_panel has space for one
  const void* b;
  int64_t b_stride;  // 0: packed panels; else floats from one k to the next, used where they lie (a_panel is
                     // null then)
  const float* add;  // sums of earlier k blocks, null for none
  int64_t add_stride;
  void* out;
  int64_t out_stride;
  GemmType out_type;
  const float* bias;  // a value per column, null for none
};

struct GemmKernels {
  int tile_rows, tile_cols;
  int k_multiple;         // packed k is rounded up to it
  int element_bytes;      // of a packed element
  int k_block;            // best k of one pass
  int64_t a_block_bytes;  // most bytes of a packed block of A; 0: multiply packs what it needs into scratch
  int64_t b_block_bytes;  // most bytes of the panels of B that one call of multiply takes
  int64_t scratch_bytes;  // of a thread
  // Columns 0..cols-1 <= tile_cols and k 0..k-1 of a matrix into one panel.
  void (*pack_b)(const GemmMatrix* b, int64_t cols, int64_t k, void* panel);
  void (*multiply)(const GemmBlock* block);
};

RUDA_ISA_TABLE(GemmKernels, gemm_kernels)

#if defined(__x86_64__)
// BF16 operands only.
namespace amx {
extern const GemmKernels gemm_bf16_kernels;
}
#endif

}  // namespace ruda::cpu
