// tests/cuda/fake_runtime.hpp - a CUDA runtime in host memory: streams are queues of copies that tests can
// hold back.
// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>
#include <functional>

namespace fake {

// Work of a held stream waits until something synchronizes with it.
void hold(void* stream, bool held);
// Device memory that is left; beyond it allocation fails as on a full device.
void set_room(uint64_t bytes);
// How often device memory was asked of the driver.
int device_allocations();
int host_allocations();
// The next kernel launch, synchronisation or graph launch fails like this.
void fail_next_launch(cudaError_t error);
void fail_next_sync(cudaError_t error);
void fail_next_graph(cudaError_t error);
void fail_next_record(cudaError_t error);
int kernel_launches();
int graph_launches();
// Copies from one device to another; refused ones fail as where the two have no way.
int copies_between_devices();
void refuse_peers(bool refused);
// How often a pool was opened to another device.
int pools_opened();
// How often a stream was named after its end.
int uses_of_destroyed_streams();
// Device allocations that are alive.
int live_blocks();
// Kernels whose mangled name holds `name` do this: it reads its arguments at the launch and gives the work.
// Empty = nothing again.
using Kernel = std::function<std::function<void()>(void** args)>;
void set_kernel(const char* name, Kernel kernel);
// The dynamic shared memory that kernels whose mangled name holds `name` are allowed, the least of them; -1 =
// none was set. A launch with more, and with more than 48 KiB, fails.
int shared_allowed(const char* name);
void set_devices(int count, int driver_version);

}  // namespace fake
