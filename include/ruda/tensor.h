/* include/ruda/tensor.h - dtypes, tensors, views, copies between host and device, DLPack. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_TENSOR_H
#define RUDA_TENSOR_H

#include "ruda/context.h"

struct DLManagedTensorVersioned; /* dlpack.h is not needed to include this header */
struct DLManagedTensor;

RUDA_BEGIN

#define RUDA_MAX_RANK 16

/** Element types. Codes from 256 are block formats: 256 + the type number of the GGUF format, whose rows are
 *  stored packed; such tensors are row-major, and their last extent is a multiple of the block. Their bytes
 *  are those of the GGUF project's block_q4_0 and so on. A block of Q4_1 is 20 bytes for 32 elements: F16 d,
 *  F16 m, then 16 bytes of codes, byte i with element i in its low half and element 16 + i in its high half;
 *  the value is d * code + m. */
enum {
  RUDA_F64 = 1,
  RUDA_F32 = 2,
  RUDA_F16 = 3,
  RUDA_BF16 = 4,
  RUDA_F8E4M3 = 5, /* E4M3FN: largest 448, no infinity */
  RUDA_F8E5M2 = 6,
  RUDA_F4E2M1 = 7, /* two elements a byte, the first in the low half */
  RUDA_I8 = 8,
  RUDA_U8 = 9,
  RUDA_I16 = 10,
  RUDA_U16 = 11,
  RUDA_I32 = 12,
  RUDA_U32 = 13,
  RUDA_I64 = 14,
  RUDA_U64 = 15,
  RUDA_BOOL = 16, /* one byte, 0 or 1 */

  RUDA_Q4_0 = 258,
  RUDA_Q4_1 = 259,
  RUDA_Q5_0 = 262,
  RUDA_Q5_1 = 263,
  RUDA_Q8_0 = 264,
  RUDA_Q2_K = 266,
  RUDA_Q3_K = 267,
  RUDA_Q4_K = 268,
  RUDA_Q5_K = 269,
  RUDA_Q6_K = 270
};

/** What becomes of numbers beyond the largest of an FP8 dtype, infinity among them: of those that lie beyond
 *  it after rounding to nearest even as if it went on. NaN stays NaN. */
enum {
  RUDA_OVERFLOW_DEFAULT = 0,  /* infinity where there is one, else the largest: F8E5M2 infinity, F8E4M3 448;
                                 as PyTorch 2.13 */
  RUDA_OVERFLOW_SATURATE = 1, /* the largest: F8E5M2 57344, F8E4M3 448; as ONNX with saturate and NVIDIA's
                                 satfinite */
  RUDA_OVERFLOW_NONFINITE = 2 /* infinity where there is one, else NaN; as ONNX without saturate */
};

/** Flags of ruda_tensor_desc. The low 8 bits are log2 of the address alignment in bytes that may be relied
 *  on, up to 12; 0 means 64 bytes, what the library's own allocations have; RUDA_TENSOR_ALIGN_BYTE none. */
enum {
  RUDA_TENSOR_ALIGN_MASK = 0xFF,
  RUDA_TENSOR_ALIGN_BYTE = 0x80, /* any address, such as that of a view of bytes */
  RUDA_TENSOR_READ_ONLY = 0x100  /* the memory may not be written */
};

/** Shape, strides and dtype of a tensor. `shape` and `strides` have `rank` entries, in elements, row-major
 *  order (last axis fastest). strides NULL = contiguous. Strides that mean nothing are not checked: that of
 *  an axis of extent 1, and all of a tensor without elements. The tensor has those of a contiguous one in
 *  their place, so that it fits any plan of its shape. What the headers say of the others:
 *
 *  any       0, which repeats an element, and negative ones, which walk backward, among them: operands that
 *            are read. Such tensors are views: ruda_tensor_slice, ruda_tensor_broadcast
 *  writable  above 0, and no two elements share memory: operands that are written, ruda_tensor_create,
 *            ruda_tensor_write, ruda_tensor_fill and the destination of ruda_tensor_copy. "As x" of an output
 *            is shape and dtype; its strides are any writable ones
 *
 *  ruda_tensor_wrap and the imports of DLPack take 0 and above. A stride that is not allowed, or with which
 *  an offset in bytes may not fit 63 bits, is RUDA_E_SHAPE. */
typedef struct ruda_tensor_desc {
  uint32_t struct_size, dtype;
  const ruda_ext* next;
  uint32_t rank, flags;
  const int64_t *shape, *strides;
} ruda_tensor_desc;
#define RUDA_TENSOR_DESC_INIT \
  { (uint32_t)sizeof(ruda_tensor_desc), 0, NULL, 0, 0, NULL, NULL }

/** Facts of a dtype. `name` is static. bits is 0 for block formats, whose `block_bytes` hold
 *  `block_elements`. It has no _INIT: { .struct_size = sizeof(ruda_dtype_info) }. */
typedef struct ruda_dtype_info {
  uint32_t struct_size, bits;
  uint32_t block_elements, block_bytes;
  const char* name;
} ruda_dtype_info;

/** Fills `inout` for `dtype`. Status: RUDA_E_NULL, RUDA_E_ARGUMENT (struct_size), RUDA_E_DTYPE (unknown
 *  code). [T] */
RUDA_API ruda_status RUDA_CALL ruda_dtype_get_info(uint32_t dtype, ruda_dtype_info* inout) RUDA_NX;

/** Makes a tensor on the context's device; its contents are undefined. Strides are any writable ones.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STRUCT_TOO_NEW, RUDA_E_ARGUMENT (flags), RUDA_E_SHAPE
 *  (rank above 16, negative extent, size overflow, strides), RUDA_E_DTYPE, RUDA_E_OOM_HOST,
 *  RUDA_E_OOM_DEVICE, RUDA_E_BUDGET, RUDA_E_CALLBACK, RUDA_E_CAPTURE_UNSAFE, RUDA_E_DEVICE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_create(ruda_context context, const ruda_tensor_desc* desc,
                                                  ruda_tensor* out) RUDA_NX;

/** Makes a tensor over memory of the caller, `bytes` long, on the context's device (host memory for a CPU
 *  context). For a GPU that is device or managed memory, or pinned host memory that it can address, at the
 *  speed of the bus; it is not checked, nor counted by memory_limit_bytes. What the caller's own kernels do
 *  with the memory the caller orders: on the same wrapped stream, or by ruda_event_record on one wrapped and
 *  ruda_stream_wait. `on_free` (may be NULL) is called with `user` and `data` when the last user of the
 *  memory is gone; it is not called when this function fails. `data` may be NULL only if the tensor has no
 *  elements. desc->flags may carry RUDA_TENSOR_READ_ONLY. Status: as ruda_tensor_create, RUDA_E_SHAPE when
 *  `bytes` is too small, RUDA_E_ARGUMENT when the address is not aligned to its element. [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_wrap(ruda_context context, const ruda_tensor_desc* desc,
                                                void* data, uint64_t bytes, ruda_free_fn on_free, void* user,
                                                ruda_tensor* out) RUDA_NX;

/** Describes a tensor. `shape` and `strides` point into the tensor and live as long as it; strides are always
 *  set. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (struct_size). [I] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_get_desc(ruda_tensor tensor, ruda_tensor_desc* inout) RUDA_NX;

/** Device address of the first element and the bytes that a contiguous copy of the tensor takes. Either out
 *  may be NULL. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE. [I] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_get_data(ruda_tensor tensor, void** out_data,
                                                    uint64_t* out_bytes) RUDA_NX;

/** Stores a new reference to the tensor's context. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE. [I] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_get_context(ruda_tensor tensor, ruda_context* out) RUDA_NX;

/** 1 in *out when the elements lie in row-major order without gaps. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE.
 *  [I] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_is_contiguous(ruda_tensor tensor, ruda_bool* out) RUDA_NX;

/** Number of tensors that share the tensor's storage; 1 means that writing in place disturbs nobody.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_storage_users(ruda_tensor tensor, uint64_t* out) RUDA_NX;

/** Copies host memory, row-major and exactly the tensor's bytes, into the tensor. `data` may be reused
 *  on return. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_SHAPE (bytes differ, strides not writable),
 *  RUDA_E_ARGUMENT (read-only, stream of another context), RUDA_E_WRONG_STREAM, RUDA_E_CAPTURE_UNSAFE,
 *  RUDA_E_STREAM_POISONED, RUDA_E_DEVICE; for a tensor with gaps, which is written through a copy, also
 *  RUDA_E_OOM_HOST, RUDA_E_OOM_DEVICE, RUDA_E_BUDGET, RUDA_E_CALLBACK. [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_write(ruda_stream stream, ruda_tensor tensor, const void* data,
                                                 uint64_t bytes) RUDA_NX;

/** Waits for the stream's work and copies the tensor, row-major, to host memory of at least its bytes.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_SHAPE (bytes too few), RUDA_E_ARGUMENT (stream of another
 *  context), RUDA_E_WRONG_STREAM, RUDA_E_CAPTURE_UNSAFE, RUDA_E_STREAM_POISONED, RUDA_E_DEVICE, RUDA_E_INDEX
 *  (a kernel of the stream met an index outside its range: see ruda_stream_sync; the bytes are delivered all
 *  the same); for a tensor with gaps also RUDA_E_OOM_HOST, RUDA_E_OOM_DEVICE, RUDA_E_BUDGET, RUDA_E_CALLBACK.
 *  [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_read(ruda_stream stream, ruda_tensor tensor, void* data,
                                                uint64_t bytes) RUDA_NX;

/** Sets every element to `value`, converted to the dtype (round to nearest even; integers saturate; NaN
 *  becomes 0 in an integer). A double holds not every integer beyond 2^53: such elements of I64 and U64 are
 *  set by ruda_tensor_write. Status: as ruda_tensor_write, also without gaps; RUDA_E_DTYPE for block
 *  formats. [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_fill(ruda_stream stream, ruda_tensor tensor, double value) RUDA_NX;

/** Orders later use of the tensor on `stream` after its last writer on another stream. On the CPU nothing to
 *  do. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (stream of another context),
 *  RUDA_E_CAPTURE_UNSAFE (the last writer was on another stream), RUDA_E_DEVICE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_fence(ruda_tensor tensor, ruda_stream stream) RUDA_NX;

/** View with axes reordered: axis i of the result is axis axes[i] of the tensor. Shares storage.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_SHAPE (not a permutation of 0..rank-1; the last axis of a
 *  block format must stay last). [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_permute(ruda_tensor tensor, const uint32_t* axes, uint32_t rank,
                                                   ruda_tensor* out) RUDA_NX;

/** View of begin[i], begin[i]+step[i], ... below end[i] on every axis. Negative begin or end count from the
 *  end; both are clamped into the axis as Python does. step NULL = all 1; a negative step walks backward (end
 *  -1-extent = past the front). Shares storage. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_SHAPE (rank
 *  differs, step 0, a block format cut inside a block). [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_slice(ruda_tensor tensor, const int64_t* begin, const int64_t* end,
                                                 const int64_t* step, uint32_t rank,
                                                 ruda_tensor* out) RUDA_NX;

/** View repeated to `shape`: axes align at the last; an extent 1 or a missing axis is repeated with stride 0.
 *  One that repeats an element is read-only. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_SHAPE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_broadcast(ruda_tensor tensor, const int64_t* shape, uint32_t rank,
                                                     ruda_tensor* out) RUDA_NX;

/** View with another shape of the same element count; one extent may be -1 and is worked out. Shares storage.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_SHAPE (counts differ, or the strides need a copy: use
 *  ruda_tensor_reshape). [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_view(ruda_tensor tensor, const int64_t* shape, uint32_t rank,
                                                ruda_tensor* out) RUDA_NX;

/** As ruda_tensor_view, but copies where strides do not allow a view; *out_copied (may be NULL) says which it
 *  was. Status: as ruda_tensor_view and ruda_tensor_contiguous. [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_reshape(ruda_stream stream, ruda_tensor tensor,
                                                   const int64_t* shape, uint32_t rank, ruda_bool* out_copied,
                                                   ruda_tensor* out) RUDA_NX;

/** The tensor itself (a new reference) when contiguous, else a contiguous copy.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (stream of another context), RUDA_E_WRONG_STREAM,
 *  RUDA_E_STREAM_POISONED, RUDA_E_CAPTURE_UNSAFE, RUDA_E_OOM_HOST, RUDA_E_OOM_DEVICE, RUDA_E_BUDGET,
 *  RUDA_E_CALLBACK, RUDA_E_DEVICE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_contiguous(ruda_stream stream, ruda_tensor tensor,
                                                      ruda_tensor* out) RUDA_NX;

/** A contiguous copy with another dtype. To a float: round to nearest even; what is beyond its largest number
 *  becomes infinity where the dtype has one, else the largest (F8E4M3 448, F4E2M1 6); ruda_tensor_convert has
 *  the choice. From a float to an integer: toward zero, saturating, NaN becomes 0. Between integers:
 *  saturating. To BOOL: 1 where not zero. From a block format: its exact values, rounded to the float dtype
 *  asked for. FP8 and FP4 are encodings, never integers. Status: as ruda_tensor_contiguous, RUDA_E_DTYPE (to
 *  a block format, or from one to an integer), RUDA_E_UNSUPPORTED (from Q2_K or Q3_K). [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_cast(ruda_stream stream, ruda_tensor tensor, uint32_t dtype,
                                                ruda_tensor* out) RUDA_NX;

/** As ruda_tensor_cast, with a choice of RUDA_OVERFLOW_* for the dtypes F8E4M3 and F8E5M2; for others
 *  `overflow` is RUDA_OVERFLOW_DEFAULT. A tensor that is of the dtype already keeps its bits.
 *  Status: as ruda_tensor_cast, RUDA_E_ARGUMENT (overflow). [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_convert(ruda_stream stream, ruda_tensor tensor, uint32_t dtype,
                                                   uint32_t overflow, ruda_tensor* out) RUDA_NX;

/** Copies `from`, of any strides, into `to`, of the same shape and any writable strides; dtypes are
 *  converted as in ruda_tensor_cast. The two must not overlap. `from` may belong to another context, of
 *  another device or backend, when it is contiguous and of the dtype of `to`: the copy is ordered after its
 *  last writer, goes from device to device where there is a way and through the host, waiting, where there
 *  is none; it is not capturable. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_SHAPE, RUDA_E_DTYPE,
 *  RUDA_E_OVERLAP, RUDA_E_ARGUMENT (`to` is read-only, stream of another context), RUDA_E_UNSUPPORTED
 *  (`from` of another context has strides), RUDA_E_WRONG_STREAM, RUDA_E_STREAM_POISONED,
 *  RUDA_E_CAPTURE_UNSAFE, RUDA_E_OOM_HOST, RUDA_E_OOM_DEVICE, RUDA_E_BUDGET, RUDA_E_CALLBACK,
 *  RUDA_E_DEVICE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_copy(ruda_stream stream, ruda_tensor from, ruda_tensor to) RUDA_NX;

/** Exports a tensor by DLPack 1.x; the result holds a reference until its deleter is called, from any thread.
 *  consumer = stream on which the memory will be used: it is ordered after the last writer, and when the last
 *  reference goes the memory waits for what was submitted to it by then. NULL = no ordering: the consumer's
 *  work must have ended when it calls the deleter, for then the memory is free for later work of the library.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE,
 *  RUDA_E_UNSUPPORTED (dtype that DLPack has no exact code for), RUDA_E_ARGUMENT (flags not 0, consumer of
 *  another context), RUDA_E_CAPTURE_UNSAFE and RUDA_E_DEVICE (ordering after the last writer). [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_to_dlpack(ruda_tensor tensor, ruda_stream consumer, uint64_t flags,
                                                     struct DLManagedTensorVersioned** out) RUDA_NX;

/** As ruda_tensor_to_dlpack in the old form without version; refuses read-only tensors with
 *  RUDA_E_UNSUPPORTED. [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_to_dlpack_legacy(ruda_tensor tensor, ruda_stream consumer,
                                                            struct DLManagedTensor** out) RUDA_NX;

/** Imports a DLPack tensor: of host memory or CUDA's pinned host memory (device types 1, 3) into a CPU
 *  context, of CUDA device or managed memory (2, 13) with the context's ordinal as device_id into one of a
 *  GPU. There is no stream: the caller orders the producer's work before the first use, as with
 *  ruda_tensor_wrap. Ownership passes to the library only on RUDA_OK; on any failure the caller still owns
 *  `managed` and calls its deleter. The library calls it when the last tensor over the memory is gone and the
 *  work submitted with it has ended: inside a later call or on a thread of its own. Status: RUDA_E_NULL,
 *  RUDA_E_BAD_HANDLE, RUDA_E_UNSUPPORTED (major version, device, dtype, lanes), RUDA_E_SHAPE, RUDA_E_ARGUMENT
 *  (address not aligned to its element, flags not 0). [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_from_dlpack(ruda_context context,
                                                       struct DLManagedTensorVersioned* managed,
                                                       uint64_t flags, ruda_tensor* out) RUDA_NX;

/** As ruda_tensor_from_dlpack for the old form without version. [T] */
RUDA_API ruda_status RUDA_CALL ruda_tensor_from_dlpack_legacy(ruda_context context,
                                                              struct DLManagedTensor* managed,
                                                              ruda_tensor* out) RUDA_NX;

RUDA_END
#endif
