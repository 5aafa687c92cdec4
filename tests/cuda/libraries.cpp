// tests/cuda/libraries.cpp - where NVIDIA's libraries are looked for, and what is said when there is none.
// SPDX-License-Identifier: Apache-2.0
#include "runtime/dynlib.hpp"
#include "support/runner.hpp"

#include "core/error.hpp"

#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <unistd.h>

using namespace ruda::test;
using namespace ruda::cuda;

namespace {

// A folder of this process, named by RUDA_CUDA_ROOT while it lives.
struct Root {
  Root() : path(std::filesystem::temp_directory_path() / ("ruda-libraries-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path);
    setenv("RUDA_CUDA_ROOT", path.c_str(), 1);
  }
  ~Root() {
    unsetenv("RUDA_CUDA_ROOT");
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  std::string put(const std::string& folder, const std::string& name,
                  const char* variable = "RUDA_FAKE_LIBRARY") {
    const auto to = path / folder / name;
    const char* from = std::getenv(variable);
    if (!from) throw Skip(std::string(variable) + " does not name the library that the build makes");
    std::filesystem::create_directories(to.parent_path());
    std::filesystem::copy_file(from, to);
    return to.string();
  }
  std::filesystem::path path;
};

std::string report() {
  std::string text;
  report_libraries(text);
  return text;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string failure(const LibrarySpec& spec) {
  try {
    open_library(spec);
  } catch (const ruda::Error& error) {
    CHECK(error.status == RUDA_E_BACKEND_MISSING, "status %d", error.status);
    return error.text;
  }
  return "";
}

}  // namespace

// Every layout that NVIDIA's packages use; a library that was not there is looked for again.
RUDA_TEST(places_of_libraries) {
  static_cast<void>(env);
  const LibrarySpec absent{"cuThing", "libcuthing.so.7", "cu13 thing", "nvidia-cuthing>=7,<8",
                           "ncclGetVersion"};
  Root root;
  const std::string text = failure(absent);
  for (const char* part :
       {"cuThing: libcuthing.so.7 was not found", "/lib64/libcuthing.so.7",
        "/nvidia/cu13/lib/libcuthing.so.7", "/nvidia/thing/lib/libcuthing.so.7", "the loader's path",
        "/usr/local/cuda/lib64/libcuthing.so.7", "pip install \"nvidia-cuthing>=7,<8\"",
        "RUDA_CUDA_ROOT or LD_LIBRARY_PATH", "in RUDA_CUDA_ROOT the site-packages"})
    CHECK(has(text, part), "\"%s\" is not in: %s", part, text.c_str());
  const std::string thing = root.put("nvidia/thing/lib", "libcuthing.so.7");
  void* handle = open_library(absent);
  CHECK(handle && open_library(absent) == handle, "opened twice");
  try {
    library_function(absent, handle, "cuthingRun");
    CHECK(false, "a missing function was found");
  } catch (const ruda::Error& error) {
    CHECK(error.status == RUDA_E_BACKEND_MISSING && has(error.text, "has no function cuthingRun"), "%s",
          error.text.c_str());
  }

  // A file that is no library says so.
  const LibrarySpec broken{"cuBroken", "libcubroken.so.1", "cu13", "nvidia-cubroken", "x"};
  std::filesystem::create_directories(root.path / "lib64");
  std::FILE* file = std::fopen((root.path / "lib64" / "libcubroken.so.1").c_str(), "w");
  std::fputs("not a library", file);
  std::fclose(file);
  CHECK(has(failure(broken), "libcubroken.so.1 ("), "%s", failure(broken).c_str());
}

// A library whose own needs are not met is told apart from one that is absent.
RUDA_TEST(library_that_needs_another) {
  static_cast<void>(env);
  const LibrarySpec needy{"cuNeedy", "libcuneedy.so.3", "cu13", "nvidia-cuneedy", "cuneedyVersion"};
  Root root;
  const std::string path = root.put("nvidia/cu13/lib", "libcuneedy.so.3", "RUDA_NEEDY_LIBRARY");
  const std::string text = failure(needy);
  CHECK(has(text, path + " (libneeded_nvidia.so.9: cannot open"), "%s", text.c_str());
  CHECK(!has(text, "the loader's path ("), "%s", text.c_str());
}

// A file without one of the functions is passed over and told of; the search goes on behind it.
RUDA_TEST(library_without_a_function) {
  static_cast<void>(env);
  static const LibrarySpec spare{
      "cuSpare", "libcuspare.so.2", "cu13", "nvidia-cuspare>=2,<3", "cublasLtGetVersion", "cublasLtMatmul"};
  Root root;
  const std::string poor = root.put("lib64", "libcuspare.so.2", "RUDA_POOR_LIBRARY");
  const std::string text = failure(spare);
  CHECK(has(text, poor + " (has no function cublasLtMatmul), "), "%s", text.c_str());
  const std::string good = root.put("nvidia/cu13/lib", "libcuspare.so.2");
  void* f = library_function(spare, open_library(spare), "cublasLtMatmul");
  Dl_info info{};
  CHECK(dladdr(f, &info) && info.dli_fname == good, "%s was taken", info.dli_fname);
  CHECK(!dlopen(poor.c_str(), RTLD_NOW | RTLD_NOLOAD), "%s stays loaded", poor.c_str());
}

RUDA_TEST(report_of_libraries) {
  static_cast<void>(env);
  Root root;
  const std::string paths[] = {
      root.put("nvidia/cu13/lib", "libcublasLt.so.13"), root.put("nvidia/cudnn/lib", "libcudnn.so.9"),
      root.put("nvidia/cu13/lib", "libcufft.so.12"),    root.put("nvidia/cusparse/lib", "libcusparse.so.12"),
      root.put("nvidia/nccl/lib", "libnccl.so.2"),      root.put("lib", "libnvrtc.so.13")};
  const std::string poor = root.put("lib64", "libcublasLt.so.13", "RUDA_POOR_LIBRARY");
  const std::string text = report();
  const char* versions[] = {"cuBLASLt: 13.0.1, ", "cuDNN: 9.19.0, ", "cuFFT: 12.0.3, ",
                            "cuSPARSE: 12.4.5, ", "NCCL: 2.29.3, ",  "NVRTC: 13.0, "};
  for (int i = 0; i < 6; ++i)
    CHECK(has(text, versions[i] + paths[i]), "%s%s is not in:\n%s", versions[i], paths[i].c_str(),
          text.c_str());
  const std::string passed = paths[0] + "; passed over " + poor + " (has no function cublasLtCreate)\n";
  CHECK(has(text, passed), "%s is not in:\n%s", passed.c_str(), text.c_str());
}
