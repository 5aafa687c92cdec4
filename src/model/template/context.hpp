// src/model/template/context.hpp - what a running template holds: scopes, namespaces, macros, loops,
// arguments, limits.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/template/ast.hpp"
#include "plan/op.hpp"

#include <functional>

namespace ruda::jinja {

class Evaluator;

struct Limits {
  uint64_t steps = 20'000'000;           // nodes evaluated and elements touched
  uint64_t bytes = uint64_t{256} << 20;  // text and lists made, all together
  uint64_t output = uint64_t{64} << 20;  // text written
  int depth = 400;                       // nested statements, expressions and macro calls
  StopSign stop{};                       // looked at in every step
};

using Names = std::vector<std::pair<std::string, Value>>;

struct Scope {
  std::shared_ptr<Scope> parent;
  Names names;
  // nullptr when no scope up to the outermost has it. Adds to `touched` what it looked at.
  const Value* find(std::string_view name, uint64_t& touched) const;
  void set(std::string_view name, Value value);
};

struct Namespace {
  Names names;
};

// Arguments of a call: each is taken once, by position or by name; finish() refuses what is left.
class Arguments {
 public:
  Items positional;
  Names named;

  // nullptr when not given. Positions are asked for in order.
  const Value* take(size_t position, std::string_view name);
  // RUDA_E_FORMAT when something was not taken.
  void finish(const char* function) const;

 private:
  size_t taken_ = 0;
  uint64_t named_taken_ = 0;  // bit i: named[i]
};

struct Callable {
  std::string name;
  std::function<Value(Evaluator&, Arguments&)> run;  // of functions and bound methods
  const Stmt* body = nullptr;                        // of macros
  std::shared_ptr<Scope> scope;                      // where a macro was written
  std::shared_ptr<Scope> caller_scope;
};

struct Loop {
  const Items* items = nullptr;
  size_t index = 0;
  Items changed;
  bool has_changed = false;
};

using Filter = Value (*)(Evaluator&, const Value& input, Arguments& arguments);
using Test = bool (*)(Evaluator&, const Value& input, Arguments& arguments);
// nullptr for an unknown name.
Filter find_filter(std::string_view name);
Filter find_sequence_filter(std::string_view name);
Value to_int(Evaluator& evaluator, const Value& input, Arguments& arguments);
Value to_float(Evaluator& evaluator, const Value& input, Arguments& arguments);
Test find_test(std::string_view name);

// Methods of strings, dictionaries and lists. False when the value has no such method.
bool has_method(const Value& object, std::string_view name);
Value call_method(Evaluator& evaluator, const Value& object, std::string_view name, Arguments& arguments);
bool is_text_method(std::string_view name);
Value call_text_method(Evaluator& evaluator, const std::string& text, std::string_view name,
                       Arguments& arguments);

// range, dict, namespace, raise_exception, strftime_now.
Value call_global(Evaluator& evaluator, std::string_view name, Arguments& arguments);
bool is_global(std::string_view name);

// Arithmetic and comparison operators by their sign.
Value binary(Evaluator& evaluator, std::string_view op, const Value& a, const Value& b);
bool compare_values(Evaluator& evaluator, std::string_view op, const Value& a, const Value& b);

// Python's % on integers and its `is`.
int64_t binary_modulo(int64_t a, int64_t b);
bool same(const Value& a, const Value& b);

// Helpers that filters, tests and methods share.
[[noreturn]] __attribute__((format(printf, 1, 2))) void fail_value(const char* format, ...);
int64_t integer_argument(const Value& value, const char* what);
std::string text_argument(const Value& value, const char* what);
// Count the work of a pass over the characters of a text, of mapping their case, of comparing its bytes,
// and of looking a key up.
void step_case(Evaluator& evaluator, std::string_view text);
void step_text(Evaluator& evaluator, std::string_view text);
void step_bytes(Evaluator& evaluator, uint64_t bytes);
void step_lookup(Evaluator& evaluator, uint64_t entries, const Value& key);
// Counts the work of str(value) beyond the bytes that it gives: those of lists need quotes and escapes.
void step_print(Evaluator& evaluator, const Value& value);
// What filters for text make of any value: undefined is empty.
std::string soft_text(Evaluator& evaluator, const Value& value);
// Counts the work of looking for `what` in `text`, at worst the product of their sizes.
void step_search(Evaluator& evaluator, std::string_view text, std::string_view what);
// As the members find and rfind of std::string_view, in time that grows with the sum of both lengths.
size_t find_text(std::string_view text, std::string_view what, size_t at = 0);
size_t find_last_text(std::string_view text, std::string_view what);
bool is_text_space(uint32_t code);
std::string strip(Evaluator& evaluator, std::string_view text, const std::string* chars, bool left,
                  bool right);
std::string replace_all(Evaluator& evaluator, std::string_view text, std::string_view from,
                        std::string_view to, int64_t count);
// str.split: at runs of white space when `separator` is null; `count` -1 = all. `right` starts at the end.
Items split_text(Evaluator& evaluator, std::string_view text, const std::string* separator, int64_t count,
                 bool right);
// str.splitlines.
Items split_lines(Evaluator& evaluator, std::string_view text, bool keep_ends);
std::string join_texts(Evaluator& evaluator, const Items& items, std::string_view separator);
// Python's indices of a slice over `size` elements, as positions.
std::vector<size_t> slice_positions(size_t size, const Value& begin, const Value& end, const Value& step);
// The characters of a text, each a text.
Items characters(Evaluator& evaluator, std::string_view text);

}  // namespace ruda::jinja
