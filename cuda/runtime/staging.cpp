// cuda/runtime/staging.cpp - the process's pinned memory.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/staging.hpp"

#include "core/error.hpp"

namespace ruda::cuda {

PinnedMemory& PinnedMemory::get() {
  static PinnedMemory* instance = new PinnedMemory;
  return *instance;
}

std::byte* PinnedMemory::allocate(uint64_t bytes) {
  void* data = nullptr;
  const cudaError_t error = cudaHostAlloc(&data, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
  if (error == cudaErrorMemoryAllocation) {
    quiet(error);
    fail(RUDA_E_OOM_HOST, -1, "out of pinned host memory: %llu bytes asked for", (unsigned long long)bytes);
  }
  check_cuda(error, "pinned memory");
  return static_cast<std::byte*>(data);
}

PinnedChunk PinnedMemory::take(bool large) {
  std::unique_lock lock(mutex_);
  Kind& kind = large ? large_ : small_;
  const int limit = large ? 8 : 64;
  for (auto at = kind.free.begin(); at != kind.free.end(); ++at) {
    if (at->busy && not_ready(cudaEventQuery(at->busy.get()))) continue;
    PinnedChunk chunk = std::move(*at);
    kind.free.erase(at);
    return chunk;
  }
  if (kind.made >= limit && !kind.free.empty()) {
    PinnedChunk chunk = std::move(kind.free.front());
    kind.free.erase(kind.free.begin());
    lock.unlock();
    quiet(cudaEventSynchronize(chunk.busy.get()));
    return chunk;
  }
  ++kind.made;
  lock.unlock();
  PinnedChunk chunk;
  chunk.bytes = large ? large_bytes : small_bytes;
  try {
    chunk.data = allocate(chunk.bytes);
  } catch (...) {
    lock.lock();
    --kind.made;
    throw;
  }
  return chunk;
}

void PinnedMemory::give(PinnedChunk chunk, Mark last) noexcept {
  if (!chunk.data || forked_since(generation_)) return;
  chunk.busy = std::move(last);
  try {
    std::lock_guard lock(mutex_);
    Kind& kind = chunk.bytes == large_bytes ? large_ : small_;
    kind.free.push_back(std::move(chunk));
  } catch (...) {
    // Lost to the process: freeing would wait.
  }
}

std::shared_ptr<IndexWord> PinnedMemory::index_word() {
  IndexWord* word = nullptr;
  {
    std::lock_guard lock(mutex_);
    if (words_.empty()) {
      constexpr uint64_t page = 4096, stride = 64;
      std::byte* data = allocate(page);
      for (uint64_t at = 0; at < page; at += stride) words_.push_back(new (data + at) IndexWord{});
    }
    word = words_.back();
    words_.pop_back();
  }
  *word = {};
  return {word, [this](IndexWord* done) {
            if (forked_since(generation_)) return;
            std::lock_guard lock(mutex_);
            words_.push_back(done);  // never above what it held before
          }};
}

}  // namespace ruda::cuda
