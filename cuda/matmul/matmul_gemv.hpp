// cuda/matmul/matmul_gemv.hpp - matmul of a few rows, bound by the reading of b.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/op.hpp"

namespace ruda::cuda::matmul_gemv {

Verdict prepare(const Problem& problem, Prepare& prepare);
void run(const Launch& launch);

}  // namespace ruda::cuda::matmul_gemv
