/* tests/abi/fixture.h - objects and rules of the generated tests: hostile calls and growth of structs. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_TESTS_FIXTURE_H
#define RUDA_TESTS_FIXTURE_H

#include "support/expect.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { buffer_bytes = 4096, buffer_count = 16 };

static struct {
  ruda_context context;
  ruda_stream stream;
  ruda_event event;
  ruda_tensor tensor;
  ruda_plan plan;
  ruda_workspace workspace;
  ruda_cancel cancel;
  ruda_store store, model_store;
  ruda_model model;
  ruda_tokenizer tokenizer;
  ruda_session session;
  ruda_paged_schedule schedule;
  void *stale, *foreign, *crooked, *zeros;
  const char *function, *attempt;
  ruda_status last;
} fixture;

static _Alignas(256) unsigned char fixture_memory[buffer_count][buffer_bytes];
static int fixture_next;

/* Handles of kinds that the fixture cannot make are NULL. */
#define FIXTURE_HANDLE_context fixture.context
#define FIXTURE_HANDLE_stream fixture.stream
#define FIXTURE_HANDLE_event fixture.event
#define FIXTURE_HANDLE_tensor fixture.tensor
#define FIXTURE_HANDLE_plan fixture.plan
#define FIXTURE_HANDLE_workspace fixture.workspace
#define FIXTURE_HANDLE_cancel fixture.cancel
#define FIXTURE_HANDLE_store fixture.store
#define FIXTURE_HANDLE_graph NULL
#define FIXTURE_HANDLE_paged_schedule fixture.schedule
#define FIXTURE_HANDLE_model fixture.model
#define FIXTURE_HANDLE_tokenizer fixture.tokenizer
#define FIXTURE_HANDLE_session fixture.session
#define HANDLE(kind) FIXTURE_HANDLE_##kind

/* Zeroed memory, good for a while as an array, a text or an out parameter. */
static inline void* fixture_buffer(void) {
  void* buffer = fixture_memory[fixture_next++ % buffer_count];
  memset(buffer, 0, buffer_bytes);
  return buffer;
}

/* Memory for out parameter `index` of a call, marked. */
static _Alignas(64) unsigned char fixture_outs[16][buffer_bytes];
static inline void* fixture_out(int index) {
  memset(fixture_outs[index], 0xA5, 8);
  return fixture_outs[index];
}

static inline void* fixture_struct(size_t size) {
  unsigned char* buffer = fixture_buffer();
  const uint32_t struct_size = (uint32_t)size;
  memcpy(buffer, &struct_size, sizeof struct_size);
  return buffer;
}

static inline int fixture_open(void** state) {
  (void)state;
  static const int64_t shape[2] = {4, 8};
  fixture.context = new_context();
  fixture.stream = new_stream(fixture.context);
  OK(ruda_event_create(fixture.context, &fixture.event));
  fixture.tensor = new_counting(fixture.context, fixture.stream, 2, shape);
  fixture.plan = new_rms_norm(fixture.context, 4, 8);
  OK(ruda_workspace_create(fixture.context, 256, &fixture.workspace));
  OK(ruda_cancel_create(&fixture.cancel));
  /* A GGUF file with one number, "k" = 7, and one tensor, "t" of four F32. */
  static _Alignas(64) const unsigned char gguf[96 + 16] = {
      'G', 'G', 'U', 'F', 3, 0, 0, 0, 1,   0, 0, 0, 0, 0, 0, 0, 1,
      0,   0,   0,   0,   0, 0, 0,                                 /* 24: version, counts */
      1,   0,   0,   0,   0, 0, 0, 0, 'k', 4, 0, 0, 0, 7, 0, 0, 0, /* 41: the number */
      1,   0,   0,   0,   0, 0, 0, 0, 't', 1, 0, 0, 0,             /* 54: name, rank */
      4,   0,   0,   0,   0, 0, 0, 0, 0,   0, 0, 0,                /* 66: extent, F32 */
      0,   0,   0,   0,   0, 0, 0, 0};                             /* 74: offset; data at 96 */
  OK(ruda_store_open_memory(gguf, sizeof gguf, NULL, NULL, NULL, &fixture.store));
  ruda_paged_schedule_desc schedule = RUDA_PAGED_SCHEDULE_DESC_INIT;
  schedule.page_size = schedule.pages = schedule.max_sequences = schedule.max_queries =
      schedule.max_table_pages = 4;
  OK(ruda_paged_schedule_create(fixture.context, &schedule, &fixture.schedule));
  ruda_session_desc session = RUDA_SESSION_DESC_INIT;
  session.token_capacity = 64;
  OK(ruda_store_open(getenv("RUDA_TINY_MODEL"), NULL, &fixture.model_store));
  OK(ruda_model_load(fixture.context, fixture.model_store, NULL, &fixture.model));
  OK(ruda_model_get_tokenizer(fixture.model, &fixture.tokenizer));
  OK(ruda_session_create(fixture.model, &session, &fixture.session));
  ruda_event stale = NULL;
  OK(ruda_event_create(fixture.context, &stale));
  OK(ruda_release(stale));
  fixture.stale = stale;
  fixture.foreign = fixture.cancel;
  fixture.crooked = (char*)(void*)fixture.tensor + 4;
  static _Alignas(64) unsigned char zeros[256];
  fixture.zeros = zeros;
  return 0;
}

/* A test may have ended the life of an object (ruda_release of a tensor); make it anew. */
static inline int fixture_renew(void** state) {
  (void)state;
  static const int64_t shape[2] = {4, 8};
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  if (ruda_tensor_get_desc(fixture.tensor, &desc) != RUDA_OK)
    fixture.tensor = new_counting(fixture.context, fixture.stream, 2, shape);
  fixture.crooked = (char*)(void*)fixture.tensor + 4;
  ruda_cancel_reset(fixture.cancel);
  return 0;
}

static inline int fixture_close(void** state) {
  (void)state;
  OK(ruda_context_trim(fixture.context));
  return 0;
}

/* ---- hostile calls ---- */

#define BEGIN(name) fixture.function = name
#define RUN(text) fixture.attempt = text

static inline void fixture_check(const char* file, int line, ruda_status status, int refused) {
  fixture.last = status;
  const char* name = ruda_status_name(status);
  const int known = strcmp(name, "RUDA_E_UNKNOWN") != 0;
  if (known && (!refused || status / 1000 >= 1) && status != RUDA_E_INTERNAL) {
    if (status < 1000) return;
    ruda_error_info info = RUDA_ERROR_INFO_INIT;
    ruda_last_error(&info);
    if (info.status == status && strcmp(info.function, fixture.function) == 0 && info.message[0]) return;
    print_error("%s (%s): gave %s, the record says %s of %s: %s\n", fixture.function, fixture.attempt, name,
                ruda_status_name(info.status), info.function, info.message);
    _fail(file, line);
  }
  print_error("%s (%s): gave %s (%d)\n", fixture.function, fixture.attempt, name, (int)status);
  _fail(file, line);
}

/* ruda_last_error reports its own misuse by the status alone. */
#define REFUSED(call) FIXTURE_RULE(call, 1)
#define ANY(call) FIXTURE_RULE(call, 0)
#define FIXTURE_RULE(call, refused)                               \
  do {                                                            \
    const ruda_status fixture_status = (call);                    \
    if (strcmp(fixture.function, "ruda_last_error") == 0)         \
      fixture.last = RUDA_OK;                                     \
    else                                                          \
      fixture_check(__FILE__, __LINE__, fixture_status, refused); \
  } while (0)

/* After a failure every out parameter reads NULL or 0: the mark that stood there is gone. */
static inline void fixture_cleared(const char* file, int line, int index, const char* name) {
  static const unsigned char marked[4] = {0xA5, 0xA5, 0xA5, 0xA5};
  if (fixture.last < 1000 || memcmp(fixture_outs[index], marked, sizeof marked) != 0) return;
  print_error("%s (%s): failed and left %s as it was: %s\n", fixture.function, fixture.attempt, name,
              expect_message());
  _fail(file, line);
}
#define CLEARED(index, name) fixture_cleared(__FILE__, __LINE__, index, name)

/* An exported tensor ends by the function that it carries, `deleter_at` bytes from its start. */
static inline void fixture_drop_export(int index, size_t deleter_at) {
  unsigned char* exported = NULL;
  void (*deleter)(void*) = NULL;
  memcpy(&exported, fixture_outs[index], sizeof exported);
  if (fixture.last != RUDA_OK || !exported) return;
  memcpy(&deleter, exported + deleter_at, sizeof deleter);
  if (deleter) deleter(exported);
}

/* ---- growth ---- */

typedef ruda_status (*fixture_call)(void* given);

/* `size` bytes that end where the next page is not there, so that one byte too far is a crash. */
static inline unsigned char* at_page_end(size_t size) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size + page - 1) / page;
  unsigned char* map =
      mmap(NULL, (pages + 1) * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  assert_true(map != MAP_FAILED);
  assert_int_equal(mprotect(map + pages * page, page, PROT_NONE), 0);
  unsigned char* data = map + pages * page - size;
  memset(data, 0, size);
  return data;
}

static inline void drop_pages(unsigned char* data, size_t size) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size + page - 1) / page;
  munmap(data + size - pages * page, (pages + 1) * page);
}

static inline ruda_status with_size(fixture_call call, size_t size, size_t struct_size, size_t mark) {
  const size_t room = size < 8 ? 8 : size;
  unsigned char* data = at_page_end(room);
  const uint32_t number = (uint32_t)struct_size;
  memcpy(data, &number, sizeof number);
  if (mark) data[mark] = 1;
  const ruda_status status = call(data);
  drop_pages(data, room);
  return status;
}

/* An input struct: what this library does not know must be zero, what the caller leaves out is zero. */
static inline void grows_in(const char* function, const char* name, size_t size, int arg, fixture_call call) {
  const ruda_status zero = with_size(call, size, size, 0);
  char text[64];
  snprintf(text, sizeof text, "struct_size is 0");
  if (strcmp(function, "ruda_last_error") == 0) return;
  FAILS(with_size(call, size, 0, 0), RUDA_E_ARGUMENT, arg, text);
  FAILS(with_size(call, size, 7, 0), RUDA_E_ARGUMENT, arg, "struct_size is 7");
  FAILS(with_size(call, size, size - 4, 0), RUDA_E_ARGUMENT, arg, "struct_size is ");
  FAILS(with_size(call, size + 8, size + 4, 0), RUDA_E_ARGUMENT, arg, "struct_size is ");
  FAILS(with_size(call, 4104, 4104, 0), RUDA_E_ARGUMENT, arg, "struct_size is 4104");
  FAILS(with_size(call, size + 16, size + 16, size + 15), RUDA_E_STRUCT_TOO_NEW, arg,
        "is set, this library knows");
  FAILS(with_size(call, size + 16, size + 16, size), RUDA_E_STRUCT_TOO_NEW, arg,
        "is set, this library knows");
  const ruda_status larger = with_size(call, size + 16, size + 16, 0);
  const ruda_status largest = with_size(call, 4096, 4096, 0);
  const ruda_status smallest = with_size(call, 8, 8, 0);
  if (larger != zero || largest != zero || smallest != zero) {
    print_error("%s with %s of zeros: %s; larger: %s, largest: %s, smallest: %s\n", function, name,
                ruda_status_name(zero), ruda_status_name(larger), ruda_status_name(largest),
                ruda_status_name(smallest));
    fail();
  }
}

/* A struct that another one points to: any refusal will do, as long as nothing is read beyond it. */
static inline void survives_in(const char* function, const char* name, size_t size, int arg,
                               fixture_call call) {
  (void)function, (void)name, (void)arg;
  assert_true(with_size(call, size, 0, 0) >= 1000);
  assert_true(with_size(call, size, 7, 0) >= 1000);
  assert_true(with_size(call, size, size - 4, 0) >= 1000);
  assert_true(with_size(call, 4104, 4104, 0) >= 1000);
  assert_true(with_size(call, size + 16, size + 16, size + 15) >= 1000);
  const ruda_status zero = with_size(call, size, size, 0);
  assert_int_equal(with_size(call, size + 16, size + 16, 0), zero);
  assert_int_equal(with_size(call, 8, 8, 0), zero);
}

/* An output struct: written up to its size and never beyond. */
static inline void grows_out(const char* function, const char* name, size_t size, int arg,
                             fixture_call call) {
  (void)name;
  const ruda_status status = with_size(call, size, size, 0);
  if (status != RUDA_OK) {
    /* The fixture has no object that this call describes. */
    assert_true(status >= 1000);
    print_message("%s: not reached (%s)\n", function, ruda_status_name(status));
    return;
  }
  const int recorded = strcmp(function, "ruda_last_error") != 0;
  assert_int_equal(with_size(call, size, 0, 0), RUDA_E_ARGUMENT);
  assert_int_equal(with_size(call, size, 7, 0), RUDA_E_ARGUMENT);
  assert_int_equal(with_size(call, size, size - 4, 0), RUDA_E_ARGUMENT);
  if (recorded) FAILS(with_size(call, size, 4, 0), RUDA_E_ARGUMENT, arg, "struct_size is 4");
  for (size_t given = 8; given <= size + 24; given += 8) {
    unsigned char* data = at_page_end(given);
    memset(data, 0xA5, given);
    const uint32_t number = (uint32_t)given;
    memcpy(data, &number, sizeof number);
    OK(call(data));
    uint32_t kept;
    memcpy(&kept, data, sizeof kept);
    assert_int_equal(kept, given);
    for (size_t i = size; i < given; ++i) assert_int_equal(data[i], 0xA5);
    drop_pages(data, given);
  }
}

#endif
