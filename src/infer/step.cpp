// src/infer/step.cpp - one forward pass: embedding, layers of attention and gated feed-forward, logits of the
// last token.
// SPDX-License-Identifier: Apache-2.0
#include "infer/step.hpp"

#include "core/float_mode.hpp"
#include "plan/paged_schedule.hpp"

#include <ruda/elementwise.h>
#include <ruda/embedding.h>
#include <ruda/norm.h>
#include <ruda/position.h>

#include <algorithm>
#include <cmath>

namespace ruda::infer {
namespace {

ruda_context context_of(const Ref<Tensor>& tensor) { return handle_of<ruda_context>(tensor->context()); }

Owned<ruda_plan> plan_norm(const Ref<Tensor>& x, const Ref<Tensor>& gamma, const Ref<Tensor>& y, double eps) {
  const ruda_tensor_desc xd = describe(x), gd = describe(gamma), yd = describe(y);
  ruda_rms_norm_desc desc = RUDA_RMS_NORM_DESC_INIT;
  desc.x = &xd;
  desc.gamma = &gd;
  desc.y = &yd;
  desc.eps = eps;
  Owned<ruda_plan> plan;
  ok(ruda_rms_norm_plan_create(context_of(x), &desc, plan.out()));
  return plan;
}

Owned<ruda_plan> plan_rope(const Ref<Tensor>& x, const Ref<Tensor>& positions, const Ref<Tensor>& frequencies,
                           const model::RopeConfig& rope) {
  const ruda_tensor_desc xd = describe(x), pd = describe(positions);
  ruda_tensor_desc fd = RUDA_TENSOR_DESC_INIT;
  if (frequencies) fd = describe(frequencies);
  const ruda_rope_params params = model::rope_params(rope);
  ruda_rope_desc desc = RUDA_ROPE_DESC_INIT;
  desc.x = &xd;
  desc.positions = &pd;
  desc.frequencies = frequencies ? &fd : nullptr;
  desc.y = &xd;
  desc.params = &params;
  Owned<ruda_plan> plan;
  ok(ruda_rope_plan_create(context_of(x), &desc, plan.out()));
  return plan;
}

// The file's factors divide the frequencies.
Ref<Tensor> divided_frequencies(const model::LanguageModel& model, Stream& stream) {
  const Ref<Tensor>& factors = model.weights().rope_factors;
  if (!factors) return {};
  const int64_t count = factors->layout().elements;
  std::vector<double> base(static_cast<size_t>(count));
  std::vector<float> divided(static_cast<size_t>(count));
  const ruda_rope_params params = model::rope_params(model.config().rope);
  ok(ruda_rope_frequencies(&params, base.data(), count, nullptr));
  stream.read(divided.data(), factors->data(), uint64_t(count) * sizeof(float));
  for (size_t i = 0; i < divided.size(); ++i) divided[i] = float(base[i] / divided[i]);
  Ref<Tensor> out = make_tensor(model.context(), factors->layout_ref(), &stream);
  ok(ruda_tensor_write(handle_of<ruda_stream>(stream), handle(out), divided.data(),
                       divided.size() * sizeof(float)));
  return out;
}

}  // namespace

Ref<Tensor> Step::buffer(uint32_t dtype, std::initializer_list<int64_t> shape) {
  Context& context = model_.context();
  return make_tensor(context, context.layouts().contiguous(dtype, shape.begin(), int(shape.size())),
                     stream_.get());
}

Ref<Tensor> Step::view(const Ref<Tensor>& tensor, std::initializer_list<int64_t> shape) {
  ruda_tensor out = nullptr;
  ok(ruda_tensor_view(handle(tensor), shape.begin(), uint32_t(shape.size()), &out));
  return Ref<Tensor>::adopt(&get_tensor(out, -1));
}

Ref<Tensor> Step::slice(const Ref<Tensor>& tensor, int axis, int64_t begin, int64_t end) {
  const Layout& layout = tensor->layout();
  int64_t from[RUDA_MAX_RANK] = {}, to[RUDA_MAX_RANK];
  std::copy_n(layout.shape, layout.rank, to);
  from[axis] = begin;
  to[axis] = end;
  ruda_tensor out = nullptr;
  ok(ruda_tensor_slice(handle(tensor), from, to, nullptr, uint32_t(layout.rank), &out));
  return Ref<Tensor>::adopt(&get_tensor(out, -1));
}

void Step::need(const ruda_plan_info& info) {
  workspace_bytes_ = std::max(workspace_bytes_, info.workspace_bytes);
  capturable_ = capturable_ && info.capturable;
}

const Linear& Step::linear(const Product& p) {
  const std::vector<const void*> key = {&p.x->layout(), &p.weight->layout(),
                                        p.bias ? &p.bias->layout() : nullptr,
                                        p.gamma ? &p.gamma->layout() : nullptr, &p.y->layout()};
  const auto found = linears_.find(key);
  if (found != linears_.end()) return found->second;
  Linear& made = linears_.emplace(key, Linear(p)).first->second;
  need(made.info());
  return made;
}

std::vector<Call> Step::calls_of(const std::vector<Product>& products) {
  std::vector<Call> calls;
  uint64_t bytes = 0;
  for (const Product& p : products) {
    calls.push_back(linear(p).call(p));
    bytes += call_workspace_bytes(*calls.back().program);
  }
  workspace_bytes_ = std::max(workspace_bytes_, bytes);
  return calls;
}

std::vector<Product> Step::attention_products(const model::LayerWeights& l) const {
  const Ref<Tensor>& x = joined_ ? hidden_ : normed_;
  const Ref<Tensor>& gamma = joined_ ? l.attention_norm : none_;
  const double eps = joined_ ? model_.config().norm_eps : 0;
  if (qkv_) return {{x, l.qkv, l.qkv_bias, qkv_, gamma, eps}};
  return {{x, l.q, l.q_bias, q_, gamma, eps},
          {x, l.k, l.k_bias, k_, gamma, eps},
          {x, l.v, l.v_bias, v_, gamma, eps}};
}

std::vector<Product> Step::gate_up_products(const model::LayerWeights& l) const {
  const Ref<Tensor>& x = !joined_ ? normed_ : middle_;
  const Ref<Tensor>& gamma = joined_ ? l.feed_forward_norm : none_;
  const double eps = joined_ ? model_.config().norm_eps : 0;
  if (gate_up_) return {{x, l.gate_up, none_, joined_ ? gated_ : gate_up_, gamma, eps, joined_}};
  return {{x, l.gate, none_, gate_, gamma, eps}, {x, l.up, none_, up_, gamma, eps}};
}

// One buffer for q, k and v where their weights are one matrix in every layer.
void Step::make_attention_buffers() {
  const model::DecoderConfig& c = model_.config();
  const auto& layers = model_.weights().layers;
  const int64_t heads = c.q_heads + 2 * c.kv_heads, keys = c.q_heads + c.kv_heads;
  if (std::all_of(layers.begin(), layers.end(), [](const auto& l) { return bool(l.qkv); })) {
    qkv_ = buffer(RUDA_F32, {tokens_, heads * c.head_dim});
    const Ref<Tensor> all = view(qkv_, {tokens_, heads, c.head_dim});
    q_heads_ = slice(all, 1, 0, c.q_heads);
    k_heads_ = slice(all, 1, c.q_heads, keys);
    v_heads_ = slice(all, 1, keys, heads);
    turned_heads_ = slice(all, 1, 0, keys);
    return;
  }
  q_ = buffer(RUDA_F32, {tokens_, c.q_heads * c.head_dim});
  k_ = buffer(RUDA_F32, {tokens_, c.kv_heads * c.head_dim});
  v_ = buffer(RUDA_F32, {tokens_, c.kv_heads * c.head_dim});
  q_heads_ = view(q_, {tokens_, c.q_heads, c.head_dim});
  k_heads_ = view(k_, {tokens_, c.kv_heads, c.head_dim});
  v_heads_ = view(v_, {tokens_, c.kv_heads, c.head_dim});
}

// One token: what stands between the projections and the output product is one launch, if a kernel takes it.
void Step::plan_rope_attention(const Cache& cache) {
  const ruda_tensor_desc qd = describe(q_heads_), kd = describe(k_heads_), vd = describe(v_heads_),
                         kc = describe(cache.keys[0]), vc = describe(cache.values[0]),
                         od = describe(context_heads_);
  ruda_tensor_desc fd = RUDA_TENSOR_DESC_INIT;
  if (frequencies_) fd = describe(frequencies_);
  const ruda_rope_params params = model::rope_params(model_.config().rope);
  ruda_rope_attention_desc desc = RUDA_ROPE_ATTENTION_DESC_INIT;
  desc.q = &qd;
  desc.k = &kd;
  desc.v = &vd;
  desc.frequencies = frequencies_ ? &fd : nullptr;
  desc.out = &od;
  desc.k_cache = &kc;
  desc.v_cache = &vc;
  desc.params = &params;
  desc.scale = 1 / std::sqrt(double(model_.config().head_dim));
  const ruda_status status =
      ruda_rope_attention_plan_create(context_of(q_heads_), &desc, rope_attention_.out());
  if (status != RUDA_E_UNSUPPORTED) ok(status);
}

// A launch less where the host waits for none.
void Step::plan_rope_append(const Cache& cache) {
  const ruda_tensor_desc qd = describe(q_heads_), kd = describe(k_heads_), vd = describe(v_heads_),
                         kc = describe(cache.keys[0]), vc = describe(cache.values[0]);
  ruda_tensor_desc fd = RUDA_TENSOR_DESC_INIT;
  if (frequencies_) fd = describe(frequencies_);
  const ruda_rope_params params = model::rope_params(model_.config().rope);
  ruda_rope_append_desc desc = RUDA_ROPE_APPEND_DESC_INIT;
  desc.q = desc.y = &qd;
  desc.k = &kd;
  desc.v = &vd;
  desc.frequencies = frequencies_ ? &fd : nullptr;
  desc.k_cache = &kc;
  desc.v_cache = &vc;
  desc.params = &params;
  ok(ruda_rope_append_plan_create(context_of(q_heads_), &desc, rope_append_.out()));
}

void Step::plan_rope_and_append(const Cache& cache) {
  const model::RopeConfig& rope = model_.config().rope;
  rope_q_ = plan_rope(qkv_ ? turned_heads_ : q_heads_, positions_, frequencies_, rope);
  if (!qkv_) rope_k_ = plan_rope(k_heads_, positions_, frequencies_, rope);
  const ruda_tensor_desc kd = describe(k_heads_), vd = describe(v_heads_), kc = describe(cache.keys[0]),
                         vc = describe(cache.values[0]);
  ruda_paged_append_desc desc = RUDA_PAGED_APPEND_DESC_INIT;
  desc.k = &kd;
  desc.v = &vd;
  desc.k_cache = &kc;
  desc.v_cache = &vc;
  ok(ruda_paged_append_plan_create(context_of(k_heads_), &desc, append_.out()));
}

void Step::make_feed_forward_buffers() {
  const int64_t width = model_.config().ff_width;
  const auto& layers = model_.weights().layers;
  if (std::all_of(layers.begin(), layers.end(), [](const auto& l) { return bool(l.gate_up); })) {
    gate_up_ = buffer(RUDA_F32, {tokens_, 2 * width});
    gate_ = slice(gate_up_, 1, 0, width);
    up_ = slice(gate_up_, 1, width, 2 * width);
    gated_ = buffer(RUDA_F32, {tokens_, width});
    return;
  }
  gate_ = buffer(RUDA_F32, {tokens_, width});
  up_ = buffer(RUDA_F32, {tokens_, width});
  gated_ = gate_;
}

Step::Step(const model::LanguageModel& model, const Cache& cache, const Ref<Stream>& stream, int64_t tokens)
    : model_(model), stream_(stream), tokens_(tokens) {
  const FloatMode mode;  // of the scales and frequencies
  const model::DecoderConfig& c = model.config();
  const model::DecoderWeights& w = model.weights();
  ids_ = buffer(RUDA_I32, {tokens});
  positions_ = get<PagedSchedule>(cache.schedule.get(), -1, "schedule").device_positions(tokens);
  writes_positions_ = !positions_;
  if (writes_positions_) positions_ = buffer(RUDA_I32, {tokens});
  hidden_ = buffer(RUDA_F32, {tokens, c.width});
  normed_ = buffer(RUDA_F32, {tokens, c.width});
  delta_ = buffer(RUDA_F32, {tokens, c.width});
  context_ = buffer(RUDA_F32, {tokens, c.q_heads * c.head_dim});
  context_heads_ = view(context_, {tokens, c.q_heads, c.head_dim});
  make_attention_buffers();
  make_feed_forward_buffers();
  if (tokens == 1) {
    middle_ = buffer(RUDA_F32, {1, c.width});
    middle_row_ = view(middle_, {c.width});
    hidden_row_ = view(hidden_, {c.width});
    const auto blocks = [](std::initializer_list<const Ref<Tensor>*> weights) {
      return std::all_of(weights.begin(), weights.end(),
                         [](const Ref<Tensor>* w) { return is_block((*w)->layout().dtype); });
    };
    joined_ = (!model.context().asynchronous() || (qkv_ && gate_up_)) &&
              std::all_of(w.layers.begin(), w.layers.end(), [&](const model::LayerWeights& l) {
                return blocks({&l.q, &l.k, &l.v, &l.gate, &l.up});
              });
  }
  last_hidden_ = slice(hidden_, 0, tokens - 1, tokens);
  last_normed_ = buffer(RUDA_F32, {1, c.width});
  logits_ = buffer(RUDA_F32, {1, c.vocab});
  frequencies_ = divided_frequencies(model, *stream_);

  const ruda_context context = handle_of<ruda_context>(model.context());
  {
    const ruda_tensor_desc td = describe(w.embedding), id = describe(ids_), yd = describe(hidden_);
    ruda_embedding_desc desc = RUDA_EMBEDDING_DESC_INIT;
    desc.table = &td;
    desc.ids = &id;
    desc.y = &yd;
    ok(ruda_embedding_plan_create(context, &desc, embed_.out()));
  }
  norm_ = plan_norm(hidden_, w.output_norm, normed_, c.norm_eps);
  last_norm_ = plan_norm(last_hidden_, w.output_norm, last_normed_, c.norm_eps);
  if (tokens == 1 && model.context().asynchronous()) plan_rope_attention(cache);
  if (model.context().asynchronous())
    plan_rope_append(cache);
  else
    plan_rope_and_append(cache);
  {
    const ruda_tensor_desc qd = describe(q_heads_), kc = describe(cache.keys[0]),
                           vc = describe(cache.values[0]), od = describe(context_heads_);
    ruda_paged_attention_desc desc = RUDA_PAGED_ATTENTION_DESC_INIT;
    desc.q = &qd;
    desc.k = &kc;
    desc.v = &vc;
    desc.out = &od;
    desc.scale = 1 / std::sqrt(double(c.head_dim));
    desc.causal = 1;
    desc.splits = RUDA_SPLITS_AUTO;
    ok(ruda_paged_attention_plan_create(context, &desc, attention_.out()));
  }
  {
    const ruda_tensor_desc gd = describe(gate_), ud = describe(up_), yd = describe(gated_);
    ruda_silu_mul_desc desc = RUDA_SILU_MUL_DESC_INIT;
    desc.gate = &gd;
    desc.up = &ud;
    desc.y = &yd;
    ok(ruda_silu_mul_plan_create(context, &desc, silu_mul_.out()));
  }
  {
    const ruda_tensor_desc hd = describe(hidden_), dd = describe(delta_);
    ruda_binary_desc desc = RUDA_BINARY_DESC_INIT;
    desc.op = RUDA_BINARY_ADD;
    desc.a = &hd;
    desc.b = &dd;
    desc.y = &hd;
    ok(ruda_binary_plan_create(context, &desc, add_.out()));
  }
  for (const Owned<ruda_plan>* plan : {&embed_, &norm_, &last_norm_, &rope_q_, &rope_k_, &append_,
                                       &rope_append_, &attention_, &add_, &silu_mul_}) {
    if (!*plan) continue;
    ruda_plan_info info = RUDA_PLAN_INFO_INIT;
    ok(ruda_plan_query(plan->get(), &info));
    need(info);
  }
  for (const model::LayerWeights& l : w.layers)
    calls_.push_back({calls_of(attention_products(l)),
                      calls_of({{context_, l.output, hidden_row_, middle_ ? middle_ : delta_}}),
                      calls_of(gate_up_products(l)),
                      calls_of({{gated_, l.down, middle_row_, middle_ ? hidden_ : delta_}})});
  logits_call_ = calls_of({{last_normed_, w.output, none_, logits_}});
  ok(ruda_workspace_create(context, workspace_bytes_, workspace_.out()));
}

void Step::execute(const Owned<ruda_plan>& plan, std::initializer_list<ruda_binding> bindings,
                   const ruda_exec_opts* opts) {
  execute(plan, std::span(bindings.begin(), bindings.size()), opts);
}

void Step::execute(const Owned<ruda_plan>& plan, std::span<const ruda_binding> bindings,
                   const ruda_exec_opts* opts) {
  ok(ruda_plan_execute(plan.get(), handle_of<ruda_stream>(*stream_), workspace_.get(), bindings.data(),
                       uint32_t(bindings.size()), opts));
}

void Step::multiply(const std::vector<Call>& calls, const ruda_exec_opts* opts) {
  StopSign stop;
  if (opts) stop.cancel = &get<Cancel>(opts->cancel, -1, "cancel");
  execute_all(calls, *stream_, get<Workspace>(workspace_.get(), -1, "workspace"), stop);
}

void Step::rotate_and_append(const Cache& cache, size_t index, const ruda_exec_opts* opts) {
  if (rope_append_) {
    const ruda_binding bindings[] = {bind(RUDA_ROPE_APPEND_Q, q_heads_),
                                     bind(RUDA_ROPE_APPEND_K, k_heads_),
                                     bind(RUDA_ROPE_APPEND_V, v_heads_),
                                     bind_handle(RUDA_ROPE_APPEND_SCHEDULE, cache.schedule.get()),
                                     bind(RUDA_ROPE_APPEND_Y, q_heads_),
                                     bind(RUDA_ROPE_APPEND_K_CACHE, cache.keys[index]),
                                     bind(RUDA_ROPE_APPEND_V_CACHE, cache.values[index]),
                                     bind(RUDA_ROPE_APPEND_FREQUENCIES, frequencies_)};
    execute(rope_append_, std::span(bindings, frequencies_ ? 8 : 7), opts);
    return;
  }
  const auto rotate = [&](const Owned<ruda_plan>& plan, const Ref<Tensor>& x) {
    if (frequencies_)
      execute(plan,
              {bind(RUDA_ROPE_X, x), bind(RUDA_ROPE_POSITIONS, positions_),
               bind(RUDA_ROPE_FREQUENCIES, frequencies_), bind(RUDA_ROPE_Y, x)},
              opts);
    else
      execute(plan, {bind(RUDA_ROPE_X, x), bind(RUDA_ROPE_POSITIONS, positions_), bind(RUDA_ROPE_Y, x)},
              opts);
  };
  rotate(rope_q_, qkv_ ? turned_heads_ : q_heads_);
  if (rope_k_) rotate(rope_k_, k_heads_);
  execute(append_,
          {bind(RUDA_PAGED_APPEND_K, k_heads_), bind(RUDA_PAGED_APPEND_V, v_heads_),
           bind_handle(RUDA_PAGED_APPEND_SCHEDULE, cache.schedule.get()),
           bind(RUDA_PAGED_APPEND_K_CACHE, cache.keys[index]),
           bind(RUDA_PAGED_APPEND_V_CACHE, cache.values[index])},
          opts);
}

void Step::attend(const Cache& cache, size_t index, const ruda_exec_opts* opts) {
  if (!rope_attention_) {
    rotate_and_append(cache, index, opts);
    execute(attention_,
            {bind(RUDA_PAGED_ATTENTION_Q, q_heads_), bind(RUDA_PAGED_ATTENTION_K, cache.keys[index]),
             bind(RUDA_PAGED_ATTENTION_V, cache.values[index]),
             bind_handle(RUDA_PAGED_ATTENTION_SCHEDULE, cache.schedule.get()),
             bind(RUDA_PAGED_ATTENTION_OUT, context_heads_)},
            opts);
    return;
  }
  const ruda_binding bindings[] = {bind(RUDA_ROPE_ATTENTION_Q, q_heads_),
                                   bind(RUDA_ROPE_ATTENTION_K, k_heads_),
                                   bind(RUDA_ROPE_ATTENTION_V, v_heads_),
                                   bind_handle(RUDA_ROPE_ATTENTION_SCHEDULE, cache.schedule.get()),
                                   bind(RUDA_ROPE_ATTENTION_OUT, context_heads_),
                                   bind(RUDA_ROPE_ATTENTION_K_CACHE, cache.keys[index]),
                                   bind(RUDA_ROPE_ATTENTION_V_CACHE, cache.values[index]),
                                   bind(RUDA_ROPE_ATTENTION_FREQUENCIES, frequencies_)};
  execute(rope_attention_, std::span(bindings, frequencies_ ? 8 : 7), opts);
}

void Step::layer(const Cache& cache, size_t index, const ruda_exec_opts* opts) {
  const model::LayerWeights& l = model_.weights().layers[index];
  const LayerCalls& products = calls_[index];
  const auto normalise = [&](const Ref<Tensor>& x, const Ref<Tensor>& gamma) {
    if (joined_) return;
    execute(norm_,
            {bind(RUDA_RMS_NORM_X, x), bind(RUDA_RMS_NORM_GAMMA, gamma), bind(RUDA_RMS_NORM_Y, normed_)},
            opts);
  };
  normalise(hidden_, l.attention_norm);
  multiply(products.attention, opts);
  attend(cache, index, opts);
  const auto add_delta = [&] {
    execute(add_, {bind(RUDA_BINARY_A, hidden_), bind(RUDA_BINARY_B, delta_), bind(RUDA_BINARY_Y, hidden_)},
            opts);
  };
  multiply(products.output, opts);
  if (!middle_) add_delta();
  normalise(middle_ ? middle_ : hidden_, l.feed_forward_norm);
  multiply(products.gate_up, opts);
  if (!joined_ || !gate_up_)
    execute(silu_mul_,
            {bind(RUDA_SILU_MUL_GATE, gate_), bind(RUDA_SILU_MUL_UP, up_), bind(RUDA_SILU_MUL_Y, gated_)},
            opts);
  multiply(products.down, opts);
  if (!middle_) add_delta();
}

void Step::write_inputs(const int32_t* ids, const int32_t* positions) {
  const ruda_stream stream = handle_of<ruda_stream>(*stream_);
  const uint64_t bytes = uint64_t(tokens_) * sizeof(int32_t);
  ok(ruda_tensor_write(stream, handle(ids_), ids, bytes));
  if (writes_positions_) ok(ruda_tensor_write(stream, handle(positions_), positions, bytes));
}

void Step::run(const Cache& cache, const StopSign& stop) {
  ruda_exec_opts opts{};
  opts.struct_size = sizeof opts;
  if (stop.cancel) opts.cancel = handle_of<ruda_cancel>(*stop.cancel);
  const ruda_exec_opts* given = stop.cancel ? &opts : nullptr;
  execute(embed_,
          {bind(RUDA_EMBEDDING_TABLE, model_.weights().embedding), bind(RUDA_EMBEDDING_IDS, ids_),
           bind(RUDA_EMBEDDING_Y, hidden_)},
          given);
  for (size_t i = 0; i < model_.weights().layers.size(); ++i) layer(cache, i, given);
  execute(last_norm_,
          {bind(RUDA_RMS_NORM_X, last_hidden_), bind(RUDA_RMS_NORM_GAMMA, model_.weights().output_norm),
           bind(RUDA_RMS_NORM_Y, last_normed_)},
          given);
  multiply(logits_call_, given);
}

}  // namespace ruda::infer
