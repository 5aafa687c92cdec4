// tests/ops/norm/softmax.cpp - softmax against the definition in double.
// SPDX-License-Identifier: Apache-2.0
#include "support/softmax_cases.hpp"

using namespace ruda::test;

namespace {

struct Softmax {
  using Desc = ruda_softmax_desc;
  static constexpr const char* name = "softmax";
  static constexpr double at_zero = 1, beside_zero = 0;  // of a row of -inf with one 0
  static Desc empty() {
    Desc desc = RUDA_SOFTMAX_DESC_INIT;
    return desc;
  }
  static constexpr auto create = ruda_softmax_plan_create;
  static constexpr auto eager = ruda_softmax;
  // Terms with a large spread hardly count in the sum: a spread of 4 stands for all that do.
  static Element element(double difference, double sum, int64_t cols) {
    const double spread = std::min(-difference, 200.0), y = std::exp(difference) / sum;
    return {y, y * (sum_bound(4, cols) + epsilon(RUDA_F32) * (3 + spread / 2))};
  }
};
static_assert(RUDA_SOFTMAX_X == X && RUDA_SOFTMAX_Y == Y);

}  // namespace

RUDA_SOFTMAX_TESTS(softmax, Softmax)
