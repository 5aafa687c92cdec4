// cuda/runtime/dynlib.cpp - where NVIDIA's libraries are looked for.
// SPDX-License-Identifier: Apache-2.0
//
// Order: RUDA_CUDA_ROOT, what the process has mapped already, the loader's own path, the folders of NVIDIA's
// Python wheels beside this library, /usr/local/cuda. Names carry the major version, so a library of another
// interface is never taken.
#include "runtime/dynlib.hpp"

#include "core/error.hpp"
#include "core/fork.hpp"
#include "runtime/error.hpp"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string_view>
#include <vector>

namespace ruda::cuda {

extern constinit const LibrarySpec cublaslt_library{"cuBLASLt", "libcublasLt.so.13", "cu13 cublas",
                                                    "nvidia-cublas", "cublasLtGetVersion"};
extern constinit const LibrarySpec cudnn_library{"cuDNN", "libcudnn.so.9", "cudnn", "nvidia-cudnn-cu13",
                                                 "cudnnGetVersion"};
extern constinit const LibrarySpec cufft_library{"cuFFT", "libcufft.so.12", "cu13 cufft", "nvidia-cufft",
                                                 "cufftGetVersion"};
extern constinit const LibrarySpec cusparse_library{"cuSPARSE", "libcusparse.so.12", "cu13 cusparse",
                                                    "nvidia-cusparse", "cusparseGetProperty"};
extern constinit const LibrarySpec nccl_library{"NCCL", "libnccl.so.2", "nccl", "nvidia-nccl-cu13",
                                                "ncclGetVersion"};
extern constinit const LibrarySpec nvrtc_library{"NVRTC", "libnvrtc.so.13", "cu13 cuda_nvrtc",
                                                 "nvidia-cuda-nvrtc", "nvrtcVersion"};

namespace {

struct Opened {
  const LibrarySpec* spec;
  void* handle;
};

struct Table {
  Mutex mutex;
  std::vector<Opened> list;
};

// Libraries stay open until the process ends.
Lasting<Table> table;

std::string own_folder() {
  Dl_info info{};
  if (!dladdr(static_cast<const void*>(&table), &info) || !info.dli_fname) return {};
  const char* slash = std::strrchr(info.dli_fname, '/');
  return slash ? std::string(info.dli_fname, slash) : ".";
}

std::vector<std::string> words(const char* text) {
  std::vector<std::string> list;
  for (const char* at = text; *at;) {
    const char* end = std::strchr(at, ' ');
    if (!end) end = at + std::strlen(at);
    list.emplace_back(at, end);
    at = *end ? end + 1 : end;
  }
  return list;
}

// What the loader said of a file that is there: " (reason)", such as another library that it needs.
std::string reason(const std::string& file) {
  const char* why = dlerror();
  if (!why || (std::string_view(why).starts_with(file + ":") && std::strstr(why, "No such file"))) return "";
  return std::string(" (") + why + ")";
}

void* try_file(const std::string& path, std::string& tried) {
  if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  tried += (tried.empty() ? "" : ", ") + path + reason(path);
  return nullptr;
}

void* look(const LibrarySpec& spec, std::string& tried) {
  const std::string file = std::string("/") + spec.soname;
  const auto folders = words(spec.folders);
  if (const char* root = std::getenv("RUDA_CUDA_ROOT"); root && *root) {
    for (const char* below : {"/lib64", "/lib", ""})
      if (void* handle = try_file(std::string(root) + below + file, tried)) return handle;
    for (const std::string& folder : folders)
      if (void* handle = try_file(std::string(root) + "/nvidia/" + folder + "/lib" + file, tried))
        return handle;
  }
  if (void* handle = dlopen(spec.soname, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD)) return handle;
  static_cast<void>(dlerror());
  if (void* handle = dlopen(spec.soname, RTLD_NOW | RTLD_LOCAL)) return handle;
  tried += (tried.empty() ? "" : ", ") + std::string("the loader's path") + reason(spec.soname);
  if (const std::string own = own_folder(); !own.empty())
    for (const char* up : {"/..", "/../.."})
      for (const std::string& folder : folders)
        if (void* handle = try_file(own + up + "/nvidia/" + folder + "/lib" + file, tried)) return handle;
  for (const char* folder : {"/usr/local/cuda/lib64", "/usr/local/cuda-13/lib64"})
    if (void* handle = try_file(folder + file, tried)) return handle;
  return nullptr;
}

void* find(const LibrarySpec& spec, std::string& tried) {
  Table& t = *table;
  const auto known = [&]() -> void* {
    for (const Opened& entry : t.list)
      if (entry.spec == &spec) return entry.handle;
    return nullptr;
  };
  {
    const std::lock_guard lock(t.mutex);
    if (void* handle = known()) return handle;
  }
  // Threads that come first together may all look: the loader gives each the same handle.
  void* handle = look(spec, tried);
  if (!handle) return nullptr;
  const std::lock_guard lock(t.mutex);
  if (!known()) t.list.push_back({&spec, handle});
  return handle;
}

std::string dotted(int number, int major_step, int minor_step) {
  return std::to_string(number / major_step) + "." + std::to_string(number % major_step / minor_step) + "." +
         std::to_string(number % minor_step);
}

std::string version_of(const LibrarySpec& spec, void* handle) {
  void* f = dlsym(handle, spec.version_symbol);
  if (!f) return "version unknown";
  if (&spec == &cublaslt_library) return dotted(int(reinterpret_cast<size_t (*)()>(f)()), 10000, 100);
  if (&spec == &cudnn_library) return dotted(int(reinterpret_cast<size_t (*)()>(f)()), 10000, 100);
  int a = 0, b = 0, c = 0;
  if (&spec == &cusparse_library) {
    const auto property = reinterpret_cast<int (*)(int, int*)>(f);
    property(0, &a), property(1, &b), property(2, &c);
    return std::to_string(a) + "." + std::to_string(b) + "." + std::to_string(c);
  }
  if (&spec == &nvrtc_library) {
    reinterpret_cast<int (*)(int*, int*)>(f)(&a, &b);
    return std::to_string(a) + "." + std::to_string(b);
  }
  reinterpret_cast<int (*)(int*)>(f)(&a);
  return &spec == &nccl_library ? dotted(a, 10000, 100) : dotted(a, 1000, 100);
}

}  // namespace

void* open_library(const LibrarySpec& spec) {
  std::string tried;
  if (void* handle = find(spec, tried)) return handle;
  fail(RUDA_E_BACKEND_MISSING, -1,
       "%s: %s was not found; tried %s; install it with \"pip install %s\" or CUDA 13's packages, or name "
       "its folder "
       "in RUDA_CUDA_ROOT or LD_LIBRARY_PATH",
       spec.name, spec.soname, tried.c_str(), spec.wheel);
}

void* library_function(const LibrarySpec& spec, void* handle, const char* name) {
  void* f = dlsym(handle, name);
  RUDA_CHECK(f, RUDA_E_BACKEND_MISSING, -1, "%s: %s has no function %s; install a newer %s", spec.name,
             spec.soname, name, spec.wheel);
  return f;
}

void report_libraries(std::string& text) {
  for (const LibrarySpec* spec : {&cublaslt_library, &cudnn_library, &cufft_library, &cusparse_library,
                                  &nccl_library, &nvrtc_library}) {
    std::string tried;
    void* handle = find(*spec, tried);
    text += std::string("  ") + spec->name + ": ";
    if (!handle) {
      text += std::string(spec->soname) + " was not found; pip install " + spec->wheel + "; tried " + tried +
              "\n";
      continue;
    }
    Dl_info info{};
    void* f = dlsym(handle, spec->version_symbol);
    const bool known = f && dladdr(f, &info) && info.dli_fname;
    text += version_of(*spec, handle) + ", " + (known ? info.dli_fname : spec->soname) + "\n";
  }
}

void* driver_function(const char* name, unsigned cuda_version) {
  void* f = nullptr;
  cudaDriverEntryPointQueryResult found{};
  check_cuda(cudaGetDriverEntryPointByVersion(name, &f, cuda_version, cudaEnableDefault, &found), name);
  RUDA_CHECK(f && found == cudaDriverEntryPointSuccess, RUDA_E_BACKEND_MISSING, -1,
             "driver: has no function %s of CUDA %u.%u; install NVIDIA's driver 580 or newer", name,
             cuda_version / 1000, cuda_version % 1000 / 10);
  return f;
}

}  // namespace ruda::cuda
