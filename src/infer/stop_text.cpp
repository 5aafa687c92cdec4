// src/infer/stop_text.cpp - the search for stop sequences across pieces.
// SPDX-License-Identifier: Apache-2.0
#include "infer/stop_text.hpp"

#include "core/error.hpp"
#include "model/text/unicode.hpp"

#include <algorithm>

namespace ruda::infer {

StopText::StopText(const char* const* stops, uint32_t count) : nodes_(1) {
  RUDA_CHECK(stops || !count, RUDA_E_NULL, 1, "options.stops is NULL with %u texts", count);
  for (uint32_t i = 0; i < count; ++i) {
    RUDA_CHECK(stops[i], RUDA_E_NULL, 1, "options.stops[%u] is NULL", i);
    RUDA_CHECK(stops[i][0], RUDA_E_ARGUMENT, 1, "options.stops[%u] is empty", i);
    const std::string_view stop = stops[i];
    for (size_t at = 0; at < stop.size();) {
      const auto character = text::decode_utf8(stop.substr(at));
      RUDA_CHECK(character.valid, RUDA_E_ARGUMENT, 1, "options.stops[%u] is not UTF-8 at byte %zu", i, at);
      at += character.bytes;
    }
    add(stop);
  }
  link();
}

uint32_t StopText::child(uint32_t node, char byte) const {
  for (uint32_t next = nodes_[node].child; next; next = nodes_[next].sibling)
    if (nodes_[next].byte == byte) return next;
  return 0;
}

void StopText::add(std::string_view stop) {
  uint32_t node = 0;
  for (const char byte : stop) {
    uint32_t next = child(node, byte);
    if (!next) {
      RUDA_CHECK(nodes_.size() < UINT32_MAX, RUDA_E_BUDGET, 1, "options.stops have more than %zu bytes",
                 nodes_.size());
      next = uint32_t(nodes_.size());
      Node made;
      made.byte = byte;
      made.depth = nodes_[node].depth + 1;
      made.sibling = nodes_[node].child;
      nodes_.push_back(made);
      nodes_[node].child = next;
    }
    node = next;
  }
  nodes_[node].stop = nodes_[node].depth;
}

// Shorter beginnings come first, so that what a node falls back to is complete.
void StopText::link() {
  std::vector<uint32_t> queue = {0};
  for (size_t i = 0; i < queue.size(); ++i) {
    const uint32_t node = queue[i];
    for (uint32_t next = nodes_[node].child; next; next = nodes_[next].sibling) {
      queue.push_back(next);
      if (node) nodes_[next].fallback = step(nodes_[node].fallback, nodes_[next].byte);
      if (!nodes_[next].stop) nodes_[next].stop = nodes_[nodes_[next].fallback].stop;
    }
  }
}

uint32_t StopText::step(uint32_t node, char byte) const {
  for (;; node = nodes_[node].fallback)
    if (const uint32_t next = child(node, byte); next || !node) return next;
}

std::string StopText::push(const std::string& text) {
  held_ += text;
  size_t first = std::string::npos;
  uint32_t node = 0;
  for (size_t i = 0; i < held_.size(); ++i) {
    node = step(node, held_[i]);
    if (nodes_[node].stop) first = std::min(first, i + 1 - nodes_[node].stop);
  }
  if (first != std::string::npos) {
    stopped_ = true;
    std::string out = held_.substr(0, first);
    held_.clear();
    return out;
  }
  // The longest end of the text that begins some stop sequence stays.
  const size_t keep = nodes_[node].depth;
  std::string out = held_.substr(0, held_.size() - keep);
  held_.erase(0, held_.size() - keep);
  return out;
}

std::string StopText::finish() { return std::exchange(held_, {}); }

}  // namespace ruda::infer
