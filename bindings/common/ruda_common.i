// bindings/common/ruda_common.i - what every language's raw module wraps; the typemaps come before it.
// SPDX-License-Identifier: Apache-2.0
//
// A language defines, before it includes this file:
//   RUDA_HANDLE_TYPE(name, Class)                typemaps of ruda_<name> and of ruda_<name> *out
//   ruda_status                                  a status becomes an exception
//   uint32_t *, uint64_t *, double *             an output
//   (const int64_t *shape, uint32_t rank)        an array of integers
//   (const int64_t *values, uint32_t count)      the same; in Python it may hold handles and floats
//   int64_t *layout                              an array that is filled
//   (const void *data, uint64_t bytes), (void *data, uint64_t bytes), (char *text, uint64_t capacity)
typedef int32_t ruda_status;
typedef uint32_t ruda_bool;

%include "ruda_api.i"
