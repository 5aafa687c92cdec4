/* bindings/common/helpers.h - flat functions over the C API: no language sees the layout of a struct. */
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Included once by each generated wrapper. Rules: parameters are handles, numbers, text with an ending NUL,
 * byte ranges and arrays of int64; outputs are handles, numbers, and text by the rule of ruda_backend_report.
 */
#ifndef RUDA_BINDINGS_HELPERS_H
#define RUDA_BINDINGS_HELPERS_H

#include "ruda/ruda.h"

#include <limits.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GNUC__)
#define RUDAX_UNUSED __attribute__((unused))
#define RUDAX_PRINTF __attribute__((format(printf, 2, 3)))
#else
#define RUDAX_UNUSED
#define RUDAX_PRINTF
#endif

/* ---- errors ---- */

/* A fault that a helper itself found. It hides the library's record until it is read, which the wrapper does
 * at once. */
static _Thread_local struct {
  ruda_status status;
  char message[1280]; /* room for a quoted text and the names of the largest enumeration */
} rudax_fault;

RUDAX_PRINTF static ruda_status rudax_fail(ruda_status status, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(rudax_fault.message, sizeof rudax_fault.message, format, arguments);
  va_end(arguments);
  return rudax_fault.status = status;
}

/* A text of the caller as the messages of the library quote it: at most 80 bytes, whole characters, then
 * "..."; what is not printable as \xNN. */
typedef struct {
  char text[328];
} rudax_quoted;

/* Bytes of the printable UTF-8 character at `at`; 0 when there is none. */
static size_t rudax_printable(const char* at, size_t left) {
  unsigned b[4] = {0, 0, 0, 0};
  for (size_t i = 0; i < 4 && i < left; ++i) b[i] = (unsigned char)at[i];
  if (b[0] < 0x80) return b[0] >= 0x20 && b[0] != 0x7F && b[0] != '"' && b[0] != '\\';
  if (b[0] < 0xC2 || b[0] > 0xF4) return 0;
  const unsigned low = b[0] == 0xE0 ? 0xA0 : b[0] == 0xF0 ? 0x90 : b[0] == 0xC2 ? 0xA0 : 0x80;
  const unsigned high = b[0] == 0xED ? 0x9F : b[0] == 0xF4 ? 0x8F : 0xBF;
  const size_t size = b[0] < 0xE0 ? 2 : b[0] < 0xF0 ? 3 : 4;
  if (b[1] < low || b[1] > high) return 0;
  for (size_t i = 2; i < size; ++i)
    if ((b[i] & 0xC0) != 0x80) return 0;
  if (b[0] == 0xD8 && b[1] == 0x9C) return 0;
  if (b[0] == 0xE2 && b[1] == 0x80 && (b[2] == 0x8E || b[2] == 0x8F || (b[2] >= 0xA8 && b[2] <= 0xAE)))
    return 0;
  return b[0] == 0xE2 && b[1] == 0x81 && b[2] >= 0xA6 && b[2] <= 0xA9 ? 0 : size;
}

/* Of a text of `bytes` bytes, of which `text` has all or the first 84. */
static rudax_quoted rudax_quote(const char* text, size_t bytes) {
  static const char digits[] = "0123456789abcdef";
  rudax_quoted made;
  size_t shown = 0;
  char* to = made.text;
  *to++ = '"';
  while (shown < bytes) {
    const size_t left = bytes - shown, size = rudax_printable(text + shown, left < 4 ? left : 4);
    if (shown + (size ? size : 1) > 80) break;
    if (size) {
      memcpy(to, text + shown, size);
      to += size;
    } else {
      *to++ = '\\';
      *to++ = 'x';
      *to++ = digits[(unsigned char)text[shown] >> 4];
      *to++ = digits[text[shown] & 15];
    }
    shown += size ? size : 1;
  }
  memcpy(to, shown < bytes ? "\"..." : "\"", shown < bytes ? 5 : 2);
  return made;
}

/* A message of the library about a field of a struct, of which no caller here knows: "desc.pages is 0",
 * "matmul: desc.options.math is 9" and "sampling.top_p is 2" lose the words before the name of the
 * parameter. */
static const char* rudax_parameter_message(const char* message) {
  if (message == rudax_fault.message) return message; /* of a helper, which names parameters */
  const size_t word = strspn(message, "abcdefghijklmnopqrstuvwxyz0123456789_");
  const size_t head = message[word] == ':' && message[word + 1] == ' ' ? word + 2 : 0;
  static const char* const structs[] = {"desc.", "options.", "sampling."};
  const char* name = message + head;
  for (size_t i = 0; i < sizeof structs / sizeof *structs; ++i)
    if (!strncmp(name, structs[i], strlen(structs[i]))) name += strlen(structs[i]);
  if (name == message + head) return message;
  snprintf(rudax_fault.message, sizeof rudax_fault.message, "%.*s%s", (int)head, message, name);
  return rudax_fault.message;
}

/* What went wrong in the call that just returned `status` on this thread. */
static ruda_error_info rudax_error(ruda_status status) {
  ruda_error_info info = RUDA_ERROR_INFO_INIT;
  if (rudax_fault.status == status) {
    info.status = status;
    info.message = rudax_fault.message;
    info.function = info.native_library = "";
  } else {
    ruda_last_error(&info);
  }
  rudax_fault.status = RUDA_OK;
  info.message = info.message ? rudax_parameter_message(info.message) : "";
  if (!info.function) info.function = "";
  if (!info.native_library) info.native_library = "";
  return info;
}

static ruda_status rudax_text(const char* from, char* text, uint64_t capacity, uint64_t* out_needed) {
  const uint64_t bytes = strlen(from ? from : "") + 1;
  *out_needed = bytes;
  if (capacity) {
    const uint64_t kept = bytes <= capacity ? bytes - 1 : capacity - 1;
    memcpy(text, from ? from : "", kept);
    text[kept] = 0;
  }
  return RUDA_OK;
}

/* Number `what` of `values`, all of 8 bytes; `noun` is what has them. */
static ruda_status rudax_property(const char* noun, const void* values, uint64_t bytes, uint32_t what,
                                  void* out) {
  if (what >= bytes / 8) return rudax_fail(RUDA_E_ARGUMENT, "%s has no property %u", noun, what);
  memcpy(out, (const char*)values + 8 * (uint64_t)what, 8);
  return RUDA_OK;
}

RUDAX_UNUSED static ruda_status rudax_version(char* text, uint64_t capacity, uint64_t* out_needed) {
  return rudax_text(ruda_version(), text, capacity, out_needed);
}

/* ---- contexts and streams ---- */

RUDAX_UNUSED static ruda_status rudax_context_create(uint32_t backend, int32_t device, uint32_t host_threads,
                                                     uint32_t log_level, uint32_t plan_cache_capacity,
                                                     uint64_t memory_limit_bytes, ruda_context* out) {
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = backend;
  desc.device = device;
  desc.host_threads = host_threads;
  desc.log_level = log_level;
  desc.plan_cache_capacity = plan_cache_capacity;
  desc.memory_limit_bytes = memory_limit_bytes;
  return ruda_context_create(&desc, out);
}

/* 0 backend, 1 device, 2 host threads, 3 allocated, 4 cached, 5 peak bytes */
RUDAX_UNUSED static ruda_status rudax_context_get(ruda_context context, uint32_t what, uint64_t* out) {
  ruda_context_info info;
  memset(&info, 0, sizeof info);
  info.struct_size = (uint32_t)sizeof info;
  *out = 0;
  const ruda_status status = ruda_context_get_info(context, &info);
  if (status) return status;
  const uint64_t values[] = {info.backend,         (uint64_t)info.device, info.host_threads,
                             info.allocated_bytes, info.cached_bytes,     info.peak_bytes};
  return rudax_property("a context", values, sizeof values, what, out);
}

RUDAX_UNUSED static ruda_status rudax_context_device_name(ruda_context context, char* text, uint64_t capacity,
                                                          uint64_t* out_needed) {
  ruda_context_info info;
  memset(&info, 0, sizeof info);
  info.struct_size = (uint32_t)sizeof info;
  *out_needed = 0;
  const ruda_status status = ruda_context_get_info(context, &info);
  return status ? status : rudax_text(info.device_name, text, capacity, out_needed);
}

RUDAX_UNUSED static ruda_status rudax_log_level(ruda_context context, uint32_t level) {
  return ruda_log_set(context, NULL, NULL, level);
}

/* 1 in *out when all submitted work is done */
RUDAX_UNUSED static ruda_status rudax_stream_done(ruda_stream stream, uint32_t* out) {
  const ruda_status status = ruda_stream_query(stream);
  *out = status == RUDA_OK;
  return status == RUDA_PENDING ? RUDA_OK : status;
}

/* ---- tensors ---- */

RUDAX_UNUSED static ruda_status rudax_tensor_create(ruda_context context, uint32_t dtype,
                                                    const int64_t* shape, uint32_t rank, ruda_tensor* out) {
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  desc.dtype = dtype;
  desc.rank = rank;
  desc.shape = shape;
  return ruda_tensor_create(context, &desc, out);
}

/* Memory that a language lends to tensors. The last user may be gone on any thread, where no virtual machine
 * may be entered: the number of the loan is put on a list that the language empties when it comes by. */
typedef struct rudax_loan {
  int64_t number;
  struct rudax_loan* next;
} rudax_loan;
static _Atomic(rudax_loan*) rudax_returned;

static void RUDA_CALL rudax_give_back(void* user, void* data) {
  (void)data;
  rudax_loan* loan = (rudax_loan*)user;
  loan->next = atomic_load(&rudax_returned);
  while (!atomic_compare_exchange_weak(&rudax_returned, &loan->next, loan)) {
  }
}

RUDAX_UNUSED static ruda_status rudax_tensor_wrap(ruda_context context, uint32_t dtype, const int64_t* shape,
                                                  uint32_t rank, uint32_t flags, void* data, uint64_t bytes,
                                                  int64_t loan_number, ruda_tensor* out) {
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  *out = NULL;
  rudax_loan* loan = (rudax_loan*)malloc(sizeof *loan);
  if (!loan) return rudax_fail(RUDA_E_OOM_HOST, "no memory for a loan");
  loan->number = loan_number;
  loan->next = NULL;
  desc.dtype = dtype;
  desc.flags = flags;
  desc.rank = rank;
  desc.shape = shape;
  const ruda_status status = ruda_tensor_wrap(context, &desc, data, bytes, rudax_give_back, loan, out);
  if (status) free(loan);
  return status;
}

/* The number of one loan that came back, or -1. */
RUDAX_UNUSED static int64_t rudax_take_returned(void) {
  static atomic_flag busy = ATOMIC_FLAG_INIT; /* one taker at a time: the list may only be popped by one */
  int64_t number = -1;
  if (!atomic_load(&rudax_returned) || atomic_flag_test_and_set(&busy)) return -1;
  rudax_loan* loan = atomic_load(&rudax_returned);
  while (loan && !atomic_compare_exchange_weak(&rudax_returned, &loan, loan->next)) {
  }
  if (loan) {
    number = loan->number;
    free(loan);
  }
  atomic_flag_clear(&busy);
  return number;
}

/* dtype, flags, bytes of a contiguous copy, contiguous or not, rank, then shape and strides: 5 + 2 *
 * RUDA_MAX_RANK. */
RUDAX_UNUSED static ruda_status rudax_tensor_layout(ruda_tensor tensor, int64_t* layout) {
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT;
  uint64_t bytes = 0;
  ruda_bool contiguous = 0;
  ruda_status status = ruda_tensor_get_desc(tensor, &desc);
  if (!status) status = ruda_tensor_get_data(tensor, NULL, &bytes);
  if (!status) status = ruda_tensor_is_contiguous(tensor, &contiguous);
  if (status) return status;
  layout[0] = desc.dtype;
  layout[1] = desc.flags;
  layout[2] = (int64_t)bytes;
  layout[3] = contiguous;
  layout[4] = desc.rank;
  for (uint32_t i = 0; i < desc.rank && i < RUDA_MAX_RANK; ++i) {
    layout[5 + i] = desc.shape[i];
    layout[5 + RUDA_MAX_RANK + i] = desc.strides[i];
  }
  return RUDA_OK;
}

RUDAX_UNUSED static ruda_status rudax_tensor_permute(ruda_tensor tensor, const int64_t* shape, uint32_t rank,
                                                     ruda_tensor* out) {
  uint32_t axes[RUDA_MAX_RANK];
  *out = NULL;
  if (rank > RUDA_MAX_RANK)
    return rudax_fail(RUDA_E_SHAPE, "%u axes are given, at most %d exist", rank, RUDA_MAX_RANK);
  for (uint32_t i = 0; i < rank; ++i) {
    if (shape[i] < 0 || shape[i] >= RUDA_MAX_RANK)
      return rudax_fail(RUDA_E_SHAPE, "axes[%u] is %lld, expected 0 to %lld", i, (long long)shape[i],
                        (long long)rank - 1);
    axes[i] = (uint32_t)shape[i];
  }
  return ruda_tensor_permute(tensor, axes, rank, out);
}

/* `shape` holds rank begins, rank ends, rank steps. */
RUDAX_UNUSED static ruda_status rudax_tensor_slice(ruda_tensor tensor, const int64_t* shape, uint32_t rank,
                                                   ruda_tensor* out) {
  *out = NULL;
  if (rank % 3) return rudax_fail(RUDA_E_ARGUMENT, "%u bounds are given, expected three an axis", rank);
  return ruda_tensor_slice(tensor, shape, shape + rank / 3, shape + rank / 3 * 2, rank / 3, out);
}

RUDAX_UNUSED static ruda_status rudax_tensor_reshape(ruda_stream stream, ruda_tensor tensor,
                                                     const int64_t* shape, uint32_t rank, ruda_tensor* out) {
  return ruda_tensor_reshape(stream, tensor, shape, rank, NULL, out);
}

RUDAX_UNUSED static ruda_status rudax_dtype_get(uint32_t dtype, uint32_t* out_bits,
                                                uint32_t* out_block_elements, uint32_t* out_block_bytes) {
  ruda_dtype_info info;
  memset(&info, 0, sizeof info);
  info.struct_size = (uint32_t)sizeof info;
  const ruda_status status = ruda_dtype_get_info(dtype, &info);
  *out_bits = info.bits;
  *out_block_elements = info.block_elements;
  *out_block_bytes = info.block_bytes;
  return status;
}

/* ---- plans ---- */

/* 0 slots, 1 workspace bytes, 2 workspace alignment, 3 capturable, 4 deterministic */
RUDAX_UNUSED static ruda_status rudax_plan_get(ruda_plan plan, uint32_t what, uint64_t* out) {
  ruda_plan_info info = RUDA_PLAN_INFO_INIT;
  *out = 0;
  const ruda_status status = ruda_plan_query(plan, &info);
  if (status) return status;
  const uint64_t values[] = {info.slot_count, info.workspace_bytes, info.workspace_align, info.capturable,
                             info.deterministic};
  return rudax_property("a plan", values, sizeof values, what, out);
}

/* 0 operator, 1 kernel */
RUDAX_UNUSED static ruda_status rudax_plan_text(ruda_plan plan, uint32_t what, char* text, uint64_t capacity,
                                                uint64_t* out_needed) {
  ruda_plan_info info = RUDA_PLAN_INFO_INIT;
  *out_needed = 0;
  const ruda_status status = ruda_plan_query(plan, &info);
  return status ? status : rudax_text(what ? info.kernel : info.op, text, capacity, out_needed);
}

RUDAX_UNUSED static ruda_status rudax_plan_slot(ruda_plan plan, uint32_t slot, char* text, uint64_t capacity,
                                                uint64_t* out_needed, uint32_t* out_is_output) {
  const char* name = NULL;
  *out_needed = 0;
  const ruda_status status = ruda_plan_get_slot(plan, slot, &name, out_is_output);
  return status ? status : rudax_text(name, text, capacity, out_needed);
}

/* `values` holds three numbers a binding: slot, RUDA_BIND_*, and the handle, integer or bits of a double. */
RUDAX_UNUSED static ruda_status rudax_plan_execute(ruda_plan plan, ruda_stream stream,
                                                   ruda_workspace workspace, const int64_t* values,
                                                   uint32_t count, ruda_cancel cancel, uint64_t timeout_ns) {
  enum { most = 64 };
  ruda_binding bindings[most];
  ruda_exec_opts opts;
  memset(&opts, 0, sizeof opts);
  opts.struct_size = (uint32_t)sizeof opts;
  opts.cancel = cancel;
  opts.timeout_ns = timeout_ns;
  if (count % 3 || count / 3 > most)
    return rudax_fail(RUDA_E_ARGUMENT,
                      "%u numbers bind operands, expected three each and at most %d operands", count, most);
  for (uint32_t i = 0; i < count / 3; ++i) {
    bindings[i].slot = (uint32_t)values[3 * i];
    bindings[i].kind = (uint32_t)values[3 * i + 1];
    bindings[i].v.i64 = values[3 * i + 2];
    if (bindings[i].kind == RUDA_BIND_TENSOR || bindings[i].kind == RUDA_BIND_HANDLE)
      bindings[i].v.handle = (void*)(intptr_t)values[3 * i + 2];
  }
  return ruda_plan_execute(plan, stream, workspace, bindings, count / 3, &opts);
}

/* ---- paged schedules ---- */

RUDAX_UNUSED static ruda_status rudax_schedule_create(ruda_context context, uint32_t page_size,
                                                      uint32_t pages, uint32_t max_sequences,
                                                      uint32_t max_queries, uint32_t max_table_pages,
                                                      ruda_paged_schedule* out) {
  ruda_paged_schedule_desc desc = RUDA_PAGED_SCHEDULE_DESC_INIT;
  desc.page_size = page_size;
  desc.pages = pages;
  desc.max_sequences = max_sequences;
  desc.max_queries = max_queries;
  desc.max_table_pages = max_table_pages;
  return ruda_paged_schedule_create(context, &desc, out);
}

/* Says which number of a schedule is none: the place of `at` behind the three counts, and its value. */
static ruda_status rudax_schedule_fault(uint64_t at, int64_t value, uint64_t sequences, uint64_t table_pages,
                                        uint64_t queries) {
  const uint64_t cells = sequences * table_pages;
  const char* name = "lengths";
  if (at < cells)
    return rudax_fail(RUDA_E_INDEX, "tables[%llu][%llu] is %lld, expected -1 to 4294967295",
                      (unsigned long long)(at / table_pages), (unsigned long long)(at % table_pages),
                      (long long)value);
  at -= cells;
  if (at >= sequences) {
    at -= sequences;
    name = at < queries ? "sequence_ids" : "positions";
    at -= at < queries ? 0 : queries;
  }
  return rudax_fail(RUDA_E_INDEX, "%s[%llu] is %lld, expected 0 to 4294967295", name, (unsigned long long)at,
                    (long long)value);
}

/* `values` holds the counts of sequences, pages a table and queries, then the tables row by row (-1 = none),
 * the lengths, the sequence ids and the positions. */
RUDAX_UNUSED static ruda_status rudax_schedule_set(ruda_paged_schedule schedule, ruda_stream stream,
                                                   const int64_t* values, uint32_t count) {
  const uint64_t sequences = count < 3 || values[0] < 0 ? UINT64_MAX : (uint64_t)values[0];
  const uint64_t table_pages = count < 3 || values[1] < 0 ? UINT64_MAX : (uint64_t)values[1];
  const uint64_t queries = count < 3 || values[2] < 0 ? UINT64_MAX : (uint64_t)values[2];
  if (sequences > count || table_pages > count || queries > count ||
      3 + sequences * table_pages + sequences + 2 * queries != count)
    return rudax_fail(RUDA_E_ARGUMENT, "%u numbers do not hold the tables, lengths and queries announced",
                      count);
  uint32_t* words = (uint32_t*)malloc((size_t)count * sizeof *words);
  if (!words) return rudax_fail(RUDA_E_OOM_HOST, "no memory for %u numbers", count);
  for (uint32_t i = 3; i < count; ++i) {
    const int64_t least = i - 3 < sequences * table_pages ? -1 : 0;
    if (values[i] < least || values[i] > UINT32_MAX) {
      free(words);
      return rudax_schedule_fault(i - 3, values[i], sequences, table_pages, queries);
    }
    words[i] = values[i] < 0 ? RUDA_NO_PAGE : (uint32_t)values[i];
  }
  const uint32_t *tables = words + 3, *lengths = tables + sequences * table_pages, *ids = lengths + sequences,
                 *positions = ids + queries;
  const ruda_status status = ruda_paged_schedule_set(schedule, stream, tables, (uint32_t)table_pages, lengths,
                                                     (uint32_t)sequences, ids, positions, (uint32_t)queries);
  free(words);
  return status;
}

/* 0 page size, 1 pages, 2 most sequences, 3 most queries, 4 most pages a table, 5 sequences, 6 queries,
 * 7 generation */
RUDAX_UNUSED static ruda_status rudax_schedule_get(ruda_paged_schedule schedule, uint32_t what,
                                                   uint64_t* out) {
  ruda_paged_schedule_info info = RUDA_PAGED_SCHEDULE_INFO_INIT;
  *out = 0;
  const ruda_status status = ruda_paged_schedule_get_info(schedule, &info);
  if (status) return status;
  const uint64_t values[] = {info.page_size,       info.pages,     info.max_sequences, info.max_queries,
                             info.max_table_pages, info.sequences, info.queries,       info.generation};
  return rudax_property("a schedule", values, sizeof values, what, out);
}

RUDAX_UNUSED static ruda_status rudax_op_name(uint32_t index, char* text, uint64_t capacity,
                                              uint64_t* out_needed) {
  return rudax_text(ruda_op_name(index), text, capacity, out_needed);
}

#include "descriptor.h"
#include "session.h"
#endif
