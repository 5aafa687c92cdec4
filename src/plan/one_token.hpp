// src/plan/one_token.hpp - schedules that add one token to each of their sequences.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "plan/paged_schedule.hpp"

namespace ruda {

// Throws RUDA_E_ARGUMENT naming `arg` unless the queries' sequences ascend.
inline void check_one_token_each(const PagedSchedule& schedule, int arg, const char* op) {
  const uint32_t* ids = schedule.sequence_ids();
  for (uint32_t i = 1; i < schedule.queries(); ++i)
    RUDA_CHECK(ids[i] > ids[i - 1], RUDA_E_ARGUMENT, arg,
               "%s: query %u is of sequence %u, expected one above %u: one query a sequence, ascending", op,
               i, ids[i], ids[i - 1]);
}

}  // namespace ruda
