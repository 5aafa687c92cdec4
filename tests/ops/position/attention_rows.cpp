// tests/ops/position/attention_rows.cpp - rows of rope_attention and paged_attention stand apart, on any
// number of threads, and on a GPU in any cluster.
// SPDX-License-Identifier: Apache-2.0
#include "support/objects.hpp"
#include "support/paged.hpp"

#include <cmath>
#include <cstring>

using namespace ruda::test;

namespace {

constexpr int64_t q_heads = 6, kv_heads = 2, group = 3, dim = 32, value_dim = 40, page_size = 16, rows = 5;

using Floats = std::vector<float>;

struct Input {
  Layout layout;
  Floats q, k, v, k_cache, v_cache;
};

Input random_input(Env& env) {
  Input in;
  in.layout.lengths = {150, 1, 64, 65, 300};
  for (uint32_t s = 0; s < rows; ++s) {
    std::vector<uint32_t> table;
    for (uint32_t j = 0; j < in.layout.lengths[s]; j += page_size) table.push_back(in.layout.pages++);
    in.layout.tables.push_back(table);
    in.layout.queries.push_back({s, in.layout.lengths[s] - 1});
  }
  const auto normal = [&](int64_t count) {
    const std::vector<double> values = env.normal(count);
    return Floats(values.begin(), values.end());
  };
  const int64_t slots = int64_t(in.layout.pages) * page_size * kv_heads;
  in.q = normal(rows * q_heads * dim);
  in.k = normal(rows * kv_heads * dim);
  in.v = normal(rows * kv_heads * value_dim);
  in.k_cache = normal(slots * dim);
  in.v_cache = normal(slots * value_dim);
  return in;
}

// A context with a number of threads, and the operands of a call in it.
struct Place {
  Place(Env& outer, uint32_t threads, const Input& in) : in(in) {
    ruda_context_desc d = RUDA_CONTEXT_DESC_INIT;
    d.backend = outer.settings.backend;
    d.host_threads = threads;
    MUST(ruda_context_create(&d, &context));
    MUST(ruda_stream_create(context, 0, &stream));
    ruda_paged_schedule_desc p = RUDA_PAGED_SCHEDULE_DESC_INIT;
    uint32_t widest = 0;
    for (const auto& table : in.layout.tables) widest = std::max(widest, uint32_t(table.size()));
    p.page_size = page_size;
    p.pages = in.layout.pages;
    p.max_sequences = p.max_queries = rows;
    p.max_table_pages = widest;
    MUST(ruda_paged_schedule_create(context, &p, &schedule));
    std::vector<uint32_t> tables(rows * widest, 0), ids, positions;
    for (size_t s = 0; s < rows; ++s)
      std::copy(in.layout.tables[s].begin(), in.layout.tables[s].end(), tables.begin() + int64_t(s * widest));
    for (const auto& [s, position] : in.layout.queries) {
      ids.push_back(s);
      positions.push_back(position);
    }
    MUST(ruda_paged_schedule_set(schedule, stream, tables.data(), widest, in.layout.lengths.data(), rows,
                                 ids.data(), positions.data(), rows));
  }
  ~Place() {
    for (ruda_tensor t : tensors) ruda_release(t);
    release({schedule, stream, context});
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;

  ruda_tensor_desc tensor(uint32_t slot, const std::vector<int64_t>& shape, const Floats* values) {
    const ruda_tensor t = new_tensor(context, RUDA_F32, shape);
    if (values) MUST(ruda_tensor_write(stream, t, values->data(), values->size() * sizeof(float)));
    tensors.push_back(t);
    bindings.push_back({slot, RUDA_BIND_TENSOR, {t}});
    return desc_of(t);
  }
  // The last tensor is the result.
  Floats run(ruda_plan plan, uint32_t schedule_slot) {
    bindings.push_back({schedule_slot, RUDA_BIND_HANDLE, {schedule}});
    MUST(ruda_plan_execute(plan, stream, nullptr, bindings.data(), uint32_t(bindings.size()), nullptr));
    Floats out(size_t(rows * q_heads * value_dim));
    MUST(ruda_tensor_read(stream, tensors.back(), out.data(), out.size() * sizeof(float)));
    ruda_release(plan);
    return out;
  }

  const Input& in;
  ruda_context context = nullptr;
  ruda_stream stream = nullptr;
  ruda_paged_schedule schedule = nullptr;
  std::vector<ruda_tensor> tensors;
  std::vector<ruda_binding> bindings;
};

Floats fused(Env& env, uint32_t threads, const Input& in) {
  Place place(env, threads, in);
  const int64_t pages = in.layout.pages;
  const auto q = place.tensor(RUDA_ROPE_ATTENTION_Q, {rows, q_heads, dim}, &in.q),
             k = place.tensor(RUDA_ROPE_ATTENTION_K, {rows, kv_heads, dim}, &in.k),
             v = place.tensor(RUDA_ROPE_ATTENTION_V, {rows, kv_heads, value_dim}, &in.v),
             k_cache =
                 place.tensor(RUDA_ROPE_ATTENTION_K_CACHE, {pages, page_size, kv_heads, dim}, &in.k_cache),
             v_cache = place.tensor(RUDA_ROPE_ATTENTION_V_CACHE, {pages, page_size, kv_heads, value_dim},
                                    &in.v_cache),
             out = place.tensor(RUDA_ROPE_ATTENTION_OUT, {rows, q_heads, value_dim}, nullptr);
  ruda_rope_params params = RUDA_ROPE_PARAMS_INIT;
  params.theta = 1e4;
  ruda_rope_attention_desc d = RUDA_ROPE_ATTENTION_DESC_INIT;
  d.q = &q;
  d.k = &k;
  d.v = &v;
  d.out = &out;
  d.k_cache = &k_cache;
  d.v_cache = &v_cache;
  d.params = &params;
  d.scale = 0.2;
  ruda_plan plan = nullptr;
  MUST(ruda_rope_attention_plan_create(place.context, &d, &plan));
  return place.run(plan, RUDA_ROPE_ATTENTION_SCHEDULE);
}

Floats apart(Env& env, uint32_t threads, const Input& in, uint32_t splits) {
  Place place(env, threads, in);
  const int64_t pages = in.layout.pages;
  const auto q = place.tensor(RUDA_PAGED_ATTENTION_Q, {rows, q_heads, dim}, &in.q),
             k = place.tensor(RUDA_PAGED_ATTENTION_K, {pages, page_size, kv_heads, dim}, &in.k_cache),
             v = place.tensor(RUDA_PAGED_ATTENTION_V, {pages, page_size, kv_heads, value_dim}, &in.v_cache),
             out = place.tensor(RUDA_PAGED_ATTENTION_OUT, {rows, q_heads, value_dim}, nullptr);
  ruda_paged_attention_desc d = RUDA_PAGED_ATTENTION_DESC_INIT;
  d.q = &q;
  d.k = &k;
  d.v = &v;
  d.out = &out;
  d.causal = 1;
  d.splits = splits;
  d.scale = 0.2;
  ruda_plan plan = nullptr;
  MUST(ruda_paged_attention_plan_create(place.context, &d, &plan));
  return place.run(plan, RUDA_PAGED_ATTENTION_SCHEDULE);
}

bool same(const Floats& a, const Floats& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

RUDA_TEST(attention_bits_on_any_threads) {
  if (env.settings.backend != RUDA_BACKEND_CPU) throw Skip("host threads compute nothing on a GPU");
  const Input in = random_input(env);
  const Floats first = fused(env, 1, in);
  for (uint32_t threads = 2; threads <= 8; ++threads)
    CHECK(same(fused(env, threads, in), first), "rope_attention: other bits on %u threads", threads);
  for (const uint32_t splits : {0u, 2u, 7u, RUDA_SPLITS_AUTO}) {
    const Floats one = apart(env, 1, in, splits);
    for (uint32_t threads = 2; threads <= 8; ++threads)
      CHECK(same(apart(env, threads, in, splits), one),
            "paged_attention: other bits on %u threads, splits %u", threads, splits);
  }
}

// NaN in row 2 of q, k or v reaches what depends on it and no more.
RUDA_TEST(rope_attention_keeps_nan_in_its_row) {
  const Input in = random_input(env);
  const Floats clean = fused(env, 3, in);
  for (const char what : {'q', 'k', 'v'}) {
    Input spoilt = in;
    if (what == 'q') spoilt.q[size_t(2 * q_heads * dim)] = NAN;
    if (what == 'k') spoilt.k[size_t(2 * kv_heads * dim)] = NAN;
    if (what == 'v') spoilt.v[size_t(2 * kv_heads * value_dim)] = NAN;
    const Floats out = fused(env, 3, spoilt);
    for (int64_t i = 0; i < int64_t(out.size()); ++i) {
      const int64_t row = i / (q_heads * value_dim), head = i / value_dim % q_heads, e = i % value_dim;
      const bool hit = row == 2 && (what == 'q' ? head == 0 : head < group && (what == 'k' || e == 0));
      const bool kept = std::memcmp(&out[size_t(i)], &clean[size_t(i)], sizeof(float)) == 0;
      CHECK(hit ? std::isnan(out[size_t(i)]) : kept, "NaN in %c: row %lld, head %lld, element %lld is %g",
            what, (long long)row, (long long)head, (long long)e, double(out[size_t(i)]));
    }
  }
}

// Scores of about 2^100: the largest takes all the weight, and the result is the value of its key.
RUDA_TEST(rope_attention_huge_scores) {
  Input in = random_input(env);
  for (float& x : in.q) x = std::ldexp(x, 100);
  const Floats out = fused(env, 3, in);
  for (size_t row = 0; row < rows; ++row)
    for (int64_t head = 0; head < q_heads; ++head) {
      const auto value_at = [&](uint32_t j) {
        const int64_t slot = int64_t(in.layout.tables[row][j / page_size]) * page_size + j % page_size;
        return j + 1 == in.layout.lengths[row]
                   ? &in.v[size_t((int64_t(row) * kv_heads + head / group) * value_dim)]
                   : &in.v_cache[size_t((slot * kv_heads + head / group) * value_dim)];
      };
      bool found = false;
      for (uint32_t j = 0; j < in.layout.lengths[row] && !found; ++j)
        found = std::memcmp(value_at(j), &out[size_t((int64_t(row) * q_heads + head) * value_dim)],
                            size_t(value_dim) * sizeof(float)) == 0;
      CHECK(found, "row %zu, head %lld is no key's value", row, (long long)head);
    }
}
