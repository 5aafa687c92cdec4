// src/core/text.hpp - makes hostile bytes fit to stand in a message or a log line.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace ruda {

// Copies as one line of valid UTF-8 that ends with a NUL: printable characters stay, line breaks become
// blanks, other control characters, marks of writing direction and stray bytes \xNN. What does not fit the
// `capacity` is left out, whole characters only. Gives the bytes before the NUL.
size_t copy_escaped(std::string_view from, char* to, size_t capacity) noexcept;

// In double quotes, at most 80 bytes and then "...": as copy_escaped does, but line breaks, quotes and
// backslashes are \xNN too.
std::string in_quotes(std::string_view bytes);

}  // namespace ruda
