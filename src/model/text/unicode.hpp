// src/model/text/unicode.hpp - UTF-8, classes of code points and case maps.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace ruda::text {

enum class CharClass : uint8_t {
  other = 0,
  upper_letter = 1,
  lower_letter = 2,
  title_letter = 3,
  modifier_letter = 4,
  other_letter = 5,
  mark = 6,
  number = 7,
  punctuation = 8,
  symbol = 9,
  space = 10,
};

CharClass char_class(uint32_t code);

inline bool is_letter(CharClass c) { return c >= CharClass::upper_letter && c <= CharClass::other_letter; }

constexpr uint32_t replacement_char = 0xFFFD;

// One step of a reader: `code` is the character at the front of `text` (not empty), `bytes` how many it
// takes. Bytes that are no UTF-8 come one at a time, valid = false and code = replacement_char.
struct Decoded {
  uint32_t code = 0;
  uint32_t bytes = 0;
  bool valid = false;
};
Decoded decode_utf8(std::string_view text);

// Surrogates and codes above 0x10FFFF are written as replacement_char.
void append_utf8(std::string& out, uint32_t code);

// Bytes at the end of `text` that are the beginning of a character and may still become one: 0 to 3.
size_t incomplete_tail(std::string_view text);

// Valid UTF-8: every longest invalid run that begins like a character becomes one replacement character.
std::string repair_utf8(std::string_view text);

// Number of characters; invalid bytes count one each.
size_t count_chars(std::string_view text);

// The rules of Python's str methods of these names.
std::string to_upper(std::string_view text);
std::string to_lower(std::string_view text);
std::string to_title(std::string_view text);
std::string to_capitalized(std::string_view text);

// The tables of unicode_tables.cpp.
struct CaseRun {
  uint32_t first, last, step;
  int32_t delta;
};
struct CaseExpansion {
  uint32_t code;
  uint32_t to[3];
};
extern const uint32_t class_runs[];
extern const size_t class_run_count;
extern const CaseRun upper_runs[], lower_runs[], title_runs[];
extern const size_t upper_run_count, lower_run_count, title_run_count;
extern const CaseExpansion upper_expansions[], title_expansions[];
extern const size_t upper_expansion_count, title_expansion_count;

}  // namespace ruda::text
