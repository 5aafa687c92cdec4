// src/model/template/number_filters.cpp - the filters int and float: numbers from texts as Python reads them.
// SPDX-License-Identifier: Apache-2.0
#include "model/template/evaluate.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

namespace ruda::jinja {
namespace {

constexpr size_t max_digits = 4300;  // Python's own limit, except for bases that are powers of two

[[noreturn]] void refuse_integer() { fail_value("an integer does not fit 64 bits"); }

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The value of a digit of any base up to 36; 36 for what is none.
int digit_value(char c) {
  if (is_digit(c)) return c - '0';
  const char low = char(c | 0x20);
  return low >= 'a' && low <= 'z' ? low - 'a' + 10 : 36;
}

// "0x", "0o" or "0b" in front of digits: its base, 0 when there is none.
int prefix_base(std::string_view text) {
  if (text.size() < 2 || text[0] != '0') return 0;
  const char sign = char(text[1] | 0x20);
  return sign == 'x' ? 16 : sign == 'o' ? 8 : sign == 'b' ? 2 : 0;
}

// Takes a sign off the front.
bool take_sign(std::string_view& text) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  return negative;
}

// Digits of a base with single '_' between them; false for anything else, and for more than max_digits.
bool read_digits(std::string_view text, int base, bool negative, int64_t& out) {
  size_t digits = 0;
  bool fits = true;
  int64_t value = 0;  // below zero, so that the lowest integer has its place
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '_' && i > 0 && i + 1 < text.size() && text[i - 1] != '_') continue;
    const int digit = digit_value(text[i]);
    if (digit >= base) return false;
    ++digits;
    fits = fits && !__builtin_mul_overflow(value, int64_t{base}, &value) &&
           !__builtin_sub_overflow(value, int64_t{digit}, &value);
  }
  if (digits == 0 || (digits > max_digits && (base & (base - 1)))) return false;
  if (!fits || (!negative && value == std::numeric_limits<int64_t>::min())) refuse_integer();
  out = negative ? value : -value;
  return true;
}

// Python's int(text, base); false when the text is no integer of this base.
bool parse_integer(std::string_view text, int64_t base, int64_t& out) {
  if (base != 0 && (base < 2 || base > 36)) return false;
  const bool negative = take_sign(text);
  const int prefix = prefix_base(text);
  if (prefix && (base == 0 || base == prefix)) {
    text.remove_prefix(2);
    if (text.starts_with('_')) text.remove_prefix(1);
    return read_digits(text, prefix, negative, out);
  }
  if (!read_digits(text, base ? int(base) : 10, negative, out)) return false;
  return base != 0 || out == 0 || text[0] != '0';
}

// The value of a well-formed number that is out of the range of double: infinite or zero.
double out_of_range(std::string_view text) {
  const size_t e = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, e);
  const size_t first = std::min(mantissa.find_first_of("123456789"), mantissa.size());
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  std::string_view exponent = text.substr(std::min(e + 1, text.size()));
  const bool below = take_sign(exponent);
  int64_t power = 0;
  for (const char c : exponent) power = std::min<int64_t>(power * 10 + (c - '0'), int64_t{1} << 40);
  const int64_t magnitude = int64_t(point) - int64_t(first) + (below ? -power : power);
  return magnitude > 0 ? std::numeric_limits<double>::infinity() : 0;
}

// Python's float(text); false when the text is no number.
bool parse_real(std::string_view text, double& out) {
  const bool negative = take_sign(text);
  std::string plain;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool between = i > 0 && i + 1 < text.size() && is_digit(text[i - 1]) && is_digit(text[i + 1]);
    if (text[i] != '_' || !between) plain += text[i];
  }
  // Not a second sign, and nan without a payload.
  if (plain.empty() || plain[0] == '-' || plain.back() == ')') return false;
  const char* end = plain.data() + plain.size();
  const auto result = std::from_chars(plain.data(), end, out);
  if (result.ptr != end || result.ec == std::errc::invalid_argument) return false;
  if (result.ec == std::errc::result_out_of_range) out = out_of_range(plain);
  if (negative) out = -out;
  return true;
}

// Without white space at the ends, as int() and float() read it.
std::string stripped(Evaluator& evaluator, const std::string& text) {
  step_text(evaluator, text);
  return strip(evaluator, text, nullptr, true, true);
}

Value truncated(double real) {
  constexpr double limit = 9223372036854775808.0;
  real = std::trunc(real);
  if (!(real >= -limit && real < limit)) refuse_integer();
  return int64_t(real);
}

}  // namespace

Value to_int(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  const Value* given = arguments.take(0, "default");
  const Value* base_given = arguments.take(1, "base");
  arguments.finish("int");
  const Value fallback = given ? *given : Value(int64_t{0});
  if (input.is_undefined()) fail_value("%s", input.undefined_message().c_str());
  int64_t integer;
  double real;
  if (input.as_integer(integer)) return integer;
  if (const std::string* source = input.text()) {
    const std::string text = stripped(evaluator, *source);
    int64_t base = 10;
    // A base that is none leaves the text to float().
    const bool based = !base_given || base_given->as_integer(base);
    if (based && parse_integer(text, base, integer)) return integer;
    return parse_real(text, real) && std::isfinite(real) ? truncated(real) : fallback;
  }
  return input.as_real(real) && !std::isnan(real) ? truncated(real) : fallback;
}

Value to_float(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  const Value* given = arguments.take(0, "default");
  arguments.finish("float");
  if (input.is_undefined()) fail_value("%s", input.undefined_message().c_str());
  double real;
  if (input.as_real(real)) return real;
  if (input.text() && parse_real(stripped(evaluator, *input.text()), real)) return real;
  return given ? *given : Value(0.0);
}

}  // namespace ruda::jinja
