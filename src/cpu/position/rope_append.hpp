// src/cpu/position/rope_append.hpp - q and k of new tokens turned, k and v put into their caches: all of
// rope_append, and what rope_attention begins with.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "core/op_rows.hpp"
#include "cpu/cached_rows.hpp"
#include "cpu/position/rope_tokens.hpp"

namespace ruda::cpu {
namespace {

static_assert(int(RUDA_ROPE_APPEND_Q) == int(RUDA_ROPE_ATTENTION_Q) &&
              int(RUDA_ROPE_APPEND_K) == int(RUDA_ROPE_ATTENTION_K) &&
              int(RUDA_ROPE_APPEND_V) == int(RUDA_ROPE_ATTENTION_V) &&
              int(RUDA_ROPE_APPEND_FREQUENCIES) == int(RUDA_ROPE_ATTENTION_FREQUENCIES) &&
              int(RUDA_ROPE_APPEND_K_CACHE) == int(RUDA_ROPE_ATTENTION_K_CACHE) &&
              int(RUDA_ROPE_APPEND_V_CACHE) == int(RUDA_ROPE_ATTENTION_V_CACHE));
constexpr uint32_t Q = RUDA_ROPE_APPEND_Q, K = RUDA_ROPE_APPEND_K, V = RUDA_ROPE_APPEND_V,
                   FREQUENCIES = RUDA_ROPE_APPEND_FREQUENCIES, K_CACHE = RUDA_ROPE_APPEND_K_CACHE,
                   V_CACHE = RUDA_ROPE_APPEND_V_CACHE;

// The plan's part. k is turned into the workspace, from where it goes into its cache.
struct RopeAppend {
  RopeTokens q, k;
  CachedRows keys, values;
  int from, to;
  WorkspaceSlot turned_k, positions;
};

// All but the strides of the turned q.
RopeAppend rope_append_of(const Problem& p, Prepare& prep, const RopeConstants& c) {
  const int64_t rows = p[Q].dim(0), key_elements = p[K].dim(1) * p[K].dim(2);
  RopeAppend a{};
  a.turned_k = prep.book<std::byte>(rows * key_elements * int64_t(dtype_info(p[K].dtype()).block_bytes));
  a.positions = prep.book<int64_t>(rows);
  a.q = rope_tokens_of(c, p[FREQUENCIES].present, p[Q]);
  a.k = rope_tokens_of(c, p[FREQUENCIES].present, p[K]);
  a.k.y_token = key_elements;
  a.k.y_head = p[K].dim(2);
  a.q.wide_positions = a.k.wide_positions = true;
  a.keys = cached_rows_of(p[K], p[K_CACHE]);
  a.keys.row_stride = a.k.y_token;
  a.keys.head_stride = a.k.y_head;
  a.values = cached_rows_of(p[V], p[V_CACHE]);
  a.from = row_dtype_index(p[Q].dtype());
  a.to = row_dtype_index(p[K_CACHE].dtype());
  return a;
}

// f(begin, end) for the queries of a launch.
auto rope_append_work(const Launch& l, const RopeAppend& a, const PagedSchedule& schedule, void* turned_q) {
  RopeTokens q = a.q, k = a.k;
  q.x = l.ptr<const void>(Q);
  q.y = turned_q;
  k.x = l.ptr<const void>(K);
  k.y = l.at<std::byte>(a.turned_k);
  q.frequencies_f32 = k.frequencies_f32 = l.ptr<const float>(FREQUENCIES);
  int64_t* const positions = l.at<int64_t>(a.positions);
  q.positions = k.positions = positions;
  const CachedRows keys = bind_rows(a.keys, k.y, l.ptr<void>(K_CACHE), schedule),
                   values = bind_rows(a.values, l.ptr<const void>(V), l.ptr<void>(V_CACHE), schedule);
  const auto rope = RUDA_ISA_PICK(PositionTable, position_table).rope[a.from];
  const auto put = RUDA_ISA_PICK(CachedRowsTable, cached_rows_table).put[a.from][a.to];
  return [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) positions[i] = keys.positions[i];
    rope(q, begin, end);
    rope(k, begin, end);
    put(keys, begin, end);
    put(values, begin, end);
  };
}

}  // namespace
}  // namespace ruda::cpu
