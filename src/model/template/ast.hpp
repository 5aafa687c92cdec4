// src/model/template/ast.hpp - the syntax tree of a template.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/template/value.hpp"

namespace ruda::jinja {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

enum class ExprKind : uint8_t {
  literal,    // value
  name,       // text
  list,       // args
  tuple,      // args
  dict,       // args: key, value, key, value, ...
  attribute,  // args[0].text
  item,       // args[0][args[1]]
  slice,      // args[0][args[1]:args[2]:args[3]], missing ones null
  call,       // args[0](args[1..], named)
  filter,     // args[0] | text(args[1..], named)
  test,       // args[0] is text(args[1..], named)
  negate,     // -args[0]
  plus,       // +args[0]
  logical_not,
  logical_and,
  logical_or,
  conditional,  // args[1] if args[0] else args[2], which may be null
  concat,       // args joined as text
  binary,       // args[0] text args[1]
  compare,      // args[0] ops[0] args[1] ops[1] args[2] ...
};

struct Expr {
  ExprKind kind;
  int line = 0;
  int depth = 1;  // of the tree below
  std::string text;
  Value value;
  std::vector<ExprPtr> args;
  std::vector<std::pair<std::string, ExprPtr>> named;
  std::vector<std::string> ops;
};

struct Stmt;
using StmtPtr = std::unique_ptr<Stmt>;
using Body = std::vector<StmtPtr>;

enum class StmtKind : uint8_t {
  text,          // text as it stands
  output,        // {{ expr }}
  if_else,       // branches: conditions in exprs (null = else), bodies
  for_loop,      // target, exprs[0] in what, exprs[1] filter or null; bodies[0], bodies[1] = else
  set,           // target = exprs[0]
  set_block,     // target = text of bodies[0], through the filters of exprs[0] or null
  macro,         // text, params; bodies[0]
  call_block,    // {% call(params) exprs[0] %}bodies[0]
  filter_block,  // text of bodies[0] through exprs[0]
  with,          // params as name = value; bodies[0]
  scope,         // bodies[0] with names of its own
  loop_break,
  loop_continue,
};

struct Stmt {
  StmtKind kind;
  int line = 0;
  std::string text;
  ExprPtr target;  // name, tuple of names, or attribute of a namespace
  std::vector<ExprPtr> exprs;
  std::vector<Body> bodies;
  std::vector<std::pair<std::string, ExprPtr>> params;  // default or null
};

}  // namespace ruda::jinja
