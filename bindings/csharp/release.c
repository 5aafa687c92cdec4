/* bindings/csharp/release.c - the release of any handle, which a SafeHandle calls by its bare address. */
/* SPDX-License-Identifier: Apache-2.0 */
#include "ruda/base.h"

__attribute__((visibility("default"))) int32_t CSharp_release(void* handle) { return ruda_release(handle); }
