// src/cpu/runtime/isa.hpp - instruction set levels, which of them this process uses, choice of a table.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ruda::cpu {

// Ordered: a level includes all before it. avx2 = AVX2, FMA, F16C, BMI2; avx512 = F, BW, DQ, VL, CD;
// avx512bf16 = avx512, VNNI, BF16; amx = avx512bf16, AMX tiles with bf16 and int8, and the kernel's
// permission to use the tile registers.
#if defined(__aarch64__)
enum class Isa { scalar, neon };
#else
enum class Isa { scalar, sse4, avx2, avx512, avx512bf16, amx };
#endif

// What the processor and the operating system offer, whatever the environment says.
Isa hardware_isa() noexcept;

// hardware_isa() capped by the environment variable RUDA_CPU_ISA. An unknown name, or a level that the
// processor lacks, is RUDA_E_ARGUMENT. A context calls this when it is created, so that a wrong setting is
// reported and not ignored.
Isa detect();

// The level of this process, found once. A wrong RUDA_CPU_ISA, which detect() reports, counts as not set.
Isa isa() noexcept;

const char* isa_name(Isa level) noexcept;

// One kernel table of a family at one level; a list of them goes from the best level down to scalar.
template <class Table>
struct IsaTable {
  Isa level;
  const Table* table;
};

// The best table that `level` allows; the last entry must be scalar.
template <class Table, int count>
const Table& pick(const IsaTable<Table> (&list)[count], Isa level = isa()) noexcept {
  for (const IsaTable<Table>& entry : list)
    if (entry.level <= level) return *entry.table;
  return *list[count - 1].table;
}

}  // namespace ruda::cpu

// For a file <stem>_isa.cpp, which is compiled once a level. The plain header of the family says, in
// namespace ruda::cpu,
//   RUDA_ISA_TABLE(NormTable, norm_table)      declares ruda::cpu::<level>::norm_table for each level
// and the dispatching file says
//   const NormTable& table = RUDA_ISA_PICK(NormTable, norm_table);
#if defined(__aarch64__)
#define RUDA_ISA_TABLE(Type, name) \
  namespace neon {                 \
  extern const Type name;          \
  }                                \
  namespace scalar {               \
  extern const Type name;          \
  }
#define RUDA_ISA_LIST(Type, name) \
  {::ruda::cpu::Isa::neon, &::ruda::cpu::neon::name}, { ::ruda::cpu::Isa::scalar, &::ruda::cpu::scalar::name }
#elif defined(__x86_64__) && defined(RUDA_CPU_FEW_LEVELS)  // sanitized builds
#define RUDA_ISA_TABLE(Type, name) \
  namespace avx2 {                 \
  extern const Type name;          \
  }                                \
  namespace scalar {               \
  extern const Type name;          \
  }
#define RUDA_ISA_LIST(Type, name) \
  {::ruda::cpu::Isa::avx2, &::ruda::cpu::avx2::name}, { ::ruda::cpu::Isa::scalar, &::ruda::cpu::scalar::name }
#elif defined(__x86_64__)
#define RUDA_ISA_TABLE(Type, name) \
  namespace avx512 {               \
  extern const Type name;          \
  }                                \
  namespace avx2 {                 \
  extern const Type name;          \
  }                                \
  namespace sse4 {                 \
  extern const Type name;          \
  }                                \
  namespace scalar {               \
  extern const Type name;          \
  }
#define RUDA_ISA_LIST(Type, name)                           \
  {::ruda::cpu::Isa::avx512, &::ruda::cpu::avx512::name},   \
      {::ruda::cpu::Isa::avx2, &::ruda::cpu::avx2::name},   \
      {::ruda::cpu::Isa::sse4, &::ruda::cpu::sse4::name}, { \
    ::ruda::cpu::Isa::scalar, &::ruda::cpu::scalar::name    \
  }
#else
#define RUDA_ISA_TABLE(Type, name) \
  namespace scalar {               \
  extern const Type name;          \
  }
#define RUDA_ISA_LIST(Type, name) \
  { ::ruda::cpu::Isa::scalar, &::ruda::cpu::scalar::name }
#endif

#define RUDA_ISA_PICK(Type, name)                                                           \
  ([]() noexcept -> const Type& {                                                           \
    static constexpr ::ruda::cpu::IsaTable<Type> ruda_list[] = {RUDA_ISA_LIST(Type, name)}; \
    return ::ruda::cpu::pick(ruda_list);                                                    \
  }())
