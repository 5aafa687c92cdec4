// src/store/json.cpp - recursive descent over JSON.
// SPDX-License-Identifier: Apache-2.0
#include "store/json.hpp"

#include "core/error.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <charconv>

namespace ruda::store {
namespace {

class Reader {
 public:
  Reader(std::string_view text, int arg, int max_depth) : text_(text), arg_(arg), depth_left_(max_depth) {}

  Json run() {
    Json out = value();
    space();
    if (at_ != text_.size()) fail_here("text follows the value");
    return out;
  }

 private:
  [[noreturn]] void fail_here(const char* what) {
    fail(RUDA_E_FORMAT, arg_, "json: byte %zu: %s", at_, what);
  }

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool accept(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\r' || text_[at_] == '\t'))
      ++at_;
  }

  Json value() {
    space();
    switch (peek()) {
      case '{': return object();
      case '[': return array();
      case '"': {
        Json out;
        out.kind = Json::Kind::string;
        out.string = string();
        return out;
      }
      case 't': return word("true", Json::Kind::boolean, true);
      case 'f': return word("false", Json::Kind::boolean, false);
      case 'n': return word("null", Json::Kind::null, false);
      default: return number();
    }
  }

  Json word(std::string_view text, Json::Kind kind, bool boolean) {
    if (text_.substr(at_, text.size()) != text) fail_here("expected a value");
    at_ += text.size();
    Json out;
    out.kind = kind;
    out.boolean = boolean;
    return out;
  }

  size_t digits() {
    const size_t start = at_;
    while (peek() >= '0' && peek() <= '9') ++at_;
    return at_ - start;
  }

  Json number() {
    const size_t start = at_;
    accept('-');
    const size_t first = at_;
    const size_t whole = digits();
    if (whole == 0) {
      at_ = start;
      fail_here("expected a value");
    }
    if (whole > 1 && text_[first] == '0') fail_here("a number begins with 0");
    bool real = false;
    if (accept('.')) {
      real = true;
      if (digits() == 0) fail_here("digits are missing after '.'");
    }
    if (peek() == 'e' || peek() == 'E') {
      real = true;
      ++at_;
      if (!accept('+')) accept('-');
      if (digits() == 0) fail_here("digits are missing in an exponent");
    }
    Json out;
    const char *begin = text_.data() + start, *end = text_.data() + at_;
    if (real) {
      out.kind = Json::Kind::real;
      if (std::from_chars(begin, end, out.real).ec != std::errc()) fail_here("a number is out of range");
    } else {
      out.kind = Json::Kind::integer;
      if (std::from_chars(begin, end, out.integer).ec != std::errc())
        fail_here("an integer does not fit 64 bits");
    }
    return out;
  }

  uint32_t hex4() {
    uint32_t code = 0;
    const std::string_view hex = text_.substr(at_, 4);
    const auto [end, error] = std::from_chars(hex.data(), hex.data() + hex.size(), code, 16);
    if (hex.size() != 4 || error != std::errc() || end != hex.data() + 4) fail_here("a \\u escape is broken");
    at_ += 4;
    return code;
  }

  static void append_utf8(std::string& out, uint32_t code) {
    if (code < 0x80) {
      out += char(code);
    } else if (code < 0x800) {
      out += {char(0xC0 | code >> 6), char(0x80 | (code & 0x3F))};
    } else if (code < 0x10000) {
      out += {char(0xE0 | code >> 12), char(0x80 | (code >> 6 & 0x3F)), char(0x80 | (code & 0x3F))};
    } else {
      out += {char(0xF0 | code >> 18), char(0x80 | (code >> 12 & 0x3F)), char(0x80 | (code >> 6 & 0x3F)),
              char(0x80 | (code & 0x3F))};
    }
  }

  void escape(std::string& out) {
    constexpr std::string_view from = "\"\\/bfnrt", to = "\"\\/\b\f\n\r\t";
    const char c = peek();
    if (c == 'u') {
      ++at_;
      uint32_t code = hex4();
      if (code >= 0xDC00 && code < 0xE000) fail_here("a low surrogate stands alone");
      if (code >= 0xD800 && code < 0xDC00) {
        if (text_.substr(at_, 2) != "\\u") fail_here("a high surrogate stands alone");
        at_ += 2;
        const uint32_t low = hex4();
        if (low < 0xDC00 || low >= 0xE000) fail_here("a high surrogate stands alone");
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
      }
      return append_utf8(out, code);
    }
    const size_t known = from.find(c);
    if (at_ >= text_.size() || known == from.npos) fail_here("an escape is unknown");
    out += to[known];
    ++at_;
  }

  // Length of the UTF-8 character at the present place, 0 when it is none.
  size_t character() const {
    const auto byte = [this](size_t i) {
      return at_ + i < text_.size() ? static_cast<unsigned char>(text_[at_ + i]) : 0U;
    };
    const auto follows = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
    const unsigned a = byte(0), b = byte(1);
    if (a < 0x80) return 1;
    if (a >= 0xC2 && a < 0xE0) return follows(1) ? 2 : 0;
    if (a >= 0xE0 && a < 0xF0)
      return follows(1) && follows(2) && !(a == 0xE0 && b < 0xA0) && !(a == 0xED && b > 0x9F) ? 3 : 0;
    if (a >= 0xF0 && a < 0xF5)
      return follows(1) && follows(2) && follows(3) && !(a == 0xF0 && b < 0x90) && !(a == 0xF4 && b > 0x8F)
                 ? 4
                 : 0;
    return 0;
  }

  std::string string() {
    if (!accept('"')) fail_here("expected a string");
    std::string out;
    while (true) {
      if (at_ >= text_.size()) fail_here("a string is not closed");
      if (accept('"')) return out;
      if (accept('\\')) {
        escape(out);
        continue;
      }
      if (static_cast<unsigned char>(text_[at_]) < 0x20) fail_here("a string holds a control character");
      const size_t bytes = character();
      if (bytes == 0) fail_here("a string is not UTF-8");
      out += text_.substr(at_, bytes);
      at_ += bytes;
    }
  }

  void enter() {
    if (depth_left_-- <= 0) fail_here("nested too deep");
  }

  Json array() {
    enter();
    Json out;
    out.kind = Json::Kind::array;
    ++at_;
    space();
    if (!accept(']')) {
      do out.items.push_back(value());
      while (next(']'));
    }
    ++depth_left_;
    return out;
  }

  // After an element: true for a comma, false for `close`.
  bool next(char close) {
    space();
    if (accept(close)) return false;
    if (!accept(',')) fail_here(close == ']' ? "expected ',' or ']'" : "expected ',' or '}'");
    return true;
  }

  Json object() {
    enter();
    Json out;
    out.kind = Json::Kind::object;
    ++at_;
    space();
    if (!accept('}')) {
      do {
        space();
        std::string key = string();
        space();
        if (!accept(':')) fail_here("expected ':'");
        out.members.push_back({std::move(key), value()});
      } while (next('}'));
    }
    refuse_duplicates(out);
    ++depth_left_;
    return out;
  }

  void refuse_duplicates(const Json& object) {
    std::vector<std::string_view> keys;
    keys.reserve(object.members.size());
    for (const auto& member : object.members) keys.push_back(member.first);
    std::sort(keys.begin(), keys.end());
    const auto same = std::adjacent_find(keys.begin(), keys.end());
    if (same != keys.end())
      fail(RUDA_E_FORMAT, arg_, "json: byte %zu: key %s stands twice", at_, in_quotes(*same).c_str());
  }

  std::string_view text_;
  int arg_;
  int depth_left_;
  size_t at_ = 0;
};

}  // namespace

const Json* Json::find(std::string_view key) const {
  for (const auto& [name, value] : members)
    if (name == key) return &value;
  return nullptr;
}

Json parse_json(std::string_view text, int arg, int max_depth) { return Reader(text, arg, max_depth).run(); }

}  // namespace ruda::store
