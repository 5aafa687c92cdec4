// src/core/struct_in.hpp - copies growing structs in and out: old callers, new callers, hostile sizes.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/error.hpp"

#include <cstring>

namespace ruda {

// More extensions than this are a list that leads in a circle, or garbage.
constexpr int most_extensions = 32;

// A private copy of the caller's struct: missing tail zero; unknown tail and `reserved` must be zero, unknown
// extensions are refused. Every struct is a multiple of 8 in every version, so no field is cut in two.
template <class T>
T struct_in(const T* given, int arg, const char* name) {
  static_assert(sizeof(T) % 8 == 0);
  RUDA_CHECK(given, RUDA_E_NULL, arg, "%s is NULL", name);
  const uint32_t size = given->struct_size;
  RUDA_CHECK(size >= 8 && size <= 4096 && size % 8 == 0, RUDA_E_ARGUMENT, arg,
             "%s.struct_size is %u, expected sizeof, which is %zu in this library", name, size, sizeof(T));
  T copy;
  if (size >= sizeof(T)) [[likely]] {
    std::memcpy(static_cast<void*>(&copy), given, sizeof(T));
  } else {
    std::memset(static_cast<void*>(&copy), 0, sizeof copy);
    std::memcpy(static_cast<void*>(&copy), given, size);
  }
  const auto* bytes = reinterpret_cast<const unsigned char*>(given);
  for (uint32_t i = sizeof(T); i < size; ++i)
    RUDA_CHECK(!bytes[i], RUDA_E_STRUCT_TOO_NEW, arg, "%s: byte %u is set, this library knows %zu bytes",
               name, i, sizeof(T));
  if constexpr (requires { copy.next; }) {
    int count = 0;
    for (const ruda_ext* ext = copy.next; ext; ext = ext->next) {
      RUDA_CHECK(++count <= most_extensions, RUDA_E_ARGUMENT, arg,
                 "%s.next: the list has more than %d extensions, or leads in a circle", name,
                 most_extensions);
      RUDA_CHECK(ext->flags & 1, RUDA_E_STRUCT_TOO_NEW, arg, "%s: extension type %u is not known", name,
                 ext->type);
    }
  }
  if constexpr (requires { copy.reserved; })
    RUDA_CHECK(copy.reserved == 0, RUDA_E_ARGUMENT, arg, "%s.reserved is %u, expected 0", name,
               copy.reserved);
  return copy;
}

// Fills the caller's output struct up to its size, keeping struct_size.
template <class T>
void struct_out(T* inout, T value, int arg, const char* name) {
  RUDA_CHECK(inout, RUDA_E_NULL, arg, "%s is NULL", name);
  const uint32_t size = inout->struct_size;
  RUDA_CHECK(size >= 8 && size % 8 == 0, RUDA_E_ARGUMENT, arg,
             "%s.struct_size is %u, expected sizeof, which is %zu in this library", name, size, sizeof(T));
  value.struct_size = size;
  std::memcpy(static_cast<void*>(inout), &value, size < sizeof(T) ? size : sizeof(T));
}

// The text-out rule of the API: at most `capacity` bytes with the NUL, *out_needed is what all of it takes.
inline void text_out(const std::string& text, char* buffer, uint64_t capacity, uint64_t* out_needed,
                     int arg) {
  RUDA_CHECK(buffer || !capacity, RUDA_E_NULL, arg, "text is NULL with capacity %llu",
             (unsigned long long)capacity);
  if (out_needed) *out_needed = text.size() + 1;
  if (!capacity) return;
  const uint64_t n = text.size() < capacity - 1 ? text.size() : capacity - 1;
  std::memcpy(buffer, text.data(), n);
  buffer[n] = 0;
}

}  // namespace ruda
