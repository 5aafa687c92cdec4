// src/store/desc.hpp - reads and fills the public structs that grow: struct_size rules in one place.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/error.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

namespace ruda::store {

// A full copy of the caller's descriptor; fields its struct does not have are those of `defaults`.
template <class T>
T copy_in(const T* desc, const T& defaults, int arg) {
  T out = defaults;
  if (!desc) return out;
  const uint32_t size = desc->struct_size;
  RUDA_CHECK(size >= 8, RUDA_E_ARGUMENT, arg, "struct_size is %u, expected at least 8", size);
  std::memcpy(static_cast<void*>(&out), desc, std::min<size_t>(size, sizeof out));
  out.struct_size = sizeof out;
  const auto* bytes = reinterpret_cast<const unsigned char*>(desc);
  for (size_t i = sizeof out; i < size; ++i)
    RUDA_CHECK(bytes[i] == 0, RUDA_E_STRUCT_TOO_NEW, arg,
               "struct_size is %u, this library knows %zu, and byte %zu is set", size, sizeof out, i);
  return out;
}

// No extension is known to the callers: only those that may be skipped pass.
inline void refuse_extensions(const ruda_ext* ext, int arg) {
  for (; ext; ext = ext->next)
    RUDA_CHECK(ext->flags & 1, RUDA_E_STRUCT_TOO_NEW, arg, "next has extension type %u, none is known",
               ext->type);
}

template <class T>
void check_out(const T* inout, int arg) {
  RUDA_CHECK(inout, RUDA_E_NULL, arg, "inout is NULL");
  RUDA_CHECK(inout->struct_size >= 8, RUDA_E_ARGUMENT, arg, "struct_size is %u, expected at least 8",
             inout->struct_size);
}

// Fills as much of the caller's struct as it has.
template <class T>
void copy_out(T value, T* inout) {
  const uint32_t size = inout->struct_size;
  value.struct_size = size;
  std::memcpy(static_cast<void*>(inout), &value, std::min<size_t>(size, sizeof value));
}

// Text into a buffer: at most `capacity` bytes with the ending NUL; *out_needed counts the whole text with
// its NUL.
inline void copy_text(std::string_view value, char* text, uint64_t capacity, uint64_t* out_needed) {
  if (out_needed) *out_needed = value.size() + 1;
  if (capacity == 0) return;
  const size_t bytes = std::min<uint64_t>(value.size(), capacity - 1);
  std::memcpy(text, value.data(), bytes);
  text[bytes] = 0;
}

}  // namespace ruda::store
