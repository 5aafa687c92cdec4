// src/model/template/sequence_filters.cpp - filters over lists and dictionaries.
// SPDX-License-Identifier: Apache-2.0
#include "model/template/evaluate.hpp"
#include "model/text/unicode.hpp"
#include "core/text.hpp"

#include <algorithm>

namespace ruda::jinja {
namespace {

Value first(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  arguments.finish("first");
  const Items items = evaluator.iterate(input);
  return items.empty() ? Value::undefined("the first item of an empty sequence") : items.front();
}

Value last(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  arguments.finish("last");
  const Items items = evaluator.iterate(input);
  return items.empty() ? Value::undefined("the last item of an empty sequence") : items.back();
}

Value to_list(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  arguments.finish("list");
  return evaluator.make_list(evaluator.iterate(input));
}

Value reverse(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  arguments.finish("reverse");
  Items items = evaluator.iterate(input);
  std::reverse(items.begin(), items.end());
  if (!input.text()) return evaluator.make_list(std::move(items));
  return Value(join_texts(evaluator, items, ""));
}

// A dotted path such as "function.name"; numbers are indices.
Value follow(Evaluator& evaluator, const Value& start, const Value& path) {
  if (!path.text()) return evaluator.item(start, path);
  Value value = start;
  std::string_view rest = *path.text();
  step_bytes(evaluator, rest.size());
  while (true) {
    const size_t dot = rest.find('.');
    const std::string part(rest.substr(0, dot));
    const bool digits =
        !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == part.npos;
    value = evaluator.item(value, digits ? Value(int64_t(std::stol(part))) : Value(part));
    if (dot == rest.npos) return value;
    rest.remove_prefix(dot + 1);
  }
}

Value items_of(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  arguments.finish("items");
  if (input.is_undefined()) return evaluator.make_list({});
  if (!input.dict()) fail_value("items takes a mapping, found %s", input.type_name());
  Arguments none;
  return call_method(evaluator, input, "items", none);
}

Value join(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  const Value* separator = arguments.take(0, "d");
  const Value* attribute = arguments.take(1, "attribute");
  arguments.finish("join");
  Items items = evaluator.iterate(input);
  if (attribute && !attribute->is_none())
    for (Value& item : items) item = follow(evaluator, item, *attribute);
  return Value(join_texts(evaluator, items, separator ? soft_text(evaluator, *separator) : std::string()));
}

// The arguments of map, select and reject after the first: those of the inner filter or test.
Arguments rest_of(Evaluator& evaluator, Arguments& arguments, size_t from) {
  evaluator.step(arguments.positional.size() + arguments.named.size());
  Arguments out;
  for (size_t i = from; i < arguments.positional.size(); ++i)
    out.positional.push_back(arguments.positional[i]);
  out.named = arguments.named;
  return out;
}

Value map(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  Items items = evaluator.iterate(input);
  if (arguments.positional.empty()) {
    const Value* attribute = arguments.take(0, "attribute");
    const Value* fallback = arguments.take(1, "default");
    arguments.finish("map");
    if (!attribute) fail_value("map needs the name of a filter or an attribute");
    for (Value& item : items) {
      item = follow(evaluator, item, *attribute);
      if (fallback && item.is_undefined()) item = *fallback;
    }
  } else {
    const std::string name = text_argument(arguments.positional[0], "the filter of map");
    for (Value& item : items) {
      Arguments inner = rest_of(evaluator, arguments, 1);
      item = evaluator.apply_filter(name, item, inner);
    }
  }
  return evaluator.make_list(std::move(items));
}

Value choose(Evaluator& evaluator, const Value& input, Arguments& arguments, bool by_attribute, bool keep) {
  Items out;
  const size_t first = by_attribute;
  if (arguments.positional.size() < first) fail_value("the name of an attribute is missing");
  std::string test;
  if (arguments.positional.size() > first)
    test = text_argument(arguments.positional[first], "the name of a test");
  for (Value& item : evaluator.iterate(input)) {
    const Value subject = by_attribute ? follow(evaluator, item, arguments.positional[0]) : item;
    Arguments inner = rest_of(evaluator, arguments, first + 1);
    const bool passes = test.empty() ? subject.truth() : evaluator.apply_test(test, subject, inner);
    if (passes == keep) out.push_back(std::move(item));
  }
  return evaluator.make_list(std::move(out));
}

Value select(Evaluator& e, const Value& input, Arguments& a) { return choose(e, input, a, false, true); }
Value reject(Evaluator& e, const Value& input, Arguments& a) { return choose(e, input, a, false, false); }
Value select_attr(Evaluator& e, const Value& input, Arguments& a) { return choose(e, input, a, true, true); }
Value reject_attr(Evaluator& e, const Value& input, Arguments& a) { return choose(e, input, a, true, false); }

// Text compares without case unless asked otherwise, as the filters of Jinja do.
Value sort_key(Evaluator& evaluator, const Value& value, bool case_sensitive) {
  if (case_sensitive || !value.text()) return value;
  step_case(evaluator, *value.text());
  evaluator.charge(value.text()->size());
  return Value(text::to_lower(*value.text()));
}

using Keyed = std::pair<Value, Value>;

void sort_keyed(Evaluator& evaluator, std::vector<Keyed>& list, bool descending) {
  uint64_t weight = 0;
  for (const Keyed& entry : list) weight = std::min(weight + entry.first.work(), UINT64_MAX / 256);
  for (size_t n = list.size(); n > 0; n /= 2) evaluator.step(weight);
  std::stable_sort(list.begin(), list.end(), [descending](const Keyed& a, const Keyed& b) {
    return descending ? compare(b.first, a.first) < 0 : compare(a.first, b.first) < 0;
  });
}

bool given_flag(Arguments& arguments, size_t position, const char* name) {
  const Value* given = arguments.take(position, name);
  return given && given->truth();
}

Value sort(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  const bool descending = given_flag(arguments, 0, "reverse"),
             cased = given_flag(arguments, 1, "case_sensitive");
  const Value* attribute = arguments.take(2, "attribute");
  arguments.finish("sort");
  std::vector<Keyed> keyed;
  for (Value& item : evaluator.iterate(input)) {
    const bool follows = attribute && !attribute->is_none();
    keyed.emplace_back(sort_key(evaluator, follows ? follow(evaluator, item, *attribute) : item, cased),
                       item);
  }
  sort_keyed(evaluator, keyed, descending);
  Items out;
  for (Keyed& entry : keyed) out.push_back(std::move(entry.second));
  return evaluator.make_list(std::move(out));
}

Value dict_sort(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  const bool cased = given_flag(arguments, 0, "case_sensitive");
  const Value* by = arguments.take(1, "by");
  const bool descending = given_flag(arguments, 2, "reverse");
  arguments.finish("dictsort");
  if (!input.dict()) fail_value("dictsort takes a mapping, found %s", input.type_name());
  const bool by_value = by && text_argument(*by, "by") == "value";
  std::vector<Keyed> keyed;
  for (const auto& [key, value] : input.dict()->pairs)
    keyed.emplace_back(sort_key(evaluator, by_value ? value : key, cased),
                       evaluator.make_list({key, value}, true));
  sort_keyed(evaluator, keyed, descending);
  Items out;
  for (Keyed& entry : keyed) out.push_back(std::move(entry.second));
  return evaluator.make_list(std::move(out));
}

Value unique(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  const bool cased = given_flag(arguments, 0, "case_sensitive");
  const Value* attribute = arguments.take(1, "attribute");
  arguments.finish("unique");
  Items keys, out;
  for (Value& item : evaluator.iterate(input)) {
    const bool follows = attribute && !attribute->is_none();
    Value key = sort_key(evaluator, follows ? follow(evaluator, item, *attribute) : item, cased);
    for (const Value& seen : keys) evaluator.step(std::min(seen.work(), key.work()));
    if (std::any_of(keys.begin(), keys.end(), [&](const Value& seen) { return equal(seen, key); })) continue;
    keys.push_back(std::move(key));
    out.push_back(std::move(item));
  }
  return evaluator.make_list(std::move(out));
}

Value extreme(Evaluator& evaluator, const Value& input, Arguments& arguments, bool largest) {
  const bool cased = given_flag(arguments, 0, "case_sensitive");
  const Value* attribute = arguments.take(1, "attribute");
  arguments.finish(largest ? "max" : "min");
  const Items items = evaluator.iterate(input);
  if (items.empty()) return Value::undefined("an item of an empty sequence");
  const auto key_of = [&](const Value& item) {
    const bool follows = attribute && !attribute->is_none();
    return sort_key(evaluator, follows ? follow(evaluator, item, *attribute) : item, cased);
  };
  size_t best = 0;
  Value best_key = key_of(items[0]);
  for (size_t i = 1; i < items.size(); ++i) {
    Value key = key_of(items[i]);
    evaluator.step(std::min(key.work(), best_key.work()));
    const int order = compare(key, best_key);
    if (largest ? order > 0 : order < 0) best = i, best_key = std::move(key);
  }
  return items[best];
}

Value smallest(Evaluator& e, const Value& input, Arguments& a) { return extreme(e, input, a, false); }
Value largest(Evaluator& e, const Value& input, Arguments& a) { return extreme(e, input, a, true); }

Value sum(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  const Value* attribute = arguments.take(0, "attribute");
  const Value* start = arguments.take(1, "start");
  arguments.finish("sum");
  Value total = start ? *start : Value(int64_t{0});
  for (const Value& item : evaluator.iterate(input)) {
    const bool follows = attribute && !attribute->is_none();
    total = binary(evaluator, "+", total, follows ? follow(evaluator, item, *attribute) : item);
  }
  return total;
}

Value attr(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  const Value* name = arguments.take(0, "name");
  arguments.finish("attr");
  if (!name) fail_value("attr needs a name");
  const std::string text = soft_text(evaluator, *name);
  if (input.dict() && !has_method(input, text)) return Value::undefined(text);
  return evaluator.attribute(input, text);
}

Value batch(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  const Value* size_given = arguments.take(0, "linecount");
  const Value* fill = arguments.take(1, "fill_with");
  arguments.finish("batch");
  const int64_t size = size_given ? integer_argument(*size_given, "linecount") : 0;
  if (size < 1 || size > 1'000'000) fail_value("linecount is %lld", static_cast<long long>(size));
  Items out, row;
  for (const Value& item : evaluator.iterate(input)) {
    if (int64_t(row.size()) == size) out.push_back(evaluator.make_list(std::exchange(row, {})));
    row.push_back(item);
  }
  if (!row.empty()) {
    while (fill && !fill->is_none() && int64_t(row.size()) < size) row.push_back(*fill);
    out.push_back(evaluator.make_list(std::move(row)));
  }
  return evaluator.make_list(std::move(out));
}

Value group_by(Evaluator& evaluator, const Value& input, Arguments& arguments) {
  const Value* attribute = arguments.take(0, "attribute");
  const Value* fallback = arguments.take(1, "default");
  const bool cased = given_flag(arguments, 2, "case_sensitive");
  arguments.finish("groupby");
  if (!attribute) fail_value("groupby needs an attribute");
  std::vector<Keyed> keyed;
  const auto key_of = [&](const Value& item) {
    Value key = follow(evaluator, item, *attribute);
    return key.is_undefined() && fallback ? *fallback : key;
  };
  for (Value& item : evaluator.iterate(input))
    keyed.emplace_back(sort_key(evaluator, key_of(item), cased), item);
  sort_keyed(evaluator, keyed, false);
  Items out;
  for (size_t i = 0; i < keyed.size();) {
    size_t end = i;
    Items group;
    while (end < keyed.size() && equal(keyed[end].first, keyed[i].first))
      group.push_back(keyed[end++].second);
    const Value key = key_of(keyed[i].second);
    out.push_back(evaluator.make_list({key, evaluator.make_list(std::move(group))}, true));
    i = end;
  }
  return evaluator.make_list(std::move(out));
}

struct NamedFilter {
  std::string_view name;
  Filter filter;
};
constexpr NamedFilter filters[] = {
    {"first", first},
    {"last", last},
    {"list", to_list},
    {"reverse", reverse},
    {"items", items_of},
    {"join", join},
    {"map", map},
    {"select", select},
    {"reject", reject},
    {"selectattr", select_attr},
    {"rejectattr", reject_attr},
    {"sort", sort},
    {"dictsort", dict_sort},
    {"unique", unique},
    {"min", smallest},
    {"max", largest},
    {"sum", sum},
    {"attr", attr},
    {"batch", batch},
    {"groupby", group_by},
};

}  // namespace

Filter find_sequence_filter(std::string_view name) {
  for (const NamedFilter& entry : filters)
    if (entry.name == name) return entry.filter;
  return nullptr;
}

}  // namespace ruda::jinja
