/* examples/c/chat.c - asks a language model: one question with --prompt, or a conversation line by line. */
/* SPDX-License-Identifier: Apache-2.0 */
#include <ruda/ruda.h>

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const char usage[] =
    "usage: ruda-chat --model FILE.gguf [options]\n"
    "  --prompt TEXT       ask once and end (without it: a conversation, one line a turn, end with Ctrl-D)\n"
    "  --system TEXT       system message\n"
    "  --max-tokens N      longest answer (default 512)\n"
    "  --temperature T     0 takes the most likely token (default 0)\n"
    "  --top-k N  --top-p P  --min-p P  --repetition-penalty R  --seed N\n"
    "  --backend auto|cpu|cuda  --threads N  --context N\n"
    "  --quiet             the answer only\n";

typedef struct options {
  const char *model, *prompt, *system;
  ruda_sampling sampling;
  uint64_t max_tokens, context_tokens;
  uint32_t backend, threads;
  int quiet;
} options;

typedef struct chat {
  ruda_context context;
  ruda_model model;
  ruda_tokenizer tokenizer;
  ruda_session session;
  ruda_chat_message* messages;
  char** owned; /* contents of the messages */
  uint64_t count, capacity;
  char* answer; /* of the turn in progress */
  size_t answer_bytes;
  int quiet;
} chat;

static ruda_cancel interrupt; /* raised by Ctrl-C */

static void on_interrupt(int signal_number) {
  (void)signal_number;
  ruda_cancel_request(interrupt);
}

static int fail(const char* what) {
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  ruda_last_error(&info);
  fprintf(stderr, "ruda-chat: %s: %s (%s)\n", what, info.message, ruda_status_name(info.status));
  return 1;
}

static int set_option(options* o, const char* name, const char* value) {
  if (strcmp(name, "--model") == 0)
    o->model = value;
  else if (strcmp(name, "--prompt") == 0)
    o->prompt = value;
  else if (strcmp(name, "--system") == 0)
    o->system = value;
  else if (strcmp(name, "--max-tokens") == 0)
    o->max_tokens = strtoull(value, NULL, 10);
  else if (strcmp(name, "--context") == 0)
    o->context_tokens = strtoull(value, NULL, 10);
  else if (strcmp(name, "--temperature") == 0)
    o->sampling.temperature = atof(value);
  else if (strcmp(name, "--top-k") == 0)
    o->sampling.top_k = (uint32_t)strtoul(value, NULL, 10);
  else if (strcmp(name, "--top-p") == 0)
    o->sampling.top_p = atof(value);
  else if (strcmp(name, "--min-p") == 0)
    o->sampling.min_p = atof(value);
  else if (strcmp(name, "--repetition-penalty") == 0)
    o->sampling.repetition_penalty = atof(value);
  else if (strcmp(name, "--seed") == 0)
    o->sampling.seed = strtoull(value, NULL, 10);
  else if (strcmp(name, "--threads") == 0)
    o->threads = (uint32_t)strtoul(value, NULL, 10);
  else if (strcmp(name, "--backend") == 0 && strcmp(value, "auto") == 0)
    o->backend = RUDA_BACKEND_AUTO;
  else if (strcmp(name, "--backend") == 0 && strcmp(value, "cpu") == 0)
    o->backend = RUDA_BACKEND_CPU;
  else if (strcmp(name, "--backend") == 0 && strcmp(value, "cuda") == 0)
    o->backend = RUDA_BACKEND_CUDA;
  else
    return 0;
  return 1;
}

static int parse(int argc, char** argv, options* o) {
  int i;
  for (i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--quiet") == 0) {
      o->quiet = 1;
      continue;
    }
    if (i + 1 == argc || !set_option(o, argv[i], argv[i + 1])) return 0;
    ++i;
  }
  return o->model != NULL;
}

static double seconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int32_t show_loading(void* user, uint64_t done, uint64_t total) {
  static unsigned shown;
  const unsigned percent = total ? (unsigned)(done * 100 / total) : 100;
  if (!((chat*)user)->quiet && percent / 10 != shown) fprintf(stderr, "\rloading %3u %%", percent);
  shown = percent / 10;
  return 0;
}

/* Prompts that take a moment show how far they are. */
static int32_t show_reading(void* user, uint64_t done, uint64_t total) {
  if (((chat*)user)->quiet || total <= 1024) return 0;
  fprintf(stderr, "\rreading %3u %%", (unsigned)(done * 100 / total));
  if (done == total) fprintf(stderr, "\r             \r");
  return 0;
}

static int32_t show_text(void* user, const char* text, uint64_t bytes, int32_t token) {
  chat* c = user;
  char* grown = realloc(c->answer, c->answer_bytes + bytes + 1);
  (void)token;
  if (!grown) return 1;
  c->answer = grown;
  memcpy(c->answer + c->answer_bytes, text, bytes);
  c->answer_bytes += bytes;
  c->answer[c->answer_bytes] = 0;
  fwrite(text, 1, bytes, stdout);
  fflush(stdout);
  return 0;
}

static int add_message(chat* c, const char* role, const char* content) {
  char* copy = malloc(strlen(content) + 1);
  if (!copy) return 0;
  if (c->count == c->capacity) {
    const uint64_t wider = c->capacity ? c->capacity * 2 : 16;
    ruda_chat_message* messages = realloc(c->messages, wider * sizeof *messages);
    char** owned = realloc(c->owned, wider * sizeof *owned);
    if (messages) c->messages = messages;
    if (owned) c->owned = owned;
    if (!messages || !owned) {
      free(copy);
      return 0;
    }
    c->capacity = wider;
  }
  strcpy(copy, content);
  c->owned[c->count] = copy;
  c->messages[c->count].role = role;
  c->messages[c->count].content = copy;
  c->messages[c->count].content_bytes = 0;
  ++c->count;
  return 1;
}

static void show_speed(const ruda_session_info* info, uint32_t finish) {
  fprintf(stderr, "\nprompt: %llu tokens", (unsigned long long)info->prompt_tokens);
  if (info->reused_tokens)
    fprintf(stderr, " (and %llu from the cache)", (unsigned long long)info->reused_tokens);
  if (info->prompt_seconds > 0)
    fprintf(stderr, ", %.1f tokens/s", (double)info->prompt_tokens / info->prompt_seconds);
  fprintf(stderr, "\nanswer: %llu tokens", (unsigned long long)info->generated_tokens);
  if (info->generate_seconds > 0)
    fprintf(stderr, ", %.1f tokens/s", (double)info->generated_tokens / info->generate_seconds);
  if (finish == RUDA_FINISH_LENGTH) fprintf(stderr, " (stopped at --max-tokens)");
  if (finish == RUDA_FINISH_CAPACITY) fprintf(stderr, " (stopped: the context is full)");
  fprintf(stderr, "\n");
}

static int answer(chat* c, const options* o) {
  ruda_generate_options generate = RUDA_GENERATE_OPTIONS_INIT;
  ruda_session_info info = RUDA_SESSION_INFO_INIT;
  uint32_t finish = RUDA_FINISH_NONE;
  ruda_status status;
  ruda_cancel_reset(interrupt);
  status = ruda_session_prompt_chat(c->session, c->messages, c->count, NULL, show_reading, c, interrupt);
  c->answer_bytes = 0;
  generate.max_new_tokens = o->max_tokens;
  generate.on_text = show_text;
  generate.user = c;
  generate.cancel = interrupt;
  if (status == RUDA_OK) status = ruda_session_generate(c->session, &generate, &finish);
  printf("\n");
  if (status == RUDA_E_CANCELLED)
    fprintf(stderr, "[stopped]\n");
  else if (status != RUDA_OK)
    return fail("answer");
  if (!add_message(c, "assistant", c->answer_bytes ? c->answer : "")) return fail("memory");
  if (ruda_session_get_info(c->session, &info)) return fail("session");
  if (!o->quiet) show_speed(&info, finish);
  return 0;
}

static int load(chat* c, const options* o) {
  ruda_context_desc context = RUDA_CONTEXT_DESC_INIT;
  ruda_context_info where = RUDA_CONTEXT_INFO_INIT;
  ruda_model_desc model = RUDA_MODEL_DESC_INIT;
  ruda_model_info info = RUDA_MODEL_INFO_INIT;
  ruda_session_desc session = RUDA_SESSION_DESC_INIT;
  ruda_store store = NULL;
  const double start = seconds();
  ruda_status status;
  context.backend = o->backend;
  context.host_threads = o->threads;
  model.progress = show_loading;
  model.user = c;
  session.token_capacity = o->context_tokens;
  if (ruda_context_create(&context, &c->context)) return fail("context");
  if (ruda_store_open(o->model, NULL, &store)) return fail(o->model);
  status = ruda_model_load(c->context, store, &model, &c->model);
  if (!o->quiet) fprintf(stderr, "\r             \r");
  ruda_release(store);
  if (status != RUDA_OK) return fail(o->model);
  if (ruda_model_get_tokenizer(c->model, &c->tokenizer)) return fail("tokenizer");
  if (ruda_session_create(c->model, &session, &c->session)) return fail("session");
  if (ruda_session_set_sampling(c->session, &o->sampling)) return fail("sampling");
  if (ruda_model_get_info(c->model, &info) || ruda_context_get_info(c->context, &where)) return fail("info");
  if (!o->quiet)
    fprintf(stderr, "%s: %s, %.0f M parameters, %.0f MB, on %s with %u threads, loaded in %.2f s\n\n",
            info.name, info.architecture, (double)info.parameter_count * 1e-6,
            (double)info.weight_bytes * 1e-6, where.device_name, (unsigned)where.host_threads,
            seconds() - start);
  return 0;
}

static int converse(chat* c, const options* o) {
  char line[16384];
  for (;;) {
    size_t n;
    if (!o->quiet) fprintf(stderr, "> ");
    if (!fgets(line, sizeof line, stdin)) return 0;
    n = strlen(line);
    while (n && (line[n - 1] == '\n' || line[n - 1] == '\r')) line[--n] = 0;
    if (n == 0) continue;
    if (!add_message(c, "user", line)) return 1;
    if (answer(c, o)) return 1;
  }
}

int main(int argc, char** argv) {
  const ruda_sampling greedy = RUDA_SAMPLING_INIT;
  options o;
  chat c;
  int result;
  memset(&o, 0, sizeof o);
  memset(&c, 0, sizeof c);
  o.sampling = greedy;
  o.max_tokens = 512;
  if (!parse(argc, argv, &o)) {
    fputs(usage, stderr);
    return 2;
  }
  c.quiet = o.quiet;
  if (ruda_cancel_create(&interrupt)) return fail("cancel token");
  signal(SIGINT, on_interrupt);
  result = load(&c, &o);
  if (result == 0 && o.system && !add_message(&c, "system", o.system)) result = 1;
  if (result == 0 && o.prompt)
    result = add_message(&c, "user", o.prompt) ? answer(&c, &o) : 1;
  else if (result == 0)
    result = converse(&c, &o);
  while (c.count) free(c.owned[--c.count]);
  free(c.owned);
  free(c.messages);
  free(c.answer);
  ruda_release(c.session);
  ruda_release(c.tokenizer);
  ruda_release(c.model);
  ruda_release(c.context);
  ruda_release(interrupt);
  return result;
}
