// src/model/template/lexer.hpp - cuts a template into text and tokens, with Jinja's rules for white space.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/template/value.hpp"

namespace ruda::jinja {

enum class TokenKind : uint8_t {
  text,
  block_begin,
  block_end,
  output_begin,
  output_end,
  name,
  string,
  integer,
  real,
  op,
  end,
};

struct Token {
  TokenKind kind = TokenKind::end;
  int line = 1;
  std::string text;  // of text, names and operators; the value of a string
  int64_t integer = 0;
  double real = 0;
};

// Settings as chat templates expect: trim_blocks and lstrip_blocks on, one newline at the very end dropped.
// RUDA_E_FORMAT with the line for what is no template.
std::vector<Token> tokenize(std::string_view source);

[[noreturn]] __attribute__((format(printf, 2, 3))) void fail_at(int line, const char* format, ...);

}  // namespace ruda::jinja
