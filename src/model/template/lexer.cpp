// src/model/template/lexer.cpp - tags, white space control, literals.
// SPDX-License-Identifier: Apache-2.0
#include "model/template/lexer.hpp"

#include "core/error.hpp"
#include "model/text/unicode.hpp"
#include "core/text.hpp"

#include <charconv>
#include <cstdarg>

namespace ruda::jinja {
namespace {

using text::CharClass;

bool is_space_code(uint32_t code) {
  return text::char_class(code) == CharClass::space || (code >= 0x1C && code <= 0x1F);
}

size_t skip_space(std::string_view s, size_t at) {
  while (at < s.size()) {
    const text::Decoded d = text::decode_utf8(s.substr(at));
    if (!is_space_code(d.code)) break;
    at += d.bytes;
  }
  return at;
}

// Bytes of `s` without the white space at its end.
size_t end_without_space(std::string_view s) {
  size_t end = s.size();
  while (end > 0) {
    size_t start = end - 1;
    while (start > 0 && end - start < 4 && (static_cast<unsigned char>(s[start]) & 0xC0) == 0x80) --start;
    if (!is_space_code(text::decode_utf8(s.substr(start, end - start)).code)) break;
    end = start;
  }
  return end;
}

bool is_name_start(uint32_t code) { return code == '_' || text::is_letter(text::char_class(code)); }
bool is_name_part(uint32_t code) {
  const CharClass c = text::char_class(code);
  return is_name_start(code) || c == CharClass::number || c == CharClass::mark;
}

std::string normalize_lines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
    } else {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)), s_(source_) {}

  std::vector<Token> run() {
    while (at_ < s_.size()) {
      const size_t tag = find_tag();
      if (tag == s_.npos) {
        add_text(s_.substr(at_));
        at_ = s_.size();
        break;
      }
      lex_tag(tag);
    }
    add(TokenKind::end);
    return std::move(tokens_);
  }

 private:
  // Position of the next "{{", "{%" or "{#".
  size_t find_tag() const {
    for (size_t i = at_; i + 1 < s_.size(); ++i)
      if (s_[i] == '{' && (s_[i + 1] == '{' || s_[i + 1] == '%' || s_[i + 1] == '#')) return i;
    return s_.npos;
  }

  Token& add(TokenKind kind, std::string text = {}) {
    Token& token = tokens_.emplace_back();
    token.kind = kind;
    token.line = line_;
    token.text = std::move(text);
    return token;
  }

  void add_text(std::string_view text) {
    if (!text.empty()) add(TokenKind::text, std::string(text));
  }

  void count_lines(size_t from, size_t to) {
    for (size_t i = from; i < to; ++i) line_ += s_[i] == '\n';
  }

  // Text before a tag at `tag` whose opening is followed by `sign`.
  void text_before(size_t tag, char sign, bool output) {
    std::string_view text = s_.substr(at_, tag - at_);
    if (sign == '-') {
      text = text.substr(0, end_without_space(text));
    } else if (sign != '+' && !output) {
      const size_t newline = text.rfind('\n');
      const size_t line = newline == text.npos ? 0 : newline + 1;
      if ((line > 0 || line_starting_) && skip_space(text, line) == text.size()) text = text.substr(0, line);
    }
    add_text(text);
    count_lines(at_, tag);
  }

  // After the closing of a block or comment: its newline goes with it.
  void after_block(size_t at, char sign) {
    size_t end = at;
    if (sign == '-')
      end = skip_space(s_, at);
    else if (sign != '+' && at < s_.size() && s_[at] == '\n')
      end = at + 1;
    finish_tag(at, end);
  }

  void finish_tag(size_t from, size_t end) {
    count_lines(from, end);
    line_starting_ = end > 0 && s_[end - 1] == '\n';
    at_ = end;
  }

  char sign_at(size_t at) const { return at < s_.size() && (s_[at] == '-' || s_[at] == '+') ? s_[at] : 0; }

  void lex_tag(size_t tag) {
    const char type = s_[tag + 1];
    const char sign = sign_at(tag + 2);
    const size_t inside = tag + 2 + (sign != 0);
    if (type == '#') return lex_comment(tag, sign);
    if (type == '%' && lex_raw(tag, sign, inside)) return;
    text_before(tag, sign, type == '{');
    add(type == '{' ? TokenKind::output_begin : TokenKind::block_begin);
    lex_inside(inside, type == '{' ? '}' : '%');
  }

  void lex_comment(size_t tag, char sign) {
    text_before(tag, sign, false);
    const size_t inside = tag + 2 + (sign != 0);
    const size_t close = s_.find("#}", inside);
    if (close == s_.npos) fail_at(line_, "missing end of comment tag");
    const char closing = close > inside ? s_[close - 1] : 0;
    count_lines(tag, close);
    after_block(close + 2, closing == '-' || closing == '+' ? closing : 0);
  }

  // {% raw %} ... {% endraw %}: true when the tag at `tag` begins one.
  bool lex_raw(size_t tag, char sign, size_t inside) {
    size_t at = skip_space(s_, inside);
    if (s_.substr(at, 3) != "raw") return false;
    at = skip_space(s_, at + 3);
    bool strip = false;
    if (s_.substr(at, 3) == "-%}")
      strip = true, at += 3;
    else if (s_.substr(at, 2) == "%}")
      at += 2;
    else
      return false;
    text_before(tag, sign, false);
    if (strip) at = skip_space(s_, at);
    count_lines(tag, at);
    for (size_t end = s_.find("{%", at); end != s_.npos; end = s_.find("{%", end + 2)) {
      const char end_sign = sign_at(end + 2);
      size_t close = skip_space(s_, end + 2 + (end_sign != 0));
      if (s_.substr(close, 6) != "endraw") continue;
      close = skip_space(s_, close + 6);
      const char closing = sign_at(close);
      if (s_.substr(close + (closing != 0), 2) != "%}") continue;
      at_ = at;
      line_starting_ = s_[at - 1] == '\n';
      text_before(end, end_sign, false);
      count_lines(end, close);
      after_block(close + (closing != 0) + 2, closing);
      return true;
    }
    fail_at(line_, "missing end of raw directive");
  }

  void lex_inside(size_t at, char close) {
    int nesting = 0;
    while (true) {
      const size_t next = skip_space(s_, at);
      count_lines(at, next);
      at = next;
      if (at >= s_.size()) fail_at(line_, "the template ends inside a tag");
      if (nesting == 0 && lex_close(at, close)) return;
      at = lex_token(at, nesting);
    }
  }

  bool lex_close(size_t at, char close) {
    const char sign = sign_at(at);
    const size_t brace = at + (sign != 0);
    if (s_.substr(brace, 2) != (close == '}' ? "}}" : "%}")) return false;
    if (close == '}' && sign == '+') return false;
    add(close == '}' ? TokenKind::output_end : TokenKind::block_end);
    if (close == '%')
      after_block(brace + 2, sign);
    else
      finish_tag(brace + 2, sign == '-' ? skip_space(s_, brace + 2) : brace + 2);
    return true;
  }

  size_t lex_token(size_t at, int& nesting) {
    const text::Decoded d = text::decode_utf8(s_.substr(at));
    if (d.valid && is_name_start(d.code)) return lex_name(at);
    if (d.code >= '0' && d.code <= '9') return lex_number(at);
    if (d.code == '"' || d.code == '\'') return lex_string(at);
    static constexpr std::string_view two[] = {"==", "!=", "<=", ">=", "//", "**"};
    for (const std::string_view op : two)
      if (s_.substr(at, 2) == op) {
        add(TokenKind::op, std::string(op));
        return at + 2;
      }
    const char c = s_[at];
    if (std::string_view("+-*/%~()[]{}<>=.,:|;").find(c) == std::string_view::npos)
      fail_at(line_, "unexpected character %s", ruda::in_quotes(s_.substr(at, d.bytes)).c_str());
    if (c == '(' || c == '[' || c == '{') ++nesting;
    if (c == ')' || c == ']' || c == '}')
      if (--nesting < 0) fail_at(line_, "unexpected '%c'", c);
    add(TokenKind::op, std::string(1, c));
    return at + 1;
  }

  size_t lex_name(size_t at) {
    size_t end = at;
    while (end < s_.size()) {
      const text::Decoded d = text::decode_utf8(s_.substr(end));
      if (!d.valid || !is_name_part(d.code)) break;
      end += d.bytes;
    }
    add(TokenKind::name, std::string(s_.substr(at, end - at)));
    return end;
  }

  static bool is_digit(char c) { return c >= '0' && c <= '9'; }

  // Digits with single underscores between them; returns their end.
  size_t digits_end(size_t at) const {
    while (at < s_.size() &&
           (is_digit(s_[at]) || (s_[at] == '_' && at + 1 < s_.size() && is_digit(s_[at + 1]))))
      ++at;
    return at;
  }

  size_t lex_number(size_t at) {
    size_t end = digits_end(at);
    bool real = false;
    if (end + 1 < s_.size() && s_[end] == '.' && is_digit(s_[end + 1])) {
      real = true;
      end = digits_end(end + 1);
    }
    if (end < s_.size() && (s_[end] == 'e' || s_[end] == 'E')) {
      size_t exponent = end + 1;
      if (exponent < s_.size() && (s_[exponent] == '+' || s_[exponent] == '-')) ++exponent;
      if (exponent < s_.size() && is_digit(s_[exponent])) {
        real = true;
        end = digits_end(exponent);
      }
    }
    std::string digits;
    for (const char c : s_.substr(at, end - at))
      if (c != '_') digits += c;
    Token& token = add(real ? TokenKind::real : TokenKind::integer);
    if (real) {
      const auto result = std::from_chars(digits.data(), digits.data() + digits.size(), token.real);
      if (result.ec == std::errc::result_out_of_range) fail_at(line_, "a number is out of range");
    } else {
      const auto [rest, error] = std::from_chars(digits.data(), digits.data() + digits.size(), token.integer);
      if (error != std::errc())
        fail_at(line_, "integer %s does not fit 64 bits", ruda::in_quotes(digits).c_str());
    }
    return end;
  }

  size_t lex_string(size_t at) {
    const char quote = s_[at];
    const int line = line_;
    std::string out;
    size_t i = at + 1;
    while (i < s_.size() && s_[i] != quote) {
      if (s_[i] == '\\' && i + 1 < s_.size()) {
        i = lex_escape(i + 1, out);
        continue;
      }
      line_ += s_[i] == '\n';
      out += s_[i++];
    }
    if (i >= s_.size()) fail_at(line, "a string is not closed");
    add(TokenKind::string, std::move(out)).line = line;
    return i + 1;
  }

  // Python's escapes; an unknown one stays as it is. `at` is behind the backslash.
  size_t lex_escape(size_t at, std::string& out) {
    const char c = s_[at];
    static constexpr std::string_view plain = "\\'\"abfnrtv", meaning = "\\'\"\a\b\f\n\r\t\v";
    if (const size_t known = plain.find(c); known != plain.npos) {
      out += meaning[known];
      return at + 1;
    }
    if (c == '\n') {
      ++line_;
      return at + 1;
    }
    const size_t wanted = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t code = 0;
    if (wanted) {
      const std::string_view hex = s_.substr(at + 1, wanted);
      const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
      if (hex.size() != wanted || error != std::errc() || end != hex.data() + wanted || code > 0x10FFFF)
        fail_at(line_, "a string has a broken \\%c escape", c);
      text::append_utf8(out, code);
      return at + 1 + wanted;
    }
    if (c >= '0' && c <= '7') {
      size_t end = at;
      while (end < s_.size() && end - at < 3 && s_[end] >= '0' && s_[end] <= '7')
        code = code * 8 + uint32_t(s_[end++] - '0');
      text::append_utf8(out, code);
      return end;
    }
    out += '\\';
    return at;
  }

  std::string source_;
  std::string_view s_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

void fail_at(int line, const char* format, ...) {
  char text[512];
  va_list list;
  va_start(list, format);
  std::vsnprintf(text, sizeof text, format, list);
  va_end(list);
  fail(RUDA_E_FORMAT, -1, "template line %d: %s", line, text);
}

std::vector<Token> tokenize(std::string_view source) { return Lexer(normalize_lines(source)).run(); }

}  // namespace ruda::jinja
