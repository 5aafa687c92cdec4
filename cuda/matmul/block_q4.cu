// cuda/matmul/block_q4.cu - the kernels of matmul_block for Q4_0 and Q4_1.
// SPDX-License-Identifier: Apache-2.0
#include "matmul/block_tiles.cuh"

namespace ruda::cuda::block {

RUDA_BLOCK_KERNELS(RUDA_Q4_0)
RUDA_BLOCK_KERNELS(RUDA_Q4_1)

}  // namespace ruda::cuda::block
