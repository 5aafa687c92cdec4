// cuda/norm/softmax.cu - softmax on the GPU: a row in registers, or one block a row.
// SPDX-License-Identifier: Apache-2.0
#include "norm/softmax.cuh"

namespace ruda::cuda {
namespace {

constexpr Kernel list[] = {
    {"cuda/softmax/registers", softmax_kernel::prepare_registers, softmax_kernel::run_registers<false>},
    {"cuda/softmax/block_row", softmax_kernel::prepare, softmax_kernel::run<false>}};

}  // namespace

extern constinit const Kernels softmax{list};

}  // namespace ruda::cuda
