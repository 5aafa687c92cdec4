// src/cpu/norm/softmax.cpp - softmax on the CPU: rows on the context's threads.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/norm/softmax_rows.hpp"

namespace ruda::cpu {
namespace {

constexpr Kernel list[] = {{"cpu/softmax/rows", vector_rows::prepare<false>, vector_rows::run},
                           {"cpu/softmax/scalar", plain::prepare, plain::run<false>}};

}  // namespace

extern constinit const Kernels softmax{list};

}  // namespace ruda::cpu
