// cuda/norm/log_softmax.cu - log_softmax on the GPU: one block a row.
// SPDX-License-Identifier: Apache-2.0
#include "norm/softmax.cuh"

namespace ruda::cuda {
namespace {

constexpr Kernel list[] = {
    {"cuda/log_softmax/block_row", softmax_kernel::prepare, softmax_kernel::run<true>}};

}  // namespace

extern constinit const Kernels log_softmax{list};

}  // namespace ruda::cuda
