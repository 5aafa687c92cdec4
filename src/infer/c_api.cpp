// src/infer/c_api.cpp - C entries of sessions.
// SPDX-License-Identifier: Apache-2.0
#include "core/struct_in.hpp"
#include "infer/session.hpp"
#include "model/template/chat.hpp"

#include <algorithm>
#include <cstring>

using namespace ruda;
using infer::Session;

namespace {

constexpr uint64_t text_capacity = 1025;  // of ruda_session_next_text: longest token and the NUL

// Nothing is taken from the session where the buffer may be too short for it.
void check_text(const Session& session, char* text, uint64_t capacity, uint64_t* out_needed) {
  RUDA_CHECK(text, RUDA_E_NULL, 1, "text is NULL");
  const uint64_t least = text_capacity + session.kept_bytes();
  if (capacity < least && out_needed) *out_needed = least;
  RUDA_CHECK(capacity >= least, RUDA_E_ARGUMENT, 2,
             "capacity is %llu, expected at least %llu (%llu bytes of text wait)",
             (unsigned long long)capacity, (unsigned long long)least,
             (unsigned long long)session.kept_bytes());
}

// One call on a session: it stays alive and takes no other call meanwhile.
class Use {
 public:
  explicit Use(ruda_session handle) : session_(&get<Session>(handle, 0, "session")) {
    RUDA_CHECK(session_->enter(), RUDA_E_STATE, 0,
               "session: used from within its own callback or by another thread");
  }
  ~Use() { session_->leave(); }
  Use(const Use&) = delete;
  Use& operator=(const Use&) = delete;
  Session& operator*() const { return *session_; }
  Session* operator->() const { return session_.get(); }

 private:
  Ref<Session> session_;
};

// What stops one call: its token stays alive meanwhile, whatever a callback releases.
class Stop : public StopSign {
 public:
  Stop(ruda_cancel handle, int arg) {
    if (!handle) return;
    kept_ = Ref<Cancel>(&get<Cancel>(handle, arg, "cancel"));
    cancel = kept_.get();
  }

 private:
  Ref<Cancel> kept_;
};

}  // namespace

extern "C" {

ruda_status ruda_session_create(ruda_model model, const ruda_session_desc* desc, ruda_session* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 2, "out is NULL");
    *out = nullptr;
    auto& m = get<model::LanguageModel>(model, 0, "model");
    ruda_session_desc d = RUDA_SESSION_DESC_INIT;
    if (desc) d = struct_in(desc, 1, "desc");
    m.context().device().check_usable();
    *out = make<Session>(m.cell(), Ref<model::LanguageModel>(&m), d).detach<ruda_session>();
  });
}

ruda_status ruda_session_set_sampling(ruda_session session, const ruda_sampling* sampling) noexcept {
  return guard(__func__, [&] {
    const Use use(session);
    Session& s = *use;
    ruda_sampling options = RUDA_SAMPLING_INIT;
    if (sampling) options = struct_in(sampling, 1, "sampling");
    s.set_sampling(options, 1);
  });
}

ruda_status ruda_session_prompt(ruda_session session, const int32_t* tokens, uint64_t count,
                                ruda_progress_fn progress, void* user, ruda_cancel cancel) noexcept {
  return guard(__func__, [&] {
    const Use use(session);
    Session& s = *use;
    RUDA_CHECK(tokens || !count, RUDA_E_NULL, 1, "tokens is NULL with count %llu", (unsigned long long)count);
    s.prompt({tokens, count}, progress, user, Stop(cancel, 5));
  });
}

ruda_status ruda_session_prompt_text(ruda_session session, const char* text, uint64_t bytes,
                                     ruda_progress_fn progress, void* user, ruda_cancel cancel) noexcept {
  return guard(__func__, [&] {
    const Use use(session);
    Session& s = *use;
    RUDA_CHECK(text || !bytes, RUDA_E_NULL, 1, "text is NULL with %llu bytes", (unsigned long long)bytes);
    const Stop stop(cancel, 5);
    std::vector<int32_t> tokens;
    s.model().tokenizer().encode({text, bytes}, RUDA_ENCODE_ADD_SPECIAL | RUDA_ENCODE_PARSE_SPECIAL, tokens,
                                 stop);
    s.prompt(tokens, progress, user, stop);
  });
}

ruda_status ruda_session_prompt_chat(ruda_session session, const ruda_chat_message* messages, uint64_t count,
                                     const ruda_chat_options* options, ruda_progress_fn progress, void* user,
                                     ruda_cancel cancel) noexcept {
  return guard(__func__, [&] {
    const Use use(session);
    Session& s = *use;
    RUDA_CHECK(count, RUDA_E_ARGUMENT, 2, "count is 0, expected at least 1 message");
    const auto tokenizer = handle_of<ruda_tokenizer>(s.model().tokenizer());
    const Stop stop(cancel, 6);
    const std::string text = text::render_chat(tokenizer, messages, count, options, stop);
    std::vector<int32_t> tokens;
    s.model().tokenizer().encode(text, RUDA_ENCODE_PARSE_SPECIAL, tokens, stop);
    s.prompt(tokens, progress, user, stop);
  });
}

ruda_status ruda_session_next(ruda_session session, int32_t* out_token) noexcept {
  return guard(__func__, [&]() -> ruda_status {
    RUDA_CHECK(out_token, RUDA_E_NULL, 1, "out_token is NULL");
    *out_token = -1;
    const Session::Next step = Use(session)->next(StopSign{});
    *out_token = step.token;
    return step.finish == RUDA_FINISH_NONE ? RUDA_OK : RUDA_END_OF_DATA;
  });
}

ruda_status ruda_session_next_text(ruda_session session, char* text, uint64_t capacity, uint64_t* out_needed,
                                   int32_t* out_token) noexcept {
  return guard(__func__, [&]() -> ruda_status {
    if (out_needed) *out_needed = 0;
    if (out_token) *out_token = -1;
    const Use use(session);
    Session& s = *use;
    check_text(s, text, capacity, out_needed);
    const Session::Next step = s.next(StopSign{});
    text_out(s.take_text(step), text, capacity, out_needed, 1);
    if (out_token) *out_token = step.token;
    return step.finish == RUDA_FINISH_NONE ? RUDA_OK : RUDA_END_OF_DATA;
  });
}

ruda_status ruda_session_flush_text(ruda_session session, char* text, uint64_t capacity,
                                    uint64_t* out_needed) noexcept {
  return guard(__func__, [&] {
    if (out_needed) *out_needed = 0;
    const Use use(session);
    Session& s = *use;
    check_text(s, text, capacity, out_needed);
    text_out(s.rest(), text, capacity, out_needed, 1);
  });
}

ruda_status ruda_session_generate(ruda_session session, const ruda_generate_options* options,
                                  uint32_t* out_finish) noexcept {
  return guard(__func__, [&] {
    if (out_finish) *out_finish = RUDA_FINISH_NONE;
    const Use use(session);
    Session& s = *use;
    ruda_generate_options o = RUDA_GENERATE_OPTIONS_INIT;
    if (options) o = struct_in(options, 1, "options");
    const uint32_t finish = s.generate(o, Stop(o.cancel, 1));
    if (out_finish) *out_finish = finish;
  });
}

ruda_status ruda_session_logits(ruda_session session, float* logits, uint64_t count) noexcept {
  return guard(__func__, [&] {
    const Use use(session);
    Session& s = *use;
    RUDA_CHECK(logits, RUDA_E_NULL, 1, "logits is NULL");
    const uint64_t vocab = uint64_t(s.model().config().vocab);
    RUDA_CHECK(count == vocab, RUDA_E_SHAPE, 2, "count is %llu, the vocabulary has %llu",
               (unsigned long long)count, (unsigned long long)vocab);
    const auto from = s.logits();
    std::copy(from.begin(), from.end(), logits);
  });
}

ruda_status ruda_session_tokens(ruda_session session, int32_t* tokens, uint64_t capacity,
                                uint64_t* out_count) noexcept {
  return guard(__func__, [&] {
    if (out_count) *out_count = 0;
    const Use use(session);
    const auto& held = use->tokens();
    RUDA_CHECK(tokens || !capacity, RUDA_E_NULL, 1, "tokens is NULL with capacity %llu",
               (unsigned long long)capacity);
    std::copy_n(held.begin(), std::min<uint64_t>(capacity, held.size()), tokens);
    if (out_count) *out_count = held.size();
  });
}

ruda_status ruda_session_rewind(ruda_session session, uint64_t count) noexcept {
  return guard(__func__, [&] { Use(session)->rewind(count); });
}

ruda_status ruda_session_get_info(ruda_session session, ruda_session_info* inout) noexcept {
  return guard(__func__, [&] {
    ruda_session_info info = RUDA_SESSION_INFO_INIT;
    Use(session)->info(info);
    struct_out(inout, info, 1, "inout");
  });
}

}  // extern "C"
