// src/model/template/evaluate_depth.hpp - the guard that bounds recursion of the evaluator.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/error.hpp"
#include "model/template/evaluate.hpp"

namespace ruda::jinja {

class Evaluator::Depth {
 public:
  explicit Depth(Evaluator& self) : self_(self) {
    RUDA_CHECK(self_.depth_ < self_.limits_.depth, RUDA_E_BUDGET, -1,
               "template line %d: nested deeper than %d", self_.line_, self_.limits_.depth);
    ++self_.depth_;
  }
  ~Depth() { --self_.depth_; }
  Depth(const Depth&) = delete;
  Depth& operator=(const Depth&) = delete;

 private:
  Evaluator& self_;
};

}  // namespace ruda::jinja
