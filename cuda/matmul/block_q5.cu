// cuda/matmul/block_q5.cu - the kernels of matmul_block for Q5_0 and Q5_1.
// SPDX-License-Identifier: Apache-2.0
#include "matmul/block_tiles.cuh"

namespace ruda::cuda::block {

RUDA_BLOCK_KERNELS(RUDA_Q5_0)
RUDA_BLOCK_KERNELS(RUDA_Q5_1)

}  // namespace ruda::cuda::block
