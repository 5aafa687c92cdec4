/* tests/bench/language_model.c - tokens a second of a model file: reading a prompt and generating after it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
/* usage: bench_language_model MODEL [prompt tokens = 512] [new tokens = 128] [rounds = 3] [backend = cpu]
   Prints one JSON object; rates are the best of the rounds, as is the time from nothing to the first token.
   Generation starts after one token, as llama-bench has it.
 */
#include <ruda/ruda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double seconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int fail(const char* what) {
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  ruda_last_error(&info);
  fprintf(stderr, "%s: %s\n", what, info.message);
  return 1;
}

int main(int argc, char** argv) {
  ruda_context_desc context_desc = RUDA_CONTEXT_DESC_INIT;
  ruda_context_info where = RUDA_CONTEXT_INFO_INIT;
  ruda_model_info info = RUDA_MODEL_INFO_INIT;
  const int prompt_tokens = argc > 2 ? atoi(argv[2]) : 512, new_tokens = argc > 3 ? atoi(argv[3]) : 128;
  const int rounds = argc > 4 ? atoi(argv[4]) : 3;
  double prompt_rate = 0, generate_rate = 0, first_token = 0;
  int32_t *prompt, token = 0;
  int round, i;
  if (argc < 2 || prompt_tokens < 1 || new_tokens < 1) {
    fprintf(stderr, "usage: bench_language_model MODEL [prompt tokens] [new tokens] [rounds] [backend]\n");
    return 2;
  }
  context_desc.backend = argc > 5 && strcmp(argv[5], "cuda") == 0 ? RUDA_BACKEND_CUDA : RUDA_BACKEND_CPU;
  prompt = malloc(sizeof *prompt * (size_t)prompt_tokens);
  if (!prompt) return 1;
  for (round = 0; round < rounds; ++round) {
    ruda_context context = NULL;
    ruda_store store = NULL;
    ruda_model model = NULL;
    ruda_session session = NULL;
    double start = seconds(), elapsed;
    if (ruda_context_create(&context_desc, &context)) return fail("context");
    if (ruda_store_open(argv[1], NULL, &store)) return fail("store");
    if (ruda_model_load(context, store, NULL, &model)) return fail("model");
    if (ruda_model_get_info(model, &info) || ruda_context_get_info(context, &where)) return fail("info");
    if (ruda_session_create(model, NULL, &session)) return fail("session");
    for (i = 0; i < prompt_tokens; ++i)
      prompt[i] = (int32_t)((uint32_t)(i * 7919 + round * 104729) % info.vocab_size);
    if (ruda_session_prompt(session, prompt, 8, NULL, NULL, NULL)) return fail("first prompt");
    if (ruda_session_next(session, &token) < 0) return fail("first token");
    elapsed = seconds() - start;
    if (first_token == 0 || elapsed < first_token) first_token = elapsed;

    if (ruda_session_rewind(session, 0)) return fail("rewind");
    if (ruda_session_prompt(session, prompt, (uint64_t)prompt_tokens, NULL, NULL, NULL))
      return fail("warm-up");
    if (ruda_session_rewind(session, 0)) return fail("rewind");
    start = seconds();
    if (ruda_session_prompt(session, prompt, (uint64_t)prompt_tokens, NULL, NULL, NULL))
      return fail("prompt");
    elapsed = seconds() - start;
    if (prompt_tokens / elapsed > prompt_rate) prompt_rate = prompt_tokens / elapsed;

    if (ruda_session_rewind(session, 0)) return fail("rewind");
    if (ruda_session_prompt(session, prompt, 1, NULL, NULL, NULL)) return fail("one token");
    start = seconds();
    for (i = 0; i < new_tokens; ++i) {
      const ruda_status status = ruda_session_next(session, &token);
      if (status > RUDA_END_OF_DATA || token < 0) return fail("generate");
    }
    elapsed = seconds() - start;
    if (new_tokens / elapsed > generate_rate) generate_rate = new_tokens / elapsed;
    ruda_release(session);
    ruda_release(model);
    ruda_release(store);
    if (round + 1 == rounds)
      printf(
          "{\"device\": \"%s\", \"threads\": %u, \"prompt_tokens\": %d, \"prompt_per_s\": %.1f, "
          "\"new_tokens\": %d, "
          "\"generate_per_s\": %.1f, \"first_token_s\": %.3f}\n",
          where.device_name, (unsigned)where.host_threads, prompt_tokens, prompt_rate, new_tokens,
          generate_rate, first_token);
    ruda_release(context);
  }
  free(prompt);
  return 0;
}
