// cuda/matmul/matmul_mma.hpp - matmul of 16-bit operands by the tensor cores, without any library.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/op.hpp"

namespace ruda::cuda::matmul_mma {

Verdict prepare(const Problem& problem, Prepare& prepare);
void run(const Launch& launch);

}  // namespace ruda::cuda::matmul_mma
