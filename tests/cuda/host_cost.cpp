// tests/cuda/host_cost.cpp - what the host side of a call costs, measured against the fake driver.
// SPDX-License-Identifier: Apache-2.0
#include "cuda/fake_runtime.hpp"
#include "support/objects.hpp"
#include "tensor/context.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>

using namespace ruda::test;

// What the library's host side adds to a launch: the fake runtime's own launch is taken off.
RUDA_BENCH(host_cost) {
  // A driver has threads of its own. Before its first one the C library leaves out what only threads need.
  std::thread([] {}).join();
  using Clock = std::chrono::steady_clock;
  const auto time = [](const auto& once) {
    constexpr int rounds = 20000;
    double best = 1;
    for (int pass = 0; pass < 5; ++pass) {
      const auto start = Clock::now();
      for (int i = 0; i < rounds; ++i) once();
      best = std::min(best, std::chrono::duration<double>(Clock::now() - start).count() / rounds);
    }
    return best * 1e9;
  };
  int64_t shape[] = {4, 512}, width = 512;
  ruda_tensor_desc desc = RUDA_TENSOR_DESC_INIT, row = RUDA_TENSOR_DESC_INIT;
  desc.dtype = row.dtype = RUDA_F32;
  desc.rank = 2;
  desc.shape = shape;
  row.rank = 1;
  row.shape = &width;
  ruda_tensor x = nullptr, gamma = nullptr, y = nullptr;
  MUST(ruda_tensor_create(env.context, &desc, &x));
  MUST(ruda_tensor_create(env.context, &row, &gamma));
  MUST(ruda_rms_norm(env.stream, x, gamma, 1e-5, &y));
  ruda_tensor_desc xd = RUDA_TENSOR_DESC_INIT, gd = RUDA_TENSOR_DESC_INIT, yd = RUDA_TENSOR_DESC_INIT;
  MUST(ruda_tensor_get_desc(x, &xd));
  MUST(ruda_tensor_get_desc(gamma, &gd));
  MUST(ruda_tensor_get_desc(y, &yd));
  ruda_rms_norm_desc norm = RUDA_RMS_NORM_DESC_INIT;
  norm.x = &xd;
  norm.gamma = &gd;
  norm.y = &yd;
  norm.eps = 1e-5;
  ruda_plan plan = nullptr;
  MUST(ruda_rms_norm_plan_create(env.context, &norm, &plan));
  ruda_binding bindings[3]{};
  const ruda_tensor bound[] = {x, gamma, y};
  const uint32_t slots[] = {RUDA_RMS_NORM_X, RUDA_RMS_NORM_GAMMA, RUDA_RMS_NORM_Y};
  for (int i = 0; i < 3; ++i) bindings[i] = {slots[i], RUDA_BIND_TENSOR, {bound[i]}};
  cudaStream_t bare = nullptr;
  cudaStreamCreateWithFlags(&bare, 0);
  const double launch = time([&] { cudaLaunchKernel(nullptr, dim3(1), dim3(1), nullptr, 0, bare); });
  const double execute =
      time([&] { MUST(ruda_plan_execute(plan, env.stream, nullptr, bindings, 3, nullptr)); });
  const double eager = time([&] {
    ruda_tensor out = nullptr;
    MUST(ruda_rms_norm(env.stream, x, gamma, 1e-5, &out));
    ruda_release(out);
  });
  const double allocation = time([&] {
    ruda_tensor out = nullptr;
    MUST(ruda_tensor_create(env.context, &desc, &out));
    ruda_release(out);
  });
  const double workspace = time([&] {
    ruda_workspace out = nullptr;
    MUST(ruda_workspace_create(env.context, 8192, &out));
    ruda_release(out);
  });
  ruda::Stream& stream = ruda::get_stream(env.stream);
  const double memory = time([&] {
    void* data = stream.device().allocate(8192, &stream.queue());
    stream.device().release(data, 8192, &stream.queue());
  });
  std::printf(
      "host: plan execute %.0f ns, eager %.0f ns above a launch (%.0f ns here), tensor %.0f ns, workspace "
      "%.0f ns, its memory %.0f ns\n",
      execute - launch, eager - launch, launch, allocation, workspace, memory);
  release({x, gamma, y, plan});
  cudaStreamDestroy(bare);
}
