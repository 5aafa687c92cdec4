// src/model/llm/language_model.hpp - the object behind ruda_model: numbers, weights and tokenizer of one
// decoder.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/llm/config.hpp"
#include "model/text/tokenizer.hpp"
#include "tensor/tensor.hpp"

#include <ruda/model.h>

namespace ruda::model {

struct LayerWeights {
  Ref<Tensor> attention_norm, q, k, v, output;
  Ref<Tensor> q_bias, k_bias, v_bias;  // may be empty
  Ref<Tensor> feed_forward_norm, gate, up, down;
  // On an asynchronous device the products of one input are one product: q, k, v (and their biases) and gate,
  // up are rows of these. Empty in a mapped file, and where dtypes differ.
  Ref<Tensor> qkv, qkv_bias, gate_up;
};

struct DecoderWeights {
  Ref<Tensor> embedding, output_norm;
  Ref<Tensor> output;        // the embedding itself where the file ties them
  Ref<Tensor> rope_factors;  // divides the frequencies; may be empty
  std::vector<LayerWeights> layers;
};

// Immutable after construction.
class LanguageModel final : public Object {
 public:
  static constexpr Kind kind = Kind::model;
  LanguageModel(Context& context, Ref<store::Store> store, ruda_progress_fn progress, void* user);

  Context& context() const { return context_; }
  const DecoderConfig& config() const { return config_; }
  const DecoderWeights& weights() const { return weights_; }
  const text::Tokenizer& tokenizer() const { return *tokenizer_; }
  const Ref<text::Tokenizer>& tokenizer_ref() const { return tokenizer_; }
  uint64_t weight_bytes() const { return weight_bytes_; }
  uint64_t parameters() const { return parameters_; }

 private:
  Context& context_;  // kept alive by the cell's parent
  Ref<store::Store> store_;
  DecoderConfig config_;
  DecoderWeights weights_;
  Ref<text::Tokenizer> tokenizer_;
  uint64_t weight_bytes_ = 0, parameters_ = 0;
};

}  // namespace ruda::model
