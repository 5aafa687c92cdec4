// src/model/template/value.hpp - values of the template language: Python's, as far as chat templates see
// them.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ruda::jinja {

class Value;
struct Namespace;
struct Callable;
struct Loop;

using Text = std::shared_ptr<const std::string>;
using Items = std::vector<Value>;
using Pairs = std::vector<std::pair<Value, Value>>;

struct Undefined {
  Text name;  // what was looked for; may be null
};
struct None {};

// Lists and dictionaries never change once they are made (the sandbox forbids it), so values form no cycles.
// `weight` bounds the work of walking a value: parts that are shared count as often as they are reached.
// `work` bounds that of comparing it with another, where each key of a dictionary is looked up.
struct List {
  Items items;
  bool tuple = false;
  int depth = 1;
  uint64_t weight = 1, work = 1;
};
struct Dict {
  Pairs pairs;
  int depth = 1;
  uint64_t weight = 1, work = 1;
  // nullptr when absent.
  const Value* find(const Value& key) const;
  const Value* find(std::string_view key) const;
};

class Value {
 public:
  Value() = default;
  Value(None) : data_(None{}) {}
  Value(bool value) : data_(value) {}
  Value(int64_t value) : data_(value) {}
  Value(double value) : data_(value) {}
  Value(std::string text) : data_(std::make_shared<const std::string>(std::move(text))) {}
  Value(Text text) : data_(std::move(text)) {}
  // Objects that live as long as the evaluation.
  Value(Namespace* value) : data_(value) {}
  Value(const Callable* value) : data_(value) {}
  Value(Loop* value) : data_(value) {}
  static Value undefined(std::string_view name);
  // Fail with RUDA_E_BUDGET beyond max_depth and max_weight.
  static Value list(Items items, bool tuple = false);
  static Value dict(Pairs pairs);

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_undefined(std::string_view name) const;
  bool is_none() const { return std::holds_alternative<None>(data_); }
  const bool* boolean() const { return std::get_if<bool>(&data_); }
  const int64_t* integer() const { return std::get_if<int64_t>(&data_); }
  const double* real() const { return std::get_if<double>(&data_); }
  const std::string* text() const {
    const Text* text = std::get_if<Text>(&data_);
    return text ? text->get() : nullptr;
  }
  const List* list() const {
    const auto* list = std::get_if<std::shared_ptr<const List>>(&data_);
    return list ? list->get() : nullptr;
  }
  const Dict* dict() const {
    const auto* dict = std::get_if<std::shared_ptr<const Dict>>(&data_);
    return dict ? dict->get() : nullptr;
  }
  Namespace* name_space() const { return held<Namespace*>(); }
  const Callable* callable() const { return held<const Callable*>(); }
  Loop* loop() const { return held<Loop*>(); }

  bool truth() const;
  // The name in quotes and "is undefined", for messages.
  std::string undefined_message() const;
  // The name of the Python type.
  const char* type_name() const;
  int depth() const;
  uint64_t weight() const;
  uint64_t work() const;
  // Integer value of an int or bool; false for others.
  bool as_integer(int64_t& out) const;
  // Value of any number, bool included.
  bool as_real(double& out) const;

 private:
  template <class P>
  P held() const {
    const P* found = std::get_if<P>(&data_);
    return found ? *found : nullptr;
  }
  std::variant<Undefined, None, bool, int64_t, double, Text, std::shared_ptr<const List>,
               std::shared_ptr<const Dict>, Namespace*, const Callable*, Loop*>
      data_;
};

constexpr int max_depth = 128;
constexpr uint64_t max_weight = 4'000'000;  // elements, and each 64 bytes of text

bool equal(const Value& a, const Value& b);
// Order of numbers, strings and lists; RUDA_E_FORMAT for values that Python does not order. Negative, zero,
// positive.
int compare(const Value& a, const Value& b);

// str(value) and repr(value).
void append_str(std::string& out, const Value& value);
void append_repr(std::string& out, const Value& value);
std::string str(const Value& value);
void append_real(std::string& out, double value);

struct JsonStyle {
  int indent = -1;  // -1 = one line
  bool sort_keys = false;
  bool ascii = false;
  std::string item_separator = ", ";
  std::string key_separator = ": ";
  uint64_t max_bytes = UINT64_MAX;  // RUDA_E_BUDGET beyond them
};
// json.dumps; RUDA_E_FORMAT for what JSON cannot say.
void append_json(std::string& out, const Value& value, const JsonStyle& style, int level = 0);

}  // namespace ruda::jinja
