/* tests/bench/language_model.c - tokens a second of a model file: reading a prompt and generating after it.
 */
/* SPDX-License-Identifier: Apache-2.0 */
/* usage: bench_language_model MODEL [prompt tokens = 512] [new tokens = 128] [rounds = 3] [backend = cpu]
            [after = beginning]
   Prints one JSON object; rates are the best of the rounds, as is the time from nothing to the first token.
   The prompt is English text; generation goes on from the first words of a story, or, with "prompt" as the
   last argument, from the end of the prompt: most likely token first, with a cancel token that is never
   raised, as an application has it. "new_tokens" is what was generated, "history_tokens" what was there
   before, "layer_parameters" all but the table of tokens.
 */
#include <ruda/ruda.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char text[] =
    "The harbour lay quiet when the first boats came in. Nobody on the quay had slept, for the wind had "
    "turned "
    "twice in the night and with it the price of herring. A girl with a lantern counted the masts aloud, "
    "seven, "
    "eight, nine, and at the tenth she stopped, because that one carried a flag which she did not know. Her "
    "brother, who read every paper that reached the town, said it was the flag of an island whose people "
    "build "
    "clocks of wood, wind them once in a year, and are never late. By noon there were forty of these clocks "
    "on "
    "the market, each a little ahead of the last, and the old men argued which of them was right. ";
static const char beginning[] = "Once upon a time there was a dog that";

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

/* `count` tokens of the text over and over. */
static ruda_status read_text(ruda_model model, int32_t* tokens, int count) {
  ruda_tokenizer tokenizer = NULL;
  int32_t once[1024];
  uint64_t length = 0;
  int i;
  ruda_status status = ruda_model_get_tokenizer(model, &tokenizer);
  if (status == RUDA_OK)
    status =
        ruda_tokenizer_encode(tokenizer, text, strlen(text), 0, once, sizeof once / sizeof *once, &length);
  for (i = 0; status == RUDA_OK && i < count; ++i) tokens[i] = once[(uint64_t)i % length];
  ruda_release(tokenizer);
  return status;
}

int main(int argc, char** argv) {
  ruda_context_desc context_desc = RUDA_CONTEXT_DESC_INIT;
  ruda_context_info where = RUDA_CONTEXT_INFO_INIT;
  ruda_generate_options generate = RUDA_GENERATE_OPTIONS_INIT;
  ruda_session_info told = RUDA_SESSION_INFO_INIT;
  ruda_model_info info = RUDA_MODEL_INFO_INIT;
  const int prompt_tokens = argc > 2 ? atoi(argv[2]) : 512, new_tokens = argc > 3 ? atoi(argv[3]) : 128;
  const int rounds = argc > 4 ? atoi(argv[4]) : 3;
  const int after_prompt = argc > 6 && strcmp(argv[6], "prompt") == 0;
  unsigned long long history = 0;
  double prompt_rate = 0, generate_rate = 0, first_token = 0;
  int32_t *prompt, token = 0;
  int round;
  if (argc < 2 || prompt_tokens < 1 || new_tokens < 1) {
    fprintf(stderr,
            "usage: bench_language_model MODEL [prompt tokens] [new tokens] [rounds] [backend] [after]\n");
    return 2;
  }
  context_desc.backend = argc > 5 && strcmp(argv[5], "cuda") == 0 ? RUDA_BACKEND_CUDA : RUDA_BACKEND_CPU;
  prompt = malloc(sizeof *prompt * (size_t)prompt_tokens);
  if (!prompt) return 1;
  if (ruda_cancel_create(&generate.cancel)) return fail("cancel token");
  generate.max_new_tokens = (uint64_t)new_tokens;
  for (round = 0; round < rounds; ++round) {
    ruda_context context = NULL;
    ruda_store store = NULL;
    ruda_model model = NULL;
    ruda_session session = NULL;
    double start = seconds(), elapsed;
    if (ruda_context_create(&context_desc, &context)) return fail("context");
    if (ruda_store_open(argv[1], NULL, &store)) return fail("store");
    if (ruda_model_load(context, store, NULL, &model)) return fail("model");
    if (ruda_session_create(model, NULL, &session)) return fail("session");
    if (ruda_session_prompt_text(session, beginning, strlen(beginning), NULL, NULL, generate.cancel))
      return fail("first prompt");
    if (ruda_session_next(session, &token) < 0) return fail("first token");
    elapsed = seconds() - start;
    if (first_token == 0 || elapsed < first_token) first_token = elapsed;

    if (ruda_model_get_info(model, &info) || ruda_context_get_info(context, &where)) return fail("info");
    if (read_text(model, prompt, prompt_tokens)) return fail("text");
    if (ruda_session_rewind(session, 0)) return fail("rewind");
    if (ruda_session_prompt(session, prompt, (uint64_t)prompt_tokens, NULL, NULL, generate.cancel))
      return fail("warm-up");
    if (ruda_session_rewind(session, 0)) return fail("rewind");
    start = seconds();
    if (ruda_session_prompt(session, prompt, (uint64_t)prompt_tokens, NULL, NULL, generate.cancel))
      return fail("prompt");
    elapsed = seconds() - start;
    if (prompt_tokens / elapsed > prompt_rate) prompt_rate = prompt_tokens / elapsed;

    if (!after_prompt) {
      if (ruda_session_rewind(session, 0)) return fail("rewind");
      if (ruda_session_prompt_text(session, beginning, strlen(beginning), NULL, NULL, generate.cancel))
        return fail("beginning");
    }
    if (ruda_session_get_info(session, &told)) return fail("info");
    history = told.token_count;
    start = seconds();
    if (ruda_session_generate(session, &generate, NULL)) return fail("generate");
    elapsed = seconds() - start;
    if (ruda_session_get_info(session, &told)) return fail("info");
    if ((double)told.generated_tokens / elapsed > generate_rate)
      generate_rate = (double)told.generated_tokens / elapsed;
    ruda_release(session);
    ruda_release(model);
    ruda_release(store);
    if (round + 1 == rounds)
      printf(
          "{\"device\": \"%s\", \"threads\": %u, \"prompt_tokens\": %d, \"prompt_per_s\": %.1f, "
          "\"history_tokens\": %llu, \"new_tokens\": %d, "
          "\"generate_per_s\": %.1f, \"first_token_s\": %.3f, \"layer_parameters\": %llu}\n",
          where.device_name, (unsigned)where.host_threads, prompt_tokens, prompt_rate, history,
          (int)told.generated_tokens, generate_rate, first_token,
          (unsigned long long)(info.parameter_count - (uint64_t)info.width * info.vocab_size));
    ruda_release(context);
  }
  ruda_release(generate.cancel);
  free(prompt);
  return 0;
}
