// cuda/runtime/dynlib.hpp - NVIDIA's libraries, opened by exact name when a plan first needs them.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

namespace ruda::cuda {

struct LibrarySpec {
  const char* name;     // "cuBLASLt"
  const char* soname;   // "libcublasLt.so.13"
  const char* folders;  // below nvidia/ of the Python wheels, separated by spaces, first match wins
  const char* wheel;    // what pip is asked for: the package that holds it, with the versions that will do
  const char* version_symbol;  // a file without it is not taken
  const char* functions = "";  // nor one without these, separated by spaces
};

extern const LibrarySpec cublaslt_library, cudnn_library, cufft_library, cusparse_library, nccl_library,
    nvrtc_library;

// The library's handle, loaded once a process. A file that lacks one of the functions is passed over. Throws
// RUDA_E_BACKEND_MISSING with the file, the places tried, why what was there will not do, and how to get it;
// a later call looks again.
void* open_library(const LibrarySpec& spec);
// Throws RUDA_E_BACKEND_MISSING when the library lacks the function.
void* library_function(const LibrarySpec& spec, void* handle, const char* name);
// One line a library: path and version, or where it was looked for. What is found stays loaded: unloading is
// nothing that NVIDIA's libraries promise to survive.
void report_libraries(std::string& text);

// A function of the driver, which is never linked; throws RUDA_E_BACKEND_MISSING when the driver lacks it.
void* driver_function(const char* name, unsigned cuda_version);

}  // namespace ruda::cuda
