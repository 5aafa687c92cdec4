// src/model/template/text_methods.cpp - the methods of Python's str that templates call.
// SPDX-License-Identifier: Apache-2.0
#include "model/template/evaluate.hpp"
#include "model/text/unicode.hpp"
#include "core/text.hpp"

#include <algorithm>

namespace ruda::jinja {
namespace {

using text::CharClass;

// A text argument that may be missing or None.
const std::string* optional_text(Arguments& arguments, size_t position, const char* name) {
  const Value* given = arguments.take(position, name);
  if (!given || given->is_none()) return nullptr;
  if (!given->text()) fail_value("argument '%s' is of type %s, expected str", name, given->type_name());
  return given->text();
}

std::string required_text(Arguments& arguments, size_t position, const char* name) {
  const Value* given = arguments.take(position, name);
  if (!given) fail_value("argument '%s' is missing", name);
  return text_argument(*given, name);
}

int64_t optional_integer(Arguments& arguments, size_t position, const char* name, int64_t fallback) {
  const Value* given = arguments.take(position, name);
  return given && !given->is_none() ? integer_argument(*given, name) : fallback;
}

Value strip_method(Evaluator& evaluator, const std::string& text, Arguments& arguments, bool left,
                   bool right) {
  return evaluator.make_text(strip(evaluator, text, optional_text(arguments, 0, "chars"), left, right));
}

Value split_method(Evaluator& evaluator, const std::string& text, Arguments& arguments, bool right) {
  const std::string* separator = optional_text(arguments, 0, "sep");
  return evaluator.make_list(
      split_text(evaluator, text, separator, optional_integer(arguments, 1, "maxsplit", -1), right));
}

bool ends_or_starts(const std::string& text, const Value& what, bool start) {
  const std::string* part = what.text();
  if (!part) fail_value("startswith and endswith take str or a tuple of str, found %s", what.type_name());
  return start ? text.starts_with(*part) : text.ends_with(*part);
}

Value affix_method(const std::string& text, Arguments& arguments, bool start) {
  const Value* what = arguments.take(0, start ? "prefix" : "suffix");
  if (!what) fail_value("an argument is missing");
  if (!what->list() || !what->list()->tuple) return ends_or_starts(text, *what, start);
  return std::any_of(what->list()->items.begin(), what->list()->items.end(),
                     [&](const Value& part) { return ends_or_starts(text, part, start); });
}

// Index in characters, -1 when absent.
Value find_method(Evaluator& evaluator, const std::string& text, Arguments& arguments, bool right,
                  bool must) {
  const std::string what = required_text(arguments, 0, "sub");
  step_search(evaluator, text, what);
  if (right) evaluator.charge(what.size() * sizeof(size_t));
  const size_t at = right ? find_last_text(text, what) : find_text(text, what);
  if (at == text.npos && must) fail_value("substring not found");
  if (at == text.npos) return int64_t{-1};
  step_text(evaluator, std::string_view(text).substr(0, at));
  return int64_t(text::count_chars(std::string_view(text).substr(0, at)));
}

Value count_method(Evaluator& evaluator, const std::string& text, Arguments& arguments) {
  const std::string what = required_text(arguments, 0, "sub");
  step_search(evaluator, text, what);
  if (what.empty()) {
    step_text(evaluator, text);
    return int64_t(text::count_chars(text)) + 1;
  }
  int64_t count = 0;
  for (size_t at = find_text(text, what); at != text.npos; at = find_text(text, what, at + what.size())) {
    evaluator.step();
    ++count;
  }
  return count;
}

// True when the text is not empty and `test` holds for each character's class.
template <class Test>
bool all_chars(Evaluator& evaluator, const std::string& text, Test test) {
  evaluator.step(text.size() / 16);
  for (size_t at = 0; at < text.size();) {
    const text::Decoded d = text::decode_utf8(std::string_view(text).substr(at));
    if (!test(d.code, text::char_class(d.code))) return false;
    at += d.bytes;
  }
  return !text.empty();
}

bool has_case(Evaluator& evaluator, const std::string& text, bool upper) {
  bool some = false;
  const bool right = all_chars(evaluator, text, [&](uint32_t, CharClass c) {
    some = some || c == CharClass::upper_letter || c == CharClass::lower_letter;
    return c != (upper ? CharClass::lower_letter : CharClass::upper_letter) && c != CharClass::title_letter;
  });
  return right && some;
}

Value partition_method(Evaluator& evaluator, const std::string& text, Arguments& arguments, bool right) {
  const std::string separator = required_text(arguments, 0, "sep");
  if (separator.empty()) fail_value("empty separator");
  step_search(evaluator, text, separator);
  if (right) evaluator.charge(separator.size() * sizeof(size_t));
  const size_t at = right ? find_last_text(text, separator) : find_text(text, separator);
  Items parts;
  if (at == text.npos) {
    parts = {Value(text), Value(std::string()), Value(std::string())};
    if (right) std::swap(parts[0], parts[2]);
  } else {
    parts = {Value(text.substr(0, at)), Value(separator), Value(text.substr(at + separator.size()))};
  }
  evaluator.charge(text.size());
  return evaluator.make_list(std::move(parts), true);
}

Value pad_method(Evaluator& evaluator, const std::string& text, Arguments& arguments, std::string_view name) {
  const Value* width_given = arguments.take(0, "width");
  const int64_t width = width_given ? integer_argument(*width_given, "width") : 0;
  const std::string* fill_given = name == "zfill" ? nullptr : optional_text(arguments, 1, "fillchar");
  const std::string fill = fill_given ? *fill_given : name == "zfill" ? "0" : " ";
  if (text::count_chars(fill) != 1) fail_value("the fill character must be one character long");
  step_text(evaluator, text);
  const auto size = int64_t(text::count_chars(text));
  if (width <= size) return evaluator.make_text(text);
  const int64_t missing = width - size;
  if (missing > int64_t(max_weight))
    fail_value("a width of %lld is too large", static_cast<long long>(width));
  evaluator.charge(uint64_t(missing) * fill.size());
  int64_t left = name == "ljust" ? 0 : missing;
  if (name == "center") left = missing / 2 + (missing & width & 1);
  std::string out;
  const bool sign = name == "zfill" && !text.empty() && (text[0] == '-' || text[0] == '+');
  if (sign) out += text[0];
  for (int64_t i = 0; i < left; ++i) out += fill;
  out += text.substr(sign);
  for (int64_t i = left; i < missing; ++i) out += fill;
  return evaluator.make_text(std::move(out));
}

// str.format with {}, {0}, {name} and doubled braces; no format specifications.
Value format_method(Evaluator& evaluator, const std::string& format, Arguments& arguments) {
  std::string out;
  size_t automatic = 0;
  step_text(evaluator, format);
  for (size_t i = 0; i < format.size(); ++i) {
    const char c = format[i];
    if ((c == '{' || c == '}') && i + 1 < format.size() && format[i + 1] == c) {
      out += c;
      ++i;
      continue;
    }
    if (c == '}') fail_value("single '}' in a format");
    if (c != '{') {
      out += c;
      continue;
    }
    const size_t close = format.find('}', i);
    if (close == format.npos) fail_value("single '{' in a format");
    const std::string field = format.substr(i + 1, close - i - 1);
    const bool digits =
        !field.empty() && field.size() < 5 && field.find_first_not_of("0123456789") == field.npos;
    const size_t position = field.empty() ? automatic++ : digits ? std::stoul(field) : SIZE_MAX;
    evaluator.step(1 + arguments.named.size() / 16);
    const Value* value = arguments.take(position, field);
    if (!value) fail_value("a format has no value for field %s", ruda::in_quotes(field).c_str());
    const size_t before = out.size();
    step_print(evaluator, *value);
    append_str(out, *value);
    evaluator.charge(out.size() - before);
    i = close;
  }
  arguments.positional.clear();
  arguments.named.clear();
  return evaluator.make_text(std::move(out));
}

enum class Method {
  strip,
  lstrip,
  rstrip,
  split,
  rsplit,
  splitlines,
  startswith,
  endswith,
  replace,
  upper,
  lower,
  title,
  capitalize,
  find,
  rfind,
  index,
  count,
  join,
  isdigit,
  isalpha,
  isalnum,
  isspace,
  isupper,
  islower,
  isnumeric,
  isdecimal,
  removeprefix,
  removesuffix,
  partition,
  rpartition,
  ljust,
  rjust,
  center,
  zfill,
  format,
  casefold,
};

constexpr std::pair<std::string_view, Method> methods[] = {
    {"strip", Method::strip},
    {"lstrip", Method::lstrip},
    {"rstrip", Method::rstrip},
    {"split", Method::split},
    {"rsplit", Method::rsplit},
    {"splitlines", Method::splitlines},
    {"startswith", Method::startswith},
    {"endswith", Method::endswith},
    {"replace", Method::replace},
    {"upper", Method::upper},
    {"lower", Method::lower},
    {"title", Method::title},
    {"capitalize", Method::capitalize},
    {"find", Method::find},
    {"rfind", Method::rfind},
    {"index", Method::index},
    {"count", Method::count},
    {"join", Method::join},
    {"isdigit", Method::isdigit},
    {"isalpha", Method::isalpha},
    {"isalnum", Method::isalnum},
    {"isspace", Method::isspace},
    {"isupper", Method::isupper},
    {"islower", Method::islower},
    {"isnumeric", Method::isnumeric},
    {"isdecimal", Method::isdecimal},
    {"removeprefix", Method::removeprefix},
    {"removesuffix", Method::removesuffix},
    {"partition", Method::partition},
    {"rpartition", Method::rpartition},
    {"ljust", Method::ljust},
    {"rjust", Method::rjust},
    {"center", Method::center},
    {"zfill", Method::zfill},
    {"format", Method::format},
    {"casefold", Method::casefold},
};

const Method* find_method_name(std::string_view name) {
  for (const auto& [key, method] : methods)
    if (key == name) return &method;
  return nullptr;
}

Value run_method(Evaluator& e, const std::string& text, std::string_view name, Method method,
                 Arguments& arguments) {
  const auto digit = [](uint32_t code, CharClass c) {
    return c == CharClass::number && (code < 0x80 || text::char_class(code) == CharClass::number);
  };
  const bool maps = method == Method::upper || method == Method::lower || method == Method::casefold ||
                    method == Method::title || method == Method::capitalize;
  if (maps) step_case(e, text);
  switch (method) {
    case Method::strip: return strip_method(e, text, arguments, true, true);
    case Method::lstrip: return strip_method(e, text, arguments, true, false);
    case Method::rstrip: return strip_method(e, text, arguments, false, true);
    case Method::split: return split_method(e, text, arguments, false);
    case Method::rsplit: return split_method(e, text, arguments, true);
    case Method::splitlines: {
      const Value* keep = arguments.take(0, "keepends");
      return e.make_list(split_lines(e, text, keep && keep->truth()));
    }
    case Method::startswith: return affix_method(text, arguments, true);
    case Method::endswith: return affix_method(text, arguments, false);
    case Method::replace: {
      const std::string from = required_text(arguments, 0, "old"), to = required_text(arguments, 1, "new");
      return Value(replace_all(e, text, from, to, optional_integer(arguments, 2, "count", -1)));
    }
    case Method::upper: return e.make_text(text::to_upper(text));
    case Method::lower:
    case Method::casefold: return e.make_text(text::to_lower(text));
    case Method::title: return e.make_text(text::to_title(text));
    case Method::capitalize: return e.make_text(text::to_capitalized(text));
    case Method::find: return find_method(e, text, arguments, false, false);
    case Method::rfind: return find_method(e, text, arguments, true, false);
    case Method::index: return find_method(e, text, arguments, false, true);
    case Method::count: return count_method(e, text, arguments);
    case Method::join: {
      const Value* items = arguments.take(0, "iterable");
      if (!items) fail_value("an argument is missing");
      const Items parts = e.iterate(*items);
      for (const Value& part : parts) text_argument(part, "an item of join");
      return Value(join_texts(e, parts, text));
    }
    case Method::isdigit:
    case Method::isdecimal:
    case Method::isnumeric: return all_chars(e, text, digit);
    case Method::isalpha: return all_chars(e, text, [](uint32_t, CharClass c) { return text::is_letter(c); });
    case Method::isalnum:
      return all_chars(e, text,
                       [](uint32_t, CharClass c) { return text::is_letter(c) || c == CharClass::number; });
    case Method::isspace:
      return all_chars(e, text, [](uint32_t code, CharClass) { return is_text_space(code); });
    case Method::isupper: return has_case(e, text, true);
    case Method::islower: return has_case(e, text, false);
    case Method::removeprefix: {
      const std::string part = required_text(arguments, 0, "prefix");
      return e.make_text(text.starts_with(part) ? text.substr(part.size()) : text);
    }
    case Method::removesuffix: {
      const std::string part = required_text(arguments, 0, "suffix");
      return e.make_text(text.ends_with(part) ? text.substr(0, text.size() - part.size()) : text);
    }
    case Method::partition: return partition_method(e, text, arguments, false);
    case Method::rpartition: return partition_method(e, text, arguments, true);
    case Method::ljust:
    case Method::rjust:
    case Method::center:
    case Method::zfill: return pad_method(e, text, arguments, name);
    case Method::format: return format_method(e, text, arguments);
  }
  return {};
}

}  // namespace

Items split_text(Evaluator& evaluator, std::string_view text, const std::string* separator, int64_t count,
                 bool right) {
  Items out;
  const auto put = [&](std::string_view part) {
    evaluator.step();
    evaluator.charge(part.size() + sizeof(std::string) + sizeof(Value));
    out.emplace_back(std::string(part));
  };
  if (separator) {
    if (separator->empty()) fail_value("empty separator");
    step_search(evaluator, text, *separator);
    if (right) evaluator.charge(separator->size() * sizeof(size_t));
    while (count != 0) {
      const size_t at = right ? find_last_text(text, *separator) : find_text(text, *separator);
      if (at == text.npos) break;
      if (right) {
        put(text.substr(at + separator->size()));
        text = text.substr(0, at);
      } else {
        put(text.substr(0, at));
        text.remove_prefix(at + separator->size());
      }
      count -= count > 0;
    }
    put(text);
  } else {
    step_text(evaluator, text);
    std::vector<std::pair<size_t, size_t>> words;  // of all words: begin and end
    bool in_word = false;
    for (size_t at = 0; at < text.size();) {
      const text::Decoded d = text::decode_utf8(text.substr(at));
      const bool space = is_text_space(d.code);
      if (!space && !in_word) {
        evaluator.charge(sizeof(words[0]));
        words.emplace_back(at, at);
      }
      in_word = !space;
      at += d.bytes;
      if (in_word) words.back().second = at;
    }
    if (!right) {
      for (size_t i = 0; i < words.size(); ++i) {
        if (count >= 0 && int64_t(i) == count) {
          put(text.substr(words[i].first));  // the rest with its inner and trailing white space
          if (words.back().second < text.size()) {
            const std::string rest = strip(evaluator, text.substr(words[i].first), nullptr, true, false);
            out.back() = Value(rest);
          }
          return out;
        }
        put(text.substr(words[i].first, words[i].second - words[i].first));
      }
      return out;
    }
    for (size_t i = words.size(); i-- > 0;) {
      if (count >= 0 && int64_t(words.size() - 1 - i) == count) {
        put(text.substr(0, words[i].second));
        break;
      }
      put(text.substr(words[i].first, words[i].second - words[i].first));
    }
  }
  if (right) std::reverse(out.begin(), out.end());
  return out;
}

Items split_lines(Evaluator& evaluator, std::string_view text, bool keep_ends) {
  Items lines;
  size_t start = 0;
  for (size_t at = 0; at < text.size();) {
    const text::Decoded d = text::decode_utf8(text.substr(at));
    const bool breaks = (d.code >= 0x0A && d.code <= 0x0D) || (d.code >= 0x1C && d.code <= 0x1E) ||
                        d.code == 0x85 || d.code == 0x2028 || d.code == 0x2029;
    size_t end = at + d.bytes;
    if (breaks) {
      if (d.code == '\r' && end < text.size() && text[end] == '\n') ++end;
      lines.emplace_back(std::string(text.substr(start, (keep_ends ? end : at) - start)));
      start = end;
    }
    at = end;
  }
  if (start < text.size()) lines.emplace_back(std::string(text.substr(start)));
  evaluator.step(lines.size());
  evaluator.charge(text.size() + lines.size() * (sizeof(std::string) + sizeof(Value)));
  return lines;
}

std::string join_texts(Evaluator& evaluator, const Items& items, std::string_view separator) {
  std::string out;
  for (size_t i = 0; i < items.size(); ++i) {
    const size_t before = out.size();
    if (i) out += separator;
    step_print(evaluator, items[i]);
    append_str(out, items[i]);
    evaluator.step();
    evaluator.charge(out.size() - before);
  }
  return out;
}

bool is_text_method(std::string_view name) { return find_method_name(name); }

Value call_text_method(Evaluator& evaluator, const std::string& text, std::string_view name,
                       Arguments& arguments) {
  evaluator.step(1 + text.size() / 64);
  for (const Value& value : arguments.positional) evaluator.step(value.weight());
  for (const auto& [key, value] : arguments.named) evaluator.step(value.weight());
  const Value result = run_method(evaluator, text, name, *find_method_name(name), arguments);
  arguments.finish("a str method");
  return result;
}

}  // namespace ruda::jinja
