// src/model/llm/config.cpp - metadata keys of the Llama and Qwen2 families.
// SPDX-License-Identifier: Apache-2.0
#include "model/llm/config.hpp"

#include "core/error.hpp"
#include "core/text.hpp"

#include <cmath>
#include <cstring>

namespace ruda::model {
namespace {

using store::MetaEntry;
using store::MetaType;

// Typed reads of "<architecture>.<name>" keys with limits, so that later products cannot overflow.
class Keys {
 public:
  Keys(const store::GgufFile& file, std::string prefix) : file_(file), prefix_(std::move(prefix)) {}

  const MetaEntry* find(const std::string& name) const {
    const MetaEntry* entry = file_.find_meta(prefix_ + name);
    if (entry)
      RUDA_CHECK(entry->type != MetaType::array && entry->count == 1, RUDA_E_FORMAT, -1,
                 "metadata key %s%s is an array, expected one value", prefix_.c_str(), name.c_str());
    return entry;
  }
  const MetaEntry& need(const std::string& name) const {
    const MetaEntry* entry = find(name);
    RUDA_CHECK(entry, RUDA_E_NOT_FOUND, -1, "metadata key %s%s is missing", prefix_.c_str(), name.c_str());
    return *entry;
  }
  int64_t integer(const std::string& name, int64_t low, int64_t high) const {
    return integer(need(name), name, low, high);
  }
  int64_t integer_or(const std::string& name, int64_t fallback, int64_t low, int64_t high) const {
    const MetaEntry* entry = find(name);
    return entry ? integer(*entry, name, low, high) : fallback;
  }
  double real(const std::string& name) const { return real(need(name), name); }
  double real_or(const std::string& name, double fallback) const {
    const MetaEntry* entry = find(name);
    return entry ? real(*entry, name) : fallback;
  }
  std::string text_or(const std::string& name, const std::string& fallback) const {
    const MetaEntry* entry = find(name);
    if (!entry) return fallback;
    RUDA_CHECK(entry->type == MetaType::string, RUDA_E_FORMAT, -1, "metadata key %s%s is no text",
               prefix_.c_str(), name.c_str());
    std::string_view out;
    store::MetaStrings(*entry).next(out);
    return std::string(out);
  }

 private:
  int64_t integer(const MetaEntry& entry, const std::string& name, int64_t low, int64_t high) const {
    RUDA_CHECK(entry.type != MetaType::string && entry.type != MetaType::f32 && entry.type != MetaType::f64,
               RUDA_E_FORMAT, -1, "metadata key %s%s is no integer", prefix_.c_str(), name.c_str());
    const int64_t value = int64_t(store::meta_bits(entry, 0));
    RUDA_CHECK(value >= low && value <= high, RUDA_E_FORMAT, -1,
               "metadata key %s%s is %lld, expected %lld..%lld", prefix_.c_str(), name.c_str(),
               (long long)value, (long long)low, (long long)high);
    return value;
  }
  double real(const MetaEntry& entry, const std::string& name) const {
    RUDA_CHECK(entry.type != MetaType::string, RUDA_E_FORMAT, -1, "metadata key %s%s is no number",
               prefix_.c_str(), name.c_str());
    const double value = store::meta_float(entry, 0);
    RUDA_CHECK(std::isfinite(value) && value > 0, RUDA_E_FORMAT, -1,
               "metadata key %s%s is %g, expected finite and above 0", prefix_.c_str(), name.c_str(), value);
    return value;
  }
  const store::GgufFile& file_;
  std::string prefix_;
};

struct Family {
  const char* architecture;
  bool rope_interleaved;
};

constexpr Family families[] = {{"llama", true}, {"qwen2", false}};

// What a file may say of yarn, and what holds where it says nothing.
constexpr struct {
  const char* key;
  double usual;
} yarn_settings[] = {{"attn_factor", 1},    {"yarn_attn_factor", 1}, {"yarn_beta_fast", 32},
                     {"yarn_beta_slow", 1}, {"yarn_ext_factor", 1},  {"yarn_log_multiplier", 0}};

RopeConfig read_rope(const Keys& keys, const Family& family, int64_t head_dim, int64_t context) {
  RopeConfig rope;
  rope.interleaved = family.rope_interleaved;
  rope.dim = keys.integer_or("rope.dimension_count", head_dim, 2, head_dim);
  RUDA_CHECK(rope.dim % 2 == 0, RUDA_E_FORMAT, -1,
             "metadata key %s.rope.dimension_count is %lld, expected an even number", family.architecture,
             (long long)rope.dim);
  rope.base = keys.real_or("rope.freq_base", 10000);
  // A factor without a type is linear, and files from before the scaling keys have it as scale_linear.
  const std::string scaling = keys.text_or("rope.scaling.type", "linear");
  if (scaling == "none") return rope;
  rope.factor = keys.real_or("rope.scaling.factor", 0);
  if (rope.factor == 0) rope.factor = keys.real_or("rope.scale_linear", 1);
  if (scaling == "linear" && rope.factor == 1) return rope;
  rope.original_context = keys.integer_or("rope.scaling.original_context_length", context, 1, INT32_MAX);
  if (scaling == "linear")
    rope.scaling = RUDA_ROPE_SCALING_LINEAR;
  else if (scaling == "yarn") {
    rope.scaling = RUDA_ROPE_SCALING_YARN;
    for (const auto& [key, usual] : yarn_settings) {
      const double value = keys.real_or(std::string("rope.scaling.") + key, usual);
      RUDA_CHECK(value == usual, RUDA_E_UNSUPPORTED, -1,
                 "metadata key %s.rope.scaling.%s is %g, expected %g: no other value is used here",
                 family.architecture, key, value, usual);
    }
  } else
    fail(RUDA_E_UNSUPPORTED, -1, "metadata key %s.rope.scaling.type is %s, expected none, linear or yarn",
         family.architecture, in_quotes(scaling).c_str());
  return rope;
}

}  // namespace

DecoderConfig read_config(const store::GgufFile& file) {
  const Keys general(file, "general.");
  DecoderConfig c;
  c.architecture = general.text_or("architecture", "");
  const Family* family = nullptr;
  for (const Family& entry : families)
    if (c.architecture == entry.architecture) family = &entry;
  RUDA_CHECK(family, RUDA_E_UNSUPPORTED, -1,
             "metadata key general.architecture is %s, expected llama or qwen2",
             in_quotes(c.architecture).c_str());
  c.name = general.text_or("name", c.architecture);
  const Keys keys(file, c.architecture + ".");
  constexpr int64_t wide = 1 << 20;
  RUDA_CHECK(keys.integer_or("expert_count", 0, 0, 1 << 16) == 0, RUDA_E_UNSUPPORTED, -1,
             "metadata key %s.expert_count is above 0: mixtures of experts have no decoder here",
             family->architecture);
  c.layers = keys.integer("block_count", 1, 4096);
  c.width = keys.integer("embedding_length", 1, wide);
  c.ff_width = keys.integer("feed_forward_length", 1, 4 * wide);
  c.q_heads = keys.integer("attention.head_count", 1, 65536);
  c.kv_heads = keys.integer_or("attention.head_count_kv", c.q_heads, 1, c.q_heads);
  RUDA_CHECK(c.q_heads % c.kv_heads == 0, RUDA_E_FORMAT, -1,
             "%lld query heads are not a multiple of %lld key-value heads", (long long)c.q_heads,
             (long long)c.kv_heads);
  const int64_t even = c.width % c.q_heads == 0 ? c.width / c.q_heads : 0;
  c.head_dim = keys.integer_or("attention.key_length", even, 1, 1024);
  RUDA_CHECK(c.head_dim > 0, RUDA_E_FORMAT, -1, "embedding_length %lld is not a multiple of %lld heads",
             (long long)c.width, (long long)c.q_heads);
  const int64_t value_dim = keys.integer_or("attention.value_length", c.head_dim, 1, 1024);
  RUDA_CHECK(value_dim == c.head_dim, RUDA_E_UNSUPPORTED, -1,
             "value heads of %lld elements beside key heads of %lld", (long long)value_dim,
             (long long)c.head_dim);
  c.context = keys.integer("context_length", 1, INT32_MAX);
  c.norm_eps = keys.real("attention.layer_norm_rms_epsilon");
  c.rope = read_rope(keys, *family, c.head_dim, c.context);
  return c;
}

ruda_rope_params rope_params(const RopeConfig& rope) {
  ruda_rope_params params = RUDA_ROPE_PARAMS_INIT;
  params.pairing = rope.interleaved ? RUDA_ROPE_INTERLEAVED : RUDA_ROPE_HALF;
  params.rotary_dim = rope.dim;
  params.theta = rope.base;
  params.scaling = rope.scaling;
  params.factor = rope.factor;
  params.original_positions = rope.original_context;
  return params;
}

std::vector<double> rope_frequencies(const DecoderConfig& config) {
  const ruda_rope_params params = rope_params(config.rope);
  std::vector<double> frequencies(static_cast<size_t>(config.rope.dim / 2));
  const ruda_status status =
      ruda_rope_frequencies(&params, frequencies.data(), int64_t(frequencies.size()), nullptr);
  if (status == RUDA_E_NOT_BUILT) return {};
  if (status != RUDA_OK) {
    ruda_error_info info = RUDA_ERROR_INFO_INIT;
    ruda_last_error(&info);
    const char* text = std::strstr(info.message, ": ");
    fail(status == RUDA_E_ARGUMENT ? RUDA_E_FORMAT : status, -1, "metadata keys %s.rope.*: %s",
         config.architecture.c_str(), text ? text + 2 : info.message);
  }
  return frequencies;
}

}  // namespace ruda::model
