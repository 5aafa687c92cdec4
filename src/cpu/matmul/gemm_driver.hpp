// src/cpu/matmul/gemm_driver.hpp - cuts a product into blocks, packs them and spreads them over the pool.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/matmul/gemm.hpp"
#include "cpu/runtime/pool.hpp"

#include <cstddef>

namespace ruda {
struct StopSign;
}

namespace ruda::cpu {

// One product, C [m, n] = A [m, k] x B [k, n] + bias [n]: where the memory is.
struct GemmCall {
  const void* a;
  const void* b;
  void* c;
  const float* bias;     // null for none
  const StopSign* stop;  // looked at between blocks
};

// The cut, made once from sizes, strides, types and the number of threads; trivially copyable.
struct GemmCut {
  const GemmKernels* kernels;
  int64_t m, n, k;
  GemmMatrix a, b, c;  // data is null
  int threads;
  bool a_direct, b_direct;  // used where they lie
  bool a_kept;              // a thread packs a block of A once, not for each call of multiply
  int64_t k_block, n_block;
  int64_t row_block;    // rows of C whose part of A a thread keeps packed
  int64_t segments;     // of a row block; one of them by a panel of columns is the smallest piece of work
  int64_t most_panels;  // of B that one call of multiply takes
  size_t a_bytes, b_bytes,
      sum_bytes;  // workspace: a block of A and panels of B per thread, F32 sums of a 16-bit C

  size_t workspace_bytes() const { return (a_bytes + b_bytes) * size_t(threads) + sum_bytes; }
};

GemmCut gemm_cut(const GemmKernels& kernels, int64_t m, int64_t n, int64_t k, const GemmMatrix& a,
                 const GemmMatrix& b, const GemmMatrix& c, int threads);

// `workspace` is 64-byte aligned. Without a pool the parts run one after another; the result is the same
// bits.
void gemm_run(const GemmCut& cut, const GemmCall& call, void* workspace, ThreadPool* pool);

}  // namespace ruda::cpu
