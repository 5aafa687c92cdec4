// cuda/matmul/matmul_lt.hpp - matmul by cuBLASLt, for the candidate list of matmul.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/op.hpp"

namespace ruda::cuda::matmul_lt {

Verdict prepare(const Problem& problem, Prepare& prepare);
void run(const Launch& launch);

}  // namespace ruda::cuda::matmul_lt
