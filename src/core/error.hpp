// src/core/error.hpp - the exception of the library, the thread's error record, and the guard at the C edge.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <ruda/base.h>

#include <exception>
#include <new>
#include <string>
#include <utility>

namespace ruda {

// Thrown inside the library only; guard() turns it into a status and the thread's error record.
struct Error : std::exception {
  ruda_status status = RUDA_E_INTERNAL;
  int arg = -1;
  int native_code = 0;
  const char* native_library = "";
  std::string text;
  const char* what() const noexcept override { return text.c_str(); }
};

// `arg` is the zero-based index of the argument at fault, -1 for none.
[[noreturn]] __attribute__((format(printf, 3, 4))) void fail(ruda_status status, int arg, const char* format,
                                                             ...);
[[noreturn]] __attribute__((format(printf, 4, 5))) void fail_native(ruda_status status, const char* library,
                                                                    int code, const char* format, ...);

#define RUDA_CHECK(condition, status, arg, ...) \
  do {                                          \
    if (!(condition)) [[unlikely]]              \
      ::ruda::fail(status, arg, __VA_ARGS__);   \
  } while (0)

__attribute__((format(printf, 1, 2))) std::string format(const char* format, ...);

// Writes the calling thread's error record; returns `status`.
ruda_status record(const char* function, const Error& error) noexcept;
ruda_status record(const char* function, ruda_status status, int arg, const char* text) noexcept;
ruda_status record_current(const char* function) noexcept;  // inside a catch block
const char* status_name(ruda_status status) noexcept;

// The only try/catch of the library: runs `body`, which returns void or a status.
template <class Body>
ruda_status guard(const char* function, Body&& body) noexcept {
  try {
    if constexpr (std::is_void_v<decltype(body())>) {
      body();
      return RUDA_OK;
    } else {
      return body();
    }
  } catch (...) {
    return record_current(function);
  }
}

}  // namespace ruda
