// cuda/matmul/block_k.cu - the kernels of matmul_block for Q4_K and Q5_K.
// SPDX-License-Identifier: Apache-2.0
#include "matmul/block_tiles.cuh"

namespace ruda::cuda::block {

RUDA_BLOCK_KERNELS(RUDA_Q4_K)
RUDA_BLOCK_KERNELS(RUDA_Q5_K)

}  // namespace ruda::cuda::block
