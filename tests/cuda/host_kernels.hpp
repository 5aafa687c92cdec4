// tests/cuda/host_kernels.hpp - launches of bare kernels, beside which the host's part of a call is measured.
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace ruda::test {

// A stream as the library makes them; nullptr when CUDA refuses.
void* new_stream();
void end_stream(void* stream);

// Grid, block, entry and arguments are those of the library's kernels for an addition of 1536 F32 elements
// and an rms_norm of [4, 512]; the kernels do nothing. `stream` is a cudaStream_t. Both return nullptr, or
// what CUDA said.
const char* bare_add(void* stream, const void* a, const void* b, void* y);
const char* bare_rms_norm(void* stream, const void* x, const void* gamma, void* y);

}  // namespace ruda::test
