// src/model/template/expression_parser.hpp - tokens at hand, nodes of the tree, the grammar of expressions.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/error.hpp"
#include "model/template/ast.hpp"
#include "model/template/lexer.hpp"

#include <algorithm>
#include <array>

namespace ruda::jinja {

class ExpressionParser {
 protected:
  static constexpr int max_tree_depth = 200;
  static constexpr int max_block_depth = 60;

  explicit ExpressionParser(std::string_view source) : tokens_(tokenize(source)) {}

  struct Nesting {
    Nesting(int& depth, int limit, int line) : depth_(depth) {
      RUDA_CHECK(++depth_ <= limit, RUDA_E_BUDGET, -1, "template line %d: nested deeper than %d", line,
                 limit);
    }
    ~Nesting() { --depth_; }
    int& depth_;
  };

  // ---- tokens ----
  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  int line() const { return peek().line; }
  bool at_end() const { return peek().kind == TokenKind::end; }
  Token take() {
    Token token = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool is(TokenKind kind, std::string_view text) const { return peek().kind == kind && peek().text == text; }
  bool is_op(std::string_view op) const { return is(TokenKind::op, op); }
  bool is_word(std::string_view word) const { return is(TokenKind::name, word); }
  bool accept_op(std::string_view op) { return is_op(op) && (take(), true); }
  bool accept_word(std::string_view word) { return is_word(word) && (take(), true); }
  void expect_op(const char* op) {
    if (!accept_op(op)) fail_at(line(), "expected '%s', found %s", op, describe().c_str());
  }
  std::string expect_name() {
    if (peek().kind != TokenKind::name) fail_at(line(), "expected a name, found %s", describe().c_str());
    return take().text;
  }
  void expect(TokenKind kind, const char* what) {
    if (peek().kind != kind) fail_at(line(), "expected %s, found %s", what, describe().c_str());
    take();
  }
  void expect_block_end() { expect(TokenKind::block_end, "end of tag"); }
  std::string describe() const;
  // Name of the tag that begins here.
  std::string peek_name() const { return peek(1).kind == TokenKind::name ? peek(1).text : std::string(); }

  // ---- nodes ----
  ExprPtr node(ExprKind kind, int line, std::vector<ExprPtr> args = {}, std::string text = {}) {
    auto made = std::make_unique<Expr>();
    made->kind = kind;
    made->line = line;
    made->text = std::move(text);
    made->args = std::move(args);
    return settle(std::move(made));
  }
  // Long chains such as a + b + c + ... grow deep without recursion here, but are walked recursively later.
  ExprPtr settle(ExprPtr made) {
    int deepest = 0;
    for (const ExprPtr& arg : made->args)
      if (arg) deepest = std::max(deepest, arg->depth);
    for (const auto& [name, arg] : made->named) deepest = std::max(deepest, arg->depth);
    made->depth = deepest + 1;
    RUDA_CHECK(made->depth <= max_tree_depth, RUDA_E_BUDGET, -1,
               "template line %d: an expression is deeper than %d", made->line, max_tree_depth);
    return made;
  }
  template <class... Args>
  static std::vector<ExprPtr> list_of(Args... args) {
    std::vector<ExprPtr> out;
    (out.push_back(std::move(args)), ...);
    return out;
  }
  ExprPtr literal(int line, Value value) {
    ExprPtr made = node(ExprKind::literal, line);
    made->value = std::move(value);
    return made;
  }
  StmtPtr stmt(StmtKind kind, int line) {
    auto made = std::make_unique<Stmt>();
    made->kind = kind;
    made->line = line;
    return made;
  }

  // ---- expressions ----
  bool ends_tuple() const;
  ExprPtr parse_tuple(bool conditional);
  ExprPtr parse_expression();
  ExprPtr parse_or();
  ExprPtr parse_and();
  ExprPtr parse_not();
  ExprPtr parse_compare();
  ExprPtr parse_sum();
  ExprPtr parse_concat();
  ExprPtr parse_product();
  ExprPtr parse_power();
  ExprPtr parse_unary(bool filters);
  ExprPtr parse_primary();
  ExprPtr parse_parentheses(int at);
  ExprPtr parse_list(int at);
  ExprPtr parse_dict(int at);
  ExprPtr parse_postfix(ExprPtr value);
  ExprPtr parse_subscript(ExprPtr value, int at);
  // Arguments in parentheses go to `made`.
  void parse_arguments(Expr& made);
  ExprPtr parse_call(ExprPtr callee, int at);
  // The name of a filter and its arguments; `value` may be null.
  ExprPtr parse_filter(ExprPtr value);
  ExprPtr parse_filters(ExprPtr value);
  ExprPtr parse_test(ExprPtr value);
  // Whether the argument of a test without parentheses follows.
  bool starts_operand() const;
  // A name, names separated by commas, or (for set) an attribute of a name.
  ExprPtr parse_target(bool with_attribute);

  std::vector<Token> tokens_;
  size_t at_ = 0;
  int expression_depth_ = 0;
};

}  // namespace ruda::jinja
