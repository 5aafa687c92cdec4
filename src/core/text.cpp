// src/core/text.cpp - escaping and quoting of hostile bytes.
// SPDX-License-Identifier: Apache-2.0
#include "core/text.hpp"

#include <cstring>

namespace ruda {
namespace {

constexpr char digits[] = "0123456789abcdef";

// Bytes of the UTF-8 character that `text` begins with; 0 when there is none.
size_t character_bytes(std::string_view text) noexcept {
  const auto byte = [&](size_t i) { return unsigned(static_cast<unsigned char>(text[i])); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const size_t size = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < size) return 0;
  // no overlong forms, surrogates, or codes above 0x10FFFF
  const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
  if (byte(1) < low || byte(1) > high) return 0;
  for (size_t i = 2; i < size; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  return size;
}

// Characters that would change how the rest of a line is shown: controls, separators of lines and paragraphs,
// marks of writing direction (U+061C, U+200E and F, U+2028 to E, U+2066 to 9).
bool is_control(std::string_view character) noexcept {
  const auto byte = [&](size_t i) { return unsigned(static_cast<unsigned char>(character[i])); };
  if (character.size() == 1) return byte(0) < 0x20 || byte(0) == 0x7F;
  if (character.size() == 2)
    return (byte(0) == 0xC2 && byte(1) < 0xA0) || (byte(0) == 0xD8 && byte(1) == 0x9C);
  if (character.size() != 3 || byte(0) != 0xE2) return false;
  return (byte(1) == 0x80 && (byte(2) == 0x8E || byte(2) == 0x8F || (byte(2) >= 0xA8 && byte(2) <= 0xAE))) ||
         (byte(1) == 0x81 && byte(2) >= 0xA6 && byte(2) <= 0xA9);
}

// Hands the text to `put` in pieces, each a character that stays or bytes to escape, up to a refusal.
template <class Put>
void each_piece(std::string_view text, Put&& put) {
  while (!text.empty()) {
    const size_t taken = character_bytes(text);
    const std::string_view piece = text.substr(0, taken ? taken : 1);
    if (!put(piece, !taken || is_control(piece))) return;
    text.remove_prefix(piece.size());
  }
}

char* escape(char byte, char* to) noexcept {
  *to++ = '\\';
  *to++ = 'x';
  *to++ = digits[static_cast<unsigned char>(byte) >> 4];
  *to++ = digits[byte & 15];
  return to;
}

}  // namespace

size_t copy_escaped(std::string_view from, char* to, size_t capacity) noexcept {
  char* const begin = to;
  const char* const end = to + capacity - 1;
  each_piece(from, [&](std::string_view piece, bool escaped) {
    const bool blank = piece[0] == '\n' || piece[0] == '\r';
    const size_t size = escaped && !blank ? 4 * piece.size() : piece.size();
    if (size > size_t(end - to)) return false;
    if (blank) {
      *to++ = ' ';
    } else if (escaped) {
      for (const char byte : piece) to = escape(byte, to);
    } else {
      std::memcpy(to, piece.data(), size);
      to += size;
    }
    return true;
  });
  *to = 0;
  return size_t(to - begin);
}

std::string in_quotes(std::string_view bytes) {
  constexpr size_t shown_bytes = 80;
  std::string out = "\"";
  size_t shown = 0;
  each_piece(bytes, [&](std::string_view piece, bool escaped) {
    if (shown + piece.size() > shown_bytes) return false;
    shown += piece.size();
    if (escaped || piece == "\"" || piece == "\\") {
      char escapes[16];
      for (const char byte : piece) out.append(escapes, escape(byte, escapes));
    } else {
      out += piece;
    }
    return true;
  });
  out += shown < bytes.size() ? "\"..." : "\"";
  return out;
}

}  // namespace ruda
