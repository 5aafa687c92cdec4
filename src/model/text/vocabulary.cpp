// src/model/text/vocabulary.cpp - reading of the token tables and the two look-ups in them.
// SPDX-License-Identifier: Apache-2.0
#include "model/text/vocabulary.hpp"

#include "core/error.hpp"
#include "model/text/hash.hpp"
#include "plan/op.hpp"
#include "store/meta.hpp"
#include "core/text.hpp"

#include <algorithm>
#include <bit>

namespace ruda::text {
namespace {

using store::MetaType;
using ull = unsigned long long;

// Longer texts of special tokens would make matching slow for nothing: real ones have tens of bytes.
constexpr size_t max_special_bytes = 1024;

// Tables of another length than the tokens are refused.
const store::MetaEntry* table(const store::GgufFile& file, const char* key, MetaType element,
                              uint64_t count) {
  const store::MetaEntry* entry = store::meta_array(file, key, element);
  if (entry)
    RUDA_CHECK(entry->count == count, RUDA_E_FORMAT, -1, "tokenizer: %s has %llu entries, expected %llu", key,
               ull(entry->count), ull(count));
  return entry;
}

}  // namespace

Vocabulary::Vocabulary(const store::GgufFile& file) {
  const store::MetaEntry* tokens = store::meta_array(file, "tokenizer.ggml.tokens", MetaType::string);
  RUDA_CHECK(tokens, RUDA_E_NOT_FOUND, -1, "tokenizer: the file has no key tokenizer.ggml.tokens");
  RUDA_CHECK(tokens->count >= 1 && tokens->count <= (1U << 26), RUDA_E_FORMAT, -1,
             "tokenizer: tokenizer.ggml.tokens has %llu entries, expected 1 to %u", ull(tokens->count),
             1U << 26);
  texts_.reserve(tokens->count);
  store::MetaStrings strings(*tokens);
  for (std::string_view text; strings.next(text);) texts_.push_back(text);

  types_.assign(texts_.size(), TokenType::normal);
  if (const auto* entry = table(file, "tokenizer.ggml.token_type", MetaType::i32, tokens->count))
    for (size_t i = 0; i < types_.size(); ++i) {
      const auto type = int64_t(store::meta_bits(*entry, i));
      RUDA_CHECK(type >= 0 && type <= 6, RUDA_E_FORMAT, -1,
                 "tokenizer: token_type of token %zu is %lld, expected 0 to 6", i,
                 static_cast<long long>(type));
      types_[i] = type == 0 ? TokenType::normal : TokenType(type);
    }
  if (const auto* entry = table(file, "tokenizer.ggml.scores", MetaType::f32, tokens->count)) {
    scores_.resize(texts_.size());
    for (size_t i = 0; i < scores_.size(); ++i) {
      scores_[i] = float(store::meta_float(*entry, i));
      RUDA_CHECK(scores_[i] == scores_[i], RUDA_E_FORMAT, -1, "tokenizer: score of token %zu is NaN", i);
    }
  }

  seed_ = hash_seed(texts_.data());
  slots_.assign(std::bit_ceil(texts_.size() * 2), -1);
  for (size_t i = 0; i < texts_.size(); ++i) {
    const uint64_t slot = slot_of(texts_[i]);
    if (slots_[slot] < 0) slots_[slot] = int32_t(i);
  }
}

uint64_t Vocabulary::slot_of(std::string_view text) const {
  uint64_t slot = hash_text(text, seed_) & (slots_.size() - 1);
  while (slots_[slot] >= 0 && texts_[size_t(slots_[slot])] != text) slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

int32_t Vocabulary::find(std::string_view text) const { return slots_[slot_of(text)]; }

SpecialTokens::SpecialTokens(const Vocabulary& vocabulary) {
  for (int32_t token = 0; token < vocabulary.size(); ++token) {
    const bool control = vocabulary.is_special(token);
    if (!control && vocabulary.type(token) != TokenType::user_defined) continue;
    const std::string_view text = vocabulary.text(token);
    if (text.empty()) continue;
    RUDA_CHECK(text.size() <= max_special_bytes, RUDA_E_FORMAT, -1,
               "tokenizer: special token %d %s has %zu bytes, at most %zu are allowed", token,
               ruda::in_quotes(text).c_str(), text.size(), max_special_bytes);
    entries_.push_back({text, token, control});
    first_.set(static_cast<unsigned char>(text[0]));
  }
  std::stable_sort(entries_.begin(), entries_.end(),
                   [](const Entry& a, const Entry& b) { return a.text < b.text; });
}

SpecialTokens::Match SpecialTokens::next(std::string_view text, size_t from, bool control,
                                         const StopSign& stop) const {
  for (size_t at = from; at < text.size(); ++at) {
    if (at % look_every == 0) stop.check();
    if (!first_.test(static_cast<unsigned char>(text[at]))) continue;
    // Narrow the sorted range byte by byte; an entry that ends at the present depth is a match, the last one
    // the longest.
    auto low = entries_.begin(), high = entries_.end();
    Match best{text.size(), 0, -1};
    for (size_t depth = 0; low != high && at + depth < text.size(); ++depth) {
      const auto byte = static_cast<unsigned char>(text[at + depth]);
      const auto at_depth = [depth](const Entry& e) { return static_cast<unsigned char>(e.text[depth]); };
      low = std::partition_point(low, high, [&](const Entry& e) { return at_depth(e) < byte; });
      high = std::partition_point(low, high, [&](const Entry& e) { return at_depth(e) == byte; });
      bool taken = false;
      for (; low != high && low->text.size() == depth + 1; ++low) {
        if (!taken && (control || !low->control)) best = {at, depth + 1, low->token}, taken = true;
      }
    }
    if (best.token >= 0) return best;
  }
  return {text.size(), 0, -1};
}

}  // namespace ruda::text
