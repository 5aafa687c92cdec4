// src/core/dtype.cpp - the table of element types and ruda_dtype_get_info.
// SPDX-License-Identifier: Apache-2.0
#include "core/dtype.hpp"

#include "core/error.hpp"

#include <cstdio>
#include <cstring>

namespace ruda {
namespace {

using enum DtypeClass;

constexpr DtypeInfo table[] = {
    {RUDA_F64, "F64", real, true, 1, 8},        {RUDA_F32, "F32", real, true, 1, 4},
    {RUDA_F16, "F16", real, true, 1, 2},        {RUDA_BF16, "BF16", real, true, 1, 2},
    {RUDA_F8E4M3, "F8E4M3", real, true, 1, 1},  {RUDA_F8E5M2, "F8E5M2", real, true, 1, 1},
    {RUDA_F4E2M1, "F4E2M1", real, true, 2, 1},  {RUDA_I8, "I8", integer, true, 1, 1},
    {RUDA_U8, "U8", integer, false, 1, 1},      {RUDA_I16, "I16", integer, true, 1, 2},
    {RUDA_U16, "U16", integer, false, 1, 2},    {RUDA_I32, "I32", integer, true, 1, 4},
    {RUDA_U32, "U32", integer, false, 1, 4},    {RUDA_I64, "I64", integer, true, 1, 8},
    {RUDA_U64, "U64", integer, false, 1, 8},    {RUDA_BOOL, "BOOL", boolean, false, 1, 1},
    {RUDA_Q4_0, "Q4_0", block, true, 32, 18},   {RUDA_Q4_1, "Q4_1", block, true, 32, 20},
    {RUDA_Q5_0, "Q5_0", block, true, 32, 22},   {RUDA_Q5_1, "Q5_1", block, true, 32, 24},
    {RUDA_Q8_0, "Q8_0", block, true, 32, 34},   {RUDA_Q2_K, "Q2_K", block, true, 256, 84},
    {RUDA_Q3_K, "Q3_K", block, true, 256, 110}, {RUDA_Q4_K, "Q4_K", block, true, 256, 144},
    {RUDA_Q5_K, "Q5_K", block, true, 256, 176}, {RUDA_Q6_K, "Q6_K", block, true, 256, 210},
};

}  // namespace

const DtypeInfo* find_dtype(uint32_t code) noexcept {
  if (code >= RUDA_F64 && code <= RUDA_BOOL) return &table[code - RUDA_F64];
  for (const DtypeInfo& info : table)
    if (info.code == code) return &info;
  return nullptr;
}

const DtypeInfo& dtype_info(uint32_t code) noexcept { return *find_dtype(code); }

const char* dtype_name(uint32_t code) noexcept {
  if (const DtypeInfo* info = find_dtype(code)) return info->name;
  thread_local char text[24];
  std::snprintf(text, sizeof text, "%u", code);
  return text;
}

}  // namespace ruda

extern "C" ruda_status ruda_dtype_get_info(uint32_t dtype, ruda_dtype_info* inout) noexcept {
  using namespace ruda;
  return guard(__func__, [&] {
    RUDA_CHECK(inout, RUDA_E_NULL, 1, "inout is NULL");
    RUDA_CHECK(inout->struct_size >= 8 && inout->struct_size % 8 == 0, RUDA_E_ARGUMENT, 1,
               "inout.struct_size is %u, expected sizeof, which is %zu in this library", inout->struct_size,
               sizeof(ruda_dtype_info));
    const DtypeInfo* found = find_dtype(dtype);
    RUDA_CHECK(found, RUDA_E_DTYPE, 0, "dtype is %u, which is no known code", dtype);
    ruda_dtype_info info{};
    info.struct_size = inout->struct_size;
    info.bits = found->type_class == DtypeClass::block ? 0 : found->block_bytes * 8 / found->block_elements;
    info.block_elements = found->block_elements;
    info.block_bytes = found->block_bytes;
    info.name = found->name;
    std::memcpy(inout, &info, info.struct_size < sizeof info ? info.struct_size : sizeof info);
  });
}
