// src/cpu/embedding/embedding.cpp - embedding on the CPU: all ids are checked, then threads share the rows.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/embedding/embedding_table.hpp"
#include "cpu/rows.hpp"
#include "cpu/runtime/device.hpp"

#include <ruda/embedding.h>

#include <algorithm>
#include <cstring>

namespace ruda::cpu {
namespace {

struct State {
  int64_t rows, cols, row_bytes, count;
  int32_t from, block, to;
  bool plain_ids;  // one after another
  WorkspaceSlot scratch;
};

int32_t row_type(uint32_t dtype) {
  return dtype == RUDA_F32    ? row_f32
         : dtype == RUDA_F16  ? row_f16
         : dtype == RUDA_BF16 ? row_bf16
                              : row_blocks;
}

// Offset in elements of id number `index`, in row-major order.
int64_t element_offset(const Layout& layout, int64_t index) {
  int64_t offset = 0;
  for (int axis = layout.rank - 1; axis >= 0; --axis) {
    offset += index % layout.shape[axis] * layout.strides[axis];
    index /= layout.shape[axis];
  }
  return offset;
}

void fill(const Problem& p, Prepare& prep, State& s, int threads) {
  const Operand &table = p[RUDA_EMBEDDING_TABLE], &y = p[RUDA_EMBEDDING_Y];
  s.rows = table.dim(0);
  s.cols = table.dim(1);
  s.count = p[RUDA_EMBEDDING_IDS].layout->elements;
  s.from = row_type(table.dtype());
  s.to = row_type(y.dtype());
  s.block = block_type(table.dtype());
  if (s.from == row_blocks) {
    s.row_bytes = s.cols / block_formats[s.block].elements * block_formats[s.block].bytes;
    s.scratch = prep.book<float>(s.to == row_f32 || !s.count ? 0 : threads * s.cols);
  } else {
    s.row_bytes = table.stride(0) * (s.from == row_f32 ? 4 : 2);
  }
  s.plain_ids = p[RUDA_EMBEDDING_IDS].layout->contiguous;
}

template <class T>
int64_t id_at(const Launch& l, const State& s, int64_t i) {
  return int64_t(l.ptr<const T>(
      RUDA_EMBEDDING_IDS)[s.plain_ids ? i : element_offset(*l.problem[RUDA_EMBEDDING_IDS].layout, i)]);
}

constexpr int64_t stop_ids = 1 << 14;       // ids checked, and
constexpr int64_t stop_elements = 1 << 18;  // elements of rows written between two looks at the stop sign

template <class T>
void check_ids(const Launch& l, const State& s) {
  for (int64_t i = 0; i < s.count; ++i) {
    if (i % stop_ids == 0) l.stop.check();
    const int64_t id = id_at<T>(l, s, i);
    RUDA_CHECK(id >= 0 && id < s.rows, RUDA_E_INDEX, -1, "embedding: ids[%lld] is %lld, expected 0..%lld",
               static_cast<long long>(i), static_cast<long long>(id), static_cast<long long>(s.rows - 1));
  }
}

template <class T>
void gather(const Launch& l, const State& s, const EmbeddingTable& kernel, int64_t begin, int64_t end,
            float* scratch) {
  const Layout& to = *l.problem[RUDA_EMBEDDING_Y].layout;
  const auto* table = l.ptr<const std::byte>(RUDA_EMBEDDING_TABLE);
  auto* y = l.ptr<std::byte>(RUDA_EMBEDDING_Y);
  const int64_t bytes = s.to == row_f32 ? 4 : 2;
  const int64_t stop_rows = std::max<int64_t>(stop_elements / std::max<int64_t>(s.cols, 1), 1);
  for (int64_t next = begin, i = begin; i < end; ++i) {
    if (i == next) {
      l.stop.check();
      next += stop_rows;
    }
    const int64_t at = to.contiguous ? i * s.cols : row_offset(to, i);
    kernel.row(table + id_at<T>(l, s, i) * s.row_bytes, s.from, s.block, y + at * bytes, s.to, s.cols,
               scratch);
  }
}

// Ids as T, by dtype; U32 fits in the positive half of int64.
template <class F>
void with_ids(const Launch& l, F&& f) {
  visit(l.problem[RUDA_EMBEDDING_IDS].dtype(), Types<int32_t, int64_t, uint32_t>{}, f);
}

namespace vector_rows {

Verdict prepare(const Problem& p, Prepare& prep) {
  fill(p, prep, prep.state<State>(), thread_count(p));
  prep.note(isa_name(isa()));
  return nullptr;
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  const EmbeddingTable& kernel = RUDA_ISA_PICK(EmbeddingTable, embedding_table);
  const int64_t grain = std::max<int64_t>(8192 / std::max<int64_t>(s.cols, 1), 1);
  with_ids(l, [&](auto t) {
    using T = decltype(t);
    check_ids<T>(l, s);
    pool_of(l).ranges(s.count, grain, [&](int64_t begin, int64_t end, int part) {
      float* scratch = l.at<float>(s.scratch);  // null where no row is decoded
      gather<T>(l, s, kernel, begin, end, scratch ? scratch + part * s.cols : nullptr);
    });
  });
}

}  // namespace vector_rows

namespace plain {

Verdict prepare(const Problem& p, Prepare& prep) {
  fill(p, prep, prep.state<State>(), 1);
  return nullptr;
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  with_ids(l, [&](auto t) {
    using T = decltype(t);
    check_ids<T>(l, s);
    gather<T>(l, s, scalar::embedding_table, 0, s.count, l.at<float>(s.scratch));
  });
}

}  // namespace plain

constexpr Kernel list[] = {{"cpu/embedding/rows", vector_rows::prepare, vector_rows::run},
                           {"cpu/embedding/scalar", plain::prepare, plain::run}};

}  // namespace

extern constinit const Kernels embedding{list};

}  // namespace ruda::cpu
