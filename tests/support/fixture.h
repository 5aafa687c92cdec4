/* tests/support/fixture.h - a CPU context and a stream for a whole C suite, which leaves no other object. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_TESTS_FIXTURE_H
#define RUDA_TESTS_FIXTURE_H

#include "support/expect.h"

static ruda_context context;
static ruda_stream stream;

static int setup(void** state) {
  (void)state;
  context = new_context();
  stream = new_stream(context);
  return 0;
}

static int teardown(void** state) {
  (void)state;
  OK(ruda_release(stream));
  assert_int_equal(live_objects(context), 0);
  OK(ruda_release(context));
  return 0;
}

#endif
