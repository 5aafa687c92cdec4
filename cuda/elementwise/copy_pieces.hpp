// cuda/elementwise/copy_pieces.hpp - conversions of dense memory that have an integer, BOOL, F64 or FP8 on a
// side.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/op.hpp"

namespace ruda::cuda {

// Of a copy whose operands are contiguous at multiples of 16 bytes.
void run_pieces(const Launch& launch);

}  // namespace ruda::cuda
