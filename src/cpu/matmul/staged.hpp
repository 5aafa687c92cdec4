// src/cpu/matmul/staged.hpp - matmul in three steps: operands made readable, a packed product, what follows
// it.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/op.hpp"

namespace ruda::cpu {

bool is_fp8(uint32_t dtype);
// The bias, activation and scales of a matmul.
struct Epilogue {
  explicit Epilogue(const Launch& launch);
  // Of an element in column j.
  float operator()(float sum, int64_t j) const;

 private:
  const void* bias_;
  uint32_t bias_dtype_, activation_;
  float scale_;
};

namespace staged {

Verdict prepare(const Problem& problem, Prepare& prepare);
void run(const Launch& launch);

}  // namespace staged
}  // namespace ruda::cpu
