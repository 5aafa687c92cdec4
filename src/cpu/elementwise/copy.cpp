// src/cpu/elementwise/copy.cpp - copies: whole memory, rows of bytes, or element by element.
// SPDX-License-Identifier: Apache-2.0
#include "core/convert.hpp"
#include "cpu/rows.hpp"
#include "cpu/runtime/device.hpp"

#include <ruda/elementwise.h>

#include <cstring>

namespace ruda::cpu {
namespace {

constexpr int64_t grain_bytes = 65536;

namespace memory {

Verdict prepare(const Problem& p, Prepare&) {
  const Layout &x = *p[RUDA_COPY_X].layout, &y = *p[RUDA_COPY_Y].layout;
  if (x.dtype != y.dtype) return "dtypes differ";
  if (!x.contiguous || !y.contiguous) return "strided";
  return nullptr;
}

void run(const Launch& l) {
  const auto* from = l.ptr<const std::byte>(RUDA_COPY_X);
  auto* to = l.ptr<std::byte>(RUDA_COPY_Y);
  parallel(l, int64_t(l.problem[RUDA_COPY_X].layout->packed_bytes()), grain_bytes,
           [&](int64_t begin, int64_t end) { std::memcpy(to + begin, from + begin, size_t(end - begin)); });
}

}  // namespace memory

namespace byte_rows {

// Bytes of one row along the last axis, and where it starts.
Verdict prepare(const Problem& p, Prepare&) {
  const Layout &x = *p[RUDA_COPY_X].layout, &y = *p[RUDA_COPY_Y].layout;
  if (x.dtype != y.dtype) return "dtypes differ";
  if (x.rank == 0) return "rank 0";
  if ((x.dim(-1) > 1 && x.stride(-1) != 1) || (y.dim(-1) > 1 && y.stride(-1) != 1))
    return "last axis is strided";
  return nullptr;
}

void run(const Launch& l) {
  const Layout &x = *l.problem[RUDA_COPY_X].layout, &y = *l.problem[RUDA_COPY_Y].layout;
  if (x.elements == 0) return;
  const DtypeInfo& info = dtype_info(x.dtype);
  const int64_t block = info.block_elements, bytes = info.block_bytes;
  const int64_t row_bytes = x.dim(-1) / block * bytes, rows = x.elements / x.dim(-1);
  const auto* from = l.ptr<const std::byte>(RUDA_COPY_X);
  auto* to = l.ptr<std::byte>(RUDA_COPY_Y);
  const int64_t grain = row_bytes >= grain_bytes ? 1 : grain_bytes / row_bytes;
  parallel(l, rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      std::memcpy(to + row_offset(y, r) / block * bytes, from + row_offset(x, r) / block * bytes,
                  size_t(row_bytes));
  });
}

}  // namespace byte_rows

namespace scalar {

Verdict prepare(const Problem& p, Prepare&) {
  const Layout& x = *p[RUDA_COPY_X].layout;
  if (is_block(x.dtype)) return "block format";
  if (dtype_info(x.dtype).block_elements > 1 || dtype_info(p[RUDA_COPY_Y].dtype()).block_elements > 1)
    return "elements smaller than a byte";
  return nullptr;
}

void run(const Launch& l) {
  const Layout &x = *l.problem[RUDA_COPY_X].layout, &y = *l.problem[RUDA_COPY_Y].layout;
  if (x.elements == 0) return;
  const auto* from = l.ptr<const std::byte>(RUDA_COPY_X);
  auto* to = l.ptr<std::byte>(RUDA_COPY_Y);
  const auto convert = find_conversion(x.dtype, y.dtype);
  const int64_t x_bytes = dtype_info(x.dtype).block_bytes, y_bytes = dtype_info(y.dtype).block_bytes;
  const int64_t cols = x.rank ? x.dim(-1) : 1, rows = x.elements / cols;
  const int64_t x_step = (x.rank ? x.stride(-1) : 1) * x_bytes,
                y_step = (y.rank ? y.stride(-1) : 1) * y_bytes;
  const int64_t grain = cols >= 4096 ? 1 : 4096 / cols;
  parallel(l, rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r)
      convert(to + row_offset(y, r) * y_bytes, y_step, from + row_offset(x, r) * x_bytes, x_step, cols);
  });
}

}  // namespace scalar

constexpr Kernel list[] = {{"cpu/copy/memory", memory::prepare, memory::run},
                           {"cpu/copy/byte_rows", byte_rows::prepare, byte_rows::run},
                           {"cpu/copy/scalar", scalar::prepare, scalar::run}};

}  // namespace

extern constinit const Kernels copy{list};

}  // namespace ruda::cpu
