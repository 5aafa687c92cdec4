// cuda/matmul/block_staged_q8.cu - the staged kernels of matmul_block for Q8_0 and Q6_K.
// SPDX-License-Identifier: Apache-2.0
#include "matmul/block_staged.cuh"

namespace ruda::cuda::block {

RUDA_STAGED_KERNELS(RUDA_Q8_0)
RUDA_STAGED_KERNELS(RUDA_Q6_K)

}  // namespace ruda::cuda::block
