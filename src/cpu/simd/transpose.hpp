// src/cpu/simd/transpose.hpp - transposes a square block of 32-bit lanes held in registers.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/simd/vec.hpp"

namespace ruda::cpu::RUDA_ISA {

// rows[i][j] becomes rows[j][i]
RUDA_INLINE void transpose(F32 (&rows)[lanes]) {
#if RUDA_SIMD_AVX512
  __m512 t[16];
  // 32-bit, then 64-bit neighbours within 128-bit blocks; then the blocks themselves
  for (int i = 0; i < 16; i += 2) {
    t[i] = _mm512_unpacklo_ps(rows[i], rows[i + 1]);
    t[i + 1] = _mm512_unpackhi_ps(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 16; i += 4) {
    rows[i] = (F32)_mm512_unpacklo_pd((__m512d)t[i], (__m512d)t[i + 2]);
    rows[i + 1] = (F32)_mm512_unpackhi_pd((__m512d)t[i], (__m512d)t[i + 2]);
    rows[i + 2] = (F32)_mm512_unpacklo_pd((__m512d)t[i + 1], (__m512d)t[i + 3]);
    rows[i + 3] = (F32)_mm512_unpackhi_pd((__m512d)t[i + 1], (__m512d)t[i + 3]);
  }
  for (int i = 0; i < 4; i++) {
    t[i] = _mm512_shuffle_f32x4(rows[i], rows[i + 4], 0x88);
    t[i + 4] = _mm512_shuffle_f32x4(rows[i], rows[i + 4], 0xdd);
    t[i + 8] = _mm512_shuffle_f32x4(rows[i + 8], rows[i + 12], 0x88);
    t[i + 12] = _mm512_shuffle_f32x4(rows[i + 8], rows[i + 12], 0xdd);
  }
  for (int i = 0; i < 4; i++) {
    rows[i] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0x88);
    rows[i + 8] = _mm512_shuffle_f32x4(t[i], t[i + 8], 0xdd);
    rows[i + 4] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0x88);
    rows[i + 12] = _mm512_shuffle_f32x4(t[i + 4], t[i + 12], 0xdd);
  }
#elif RUDA_SIMD_AVX2
  __m256 t[8];
  for (int i = 0; i < 8; i += 2) {
    t[i] = _mm256_unpacklo_ps(rows[i], rows[i + 1]);
    t[i + 1] = _mm256_unpackhi_ps(rows[i], rows[i + 1]);
  }
  for (int i = 0; i < 8; i += 4) {
    rows[i] = (F32)_mm256_unpacklo_pd((__m256d)t[i], (__m256d)t[i + 2]);
    rows[i + 1] = (F32)_mm256_unpackhi_pd((__m256d)t[i], (__m256d)t[i + 2]);
    rows[i + 2] = (F32)_mm256_unpacklo_pd((__m256d)t[i + 1], (__m256d)t[i + 3]);
    rows[i + 3] = (F32)_mm256_unpackhi_pd((__m256d)t[i + 1], (__m256d)t[i + 3]);
  }
  for (int i = 0; i < 4; i++) {
    t[i] = _mm256_permute2f128_ps(rows[i], rows[i + 4], 0x20);
    t[i + 4] = _mm256_permute2f128_ps(rows[i], rows[i + 4], 0x31);
  }
  for (int i = 0; i < 8; i++) rows[i] = t[i];
#else
  const F32 a = rows[0], b = rows[1], c = rows[2], d = rows[3];
  for (int i = 0; i < 4; i++) rows[i] = F32{a[i], b[i], c[i], d[i]};
#endif
}

}  // namespace ruda::cpu::RUDA_ISA
