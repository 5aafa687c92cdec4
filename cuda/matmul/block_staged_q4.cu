// cuda/matmul/block_staged_q4.cu - the staged kernels of matmul_block for Q4_0 and Q4_1.
// SPDX-License-Identifier: Apache-2.0
#include "matmul/block_staged.cuh"

namespace ruda::cuda::block {

RUDA_STAGED_KERNELS(RUDA_Q4_0)
RUDA_STAGED_KERNELS(RUDA_Q4_1)

}  // namespace ruda::cuda::block
