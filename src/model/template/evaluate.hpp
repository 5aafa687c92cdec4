// src/model/template/evaluate.hpp - runs a syntax tree with limits on steps, memory, output and depth.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/template/context.hpp"

#include <deque>

namespace ruda::jinja {

class Evaluator {
 public:
  // `globals` are the variables of the outermost scope. `now` is the time that strftime_now shows, seconds
  // since 1970.
  Evaluator(const Limits& limits, Names globals, int64_t now);

  // The text of the template. Errors are RUDA_E_FORMAT "template line N: ...", RUDA_E_ARGUMENT for
  // raise_exception, RUDA_E_BUDGET for a limit.
  std::string render(const Body& body);

  // ---- for filters, tests, methods and functions ----
  void step(uint64_t steps = 1);
  void charge(uint64_t bytes);
  uint64_t bytes_left() const { return limits_.bytes - bytes_; }
  // Elements of what a loop may walk: lists, characters of a text, keys of a dictionary.
  Items iterate(const Value& value);
  Value call(const Value& callee, Arguments& arguments);
  // object.name and object[key]; undefined when there is none.
  Value attribute(const Value& object, std::string_view name);
  Value item(const Value& object, const Value& key);
  Value make_list(Items items, bool tuple = false);
  Value make_dict(Pairs pairs);
  Value make_text(std::string text);
  Value make_namespace(Names names);
  // An undefined value that keeps what was looked for.
  Value make_undefined(std::string_view name);
  Value apply_filter(std::string_view name, const Value& input, Arguments& arguments);
  bool apply_test(std::string_view name, const Value& input, Arguments& arguments);
  int64_t now() const { return now_; }
  int line() const { return line_; }

 private:
  enum class Flow { next, break_loop, continue_loop };
  using ScopePtr = std::shared_ptr<Scope>;

  // `scope` is where names are set; `out` receives the text.
  Flow run(const Body& body, const ScopePtr& scope, std::string& out);
  Flow run(const Stmt& stmt, const ScopePtr& scope, std::string& out);
  Flow run_for(const Stmt& stmt, const ScopePtr& scope, std::string& out);
  void run_call_block(const Stmt& stmt, const ScopePtr& scope, std::string& out);
  void write(std::string& out, std::string_view text);
  std::string run_text(const Body& body, const ScopePtr& scope);
  void assign(const Expr& target, const Value& value, const ScopePtr& scope);

  Value eval(const Expr& expr, const ScopePtr& scope);
  const Value* look_up(std::string_view name, const Scope& scope);
  Value eval_name(const Expr& expr, const ScopePtr& scope);
  Value eval_call(const Expr& expr, const ScopePtr& scope);
  Value eval_compare(const Expr& expr, const ScopePtr& scope);
  Value eval_slice(const Expr& expr, const ScopePtr& scope);
  Value eval_many(const Expr& expr, const ScopePtr& scope);
  Value eval_filter(const Expr& expr, const Value* input, const ScopePtr& scope);
  Arguments eval_arguments(const Expr& expr, size_t first, const ScopePtr& scope);
  Value call_macro(const Callable& macro, Arguments& arguments);
  Value loop_attribute(Loop& loop, std::string_view name);
  const Callable* keep(Callable callable);

  class Depth;
  Limits limits_;
  ScopePtr globals_;
  int64_t now_;
  int line_ = 0;
  int depth_ = 0;
  uint64_t steps_ = 0, bytes_ = 0;
  std::deque<Callable> callables_;
  std::deque<Namespace> namespaces_;
  std::deque<Loop> loops_;
};

}  // namespace ruda::jinja
