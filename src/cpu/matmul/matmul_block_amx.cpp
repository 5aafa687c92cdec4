// src/cpu/matmul/matmul_block_amx.cpp - matmul_block, many rows, with the AMX tile unit in bf16.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/matmul/matmul_block_loop.hpp"

namespace ruda::cpu::RUDA_ISA {
namespace {

struct alignas(64) TileConfig {
  uint8_t palette, start_row, reserved[14];
  uint16_t row_bytes[16];
  uint8_t rows[16];
};

// In memory for good: the compiler does not see that loading a configuration reads all of it.
constexpr TileConfig tile_config = {
    1, 0, {}, {64, 64, 64, 64, 64, 64, 64, 64}, {16, 16, 16, 16, 16, 16, 16, 16}};

// Tiles 0..3 hold sums, 4 and 5 activations, 6 and 7 weights; all are 16 rows of 64 bytes.
struct TileMicro {
  static void start() { _tile_loadconfig(&tile_config); }
  static void stop() { _tile_release(); }

  template <int Rows16, int Cols16>
  static void tile(const uint16_t* x, const uint8_t* panel0, const uint8_t* panel1, int64_t steps,
                   float* sums, bool add) {
    constexpr int row_bytes = 128;
    if (add) {
      _tile_loadd(0, sums, row_bytes);
      if constexpr (Cols16 > 1) _tile_loadd(1, sums + 16, row_bytes);
      if constexpr (Rows16 > 1) _tile_loadd(2, sums + 512, row_bytes);
      if constexpr (Rows16 > 1 && Cols16 > 1) _tile_loadd(3, sums + 528, row_bytes);
    } else {
      _tile_zero(0);
      if constexpr (Cols16 > 1) _tile_zero(1);
      if constexpr (Rows16 > 1) _tile_zero(2);
      if constexpr (Rows16 > 1 && Cols16 > 1) _tile_zero(3);
    }
    // Activations pass by once a panel, so they are loaded as a stream, which leaves the panels in the first
    // cache: on a Xeon with AMX [512, 576] x [576, 576] took 339 us without and 302 us with that, one thread.
    for (int64_t s = 0; s < steps; ++s, x += 1024) {
      _tile_loadd(6, panel0 + 1024 * s, 64);
      _tile_stream_loadd(4, x, 64);
      _tile_dpbf16ps(0, 4, 6);
      if constexpr (Cols16 > 1) {
        _tile_loadd(7, panel1 + 1024 * s, 64);
        _tile_dpbf16ps(1, 4, 7);
      }
      if constexpr (Rows16 > 1) {
        _tile_stream_loadd(5, x + 512, 64);
        _tile_dpbf16ps(2, 5, 6);
        if constexpr (Cols16 > 1) _tile_dpbf16ps(3, 5, 7);
      }
    }
    _tile_stored(0, sums, row_bytes);
    if constexpr (Cols16 > 1) _tile_stored(1, sums + 16, row_bytes);
    if constexpr (Rows16 > 1) _tile_stored(2, sums + 512, row_bytes);
    if constexpr (Rows16 > 1 && Cols16 > 1) _tile_stored(3, sums + 528, row_bytes);
  }
};

void run_panels(const BlockMatmul& call, const uint16_t* x, int64_t begin, int64_t end, void* scratch) {
  panel_loop<TileMicro>(call, x, begin, end, scratch);
}

}  // namespace

extern const BlockPanelTable block_panel{convert_rows, run_panels};

}  // namespace ruda::cpu::RUDA_ISA
