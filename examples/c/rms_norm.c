/* examples/c/rms_norm.c - one operator both ways: an eager call, and a plan explained and run twice. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <ruda/ruda.h>

#include <math.h>
#include <stdio.h>

enum { ROWS = 2, COLS = 4 };

static int fail(void) {
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  ruda_last_error(&info);
  fprintf(stderr, "%s: %s (%s)\n", info.function, info.message, ruda_status_name(info.status));
  return 1;
}

typedef struct objects {
  ruda_context context;
  ruda_stream stream;
  ruda_tensor x, gamma, y, z; /* y of the eager call, z of the plan */
  ruda_plan plan;
} objects;

static int run(objects* o) {
  static const float x[ROWS * COLS] = {1, 2, 3, 4, -1, 0, 1, 0}, gamma[COLS] = {1, 1, 2, 2};
  static const int64_t shape[] = {ROWS, COLS};
  float y[ROWS * COLS], z[ROWS * COLS];
  char text[2048];
  int i, r;
  ruda_context_desc context = RUDA_CONTEXT_DESC_INIT; /* the best backend that answers */
  ruda_tensor_desc rows = RUDA_TENSOR_DESC_INIT, scale = RUDA_TENSOR_DESC_INIT;
  ruda_rms_norm_desc norm = RUDA_RMS_NORM_DESC_INIT;
  ruda_binding bound[3];
  ruda_tensor none;
  rows.dtype = scale.dtype = RUDA_F32;
  rows.rank = 2, rows.shape = shape;
  scale.rank = 1, scale.shape = shape + 1;
  if (ruda_context_create(&context, &o->context)) return fail();
  if (ruda_stream_create(o->context, 0, &o->stream)) return fail();
  if (ruda_tensor_create(o->context, &rows, &o->x)) return fail();
  if (ruda_tensor_create(o->context, &scale, &o->gamma)) return fail();
  if (ruda_tensor_create(o->context, &rows, &o->z)) return fail();
  if (ruda_tensor_write(o->stream, o->x, x, sizeof x)) return fail();
  if (ruda_tensor_write(o->stream, o->gamma, gamma, sizeof gamma)) return fail();

  /* Eager: one call, a new tensor. */
  if (ruda_rms_norm(o->stream, o->x, o->gamma, 1e-5, &o->y)) return fail();
  if (ruda_tensor_read(o->stream, o->y, y, sizeof y)) return fail();

  /* Planned: checked once, run as often as wanted into tensors of the caller. */
  norm.x = &rows, norm.gamma = &scale, norm.eps = 1e-5;
  if (ruda_rms_norm_plan_create(o->context, &norm, &o->plan)) return fail();
  if (ruda_plan_explain(o->plan, text, sizeof text, NULL)) return fail();
  puts(text);
  bound[0].slot = RUDA_RMS_NORM_X, bound[0].kind = RUDA_BIND_TENSOR, bound[0].v.handle = o->x;
  bound[1].slot = RUDA_RMS_NORM_GAMMA, bound[1].kind = RUDA_BIND_TENSOR, bound[1].v.handle = o->gamma;
  bound[2].slot = RUDA_RMS_NORM_Y, bound[2].kind = RUDA_BIND_TENSOR, bound[2].v.handle = o->z;
  for (r = 0; r < 2; ++r)
    if (ruda_plan_execute(o->plan, o->stream, NULL, bound, 3, NULL)) return fail();
  if (ruda_tensor_read(o->stream, o->z, z, sizeof z)) return fail();
  for (i = 0; i < ROWS * COLS; ++i) printf("%8.4f%s", (double)z[i], (i + 1) % COLS ? "" : "\n");
  for (i = 0; i < ROWS * COLS; ++i)
    if (fabsf(y[i] - z[i]) > 1e-5f || !(fabsf(z[1] - 0.7303f) < 1e-4f)) {
      fprintf(stderr, "the eager call and the plan do not agree\n");
      return 1;
    }

  /* What is wrong is said with both values; nothing was written. */
  if (ruda_rms_norm(o->stream, o->x, o->x, 1e-5, &none) == RUDA_OK) return 1;
  fail();
  return 0;
}

int main(void) {
  objects o = {0};
  const int result = run(&o);
  /* Any order will do; NULL is no error. */
  ruda_release(o.plan);
  ruda_release(o.z);
  ruda_release(o.y);
  ruda_release(o.gamma);
  ruda_release(o.x);
  ruda_release(o.stream);
  ruda_release(o.context);
  return result;
}
