/* tests/infer/trace.c - greedy tokens and logits of a model, for comparison with another implementation. */
/* SPDX-License-Identifier: Apache-2.0 */
/* usage: trace MODEL BACKEND NEW_TOKENS LOGITS_FILE TOKEN...
   Prints the tokens chosen after the prompt, one a line; writes the logits before each choice as raw F32
   rows. */
#include <ruda/ruda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char* what) {
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  ruda_last_error(&info);
  fprintf(stderr, "%s: %s: %s\n", what, ruda_status_name(info.status), info.message);
  return 1;
}

int main(int argc, char** argv) {
  ruda_context_desc context_desc = RUDA_CONTEXT_DESC_INIT;
  ruda_model_info info = RUDA_MODEL_INFO_INIT;
  ruda_context context = NULL;
  ruda_store store = NULL;
  ruda_model model = NULL;
  ruda_session session = NULL;
  int32_t *prompt, token = 0;
  float* logits;
  FILE* file;
  int count = argc - 5, new_tokens, i;
  uint64_t live = 0;
  if (count < 1) {
    fprintf(stderr, "usage: trace MODEL BACKEND NEW_TOKENS LOGITS_FILE TOKEN...\n");
    return 2;
  }
  new_tokens = atoi(argv[3]);
  context_desc.backend = strcmp(argv[2], "cuda") ? RUDA_BACKEND_CPU : RUDA_BACKEND_CUDA;
  if (ruda_context_create(&context_desc, &context)) return fail("context");
  if (ruda_store_open(argv[1], NULL, &store)) return fail("store");
  if (ruda_model_load(context, store, NULL, &model)) return fail("model");
  if (ruda_model_get_info(model, &info)) return fail("info");
  if (ruda_session_create(model, NULL, &session)) return fail("session");
  prompt = malloc(sizeof *prompt * (size_t)count);
  logits = malloc(sizeof *logits * info.vocab_size);
  file = fopen(argv[4], "wb");
  if (!prompt || !logits || !file) return 1;
  for (i = 0; i < count; ++i) prompt[i] = atoi(argv[5 + i]);
  if (ruda_session_prompt(session, prompt, (uint64_t)count, NULL, NULL, NULL)) return fail("prompt");
  for (i = 0; i < new_tokens; ++i) {
    ruda_status status;
    if (ruda_session_logits(session, logits, info.vocab_size)) return fail("logits");
    fwrite(logits, sizeof *logits, info.vocab_size, file);
    status = ruda_session_next(session, &token);
    if (status != RUDA_OK && status != RUDA_END_OF_DATA) return fail("next");
    printf("%d\n", (int)token);
    if (status == RUDA_END_OF_DATA) break;
  }
  fclose(file);
  free(prompt);
  free(logits);
  ruda_release(session);
  ruda_release(model);
  ruda_release(store);
  if (ruda_context_live_objects(context, &live) || live != 0) {
    fprintf(stderr, "%llu objects are alive at the end\n", (unsigned long long)live);
    return 1;
  }
  ruda_release(context);
  return 0;
}
