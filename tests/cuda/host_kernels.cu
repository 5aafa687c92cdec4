// tests/cuda/host_kernels.cu - empty kernels with the arguments of the library's, and calls of CUDA's own.
// SPDX-License-Identifier: Apache-2.0
#include "cuda/host_kernels.hpp"

#include <cuda_runtime.h>

#include <cstdint>

namespace ruda::test {
namespace {

struct Function {};
struct Rows {
  int64_t fields[19];  // as large as the rows of cuda/norm
};

__global__ void add_nothing(int64_t, float*, Function, const float*, const float*) {}
__global__ void norm_nothing(const float*, const float*, float*, const __grid_constant__ Rows,
                             const __grid_constant__ Rows, float) {}

const char* text(cudaError_t error) { return error == cudaSuccess ? nullptr : cudaGetErrorString(error); }

}  // namespace

void* new_stream() {
  cudaStream_t stream = nullptr;
  return cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess ? stream : nullptr;
}

void end_stream(void* stream) { cudaStreamDestroy(static_cast<cudaStream_t>(stream)); }

namespace {

// Makes a device the thread's while it lives.
struct Current {
  explicit Current(int device) {
    cudaGetDevice(&before);
    cudaSetDevice(device);
  }
  ~Current() { cudaSetDevice(before); }
  int before = 0;
};

bool set_access(int from, int to, bool on) {
  const Current current(from);
  int can = 0;
  if (cudaDeviceCanAccessPeer(&can, from, to) != cudaSuccess || !can) return false;
  const cudaError_t error = on ? cudaDeviceEnablePeerAccess(to, 0) : cudaDeviceDisablePeerAccess(to);
  cudaGetLastError();
  return error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled ||
         error == cudaErrorPeerAccessNotEnabled;
}

}  // namespace

void* new_memory(int device, unsigned long long bytes) {
  const Current current(device);
  void* data = nullptr;
  return cudaMalloc(&data, bytes) == cudaSuccess ? data : nullptr;
}

void end_memory(int device, void* data) {
  const Current current(device);
  cudaFree(data);
}

bool set_peer_access(int a, int b, bool on) { return set_access(a, b, on) && set_access(b, a, on); }

int current_device() {
  int device = -1;
  cudaGetDevice(&device);
  return device;
}

const char* bare_add(void* stream, const void* a, const void* b, void* y) {
  add_nothing<<<2, 256, 0, static_cast<cudaStream_t>(stream)>>>(
      1536, static_cast<float*>(y), Function{}, static_cast<const float*>(a), static_cast<const float*>(b));
  return text(cudaPeekAtLastError());
}

const char* bare_rms_norm(void* stream, const void* x, const void* gamma, void* y) {
  static Rows rows{};
  float eps = 1e-5f;
  void* arguments[] = {&x, &gamma, &y, &rows, &rows, &eps};
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = 4;
  config.blockDim = 128;
  config.stream = static_cast<cudaStream_t>(stream);
  config.attrs = &attribute;
  config.numAttrs = 1;
  return text(cudaLaunchKernelExC(&config, reinterpret_cast<const void*>(norm_nothing), arguments));
}

}  // namespace ruda::test
