// cuda/matmul/block_q8.cu - the kernels of matmul_block for Q8_0 and Q6_K.
// SPDX-License-Identifier: Apache-2.0
#include "matmul/block_tiles.cuh"

namespace ruda::cuda::block {

RUDA_BLOCK_KERNELS(RUDA_Q8_0)
RUDA_BLOCK_KERNELS(RUDA_Q6_K)

}  // namespace ruda::cuda::block
