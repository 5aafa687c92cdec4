// src/model/template/parser.cpp - recursive descent over the tags of Jinja 3, as far as chat templates use
// them.
// SPDX-License-Identifier: Apache-2.0
#include "model/template/parser.hpp"

#include "model/template/expression_parser.hpp"
#include "core/text.hpp"

namespace ruda::jinja {
namespace {

class Parser : ExpressionParser {
 public:
  explicit Parser(std::string_view source) : ExpressionParser(source) {}

  Body run() {
    Body body = parse_body({});
    if (!at_end()) fail_at(line(), "unexpected tag %s", ruda::in_quotes(peek_name()).c_str());
    return body;
  }

 private:
  // ---- statements ----
  Body parse_body(std::initializer_list<std::string_view> ends) {
    const Nesting nesting(block_depth_, max_block_depth, line());
    Body body;
    while (!at_end()) {
      if (peek().kind == TokenKind::text) {
        StmtPtr text = stmt(StmtKind::text, line());
        text->text = take().text;
        body.push_back(std::move(text));
      } else if (peek().kind == TokenKind::output_begin) {
        StmtPtr output = stmt(StmtKind::output, line());
        take();
        output->exprs.push_back(parse_tuple(true));
        expect(TokenKind::output_end, "'}}'");
        body.push_back(std::move(output));
      } else {
        const std::string name = peek_name();
        if (std::find(ends.begin(), ends.end(), name) != ends.end()) return body;
        if (ends.size() == 0 && name.starts_with("end")) return body;
        body.push_back(parse_tag());
      }
    }
    return body;
  }

  // Body up to the tag `end`, which is consumed.
  Body parse_until(std::string_view end, int line) {
    Body body = parse_body({end});
    close_tag(end, line);
    return body;
  }
  void close_tag(std::string_view end, int line) {
    if (at_end()) fail_at(line, "the template ends before '%.*s'", int(end.size()), end.data());
    take();
    take();
    expect_block_end();
  }

  StmtPtr parse_tag() {
    const int at = line();
    take();
    const std::string name = expect_name();
    if (name == "if") return parse_if(at);
    if (name == "for") return parse_for(at);
    if (name == "set") return parse_set(at);
    if (name == "macro") return parse_macro(at);
    if (name == "call") return parse_call_block(at);
    if (name == "filter") return parse_filter_block(at);
    if (name == "with") return parse_with(at);
    if (name == "generation") return parse_scope(at, "endgeneration");
    if (name == "autoescape") {
      parse_expression();
      return parse_scope(at, "endautoescape");
    }
    if (name == "break" || name == "continue") {
      if (loop_depth_ == 0) fail_at(at, "'%s' outside a loop", name.c_str());
      expect_block_end();
      return stmt(name == "break" ? StmtKind::loop_break : StmtKind::loop_continue, at);
    }
    static constexpr std::array foreign = {"extends", "block", "include", "import",
                                           "from",    "trans", "do",      "debug"};
    for (const char* tag : foreign)
      RUDA_CHECK(name != tag, RUDA_E_UNSUPPORTED, -1, "template line %d: the tag '%s' is not supported", at,
                 tag);
    fail_at(at, "unknown tag %s", ruda::in_quotes(name).c_str());
  }

  StmtPtr parse_if(int at) {
    StmtPtr made = stmt(StmtKind::if_else, at);
    made->exprs.push_back(parse_tuple(false));
    expect_block_end();
    while (true) {
      made->bodies.push_back(parse_body({"elif", "else", "endif"}));
      if (at_end()) fail_at(at, "the template ends before 'endif'");
      take();
      const std::string name = take().text;
      const bool had_else = made->exprs.back() == nullptr;
      if (name == "elif" && !had_else) {
        made->exprs.push_back(parse_tuple(false));
      } else if (name == "else" && !had_else) {
        made->exprs.push_back(nullptr);
      } else if (name == "endif") {
        expect_block_end();
        return made;
      } else {
        fail_at(line(), "'%s' after 'else'", name.c_str());
      }
      expect_block_end();
    }
  }

  StmtPtr parse_for(int at) {
    StmtPtr made = stmt(StmtKind::for_loop, at);
    made->target = parse_target(false);
    if (!accept_word("in")) fail_at(line(), "expected 'in', found %s", describe().c_str());
    made->exprs.push_back(parse_tuple(false));
    made->exprs.push_back(accept_word("if") ? parse_expression() : nullptr);
    RUDA_CHECK(!is_word("recursive"), RUDA_E_UNSUPPORTED, -1,
               "template line %d: recursive loops are not supported", at);
    expect_block_end();
    ++loop_depth_;
    made->bodies.push_back(parse_body({"else", "endfor"}));
    --loop_depth_;
    if (!at_end() && peek_name() == "else") {
      close_tag("else", at);
      made->bodies.push_back(parse_body({"endfor"}));
    }
    close_tag("endfor", at);
    return made;
  }

  StmtPtr parse_set(int at) {
    ExprPtr target = parse_target(true);
    StmtPtr made;
    if (accept_op("=")) {
      made = stmt(StmtKind::set, at);
      made->exprs.push_back(parse_tuple(true));
      expect_block_end();
    } else {
      made = stmt(StmtKind::set_block, at);
      made->exprs.push_back(is_op("|") ? parse_filters(nullptr) : nullptr);
      expect_block_end();
      made->bodies.push_back(parse_until("endset", at));
    }
    made->target = std::move(target);
    return made;
  }

  void parse_params(Stmt& made) {
    expect_op("(");
    while (!is_op(")")) {
      if (!made.params.empty()) {
        expect_op(",");
        if (is_op(")")) break;
      }
      std::string name = expect_name();
      ExprPtr fallback = accept_op("=") ? parse_expression() : nullptr;
      if (!fallback && !made.params.empty() && made.params.back().second)
        fail_at(line(), "parameter %s has no default, the one before has", ruda::in_quotes(name).c_str());
      made.params.emplace_back(std::move(name), std::move(fallback));
    }
    expect_op(")");
  }

  StmtPtr parse_macro(int at) {
    StmtPtr made = stmt(StmtKind::macro, at);
    made->text = expect_name();
    parse_params(*made);
    expect_block_end();
    const int outer = std::exchange(loop_depth_, 0);
    made->bodies.push_back(parse_until("endmacro", at));
    loop_depth_ = outer;
    return made;
  }

  StmtPtr parse_call_block(int at) {
    StmtPtr made = stmt(StmtKind::call_block, at);
    if (is_op("(")) parse_params(*made);
    made->exprs.push_back(parse_expression());
    if (made->exprs[0]->kind != ExprKind::call) fail_at(at, "expected a call");
    expect_block_end();
    const int outer = std::exchange(loop_depth_, 0);
    made->bodies.push_back(parse_until("endcall", at));
    loop_depth_ = outer;
    return made;
  }

  StmtPtr parse_filter_block(int at) {
    StmtPtr made = stmt(StmtKind::filter_block, at);
    made->exprs.push_back(parse_filter(nullptr));
    if (is_op("|")) made->exprs[0] = parse_filters(std::move(made->exprs[0]));
    expect_block_end();
    made->bodies.push_back(parse_until("endfilter", at));
    return made;
  }

  StmtPtr parse_with(int at) {
    StmtPtr made = stmt(StmtKind::with, at);
    while (peek().kind != TokenKind::block_end) {
      if (!made->params.empty()) expect_op(",");
      std::string name = expect_name();
      expect_op("=");
      made->params.emplace_back(std::move(name), parse_expression());
    }
    expect_block_end();
    made->bodies.push_back(parse_until("endwith", at));
    return made;
  }

  StmtPtr parse_scope(int at, std::string_view end) {
    expect_block_end();
    StmtPtr made = stmt(StmtKind::scope, at);
    made->bodies.push_back(parse_until(end, at));
    return made;
  }

  int block_depth_ = 0;
  int loop_depth_ = 0;
};

}  // namespace

Body parse(std::string_view source) { return Parser(source).run(); }

}  // namespace ruda::jinja
