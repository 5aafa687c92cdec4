// src/model/template/parser.hpp - from tokens to a syntax tree.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/template/ast.hpp"

namespace ruda::jinja {

// RUDA_E_FORMAT with the line for what breaks the grammar, RUDA_E_UNSUPPORTED for tags of other templates
// (extends, block, include, import), RUDA_E_BUDGET for nesting beyond what the evaluator takes.
Body parse(std::string_view source);

}  // namespace ruda::jinja
