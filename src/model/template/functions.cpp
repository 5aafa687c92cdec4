// src/model/template/functions.cpp - global functions, tests, and the methods of dictionaries and lists.
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"
#include "model/template/evaluate.hpp"
#include "model/text/unicode.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <ctime>

namespace ruda::jinja {
namespace {

constexpr int64_t max_range = 100'000;  // the sandbox's own limit

Value range(Evaluator& evaluator, Arguments& arguments) {
  int64_t bounds[3] = {0, 0, 1};
  const size_t count = arguments.positional.size();
  if (count < 1 || count > 3) fail_value("range takes 1 to 3 arguments, %zu are given", count);
  for (size_t i = 0; i < count; ++i)
    bounds[i] = integer_argument(*arguments.take(i, "range"), "an argument of range");
  if (count == 1) std::swap(bounds[0], bounds[1]);
  const auto [begin, end, step] = bounds;
  if (step == 0) fail_value("the step of range is zero");
  const bool some = step > 0 ? begin < end : begin > end;
  // The distance fits 64 bits without a sign.
  const uint64_t distance = !some      ? 0
                            : step > 0 ? uint64_t(end) - uint64_t(begin)
                                       : uint64_t(begin) - uint64_t(end);
  const uint64_t stride = step > 0 ? uint64_t(step) : uint64_t(0) - uint64_t(step);
  const uint64_t size = distance / stride + (distance % stride != 0);
  RUDA_CHECK(size <= uint64_t(max_range), RUDA_E_BUDGET, -1,
             "template: range has %llu elements, at most %lld", static_cast<unsigned long long>(size),
             static_cast<long long>(max_range));
  Items items;
  for (uint64_t i = 0; i < size; ++i) items.emplace_back(int64_t(uint64_t(begin) + i * uint64_t(step)));
  return evaluator.make_list(std::move(items));
}

Value strftime_now(Evaluator& evaluator, Arguments& arguments) {
  const Value* given = arguments.take(0, "format");
  const std::string format = given ? text_argument(*given, "format") : "";
  if (format.size() > 256) fail_value("a time format has %zu bytes, at most 256", format.size());
  if (format.empty()) return Value(std::string());
  const time_t now = evaluator.now();
  std::tm local{};
  // The years that Python has.
  if (!localtime_r(&now, &local) || local.tm_year < 1 - 1900 || local.tm_year > 9999 - 1900)
    fail_value("strftime_now: the time %lld is not in the years 1 to 9999",
               static_cast<long long>(evaluator.now()));
  char text[2048];
  const size_t bytes = std::strftime(text, sizeof text, format.c_str(), &local);
  return evaluator.make_text(std::string(text, bytes));
}

Value named_pairs(Evaluator& evaluator, Arguments& arguments) {
  Pairs pairs;
  if (const Value* source = arguments.positional.empty() ? nullptr : arguments.take(0, "")) {
    if (!source->dict()) fail_value("dict takes a dict, found %s", source->type_name());
    pairs = source->dict()->pairs;
  }
  for (auto& [name, value] : arguments.named) {
    evaluator.step(1 + pairs.size() * (1 + name.size() / 64) / 16);
    const auto same = std::find_if(pairs.begin(), pairs.end(), [&, key = &name](const auto& pair) {
      return pair.first.text() && *pair.first.text() == *key;
    });
    if (same != pairs.end())
      same->second = value;
    else
      pairs.emplace_back(Value(name), value);
  }
  arguments.named.clear();
  return evaluator.make_dict(std::move(pairs));
}

bool is_number(const Value& value) {
  int64_t i;
  return value.as_integer(i) || value.real();
}

const Value& argument(Arguments& arguments, const char* test) {
  const Value* given = arguments.take(0, "other");
  if (!given) fail_value("test '%s' needs an argument", test);
  return *given;
}

bool compares(Evaluator& evaluator, const char* op, const Value& value, Arguments& arguments) {
  return compare_values(evaluator, op, value, argument(arguments, op));
}

int64_t parity(const Value& value) { return binary_modulo(integer_argument(value, "the value"), 2); }

bool cased(Evaluator& evaluator, const Value& value, bool upper) {
  const std::string text = soft_text(evaluator, value);
  step_text(evaluator, text);
  bool some = false;
  for (size_t at = 0; at < text.size();) {
    const text::Decoded d = text::decode_utf8(std::string_view(text).substr(at));
    const text::CharClass c = text::char_class(d.code);
    if (c == (upper ? text::CharClass::lower_letter : text::CharClass::upper_letter) ||
        c == text::CharClass::title_letter)
      return false;
    some = some || c == text::CharClass::upper_letter || c == text::CharClass::lower_letter;
    at += d.bytes;
  }
  return some;
}

bool is_same(Evaluator& evaluator, const Value& a, const Value& b) {
  if (a.text() && b.text()) step_bytes(evaluator, std::min(a.text()->size(), b.text()->size()));
  return same(a, b);
}

struct NamedTest {
  std::string_view name;
  Test test;
};

#define RUDA_TEST(expression)                              \
  [](Evaluator& e, const Value& v, Arguments& a) -> bool { \
    (void)e;                                               \
    (void)v;                                               \
    (void)a;                                               \
    return expression;                                     \
  }
constexpr NamedTest tests[] = {
    {"defined", RUDA_TEST(!v.is_undefined())},
    {"undefined", RUDA_TEST(v.is_undefined())},
    {"none", RUDA_TEST(v.is_none())},
    {"boolean", RUDA_TEST(v.boolean() != nullptr)},
    {"true", RUDA_TEST(v.boolean() && *v.boolean())},
    {"false", RUDA_TEST(v.boolean() && !*v.boolean())},
    {"integer", RUDA_TEST(v.integer() != nullptr)},
    {"float", RUDA_TEST(v.real() != nullptr)},
    {"number", RUDA_TEST(is_number(v))},
    {"string", RUDA_TEST(v.text() != nullptr)},
    {"mapping", RUDA_TEST(v.dict() != nullptr)},
    {"iterable", RUDA_TEST(v.text() || v.list() || v.dict() || v.is_undefined() || v.loop())},
    {"sequence", RUDA_TEST(v.text() || v.list() || v.dict() || v.is_undefined())},
    {"callable", RUDA_TEST(v.callable() != nullptr)},
    {"odd", RUDA_TEST(parity(v) == 1)},
    {"even", RUDA_TEST(parity(v) == 0)},
    {"divisibleby", RUDA_TEST(binary_modulo(integer_argument(v, "the value"),
                                            integer_argument(argument(a, "divisibleby"), "num")) == 0)},
    {"lower", RUDA_TEST(cased(e, v, false))},
    {"upper", RUDA_TEST(cased(e, v, true))},
    {"escaped", RUDA_TEST(false)},
    {"sameas", RUDA_TEST(is_same(e, v, argument(a, "sameas")))},
    {"filter", RUDA_TEST(v.text() && (find_filter(*v.text()) || find_sequence_filter(*v.text())))},
    {"test", RUDA_TEST(v.text() && find_test(*v.text()))},
    {"in", RUDA_TEST(compares(e, "in", v, a))},
    {"eq", RUDA_TEST(compares(e, "==", v, a))},
    {"equalto", RUDA_TEST(compares(e, "==", v, a))},
    {"==", RUDA_TEST(compares(e, "==", v, a))},
    {"ne", RUDA_TEST(compares(e, "!=", v, a))},
    {"!=", RUDA_TEST(compares(e, "!=", v, a))},
    {"lt", RUDA_TEST(compares(e, "<", v, a))},
    {"lessthan", RUDA_TEST(compares(e, "<", v, a))},
    {"<", RUDA_TEST(compares(e, "<", v, a))},
    {"le", RUDA_TEST(compares(e, "<=", v, a))},
    {"<=", RUDA_TEST(compares(e, "<=", v, a))},
    {"gt", RUDA_TEST(compares(e, ">", v, a))},
    {"greaterthan", RUDA_TEST(compares(e, ">", v, a))},
    {">", RUDA_TEST(compares(e, ">", v, a))},
    {"ge", RUDA_TEST(compares(e, ">=", v, a))},
    {">=", RUDA_TEST(compares(e, ">=", v, a))},
};
#undef RUDA_TEST

constexpr std::string_view dict_methods[] = {"get", "items", "keys", "values", "copy"};
constexpr std::string_view list_methods[] = {"index", "count", "copy"};
constexpr std::string_view changing_methods[] = {"append", "extend",     "insert", "pop",
                                                 "remove", "reverse",    "sort",   "clear",
                                                 "update", "setdefault", "popitem"};

bool one_of(std::string_view name, const auto& list) {
  return std::find(std::begin(list), std::end(list), name) != std::end(list);
}

Value dict_method(Evaluator& evaluator, const Value& object, std::string_view name, Arguments& arguments) {
  const Dict& dict = *object.dict();
  if (name == "get") {
    const Value* key = arguments.take(0, "key");
    if (!key) fail_value("dict.get needs a key");
    const Value* fallback = arguments.take(1, "default");
    step_lookup(evaluator, dict.pairs.size(), *key);
    const Value* found = dict.find(*key);
    return found ? *found : fallback ? *fallback : Value(None{});
  }
  if (name == "copy") return object;
  Items items;
  for (const auto& [key, value] : dict.pairs) {
    if (name == "items")
      items.push_back(evaluator.make_list({key, value}, true));
    else
      items.push_back(name == "keys" ? key : value);
  }
  return evaluator.make_list(std::move(items));
}

Value list_method(Evaluator& evaluator, const Value& object, std::string_view name, Arguments& arguments) {
  if (name == "copy") return object;
  const Value* wanted = arguments.take(0, "value");
  if (!wanted) fail_value("an argument is missing");
  evaluator.step(object.work());
  const Items& items = object.list()->items;
  int64_t count = 0;
  for (size_t i = 0; i < items.size(); ++i)
    if (equal(items[i], *wanted)) {
      if (name == "index") return int64_t(i);
      ++count;
    }
  if (name == "index") fail_value("the value is not in the list");
  return count;
}

}  // namespace

int64_t binary_modulo(int64_t a, int64_t b) {
  if (b == 0) fail_value("modulo by zero");
  if (b == -1) return 0;
  const int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

bool same(const Value& a, const Value& b) {
  if (a.boolean() || b.boolean()) return a.boolean() && b.boolean() && *a.boolean() == *b.boolean();
  if (a.text() && b.text()) return a.text() == b.text() || *a.text() == *b.text();
  if (a.list() || b.list()) return a.list() == b.list();
  if (a.dict() || b.dict()) return a.dict() == b.dict();
  return std::string_view(a.type_name()) == b.type_name() && equal(a, b);
}

Test find_test(std::string_view name) {
  for (const NamedTest& entry : tests)
    if (entry.name == name) return entry.test;
  return nullptr;
}

bool is_global(std::string_view name) {
  return name == "range" || name == "dict" || name == "namespace" || name == "raise_exception" ||
         name == "strftime_now";
}

Value call_global(Evaluator& evaluator, std::string_view name, Arguments& arguments) {
  evaluator.step();
  Value result;
  if (name == "range") {
    result = range(evaluator, arguments);
  } else if (name == "dict") {
    result = named_pairs(evaluator, arguments);
  } else if (name == "namespace") {
    const Value pairs = named_pairs(evaluator, arguments);
    Names names;
    for (const auto& [key, value] : pairs.dict()->pairs) names.emplace_back(soft_text(evaluator, key), value);
    result = evaluator.make_namespace(std::move(names));
  } else if (name == "strftime_now") {
    result = strftime_now(evaluator, arguments);
  } else {
    const Value* message = arguments.take(0, "message");
    fail(RUDA_E_ARGUMENT, -1, "template line %d: %s", evaluator.line(),
         message ? str(*message).c_str() : "refused");
  }
  arguments.finish(std::string(name).c_str());
  return result;
}

bool has_method(const Value& object, std::string_view name) {
  if (object.text()) return is_text_method(name);
  if (object.dict())
    return one_of(name, dict_methods) || name == "pop" || name == "update" || name == "setdefault" ||
           name == "clear" || name == "popitem";
  if (object.list())
    return one_of(name, list_methods) || (!object.list()->tuple && one_of(name, changing_methods));
  return false;
}

Value call_method(Evaluator& evaluator, const Value& object, std::string_view name, Arguments& arguments) {
  if (object.text()) return call_text_method(evaluator, *object.text(), name, arguments);
  evaluator.step();
  const bool known = object.dict() ? one_of(name, dict_methods) : one_of(name, list_methods);
  if (!known)
    fail_value("%s.%s would change its object, which templates may not", object.type_name(),
               std::string(name).c_str());
  const Value result = object.dict() ? dict_method(evaluator, object, name, arguments)
                                     : list_method(evaluator, object, name, arguments);
  arguments.finish(std::string(name).c_str());
  return result;
}

}  // namespace ruda::jinja
