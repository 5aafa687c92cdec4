// src/cpu/elementwise/binary.cpp - binary functions: dense rows on threads, or one element at a time.
// SPDX-License-Identifier: Apache-2.0
#include "core/convert.hpp"
#include "core/half.hpp"
#include "core/op_rows.hpp"
#include "core/row_functions.hpp"
#include "cpu/dense.hpp"
#include "cpu/elementwise/binary_table.hpp"

#include <ruda/elementwise.h>

namespace ruda::cpu {
namespace {

static_assert(std::size(binary_rows) == binary_count);

constexpr int64_t grain = 16384;        // elements a thread takes at least, for functions of one instruction
constexpr int64_t series_grain = 4096;  // for those of many, in vectors
constexpr int64_t slow_grain = 1024;    // one element at a time

// Functions of more than an instruction or two: vectors of F32, calls or divisions of other dtypes.
bool is_slow(uint32_t op) {
  return op == RUDA_BINARY_POW || (op >= RUDA_BINARY_REMAINDER && op <= RUDA_BINARY_ATAN2);
}

// Without b the scalar stands in its place, as a tensor of rank 0.
void operand_layouts(const Problem& p, const Layout* (&layouts)[3], Layout& scalar) {
  scalar.dtype = p[RUDA_BINARY_A].dtype();
  layouts[0] = p[RUDA_BINARY_Y].layout.get();
  layouts[1] = p[RUDA_BINARY_A].layout.get();
  layouts[2] = p[RUDA_BINARY_B].present ? p[RUDA_BINARY_B].layout.get() : &scalar;
}

struct Operands {
  std::byte* base[3];
  std::byte scalar[8];

  explicit Operands(const Launch& l)
      : base{l.ptr<std::byte>(RUDA_BINARY_Y), l.ptr<std::byte>(RUDA_BINARY_A), scalar} {
    if (l.problem[RUDA_BINARY_B].present) {
      base[2] = l.ptr<std::byte>(RUDA_BINARY_B);
    } else {
      const double value = binary_scalar(l.problem[RUDA_BINARY_A].dtype(), l.f64(RUDA_BINARY_SCALAR));
      find_conversion(RUDA_F64, l.problem[RUDA_BINARY_A].dtype())(
          scalar, 8, reinterpret_cast<const std::byte*>(&value), 8, 1);
    }
  }
};

namespace dense_rows {

struct State {
  DenseWalk<3> walk;
  BinaryDense row;
  int64_t grain;
};

Verdict prepare(const Problem& p, Prepare& prep) {
  State& s = prep.state<State>();
  const Layout* layouts[3];
  Layout scalar;
  operand_layouts(p, layouts, scalar);
  s.walk = make_dense_walk<3>({layouts[0], layouts[1], layouts[2]});
  const uint32_t op = p.as<ruda_binary_desc>().op;
  const int dtype = row_dtype_index(p[RUDA_BINARY_A].dtype());
  s.row = dtype < row_vector_dtypes
              ? RUDA_ISA_PICK(BinaryRealTable, binary_real_table).rows[op - 1][dtype]
              : RUDA_ISA_PICK(BinaryIntTable, binary_int_table).rows[op - 1][dtype - row_vector_dtypes];
  const bool by_element = is_slow(op) && dtype >= row_vector_dtypes;
  s.grain = by_element ? slow_grain : is_slow(op) ? series_grain : grain;
  prep.note(std::string(binary_rows[op - 1].name) + ", " +
            (by_element ? "one element at a time" : isa_name(isa())));
  return nullptr;
}

void run(const Launch& l) {
  const State& s = l.state<State>();
  const Operands operands(l);
  dense_parallel(l, s.walk, operands.base, s.grain,
                 [row = s.row](std::byte* const* at, int64_t count) { row(at[1], at[2], at[0], count); });
}

}  // namespace dense_rows

namespace plain {

template <class T>
constexpr bool is_real = std::is_floating_point_v<T> || std::is_same_v<T, f16> || std::is_same_v<T, bf16>;

template <class T>
void elements(const Launch& l) {
  const auto& w = l.state<Walk<3>>();
  const uint32_t op = l.problem.as<ruda_binary_desc>().op;
  const bool to_bool = binary_rows[op - 1].result == row_B;
  const Operands operands(l);
  const T* a = reinterpret_cast<const T*>(operands.base[1]);
  const T* b = reinterpret_cast<const T*>(operands.base[2]);
  T* y = reinterpret_cast<T*>(operands.base[0]);
  auto* y_bool = reinterpret_cast<uint8_t*>(operands.base[0]);
  walk_parallel(l, w, slow_grain, [&](const int64_t* at, int64_t count) {
    for (int64_t i = 0; i < count; ++i) {
      const T x = a[at[1] + i * w.step(1)], z = b[at[2] + i * w.step(2)];
      const int64_t to = at[0] + i * w.step(0);
      if constexpr (is_real<T>) {
        // In double; 16-bit floats come in and go out through float.
        const double r = binary_real(op, double(to_float(x)), double(to_float(z)));
        if (to_bool)
          y_bool[to] = r != 0;
        else if constexpr (std::is_same_v<T, double>)
          y[to] = r;
        else
          y[to] = from_float<T>(float(r));
      } else {
        const uint64_t r = binary_integer<T>(op, x, z);
        if (to_bool)
          y_bool[to] = uint8_t(r);
        else
          y[to] = T(r);
      }
    }
  });
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const Layout* layouts[3];
  Layout scalar;
  operand_layouts(p, layouts, scalar);
  prep.state<Walk<3>>() = make_walk<3>({layouts[0], layouts[1], layouts[2]});
  prep.note(std::string(binary_rows[p.as<ruda_binary_desc>().op - 1].name) + ", one element at a time");
  return nullptr;
}

void run(const Launch& l) {
  const uint32_t dtype = l.problem[RUDA_BINARY_A].dtype();
  visit(dtype == RUDA_BOOL ? uint32_t(RUDA_U8) : dtype,
        Types<double, float, f16, bf16, int8_t, uint8_t, int16_t, uint16_t, int32_t, uint32_t, int64_t,
              uint64_t>{},
        [&](auto t) { elements<decltype(t)>(l); });
}

}  // namespace plain

constexpr Kernel list[] = {{"cpu/binary/rows", dense_rows::prepare, dense_rows::run},
                           {"cpu/binary/scalar", plain::prepare, plain::run}};

}  // namespace

extern constinit const Kernels binary{list};

}  // namespace ruda::cpu
