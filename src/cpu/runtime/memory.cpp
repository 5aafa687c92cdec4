// src/cpu/runtime/memory.cpp - aligned host memory, with huge pages asked for where they can help.
// SPDX-License-Identifier: Apache-2.0
#include "cpu/runtime/memory.hpp"

#include <cstdint>
#include <cstdlib>
#include <new>

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace ruda::cpu {
namespace {

constexpr size_t huge_page = size_t{2} << 20;

}  // namespace

void* host_allocate(size_t bytes) {
  const size_t alignment = bytes >= huge_page ? huge_page : host_alignment;
  if (bytes > SIZE_MAX / 2) throw std::bad_alloc();
  const size_t rounded =
      bytes ? (bytes + host_alignment - 1) / host_alignment * host_alignment : host_alignment;
  void* block = nullptr;
  if (posix_memalign(&block, alignment, rounded) != 0) throw std::bad_alloc();
#if defined(__linux__) && defined(MADV_HUGEPAGE)
  // Only a hint: a system without huge pages refuses, and small pages serve as well.
  if (alignment == huge_page) (void)madvise(block, rounded / huge_page * huge_page, MADV_HUGEPAGE);
#endif
  return block;
}

void host_free(void* block) noexcept { std::free(block); }

}  // namespace ruda::cpu
