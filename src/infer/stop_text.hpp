// src/infer/stop_text.hpp - watches generated text for stop sequences and holds back what may become one.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ruda::infer {

class StopText {
 public:
  // RUDA_E_NULL or RUDA_E_ARGUMENT for a NULL or empty text, or one that is not UTF-8.
  StopText(const char* const* stops, uint32_t count);
  // What is certain not to belong to a stop sequence; the text before one when it appears.
  std::string push(const std::string& text);
  // What is held back, which it then forgets: empty after a stop sequence.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  // The automaton of Aho and Corasick: a node is the beginning of stop sequences, so that a byte of text
  // costs the same however many there are.
  struct Node {
    uint32_t child = 0, sibling = 0;  // 0 = none
    uint32_t fallback = 0;            // the longest other end of this beginning that is one itself
    uint32_t depth = 0;               // bytes
    uint32_t stop = 0;                // bytes of the longest stop sequence that ends here, 0 = none
    char byte = 0;
  };
  uint32_t child(uint32_t node, char byte) const;
  uint32_t step(uint32_t node, char byte) const;
  void add(std::string_view stop);
  void link();

  std::vector<Node> nodes_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace ruda::infer
