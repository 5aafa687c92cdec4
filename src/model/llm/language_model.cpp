// src/model/llm/language_model.cpp - finds every weight by name, checks its shape, and uses it where it lies.
// SPDX-License-Identifier: Apache-2.0
#include "model/llm/language_model.hpp"

#include <cfloat>
#include <cmath>
#include <cstring>

namespace ruda::model {
namespace {

// Weights by name, with the expected shape in the message when it differs.
class Loader {
 public:
  Loader(Context& context, store::Store& store, Stream& stream, uint64_t total, ruda_progress_fn progress,
         void* user)
      : context_(context), store_(store), stream_(stream), total_(total), progress_(progress), user_(user) {}

  Ref<Tensor> need(const std::string& name, std::initializer_list<int64_t> shape, Ref<Tensor> into = {}) {
    Ref<Tensor> tensor = optional(name, shape, std::move(into));
    RUDA_CHECK(tensor, RUDA_E_NOT_FOUND, -1, "tensor %s is missing", name.c_str());
    return tensor;
  }

  // into: where it goes on an asynchronous device; empty = memory of its own.
  Ref<Tensor> optional(const std::string& name, std::initializer_list<int64_t> shape, Ref<Tensor> into = {}) {
    const store::GgufFile& file = store_.gguf();
    const store::GgufTensor* found = file.find_tensor(name);
    if (!found) return {};
    const uint64_t index = uint64_t(found - file.tensors.data());
    bool same = found->rank == shape.size();
    std::string want, have;
    size_t axis = 0;
    for (int64_t extent : shape) {
      same = same && found->shape[axis] == extent;
      want += (axis ? ", " : "") + std::to_string(extent);
      ++axis;
    }
    for (uint32_t i = 0; i < found->rank; ++i) have += (i ? ", " : "") + std::to_string(found->shape[i]);
    RUDA_CHECK(same, RUDA_E_FORMAT, -1, "tensor %s has shape [%s], expected [%s]", name.c_str(), have.c_str(),
               want.c_str());
    Ref<Tensor> tensor = load(index, *found, std::move(into));
    bytes += found->bytes.size();
    parameters += uint64_t(tensor->layout().elements);
    report();
    return tensor;
  }

  // Memory for tensors of one dtype below each other, and their places in it.
  struct Stack {
    Ref<Tensor> whole;
    std::vector<Ref<Tensor>> parts;
    Ref<Tensor> part(size_t i) const { return whole ? parts[i] : Ref<Tensor>(); }
  };
  struct Part {
    std::string name;
    int64_t rows;
  };
  // cols 0: vectors. Empty where the stack would not help or the file does not allow it.
  Stack stack(std::initializer_list<Part> parts, int64_t cols) {
    if (!context_.asynchronous()) return {};
    const store::GgufFile& file = store_.gguf();
    const int rank = cols ? 2 : 1;
    uint32_t dtype = 0;
    int64_t rows = 0;
    for (const Part& part : parts) {
      const store::GgufTensor* found = file.find_tensor(part.name);
      if (!found || int(found->rank) != rank || found->shape[0] != part.rows ||
          (cols && found->shape[1] != cols))
        return {};
      const uint32_t one = store::layout_of(store_, uint64_t(found - file.tensors.data())).dtype;
      if (dtype && one != dtype) return {};
      dtype = one;
      rows += part.rows;
    }
    const auto layout = [&](int64_t count) {
      const int64_t shape[] = {count, cols};
      return context_.layouts().contiguous(dtype, shape, rank);
    };
    Stack made;
    made.whole = make_tensor(context_, layout(rows));
    int64_t offset = 0;
    for (const Part& part : parts) {
      const LayoutRef own = layout(part.rows);
      made.parts.push_back(make_view(*made.whole, *own, offset, false));
      offset += int64_t(own->packed_bytes());
    }
    return made;
  }

  uint64_t bytes = 0, parameters = 0;

 private:
  Ref<Tensor> load(uint64_t index, const store::GgufTensor& found, Ref<Tensor> into) {
    if (!context_.asynchronous()) return store::mapped_tensor(store_, context_, index);
    const LayoutRef layout = context_.layouts().intern(store::layout_of(store_, index));
    Ref<Tensor> tensor = into ? std::move(into) : make_tensor(context_, layout);
    RUDA_CHECK(&tensor->layout() == layout.get(), RUDA_E_INTERNAL, -1, "a stacked weight has another layout");
    stream_.write(tensor->data(), found.bytes.data(), found.bytes.size());
    return tensor;
  }
  void report() {
    if (!progress_) return;
    const int32_t answer = progress_(user_, bytes, total_);
    if (answer) {
      Error error;
      error.status = RUDA_E_CALLBACK;
      error.native_code = answer;
      error.text = format("progress callback returned %d after %llu of %llu bytes", answer,
                          (unsigned long long)bytes, (unsigned long long)total_);
      throw error;
    }
  }
  Context& context_;
  store::Store& store_;
  Stream& stream_;
  uint64_t total_;
  ruda_progress_fn progress_;
  void* user_;
};

uint64_t data_bytes(const store::GgufFile& file) {
  uint64_t total = 0;
  for (const store::GgufTensor& tensor : file.tensors) total += tensor.bytes.size();
  return total;
}

void require_dtype(const Ref<Tensor>& tensor, uint32_t dtype, const char* what) {
  if (tensor)
    RUDA_CHECK(tensor->layout().dtype == dtype, RUDA_E_UNSUPPORTED, -1, "%s has dtype %s, expected %s", what,
               dtype_name(tensor->layout().dtype), dtype_name(dtype));
}

// The file's factors divide the frequencies, which F32 must hold.
void check_rope_factors(const store::GgufTensor& factors, const std::vector<double>& frequencies) {
  for (size_t i = 0; i < frequencies.size(); ++i) {
    float factor;
    std::memcpy(&factor, factors.bytes.data() + i * sizeof factor, sizeof factor);
    RUDA_CHECK(std::isfinite(factor) && factor > 0, RUDA_E_FORMAT, -1,
               "tensor rope_freqs.weight: element %zu is %g, expected finite and above 0", i, double(factor));
    RUDA_CHECK(
        frequencies[i] / double(factor) <= double(FLT_MAX), RUDA_E_FORMAT, -1,
        "tensor rope_freqs.weight: element %zu is %g and makes frequency %g of %g, expected at most %g", i,
        double(factor), frequencies[i] / double(factor), frequencies[i], double(FLT_MAX));
  }
}

}  // namespace

LanguageModel::LanguageModel(Context& context, Ref<store::Store> store, ruda_progress_fn progress, void* user)
    : context_(context),
      store_(std::move(store)),
      config_(read_config(store_->gguf())),
      tokenizer_(make<text::Tokenizer>(nullptr, store_)) {
  DecoderConfig& c = config_;
  c.vocab = int64_t(tokenizer_->vocabulary().size());
  const auto stream = make<Stream>(context.cell(), context, context.device().open_stream());
  Loader load(context, *store_, *stream, data_bytes(store_->gguf()), progress, user);
  DecoderWeights& w = weights_;
  w.embedding = load.need("token_embd.weight", {c.vocab, c.width});
  w.output_norm = load.need("output_norm.weight", {c.width});
  w.output = load.optional("output.weight", {c.vocab, c.width});
  if (!w.output) w.output = w.embedding;
  w.rope_factors = load.optional("rope_freqs.weight", {c.rope.dim / 2});
  require_dtype(w.output_norm, RUDA_F32, "tensor output_norm.weight");
  require_dtype(w.rope_factors, RUDA_F32, "tensor rope_freqs.weight");
  const std::vector<double> frequencies = rope_frequencies(c);
  if (w.rope_factors) check_rope_factors(*store_->gguf().find_tensor("rope_freqs.weight"), frequencies);
  const int64_t q_width = c.q_heads * c.head_dim, kv_width = c.kv_heads * c.head_dim;
  for (int64_t i = 0; i < c.layers; ++i) {
    const std::string blk = "blk." + std::to_string(i) + ".";
    LayerWeights layer;
    layer.attention_norm = load.need(blk + "attn_norm.weight", {c.width});
    const auto qkv = load.stack({{blk + "attn_q.weight", q_width},
                                 {blk + "attn_k.weight", kv_width},
                                 {blk + "attn_v.weight", kv_width}},
                                c.width);
    const auto bias = load.stack(
        {{blk + "attn_q.bias", q_width}, {blk + "attn_k.bias", kv_width}, {blk + "attn_v.bias", kv_width}},
        0);
    const auto gate_up =
        load.stack({{blk + "ffn_gate.weight", c.ff_width}, {blk + "ffn_up.weight", c.ff_width}}, c.width);
    layer.q = load.need(blk + "attn_q.weight", {q_width, c.width}, qkv.part(0));
    layer.k = load.need(blk + "attn_k.weight", {kv_width, c.width}, qkv.part(1));
    layer.v = load.need(blk + "attn_v.weight", {kv_width, c.width}, qkv.part(2));
    layer.q_bias = load.optional(blk + "attn_q.bias", {q_width}, bias.part(0));
    layer.k_bias = load.optional(blk + "attn_k.bias", {kv_width}, bias.part(1));
    layer.v_bias = load.optional(blk + "attn_v.bias", {kv_width}, bias.part(2));
    layer.output = load.need(blk + "attn_output.weight", {c.width, q_width});
    layer.feed_forward_norm = load.need(blk + "ffn_norm.weight", {c.width});
    layer.gate = load.need(blk + "ffn_gate.weight", {c.ff_width, c.width}, gate_up.part(0));
    layer.up = load.need(blk + "ffn_up.weight", {c.ff_width, c.width}, gate_up.part(1));
    layer.down = load.need(blk + "ffn_down.weight", {c.width, c.ff_width});
    // Biases of some parts only would need zeros for the others.
    const bool any_bias = layer.q_bias || layer.k_bias || layer.v_bias;
    if (!any_bias || bias.whole) {
      layer.qkv = qkv.whole;
      layer.qkv_bias = bias.whole;
    }
    layer.gate_up = gate_up.whole;
    for (const Ref<Tensor>* norm :
         {&layer.attention_norm, &layer.feed_forward_norm, &layer.q_bias, &layer.k_bias, &layer.v_bias})
      require_dtype(*norm, RUDA_F32, (blk + "norm or bias").c_str());
    w.layers.push_back(std::move(layer));
  }
  if (context.asynchronous()) stream->sync();
  weight_bytes_ = load.bytes;
  parameters_ = load.parameters;
}

}  // namespace ruda::model
