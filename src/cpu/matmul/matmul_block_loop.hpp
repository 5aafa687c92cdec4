// src/cpu/matmul/matmul_block_loop.hpp - many rows of bf16 activations against weight panels: the loops
// around a tile product.
// SPDX-License-Identifier: Apache-2.0
//
// One panel pair (32 weight rows by at most 640 elements, 40 KiB) stays in the first cache while all rows of
// a block of activations (at most 1.6 MiB, in the second cache) pass by. The order of summation depends on k
// only.
#pragma once
#include "cpu/matmul/matmul_block_io.hpp"
#include "cpu/matmul/matmul_block_panel.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

// Micro::start(), Micro::stop() around the work of a thread;
// Micro::tile<rows16, cols16>(x, panel0, panel1, steps, sums, add): sums[16 * rows16][32] (+)= x * panels,
// with x in `steps` squares.
template <class Micro>
void panel_loop(const BlockMatmul& call, const uint16_t* x, int64_t begin, int64_t end, void* scratch) {
  uint8_t* panels = (uint8_t*)scratch;
  float* sums = (float*)(panels + 2 * block_panel_bytes);
  const int64_t chunk = block_panel_chunk(call.k), rows = block_panel_rows(call.k);
  Micro::start();
  for (int64_t m0 = 0; m0 < call.m; m0 += rows) {
    const int64_t m1 = m0 + rows < call.m ? m0 + rows : call.m;
    for (int64_t n = begin; n < end; n += 32) {
      const int cols = end - n < 32 ? (int)(end - n) : 32;
      const PanelRows left = panel_rows(call, n, end);
      const PanelRows right = panel_rows(call, cols > 16 ? n + 16 : n, end);
      for (int64_t k0 = 0; k0 < call.k; k0 += chunk) {
        const int64_t steps = (k0 + chunk < call.k ? chunk : call.k - k0) / 32;
        const bool last = k0 + chunk >= call.k;
        unpack_table[call.type](left, k0 / 32, steps, panels);
        if (cols > 16) unpack_table[call.type](right, k0 / 32, steps, panels + block_panel_bytes);
        for (int64_t m = m0; m < m1; m += 32) {
          float* s = chunk < call.k ? sums + (m - m0) * 32 : sums;
          const uint16_t* a = x + m * call.k + 32 * k0;
          const int height = m1 - m < 32 ? (int)(m1 - m) : 32;
          if (height > 16) {
            if (cols > 16)
              Micro::template tile<2, 2>(a, panels, panels + block_panel_bytes, steps, s, k0 != 0);
            else
              Micro::template tile<2, 1>(a, panels, panels, steps, s, k0 != 0);
          } else {
            if (cols > 16)
              Micro::template tile<1, 2>(a, panels, panels + block_panel_bytes, steps, s, k0 != 0);
            else
              Micro::template tile<1, 1>(a, panels, panels, steps, s, k0 != 0);
          }
          if (last) store_tile(call, m, n, height, cols, s);
        }
      }
    }
  }
  Micro::stop();
}

void convert_rows(const BlockMatmul& call, int64_t begin, int64_t end, uint16_t* to) {
  for (int64_t m = begin; m < end; ++m) {
    uint16_t* out = to + m / 32 * 32 * call.k + m % 32 * 32;
    if (call.x_bf16) {
      const uint16_t* in = (const uint16_t*)call.x + m * call.x_stride;
      for (int64_t i = 0; i < call.k; i += 32) _mm512_store_si512(out + 32 * i, _mm512_loadu_si512(in + i));
      continue;
    }
    const float* in = (const float*)call.x + m * call.x_stride;
    for (int64_t i = 0; i < call.k; i += 32)
      _mm512_store_si512(out + 32 * i,
                         (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(in + i + 16), _mm512_loadu_ps(in + i)));
  }
}

}  // namespace
}  // namespace ruda::cpu::RUDA_ISA
