// tests/fuzz/gguf.cpp - opens random bytes as a GGUF file and reads everything that the tables promise.
// SPDX-License-Identifier: Apache-2.0
#include <ruda/store.h>

#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

// Every byte is read, so that a sanitizer sees a span that leaves the file.
void touch(const void* data, uint64_t bytes) {
  unsigned sum = 0;
  for (uint64_t i = 0; i < bytes; ++i) sum += static_cast<const unsigned char*>(data)[i];
  volatile unsigned sink = sum;
  (void)sink;
}

void read_tensors(ruda_store store, uint64_t file_bytes) {
  uint64_t count = 0;
  if (ruda_store_count(store, &count)) std::abort();
  for (uint64_t i = 0; i < count; ++i) {
    ruda_store_info info = RUDA_STORE_INFO_INIT;
    const void* data = nullptr;
    uint64_t bytes = 0, found = 0;
    if (ruda_store_get_info(store, i, &info) || ruda_store_data(store, i, &data, &bytes)) std::abort();
    if (bytes != info.bytes || info.offset_bytes > file_bytes || bytes > file_bytes - info.offset_bytes)
      std::abort();
    if (ruda_store_find(store, info.name, &found) || found != i) std::abort();
    touch(info.shape, info.rank * sizeof(int64_t));
    touch(data, bytes);
  }
}

void read_meta(ruda_store store) {
  uint64_t count = 0;
  if (ruda_store_meta_count(store, &count)) std::abort();
  for (uint64_t i = 0; i < count; ++i) {
    ruda_meta_info info = RUDA_META_INFO_INIT;
    uint64_t found = 0;
    if (ruda_store_meta_get_info(store, i, &info)) std::abort();
    if (ruda_store_meta_find(store, info.key, &found) || found != i) std::abort();
    for (uint64_t k = 0; k < info.count && k < 64; ++k) {
      if (info.dtype == RUDA_META_STRING) {
        const char* data = nullptr;
        uint64_t bytes = 0;
        if (ruda_store_meta_string(store, i, info.count - 1 - k, &data, &bytes)) std::abort();
        touch(data, bytes);
      } else {
        double value;
        int64_t integer;
        if (ruda_store_meta_f64(store, i, k, &value)) std::abort();
        ruda_store_meta_i64(store, i, k, &integer);
      }
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint8_t> file(data, data + size);
  // Most random bytes are not even a header: unless they begin like one, give them one with small counts.
  if (size >= 2 && data[0] != 'G') {
    const uint8_t header[24] = {
        'G', 'G', 'U', 'F', uint8_t(2 + data[0] % 2), 0, 0, 0, uint8_t(data[0] / 2 % 4), 0, 0, 0,
        0,   0,   0,   0,   uint8_t(data[1] % 8)};
    file.erase(file.begin(), file.begin() + 2);
    file.insert(file.begin(), header, header + sizeof header);
  }
  file.shrink_to_fit();
  ruda_store store = nullptr;
  const ruda_status status =
      ruda_store_open_memory(file.data(), file.size(), nullptr, nullptr, nullptr, &store);
  if ((status == RUDA_OK) != (store != nullptr) || status == RUDA_E_INTERNAL) std::abort();
  if (!store) return 0;
  read_tensors(store, file.size());
  read_meta(store);
  ruda_release(store);
  return 0;
}
