// src/core/convert.hpp - converts runs of elements between plain dtypes as ruda_tensor_cast says.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace ruda {

// count elements; steps in bytes.
using Conversion = void (*)(std::byte* to, int64_t to_step, const std::byte* from, int64_t from_step,
                            int64_t count);

// For two dtypes of at least a byte an element; overflow is a RUDA_OVERFLOW_*.
Conversion find_conversion(uint32_t from, uint32_t to, uint32_t overflow = 0) noexcept;

// FP8 encodings: round to nearest even. Beyond the largest F8E4M3 is 448 or NaN, F8E5M2 infinity or 57344.
uint8_t to_f8e4m3(float x, bool nonfinite = false) noexcept;
uint8_t to_f8e5m2(float x, bool saturate = false) noexcept;
float from_f8e4m3(uint8_t code) noexcept;
float from_f8e5m2(uint8_t code) noexcept;
// FP4 codes of 4 bits: round to nearest even, saturating at 6; NaN, which FP4 lacks, becomes 6.
uint8_t to_f4e2m1(double x) noexcept;
float from_f4e2m1(uint8_t code) noexcept;

}  // namespace ruda
