// src/infer/step.hpp - the plans and buffers of one forward pass over a fixed number of tokens.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "infer/calls.hpp"
#include "model/llm/language_model.hpp"
#include "plan/program.hpp"

#include <ruda/attention.h>

#include <map>
#include <memory>
#include <span>
#include <vector>

namespace ruda::infer {

// Keys and values of all layers, and the schedule that says where tokens lie.
struct Cache {
  uint32_t dtype = RUDA_F16;
  int64_t pages = 0, page_size = 0;
  std::vector<Ref<Tensor>> keys, values;  // [pages, page_size, kv_heads, head_dim], one a layer
  Owned<ruda_paged_schedule> schedule;
};

// The operands of a product. A gamma puts rms_norm before it; `gated` joins both halves of its rows.
struct Product {
  const Ref<Tensor>& x;
  const Ref<Tensor>& weight;
  const Ref<Tensor>& bias;
  const Ref<Tensor>& y;
  Ref<Tensor> gamma = {};
  double eps = 0;
  bool gated = false;
};

// A product with one weight shape; the plan serves every weight of that layout.
class Linear {
 public:
  Linear() = default;
  explicit Linear(const Product& product);
  Call call(const Product& product) const;  // valid as long as this and the operands
  ruda_plan_info info() const;

 private:
  Owned<ruda_plan> plan_;
  bool block_ = false;
};

class Step {
 public:
  Step(const model::LanguageModel& model, const Cache& cache, const Ref<Stream>& stream, int64_t tokens);

  int64_t tokens() const { return tokens_; }
  // Both have `tokens` entries.
  void write_inputs(const int32_t* ids, const int32_t* positions);
  // Submits the pass over what the inputs hold; the schedule is set. Capturable where `capturable`.
  void run(const Cache& cache, const StopSign& stop);
  const Ref<Tensor>& ids() const { return ids_; }        // I32 [tokens]
  const Ref<Tensor>& logits() const { return logits_; }  // of the last token, F32 [1, vocab]
  bool capturable() const { return capturable_; }

 private:
  Ref<Tensor> buffer(uint32_t dtype, std::initializer_list<int64_t> shape);
  Ref<Tensor> view(const Ref<Tensor>& tensor, std::initializer_list<int64_t> shape);
  // Positions begin..end-1 of an axis.
  Ref<Tensor> slice(const Ref<Tensor>& tensor, int axis, int64_t begin, int64_t end);
  void make_attention_buffers();
  void make_feed_forward_buffers();
  void plan_rope_attention(const Cache& cache);
  void plan_rope_append(const Cache& cache);
  void plan_rope_and_append(const Cache& cache);
  void need(const ruda_plan_info& info);
  const Linear& linear(const Product& product);
  // Products of one x, none of which reads what another writes, ready to be run.
  std::vector<Call> calls_of(const std::vector<Product>& products);
  void rotate_and_append(const Cache& cache, size_t index, const ruda_exec_opts* opts);
  void attend(const Cache& cache, size_t index, const ruda_exec_opts* opts);
  void layer(const Cache& cache, size_t index, const ruda_exec_opts* opts);
  void execute(const Owned<ruda_plan>& plan, std::initializer_list<ruda_binding> bindings,
               const ruda_exec_opts* opts);
  void execute(const Owned<ruda_plan>& plan, std::span<const ruda_binding> bindings,
               const ruda_exec_opts* opts);
  void multiply(const std::vector<Call>& calls, const ruda_exec_opts* opts);
  // The products of a layer that a norm comes before.
  std::vector<Product> attention_products(const model::LayerWeights& layer) const;
  std::vector<Product> gate_up_products(const model::LayerWeights& layer) const;

  const model::LanguageModel& model_;
  const Ref<Tensor> none_;  // the bias of products without one
  Ref<Stream> stream_;
  int64_t tokens_;

  Ref<Tensor> ids_, positions_, hidden_, normed_, delta_, q_, k_, v_, qkv_, context_, gate_, up_, gate_up_,
      gated_;
  Ref<Tensor> q_heads_, k_heads_, v_heads_, context_heads_;  // views [tokens, heads, head_dim]
  // One token: the residual is the bias of the product that it is added to, between two buffers, which saves
  // a launch. Else empty.
  Ref<Tensor> middle_, middle_row_, hidden_row_;
  bool joined_ =
      false;  // one token, weights in blocks: norms are parts of the products, the gate too if stacked
  Ref<Tensor> turned_heads_;  // q and k in one, where they are neighbours
  Ref<Tensor> last_hidden_, last_normed_, logits_;
  Ref<Tensor> frequencies_;

  Owned<ruda_plan> embed_, norm_, last_norm_, rope_q_, rope_k_, append_, rope_append_, rope_attention_,
      attention_, add_, silu_mul_;
  std::map<std::vector<const void*>, Linear> linears_;
  struct LayerCalls {
    std::vector<Call> attention, output, gate_up, down;
  };
  std::vector<LayerCalls> calls_;  // one a layer
  std::vector<Call> logits_call_;
  Owned<ruda_workspace> workspace_;
  uint64_t workspace_bytes_ = 0;
  bool capturable_ = true;
  bool writes_positions_ = false;
};

}  // namespace ruda::infer
