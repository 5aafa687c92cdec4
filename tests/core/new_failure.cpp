// tests/core/new_failure.cpp - the n-th operator new fails, for every n: a status comes back and nothing
// leaks.
// SPDX-License-Identifier: Apache-2.0
#include "tensor/dlpack.hpp"

#include <ruda/ruda.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <vector>

namespace {

std::atomic<long> live_blocks{0};
thread_local long until_failure = 0;  // 0 = never; counts the calling thread's allocations only
thread_local long allocations = 0;

void* take(size_t bytes, size_t align) {
  ++allocations;
  if (until_failure > 0 && --until_failure == 0) return nullptr;
  void* block = nullptr;
  if (posix_memalign(&block, align < sizeof(void*) ? sizeof(void*) : align, bytes ? bytes : 1) != 0)
    return nullptr;
  live_blocks.fetch_add(1, std::memory_order_relaxed);
  return block;
}

void give(void* block) {
  if (!block) return;
  live_blocks.fetch_sub(1, std::memory_order_relaxed);
  std::free(block);
}

void* take_or_throw(size_t bytes, size_t align) {
  if (void* block = take(bytes, align)) return block;
  throw std::bad_alloc();
}

}  // namespace

void* operator new(size_t n) { return take_or_throw(n, 16); }
void* operator new[](size_t n) { return take_or_throw(n, 16); }
void* operator new(size_t n, std::align_val_t a) { return take_or_throw(n, size_t(a)); }
void* operator new[](size_t n, std::align_val_t a) { return take_or_throw(n, size_t(a)); }
void* operator new(size_t n, const std::nothrow_t&) noexcept { return take(n, 16); }
void* operator new[](size_t n, const std::nothrow_t&) noexcept { return take(n, 16); }
void operator delete(void* p) noexcept { give(p); }
void operator delete[](void* p) noexcept { give(p); }
void operator delete(void* p, size_t) noexcept { give(p); }
void operator delete[](void* p, size_t) noexcept { give(p); }
void operator delete(void* p, std::align_val_t) noexcept { give(p); }
void operator delete[](void* p, std::align_val_t) noexcept { give(p); }
void operator delete(void* p, size_t, std::align_val_t) noexcept { give(p); }
void operator delete[](void* p, size_t, std::align_val_t) noexcept { give(p); }

namespace {

int problems = 0;

// Runs steps until one fails; every handle made is released at the end.
class Run {
 public:
  bool step(ruda_status status, const char* what) {
    failed_ = status != RUDA_OK;
    if (failed_ && status != RUDA_E_OOM_HOST) {
      ++problems;
      std::fprintf(stderr, "%s gave %s, expected success or RUDA_E_OOM_HOST\n", what,
                   ruda_status_name(status));
    }
    return !failed_;
  }
  template <class H>
  bool made(ruda_status status, H handle, const char* what) {
    if ((status == RUDA_OK) != (handle != nullptr)) {
      ++problems;
      std::fprintf(stderr, "%s gave %s with the handle %p\n", what, ruda_status_name(status), (void*)handle);
    }
    if (handle) handles_[count_++] = handle;
    return step(status, what);
  }
  bool failed() const { return failed_; }
  ~Run() {
    while (count_) ruda_release(handles_[--count_]);
  }

 private:
  bool failed_ = false;
  void* handles_[64];
  int count_ = 0;
};

#define STEP(call) \
  if (!run.step(call, #call)) return true
#define MADE(handle, call)                                  \
  do {                                                      \
    const ruda_status made_status = (call);                 \
    if (!run.made(made_status, handle, #call)) return true; \
  } while (0)

// true when a step failed.
bool scenario() {
  Run run;
  ruda_context context = nullptr;
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  desc.host_threads = 2;
  desc.log_level = RUDA_LOG_DEBUG;
  MADE(context, ruda_context_create(&desc, &context));
  ruda_stream stream = nullptr;
  MADE(stream, ruda_stream_create(context, 0, &stream));
  ruda_event event = nullptr;
  MADE(event, ruda_event_create(context, &event));
  STEP(ruda_event_record(event, stream));
  const int64_t shape[2] = {128, 512};
  ruda_tensor_desc x_desc = RUDA_TENSOR_DESC_INIT, gamma_desc = RUDA_TENSOR_DESC_INIT;
  x_desc.dtype = gamma_desc.dtype = RUDA_F32;
  x_desc.rank = 2;
  x_desc.shape = shape;
  gamma_desc.rank = 1;
  gamma_desc.shape = shape + 1;
  ruda_tensor x = nullptr, gamma = nullptr, y = nullptr, view = nullptr, other = nullptr;
  MADE(x, ruda_tensor_create(context, &x_desc, &x));
  MADE(gamma, ruda_tensor_create(context, &gamma_desc, &gamma));
  static float values[128 * 512];
  STEP(ruda_tensor_write(stream, x, values, sizeof values));
  STEP(ruda_tensor_write(stream, gamma, values, 2048));
  const uint32_t axes[2] = {1, 0};
  MADE(view, ruda_tensor_permute(x, axes, 2, &view));
  const int64_t begin[2] = {1, 2}, end[2] = {100, 90};
  MADE(other, ruda_tensor_slice(view, begin, end, nullptr, 2, &other));
  MADE(y, ruda_tensor_contiguous(stream, other, &y));
  MADE(y, ruda_tensor_cast(stream, other, RUDA_BF16, &y));
  STEP(ruda_tensor_read(stream, other, values, sizeof values));
  MADE(y, ruda_rms_norm(stream, x, gamma, 1e-5, &y));
  MADE(y, ruda_matmul(stream, x, view, nullptr, nullptr, &y));
  MADE(y, ruda_silu_mul(stream, x, x, &y));

  ruda_plan plan = nullptr;
  ruda_rms_norm_desc norm = RUDA_RMS_NORM_DESC_INIT;
  norm.x = &x_desc;
  norm.gamma = &gamma_desc;
  norm.eps = 1e-5;
  MADE(plan, ruda_rms_norm_plan_create(context, &norm, &plan));
  STEP(ruda_plan_warm(plan, stream));
  char text[4096];
  STEP(ruda_plan_explain(plan, text, sizeof text, nullptr));
  STEP(ruda_op_kernels("rms_norm", RUDA_BACKEND_CPU, text, sizeof text, nullptr));
  STEP(ruda_backend_report(text, sizeof text, nullptr));
  ruda_workspace workspace = nullptr;
  MADE(workspace, ruda_workspace_create(context, 4096, &workspace));
  ruda_cancel cancel = nullptr;
  MADE(cancel, ruda_cancel_create(&cancel));
  MADE(y, ruda_tensor_create(context, &x_desc, &y));
  ruda_binding bindings[3] = {};
  void* const bound[3] = {x, gamma, y};
  for (uint32_t slot = 0; slot < 3; ++slot) {
    bindings[slot].slot = slot;
    bindings[slot].v.handle = bound[slot];
  }
  const ruda_exec_opts opts = {uint32_t(sizeof opts), 0, cancel, 0};
  STEP(ruda_plan_execute(plan, stream, workspace, bindings, 3, &opts));

  // Ownership of exchanged memory moves only on success.
  DLManagedTensorVersioned* exported = nullptr;
  STEP(ruda_tensor_to_dlpack(x, stream, 0, &exported));
  ruda_tensor imported = nullptr;
  const ruda_status status = ruda_tensor_from_dlpack(context, exported, 0, &imported);
  if (status != RUDA_OK) exported->deleter(exported);
  MADE(imported, status);
  static int freed;
  freed = 0;
  ruda_tensor wrapped = nullptr;
  const ruda_status wrap = ruda_tensor_wrap(
      context, &gamma_desc, values, sizeof values, [](void* count, void*) { ++*static_cast<int*>(count); },
      &freed, &wrapped);
  if (wrap != RUDA_OK && freed) {
    ++problems;
    std::fprintf(stderr, "a wrap that failed freed the memory\n");
  }
  MADE(wrapped, wrap);
  STEP(ruda_context_trim(context));
  return false;
}

}  // namespace

int main() {
  // The first runs make what is kept for the life of the process.
  for (int i = 0; i < 3; ++i)
    if (scenario()) return std::fprintf(stderr, "the scenario fails with enough memory\n"), 1;
  const long before = live_blocks.load();
  allocations = 0;
  scenario();
  const long total = allocations;
  long failures = 0;
  for (long n = 1; n <= total + 1; ++n) {
    until_failure = n;
    const bool failed = scenario();
    until_failure = 0;
    failures += failed;
    const long left = live_blocks.load() - before;
    // Growing tables of the process (cells) may have been made larger once; anything else is a leak.
    if (left > 1) {
      ++problems;
      std::fprintf(stderr, "allocation %ld of %ld failed and %ld blocks are left\n", n, total, left);
      if (problems > 10) break;
    }
  }
  std::printf("%ld of %ld failing allocations were reported\n", failures, total);
  if (failures < total / 2) ++problems, std::fprintf(stderr, "too few failures were reported\n");
  std::printf("%d passed, %d failed, 0 skipped\n", problems ? 0 : 1, problems ? 1 : 0);
  return problems ? 1 : 0;
}
