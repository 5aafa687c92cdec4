// cuda/matmul/block_staged_k.cu - the staged kernels of matmul_block for Q4_K and Q5_K.
// SPDX-License-Identifier: Apache-2.0
#include "matmul/block_staged.cuh"

namespace ruda::cuda::block {

RUDA_STAGED_KERNELS(RUDA_Q4_K)
RUDA_STAGED_KERNELS(RUDA_Q5_K)

}  // namespace ruda::cuda::block
