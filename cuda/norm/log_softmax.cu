// cuda/norm/log_softmax.cu - log_softmax on the GPU: a row in registers, or one block a row.
// SPDX-License-Identifier: Apache-2.0
#include "norm/softmax.cuh"

namespace ruda::cuda {
namespace {

constexpr Kernel list[] = {
    {"cuda/log_softmax/registers", softmax_kernel::prepare_registers, softmax_kernel::run_registers<true>},
    {"cuda/log_softmax/block_row", softmax_kernel::prepare, softmax_kernel::run<true>}};

}  // namespace

extern constinit const Kernels log_softmax{list};

}  // namespace ruda::cuda
