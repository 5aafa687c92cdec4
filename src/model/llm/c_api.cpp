// src/model/llm/c_api.cpp - C entries of language models.
// SPDX-License-Identifier: Apache-2.0
#include "core/struct_in.hpp"
#include "model/llm/language_model.hpp"

using namespace ruda;
using model::LanguageModel;

extern "C" {

ruda_status ruda_model_load(ruda_context context, ruda_store store, const ruda_model_desc* desc,
                            ruda_model* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 3, "out is NULL");
    *out = nullptr;
    Context& c = get_context(context);
    const Ref<Context> kept(&c);  // desc.progress may release it
    auto& opened = get<store::Store>(store, 1, "store");
    ruda_model_desc d = RUDA_MODEL_DESC_INIT;
    if (desc) d = struct_in(desc, 2, "desc");
    RUDA_CHECK(d.flags == 0, RUDA_E_ARGUMENT, 2, "desc.flags is %u, expected 0", d.flags);
    c.device().check_usable();
    *out =
        make<LanguageModel>(c.cell(), c, Ref<store::Store>(&opened), d.progress, d.user).detach<ruda_model>();
  });
}

ruda_status ruda_model_get_info(ruda_model model, ruda_model_info* inout) noexcept {
  return guard(__func__, [&] {
    const auto& m = get<LanguageModel>(model, 0, "model");
    const model::DecoderConfig& c = m.config();
    ruda_model_info info = RUDA_MODEL_INFO_INIT;
    info.layer_count = uint32_t(c.layers);
    info.architecture = c.architecture.c_str();
    info.name = c.name.c_str();
    info.width = uint32_t(c.width);
    info.ff_width = uint32_t(c.ff_width);
    info.q_heads = uint32_t(c.q_heads);
    info.kv_heads = uint32_t(c.kv_heads);
    info.head_dim = uint32_t(c.head_dim);
    info.vocab_size = uint32_t(c.vocab);
    info.context_length = uint64_t(c.context);
    info.parameter_count = m.parameters();
    info.weight_bytes = m.weight_bytes();
    struct_out(inout, info, 1, "inout");
  });
}

ruda_status ruda_model_get_tokenizer(ruda_model model, ruda_tokenizer* out) noexcept {
  return guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 1, "out is NULL");
    *out = nullptr;
    *out =
        Ref<text::Tokenizer>(get<LanguageModel>(model, 0, "model").tokenizer_ref()).detach<ruda_tokenizer>();
  });
}

}  // extern "C"
