// src/model/template/statements.cpp - output, branches, loops, assignment, macros.
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"
#include "model/template/evaluate_depth.hpp"
#include "core/text.hpp"

#include <cstdarg>
#include <cstdio>

namespace ruda::jinja {

void fail_value(const char* format, ...) {
  char text[512];
  va_list list;
  va_start(list, format);
  std::vsnprintf(text, sizeof text, format, list);
  va_end(list);
  fail(RUDA_E_FORMAT, -1, "template: %s", text);
}

std::string Evaluator::render(const Body& body) {
  std::string out;
  try {
    run(body, globals_, out);
  } catch (Error& error) {
    // Helpers do not know the line; the evaluator does.
    constexpr std::string_view bare = "template: ";
    if (error.text.starts_with(bare))
      error.text = "template line " + std::to_string(line_) + ": " + error.text.substr(bare.size());
    throw;
  }
  return out;
}

void Evaluator::write(std::string& out, std::string_view text) {
  charge(text.size());
  RUDA_CHECK(text.size() <= limits_.output && out.size() <= limits_.output - text.size(), RUDA_E_BUDGET, -1,
             "template line %d: the text is longer than %llu bytes", line_,
             static_cast<unsigned long long>(limits_.output));
  out += text;
}

std::string Evaluator::run_text(const Body& body, const ScopePtr& scope) {
  std::string out;
  run(body, scope, out);
  return out;
}

Evaluator::Flow Evaluator::run(const Body& body, const ScopePtr& scope, std::string& out) {
  for (const StmtPtr& stmt : body)
    if (const Flow flow = run(*stmt, scope, out); flow != Flow::next) return flow;
  return Flow::next;
}

Evaluator::Flow Evaluator::run(const Stmt& stmt, const ScopePtr& scope, std::string& out) {
  const Depth depth(*this);
  line_ = stmt.line;
  step();
  const auto inner = [&] {
    charge(sizeof(Scope));
    auto made = std::make_shared<Scope>();
    made->parent = scope;
    return made;
  };
  switch (stmt.kind) {
    case StmtKind::text: write(out, stmt.text); break;
    case StmtKind::output: {
      const Value value = eval(*stmt.exprs[0], scope);
      step_print(*this, value);
      if (const std::string* text = value.text())
        write(out, *text);
      else
        write(out, str(value));
      break;
    }
    case StmtKind::if_else:
      for (size_t i = 0; i < stmt.exprs.size(); ++i)
        if (!stmt.exprs[i] || eval(*stmt.exprs[i], scope).truth()) return run(stmt.bodies[i], scope, out);
      break;
    case StmtKind::for_loop: return run_for(stmt, scope, out);
    case StmtKind::set: assign(*stmt.target, eval(*stmt.exprs[0], scope), scope); break;
    case StmtKind::set_block: {
      Value text = make_text(run_text(stmt.bodies[0], inner()));
      if (stmt.exprs[0]) text = eval_filter(*stmt.exprs[0], &text, scope);
      assign(*stmt.target, text, scope);
      break;
    }
    case StmtKind::macro: scope->set(stmt.text, keep({stmt.text, nullptr, &stmt, scope, nullptr})); break;
    case StmtKind::call_block: run_call_block(stmt, scope, out); break;
    case StmtKind::filter_block: {
      const Value text = make_text(run_text(stmt.bodies[0], inner()));
      write(out, str(eval_filter(*stmt.exprs[0], &text, scope)));
      break;
    }
    case StmtKind::with: {
      const ScopePtr names = inner();
      for (const auto& [name, value] : stmt.params) {
        step(names->names.size() / 16);
        names->set(name, eval(*value, scope));
      }
      return run(stmt.bodies[0], names, out);
    }
    case StmtKind::scope: return run(stmt.bodies[0], inner(), out);
    case StmtKind::loop_break: return Flow::break_loop;
    case StmtKind::loop_continue: return Flow::continue_loop;
  }
  return Flow::next;
}

void Evaluator::run_call_block(const Stmt& stmt, const ScopePtr& scope, std::string& out) {
  const Expr& call = *stmt.exprs[0];
  const Value callee = eval(*call.args[0], scope);
  Arguments arguments = eval_arguments(call, 1, scope);
  if (arguments.named.size() >= 63) fail_value("a call has too many named arguments");
  arguments.named.emplace_back("caller", keep({"caller", nullptr, &stmt, scope, nullptr}));
  write(out, str(this->call(callee, arguments)));
}

Evaluator::Flow Evaluator::run_for(const Stmt& stmt, const ScopePtr& scope, std::string& out) {
  Items items = iterate(eval(*stmt.exprs[0], scope));
  charge(sizeof(Loop) + sizeof(Scope));
  if (stmt.exprs[1]) {
    Items kept;
    for (Value& item : items) {
      auto trial = std::make_shared<Scope>();
      trial->parent = scope;
      assign(*stmt.target, item, trial);
      if (eval(*stmt.exprs[1], trial).truth()) kept.push_back(std::move(item));
    }
    items = std::move(kept);
  }
  if (items.empty()) return stmt.bodies.size() > 1 ? run(stmt.bodies[1], scope, out) : Flow::next;
  Loop& loop = loops_.emplace_back();
  loop.items = &items;
  Flow result = Flow::next;
  for (loop.index = 0; loop.index < items.size(); ++loop.index) {
    auto body = std::make_shared<Scope>();
    body->parent = scope;
    body->set("loop", Value(&loop));
    assign(*stmt.target, items[loop.index], body);
    if (run(stmt.bodies[0], body, out) == Flow::break_loop) break;
  }
  // A loop object that outlives its loop keeps the facts of the last step, not the items.
  loop.items = nullptr;
  return result;
}

void Evaluator::assign(const Expr& target, const Value& value, const ScopePtr& scope) {
  if (target.kind == ExprKind::name) {
    step(scope->names.size() * (1 + target.text.size() / 64) / 16);
    return scope->set(target.text, value);
  }
  if (target.kind == ExprKind::attribute) {
    const Value object = eval(*target.args[0], scope);
    Namespace* space = object.name_space();
    if (!space) fail_value("cannot set an attribute of %s, it is no namespace", object.type_name());
    charge(sizeof(Names::value_type) + target.text.size());
    step(space->names.size() * (1 + target.text.size() / 64) / 16);
    for (auto& [key, old] : space->names)
      if (key == target.text) {
        old = value;
        return;
      }
    space->names.emplace_back(target.text, value);
    return;
  }
  const Items items = iterate(value);
  if (items.size() != target.args.size())
    fail_value("%zu values are given for %zu names", items.size(), target.args.size());
  for (size_t i = 0; i < items.size(); ++i) assign(*target.args[i], items[i], scope);
}

Value Evaluator::loop_attribute(Loop& loop, std::string_view name) {
  const auto number = [](size_t value) { return Value(int64_t(value)); };
  if (name == "index") return number(loop.index + 1);
  if (name == "index0") return number(loop.index);
  if (name == "depth") return number(1);  // of recursive loops, which there are none
  if (name == "depth0") return number(0);
  if (name == "first") return loop.index == 0;
  if (name == "cycle" || name == "changed") {
    const bool cycle = name == "cycle";
    return keep({std::string(name),
                 [&loop, cycle](Evaluator& self, Arguments& arguments) -> Value {
                   if (cycle) {
                     if (arguments.positional.empty()) fail_value("loop.cycle needs at least one value");
                     return arguments.positional[loop.index % arguments.positional.size()];
                   }
                   bool same = loop.has_changed && loop.changed.size() == arguments.positional.size();
                   for (const Value& value : arguments.positional) self.step(value.work());
                   for (size_t i = 0; same && i < loop.changed.size(); ++i)
                     same = equal(loop.changed[i], arguments.positional[i]);
                   loop.changed = arguments.positional;
                   loop.has_changed = true;
                   return !same;
                 },
                 nullptr, nullptr, nullptr});
  }
  if (!loop.items) return make_undefined(name);
  const size_t size = loop.items->size();
  if (name == "length") return number(size);
  if (name == "revindex") return number(size - loop.index);
  if (name == "revindex0") return number(size - loop.index - 1);
  if (name == "last") return loop.index + 1 == size;
  if (name == "previtem") return loop.index ? (*loop.items)[loop.index - 1] : Value::undefined("previtem");
  if (name == "nextitem")
    return loop.index + 1 < size ? (*loop.items)[loop.index + 1] : Value::undefined("nextitem");
  return make_undefined(name);
}

}  // namespace ruda::jinja
