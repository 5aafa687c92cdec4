// bindings/common/ruda_common.i - what every language's raw module wraps; the typemaps come before it.
// SPDX-License-Identifier: Apache-2.0
//
// A language defines, before it includes this file:
//   RUDA_HANDLE_TYPE(name, Class)                typemaps of ruda_<name> and of ruda_<name> *out (also out_...)
//   ruda_status                                  a status becomes an exception
//   uint32_t *, uint64_t *, double *             an output
//   (const int64_t *shape, uint32_t rank)        an array of integers
//   (const int64_t *values, uint32_t count)      the same; in Python it may hold handles and floats
//   int64_t *layout                              an array that is filled
//   (const void *data, uint64_t bytes), (void *data, uint64_t bytes), (char *text, uint64_t capacity)
typedef int32_t ruda_status;
typedef uint32_t ruda_bool;

%include "ruda_api.i"

ruda_status rudax_context_create(uint32_t backend, int32_t device, uint32_t host_threads, uint32_t log_level,
                                 uint32_t plan_cache_capacity, uint64_t memory_limit_bytes, ruda_context *out);
ruda_status rudax_context_get(ruda_context context, uint32_t what, uint64_t *out);
ruda_status rudax_context_device_name(ruda_context context, char *text, uint64_t capacity, uint64_t *out_needed);
ruda_status rudax_log_level(ruda_context context, uint32_t level);
ruda_status rudax_stream_done(ruda_stream stream, uint32_t *out);
ruda_status rudax_tensor_create(ruda_context context, uint32_t dtype, const int64_t *shape, uint32_t rank,
                                ruda_tensor *out);
ruda_status rudax_tensor_wrap(ruda_context context, uint32_t dtype, const int64_t *shape, uint32_t rank, uint32_t flags,
                              void *data, uint64_t bytes, int64_t loan_number, ruda_tensor *out);
int64_t rudax_take_returned(void);
ruda_status rudax_tensor_layout(ruda_tensor tensor, int64_t *layout);
ruda_status rudax_tensor_permute(ruda_tensor tensor, const int64_t *shape, uint32_t rank, ruda_tensor *out);
ruda_status rudax_tensor_slice(ruda_tensor tensor, const int64_t *shape, uint32_t rank, ruda_tensor *out);
ruda_status rudax_tensor_reshape(ruda_stream stream, ruda_tensor tensor, const int64_t *shape, uint32_t rank,
                                 ruda_tensor *out);
ruda_status rudax_dtype_get(uint32_t dtype, uint32_t *out_bits, uint32_t *out_block_elements, uint32_t *out_block_bytes);
ruda_status rudax_plan_create(ruda_context context, const char *op, const char *fields, const int64_t *values,
                              uint32_t count, ruda_plan *out);
ruda_status rudax_plan_get(ruda_plan plan, uint32_t what, uint64_t *out);
ruda_status rudax_plan_text(ruda_plan plan, uint32_t what, char *text, uint64_t capacity, uint64_t *out_needed);
ruda_status rudax_plan_slot(ruda_plan plan, uint32_t slot, char *text, uint64_t capacity, uint64_t *out_needed,
                            uint32_t *out_is_output);
ruda_status rudax_plan_execute(ruda_plan plan, ruda_stream stream, ruda_workspace workspace, const int64_t *values,
                               uint32_t count, ruda_cancel cancel, uint64_t timeout_ns);
ruda_status rudax_op_name(uint32_t index, char *text, uint64_t capacity, uint64_t *out_needed);
