// src/infer/stop_text.hpp - watches generated text for stop sequences and holds back what may become one.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string>
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
  std::vector<std::string> stops_;
  std::string held_;
  bool stopped_ = false;
};

}  // namespace ruda::infer
