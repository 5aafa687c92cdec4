// src/core/error.cpp - builds errors from formats and keeps one record a thread.
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"

#include "core/text.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace ruda {
namespace {

constexpr size_t text_capacity = 1024;

// Fixed storage: recording a failure must not allocate, since memory may be what ran out.
struct Record {
  ruda_status status = RUDA_OK;
  int arg = -1;
  int native_code = 0;
  const char* native_library = "";
  const char* function = "";
  char text[text_capacity] = "";
};

thread_local Record thread_record;

std::string vformat(const char* format, va_list list) {
  char buffer[text_capacity];
  const int n = std::vsnprintf(buffer, sizeof buffer, format, list);
  std::string text(buffer, n < 0 ? 0 : std::min<size_t>(size_t(n), sizeof buffer - 1));
  for (char& c : text)
    if (c == '\n' || c == '\r') c = ' ';
  return text;
}

}  // namespace

std::string format(const char* format, ...) {
  va_list list;
  va_start(list, format);
  std::string text = vformat(format, list);
  va_end(list);
  return text;
}

void fail(ruda_status status, int arg, const char* format, ...) {
  Error error;
  error.status = status;
  error.arg = arg;
  va_list list;
  va_start(list, format);
  error.text = vformat(format, list);
  va_end(list);
  throw error;
}

void fail_native(ruda_status status, const char* library, int code, const char* format, ...) {
  Error error;
  error.status = status;
  error.native_code = code;
  error.native_library = library;
  va_list list;
  va_start(list, format);
  error.text = vformat(format, list);
  va_end(list);
  throw error;
}

ruda_status record(const char* function, const Error& error) noexcept {
  record(function, error.status, error.arg, error.text.c_str());
  thread_record.native_code = error.native_code;
  thread_record.native_library = error.native_library;
  return error.status;
}

ruda_status record(const char* function, ruda_status status, int arg, const char* text) noexcept {
  Record& r = thread_record;
  r.status = status;
  r.arg = arg;
  r.native_code = 0;
  r.native_library = "";
  r.function = function;
  copy_escaped(text, r.text, sizeof r.text);
  return status;
}

ruda_status record_current(const char* function) noexcept {
  try {
    throw;
  } catch (const Error& error) {
    return record(function, error);
  } catch (const std::bad_alloc&) {
    return record(function, RUDA_E_OOM_HOST, -1, "out of host memory");
  } catch (const std::exception& error) {
    return record(function, RUDA_E_INTERNAL, -1, error.what());
  } catch (...) {
    return record(function, RUDA_E_INTERNAL, -1, "unknown exception");
  }
}

const char* status_name(ruda_status status) noexcept {
  struct Name {
    ruda_status status;
    const char* name;
  };
#define RUDA_NAME(code) \
  { code, #code }
  static constexpr Name names[] = {RUDA_NAME(RUDA_OK),
                                   RUDA_NAME(RUDA_END_OF_DATA),
                                   RUDA_NAME(RUDA_PENDING),
                                   RUDA_NAME(RUDA_E_ARGUMENT),
                                   RUDA_NAME(RUDA_E_NULL),
                                   RUDA_NAME(RUDA_E_SHAPE),
                                   RUDA_NAME(RUDA_E_DTYPE),
                                   RUDA_NAME(RUDA_E_BAD_HANDLE),
                                   RUDA_NAME(RUDA_E_STRUCT_TOO_NEW),
                                   RUDA_NAME(RUDA_E_OVERLAP),
                                   RUDA_NAME(RUDA_E_INDEX),
                                   RUDA_NAME(RUDA_E_STATE),
                                   RUDA_NAME(RUDA_E_ROWS),
                                   RUDA_NAME(RUDA_E_NF4),
                                   RUDA_NAME(RUDA_E_AWQ),
                                   RUDA_NAME(RUDA_E_UNSUPPORTED),
                                   RUDA_NAME(RUDA_E_BACKEND_MISSING),
                                   RUDA_NAME(RUDA_E_NOT_BUILT),
                                   RUDA_NAME(RUDA_E_OOM_HOST),
                                   RUDA_NAME(RUDA_E_OOM_DEVICE),
                                   RUDA_NAME(RUDA_E_BUDGET),
                                   RUDA_NAME(RUDA_E_WORKSPACE),
                                   RUDA_NAME(RUDA_E_DEVICE),
                                   RUDA_NAME(RUDA_E_STREAM_POISONED),
                                   RUDA_NAME(RUDA_E_CAPTURE_UNSAFE),
                                   RUDA_NAME(RUDA_E_WRONG_STREAM),
                                   RUDA_NAME(RUDA_E_IO),
                                   RUDA_NAME(RUDA_E_FORMAT),
                                   RUDA_NAME(RUDA_E_NOT_FOUND),
                                   RUDA_NAME(RUDA_E_COMM),
                                   RUDA_NAME(RUDA_E_COMM_ABORTED),
                                   RUDA_NAME(RUDA_E_CANCELLED),
                                   RUDA_NAME(RUDA_E_TIMEOUT),
                                   RUDA_NAME(RUDA_E_CALLBACK),
                                   RUDA_NAME(RUDA_E_INTERNAL)};
#undef RUDA_NAME
  for (const Name& entry : names)
    if (entry.status == status) return entry.name;
  return "RUDA_E_UNKNOWN";
}

}  // namespace ruda

extern "C" ruda_status ruda_last_error(ruda_error_info* inout) noexcept {
  if (!inout) return RUDA_E_NULL;
  const uint32_t size = inout->struct_size;
  if (size < 8 || size % 8) return RUDA_E_ARGUMENT;
  const ruda::Record& r = ruda::thread_record;
  const ruda_error_info info{size, r.status, r.arg, r.native_code, r.native_library, r.function, r.text};
  std::memcpy(inout, &info, size < sizeof info ? size : sizeof info);
  return RUDA_OK;
}

extern "C" const char* ruda_status_name(ruda_status status) noexcept { return ruda::status_name(status); }
