// tests/ops/norm/log_softmax.cpp - log_softmax against the definition in double.
// SPDX-License-Identifier: Apache-2.0
#include "support/softmax_cases.hpp"

using namespace ruda::test;

namespace {

struct LogSoftmax {
  using Desc = ruda_log_softmax_desc;
  static constexpr const char* name = "log_softmax";
  static constexpr double at_zero = 0, beside_zero = -INFINITY;  // of a row of -inf with one 0
  static Desc empty() {
    Desc desc = RUDA_LOG_SOFTMAX_DESC_INIT;
    return desc;
  }
  static constexpr auto create = ruda_log_softmax_plan_create;
  static constexpr auto eager = ruda_log_softmax;
  static Element element(double difference, double sum, int64_t cols) {
    const double y = difference - std::log(sum);
    return {y, sum_bound(4, cols) + epsilon(RUDA_F32) * (std::log(sum) - difference / 2 + std::fabs(y) / 2)};
  }
};
static_assert(RUDA_LOG_SOFTMAX_X == X && RUDA_LOG_SOFTMAX_Y == Y);

}  // namespace

RUDA_SOFTMAX_TESTS(log_softmax, LogSoftmax)
