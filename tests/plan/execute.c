/* tests/plan/execute.c - every refusal of an execution, overlap, workspaces, cancelling, timeouts, threads.
 */
/* SPDX-License-Identifier: Apache-2.0 */
#include "support/expect.h"

#include <math.h>
#include <pthread.h>
#include <time.h>

enum { X = RUDA_RMS_NORM_X, GAMMA = RUDA_RMS_NORM_GAMMA, Y = RUDA_RMS_NORM_Y, rows = 3, cols = 8 };
static const int64_t shape[2] = {rows, cols};

struct run {
  ruda_context context;
  ruda_stream stream;
  ruda_plan plan;
  ruda_tensor x, gamma, y;
  ruda_binding bindings[3];
};

static int setup(void** state) {
  struct run* r = calloc(1, sizeof *r);
  r->context = new_context();
  r->stream = new_stream(r->context);
  r->plan = new_rms_norm(r->context, rows, cols);
  r->x = new_counting(r->context, r->stream, 2, shape);
  r->gamma = new_counting(r->context, r->stream, 1, shape + 1);
  r->y = new_counting(r->context, r->stream, 2, shape);
  r->bindings[0] = bind_tensor(X, r->x);
  r->bindings[1] = bind_tensor(GAMMA, r->gamma);
  r->bindings[2] = bind_tensor(Y, r->y);
  *state = r;
  return 0;
}

static int teardown(void** state) {
  struct run* r = *state;
  void* objects[] = {r->x, r->gamma, r->y, r->plan, r->stream};
  for (size_t i = 0; i < sizeof objects / sizeof *objects; ++i) OK(ruda_release(objects[i]));
  assert_int_equal(live_objects(r->context), 0);
  OK(ruda_release(r->context));
  free(r);
  return 0;
}

/* The output still holds what it held before the call. */
static void untouched(struct run* r) {
  float y[rows * cols];
  OK(ruda_tensor_read(r->stream, r->y, y, sizeof y));
  for (int i = 0; i < rows * cols; ++i) assert_true(y[i] == (float)i);
}

static ruda_status run(struct run* r, uint32_t count) {
  return ruda_plan_execute(r->plan, r->stream, NULL, r->bindings, count, NULL);
}

static void runs(void** state) {
  struct run* r = *state;
  OK(run(r, 3));
  float y[rows * cols];
  OK(ruda_tensor_read(r->stream, r->y, y, sizeof y));
  for (int row = 0; row < rows; ++row) {
    double sum = 0;
    for (int c = 0; c < cols; ++c) sum += pow(row * cols + c, 2);
    for (int c = 0; c < cols; ++c) {
      const double want = (row * cols + c) / sqrt(sum / cols + 1e-5) * c;
      assert_true(fabs(y[row * cols + c] - want) <= 1e-5 * fabs(want));
    }
  }
  /* The order of bindings is free. */
  const ruda_binding first = r->bindings[0];
  r->bindings[0] = r->bindings[2];
  r->bindings[2] = first;
  OK(run(r, 3));
}

static void refuses_objects(void** state) {
  struct run* r = *state;
  FAILS(ruda_plan_execute(NULL, r->stream, NULL, r->bindings, 3, NULL), RUDA_E_NULL, 0,
        "plan: handle is NULL");
  FAILS(ruda_plan_execute(r->plan, NULL, NULL, r->bindings, 3, NULL), RUDA_E_NULL, 1,
        "stream: handle is NULL");
  FAILS(ruda_plan_execute(r->plan, r->stream, (ruda_workspace)(void*)r->x, r->bindings, 3, NULL),
        RUDA_E_BAD_HANDLE, 2, "workspace: handle is a tensor, expected a workspace");
  FAILS(ruda_plan_execute(r->plan, r->stream, NULL, NULL, 3, NULL), RUDA_E_NULL, 3,
        "bindings is NULL with count 3");
  ruda_context other = new_context();
  ruda_stream foreign = new_stream(other);
  FAILS(ruda_plan_execute(r->plan, foreign, NULL, r->bindings, 3, NULL), RUDA_E_ARGUMENT, 1,
        "another context than the plan");
  ruda_tensor theirs = new_tensor(other, RUDA_F32, 2, shape);
  r->bindings[0].v.handle = theirs;
  FAILS(run(r, 3), RUDA_E_ARGUMENT, 3, "bindings[0] (x): belongs to another context than the plan");
  r->bindings[0].v.handle = r->x;
  ruda_workspace workspace = NULL;
  OK(ruda_workspace_create(other, 256, &workspace));
  FAILS(ruda_plan_execute(r->plan, r->stream, workspace, r->bindings, 3, NULL), RUDA_E_ARGUMENT, 2,
        "workspace: belongs to another context than the plan");
  OK(ruda_release(workspace));
  OK(ruda_release(theirs));
  OK(ruda_release(foreign));
  OK(ruda_release(other));
  untouched(r);
}

static void refuses_slots(void** state) {
  struct run* r = *state;
  FAILS(run(r, 0), RUDA_E_ARGUMENT, 3, "slot 0 (x) of rms_norm is not bound");
  FAILS(run(r, 2), RUDA_E_ARGUMENT, 3, "slot 2 (y) of rms_norm is not bound");
  r->bindings[1].slot = 3;
  FAILS(run(r, 3), RUDA_E_ARGUMENT, 3, "bindings[1]: slot is 3, rms_norm has 3");
  r->bindings[1].slot = UINT32_MAX;
  FAILS(run(r, 3), RUDA_E_ARGUMENT, 3, "bindings[1]: slot is 4294967295, rms_norm has 3");
  r->bindings[1].slot = X;
  FAILS(run(r, 3), RUDA_E_ARGUMENT, 3, "bindings[1] (x): slot is bound twice");
  r->bindings[1].slot = GAMMA;
  r->bindings[1].kind = RUDA_BIND_F64;
  FAILS(run(r, 3), RUDA_E_ARGUMENT, 3,
        "bindings[1] (gamma): kind is RUDA_BIND_F64 (2), expected RUDA_BIND_TENSOR (0)");
  r->bindings[1].kind = 77;
  FAILS(run(r, 3), RUDA_E_ARGUMENT, 3, "bindings[1] (gamma): kind is 77, expected RUDA_BIND_TENSOR (0)");
  r->bindings[1].kind = RUDA_BIND_TENSOR;
  r->bindings[1].v.handle = NULL;
  FAILS(run(r, 3), RUDA_E_NULL, 3, "gamma: handle is NULL, expected a tensor");
  r->bindings[1].v.handle = r->stream;
  FAILS(run(r, 3), RUDA_E_BAD_HANDLE, 3, "gamma: handle is a stream, expected a tensor");
  r->bindings[1].v.handle = r->gamma;
  untouched(r);
}

static void refuses_layouts(void** state) {
  struct run* r = *state;
  const int64_t wider[2] = {rows, cols + 1};
  ruda_tensor wrong = new_tensor(r->context, RUDA_F32, 2, wider);
  r->bindings[0].v.handle = wrong;
  FAILS(run(r, 3), RUDA_E_SHAPE, 3, "bindings[0] (x): shape [3, 9], expected [3, 8]");
  OK(ruda_release(wrong));
  wrong = new_tensor(r->context, RUDA_F16, 2, shape);
  r->bindings[0].v.handle = wrong;
  FAILS(run(r, 3), RUDA_E_DTYPE, 3, "bindings[0] (x): dtype F16, expected F32");
  OK(ruda_release(wrong));
  const int64_t strides[2] = {16, 1};
  ruda_tensor_desc desc = tensor_desc(RUDA_F32, 2, shape);
  desc.strides = strides;
  OK(ruda_tensor_create(r->context, &desc, &wrong));
  r->bindings[0].v.handle = wrong;
  FAILS(run(r, 3), RUDA_E_SHAPE, 3, "bindings[0] (x): stride of axis 0 is 16, expected 8");
  OK(ruda_release(wrong));
  r->bindings[0].v.handle = r->x;
  /* Read-only memory is no output. */
  float memory[rows * cols];
  desc = tensor_desc(RUDA_F32, 2, shape);
  desc.flags = RUDA_TENSOR_READ_ONLY;
  OK(ruda_tensor_wrap(r->context, &desc, memory, sizeof memory, NULL, NULL, &wrong));
  r->bindings[2].v.handle = wrong;
  FAILS(run(r, 3), RUDA_E_ARGUMENT, 3, "bindings[2] (y): is read-only, expected a writable output");
  r->bindings[2].v.handle = r->y;
  r->bindings[0].v.handle = wrong;
  memset(memory, 0, sizeof memory);
  OK(run(r, 3));
  OK(ruda_release(wrong));
}

static void notices_overlap(void** state) {
  struct run* r = *state;
  /* One buffer, two tensors in it that share the last row of the first. */
  const int64_t tall[2] = {rows * 2, cols}, begin[2] = {rows - 1, 0}, end[2] = {rows * 2 - 1, cols};
  const int64_t zero[2] = {0, 0}, head[2] = {rows, cols}, apart[2] = {rows, 0}, full[2] = {rows * 2, cols};
  ruda_tensor both = new_counting(r->context, r->stream, 2, tall), low = NULL, shifted = NULL, high = NULL;
  OK(ruda_tensor_slice(both, zero, head, NULL, 2, &low));
  OK(ruda_tensor_slice(both, begin, end, NULL, 2, &shifted));
  OK(ruda_tensor_slice(both, apart, full, NULL, 2, &high));
  r->bindings[0].v.handle = low;
  r->bindings[2].v.handle = shifted;
  FAILS(run(r, 3), RUDA_E_OVERLAP, 3, "rms_norm: memory of y overlaps x");
  float values[rows * 2 * cols];
  OK(ruda_tensor_read(r->stream, both, values, sizeof values));
  for (int i = 0; i < rows * 2 * cols; ++i) assert_true(values[i] == (float)i);
  /* Neighbours are fine, and the very same tensor where the operator allows it. */
  r->bindings[2].v.handle = high;
  OK(run(r, 3));
  r->bindings[2].v.handle = low;
  OK(run(r, 3));
  /* An output over gamma is never fine. */
  const int64_t flat[1] = {rows * 2 * cols}, from[1] = {cols}, to[1] = {2 * cols};
  ruda_tensor line = NULL, gamma = NULL;
  OK(ruda_tensor_view(both, flat, 1, &line));
  OK(ruda_tensor_slice(line, from, to, NULL, 1, &gamma));
  r->bindings[0].v.handle = r->x;
  r->bindings[1].v.handle = gamma;
  FAILS(run(r, 3), RUDA_E_OVERLAP, 3, "rms_norm: memory of y overlaps gamma");
  r->bindings[1].v.handle = r->gamma;
  r->bindings[2].v.handle = r->y;
  void* objects[] = {line, gamma, low, shifted, high, both};
  for (size_t i = 0; i < sizeof objects / sizeof *objects; ++i) OK(ruda_release(objects[i]));
}

/* A tensor without elements has an address, but no memory. */
static void empty_tensors_overlap_nothing(void** state) {
  struct run* r = *state;
  const int64_t none[2] = {0, cols}, flat[1] = {2 * cols}, zero[1] = {0}, row[1] = {cols}, inside[1] = {2};
  ruda_tensor line = new_counting(r->context, r->stream, 1, flat), gamma = NULL, empty = NULL, y = NULL;
  ruda_tensor_desc x_desc = RUDA_TENSOR_DESC_INIT, gamma_desc = RUDA_TENSOR_DESC_INIT;
  ruda_rms_norm_desc desc = RUDA_RMS_NORM_DESC_INIT;
  ruda_plan plan = NULL;
  OK(ruda_tensor_slice(line, zero, row, NULL, 1, &gamma));
  OK(ruda_tensor_slice(line, inside, inside, NULL, 1, &empty));
  OK(ruda_tensor_view(empty, none, 2, &y));
  OK(ruda_tensor_get_desc(y, &x_desc));
  OK(ruda_tensor_get_desc(gamma, &gamma_desc));
  desc.x = &x_desc;
  desc.gamma = &gamma_desc;
  desc.eps = 1e-5;
  OK(ruda_rms_norm_plan_create(r->context, &desc, &plan));
  ruda_binding bindings[3] = {{RUDA_RMS_NORM_X, RUDA_BIND_TENSOR, {y}},
                              {RUDA_RMS_NORM_GAMMA, RUDA_BIND_TENSOR, {gamma}},
                              {RUDA_RMS_NORM_Y, RUDA_BIND_TENSOR, {y}}};
  OK(ruda_plan_execute(plan, r->stream, NULL, bindings, 3, NULL));
  void* objects[] = {plan, y, empty, gamma, line};
  for (size_t i = 0; i < sizeof objects / sizeof *objects; ++i) OK(ruda_release(objects[i]));
}

static void checks_workspaces(void** state) {
  struct run* r = *state;
  ruda_workspace workspace = (ruda_workspace)&workspace;
  FAILS(ruda_workspace_create(r->context, 10, NULL), RUDA_E_NULL, 2, "out is NULL");
  FAILS(ruda_workspace_create(r->context, UINT64_MAX, &workspace), RUDA_E_OOM_HOST, -1, "out of host memory");
  assert_null(workspace);
  _Alignas(256) static unsigned char memory[1024];
  FAILS(ruda_workspace_wrap(r->context, memory + 128, 256, &workspace), RUDA_E_ARGUMENT, 1, "256");
  FAILS(ruda_workspace_wrap(r->context, NULL, 256, &workspace), RUDA_E_NULL, 1,
        "data is NULL with 256 bytes");
  FAILS(ruda_workspace_wrap(r->context, memory, 256, NULL), RUDA_E_NULL, 3, "out is NULL");
  OK(ruda_workspace_wrap(r->context, memory, sizeof memory, &workspace));
  OK(ruda_plan_execute(r->plan, r->stream, workspace, r->bindings, 3, NULL));
  OK(ruda_release(workspace));
  OK(ruda_workspace_wrap(r->context, NULL, 0, &workspace));
  OK(ruda_plan_execute(r->plan, r->stream, workspace, r->bindings, 3, NULL));
  OK(ruda_release(workspace));
  OK(ruda_workspace_create(r->context, 0, &workspace));
  OK(ruda_plan_execute(r->plan, r->stream, workspace, r->bindings, 3, NULL));
  OK(ruda_release(workspace));
}

/* A workspace over memory of an operand; the plan needs some for the partial sums of long rows. */
static void keeps_the_workspace_apart(void** state) {
  struct run* r = *state;
  enum { long_rows = 2, long_cols = 200000, x_bytes = 1600000, y_at = 1600256, room = 1 << 18 };
  static const int64_t long_shape[2] = {long_rows, long_cols}, sums[1] = {long_rows};
  _Alignas(256) static unsigned char memory[y_at + 2 * room];
  const ruda_tensor_desc xd = tensor_desc(RUDA_F32, 2, long_shape), yd = tensor_desc(RUDA_F32, 1, sums);
  ruda_reduce_desc desc = RUDA_REDUCE_DESC_INIT;
  ruda_plan_info info = RUDA_PLAN_INFO_INIT;
  ruda_plan plan = NULL;
  ruda_tensor x = NULL, y = NULL;
  desc.op = RUDA_REDUCE_SUM;
  desc.x = &xd;
  desc.axes = 2;
  OK(ruda_reduce_plan_create(r->context, &desc, &plan));
  OK(ruda_plan_query(plan, &info));
  assert_in_range(info.workspace_bytes, 1, room);
  OK(ruda_tensor_wrap(r->context, &xd, memory, x_bytes, NULL, NULL, &x));
  ruda_binding both[2] = {bind_tensor(RUDA_REDUCE_X, x), bind_tensor(RUDA_REDUCE_X, x)};
  /* Where the output lies, where the workspace does, and whose memory they share. */
  const uint64_t tail = (info.workspace_bytes + 3) / 4 * 4; /* the first bytes behind those in use */
  const struct {
    uint64_t y, workspace;
    const char* meets;
  } cases[] = {
      {y_at, y_at, "y"},         {y_at + tail - 4, y_at, "y"}, {y_at, 0, "x"},           {y_at, 1599744, "x"},
      {y_at + room, y_at, NULL}, {y_at + tail, y_at, NULL},    {y_at, y_at + 256, NULL},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    ruda_workspace workspace = NULL;
    OK(ruda_tensor_wrap(r->context, &yd, memory + cases[i].y, 8, NULL, NULL, &y));
    OK(ruda_workspace_wrap(r->context, memory + cases[i].workspace, room, &workspace));
    both[1] = bind_tensor(RUDA_REDUCE_Y, y);
    memory[cases[i].y] = 7;
    if (cases[i].meets) {
      char text[64];
      snprintf(text, sizeof text, "reduce: memory of the workspace overlaps %s", cases[i].meets);
      FAILS(ruda_plan_execute(plan, r->stream, workspace, both, 2, NULL), RUDA_E_OVERLAP, 2, text);
      assert_int_equal(memory[cases[i].y], 7);
    } else {
      OK(ruda_plan_execute(plan, r->stream, workspace, both, 2, NULL));
    }
    OK(ruda_release(workspace));
    OK(ruda_release(y));
  }
  OK(ruda_release(x));
  OK(ruda_release(plan));
}

/* An integer for the one scalar of `binary`: taken where a double holds it. */
static void converts_integers(void** state) {
  struct run* r = *state;
  static const int64_t one[1] = {1};
  const ruda_tensor_desc desc = tensor_desc(RUDA_F64, 1, one);
  ruda_binary_desc binary = RUDA_BINARY_DESC_INIT;
  ruda_plan plan = NULL;
  ruda_tensor x = new_tensor(r->context, RUDA_F64, 1, one), y = new_tensor(r->context, RUDA_F64, 1, one);
  binary.op = RUDA_BINARY_ADD;
  binary.a = &desc;
  OK(ruda_binary_plan_create(r->context, &binary, &plan));
  OK(ruda_tensor_fill(r->stream, x, 0));
  ruda_binding b[3] = {bind_tensor(RUDA_BINARY_A, x),
                       bind_tensor(RUDA_BINARY_Y, y),
                       {RUDA_BINARY_SCALAR, RUDA_BIND_I64, {NULL}}};
  const int64_t held[] = {0, 2, -7, (int64_t)1 << 53, -((int64_t)1 << 60) - 256, INT64_MIN};
  const int64_t others[] = {((int64_t)1 << 53) + 1, INT64_MAX, INT64_MIN + 1, ((int64_t)1 << 60) + 1};
  for (size_t i = 0; i < sizeof held / sizeof *held; ++i) {
    double got = 0.5;
    b[2].v.i64 = held[i];
    OK(ruda_plan_execute(plan, r->stream, NULL, b, 3, NULL));
    OK(ruda_tensor_read(r->stream, y, &got, sizeof got));
    assert_true(got == (double)held[i]);
  }
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
    char text[96];
    snprintf(text, sizeof text, "bindings[2] (scalar): is the integer %lld, which no double holds",
             (long long)others[i]);
    b[2].v.i64 = others[i];
    FAILS(ruda_plan_execute(plan, r->stream, NULL, b, 3, NULL), RUDA_E_ARGUMENT, 3, text);
  }
  OK(ruda_release(plan));
  OK(ruda_release(x));
  OK(ruda_release(y));
}

static void checks_options(void** state) {
  struct run* r = *state;
  ruda_exec_opts opts = {(uint32_t)sizeof opts, 1, NULL, 0};
  FAILS(ruda_plan_execute(r->plan, r->stream, NULL, r->bindings, 3, &opts), RUDA_E_ARGUMENT, 5,
        "opts.flags is 1, expected 0");
  opts.flags = 0;
  opts.struct_size = 0;
  FAILS(ruda_plan_execute(r->plan, r->stream, NULL, r->bindings, 3, &opts), RUDA_E_ARGUMENT, 5,
        "opts.struct_size is 0");
  opts.struct_size = sizeof opts;
  opts.cancel = (ruda_cancel)(void*)r->x;
  FAILS(ruda_plan_execute(r->plan, r->stream, NULL, r->bindings, 3, &opts), RUDA_E_BAD_HANDLE, 5,
        "opts.cancel: handle is a tensor, expected a cancel");
  untouched(r);
}

static void stops_before_it_starts(void** state) {
  struct run* r = *state;
  ruda_exec_opts opts = {(uint32_t)sizeof opts, 0, NULL, 0};
  FAILS(ruda_cancel_create(NULL), RUDA_E_NULL, 0, "out is NULL");
  OK(ruda_cancel_create(&opts.cancel));
  OK(ruda_cancel_request(opts.cancel));
  FAILS(ruda_plan_execute(r->plan, r->stream, NULL, r->bindings, 3, &opts), RUDA_E_CANCELLED, -1,
        "cancelled by its token");
  untouched(r);
  OK(ruda_cancel_reset(opts.cancel));
  OK(ruda_plan_execute(r->plan, r->stream, NULL, r->bindings, 3, &opts));
  /* A request that comes afterwards changes nothing; the longest timeout does not overflow. */
  OK(ruda_cancel_request(opts.cancel));
  OK(ruda_cancel_reset(opts.cancel));
  opts.timeout_ns = UINT64_MAX;
  OK(ruda_plan_execute(r->plan, r->stream, NULL, r->bindings, 3, &opts));
  opts.timeout_ns = 1;
  FAILS(ruda_plan_execute(r->plan, r->stream, NULL, r->bindings, 3, &opts), RUDA_E_TIMEOUT, -1, "timeout");
  OK(ruda_release(opts.cancel));
}

/* ---- stopping a product that takes long ---- */

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void* raise_soon(void* cancel) {
  const struct timespec pause = {0, 10000000};
  nanosleep(&pause, NULL);
  ruda_cancel_request(cancel);
  return NULL;
}

static void stops_in_the_middle(void** state) {
  struct run* r = *state;
  const int64_t size = RUDA_TEST_SANITIZED ? 1024 : 2048, square[2] = {size, size};
  const ruda_tensor_desc matrix = tensor_desc(RUDA_F32, 2, square);
  ruda_matmul_desc desc = RUDA_MATMUL_DESC_INIT;
  desc.a = &matrix;
  desc.b = &matrix;
  ruda_plan plan = NULL;
  OK(ruda_matmul_plan_create(r->context, &desc, &plan));
  ruda_tensor a = new_counting(r->context, r->stream, 2, square);
  ruda_tensor c = new_tensor(r->context, RUDA_F32, 2, square);
  const ruda_binding bindings[3] = {bind_tensor(RUDA_MATMUL_A, a), bind_tensor(RUDA_MATMUL_B, a),
                                    bind_tensor(RUDA_MATMUL_C, c)};
  double start = seconds();
  OK(ruda_plan_execute(plan, r->stream, NULL, bindings, 3, NULL));
  const double whole = seconds() - start;
  ruda_exec_opts opts = {(uint32_t)sizeof opts, 0, NULL, 0};
  OK(ruda_cancel_create(&opts.cancel));
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, raise_soon, opts.cancel), 0);
  start = seconds();
  const ruda_status cancelled = ruda_plan_execute(plan, r->stream, NULL, bindings, 3, &opts);
  const double until = seconds() - start;
  pthread_join(thread, NULL);
  /* On a machine that is faster than the pause the product may have ended. */
  if (whole > 0.05) assert_int_equal(cancelled, RUDA_E_CANCELLED);
  print_message("a product of %.3f s stopped after %.3f s\n", whole, until);
  OK(ruda_cancel_reset(opts.cancel));
  opts.timeout_ns = 5000000;
  const ruda_status late = ruda_plan_execute(plan, r->stream, NULL, bindings, 3, &opts);
  if (whole > 0.05) assert_int_equal(late, RUDA_E_TIMEOUT);
  /* Everything stays usable. */
  opts.timeout_ns = 0;
  OK(ruda_stream_sync(r->stream));
  OK(ruda_plan_execute(plan, r->stream, NULL, bindings, 3, &opts));
  OK(ruda_release(opts.cancel));
  OK(ruda_release(a));
  OK(ruda_release(c));
  OK(ruda_release(plan));
}

/* ---- one plan, several threads, each with its own stream and tensors ---- */

static void* use_plan(void* arg) {
  struct run* r = arg;
  ruda_stream stream = NULL;
  if (ruda_stream_create(r->context, 0, &stream)) return "stream";
  const ruda_tensor_desc desc = tensor_desc(RUDA_F32, 2, shape);
  ruda_tensor y = NULL;
  if (ruda_tensor_create(r->context, &desc, &y)) return "tensor";
  ruda_binding bindings[3] = {r->bindings[0], r->bindings[1], bind_tensor(Y, y)};
  float want[rows * cols], got[rows * cols];
  for (int i = 0; i < 300; ++i) {
    if (ruda_plan_execute(r->plan, stream, NULL, bindings, 3, NULL)) return "execute";
    if (ruda_tensor_read(stream, y, i ? got : want, sizeof got)) return "read";
    if (i && memcmp(want, got, sizeof got) != 0) return "other values";
    ruda_tensor eager = NULL;
    if (ruda_rms_norm(stream, r->x, r->gamma, 1e-5, &eager)) return "eager";
    if (ruda_tensor_read(stream, eager, got, sizeof got)) return "read of eager";
    if (memcmp(want, got, sizeof got) != 0) return "eager values";
    ruda_release(eager);
    if (i % 64 == 0 && ruda_context_trim(r->context)) return "trim";
  }
  ruda_release(y);
  ruda_release(stream);
  return NULL;
}

static void serves_several_threads(void** state) {
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) assert_int_equal(pthread_create(&threads[i], NULL, use_plan, *state), 0);
  for (int i = 0; i < 4; ++i) {
    void* problem = NULL;
    pthread_join(threads[i], &problem);
    if (problem) fail_msg("thread %d: %s", i, (const char*)problem);
  }
}

int main(void) {
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
  const struct CMUnitTest tests[] = {
      CASE(runs),
      CASE(refuses_objects),
      CASE(refuses_slots),
      CASE(refuses_layouts),
      CASE(notices_overlap),
      CASE(empty_tensors_overlap_nothing),
      CASE(checks_workspaces),
      CASE(keeps_the_workspace_apart),
      CASE(converts_integers),
      CASE(checks_options),
      CASE(stops_before_it_starts),
      CASE(stops_in_the_middle),
      CASE(serves_several_threads),
  };
  return cmocka_run_group_tests_name("execute", tests, NULL, NULL);
}
