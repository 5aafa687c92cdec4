/* tests/abi/load.c - opens the library by path alone: three times, with work in between, and leaves objects
 * alive. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include <ruda/ruda.h>

#define FIND(name)                                                       \
  __typeof__(&name) p_##name = (__typeof__(&name))dlsym(library, #name); \
  if (!p_##name) return fprintf(stderr, "%s: %s\n", #name, dlerror()), 1

static int use(void* library, int keep) {
  FIND(ruda_context_create);
  FIND(ruda_stream_create);
  FIND(ruda_tensor_create);
  FIND(ruda_tensor_write);
  FIND(ruda_tensor_read);
  FIND(ruda_rms_norm);
  FIND(ruda_release);
  FIND(ruda_backend_report);
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_AUTO;
  desc.host_threads = 2;
  ruda_context context = NULL;
  ruda_stream stream = NULL;
  ruda_tensor x = NULL, gamma = NULL, y = NULL;
  static const int64_t shape[2] = {64, 256};
  static float values[64 * 256];
  for (int i = 0; i < 64 * 256; ++i) values[i] = 1;
  ruda_tensor_desc tensor = RUDA_TENSOR_DESC_INIT;
  tensor.dtype = RUDA_F32;
  tensor.rank = 2;
  tensor.shape = shape;
  if (p_ruda_context_create(&desc, &context) || p_ruda_stream_create(context, 0, &stream)) return 2;
  if (p_ruda_tensor_create(context, &tensor, &x) || p_ruda_tensor_write(stream, x, values, sizeof values))
    return 3;
  tensor.rank = 1;
  tensor.shape = shape + 1;
  if (p_ruda_tensor_create(context, &tensor, &gamma) || p_ruda_tensor_write(stream, gamma, values, 1024))
    return 4;
  if (p_ruda_rms_norm(stream, x, gamma, 1e-9, &y) || p_ruda_tensor_read(stream, y, values, sizeof values))
    return 5;
  if (values[77] < 0.999f || values[77] > 1.001f) return 6;
  char report[8192];
  if (p_ruda_backend_report(report, sizeof report, NULL) || !strstr(report, "CPU: ")) return 7;
  if (keep) return 0;
  if (p_ruda_release(context) || p_ruda_release(y) || p_ruda_release(x) || p_ruda_release(gamma)) return 8;
  return p_ruda_release(stream) ? 9 : 0;
}

int main(int argc, char** argv) {
  if (argc != 2) return fprintf(stderr, "usage: %s LIBRARY\n", argv[0]), 2;
  for (int round = 0; round < 3; ++round) {
    void* library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (!library) return fprintf(stderr, "%s\n", dlerror()), 1;
    const int status = use(library, round == 2);
    if (status) return fprintf(stderr, "round %d failed at step %d\n", round, status), 1;
    if (dlclose(library)) return fprintf(stderr, "dlclose: %s\n", dlerror()), 1;
  }
  puts("opened, used and closed three times");
  return 0;
}
