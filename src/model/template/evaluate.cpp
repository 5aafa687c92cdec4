// src/model/template/evaluate.cpp - expressions, names, calls.
// SPDX-License-Identifier: Apache-2.0
#include "model/template/evaluate.hpp"

#include "core/error.hpp"
#include "model/template/evaluate_depth.hpp"
#include "model/text/unicode.hpp"
#include "core/text.hpp"

#include <algorithm>

namespace ruda::jinja {

Evaluator::Evaluator(const Limits& limits, Names globals, int64_t now)
    : limits_(limits), globals_(std::make_shared<Scope>()), now_(now) {
  globals_->names = std::move(globals);
}

void Evaluator::step(uint64_t steps) {
  if (__builtin_add_overflow(steps_, steps, &steps_)) steps_ = UINT64_MAX;
  limits_.stop.check();
  RUDA_CHECK(steps_ <= limits_.steps, RUDA_E_BUDGET, -1, "template line %d: more than %llu steps", line_,
             static_cast<unsigned long long>(limits_.steps));
}

void Evaluator::charge(uint64_t bytes) {
  bytes_ += bytes;
  RUDA_CHECK(bytes_ <= limits_.bytes, RUDA_E_BUDGET, -1, "template line %d: more than %llu bytes of values",
             line_, static_cast<unsigned long long>(limits_.bytes));
}

Value Evaluator::make_list(Items items, bool tuple) {
  step(items.size());
  charge(items.size() * sizeof(Value) + sizeof(List));
  return Value::list(std::move(items), tuple);
}

Value Evaluator::make_dict(Pairs pairs) {
  step(pairs.size());
  charge(pairs.size() * sizeof(Pairs::value_type) + sizeof(Dict));
  return Value::dict(std::move(pairs));
}

Value Evaluator::make_text(std::string text) {
  charge(text.size() + sizeof(std::string));
  return Value(std::move(text));
}

Value Evaluator::make_namespace(Names names) {
  charge(names.size() * sizeof(Names::value_type) + sizeof(Namespace));
  return Value(&namespaces_.emplace_back(Namespace{std::move(names)}));
}

Value Evaluator::make_undefined(std::string_view name) {
  charge(name.size());
  return Value::undefined(name);
}

const Callable* Evaluator::keep(Callable callable) {
  charge(sizeof(Callable) + 64);
  return &callables_.emplace_back(std::move(callable));
}

Items Evaluator::iterate(const Value& value) {
  if (value.is_undefined()) return {};
  if (const List* list = value.list()) {
    step(list->items.size());
    charge(list->items.size() * sizeof(Value));
    return list->items;
  }
  if (const Dict* dict = value.dict()) {
    step(dict->pairs.size());
    charge(dict->pairs.size() * sizeof(Value));
    Items keys;
    for (const auto& pair : dict->pairs) keys.push_back(pair.first);
    return keys;
  }
  if (const std::string* text = value.text()) return characters(*this, *text);
  fail_value("a value of type %s cannot be iterated", value.type_name());
}

Value Evaluator::eval(const Expr& expr, const ScopePtr& scope) {
  const Depth depth(*this);
  line_ = expr.line;
  step();
  switch (expr.kind) {
    case ExprKind::literal: return expr.value;
    case ExprKind::name: return eval_name(expr, scope);
    case ExprKind::list:
    case ExprKind::tuple:
    case ExprKind::dict:
    case ExprKind::concat: return eval_many(expr, scope);
    case ExprKind::attribute: {
      const Value object = eval(*expr.args[0], scope);
      line_ = expr.line;
      return attribute(object, expr.text);
    }
    case ExprKind::item: {
      const Value object = eval(*expr.args[0], scope), key = eval(*expr.args[1], scope);
      line_ = expr.line;
      return item(object, key);
    }
    case ExprKind::slice: return eval_slice(expr, scope);
    case ExprKind::call: return eval_call(expr, scope);
    case ExprKind::filter: return eval_filter(expr, nullptr, scope);
    case ExprKind::test: {
      const Value input = eval(*expr.args[0], scope);
      Arguments arguments = eval_arguments(expr, 1, scope);
      line_ = expr.line;
      return apply_test(expr.text, input, arguments);
    }
    case ExprKind::logical_not: return !eval(*expr.args[0], scope).truth();
    case ExprKind::logical_and: {
      Value left = eval(*expr.args[0], scope);
      return left.truth() ? eval(*expr.args[1], scope) : left;
    }
    case ExprKind::logical_or: {
      Value left = eval(*expr.args[0], scope);
      return left.truth() ? left : eval(*expr.args[1], scope);
    }
    case ExprKind::conditional:
      if (eval(*expr.args[0], scope).truth()) return eval(*expr.args[1], scope);
      return expr.args[2] ? eval(*expr.args[2], scope) : Value::undefined("the inline if without else");
    case ExprKind::compare: return eval_compare(expr, scope);
    case ExprKind::negate: {
      const Value operand = eval(*expr.args[0], scope);
      if (const double* real = operand.real()) return -*real;
      return binary(*this, "-", Value(int64_t{0}), operand);
    }
    case ExprKind::plus: return binary(*this, "+", Value(int64_t{0}), eval(*expr.args[0], scope));
    case ExprKind::binary: {
      const Value left = eval(*expr.args[0], scope), right = eval(*expr.args[1], scope);
      line_ = expr.line;
      return binary(*this, expr.text, left, right);
    }
  }
  return {};
}

const Value* Evaluator::look_up(std::string_view name, const Scope& scope) {
  uint64_t touched = 0;
  const Value* found = scope.find(name, touched);
  step(touched * (1 + name.size() / 64) / 16);
  return found;
}

Value Evaluator::eval_name(const Expr& expr, const ScopePtr& scope) {
  if (const Value* found = look_up(expr.text, *scope)) return *found;
  if (!is_global(expr.text)) return make_undefined(expr.text);
  const std::string name = expr.text;
  return keep({name,
               [name](Evaluator& self, Arguments& arguments) { return call_global(self, name, arguments); },
               nullptr, nullptr, nullptr});
}

Value Evaluator::eval_many(const Expr& expr, const ScopePtr& scope) {
  if (expr.kind == ExprKind::concat) {
    std::string out;
    for (const ExprPtr& arg : expr.args) {
      const size_t before = out.size();
      const Value value = eval(*arg, scope);
      step_print(*this, value);
      append_str(out, value);
      charge(out.size() - before);
    }
    return Value(std::move(out));
  }
  if (expr.kind == ExprKind::dict) {
    Pairs pairs;
    for (size_t i = 0; i + 1 < expr.args.size(); i += 2) {
      Value key = eval(*expr.args[i], scope);
      Value value = eval(*expr.args[i + 1], scope);
      if (key.list() || key.dict()) fail_value("a %s cannot be a key", key.type_name());
      step((1 + pairs.size() / 8) * key.weight());
      const auto same =
          std::find_if(pairs.begin(), pairs.end(), [&](auto& pair) { return equal(pair.first, key); });
      if (same != pairs.end())
        same->second = std::move(value);
      else
        pairs.emplace_back(std::move(key), std::move(value));
    }
    return make_dict(std::move(pairs));
  }
  Items items;
  for (const ExprPtr& arg : expr.args) items.push_back(eval(*arg, scope));
  return make_list(std::move(items), expr.kind == ExprKind::tuple);
}

Value Evaluator::eval_compare(const Expr& expr, const ScopePtr& scope) {
  Value left = eval(*expr.args[0], scope);
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    Value right = eval(*expr.args[i + 1], scope);
    line_ = expr.line;
    if (!compare_values(*this, expr.ops[i], left, right)) return false;
    left = std::move(right);
  }
  return true;
}

Value Evaluator::eval_slice(const Expr& expr, const ScopePtr& scope) {
  const auto part = [&](size_t i) { return expr.args[i] ? eval(*expr.args[i], scope) : Value(None{}); };
  const Value object = eval(*expr.args[0], scope);
  const Value begin = part(1), end = part(2), stride = part(3);
  if (object.is_undefined()) fail_value("%s", object.undefined_message().c_str());
  if (!object.text() && !object.list()) return Value::undefined("slice");
  const Items items = iterate(object);
  const std::vector<size_t> positions = slice_positions(items.size(), begin, end, stride);
  if (object.text()) {
    std::string out;
    for (const size_t at : positions) out += *items[at].text();
    return make_text(std::move(out));
  }
  Items picked;
  for (const size_t at : positions) picked.push_back(items[at]);
  return make_list(std::move(picked), object.list()->tuple);
}

Arguments Evaluator::eval_arguments(const Expr& expr, size_t first, const ScopePtr& scope) {
  Arguments out;
  for (size_t i = first; i < expr.args.size(); ++i) out.positional.push_back(eval(*expr.args[i], scope));
  for (const auto& [name, value] : expr.named) out.named.emplace_back(name, eval(*value, scope));
  return out;
}

Value Evaluator::eval_call(const Expr& expr, const ScopePtr& scope) {
  const Expr& callee = *expr.args[0];
  // Methods are called without making an object of them first.
  if (callee.kind == ExprKind::attribute) {
    const Value object = eval(*callee.args[0], scope);
    const bool own = object.dict() ? has_method(object, callee.text) : !object.name_space() && !object.loop();
    if (own && has_method(object, callee.text)) {
      Arguments arguments = eval_arguments(expr, 1, scope);
      line_ = expr.line;
      return call_method(*this, object, callee.text, arguments);
    }
    const Value method = attribute(object, callee.text);
    Arguments arguments = eval_arguments(expr, 1, scope);
    line_ = expr.line;
    return call(method, arguments);
  }
  if (callee.kind == ExprKind::name && is_global(callee.text) && !look_up(callee.text, *scope)) {
    Arguments arguments = eval_arguments(expr, 1, scope);
    line_ = expr.line;
    return call_global(*this, callee.text, arguments);
  }
  const Value function = eval(callee, scope);
  Arguments arguments = eval_arguments(expr, 1, scope);
  line_ = expr.line;
  return call(function, arguments);
}

Value Evaluator::eval_filter(const Expr& expr, const Value* input, const ScopePtr& scope) {
  // A chain of filters of a block ends in a missing operand, which is the block's text.
  Value value = expr.args[0] ? (input && expr.args[0]->kind == ExprKind::filter
                                    ? eval_filter(*expr.args[0], input, scope)
                                    : eval(*expr.args[0], scope))
                : input      ? *input
                             : Value();
  Arguments arguments = eval_arguments(expr, 1, scope);
  line_ = expr.line;
  return apply_filter(expr.text, value, arguments);
}

Value Evaluator::apply_filter(std::string_view name, const Value& input, Arguments& arguments) {
  Filter filter = find_filter(name);
  if (!filter) filter = find_sequence_filter(name);
  if (!filter) fail_value("no filter is called %s", ruda::in_quotes(name).c_str());
  step();
  if (const std::string* text = input.text()) step_bytes(*this, text->size());
  return filter(*this, input, arguments);
}

bool Evaluator::apply_test(std::string_view name, const Value& input, Arguments& arguments) {
  const Test test = find_test(name);
  if (!test) fail_value("no test is called %s", ruda::in_quotes(name).c_str());
  step();
  const bool result = test(*this, input, arguments);
  arguments.finish("test");
  return result;
}

Value Evaluator::call(const Value& callee, Arguments& arguments) {
  if (callee.is_undefined()) fail_value("%s", callee.undefined_message().c_str());
  const Callable* function = callee.callable();
  if (!function) fail_value("a value of type %s cannot be called", callee.type_name());
  const Depth depth(*this);
  return function->body ? call_macro(*function, arguments) : function->run(*this, arguments);
}

Value Evaluator::call_macro(const Callable& macro, Arguments& arguments) {
  const Stmt& body = *macro.body;
  auto scope = std::make_shared<Scope>();
  scope->parent = macro.scope;
  charge(sizeof(Scope));
  for (size_t i = 0; i < body.params.size(); ++i) {
    const auto& [name, fallback] = body.params[i];
    step(1 + (arguments.named.size() + i) / 16);
    const Value* given = arguments.take(i, name);
    scope->set(name, given ? *given : fallback ? eval(*fallback, scope) : Value::undefined(name));
  }
  if (const Value* caller = arguments.take(SIZE_MAX, "caller")) scope->set("caller", *caller);
  arguments.finish(macro.name.c_str());
  return make_text(run_text(body.bodies[0], scope));
}

Value Evaluator::attribute(const Value& object, std::string_view name) {
  if (object.is_undefined()) fail_value("%s", object.undefined_message().c_str());
  if (Loop* loop = object.loop()) return loop_attribute(*loop, name);
  if (const Namespace* space = object.name_space()) {
    step(space->names.size() * (1 + name.size() / 64) / 16);
    for (const auto& [key, value] : space->names)
      if (key == name) return value;
    return make_undefined(name);
  }
  if (has_method(object, name)) {
    const std::string method(name);
    return keep({method,
                 [object, method](Evaluator& self, Arguments& arguments) {
                   return call_method(self, object, method, arguments);
                 },
                 nullptr, nullptr, nullptr});
  }
  if (const Dict* dict = object.dict()) {
    step(dict->pairs.size() * (1 + name.size() / 64) / 16);
    if (const Value* found = dict->find(name)) return *found;
  }
  return make_undefined(name);
}

Value Evaluator::item(const Value& object, const Value& key) {
  if (object.is_undefined()) fail_value("%s", object.undefined_message().c_str());
  int64_t index = 0;
  if (const Dict* dict = object.dict()) {
    step_lookup(*this, dict->pairs.size(), key);
    if (const Value* found = dict->find(key)) return *found;
  } else if (object.list() && key.as_integer(index)) {
    const Items& items = object.list()->items;
    if (index < 0) index += int64_t(items.size());
    if (index >= 0 && index < int64_t(items.size())) return items[size_t(index)];
    return Value::undefined("index " + str(key));
  } else if (object.text() && key.as_integer(index)) {
    const Items all = characters(*this, *object.text());
    if (index < 0) index += int64_t(all.size());
    if (index >= 0 && index < int64_t(all.size())) return all[size_t(index)];
    return Value::undefined("index " + str(key));
  }
  if (const std::string* name = key.text()) {
    if (object.dict() && !has_method(object, *name)) return make_undefined(*name);
    return attribute(object, *name);
  }
  return make_undefined(soft_text(*this, key));
}

const Value* Scope::find(std::string_view name, uint64_t& touched) const {
  for (const Scope* scope = this; scope; scope = scope->parent.get()) {
    touched += 1 + scope->names.size();
    for (const auto& [key, value] : scope->names)
      if (key == name) return &value;
  }
  return nullptr;
}

void Scope::set(std::string_view name, Value value) {
  for (auto& [key, old] : names)
    if (key == name) {
      old = std::move(value);
      return;
    }
  names.emplace_back(std::string(name), std::move(value));
}

const Value* Arguments::take(size_t position, std::string_view name) {
  if (position < positional.size()) {
    taken_ = std::max(taken_, position + 1);
    for (const auto& [key, value] : named)
      if (key == name) fail_value("argument %s is given twice", ruda::in_quotes(name).c_str());
    return &positional[position];
  }
  for (size_t i = 0; i < named.size(); ++i)
    if (named[i].first == name) {
      named_taken_ |= uint64_t{1} << (i & 63);
      return &named[i].second;
    }
  return nullptr;
}

void Arguments::finish(const char* function) const {
  if (taken_ < positional.size())
    fail_value("%s takes %zu positional arguments, %zu are given", function, taken_, positional.size());
  for (size_t i = 0; i < named.size(); ++i)
    if (!(named_taken_ >> (i & 63) & 1))
      fail_value("%s has no argument called %s", function, ruda::in_quotes(named[i].first).c_str());
}

}  // namespace ruda::jinja
