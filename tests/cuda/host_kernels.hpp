// tests/cuda/host_kernels.hpp - what tests ask of CUDA itself: bare launches, streams, memory, peers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ruda::test {

// A stream as the library makes them; nullptr when CUDA refuses.
void* new_stream();
void end_stream(void* stream);

// Plain device memory, of no pool; nullptr when there is none. The thread's device stays.
void* new_memory(int device, unsigned long long bytes);
void end_memory(int device, void* data);
// Direct ways between two devices for plain memory, in both directions; false where they have none.
bool set_peer_access(int a, int b, bool on);
int current_device();

// Grid, block, entry and arguments are those of the library's kernels for an addition of 1536 F32 elements
// and an rms_norm of [4, 512]; the kernels do nothing. `stream` is a cudaStream_t. Both return nullptr, or
// what CUDA said.
const char* bare_add(void* stream, const void* a, const void* b, void* y);
const char* bare_rms_norm(void* stream, const void* x, const void* gamma, void* y);

}  // namespace ruda::test
