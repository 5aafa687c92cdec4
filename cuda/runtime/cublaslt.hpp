// cuda/runtime/cublaslt.hpp - the part of cuBLASLt that is used, declared here so that no header of it is
// needed.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "runtime/device.hpp"

#include <library_types.h>

namespace ruda::cuda::lt {

// Names and numbers follow NVIDIA's documented interface of version 13.
using Status = int;
struct Context;
struct DescOpaque {
  uint64_t data[32];
};
struct LayoutOpaque {
  uint64_t data[8];
};
struct PreferenceOpaque {
  uint64_t data[8];
};
struct Algo {
  uint64_t data[8];
};
struct Heuristic {
  Algo algo;
  size_t workspace_bytes;
  Status state;
  float waves;
  int reserved[4];
};

enum : int { compute_32f = 68, compute_32f_tf32 = 77 };
enum : int {
  desc_trans_a = 3,
  desc_trans_b = 4,
  desc_epilogue = 7,
  desc_bias_pointer = 8,
  desc_scale_a = 17,
  desc_scale_b = 18,
  desc_bias_dtype = 26
};
enum : int { layout_batch_count = 5, layout_batch_stride = 6 };
enum : int {
  preference_workspace = 1,
  preference_reduction_mask = 3,
  preference_align_a = 5,
  preference_align_b = 6,
  preference_align_c = 7,
  preference_align_d = 8
};
enum : uint32_t { reduction_in_place = 1, reduction_compute_type = 2 };
enum : int { epilogue_default = 1, epilogue_relu = 2, epilogue_bias = 4, epilogue_gelu = 32 };
enum : int { op_none = 0, op_transpose = 1 };
enum : int { config_id = 0, config_tile = 1, config_splitk = 2, config_stages = 6 };

#define RUDA_CUBLASLT_FUNCTIONS(X)                                                                     \
  X(Create, (Context**))                                                                               \
  X(Destroy, (Context*))                                                                               \
  X(MatmulDescInit_internal, (DescOpaque*, size_t, int compute, cudaDataType_t scale))                 \
  X(MatmulDescSetAttribute, (DescOpaque*, int, const void*, size_t))                                   \
  X(MatrixLayoutInit_internal,                                                                         \
    (LayoutOpaque*, size_t, cudaDataType_t, uint64_t rows, uint64_t cols, int64_t ld))                 \
  X(MatrixLayoutSetAttribute, (LayoutOpaque*, int, const void*, size_t))                               \
  X(MatmulPreferenceInit_internal, (PreferenceOpaque*, size_t))                                        \
  X(MatmulPreferenceSetAttribute, (PreferenceOpaque*, int, const void*, size_t))                       \
  X(MatmulAlgoGetHeuristic,                                                                            \
    (Context*, const DescOpaque*, const LayoutOpaque*, const LayoutOpaque*, const LayoutOpaque*,       \
     const LayoutOpaque*, const PreferenceOpaque*, int, Heuristic*, int*))                             \
  X(MatmulAlgoConfigGetAttribute, (const Algo*, int, void*, size_t, size_t*))                          \
  X(Matmul, (Context*, const DescOpaque*, const void* alpha, const void* a, const LayoutOpaque*,       \
             const void* b, const LayoutOpaque*, const void* beta, const void* c, const LayoutOpaque*, \
             void* d, const LayoutOpaque*, const Algo*, void* workspace, size_t, cudaStream_t))

struct Functions {
#define RUDA_FIELD(name, signature) Status(*name) signature;
  RUDA_CUBLASLT_FUNCTIONS(RUDA_FIELD)
#undef RUDA_FIELD
};

// Throws RUDA_E_BACKEND_MISSING when the library cannot be had.
const Functions& functions();
void check(Status status, const char* what);

// cuBLASLt's context of one device; free-threaded, no stream state.
class Handle {
 public:
  explicit Handle(CudaDevice& device);
  ~Handle();
  Context* get() const { return context_; }

 private:
  CudaDevice& device_;
  Context* context_ = nullptr;
};

}  // namespace ruda::cuda::lt
