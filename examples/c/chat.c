/* examples/c/chat.c - asks a language model: one question with --prompt, or a conversation line by line. */
/* SPDX-License-Identifier: Apache-2.0 */
/* Answers go to stdout, all else to stderr: progress where that is a terminal, and "> " where stdin is one
 * too. */
#define _POSIX_C_SOURCE 200809L /* getline, isatty, sigaction */
#include <ruda/ruda.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const char usage[] =
    "usage: ruda-chat --model FILE.gguf [options]   (--name VALUE or --name=VALUE)\n"
    "  --prompt TEXT       ask once and end (without it: a conversation, one line a turn, end with Ctrl-D)\n"
    "  --system TEXT       system message\n"
    "  --max-tokens N      longest answer, 0 = no limit (default 512)\n"
    "  --temperature T     0 takes the most likely token (default 0)\n"
    "  --top-k N  --top-p P  --min-p P  --repetition-penalty R  --seed N   (default 0: off, seed 0)\n"
    "  --backend auto|cpu|cuda  (default auto)\n"
    "  --threads N         threads of the CPU backend (default 0 = all)\n"
    "  --context N         tokens of prompt and answer (default 0 = the model's, at most 8192)\n"
    "  --quiet             the answer only\n"
    "  -h, --help          this text\n"
    "Ctrl-C stops an answer; at a prompt, and where questions are not typed, it ends the program.\n"
    "Exit codes: 0 all was answered, 1 something failed, 2 wrong options, 130 Ctrl-C, 141 nobody reads "
    "stdout.\n";

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
  int progress; /* shown */
} chat;

enum { INTERRUPTED = 130 }; /* exit code, as shells have it */

static ruda_cancel interrupt;                   /* raised by Ctrl-C */
static volatile sig_atomic_t answering, asking; /* what Ctrl-C finds */

static void on_interrupt(int signal_number) {
  (void)signal_number;
  if (answering) {
    ruda_cancel_request(interrupt);
    return;
  }
  if (asking && write(STDERR_FILENO, "\n", 1) < 0) _exit(1);
  _exit(INTERRUPTED);
}

static int fail(const char* what) {
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  ruda_last_error(&info);
  fprintf(stderr, "ruda-chat: %s: %s (%s)\n", what, info.message, ruda_status_name(info.status));
  return 1;
}

/* To stdout, and that it arrived: a full disk must not pass for an answer. After a failure nothing more. */
static int say(const char* text, size_t bytes) {
  if (ferror(stdout)) return 0;
  if (fwrite(text, 1, bytes, stdout) == bytes && fflush(stdout) == 0) return 1;
  fprintf(stderr, "ruda-chat: stdout: %s\n", strerror(errno));
  return 0;
}

/* The number of an option, whole or not; what is no number or out of range is named. */
static int whole(const char* name, const char* value, uint64_t most, uint64_t* out) {
  char* end = NULL;
  errno = 0;
  *out = strtoull(value, &end, 10);
  if (*value >= '0' && *value <= '9' && *end == 0 && errno == 0 && *out <= most) return 1;
  fprintf(stderr, "ruda-chat: %s is \"%s\", expected a whole number from 0 to %llu\n", name, value,
          (unsigned long long)most);
  return 0;
}

/* `expected` says in words what `least` (of numbers that are not 0) and `most` are. */
static int number(const char* name, const char* value, double least, double most, const char* expected,
                  double* out) {
  char* end = NULL;
  *out = strtod(value, &end);
  if (*value && value[strspn(value, "0123456789.eE+-")] == 0 && *end == 0 &&
      (*out == 0 || (*out >= least && *out <= most)))
    return 1;
  fprintf(stderr, "ruda-chat: %s is \"%s\", expected %s\n", name, value, expected);
  return 0;
}

static int whole32(const char* name, const char* value, uint32_t most, uint32_t* out) {
  uint64_t wide = 0;
  if (!whole(name, value, most, &wide)) return 0;
  *out = (uint32_t)wide;
  return 1;
}

static int set_backend(options* o, const char* value) {
  if (strcmp(value, "auto") == 0)
    o->backend = RUDA_BACKEND_AUTO;
  else if (strcmp(value, "cpu") == 0)
    o->backend = RUDA_BACKEND_CPU;
  else if (strcmp(value, "cuda") == 0)
    o->backend = RUDA_BACKEND_CUDA;
  else {
    fprintf(stderr, "ruda-chat: --backend is \"%s\", expected auto, cpu or cuda\n", value);
    return 0;
  }
  return 1;
}

static int set_option(options* o, const char* name, const char* value) {
  static const char to_100[] =
      "0 or a number from 1e-37 to 100"; /* 0 is off; the least that F32 divides by */
  static const char* const numbers[] = {
      "--max-tokens",         "--context", "--temperature", "--top-k",   "--top-p", "--min-p",
      "--repetition-penalty", "--seed",    "--threads",     "--backend", NULL};
  ruda_sampling* s = &o->sampling;
  const char** text = strcmp(name, "--model") == 0    ? &o->model
                      : strcmp(name, "--prompt") == 0 ? &o->prompt
                      : strcmp(name, "--system") == 0 ? &o->system
                                                      : NULL;
  int i = 0;
  while (!text && numbers[i] && strcmp(name, numbers[i]) != 0) ++i;
  if (!text && !numbers[i]) {
    fprintf(stderr, "ruda-chat: unknown option %s\n", name);
    return 0;
  }
  if (!value) {
    fprintf(stderr, "ruda-chat: %s needs a value\n", name);
    return 0;
  }
  if (text) {
    *text = value;
    return 1;
  }
  if (strcmp(name, "--max-tokens") == 0) return whole(name, value, INT64_MAX, &o->max_tokens);
  if (strcmp(name, "--context") == 0) return whole(name, value, 1 << 24, &o->context_tokens);
  if (strcmp(name, "--temperature") == 0) return number(name, value, 1e-37, 100, to_100, &s->temperature);
  if (strcmp(name, "--top-k") == 0) return whole32(name, value, INT32_MAX, &s->top_k);
  if (strcmp(name, "--top-p") == 0) return number(name, value, 0, 1, "a number from 0 to 1", &s->top_p);
  if (strcmp(name, "--min-p") == 0)
    return number(name, value, 0, 0.999999, "a number from 0 to 0.999999", &s->min_p);
  if (strcmp(name, "--repetition-penalty") == 0)
    return number(name, value, 1e-37, 100, to_100, &s->repetition_penalty);
  if (strcmp(name, "--seed") == 0) return whole(name, value, UINT64_MAX, &s->seed);
  if (strcmp(name, "--threads") == 0) return whole32(name, value, 4096, &o->threads);
  return set_backend(o, value);
}

/* -1 = go on, else the exit code. */
static int parse(int argc, char** argv, options* o) {
  int i;
  for (i = 1; i < argc; ++i) {
    char* equals = strncmp(argv[i], "--", 2) == 0 ? strchr(argv[i], '=') : NULL;
    const char* value = equals ? equals + 1 : i + 1 < argc ? argv[i + 1] : NULL;
    if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0) {
      return !say(usage, strlen(usage));
    }
    if (strcmp(argv[i], "--quiet") == 0) {
      o->quiet = 1;
      continue;
    }
    if (equals) *equals = 0;
    if (!set_option(o, argv[i], value)) return 2;
    if (!equals) ++i;
  }
  if (o->model) return -1;
  fprintf(stderr, "ruda-chat: --model is missing; see --help\n");
  return 2;
}

static double seconds(void) {
  struct timespec now;
  timespec_get(&now, TIME_UTC);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int32_t show_loading(void* user, uint64_t done, uint64_t total) {
  static unsigned shown;
  const unsigned percent = total ? (unsigned)(done * 100 / total) : 100;
  if (((chat*)user)->progress && percent / 10 != shown) fprintf(stderr, "\rloading %3u %%", percent);
  shown = percent / 10;
  return 0;
}

/* Prompts that take a moment show how far they are. */
static int32_t show_reading(void* user, uint64_t done, uint64_t total) {
  if (!((chat*)user)->progress || total <= 1024) return 0;
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
  return !say(text, bytes);
}

static int add_message(chat* c, const char* role, const char* content, size_t bytes) {
  char* copy = malloc(bytes + 1);
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
  memcpy(copy, content, bytes);
  copy[bytes] = 0;
  c->owned[c->count] = copy;
  c->messages[c->count].role = role;
  c->messages[c->count].content = copy;
  c->messages[c->count].content_bytes = bytes;
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

/* Messages from `skip` turns on, behind the system message if there is one. */
static uint64_t without_turns(const chat* c, uint64_t skip, ruda_chat_message* out) {
  const uint64_t first = c->count && strcmp(c->messages[0].role, "system") == 0;
  uint64_t i, kept = first, turns = 0;
  if (first) out[0] = c->messages[0];
  for (i = first; i < c->count; ++i) {
    turns += strcmp(c->messages[i].role, "user") == 0;
    if (turns > skip) out[kept++] = c->messages[i];
  }
  return kept;
}

/* Prompts with the conversation, without as many of the oldest turns as the context asks for. */
static ruda_status prompt(chat* c) {
  ruda_chat_message* kept = malloc(c->count * sizeof *kept);
  const uint64_t first = strcmp(c->messages[0].role, "system") == 0;
  uint64_t i, count = c->count, dropped = 0, gone;
  ruda_status status = RUDA_E_OOM_HOST;
  while (kept) {
    count = without_turns(c, dropped, kept);
    status = ruda_session_prompt_chat(c->session, kept, count, NULL, show_reading, c, interrupt);
    if (status != RUDA_E_ARGUMENT || count == first + 1) break;
    ++dropped;
  }
  free(kept);
  if (status == RUDA_E_ARGUMENT || !kept || dropped == 0) return status;
  fprintf(stderr, "[the context is full: oldest turns forgotten: %llu]\n", (unsigned long long)dropped);
  gone = c->count - count;
  for (i = first; i < first + gone; ++i) free(c->owned[i]);
  memmove(c->owned + first, c->owned + first + gone, (count - first) * sizeof *c->owned);
  memmove(c->messages + first, c->messages + first + gone, (count - first) * sizeof *c->messages);
  c->count = count;
  return status;
}

/* 0 = answered, 1 = an error, 2 = this message alone was refused and is forgotten, INTERRUPTED = stopped. */
static int answer(chat* c, const options* o) {
  ruda_generate_options generate = RUDA_GENERATE_OPTIONS_INIT;
  ruda_session_info info = RUDA_SESSION_INFO_INIT;
  uint32_t finish = RUDA_FINISH_NONE;
  ruda_status status;
  ruda_cancel_reset(interrupt);
  answering = 1;
  status = prompt(c);
  c->answer_bytes = 0;
  generate.max_new_tokens = o->max_tokens;
  generate.on_text = show_text;
  generate.user = c;
  generate.cancel = interrupt;
  if (status == RUDA_E_ARGUMENT) {
    answering = 0;
    fail("this message");
    free(c->owned[--c->count]);
    return 2;
  }
  if (status == RUDA_OK) status = ruda_session_generate(c->session, &generate, &finish);
  answering = 0;
  if (!say("\n", 1)) return 1;
  if (status == RUDA_E_CANCELLED)
    fprintf(stderr, "[stopped]\n");
  else if (status != RUDA_OK)
    return fail("answer");
  if (!add_message(c, "assistant", c->answer_bytes ? c->answer : "", c->answer_bytes)) return fail("memory");
  if (ruda_session_get_info(c->session, &info)) return fail("session");
  if (!o->quiet) show_speed(&info, finish);
  return status == RUDA_E_CANCELLED ? INTERRUPTED : 0;
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
  if (ruda_store_open(o->model, NULL, &store)) return fail("model");
  status = ruda_model_load(c->context, store, &model, &c->model);
  if (c->progress) fprintf(stderr, "\r             \r");
  ruda_release(store);
  if (status != RUDA_OK) return fail("model");
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

/* A refused message leaves the conversation going; Ctrl-C too where questions are typed, else it ends. */
static int converse(chat* c, const options* o) {
  const int typed = isatty(STDIN_FILENO);
  char* line = NULL;
  size_t capacity = 0;
  int result = 0, refused = 0;
  while (result == 0) {
    ssize_t n;
    asking = c->progress && typed;
    if (asking) fprintf(stderr, "> ");
    n = getline(&line, &capacity, stdin);
    if (n < 0) break;
    while (n && (line[n - 1] == '\n' || line[n - 1] == '\r')) line[--n] = 0;
    if (strspn(line, " \t\v\f\r") == (size_t)n) continue;
    result = add_message(c, "user", line, (size_t)n) ? answer(c, o) : fail("memory");
    if (result == 2) refused = 1;
    if (result == 2 || (result == INTERRUPTED && typed)) result = 0;
  }
  free(line);
  if (ferror(stdin)) {
    fprintf(stderr, "ruda-chat: stdin: %s\n", strerror(errno));
    return 1;
  }
  return result ? result : refused;
}

/* A file that is opened takes the place of a stream that is closed: questions would come from the model. */
static int hold_streams(void) {
  int stream;
  for (stream = 0; stream <= 2; ++stream) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    if (stream != STDOUT_FILENO && open("/dev/null", O_RDWR) == stream) continue;
    fprintf(stderr, "ruda-chat: %s: %s\n", stream == STDOUT_FILENO ? "stdout" : "/dev/null", strerror(errno));
    return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  const ruda_sampling greedy = RUDA_SAMPLING_INIT;
  options o;
  chat c;
  struct sigaction on_signal;
  int result;
  memset(&o, 0, sizeof o);
  memset(&c, 0, sizeof c);
  o.sampling = greedy;
  o.max_tokens = 512;
  result = parse(argc, argv, &o);
  if (result >= 0) return result;
  c.progress = !o.quiet && isatty(STDERR_FILENO);
  if (ruda_cancel_create(&interrupt)) return fail("cancel token");
  memset(&on_signal, 0, sizeof on_signal);
  on_signal.sa_handler = on_interrupt;
  on_signal.sa_flags = SA_RESTART;
  sigaction(SIGINT, &on_signal, NULL);
  if (!hold_streams()) return 1;
  result = load(&c, &o);
  if (result == 0 && o.system && !add_message(&c, "system", o.system, strlen(o.system))) result = 1;
  if (result == 0 && o.prompt) {
    result = add_message(&c, "user", o.prompt, strlen(o.prompt)) ? answer(&c, &o) : 1;
    if (result == 2) result = 1;
  } else if (result == 0)
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
