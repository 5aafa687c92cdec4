// src/cpu/norm/log_softmax.cpp - log_softmax on the CPU: rows on the context's threads.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/norm/softmax_rows.hpp"

namespace ruda::cpu {
namespace {

constexpr Kernel list[] = {{"cpu/log_softmax/rows", vector_rows::prepare<true>, vector_rows::run},
                           {"cpu/log_softmax/scalar", plain::prepare, plain::run<true>}};

}  // namespace

extern constinit const Kernels log_softmax{list};

}  // namespace ruda::cpu
