/* tests/plan/tune.c - autotuning: candidates timed, the fastest kept, times in memory and in a file. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "support/expect.h"

#include <sys/stat.h>
#include <unistd.h>

static char folder[] = "/tmp/ruda_tune_XXXXXX";
static char path[128];
static int paths;

/* A file that no context of this process has read. */
static const char* fresh_path(void) {
  snprintf(path, sizeof path, "%s/%d", folder, paths++);
  return path;
}

static int setup(void** state) {
  (void)state;
  return mkdtemp(folder) ? 0 : -1;
}

static int teardown(void** state) {
  (void)state;
  for (int i = 0; i < paths; ++i) {
    char each[128];
    snprintf(each, sizeof each, "%s/%d", folder, i);
    if (unlink(each) != 0) rmdir(each);
  }
  return rmdir(folder);
}

static ruda_context context_with(const char* tune_file) {
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  desc.tune_file = tune_file;
  ruda_context context = NULL;
  OK(ruda_context_create(&desc, &context));
  return context;
}

static ruda_plan tuned_plan(ruda_context context, int64_t rows, int64_t cols, const char* kernel) {
  const int64_t shape[2] = {rows, cols};
  const ruda_tensor_desc x = tensor_desc(RUDA_F32, 2, shape), gamma = tensor_desc(RUDA_F32, 1, shape + 1);
  ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
  options.autotune = 1;
  options.kernel = kernel;
  ruda_rms_norm_desc desc = RUDA_RMS_NORM_DESC_INIT;
  desc.options = &options;
  desc.x = &x;
  desc.gamma = &gamma;
  desc.eps = 1e-5;
  ruda_plan plan = NULL;
  OK(ruda_rms_norm_plan_create(context, &desc, &plan));
  return plan;
}

static const char* explain(ruda_plan plan) {
  static char text[4096];
  OK(ruda_plan_explain(plan, text, sizeof text, NULL));
  return text;
}

static const char* kernel_of(ruda_plan plan) {
  ruda_plan_info info = RUDA_PLAN_INFO_INIT;
  OK(ruda_plan_query(plan, &info));
  return info.kernel;
}

static const char* log_of(ruda_context context) {
  static char text[4096];
  OK(ruda_log_drain(context, text, sizeof text, NULL));
  return text;
}

static int count_of(const char* text, const char* piece) {
  int n = 0;
  for (const char* at = text; (at = strstr(at, piece)); ++at) ++n;
  return n;
}

static void times_all_and_keeps_the_fastest(void** state) {
  (void)state;
  ruda_context context = context_with(NULL);
  ruda_stream stream = new_stream(context);
  ruda_plan plan = tuned_plan(context, 64, 1024, NULL);
  assert_non_null(strstr(explain(plan), "autotune: not timed yet, the first that accepts\n"));
  OK(ruda_plan_warm(plan, stream));
  const char* text = explain(plan);
  assert_non_null(strstr(text, "autotune: fastest of those timed\n"));
  assert_null(strstr(text, "not timed"));
  assert_int_equal(count_of(text, " (chosen)\n"), 1);
  /* Every kernel of the operator accepts this problem; each has its time, and the chosen is no slower. */
  char list[1024];
  OK(ruda_op_kernels("rms_norm", RUDA_BACKEND_CPU, list, sizeof list, NULL));
  double best = 0, chosen = 0;
  int kernels = 0;
  for (char* name = strtok(list, "\n"); name; name = strtok(NULL, "\n")) {
    char line[160];
    snprintf(line, sizeof line, "  %s: ", name);
    const char* at = strstr(text, line);
    assert_non_null(at);
    const double time = atof(at + strlen(line));
    assert_true(time > 0);
    if (best == 0 || time < best) best = time;
    if (strcmp(name, kernel_of(plan)) == 0) chosen = time;
    ++kernels;
  }
  assert_true(kernels >= 2);
  assert_true(chosen > 0 && chosen * 0.96 <= best);

  /* The same problem again: known. Another problem: timed. */
  ruda_plan again = tuned_plan(context, 64, 1024, NULL), other = tuned_plan(context, 65, 1024, NULL);
  OK(ruda_plan_warm(again, stream));
  assert_non_null(strstr(explain(again), "autotune: fastest when the problem was timed before\n"));
  assert_string_equal(kernel_of(again), kernel_of(plan));
  OK(ruda_plan_warm(other, stream));
  assert_non_null(strstr(explain(other), "autotune: fastest of those timed\n"));
  ruda_plan forced = tuned_plan(context, 64, 1024, "cpu/rms_norm/scalar");
  OK(ruda_plan_warm(forced, stream));
  assert_non_null(strstr(explain(forced), "autotune: one kernel accepts, nothing to time\n"));
  assert_string_equal(kernel_of(forced), "cpu/rms_norm/scalar");

  OK(ruda_release(plan));
  OK(ruda_release(again));
  OK(ruda_release(other));
  OK(ruda_release(forced));
  OK(ruda_release(stream));
  assert_int_equal(live_objects(context), 0);
  ruda_context_info info = RUDA_CONTEXT_INFO_INIT;
  OK(ruda_context_get_info(context, &info));
  assert_int_equal(info.allocated_bytes, 0); /* scratch went back */
  OK(ruda_release(context));
}

static void tuned_plan_computes(void** state) {
  (void)state;
  ruda_context context = context_with(NULL);
  ruda_stream stream = new_stream(context);
  /* Long sums: one kernel books workspace for its partial sums, another needs none. */
  enum { rows = 2, cols = 200000 };
  const int64_t shape[2] = {rows, cols}, sums[1] = {rows};
  ruda_tensor x = new_counting(context, stream, 2, shape), y = new_tensor(context, RUDA_F32, 1, sums);
  const ruda_tensor_desc xd = tensor_desc(RUDA_F32, 2, shape);
  ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
  options.autotune = 1;
  ruda_reduce_desc desc = RUDA_REDUCE_DESC_INIT;
  desc.op = RUDA_REDUCE_SUM;
  desc.options = &options;
  desc.x = &xd;
  desc.axes = 2;
  ruda_plan plan = NULL;
  OK(ruda_reduce_plan_create(context, &desc, &plan));
  ruda_plan_info before = RUDA_PLAN_INFO_INIT, after = RUDA_PLAN_INFO_INIT;
  OK(ruda_plan_query(plan, &before));
  assert_true(before.workspace_bytes > 0);
  /* A workspace made before the choice is large enough after it. */
  ruda_workspace workspace = NULL;
  OK(ruda_workspace_create(context, before.workspace_bytes, &workspace));
  OK(ruda_plan_warm(plan, stream));
  assert_non_null(strstr(explain(plan), "autotune: fastest of those timed\n"));
  OK(ruda_plan_query(plan, &after));
  assert_int_equal(before.workspace_bytes, after.workspace_bytes);
  const ruda_binding bindings[2] = {bind_tensor(RUDA_REDUCE_X, x), bind_tensor(RUDA_REDUCE_Y, y)};
  OK(ruda_plan_execute(plan, stream, workspace, bindings, 2, NULL));
  float got[rows];
  OK(ruda_tensor_read(stream, y, got, sizeof got));
  for (int64_t i = 0; i < rows; ++i) {
    const double want = (double)cols * (double)(2 * i * cols + cols - 1) / 2, error = got[i] - want;
    assert_true((error < 0 ? -error : error) <= 0x1p-16 * want);
  }
  OK(ruda_release(workspace));
  OK(ruda_release(plan));
  OK(ruda_release(x));
  OK(ruda_release(y));
  OK(ruda_release(stream));
  OK(ruda_release(context));
}

static void objects_of_the_caller_are_not_timed(void** state) {
  (void)state;
  ruda_context context = context_with(NULL);
  ruda_stream stream = new_stream(context);
  const int64_t rows[3] = {4, 2, 16}, pages[4] = {8, 16, 2, 16};
  const ruda_tensor_desc k = tensor_desc(RUDA_F32, 3, rows), cache = tensor_desc(RUDA_F32, 4, pages);
  ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
  options.autotune = 1;
  ruda_paged_append_desc desc = RUDA_PAGED_APPEND_DESC_INIT;
  desc.options = &options;
  desc.k = &k;
  desc.k_cache = &cache;
  ruda_plan plan = NULL;
  OK(ruda_paged_append_plan_create(context, &desc, &plan));
  OK(ruda_plan_warm(plan, stream));
  const char* text = explain(plan);
  assert_true(strstr(text, "autotune: not timed, schedule is an object of the caller") ||
              strstr(text, "autotune: one kernel accepts"));
  OK(ruda_release(plan));
  OK(ruda_release(stream));
  OK(ruda_release(context));
}

/* Scratch operands hold zeros, which are no rows of an empty table. */
static void operands_that_cannot_be_made_up(void** state) {
  (void)state;
  ruda_context context = context_with(NULL);
  ruda_stream stream = new_stream(context);
  const int64_t rows[2] = {0, 8}, ids[1] = {3};
  const ruda_tensor_desc table = tensor_desc(RUDA_F32, 2, rows), indices = tensor_desc(RUDA_I32, 1, ids);
  ruda_plan_options options = RUDA_PLAN_OPTIONS_INIT;
  options.autotune = 1;
  ruda_embedding_desc desc = RUDA_EMBEDDING_DESC_INIT;
  desc.options = &options;
  desc.table = &table;
  desc.ids = &indices;
  ruda_plan plan = NULL;
  OK(ruda_embedding_plan_create(context, &desc, &plan));
  OK(ruda_plan_warm(plan, stream));
  const char* text = explain(plan);
  assert_true(strstr(text, "autotune: not timed, made-up operands do not fit") ||
              strstr(text, "autotune: one kernel accepts"));
  OK(ruda_release(plan));
  OK(ruda_release(stream));
  OK(ruda_release(context));
}

/* Warms a plan of a context with this file; the answer is the explanation, the log goes to *log. */
static const char* warm_with(const char* file, const char** log) {
  ruda_context context = context_with(file);
  ruda_stream stream = new_stream(context);
  ruda_plan plan = tuned_plan(context, 33, 512, NULL);
  OK(ruda_plan_warm(plan, stream));
  const char* text = explain(plan);
  *log = log_of(context);
  OK(ruda_release(plan));
  OK(ruda_release(stream));
  OK(ruda_release(context));
  return text;
}

static void write_file(const char* file, const char* text, size_t bytes) {
  FILE* out = fopen(file, "wb");
  assert_non_null(out);
  assert_int_equal(fwrite(text, 1, bytes, out), bytes);
  assert_int_equal(fclose(out), 0);
}

static size_t read_file(const char* file, char* text, size_t capacity) {
  FILE* in = fopen(file, "rb");
  assert_non_null(in);
  const size_t n = fread(text, 1, capacity - 1, in);
  text[n] = 0;
  fclose(in);
  return n;
}

static char saved[4096];

static void keeps_times_in_a_file(void** state) {
  (void)state;
  const char* log = NULL;
  char file[128];
  snprintf(file, sizeof file, "%s", fresh_path());
  assert_non_null(strstr(warm_with(file, &log), "fastest of those timed"));
  assert_string_equal(log, "");
  const size_t size = read_file(file, saved, sizeof saved);
  assert_int_equal(strncmp(saved, "ruda-tune 1 ", 12), 0);
  assert_int_equal(count_of(saved, "\n"), 2);
  assert_int_equal(saved[size - 1], '\n');

  /* Another process, which knows only the file: here another path. What it says is taken, though slower. */
  char changed[4096];
  const char* line = strchr(saved, '\n') + 1;
  snprintf(changed, sizeof changed, "%.*s%.32s cpu/rms_norm/scalar 77000\n", (int)(line - saved), saved,
           line);
  write_file(fresh_path(), changed, strlen(changed));
  const char* text = warm_with(path, &log);
  assert_non_null(strstr(text, "rms_norm: cpu/rms_norm/scalar"));
  assert_non_null(strstr(text, "fastest when the problem was timed before"));
  assert_non_null(strstr(text, "  cpu/rms_norm/scalar: 77.000 us (chosen)\n"));
  assert_string_equal(log, "");

  /* A kernel that does not accept, or is none, is timed anew. */
  snprintf(changed, sizeof changed, "%.*s%.32s cpu/rms_norm/other 77000\n", (int)(line - saved), saved, line);
  write_file(fresh_path(), changed, strlen(changed));
  assert_non_null(strstr(warm_with(path, &log), "fastest of those timed"));
}

static void refuses_hostile_files(void** state) {
  (void)state;
  const char* log = NULL;
  const char* line = strchr(saved, '\n') + 1;
  const int head = (int)(line - saved);
  char text[4096];
  struct {
    const char *form, *why;
  } cases[] = {
      {"", "no tune file of this format"},
      {"garbage", "no tune file of this format"},
      {"ruda-tune 2 x\n", "no tune file of this format"},
      {"ruda-tune 1 another\n", "another build"},
      {"H00 cpu/rms_norm/scalar 5\n", "32 hexadecimal digits"},
      {"HK\n", "has no kernel"},
      {"HK cpu/rms_norm/scalar\n", "number of nanoseconds"},
      {"HK cpu/rms_norm/scalar -5\n", "number of nanoseconds"},
      {"HK cpu/rms_norm/scalar 0\n", "number of nanoseconds"},
      {"HK cpu/rms_norm/scalar 99999999999999999999999\n", "number of nanoseconds"},
      {"HK ../../%%n 5\n", "name is malformed"},
      {"HK cpu/rms_norm/scalar 5", "has no end"},
      {"HK cpu/rms_norm/scalar 5 cpu/rms_norm/scalar 6\n", "kernel twice"},
      {"HK cpu/rms_norm/scalar 5\nK cpu/rms_norm/scalar 5\n", "twice"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    size_t n = 0;
    for (const char* c = cases[i].form; *c; ++c) {
      if (*c == 'H')
        n += (size_t)snprintf(text + n, sizeof text - n, "%.*s", head, saved);
      else if (*c == 'K')
        n += (size_t)snprintf(text + n, sizeof text - n, "%.32s", line);
      else
        text[n++] = *c;
    }
    write_file(fresh_path(), text, n);
    assert_non_null(strstr(warm_with(path, &log), "fastest of those timed"));
    if (!strstr(log, "is not used: ") || !strstr(log, cases[i].why))
      fail_msg("case %zu: the log says \"%s\", expected \"%s\"", i, log, cases[i].why);
    /* A file of another build is replaced by what was measured; what may be somebody else's stays. */
    char after[4096];
    const size_t left = read_file(path, after, sizeof after);
    if (strcmp(cases[i].why, "another build") == 0) {
      assert_int_equal(strncmp(after, saved, (size_t)head), 0);
    } else {
      assert_int_equal(left, n);
      assert_memory_equal(after, text, n);
      assert_non_null(strstr(log, "is not written"));
    }
  }
  /* A line of the log is one line of UTF-8, whatever the path holds, and a long path is cut. */
  char odd[300];
  snprintf(odd, sizeof odd, "%s/\xff\x1b[31m\n\xc3\xa4", folder);
  write_file(odd, "garbage", 7);
  warm_with(odd, &log);
  assert_non_null(strstr(log, "/\\xff\\x1b[31m\\x0a\xc3\xa4\" is not used: "));
  assert_null(strpbrk(log, "\xff\x1b"));
  assert_int_equal(unlink(odd), 0);
  memset(odd + strlen(folder) + 1, 'n', 120);
  odd[strlen(folder) + 121] = 0;
  write_file(odd, "garbage", 7);
  warm_with(odd, &log);
  assert_non_null(strstr(log, "nnnn\"... is not used: "));
  assert_int_equal(unlink(odd), 0);

  /* Too large, a folder, a pipe without a writer, no such folder. */
  write_file(fresh_path(), saved, (size_t)head);
  assert_int_equal(truncate(path, 1 << 23), 0);
  warm_with(path, &log);
  assert_non_null(strstr(log, "it is too large"));
  assert_int_equal(mkdir(fresh_path(), 0700), 0);
  warm_with(path, &log);
  assert_non_null(strstr(log, "no regular file"));
  assert_non_null(strstr(log, "is not written"));
  assert_int_equal(mkfifo(fresh_path(), 0600), 0);
  warm_with(path, &log);
  assert_non_null(strstr(log, "no regular file"));
  struct stat facts;
  assert_int_equal(stat(path, &facts), 0);
  assert_true(S_ISFIFO(facts.st_mode));
  warm_with("/nonexistent/folder/file", &log);
  assert_non_null(strstr(log, "is not written"));
  /* Names that the problem cannot mean: bytes of every value, and nothing is left beside the files. */
  for (int i = 0; i < 256; ++i) text[i] = (char)i;
  write_file(fresh_path(), text, 256);
  warm_with(path, &log);
  assert_non_null(strstr(log, "no tune file"));
}

static mode_t mode_of(const char* file) {
  struct stat facts;
  assert_int_equal(lstat(file, &facts), 0);
  return facts.st_mode;
}

static void keeps_links_and_modes(void** state) {
  (void)state;
  const char* log = NULL;
  char target[128], text[4096];
  const mode_t mask = umask(027);
  snprintf(target, sizeof target, "%s", fresh_path());
  warm_with(target, &log);
  umask(mask);
  assert_string_equal(log, "");
  assert_int_equal(mode_of(target) & 07777, 0640);
  write_file(target, "ruda-tune 1 another\n", 20);
  assert_int_equal(chmod(target, 0604), 0);
  assert_int_equal(symlink(target, fresh_path()), 0);
  warm_with(path, &log);
  assert_true(S_ISLNK(mode_of(path)));
  assert_int_equal(mode_of(target), S_IFREG | 0604);
  assert_true(read_file(target, text, sizeof text) > 20);
  assert_int_equal(strncmp(text, saved, 12), 0);
  /* Links that lead nowhere, and in a circle. */
  assert_int_equal(symlink("/nonexistent/file", fresh_path()), 0);
  warm_with(path, &log);
  assert_true(S_ISLNK(mode_of(path)));
  assert_non_null(strstr(log, "is not written: it is a link that leads nowhere"));
  fresh_path();
  assert_int_equal(symlink(path, path), 0);
  warm_with(path, &log);
  assert_true(S_ISLNK(mode_of(path)));
  assert_non_null(strstr(log, "is not written"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(times_all_and_keeps_the_fastest),
      cmocka_unit_test(tuned_plan_computes),
      cmocka_unit_test(objects_of_the_caller_are_not_timed),
      cmocka_unit_test(operands_that_cannot_be_made_up),
      cmocka_unit_test(keeps_times_in_a_file),
      cmocka_unit_test(refuses_hostile_files),
      cmocka_unit_test(keeps_links_and_modes),
  };
  return cmocka_run_group_tests_name("tune", tests, setup, teardown);
}
