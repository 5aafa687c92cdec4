// src/cpu/matmul/shape.hpp - a matmul problem as a list of equal matrix products.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/matmul/gemm.hpp"
#include "plan/op.hpp"

namespace ruda::cpu {

// Products count times over; product i begins at the offsets of `at`. Data pointers of the matrices are null.
struct MatmulShape {
  int64_t m = 0, n = 0, k = 0, count = 1;
  GemmMatrix a{}, b{}, c{};
  int axes = 0;  // leading axes that are left after folding
  int64_t extent[RUDA_MAX_RANK] = {}, a_stride[RUDA_MAX_RANK] = {}, b_stride[RUDA_MAX_RANK] = {},
          c_stride[RUDA_MAX_RANK] = {};

  struct Offsets {
    int64_t a = 0, b = 0, c = 0;
  };
  Offsets at(int64_t index) const {
    Offsets o;
    for (int axis = axes - 1; axis >= 0; --axis) {
      const int64_t i = index % extent[axis];
      index /= extent[axis];
      o.a += i * a_stride[axis], o.b += i * b_stride[axis], o.c += i * c_stride[axis];
    }
    return o;
  }
};

GemmType gemm_type(uint32_t dtype);

// Leading axes that b does not have become rows of one larger product where the strides of a and c allow it.
MatmulShape matmul_shape(const Problem& problem);

}  // namespace ruda::cpu
