// src/model/template/expression_parser.cpp - recursive descent over expressions, by falling precedence
// upward.
// SPDX-License-Identifier: Apache-2.0
#include "model/template/expression_parser.hpp"

#include "core/text.hpp"

namespace ruda::jinja {

std::string ExpressionParser::describe() const {
  switch (peek().kind) {
    case TokenKind::end: return "the end of the template";
    case TokenKind::text: return "text";
    case TokenKind::block_begin: return "a tag";
    case TokenKind::block_end:
    case TokenKind::output_end: return "the end of the tag";
    case TokenKind::output_begin: return "an output tag";
    case TokenKind::string: return "a string";
    case TokenKind::integer:
    case TokenKind::real: return "a number";
    case TokenKind::name:
    case TokenKind::op: break;
  }
  return ruda::in_quotes(peek().text);
}

bool ExpressionParser::ends_tuple() const {
  return peek().kind == TokenKind::block_end || peek().kind == TokenKind::output_end || is_op(")") ||
         is_word("if") || at_end();
}

ExprPtr ExpressionParser::parse_tuple(bool conditional) {
  const int at = line();
  std::vector<ExprPtr> items;
  items.push_back(conditional ? parse_expression() : parse_or());
  if (!is_op(",")) return std::move(items[0]);
  while (accept_op(",")) {
    if (ends_tuple()) break;
    items.push_back(conditional ? parse_expression() : parse_or());
  }
  return node(ExprKind::tuple, at, std::move(items));
}

ExprPtr ExpressionParser::parse_expression() {
  const Nesting nesting(expression_depth_, max_tree_depth / 2, line());
  ExprPtr value = parse_or();
  while (is_word("if")) {
    const int at = take().line;
    ExprPtr condition = parse_or();
    ExprPtr other = accept_word("else") ? parse_expression() : nullptr;
    value =
        node(ExprKind::conditional, at, list_of(std::move(condition), std::move(value), std::move(other)));
  }
  return value;
}

ExprPtr ExpressionParser::parse_or() {
  ExprPtr left = parse_and();
  while (is_word("or")) {
    const int at = take().line;
    left = node(ExprKind::logical_or, at, list_of(std::move(left), parse_and()));
  }
  return left;
}

ExprPtr ExpressionParser::parse_and() {
  ExprPtr left = parse_not();
  while (is_word("and")) {
    const int at = take().line;
    left = node(ExprKind::logical_and, at, list_of(std::move(left), parse_not()));
  }
  return left;
}

ExprPtr ExpressionParser::parse_not() {
  if (!is_word("not")) return parse_compare();
  const Nesting nesting(expression_depth_, max_tree_depth / 2, line());
  const int at = take().line;
  return node(ExprKind::logical_not, at, list_of(parse_not()));
}

ExprPtr ExpressionParser::parse_compare() {
  const int at = line();
  ExprPtr first = parse_sum();
  std::vector<ExprPtr> args;
  std::vector<std::string> ops;
  args.push_back(std::move(first));
  while (true) {
    static constexpr std::array signs = {"==", "!=", "<", "<=", ">", ">="};
    if (peek().kind == TokenKind::op && std::find(signs.begin(), signs.end(), peek().text) != signs.end()) {
      ops.push_back(take().text);
    } else if (accept_word("in")) {
      ops.emplace_back("in");
    } else if (is_word("not") && peek(1).kind == TokenKind::name && peek(1).text == "in") {
      take();
      take();
      ops.emplace_back("not in");
    } else {
      break;
    }
    args.push_back(parse_sum());
  }
  if (ops.empty()) return std::move(args[0]);
  ExprPtr made = node(ExprKind::compare, at, std::move(args));
  made->ops = std::move(ops);
  return made;
}

ExprPtr ExpressionParser::parse_sum() {
  ExprPtr left = parse_concat();
  while (is_op("+") || is_op("-")) {
    const Token op = take();
    left = node(ExprKind::binary, op.line, list_of(std::move(left), parse_concat()), op.text);
  }
  return left;
}

ExprPtr ExpressionParser::parse_concat() {
  const int at = line();
  ExprPtr first = parse_product();
  if (!is_op("~")) return first;
  std::vector<ExprPtr> args;
  args.push_back(std::move(first));
  while (accept_op("~")) args.push_back(parse_product());
  return node(ExprKind::concat, at, std::move(args));
}

ExprPtr ExpressionParser::parse_product() {
  ExprPtr left = parse_power();
  while (is_op("*") || is_op("/") || is_op("//") || is_op("%")) {
    const Token op = take();
    left = node(ExprKind::binary, op.line, list_of(std::move(left), parse_power()), op.text);
  }
  return left;
}

ExprPtr ExpressionParser::parse_power() {
  ExprPtr left = parse_unary(true);
  while (is_op("**")) {
    const Token op = take();
    left = node(ExprKind::binary, op.line, list_of(std::move(left), parse_unary(true)), op.text);
  }
  return left;
}

ExprPtr ExpressionParser::parse_unary(bool filters) {
  ExprPtr value;
  if (is_op("-") || is_op("+")) {
    const Nesting nesting(expression_depth_, max_tree_depth / 2, line());
    const Token op = take();
    value = node(op.text == "-" ? ExprKind::negate : ExprKind::plus, op.line, list_of(parse_unary(false)));
  } else {
    value = parse_primary();
  }
  value = parse_postfix(std::move(value));
  return filters ? parse_filters(std::move(value)) : std::move(value);
}

ExprPtr ExpressionParser::parse_primary() {
  const Token token = take();
  const int at = token.line;
  switch (token.kind) {
    case TokenKind::name:
      if (token.text == "true" || token.text == "True") return literal(at, Value(true));
      if (token.text == "false" || token.text == "False") return literal(at, Value(false));
      if (token.text == "none" || token.text == "None") return literal(at, Value(None{}));
      return node(ExprKind::name, at, {}, token.text);
    case TokenKind::string: {
      std::string text = token.text;
      while (peek().kind == TokenKind::string) text += take().text;
      return literal(at, Value(std::move(text)));
    }
    case TokenKind::integer: return literal(at, Value(token.integer));
    case TokenKind::real: return literal(at, Value(token.real));
    case TokenKind::op:
      if (token.text == "(") return parse_parentheses(at);
      if (token.text == "[") return parse_list(at);
      if (token.text == "{") return parse_dict(at);
      break;
    default: break;
  }
  if (token.kind == TokenKind::op) fail_at(at, "unexpected '%s'", token.text.c_str());
  --at_;
  fail_at(at, "expected an expression, found %s", describe().c_str());
}

ExprPtr ExpressionParser::parse_parentheses(int at) {
  if (accept_op(")")) return node(ExprKind::tuple, at);
  ExprPtr inside = parse_tuple(true);
  expect_op(")");
  return inside;
}

ExprPtr ExpressionParser::parse_list(int at) {
  std::vector<ExprPtr> items;
  while (!is_op("]")) {
    if (!items.empty()) {
      expect_op(",");
      if (is_op("]")) break;
    }
    items.push_back(parse_expression());
  }
  expect_op("]");
  return node(ExprKind::list, at, std::move(items));
}

ExprPtr ExpressionParser::parse_dict(int at) {
  std::vector<ExprPtr> items;
  while (!is_op("}")) {
    if (!items.empty()) {
      expect_op(",");
      if (is_op("}")) break;
    }
    items.push_back(parse_expression());
    expect_op(":");
    items.push_back(parse_expression());
  }
  expect_op("}");
  return node(ExprKind::dict, at, std::move(items));
}

ExprPtr ExpressionParser::parse_postfix(ExprPtr value) {
  while (true) {
    const int at = line();
    if (accept_op(".")) {
      if (peek().kind == TokenKind::integer) {
        ExprPtr index = literal(at, Value(take().integer));
        value = node(ExprKind::item, at, list_of(std::move(value), std::move(index)));
      } else {
        std::string name = expect_name();
        value = node(ExprKind::attribute, at, list_of(std::move(value)), std::move(name));
      }
    } else if (accept_op("[")) {
      value = parse_subscript(std::move(value), at);
    } else if (is_op("(")) {
      value = parse_call(std::move(value), at);
    } else {
      return value;
    }
  }
}

ExprPtr ExpressionParser::parse_subscript(ExprPtr value, int at) {
  std::array<ExprPtr, 3> part;
  size_t parts = 0;
  bool slice = false;
  while (!is_op("]")) {
    if (accept_op(":")) {
      slice = true;
      if (++parts > 2) fail_at(at, "a slice has more than three parts");
    } else {
      if (part[parts]) fail_at(line(), "expected ']', found %s", describe().c_str());
      part[parts] = slice ? parse_expression() : parse_tuple(true);
    }
  }
  expect_op("]");
  if (slice)
    return node(ExprKind::slice, at,
                list_of(std::move(value), std::move(part[0]), std::move(part[1]), std::move(part[2])));
  if (!part[0]) part[0] = node(ExprKind::tuple, at);
  return node(ExprKind::item, at, list_of(std::move(value), std::move(part[0])));
}

void ExpressionParser::parse_arguments(Expr& made) {
  expect_op("(");
  bool first = true;
  while (!is_op(")")) {
    if (!first) {
      expect_op(",");
      if (is_op(")")) break;
    }
    first = false;
    if (is_op("*") || is_op("**"))
      fail(RUDA_E_UNSUPPORTED, -1, "template line %d: '*' and '**' arguments are not supported", line());
    if (peek().kind == TokenKind::name && peek(1).kind == TokenKind::op && peek(1).text == "=") {
      std::string name = take().text;
      take();
      made.named.emplace_back(std::move(name), parse_expression());
    } else {
      if (!made.named.empty()) fail_at(line(), "a positional argument follows a named one");
      made.args.push_back(parse_expression());
    }
  }
  if (made.named.size() > 64) fail_at(line(), "a call has more than 64 named arguments");
  expect_op(")");
}

ExprPtr ExpressionParser::parse_call(ExprPtr callee, int at) {
  ExprPtr made = node(ExprKind::call, at, list_of(std::move(callee)));
  parse_arguments(*made);
  return settle(std::move(made));
}

ExprPtr ExpressionParser::parse_filter(ExprPtr value) {
  const int at = line();
  ExprPtr made = node(ExprKind::filter, at, list_of(std::move(value)), expect_name());
  if (is_op("(")) parse_arguments(*made);
  return settle(std::move(made));
}

ExprPtr ExpressionParser::parse_filters(ExprPtr value) {
  while (true) {
    if (accept_op("|")) {
      value = parse_filter(std::move(value));
    } else if (is_word("is")) {
      value = parse_test(std::move(value));
    } else if (value && is_op("(")) {
      value = parse_call(std::move(value), line());
    } else {
      return value;
    }
  }
}

ExprPtr ExpressionParser::parse_test(ExprPtr value) {
  const int at = take().line;
  const bool negated = accept_word("not");
  ExprPtr made = node(ExprKind::test, at, list_of(std::move(value)), expect_name());
  if (is_op("(")) {
    parse_arguments(*made);
  } else if (starts_operand()) {
    if (is_word("is")) fail_at(at, "tests cannot be chained with 'is'");
    made->args.push_back(parse_postfix(parse_primary()));
  }
  made = settle(std::move(made));
  return negated ? node(ExprKind::logical_not, at, list_of(std::move(made))) : std::move(made);
}

bool ExpressionParser::starts_operand() const {
  switch (peek().kind) {
    case TokenKind::string:
    case TokenKind::integer:
    case TokenKind::real: return true;
    case TokenKind::op: return is_op("[") || is_op("{");
    case TokenKind::name: return !is_word("else") && !is_word("or") && !is_word("and") && !is_word("if");
    default: return false;
  }
}

ExprPtr ExpressionParser::parse_target(bool with_attribute) {
  const int at = line();
  if (with_attribute && peek(1).kind == TokenKind::op && peek(1).text == ".") {
    ExprPtr object = node(ExprKind::name, at, {}, expect_name());
    take();
    std::string name = expect_name();
    return node(ExprKind::attribute, at, list_of(std::move(object)), std::move(name));
  }
  const bool parentheses = accept_op("(");
  std::vector<ExprPtr> names;
  bool tuple = false;
  do {
    if (tuple && peek().kind != TokenKind::name && !is_op("(")) break;
    if (is_op("(")) {
      const Nesting nesting(expression_depth_, max_tree_depth / 2, at);
      names.push_back(parse_target(false));
    } else {
      if (is_word("in") || is_word("true") || is_word("false") || is_word("none"))
        fail_at(line(), "cannot assign to %s", describe().c_str());
      names.push_back(node(ExprKind::name, line(), {}, expect_name()));
    }
    tuple = tuple || is_op(",");
  } while (accept_op(","));
  if (parentheses) expect_op(")");
  if (!tuple) return std::move(names[0]);
  return node(ExprKind::tuple, at, std::move(names));
}

}  // namespace ruda::jinja
