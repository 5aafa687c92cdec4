// src/store/mapped_file.hpp - a whole file mapped read-only into memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace ruda::store {

// The mapping lives as long as the object. Bytes of a file that another process shortens meanwhile raise
// SIGBUS when they are touched; check_unchanged() narrows that window before long reads.
class MappedFile {
 public:
  MappedFile() = default;
  // Fails with RUDA_E_NOT_FOUND (no such file) or RUDA_E_IO (everything else), errno as native code.
  explicit MappedFile(const char* path);
  MappedFile(MappedFile&& other) noexcept { swap(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    swap(other);
    return *this;
  }
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_t(size_)}; }
  const std::string& path() const { return path_; }
  // RUDA_E_IO when the file's size is no longer the one that was mapped.
  void check_unchanged() const;

 private:
  void swap(MappedFile& other) noexcept;

  std::string path_;
  int file_ = -1;
  const std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace ruda::store
