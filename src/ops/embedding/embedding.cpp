// src/ops/embedding/embedding.cpp - contract of embedding: rows of a plain or block-quantised table by ids.
// SPDX-License-Identifier: Apache-2.0
#include "plan/contract.hpp"
#include "plan/eager.hpp"

#include <ruda/embedding.h>

RUDA_DECLARE_KERNELS(embedding)

namespace ruda::ops {

extern const OpDef embedding{"embedding", RUDA_KERNELS(embedding)};

namespace {

Problem check(ruda_context context, const ruda_embedding_desc* desc) {
  Contract c(embedding, context, desc);
  const auto d = c.options<ruda_embedding_desc>();
  c.in("table", d.table).in("ids", d.ids);
  c.dtypes(RUDA_EMBEDDING_TABLE, {RUDA_F32, RUDA_F16, RUDA_BF16, RUDA_Q4_0, RUDA_Q4_1, RUDA_Q5_0, RUDA_Q5_1,
                                  RUDA_Q8_0, RUDA_Q4_K, RUDA_Q5_K, RUDA_Q6_K});
  c.rank(RUDA_EMBEDDING_TABLE, 2, 2);
  const bool blocks = is_block(c[RUDA_EMBEDDING_TABLE].dtype());
  if (blocks)
    c.contiguous(RUDA_EMBEDDING_TABLE);
  else
    c.dense_rows(RUDA_EMBEDDING_TABLE);
  c.dtypes(RUDA_EMBEDDING_IDS, {RUDA_I32, RUDA_I64, RUDA_U32}).rank(RUDA_EMBEDDING_IDS, 0, RUDA_MAX_RANK - 1);
  const Operand& ids = c[RUDA_EMBEDDING_IDS];
  const uint32_t given = d.y ? d.y->dtype : d.out_dtype;
  const uint32_t out = given ? given : blocks ? uint32_t(RUDA_F32) : c[RUDA_EMBEDDING_TABLE].dtype();
  c.require(out == RUDA_F32 || out == RUDA_F16 || out == RUDA_BF16, RUDA_E_DTYPE,
            "y has dtype %s, expected one of F32, F16, BF16", dtype_name(out));
  c.require(!d.out_dtype || d.out_dtype == out, RUDA_E_DTYPE, "out_dtype is %s, but y has dtype %s",
            dtype_name(d.out_dtype), dtype_name(out));
  int64_t shape[RUDA_MAX_RANK];
  const int rank = ids.rank();
  for (int i = 0; i < rank; ++i) shape[i] = ids.dim(i);
  shape[rank] = c[RUDA_EMBEDDING_TABLE].dim(1);
  c.out("y", d.y, out, shape, rank + 1).dense_rows(RUDA_EMBEDDING_Y);
  return c.take();
}

}  // namespace
}  // namespace ruda::ops

extern "C" ruda_status ruda_embedding_plan_create(ruda_context context, const ruda_embedding_desc* desc,
                                                  ruda_plan* out) noexcept {
  return ruda::create_plan(__func__, out, [&] { return ruda::ops::check(context, desc); });
}

extern "C" ruda_status ruda_embedding(ruda_stream stream, ruda_tensor table, ruda_tensor ids,
                                      uint32_t out_dtype, ruda_tensor* out) noexcept {
  return ruda::guard(__func__, [&] {
    RUDA_CHECK(out, RUDA_E_NULL, 4, "out is NULL");
    *out = nullptr;
    ruda::Eager call(ruda::ops::embedding, stream);
    call.in(RUDA_EMBEDDING_TABLE, table, 1, "table");
    call.in(RUDA_EMBEDDING_IDS, ids, 2, "ids");
    call.key(out_dtype);
    call.plan([&] {
      ruda_embedding_desc desc = RUDA_EMBEDDING_DESC_INIT;
      desc.table = call.desc(RUDA_EMBEDDING_TABLE);
      desc.ids = call.desc(RUDA_EMBEDDING_IDS);
      desc.out_dtype = out_dtype;
      return ruda::ops::check(call.context_handle(), &desc);
    });
    *out = call.run(RUDA_EMBEDDING_Y);
  });
}
