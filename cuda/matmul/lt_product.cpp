// cuda/matmul/lt_product.cpp - describes products to cuBLASLt and runs them.
// SPDX-License-Identifier: Apache-2.0
#include "matmul/lt_product.hpp"

#include "core/error.hpp"

namespace ruda::cuda::lt {
namespace {

constexpr uint64_t workspace_most = 32 << 20;  // what NVIDIA advises for this architecture

template <class T>
void set(DescOpaque& desc, int what, const T& value) {
  check(functions().MatmulDescSetAttribute(&desc, what, &value, sizeof value), "matmul");
}

void make_layout(LayoutOpaque& layout, const Matrix& m, int64_t count) {
  const auto& f = functions();
  check(f.MatrixLayoutInit_internal(&layout, sizeof layout, m.type, m.rows, m.cols, m.ld), "matmul");
  if (count == 1) return;
  const auto batches = int32_t(count);
  check(f.MatrixLayoutSetAttribute(&layout, layout_batch_count, &batches, sizeof batches), "matmul");
  check(f.MatrixLayoutSetAttribute(&layout, layout_batch_stride, &m.batch, sizeof m.batch), "matmul");
}

}  // namespace

cudaDataType_t type_of(uint32_t dtype) {
  switch (dtype) {
    case RUDA_F16: return CUDA_R_16F;
    case RUDA_BF16: return CUDA_R_16BF;
    case RUDA_F8E4M3: return CUDA_R_8F_E4M3;
    case RUDA_F8E5M2: return CUDA_R_8F_E5M2;
    default: return CUDA_R_32F;
  }
}

Context* context_of(CudaDevice& device, bool needed) {
  try {
    functions();
  } catch (const Error&) {
    if (needed) throw;
    return nullptr;
  }
  return device.part<Handle>().get();
}

bool make_product(Context* context, const Request& request, Product& product, std::string& note) {
  const auto& f = functions();
  product.context = context;
  product.bias = request.epilogue & epilogue_bias;
  product.scales = request.scales;
  product.add_c = request.add_c;
  check(f.MatmulDescInit_internal(&product.desc, sizeof product.desc,
                                  request.tf32 ? compute_32f_tf32 : compute_32f, CUDA_R_32F),
        "matmul");
  set(product.desc, desc_trans_a, int32_t(request.b.op));
  set(product.desc, desc_trans_b, int32_t(request.a.op));
  if (request.epilogue != epilogue_default) set(product.desc, desc_epilogue, int32_t(request.epilogue));
  // What the algorithm is asked for must be known to be there; the addresses come with each call.
  if (product.bias) set(product.desc, desc_bias_dtype, int32_t(CUDA_R_32F));
  make_layout(product.a, request.a, request.count);
  make_layout(product.b, request.b, request.count);
  make_layout(product.c, request.c, request.count);

  PreferenceOpaque preference{};
  check(f.MatmulPreferenceInit_internal(&preference, sizeof preference), "matmul");
  const auto prefer = [&](int what, auto value) {
    check(f.MatmulPreferenceSetAttribute(&preference, what, &value, sizeof value), "matmul");
  };
  const uint64_t limit = request.workspace_limit;
  prefer(preference_workspace, limit && limit < workspace_most ? limit : workspace_most);
  // Partial sums stay in F32: sums in the dtype of c would round each of them.
  const bool f32 = request.c.type == CUDA_R_32F;
  prefer(preference_reduction_mask,
         f32 ? reduction_compute_type | reduction_in_place : uint32_t(reduction_compute_type));
  prefer(preference_align_a, request.b.alignment);
  prefer(preference_align_b, request.a.alignment);
  prefer(preference_align_c, request.c.alignment);
  prefer(preference_align_d, request.c.alignment);
  Heuristic found{};
  int count = 0;
  const Status status = f.MatmulAlgoGetHeuristic(context, &product.desc, &product.b, &product.a, &product.c,
                                                 &product.c, &preference, 1, &found, &count);
  if (status != 0 || count == 0 || found.state != 0) return false;
  product.algo = found.algo;
  product.workspace_bytes = found.workspace_bytes;

  const auto config = [&](int what) {
    uint32_t value = 0;
    size_t written = 0;
    f.MatmulAlgoConfigGetAttribute(&product.algo, what, &value, sizeof value, &written);
    return value;
  };
  note = format("algorithm %u, tile %u, stages %u, split %u, workspace %llu, %s", config(config_id),
                config(config_tile), config(config_stages), config(config_splitk),
                static_cast<unsigned long long>(product.workspace_bytes), request.tf32 ? "TF32" : "F32 sums");
  return true;
}

void run_product(const Product& product, const Operands& o, void* workspace, cudaStream_t stream) {
  const float one = 1, beta = product.add_c ? 1.0f : 0.0f;
  // Addresses are attributes of the description, which other threads may read: they go into a copy.
  DescOpaque own;
  const DescOpaque* desc = &product.desc;
  if (product.bias || product.scales) {
    own = product.desc;
    if (product.bias) set(own, desc_bias_pointer, static_cast<const void*>(o.bias));
    if (product.scales && o.b_scale) set(own, desc_scale_a, static_cast<const void*>(o.b_scale));
    if (product.scales && o.a_scale) set(own, desc_scale_b, static_cast<const void*>(o.a_scale));
    desc = &own;
  }
  check(functions().Matmul(product.context, desc, &one, o.b, &product.b, o.a, &product.a, &beta, o.c,
                           &product.c, o.c, &product.c, &product.algo, workspace, product.workspace_bytes,
                           stream),
        "matmul");
}

}  // namespace ruda::cuda::lt
