// src/model/llm/config.hpp - the numbers that make a decoder: read from a file's metadata and checked against
// each other.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "store/gguf.hpp"

#include <ruda/position.h>

#include <cstdint>
#include <string>
#include <vector>

namespace ruda::model {

struct RopeConfig {
  bool interleaved = true;  // adjacent pairs; false = halves
  int64_t dim = 0;          // elements of a head that rotate
  double base = 10000;
  uint32_t scaling = 0;  // RUDA_ROPE_SCALING_*
  double factor = 1;
  int64_t original_context = 0;
};

struct DecoderConfig {
  std::string architecture, name;
  int64_t layers = 0, width = 0, ff_width = 0;
  int64_t q_heads = 0, kv_heads = 0, head_dim = 0;
  int64_t vocab = 0, context = 0;
  double norm_eps = 0;
  RopeConfig rope;
};

// RUDA_E_UNSUPPORTED for an architecture without a decoder here; RUDA_E_NOT_FOUND and RUDA_E_FORMAT for keys.
DecoderConfig read_config(const store::GgufFile& file);

// The file's keys as the operators take them.
ruda_rope_params rope_params(const RopeConfig& rope);
// The frequencies that the keys ask for; RUDA_E_FORMAT where no kernel would take them. Empty in a library
// without the operator.
std::vector<double> rope_frequencies(const DecoderConfig& config);

}  // namespace ruda::model
