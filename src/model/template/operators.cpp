// src/model/template/operators.cpp - arithmetic, comparison, membership, slices as in Python.
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"
#include "model/template/evaluate.hpp"
#include "model/text/unicode.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <vector>

namespace ruda::jinja {
namespace {

[[noreturn]] void fail_operands(std::string_view op, const Value& a, const Value& b) {
  if (a.is_undefined()) fail_value("%s", a.undefined_message().c_str());
  if (b.is_undefined()) fail_value("%s", b.undefined_message().c_str());
  fail_value("operator '%.*s' does not take %s and %s", int(op.size()), op.data(), a.type_name(),
             b.type_name());
}

void refuse_overflow(bool overflow) {
  if (overflow) fail_value("an integer does not fit 64 bits");
}

int64_t floor_divide(int64_t a, int64_t b) {
  if (b == 0) fail_value("division by zero");
  if (b == -1) {
    refuse_overflow(a == INT64_MIN);
    return -a;
  }
  const int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}

// Python raises errors where pow() gives an infinity or makes a complex number of finite operands.
double real_power(double base, double exponent) {
  const double out = std::pow(base, exponent);
  if (std::isfinite(out) || !std::isfinite(base) || !std::isfinite(exponent)) return out;
  if (base == 0) fail_value("zero cannot be raised to a negative power");
  if (std::isnan(out)) fail_value("a negative number to a fractional power is complex");
  fail_value("the result of '**' is too large");
}

Value integer_power(int64_t base, int64_t exponent) {
  if (exponent < 0) return real_power(double(base), double(exponent));
  int64_t out = 1;
  while (exponent) {
    if (exponent & 1) refuse_overflow(__builtin_mul_overflow(out, base, &out));
    exponent >>= 1;
    if (exponent) refuse_overflow(__builtin_mul_overflow(base, base, &base));
  }
  return out;
}

Value integer_arithmetic(std::string_view op, int64_t a, int64_t b) {
  int64_t out = 0;
  if (op == "+" || op == "-" || op == "*") {
    refuse_overflow(op == "+"   ? __builtin_add_overflow(a, b, &out)
                    : op == "-" ? __builtin_sub_overflow(a, b, &out)
                                : __builtin_mul_overflow(a, b, &out));
    return out;
  }
  if (op == "//") return floor_divide(a, b);
  if (op == "%") return binary_modulo(a, b);
  if (op == "**") return integer_power(a, b);
  if (b == 0) fail_value("division by zero");
  return double(a) / double(b);
}

Value real_arithmetic(std::string_view op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "**") return real_power(a, b);
  if (b == 0) fail_value("division by zero");
  if (op == "/") return a / b;
  double r = std::fmod(a, b);
  if (r != 0 && (r < 0) != (b < 0)) r += b;
  if (op == "%") return r;
  return std::floor((a - r) / b + 0.5);
}

Value repeat(Evaluator& evaluator, const Value& what, int64_t count) {
  count = std::max<int64_t>(count, 0);
  const uint64_t size = what.text() ? what.text()->size() : what.list()->items.size();
  uint64_t total = 0;
  if (__builtin_mul_overflow(size, uint64_t(count), &total)) total = UINT64_MAX / 2;
  if (what.text()) {
    evaluator.charge(total);
    std::string out;
    out.reserve(total);
    for (int64_t i = 0; size && i < count; ++i) out += *what.text();
    return Value(std::move(out));
  }
  evaluator.step(total);
  RUDA_CHECK(total <= max_weight, RUDA_E_BUDGET, -1, "template: a value has more than %llu parts",
             static_cast<unsigned long long>(max_weight));
  Items out;
  for (int64_t i = 0; size && i < count; ++i)
    out.insert(out.end(), what.list()->items.begin(), what.list()->items.end());
  return evaluator.make_list(std::move(out), what.list()->tuple);
}

// A conversion of str % values: %[flags][width][.precision]type.
struct Conversion {
  bool left = false, zero = false, plus = false, space = false;
  int width = 0, precision = -1;
  char type = 0;
};

// `at` is behind the '%' and ends behind the type.
Conversion parse_conversion(std::string_view format, size_t& at) {
  Conversion out;
  for (; at < format.size() && std::string_view("-0+ ").find(format[at]) != std::string_view::npos; ++at) {
    out.left = out.left || format[at] == '-';
    out.zero = out.zero || format[at] == '0';
    out.plus = out.plus || format[at] == '+';
    out.space = out.space || format[at] == ' ';
  }
  const auto number = [&] {
    int value = 0;
    for (; at < format.size() && format[at] >= '0' && format[at] <= '9'; ++at) {
      value = value * 10 + (format[at] - '0');
      if (value > 400) fail_value("a width or precision of a format is above 400");
    }
    return value;
  };
  out.width = number();
  if (at < format.size() && format[at] == '.') {
    ++at;
    out.precision = number();
  }
  if (at >= format.size()) fail_value("a format ends after '%%'");
  out.type = format[at++];
  return out;
}

// The digits of a number; the locale has no say in them.
std::string convert_number(const Conversion& conversion, const Value& value) {
  char digits[1024];
  std::to_chars_result result{digits, std::errc()};
  int64_t integer;
  double real;
  const char type = conversion.type == 'i' ? 'd' : conversion.type;
  if ((type == 'd' || type == 'x') && value.as_integer(integer)) {
    result = std::to_chars(digits, digits + sizeof digits, integer, type == 'x' ? 16 : 10);
  } else if ((type == 'f' || type == 'e' || type == 'g' || type == 'd') && value.as_real(real)) {
    if (type == 'd') real = std::trunc(real);
    const auto form = type == 'e'   ? std::chars_format::scientific
                      : type == 'g' ? std::chars_format::general
                                    : std::chars_format::fixed;
    const int precision = type == 'd' ? 0 : conversion.precision < 0 ? 6 : conversion.precision;
    result = std::to_chars(digits, digits + sizeof digits, real, form, precision);
  } else {
    fail_value("format '%%%c' does not take a value of type %s", conversion.type, value.type_name());
  }
  if (result.ec != std::errc()) fail_value("a number is too long for its format");
  return {digits, size_t(result.ptr - digits)};
}

void append_conversion(std::string& out, const Conversion& conversion, const Value& value) {
  std::string body, sign;
  if (conversion.type == 's') {
    append_str(body, value);
  } else if (conversion.type == 'r') {
    append_repr(body, value);
  } else {
    body = convert_number(conversion, value);
    if (body[0] == '-')
      sign = "-", body.erase(0, 1);
    else if (conversion.plus || conversion.space)
      sign = conversion.plus ? "+" : " ";
  }
  const size_t size = sign.size() + text::count_chars(body);
  const size_t missing = size < size_t(conversion.width) ? size_t(conversion.width) - size : 0;
  const bool zeros = conversion.zero && !conversion.left && conversion.type != 's' && conversion.type != 'r';
  if (!conversion.left && !zeros) out.append(missing, ' ');
  out += sign;
  if (zeros) out.append(missing, '0');
  out += body;
  if (conversion.left) out.append(missing, ' ');
}

// The printf form of str % values.
Value format_percent(Evaluator& evaluator, const std::string& format, const Value& values) {
  const bool many = values.list() && values.list()->tuple;
  const size_t count = many ? values.list()->items.size() : 1;
  size_t next = 0;
  step_text(evaluator, format);
  std::string out;
  for (size_t at = 0; at < format.size();) {
    if (format[at] != '%') {
      out += format[at++];
      continue;
    }
    const Conversion conversion = parse_conversion(format, ++at);
    if (conversion.type == '%') {
      out += '%';
      continue;
    }
    if (next >= count) fail_value("not enough values for the format");
    const size_t before = out.size();
    const Value& value = many ? values.list()->items[next] : values;
    evaluator.step(value.weight() * 4);
    append_conversion(out, conversion, value);
    evaluator.charge(out.size() - before);
    ++next;
  }
  if (next < count && !values.dict()) fail_value("not all values are used");
  return evaluator.make_text(std::move(out));
}

bool contains(Evaluator& evaluator, const Value& container, const Value& value) {
  if (container.is_undefined()) return false;
  if (const std::string* text = container.text()) {
    if (!value.text()) fail_value("'in <str>' needs a str, found %s", value.type_name());
    step_search(evaluator, *text, *value.text());
    return find_text(*text, *value.text()) != std::string_view::npos;
  }
  if (const Dict* dict = container.dict()) {
    step_lookup(evaluator, dict->pairs.size(), value);
    return dict->find(value) != nullptr;
  }
  if (const List* list = container.list()) {
    evaluator.step(list->work);
    return std::any_of(list->items.begin(), list->items.end(),
                       [&](const Value& item) { return equal(item, value); });
  }
  fail_value("a value of type %s holds nothing", container.type_name());
}

}  // namespace

Value binary(Evaluator& evaluator, std::string_view op, const Value& a, const Value& b) {
  int64_t i, j;
  double x, y;
  if (a.as_integer(i) && b.as_integer(j)) return integer_arithmetic(op, i, j);
  if (a.as_real(x) && b.as_real(y)) return real_arithmetic(op, x, y);
  if (op == "+" && a.text() && b.text()) {
    evaluator.charge(a.text()->size() + b.text()->size());
    return Value(*a.text() + *b.text());
  }
  if (op == "+" && a.list() && b.list() && a.list()->tuple == b.list()->tuple) {
    Items out = a.list()->items;
    out.insert(out.end(), b.list()->items.begin(), b.list()->items.end());
    return evaluator.make_list(std::move(out), a.list()->tuple);
  }
  if (op == "*" && (a.text() || a.list()) && b.as_integer(j)) return repeat(evaluator, a, j);
  if (op == "*" && (b.text() || b.list()) && a.as_integer(i)) return repeat(evaluator, b, i);
  if (op == "%" && a.text()) return format_percent(evaluator, *a.text(), b);
  fail_operands(op, a, b);
}

bool compare_values(Evaluator& evaluator, std::string_view op, const Value& a, const Value& b) {
  if (op == "in") return contains(evaluator, b, a);
  if (op == "not in") return !contains(evaluator, b, a);
  evaluator.step(std::min(a.work(), b.work()));
  if (op == "==") return equal(a, b);
  if (op == "!=") return !equal(a, b);
  const int order = compare(a, b);
  const double *x = a.real(), *y = b.real();
  if ((x && *x != *x) || (y && *y != *y)) return false;
  if (op == "<") return order < 0;
  if (op == "<=") return order <= 0;
  return op == ">" ? order > 0 : order >= 0;
}

std::vector<size_t> slice_positions(size_t size, const Value& begin, const Value& end, const Value& step) {
  const auto n = int64_t(size);
  const int64_t stride = step.is_none() ? 1 : integer_argument(step, "slice step");
  if (stride == 0) fail_value("slice step is zero");
  const auto bound = [&](const Value& value, int64_t missing) {
    if (value.is_none()) return missing;
    int64_t at = integer_argument(value, "slice index");
    if (at < 0) at = at < -n ? -1 : at + n;
    const int64_t low = stride < 0 ? -1 : 0, high = stride < 0 ? n - 1 : n;
    return std::clamp(at, low, std::max(low, high));
  };
  const int64_t from = bound(begin, stride < 0 ? n - 1 : 0), to = bound(end, stride < 0 ? -1 : n);
  std::vector<size_t> out;
  if (stride > 0) {
    for (int64_t i = from; i < to; i += std::min(stride, n)) out.push_back(size_t(i));
  } else {
    for (int64_t i = from; i > to; i += std::max(stride, -n)) out.push_back(size_t(i));
  }
  return out;
}

int64_t integer_argument(const Value& value, const char* what) {
  int64_t out;
  if (!value.as_integer(out)) fail_value("%s is of type %s, expected int", what, value.type_name());
  return out;
}

std::string text_argument(const Value& value, const char* what) {
  if (const std::string* text = value.text()) return *text;
  fail_value("%s is of type %s, expected str", what, value.type_name());
}

Items characters(Evaluator& evaluator, std::string_view text) {
  const size_t count = text::count_chars(text);
  evaluator.step(count);
  evaluator.charge(count * (sizeof(Value) + sizeof(std::string)));
  Items out;
  out.reserve(count);
  for (size_t at = 0; at < text.size();) {
    const uint32_t bytes = text::decode_utf8(text.substr(at)).bytes;
    out.emplace_back(std::string(text.substr(at, bytes)));
    at += bytes;
  }
  return out;
}

size_t find_text(std::string_view text, std::string_view what, size_t at) {
  if (at > text.size()) return text.npos;
  const void* found = memmem(text.data() + at, text.size() - at, what.data(), what.size());
  return found ? size_t(static_cast<const char*>(found) - text.data()) : text.npos;
}

// Knuth, Morris and Pratt from the end.
size_t find_last_text(std::string_view text, std::string_view what) {
  if (what.empty()) return text.size();
  const auto wanted = [&](size_t i) { return what[what.size() - 1 - i]; };
  std::vector<size_t> shorter(what.size());  // of the first i + 1 characters: the longest border
  for (size_t i = 1, length = 0; i < what.size(); ++i) {
    while (length && wanted(i) != wanted(length)) length = shorter[length - 1];
    length += wanted(i) == wanted(length);
    shorter[i] = length;
  }
  size_t length = 0;
  for (size_t at = text.size(); at-- > 0;) {
    while (length && text[at] != wanted(length)) length = shorter[length - 1];
    length += text[at] == wanted(length);
    if (length == what.size()) return at;
  }
  return text.npos;
}

void step_search(Evaluator& evaluator, std::string_view text, std::string_view what) {
  evaluator.step(1 + text.size() / 64 + what.size() / 64);
}

void step_text(Evaluator& evaluator, std::string_view text) { evaluator.step(text.size() / 16); }

void step_case(Evaluator& evaluator, std::string_view text) { evaluator.step(text.size() / 8); }

void step_bytes(Evaluator& evaluator, uint64_t bytes) { evaluator.step(bytes / 64); }

void step_lookup(Evaluator& evaluator, uint64_t entries, const Value& key) {
  evaluator.step((1 + entries / 16) * key.weight());
}

void step_print(Evaluator& evaluator, const Value& value) {
  evaluator.step(value.text() ? 0 : value.weight() * 4);
}

std::string soft_text(Evaluator& evaluator, const Value& value) {
  step_print(evaluator, value);
  std::string text = str(value);
  evaluator.charge(text.size());
  return text;
}

bool is_text_space(uint32_t code) {
  return text::char_class(code) == text::CharClass::space || (code >= 0x1C && code <= 0x1F);
}

std::string strip(Evaluator& evaluator, std::string_view text, const std::string* chars, bool left,
                  bool right) {
  // A character of the set counts one, one that goes a part that grows with the search in the set.
  evaluator.step(chars ? chars->size() : 0);
  constexpr size_t portion = 256;
  std::vector<uint32_t> set;
  if (chars)
    for (size_t at = 0; at < chars->size();) {
      const text::Decoded d = text::decode_utf8(std::string_view(*chars).substr(at));
      set.push_back(d.code);
      at += d.bytes;
    }
  std::sort(set.begin(), set.end());
  const auto goes = [&](uint32_t code) {
    return chars ? std::binary_search(set.begin(), set.end(), code) : is_text_space(code);
  };
  size_t begin = 0, end = text.size(), gone = 0, cost = portion / 16;
  for (size_t n = set.size(); n > 1; n /= 2) cost += portion / 64;
  const auto count = [&] {
    if (++gone % portion == 0) evaluator.step(cost);
  };
  while (left && begin < end) {
    count();
    const text::Decoded d = text::decode_utf8(text.substr(begin));
    if (!goes(d.code)) break;
    begin += d.bytes;
  }
  while (right && end > begin) {
    count();
    size_t start = end - 1;
    while (start > begin && end - start < 4 && (static_cast<unsigned char>(text[start]) & 0xC0) == 0x80)
      --start;
    if (!goes(text::decode_utf8(text.substr(start, end - start)).code)) break;
    end = start;
  }
  return std::string(text.substr(begin, end - begin));
}

std::string replace_all(Evaluator& evaluator, std::string_view text, std::string_view from,
                        std::string_view to, int64_t count) {
  std::string out;
  const auto put = [&](std::string_view part) {
    evaluator.charge(part.size());
    out += part;
  };
  size_t at = 0;
  if (from.empty()) {
    // Python puts `to` before every character and at the end.
    for (; count != 0 && at <= text.size(); count -= count > 0) {
      put(to);
      evaluator.step();
      if (at == text.size()) return out;
      const uint32_t bytes = text::decode_utf8(text.substr(at)).bytes;
      put(text.substr(at, bytes));
      at += bytes;
    }
  } else {
    step_search(evaluator, text, from);
    for (; count != 0; count -= count > 0) {
      const size_t found = find_text(text, from, at);
      if (found == text.npos) break;
      evaluator.step();
      put(text.substr(at, found - at));
      put(to);
      at = found + from.size();
    }
  }
  put(text.substr(at));
  return out;
}

}  // namespace ruda::jinja
