// cuda/runtime/backend.cpp - finds CUDA devices through the static runtime, opens them, says why there is
// none.
// SPDX-License-Identifier: Apache-2.0
#include "core/error.hpp"
#include "runtime/device.hpp"
#include "runtime/dynlib.hpp"
#include "runtime/error.hpp"

namespace ruda::cuda {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

int probe(std::string& why) {
  int count = 0, driver = 0, runtime = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return count;
  quiet(error);
  quiet(cudaDriverGetVersion(&driver));
  quiet(cudaRuntimeGetVersion(&runtime));
  if (error == cudaSuccess || error == cudaErrorNoDevice)
    why = "the driver sees no device; check nvidia-smi and CUDA_VISIBLE_DEVICES";
  else if (driver == 0)
    why = "no driver (libcuda.so.1) was found; install NVIDIA's driver 580 or newer";
  else if (driver < runtime / 1000 * 1000)
    why = "the driver is made for CUDA " + version_text(driver) + ", this library needs " +
          version_text(runtime / 1000 * 1000) + " or newer; install NVIDIA's driver 580 or newer";
  else
    why = std::string(cudaGetErrorName(error)) + ": " + cudaGetErrorString(error);
  return 0;
}

std::unique_ptr<Device> open(const ruda_context_desc& desc) {
  std::string why;
  const int count = probe(why);
  RUDA_CHECK(count > 0, RUDA_E_BACKEND_MISSING, 0, "backend CUDA: %s", why.c_str());
  RUDA_CHECK(desc.device >= 0 && desc.device < count, RUDA_E_ARGUMENT, 0,
             "desc.device is %d, this machine has %d, expected 0..%d", desc.device, count, count - 1);
  int before = -1;
  if (cudaGetDevice(&before) != cudaSuccess) before = -1;
  struct Restore {
    int device;
    ~Restore() {
      if (device >= 0) quiet(cudaSetDevice(device));
    }
  } const restore{before};
  return std::make_unique<CudaDevice>(desc.device, desc);
}

void report(std::string& text) {
  std::string why;
  const int count = probe(why);
  if (!count) {
    text += "CUDA: " + why + "\n";
    report_libraries(text);
    return;
  }
  int driver = 0, runtime = 0;
  quiet(cudaDriverGetVersion(&driver));
  quiet(cudaRuntimeGetVersion(&runtime));
  text += "CUDA: driver " + version_text(driver) + ", runtime " + version_text(runtime) +
          " (built in), code for " + RUDA_GPU_ARCH + "\n";
  for (int i = 0; i < count; ++i) {
    cudaDeviceProp p{};
    if (const cudaError_t error = cudaGetDeviceProperties(&p, i); error != cudaSuccess) {
      quiet(error);
      text += "  device " + std::to_string(i) + ": " + cudaGetErrorString(error) + "\n";
      continue;
    }
    text += "  device " + std::to_string(i) + ": " + p.name + ", sm_" +
            std::to_string(p.major * 10 + p.minor) + ", " + std::to_string(p.multiProcessorCount) +
            " multiprocessors, " + std::to_string(p.totalGlobalMem >> 20) + " MiB\n";
  }
  report_libraries(text);
}

}  // namespace

extern const Backend backend{RUDA_BACKEND_CUDA, "CUDA", probe, open, report};

}  // namespace ruda::cuda
