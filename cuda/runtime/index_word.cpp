// cuda/runtime/index_word.cpp - the table of places that report indices.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/index_word.hpp"

#include "core/error.hpp"
#include "core/fork.hpp"

#include <cstring>
#include <utility>
#include <vector>

namespace ruda::cuda {
namespace {

struct Sites {
  Mutex mutex;
  std::vector<std::pair<const char*, const char*>> list;
};

Lasting<Sites> sites;

}  // namespace

uint32_t index_site(const char* op, const char* operand) {
  Sites& s = *sites;
  const std::lock_guard lock(s.mutex);
  for (size_t i = 0; i < s.list.size(); ++i)
    if (!std::strcmp(s.list[i].first, op) && !std::strcmp(s.list[i].second, operand)) return uint32_t(i);
  s.list.emplace_back(op, operand);
  return uint32_t(s.list.size() - 1);
}

std::string index_text(const IndexWord& word) {
  Sites& s = *sites;
  const std::lock_guard lock(s.mutex);
  const auto [op, operand] =
      word.site < s.list.size() ? s.list[word.site] : std::pair{"a kernel", "an operand"};
  return format("%s: %s holds %lld, expected 0..%lld", op, operand, (long long)word.index,
                (long long)(word.extent - 1));
}

}  // namespace ruda::cuda
