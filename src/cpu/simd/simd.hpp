// src/cpu/simd/simd.hpp - the whole SIMD layer: vectors, conversions, mathematics.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "cpu/simd/vec.hpp"
#include "cpu/simd/convert.hpp"
#include "cpu/simd/math.hpp"
