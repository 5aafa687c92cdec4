// src/store/text.cpp - quoting of hostile bytes.
// SPDX-License-Identifier: Apache-2.0
#include "store/text.hpp"

#include <cstddef>

namespace ruda::store {

std::string quoted(std::string_view bytes) {
  constexpr size_t shown_bytes = 80;
  constexpr char digits[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : bytes.substr(0, shown_bytes)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 32 || byte > 126 || byte == '"' || byte == '\\') {
      out += "\\x";
      out += digits[byte >> 4];
      out += digits[byte & 15];
    } else {
      out += c;
    }
  }
  out += bytes.size() > shown_bytes ? "\"..." : "\"";
  return out;
}

}  // namespace ruda::store
