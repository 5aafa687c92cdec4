// src/model/template/filters.cpp - filters that take one value: text, numbers, JSON.
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"
#include "model/template/evaluate.hpp"
#include "model/text/unicode.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ruda::jinja {
namespace {

bool flag(Arguments& arguments, size_t position, const char* name, bool fallback = false) {
  const Value* given = arguments.take(position, name);
  return given ? given->truth() : fallback;
}

Value trim(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  const Value* chars = arguments.take(0, "chars");
  arguments.finish("trim");
  const std::string* set = chars ? chars->text() : nullptr;
  return evaluator.make_text(strip(evaluator, soft_text(evaluator, input), set, true, true));
}

Value upper(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  arguments.finish("upper");
  const std::string text = soft_text(evaluator, input);
  step_case(evaluator, text);
  return evaluator.make_text(text::to_upper(text));
}

Value lower(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  arguments.finish("lower");
  const std::string text = soft_text(evaluator, input);
  step_case(evaluator, text);
  return evaluator.make_text(text::to_lower(text));
}

Value capitalize(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  arguments.finish("capitalize");
  const std::string text = soft_text(evaluator, input);
  step_case(evaluator, text);
  return evaluator.make_text(text::to_capitalized(text));
}

// Words begin at the start and after white space, '-', '(', '{', '[' and '<'.
Value title(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  arguments.finish("title");
  const std::string text = soft_text(evaluator, input);
  step_case(evaluator, text);
  std::string out;
  bool start = true;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    const auto breaks = [&](size_t i) {
      const uint32_t code = text::decode_utf8(std::string_view(text).substr(i)).code;
      return is_text_space(code) ||
             std::string_view("-({[<").find(char(code < 128 ? code : 'x')) != std::string_view::npos;
    };
    if (breaks(at)) {
      const uint32_t bytes = text::decode_utf8(std::string_view(text).substr(at)).bytes;
      out += text.substr(at, bytes);
      at += bytes;
      start = true;
      continue;
    }
    while (end < text.size() && !breaks(end))
      end += text::decode_utf8(std::string_view(text).substr(end)).bytes;
    const uint32_t first = text::decode_utf8(std::string_view(text).substr(at)).bytes;
    out += start ? text::to_upper(text.substr(at, first)) : text::to_lower(text.substr(at, first));
    out += text::to_lower(text.substr(at + first, end - at - first));
    start = false;
    at = end;
  }
  return evaluator.make_text(std::move(out));
}

Value to_string(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  arguments.finish("string");
  step_print(evaluator, input);
  return input.text() ? input : evaluator.make_text(str(input));
}

Value safe(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  arguments.finish("safe");
  step_print(evaluator, input);
  return input.text() ? input : evaluator.make_text(str(input));
}

Value escape(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  arguments.finish("escape");
  std::string out;
  for (const char c : soft_text(evaluator, input)) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&#34;"; break;
      case '\'': out += "&#39;"; break;
      default: out += c;
    }
  return evaluator.make_text(std::move(out));
}

Value length(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  arguments.finish("length");
  if (input.is_undefined()) return int64_t{0};
  if (const std::string* text = input.text()) {
    step_text(evaluator, *text);
    return int64_t(text::count_chars(*text));
  }
  if (const List* list = input.list()) return int64_t(list->items.size());
  if (const Dict* dict = input.dict()) return int64_t(dict->pairs.size());
  fail_value("a value of type %s has no length", input.type_name());
}

Value with_default(Evaluator&, const Value& input, Arguments& arguments) {
  const Value* fallback = arguments.take(0, "default_value");
  const bool also_false = flag(arguments, 1, "boolean");
  arguments.finish("default");
  if (input.is_undefined() || (also_false && !input.truth()))
    return fallback ? *fallback : Value(std::string());
  return input;
}

Value absolute(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  arguments.finish("abs");
  double real;
  if (!input.as_real(real)) fail_value("abs takes a number, found %s", input.type_name());
  return real < 0 ? binary(evaluator, "-", Value(int64_t{0}), input)
                  : binary(evaluator, "+", Value(int64_t{0}), input);
}

// Half of 10 to the power of `zeros` goes to the even side.
int64_t rounded_integer(int64_t value, int64_t zeros) {
  if (zeros > 18) return 0;
  int64_t unit = 1;
  for (int64_t i = 0; i < zeros; ++i) unit *= 10;
  const int64_t rest = binary_modulo(value, unit);
  int64_t low = 0;
  if (__builtin_sub_overflow(value, rest, &low)) fail_value("an integer does not fit 64 bits");
  const bool up = rest > unit - rest || (rest == unit - rest && low / unit % 2 != 0);
  int64_t out = low;
  if (up && __builtin_add_overflow(low, unit, &out)) fail_value("an integer does not fit 64 bits");
  return out;
}

// Ties go to the even digit, as in Python.
Value rounded(Evaluator&, const Value& input, Arguments& arguments) {
  const Value* precision = arguments.take(0, "precision");
  const Value* method = arguments.take(1, "method");
  arguments.finish("round");
  double real;
  if (!input.as_real(real)) fail_value("round takes a number, found %s", input.type_name());
  const int64_t digits = precision ? integer_argument(*precision, "precision") : 0;
  if (digits < -300 || digits > 300) fail_value("precision is %lld", static_cast<long long>(digits));
  const std::string how = method ? text_argument(*method, "method") : "common";
  const double scale = std::pow(10.0, double(digits));
  if (how == "ceil") return std::ceil(real * scale) / scale;
  if (how == "floor") return std::floor(real * scale) / scale;
  if (how != "common")
    fail_value("method is %s, expected common, ceil or floor", ruda::in_quotes(how).c_str());
  int64_t integer;
  if (input.as_integer(integer)) return digits < 0 ? rounded_integer(integer, -digits) : integer;
  if (digits < 0) return std::nearbyint(real * scale) / scale;
  char text[700];
  const auto end = std::to_chars(text, text + sizeof text, real, std::chars_format::fixed, int(digits)).ptr;
  double out = real;
  std::from_chars(text, end, out);
  return out;
}

Value replace(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  const Value* from = arguments.take(0, "old");
  const Value* to = arguments.take(1, "new");
  const Value* count = arguments.take(2, "count");
  arguments.finish("replace");
  if (!from || !to) fail_value("replace takes two texts");
  const int64_t times = count && !count->is_none() ? integer_argument(*count, "count") : -1;
  return Value(replace_all(evaluator, soft_text(evaluator, input), soft_text(evaluator, *from),
                           soft_text(evaluator, *to), times));
}

Value indent(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  const Value* width = arguments.take(0, "width");
  const bool first = flag(arguments, 1, "first"), blank = flag(arguments, 2, "blank");
  arguments.finish("indent");
  std::string space(4, ' ');
  if (width && width->text()) {
    space = *width->text();
    evaluator.charge(space.size());
  } else if (width) {
    const int64_t count = integer_argument(*width, "width");
    if (count > 10'000) fail_value("width is %lld, at most 10000", static_cast<long long>(count));
    space.assign(size_t(std::max<int64_t>(count, 0)), ' ');
  }
  // The added newline keeps an empty last line.
  const Items lines = split_lines(evaluator, soft_text(evaluator, input) + "\n", false);
  std::string out = first ? space : "";
  for (size_t i = 0; i < lines.size(); ++i) {
    const std::string& line = *lines[i].text();
    if (i) out += '\n';
    if (i && (blank || !line.empty())) {
      evaluator.charge(space.size());
      out += space;
    }
    out += line;
  }
  return evaluator.make_text(std::move(out));
}

Value to_json(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  JsonStyle style;
  style.ascii = flag(arguments, 0, "ensure_ascii");
  const Value* indent = arguments.take(1, "indent");
  const Value* separators = arguments.take(2, "separators");
  style.sort_keys = flag(arguments, 3, "sort_keys");
  arguments.finish("tojson");
  if (indent && !indent->is_none()) {
    const int64_t count = integer_argument(*indent, "indent");
    if (count > 100) fail_value("indent is %lld, at most 100", static_cast<long long>(count));
    style.indent = int(std::max<int64_t>(count, 0));
    style.item_separator.assign(1, ',');
  }
  if (separators && !separators->is_none()) {
    const List* pair = separators->list();
    if (!pair || pair->items.size() != 2) fail_value("separators takes a pair of texts");
    style.item_separator = text_argument(pair->items[0], "a separator");
    style.key_separator = text_argument(pair->items[1], "a separator");
    if (style.item_separator.size() + style.key_separator.size() > 1000)
      fail_value("separators are too long");
  }
  evaluator.step(input.weight() * (style.sort_keys ? 8 : 1));
  style.max_bytes = evaluator.bytes_left();
  std::string out;
  append_json(out, input, style);
  return evaluator.make_text(std::move(out));
}

Value center(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  if (arguments.positional.empty() && arguments.named.empty()) arguments.positional.emplace_back(int64_t{80});
  return call_text_method(evaluator, soft_text(evaluator, input), "center", arguments);
}

Value word_count(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  arguments.finish("wordcount");
  int64_t words = 0;
  bool inside = false;
  const std::string text = soft_text(evaluator, input);
  for (size_t at = 0; at < text.size();) {
    const text::Decoded d = text::decode_utf8(std::string_view(text).substr(at));
    const text::CharClass c = text::char_class(d.code);
    const bool part = text::is_letter(c) || c == text::CharClass::number || d.code == '_';
    words += part && !inside;
    inside = part;
    at += d.bytes;
  }
  return words;
}

Value format(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  const Value values = evaluator.make_list(arguments.positional, true);
  if (!arguments.named.empty()) fail_value("format takes positional values only");
  return binary(evaluator, "%", Value(soft_text(evaluator, input)), values);
}

struct NamedFilter {
  std::string_view name;
  Filter filter;
};
constexpr NamedFilter filters[] = {
    {"trim", trim},
    {"upper", upper},
    {"lower", lower},
    {"capitalize", capitalize},
    {"title", title},
    {"string", to_string},
    {"safe", safe},
    {"escape", escape},
    {"e", escape},
    {"forceescape", escape},
    {"length", length},
    {"count", length},
    {"default", with_default},
    {"d", with_default},
    {"int", to_int},
    {"float", to_float},
    {"abs", absolute},
    {"round", rounded},
    {"replace", replace},
    {"indent", indent},
    {"tojson", to_json},
    {"center", center},
    {"wordcount", word_count},
    {"format", format},
};

}  // namespace

Filter find_filter(std::string_view name) {
  for (const NamedFilter& entry : filters)
    if (entry.name == name) return entry.filter;
  return nullptr;
}

}  // namespace ruda::jinja
