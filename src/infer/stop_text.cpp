// src/infer/stop_text.cpp - the search for stop sequences across pieces.
// SPDX-License-Identifier: Apache-2.0
#include "infer/stop_text.hpp"

#include "core/error.hpp"
#include "model/text/unicode.hpp"

#include <algorithm>

namespace ruda::infer {

StopText::StopText(const char* const* stops, uint32_t count) {
  RUDA_CHECK(stops || !count, RUDA_E_NULL, 1, "options.stops is NULL with %u texts", count);
  for (uint32_t i = 0; i < count; ++i) {
    RUDA_CHECK(stops[i], RUDA_E_NULL, 1, "options.stops[%u] is NULL", i);
    RUDA_CHECK(stops[i][0], RUDA_E_ARGUMENT, 1, "options.stops[%u] is empty", i);
    const std::string& stop = stops_.emplace_back(stops[i]);
    for (size_t at = 0; at < stop.size();) {
      const auto character = text::decode_utf8(std::string_view(stop).substr(at));
      RUDA_CHECK(character.valid, RUDA_E_ARGUMENT, 1, "options.stops[%u] is not UTF-8 at byte %zu", i, at);
      at += character.bytes;
    }
  }
}

std::string StopText::push(const std::string& text) {
  if (stops_.empty()) return text;
  held_ += text;
  size_t first = std::string::npos;
  for (const std::string& stop : stops_) first = std::min(first, held_.find(stop));
  if (first != std::string::npos) {
    stopped_ = true;
    std::string out = held_.substr(0, first);
    held_.clear();
    return out;
  }
  // The longest end of the text that begins some stop sequence stays.
  size_t keep = 0;
  for (const std::string& stop : stops_)
    for (size_t n = std::min(stop.size() - 1, held_.size()); n > keep; --n)
      if (held_.compare(held_.size() - n, n, stop, 0, n) == 0) keep = n;
  std::string out = held_.substr(0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return out;
}

std::string StopText::finish() { return std::exchange(held_, {}); }

}  // namespace ruda::infer
