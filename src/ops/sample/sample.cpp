// src/ops/sample/sample.cpp - contract of sample: a token for each row of logits.
// SPDX-License-Identifier: Apache-2.0
//
// Holtzman et al., "The Curious Case of Neural Text Degeneration", 2020 (top-p); Nguyen et al., "Turning Up
// the Heat: Min-p Sampling", 2024; Keskar et al., "CTRL", 2019 (repetition penalty).
#include "plan/contract.hpp"
#include "plan/eager.hpp"

#include <ruda/sample.h>

RUDA_DECLARE_KERNELS(sample)

namespace ruda::ops {

extern const OpDef sample{"sample", RUDA_KERNELS(sample)};

namespace {

Problem check(ruda_context context, const ruda_sample_desc* desc) {
  Contract c(sample, context, desc);
  const auto d = c.options<ruda_sample_desc>();
  c.require(d.append <= 1, RUDA_E_ARGUMENT, "append is %u, expected 0 or 1", d.append);
  c.require(!d.params == !d.random, RUDA_E_ARGUMENT, "%s is NULL, expected params and random or neither",
            d.params ? "random" : "params");
  c.require(!d.history == !d.lengths, RUDA_E_ARGUMENT, "%s is NULL, expected history and lengths or neither",
            d.history ? "lengths" : "history");
  c.require(!d.append || d.history, RUDA_E_ARGUMENT, "append is 1 without history");
  c.in("logits", d.logits).in_optional("params", d.params).inout_optional("random", d.random);
  c.inout_optional("history", d.history).inout_optional("lengths", d.lengths);
  c.dtype(RUDA_SAMPLE_LOGITS, Types<float, f16, bf16>{}).rank(RUDA_SAMPLE_LOGITS, 2, 2);
  c.dense_rows(RUDA_SAMPLE_LOGITS);
  const int64_t rows = c[RUDA_SAMPLE_LOGITS].dim(0), vocab = c[RUDA_SAMPLE_LOGITS].dim(1);
  c.require(vocab >= 1 && vocab <= INT32_MAX, RUDA_E_SHAPE, "logits dim 1 is %lld, expected 1..%d",
            (long long)vocab, INT32_MAX);
  c.dtype(RUDA_SAMPLE_PARAMS, Types<double>{}).rank(RUDA_SAMPLE_PARAMS, 2, 2).contiguous(RUDA_SAMPLE_PARAMS);
  c.dim(RUDA_SAMPLE_PARAMS, 0, rows).dim(RUDA_SAMPLE_PARAMS, 1, RUDA_SAMPLE_PARAM_COUNT);
  c.dtype(RUDA_SAMPLE_RANDOM, Types<uint64_t>{}).rank(RUDA_SAMPLE_RANDOM, 2, 2);
  c.contiguous(RUDA_SAMPLE_RANDOM).dim(RUDA_SAMPLE_RANDOM, 0, rows).dim(RUDA_SAMPLE_RANDOM, 1, 2);
  c.dtype(RUDA_SAMPLE_HISTORY, Types<int32_t>{}).rank(RUDA_SAMPLE_HISTORY, 2, 2);
  c.dense_rows(RUDA_SAMPLE_HISTORY).dim(RUDA_SAMPLE_HISTORY, 0, rows);
  c.dtype(RUDA_SAMPLE_LENGTHS, Types<int32_t>{}).rank(RUDA_SAMPLE_LENGTHS, 1, 1);
  c.contiguous(RUDA_SAMPLE_LENGTHS).dim(RUDA_SAMPLE_LENGTHS, 0, rows);
  c.require(!c.has(RUDA_SAMPLE_HISTORY) || c[RUDA_SAMPLE_HISTORY].dim(1) <= INT32_MAX, RUDA_E_SHAPE,
            "history dim 1 is above %d, which lengths cannot hold", INT32_MAX);
  c.out("tokens", d.tokens, RUDA_I32, &rows, 1).contiguous(RUDA_SAMPLE_TOKENS);
  return c.take();
}

}  // namespace
}  // namespace ruda::ops

extern "C" ruda_status ruda_sample_plan_create(ruda_context context, const ruda_sample_desc* desc,
                                               ruda_plan* out) noexcept {
  return ruda::create_plan(__func__, out, [&] { return ruda::ops::check(context, desc); });
}

extern "C" ruda_status ruda_sample(ruda_stream stream, ruda_tensor logits, ruda_tensor params,
                                   ruda_tensor random, ruda_tensor history, ruda_tensor lengths,
                                   ruda_bool append, ruda_tensor* out) noexcept {
  return ruda::guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 7, "out is NULL");
    *out = nullptr;
    ruda::Eager call(ruda::ops::sample, stream);
    call.in(RUDA_SAMPLE_LOGITS, logits, 1, "logits");
    call.in(RUDA_SAMPLE_PARAMS, params, 2, "params", true);
    if (random) call.inout(RUDA_SAMPLE_RANDOM, random, 3, "random");
    if (history) call.inout(RUDA_SAMPLE_HISTORY, history, 4, "history");
    if (lengths) call.inout(RUDA_SAMPLE_LENGTHS, lengths, 5, "lengths");
    call.key(append);
    call.plan([&] {
      ruda_sample_desc desc = RUDA_SAMPLE_DESC_INIT;
      desc.append = append;
      desc.logits = call.desc(RUDA_SAMPLE_LOGITS);
      desc.params = call.desc(RUDA_SAMPLE_PARAMS);
      desc.random = call.desc(RUDA_SAMPLE_RANDOM);
      desc.history = call.desc(RUDA_SAMPLE_HISTORY);
      desc.lengths = call.desc(RUDA_SAMPLE_LENGTHS);
      return ruda::ops::check(call.context_handle(), &desc);
    });
    *out = call.run(RUDA_SAMPLE_TOKENS);
  });
}
