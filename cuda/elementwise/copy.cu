// cuda/elementwise/copy.cu - copies on the GPU between tensors of one dtype, any strides.
// SPDX-License-Identifier: Apache-2.0
#include "plan/op.hpp"
#include "runtime/launch.hpp"

#include <ruda/elementwise.h>

namespace ruda::cuda {
namespace {

constexpr int threads = 256;

namespace memory {

Verdict prepare(const Problem& p, Prepare&) {
  const Layout &x = *p[RUDA_COPY_X].layout, &y = *p[RUDA_COPY_Y].layout;
  if (x.dtype != y.dtype) return "dtypes differ";
  if (!x.contiguous || !y.contiguous) return "strided";
  return nullptr;
}

void run(const Launch& l) {
  check_cuda(
      cudaMemcpyAsync(l.ptr<void>(RUDA_COPY_Y), l.ptr<void>(RUDA_COPY_X),
                      l.problem[RUDA_COPY_X].layout->packed_bytes(), cudaMemcpyDeviceToDevice, stream_of(l)),
      "copy");
}

}  // namespace memory

namespace strided {

struct State {
  int64_t elements;
  int rank;
  int64_t shape[RUDA_MAX_RANK], from[RUDA_MAX_RANK], to[RUDA_MAX_RANK];
};

template <class T>
__global__ void __launch_bounds__(threads) copy_strided(const T* from, T* to, State s) {
  const int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x;
  if (i >= s.elements) return;
  int64_t rest = i, a = 0, b = 0;
  for (int axis = s.rank - 1; axis >= 0; --axis) {
    const int64_t index = rest % s.shape[axis];
    rest /= s.shape[axis];
    a += index * s.from[axis];
    b += index * s.to[axis];
  }
  to[b] = from[a];
}

Verdict prepare(const Problem& p, Prepare& prep) {
  const Layout &x = *p[RUDA_COPY_X].layout, &y = *p[RUDA_COPY_Y].layout;
  if (x.dtype != y.dtype) return "dtypes differ";
  if (dtype_info(x.dtype).block_elements > 1) return "block format";
  if (x.elements > int64_t(INT32_MAX) * threads) return "more elements than a grid holds";
  State& s = prep.state<State>();
  s.elements = x.elements;
  s.rank = x.rank;
  for (int i = 0; i < x.rank; ++i) {
    s.shape[i] = x.shape[i];
    s.from[i] = x.strides[i];
    s.to[i] = y.strides[i];
  }
  return nullptr;
}

template <class T>
void launch(const Launch& l) {
  const State& s = l.state<State>();
  if (s.elements == 0) return;
  copy_strided<T><<<unsigned((s.elements + threads - 1) / threads), threads, 0, stream_of(l)>>>(
      l.ptr<const T>(RUDA_COPY_X), l.ptr<T>(RUDA_COPY_Y), s);
  check_launch(l);
}

void run(const Launch& l) {
  switch (dtype_info(l.problem[RUDA_COPY_X].dtype()).block_bytes) {
    case 1: return launch<uint8_t>(l);
    case 2: return launch<uint16_t>(l);
    case 4: return launch<uint32_t>(l);
    default: return launch<uint64_t>(l);
  }
}

}  // namespace strided

constexpr Kernel list[] = {{"cuda/copy/memory", memory::prepare, memory::run},
                           {"cuda/copy/strided", strided::prepare, strided::run}};

}  // namespace

extern constinit const Kernels copy{list};

}  // namespace ruda::cuda
