// cuda/matmul/block_staged_q5.cu - the staged kernels of matmul_block for Q5_0 and Q5_1.
// SPDX-License-Identifier: Apache-2.0
#include "matmul/block_staged.cuh"

namespace ruda::cuda::block {

RUDA_STAGED_KERNELS(RUDA_Q5_0)
RUDA_STAGED_KERNELS(RUDA_Q5_1)

}  // namespace ruda::cuda::block
