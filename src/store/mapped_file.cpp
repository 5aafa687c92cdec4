// src/store/mapped_file.cpp - opens, checks and maps a regular file; errors carry errno.
// SPDX-License-Identifier: Apache-2.0
#include "store/mapped_file.hpp"

#include "core/error.hpp"
#include "core/text.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace ruda::store {
namespace {

[[noreturn]] void fail_errno(const char* what, const std::string& path, int code) {
  const ruda_status status = code == ENOENT || code == ENOTDIR ? RUDA_E_NOT_FOUND : RUDA_E_IO;
  char reason[128] = "";
  // The GNU form returns the text, which may not be in the buffer.
  const char* text = strerror_r(code, reason, sizeof reason);
  fail_native(status, "errno", code, "%s %s: %s (errno %d)", what, in_quotes(path).c_str(), text, code);
}

}  // namespace

MappedFile::MappedFile(const char* path) : path_(path) {
  // Without O_NONBLOCK opening a FIFO would wait for a writer.
  file_ = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file_ < 0) fail_errno("cannot open", path_, errno);
  struct stat status {};
  if (::fstat(file_, &status) != 0) {
    const int code = errno;
    ::close(file_);
    fail_errno("cannot inspect", path_, code);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(file_);
    if (S_ISDIR(status.st_mode)) fail_errno("cannot map", path_, EISDIR);
    fail_native(RUDA_E_IO, "errno", EINVAL, "cannot map %s: not a regular file (mode 0%o)",
                in_quotes(path_).c_str(), unsigned(status.st_mode));
  }
  size_ = uint64_t(status.st_size);
  if (size_ == 0) return;  // nothing to map; the reader of the format refuses an empty file
  void* data = ::mmap(nullptr, size_t(size_), PROT_READ, MAP_PRIVATE, file_, 0);
  if (data == MAP_FAILED) {
    const int code = errno;
    ::close(file_);
    if (code == ENOMEM)
      fail_native(RUDA_E_OOM_HOST, "errno", code, "cannot map %s: %llu bytes of address space refused",
                  in_quotes(path_).c_str(), static_cast<unsigned long long>(size_));
    fail_errno("cannot map", path_, code);
  }
  data_ = static_cast<const std::byte*>(data);
}

MappedFile::~MappedFile() {
  if (data_) ::munmap(const_cast<std::byte*>(data_), size_t(size_));
  if (file_ >= 0) ::close(file_);
}

void MappedFile::check_unchanged() const {
  if (file_ < 0) return;
  struct stat status {};
  if (::fstat(file_, &status) != 0) fail_errno("cannot inspect", path_, errno);
  if (uint64_t(status.st_size) != size_)
    fail(RUDA_E_IO, -1, "%s: file has %llu bytes now, had %llu when it was opened", in_quotes(path_).c_str(),
         static_cast<unsigned long long>(status.st_size), static_cast<unsigned long long>(size_));
}

void MappedFile::swap(MappedFile& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(file_, other.file_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
}

}  // namespace ruda::store
