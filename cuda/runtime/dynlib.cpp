// cuda/runtime/dynlib.cpp - where NVIDIA's libraries are looked for.
// SPDX-License-Identifier: Apache-2.0
//
// Order: RUDA_CUDA_ROOT, what the process has mapped already, the loader's own path, the folders of NVIDIA's
// Python wheels beside this library, /usr/local/cuda. Names carry the major version, so a library of another
// interface is never taken; a file that lacks a function is passed over.
#include "runtime/dynlib.hpp"

#include "core/error.hpp"
#include "core/fork.hpp"
#include "runtime/cublaslt.hpp"
#include "runtime/error.hpp"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string_view>
#include <vector>

namespace ruda::cuda {

#define RUDA_NAME(name, signature) "cublasLt" #name " "
extern constinit const LibrarySpec cublaslt_library{"cuBLASLt",           "libcublasLt.so.13",
                                                    "cu13 cublas",        "nvidia-cublas>=13.0,<14",
                                                    "cublasLtGetVersion", RUDA_CUBLASLT_FUNCTIONS(RUDA_NAME)};
#undef RUDA_NAME
extern constinit const LibrarySpec cudnn_library{"cuDNN", "libcudnn.so.9", "cudnn",
                                                 "nvidia-cudnn-cu13>=9.12,<10", "cudnnGetVersion"};
extern constinit const LibrarySpec cufft_library{"cuFFT", "libcufft.so.12", "cu13 cufft",
                                                 "nvidia-cufft>=12.0,<13", "cufftGetVersion"};
extern constinit const LibrarySpec cusparse_library{"cuSPARSE", "libcusparse.so.12", "cu13 cusparse",
                                                    "nvidia-cusparse>=12.6,<13", "cusparseGetProperty"};
extern constinit const LibrarySpec nccl_library{"NCCL", "libnccl.so.2", "nccl", "nvidia-nccl-cu13>=2.27,<3",
                                                "ncclGetVersion"};
extern constinit const LibrarySpec nvrtc_library{"NVRTC", "libnvrtc.so.13", "cu13 cuda_nvrtc",
                                                 "nvidia-cuda-nvrtc>=13.0,<14", "nvrtcVersion"};

namespace {

struct Opened {
  const LibrarySpec* spec;
  void* handle;
  std::string refused;
};

// What a search met: every place, and the files that were there but will not do, with the reason of each.
struct Trail {
  std::string tried, refused;
  void add(const std::string& place, const std::string& why) {
    const std::string text = why.empty() ? place : place + " (" + why + ")";
    tried += (tried.empty() ? "" : ", ") + text;
    if (!why.empty()) refused += (refused.empty() ? "" : ", ") + text;
  }
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

// What the loader said of a file that is there, such as another library that it needs.
std::string loader_reason(const std::string& file) {
  const char* why = dlerror();
  if (!why || (std::string_view(why).starts_with(file + ":") && std::strstr(why, "No such file"))) return "";
  return why;
}

// The handle when the file has all functions; else it is closed, so that its name does not answer for others.
void* try_file(const LibrarySpec& spec, const std::string& file, const std::string& place, Trail& trail,
               int more_flags = 0) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | more_flags);
  if (!handle) {
    const std::string why = loader_reason(file);
    if (!more_flags) trail.add(place, why);
    return nullptr;
  }
  for (const std::string& name : words((std::string(spec.version_symbol) + " " + spec.functions).c_str())) {
    if (dlsym(handle, name.c_str())) continue;
    static_cast<void>(dlerror());
    trail.add(place, "has no function " + name);
    dlclose(handle);
    return nullptr;
  }
  return handle;
}

void* look(const LibrarySpec& spec, Trail& trail) {
  const std::string file = std::string("/") + spec.soname;
  const auto folders = words(spec.folders);
  const auto at = [&](const std::string& folder) {
    return try_file(spec, folder + file, folder + file, trail);
  };
  if (const char* root = std::getenv("RUDA_CUDA_ROOT"); root && *root) {
    for (const char* below : {"/lib64", "/lib", ""})
      if (void* handle = at(std::string(root) + below)) return handle;
    for (const std::string& folder : folders)
      if (void* handle = at(std::string(root) + "/nvidia/" + folder + "/lib")) return handle;
  }
  if (void* handle = try_file(spec, spec.soname, "the one that the process has loaded", trail, RTLD_NOLOAD))
    return handle;
  if (void* handle = try_file(spec, spec.soname, "the loader's path", trail)) return handle;
  if (const std::string own = own_folder(); !own.empty())
    for (const char* up : {"/..", "/../.."})
      for (const std::string& folder : folders)
        if (void* handle = at(own + up + "/nvidia/" + folder + "/lib")) return handle;
  for (const char* folder : {"/usr/local/cuda/lib64", "/usr/local/cuda-13/lib64"})
    if (void* handle = at(folder)) return handle;
  return nullptr;
}

void* find(const LibrarySpec& spec, Trail& trail) {
  Table& t = *table;
  const auto known = [&]() -> const Opened* {
    for (const Opened& entry : t.list)
      if (entry.spec == &spec) return &entry;
    return nullptr;
  };
  {
    const std::lock_guard lock(t.mutex);
    if (const Opened* entry = known()) {
      trail.refused = entry->refused;
      return entry->handle;
    }
  }
  // Threads that come first together may all look: the loader gives each the same handle.
  void* handle = look(spec, trail);
  if (!handle) return nullptr;
  const std::lock_guard lock(t.mutex);
  if (!known()) t.list.push_back({&spec, handle, trail.refused});
  return handle;
}

std::string dotted(int number, int major_step, int minor_step) {
  return std::to_string(number / major_step) + "." + std::to_string(number % major_step / minor_step) + "." +
         std::to_string(number % minor_step);
}

std::string version_of(const LibrarySpec& spec, void* handle) {
  void* f = dlsym(handle, spec.version_symbol);
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
  Trail trail;
  if (void* handle = find(spec, trail)) return handle;
  fail(RUDA_E_BACKEND_MISSING, -1,
       "%s: %s was not found; tried %s; install it with: pip install \"%s\", or CUDA 13's packages; name its "
       "folder in RUDA_CUDA_ROOT or LD_LIBRARY_PATH, or in RUDA_CUDA_ROOT the site-packages that hold its "
       "wheel, which are found unnamed only when this library lies in them",
       spec.name, spec.soname, trail.tried.c_str(), spec.wheel);
}

void* library_function(const LibrarySpec& spec, void* handle, const char* name) {
  void* f = dlsym(handle, name);
  RUDA_CHECK(f, RUDA_E_BACKEND_MISSING, -1, "%s: %s has no function %s; install \"%s\"", spec.name,
             spec.soname, name, spec.wheel);
  return f;
}

void report_libraries(std::string& text) {
  for (const LibrarySpec* spec : {&cublaslt_library, &cudnn_library, &cufft_library, &cusparse_library,
                                  &nccl_library, &nvrtc_library}) {
    Trail trail;
    void* handle = find(*spec, trail);
    text += std::string("  ") + spec->name + ": ";
    if (!handle) {
      text += std::string(spec->soname) + " was not found; pip install \"" + spec->wheel + "\"; tried " +
              trail.tried + "\n";
      continue;
    }
    Dl_info info{};
    void* f = dlsym(handle, spec->version_symbol);
    const bool known = f && dladdr(f, &info) && info.dli_fname;
    text += version_of(*spec, handle) + ", " + (known ? info.dli_fname : spec->soname) +
            (trail.refused.empty() ? "" : "; passed over " + trail.refused) + "\n";
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
