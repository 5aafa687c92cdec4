// src/model/text/c_api.cpp - the C entries for tokenizers and text streams.
// SPDX-License-Identifier: Apache-2.0
#include "core/struct_in.hpp"
#include "model/text/tokenizer.hpp"
#include "core/text.hpp"

#include <cstring>

namespace {

using namespace ruda;
using text::TextStream;
using text::Tokenizer;
using ull = unsigned long long;

constexpr uint32_t encode_flags = RUDA_ENCODE_ADD_SPECIAL | RUDA_ENCODE_PARSE_SPECIAL;
constexpr uint32_t decode_flags = RUDA_DECODE_SKIP_SPECIAL | RUDA_DECODE_RAW;

void check_flags(uint32_t flags, uint32_t known, int arg) {
  RUDA_CHECK((flags & ~known) == 0, RUDA_E_ARGUMENT, arg, "flags is 0x%x, known are 0x%x", flags, known);
}

// Writes all of `value` and a NUL, or nothing.
void give_text(const std::string& value, char* text, uint64_t capacity, uint64_t* out_needed, int arg) {
  if (out_needed) *out_needed = value.size() + 1;
  if (capacity == 0) return;
  RUDA_CHECK(text, RUDA_E_NULL, arg, "text is NULL, capacity is %llu", ull(capacity));
  RUDA_CHECK(capacity > value.size(), RUDA_E_BUDGET, arg + 1, "capacity is %llu bytes, the text needs %llu",
             ull(capacity), ull(value.size() + 1));
  std::memcpy(text, value.c_str(), value.size() + 1);
}

TextStream load(const ruda_text_stream& state, int arg) {
  RUDA_CHECK(state.struct_size >= sizeof(ruda_text_stream), RUDA_E_ARGUMENT, arg,
             "struct_size is %u, expected at least %zu", state.struct_size, sizeof(ruda_text_stream));
  check_flags(state.flags, decode_flags, arg);
  RUDA_CHECK(state.pending_bytes <= 3, RUDA_E_ARGUMENT, arg, "pending_bytes is %u, expected 0 to 3",
             state.pending_bytes);
  char bytes[8];
  std::memcpy(bytes, &state.pending, sizeof bytes);
  return TextStream(state.flags, {bytes, state.pending_bytes}, state.started != 0);
}

void save(const TextStream& stream, ruda_text_stream& state) {
  state.started = stream.started();
  state.pending_bytes = uint32_t(stream.pending().size());
  state.pending = 0;
  std::memcpy(&state.pending, stream.pending().data(), state.pending_bytes);
}

}  // namespace

extern "C" ruda_status ruda_tokenizer_from_store(ruda_store store, const ruda_tokenizer_desc* desc,
                                                 ruda_tokenizer* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = nullptr;
    auto& object = get<store::Store>(store, 0, "store");
    if (desc) check_flags(struct_in(desc, 1, "desc").flags, 0, 1);
    object.file().check_unchanged();
    *out = make<Tokenizer>(nullptr, Ref<store::Store>(&object)).detach<ruda_tokenizer>();
  });
}

extern "C" ruda_status ruda_tokenizer_get_info(ruda_tokenizer tokenizer,
                                               ruda_tokenizer_info* inout) noexcept {
  return guard(__func__, [&] {
    const auto& object = get<Tokenizer>(tokenizer, 0, "tokenizer");
    ruda_tokenizer_info info = RUDA_TOKENIZER_INFO_INIT;
    info.vocab_size = object.vocabulary().size();
    info.bos = object.bos();
    info.eos = object.eos();
    info.unknown = object.unknown();
    info.padding = object.padding();
    info.add_bos = object.add_bos();
    info.add_eos = object.add_eos();
    info.has_chat_template = object.store().gguf().find_meta("tokenizer.chat_template") != nullptr;
    info.model = object.model_name();
    info.pre = object.pre_name();
    struct_out(inout, info, 1, "inout");
  });
}

extern "C" ruda_status ruda_tokenizer_encode(ruda_tokenizer tokenizer, const char* text, uint64_t bytes,
                                             uint32_t flags, int32_t* tokens, uint64_t capacity,
                                             uint64_t* out_count) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out_count, RUDA_E_NULL, 6, "out_count is NULL");
    *out_count = 0;
    const auto& object = get<Tokenizer>(tokenizer, 0, "tokenizer");
    RUDA_CHECK(text || bytes == 0, RUDA_E_NULL, 1, "text is NULL, bytes is %llu", ull(bytes));
    check_flags(flags, encode_flags, 3);
    RUDA_CHECK(tokens || capacity == 0, RUDA_E_NULL, 4, "tokens is NULL, capacity is %llu", ull(capacity));
    std::vector<int32_t> out;
    object.encode({text, size_t(bytes)}, flags, out);
    *out_count = out.size();
    if (capacity == 0) return;
    RUDA_CHECK(capacity >= out.size(), RUDA_E_BUDGET, 5, "capacity is %llu tokens, the text needs %llu",
               ull(capacity), ull(out.size()));
    if (!out.empty()) std::memcpy(tokens, out.data(), out.size() * sizeof(int32_t));
  });
}

extern "C" ruda_status ruda_tokenizer_decode(ruda_tokenizer tokenizer, const int32_t* tokens, uint64_t count,
                                             uint32_t flags, char* text, uint64_t capacity,
                                             uint64_t* out_needed) noexcept {
  return guard(__func__, [&] {
    if (out_needed) *out_needed = 0;
    const auto& object = get<Tokenizer>(tokenizer, 0, "tokenizer");
    RUDA_CHECK(tokens || count == 0, RUDA_E_NULL, 1, "tokens is NULL, count is %llu", ull(count));
    check_flags(flags, decode_flags, 3);
    give_text(object.decode({tokens, size_t(count)}, flags), text, capacity, out_needed, 4);
  });
}

extern "C" ruda_status ruda_tokenizer_token_text(ruda_tokenizer tokenizer, int32_t token, char* text,
                                                 uint64_t capacity, uint64_t* out_needed) noexcept {
  return guard(__func__, [&] {
    if (out_needed) *out_needed = 0;
    const auto& object = get<Tokenizer>(tokenizer, 0, "tokenizer");
    std::string value;
    object.append_token(value, token, 0);
    give_text(value, text, capacity, out_needed, 2);
  });
}

extern "C" ruda_status ruda_tokenizer_token_info(ruda_tokenizer tokenizer, int32_t token, uint32_t* out_type,
                                                 float* out_score) noexcept {
  return guard(__func__, [&] {
    if (out_type) *out_type = 0;
    if (out_score) *out_score = 0;
    const auto& object = get<Tokenizer>(tokenizer, 0, "tokenizer");
    object.check_token(token, 1);
    if (out_type) *out_type = uint32_t(object.vocabulary().type(token));
    if (out_score) *out_score = object.vocabulary().score(token);
  });
}

extern "C" ruda_status ruda_tokenizer_token_id(ruda_tokenizer tokenizer, const char* text,
                                               int32_t* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = -1;
    const auto& object = get<Tokenizer>(tokenizer, 0, "tokenizer");
    RUDA_CHECK(text, RUDA_E_NULL, 1, "text is NULL");
    const int32_t token = object.vocabulary().find(text);
    RUDA_CHECK(token >= 0, RUDA_E_NOT_FOUND, 1, "no token is %s, the vocabulary has %d",
               ruda::in_quotes(text).c_str(), object.vocabulary().size());
    *out = token;
  });
}

extern "C" ruda_status ruda_tokenizer_is_end(ruda_tokenizer tokenizer, int32_t token,
                                             ruda_bool* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = 0;
    const auto& object = get<Tokenizer>(tokenizer, 0, "tokenizer");
    object.check_token(token, 1);
    *out = object.is_end(token);
  });
}

extern "C" ruda_status ruda_text_stream_push(ruda_tokenizer tokenizer, ruda_text_stream* inout, int32_t token,
                                             char* text, uint64_t capacity, uint64_t* out_needed) noexcept {
  return guard(__func__, [&] {
    if (out_needed) *out_needed = 0;
    const auto& object = get<Tokenizer>(tokenizer, 0, "tokenizer");
    RUDA_CHECK(inout, RUDA_E_NULL, 1, "inout is NULL");
    TextStream stream = load(*inout, 1);
    object.check_token(token, 2);
    give_text(stream.push(object, token), text, capacity, out_needed, 3);
    if (capacity) save(stream, *inout);
  });
}

extern "C" ruda_status ruda_text_stream_end(ruda_text_stream* inout, char* text, uint64_t capacity,
                                            uint64_t* out_needed) noexcept {
  return guard(__func__, [&] {
    if (out_needed) *out_needed = 0;
    RUDA_CHECK(inout, RUDA_E_NULL, 0, "inout is NULL");
    TextStream stream = load(*inout, 0);
    give_text(stream.finish(), text, capacity, out_needed, 1);
    if (capacity) save(stream, *inout);
  });
}
