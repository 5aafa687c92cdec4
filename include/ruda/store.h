/* include/ruda/store.h - files of tensors and metadata, opened in place: GGUF. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_STORE_H
#define RUDA_STORE_H

#include "ruda/tensor.h"

RUDA_BEGIN

enum {
  RUDA_STORE_DETECT = 0,
  RUDA_STORE_GGUF = 1 /* GGUF version 2 and 3, little-endian, one file */
};

/** Element type of a metadata entry that is text: bytes, UTF-8 by custom, not checked. Other entries carry a
 *  dtype code. */
enum { RUDA_META_STRING = 0x1000 };

/** How a store is opened (NULL = all defaults). Zero in any field means its default. */
typedef struct ruda_store_desc {
  uint32_t struct_size, format; /* RUDA_STORE_*; DETECT looks at the first bytes */
  const ruda_ext* next;
  uint64_t max_tensors; /* more are refused with RUDA_E_BUDGET; 0 = what the file's size allows */
  uint64_t max_meta;    /* likewise for metadata entries */
} ruda_store_desc;
#define RUDA_STORE_DESC_INIT \
  { (uint32_t)sizeof(ruda_store_desc), 0, NULL, 0, 0 }

/** One tensor of a store. `name` and `shape` live as long as the store. */
typedef struct ruda_store_info {
  uint32_t struct_size;
  uint32_t dtype; /* block formats: 256 + the type number of the file, also those without kernels here */
  const char* name;
  const int64_t* shape; /* `rank` extents, row-major: the last is contiguous in the file */
  uint32_t rank, reserved;
  uint64_t offset_bytes; /* from the start of the file */
  uint64_t bytes;
} ruda_store_info;
#define RUDA_STORE_INFO_INIT \
  { (uint32_t)sizeof(ruda_store_info), 0, NULL, NULL, 0, 0, 0, 0 }

/** One metadata entry. `key` lives as long as the store. */
typedef struct ruda_meta_info {
  uint32_t struct_size;
  uint32_t dtype; /* RUDA_U8, RUDA_I8, ..., RUDA_F64, RUDA_BOOL, or RUDA_META_STRING */
  const char* key;
  ruda_bool is_array;
  uint32_t reserved;
  uint64_t count; /* elements; 1 for a scalar */
} ruda_meta_info;
#define RUDA_META_INFO_INIT \
  { (uint32_t)sizeof(ruda_meta_info), 0, NULL, 0, 0, 0 }

/** Maps a file read-only and reads its tables; the data stays on disk until it is used. Every size in the
 *  file is checked: a damaged file is refused, never read past its end, and never makes the library allocate
 *  more than its own size accounts for. The file must not be shortened while the store or a tensor of it
 *  lives. Status: RUDA_E_NULL, RUDA_E_ARGUMENT (unknown format), RUDA_E_STRUCT_TOO_NEW, RUDA_E_NOT_FOUND
 *  (native_code = errno), RUDA_E_IO (not a regular file, no permission; native_code = errno), RUDA_E_FORMAT
 *  (damaged; the message names the entry and both values), RUDA_E_UNSUPPORTED (version 1, big-endian, an
 *  unknown tensor type, arrays of arrays, one part of a split model), RUDA_E_BUDGET, RUDA_E_OOM_HOST. [T] */
RUDA_API ruda_status RUDA_CALL ruda_store_open(const char* path, const ruda_store_desc* desc,
                                               ruda_store* out) RUDA_NX;

/** As ruda_store_open on `bytes` bytes at `data`, which must stay unchanged. `on_free` (may be NULL) is
 *  called with `user` and `data` when the store and every tensor of it are gone; it is not called when this
 *  function fails. For tensors to be usable in place `data` should be aligned to 64 bytes. Status: as
 *  ruda_store_open without RUDA_E_IO. [T] */
RUDA_API ruda_status RUDA_CALL ruda_store_open_memory(const void* data, uint64_t bytes,
                                                      const ruda_store_desc* desc, ruda_free_fn on_free,
                                                      void* user, ruda_store* out) RUDA_NX;

/** Format (RUDA_STORE_*) and format version. Either out may be NULL. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE.
 *  [I] */
RUDA_API ruda_status RUDA_CALL ruda_store_get_format(ruda_store store, uint32_t* out_format,
                                                     uint32_t* out_version) RUDA_NX;

/** Number of tensors. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE. [I] */
RUDA_API ruda_status RUDA_CALL ruda_store_count(ruda_store store, uint64_t* out) RUDA_NX;

/** Name of tensor `index`, in file order; lives as long as the store.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_INDEX. [I] */
RUDA_API ruda_status RUDA_CALL ruda_store_name(ruda_store store, uint64_t index, const char** out) RUDA_NX;

/** Describes tensor `index`. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (struct_size),
 *  RUDA_E_INDEX. [I] */
RUDA_API ruda_status RUDA_CALL ruda_store_get_info(ruda_store store, uint64_t index,
                                                   ruda_store_info* inout) RUDA_NX;

/** Index of the tensor called `name`. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_NOT_FOUND. [I] */
RUDA_API ruda_status RUDA_CALL ruda_store_find(ruda_store store, const char* name, uint64_t* out) RUDA_NX;

/** Address of the bytes of tensor `index` in the mapping; lives as long as the store.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_INDEX, RUDA_E_IO (the file's size has changed). [I] */
RUDA_API ruda_status RUDA_CALL ruda_store_data(ruda_store store, uint64_t index, const void** out_data,
                                               uint64_t* out_bytes) RUDA_NX;

/** Read-only tensor on the bytes of tensor `index` where they lie: nothing is copied, and the store stays
 *  mapped until the tensor's storage is gone. For contexts whose device computes in host memory. Status:
 *  RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_INDEX, RUDA_E_UNSUPPORTED (the device has its own memory: use
 *  ruda_store_load; an encoding that tensors do not have), RUDA_E_ARGUMENT (memory given to
 *  ruda_store_open_memory is not aligned to its elements), RUDA_E_IO (the file's size has changed),
 *  RUDA_E_OOM_HOST. [T] */
RUDA_API ruda_status RUDA_CALL ruda_store_tensor(ruda_store store, ruda_context context, uint64_t index,
                                                 ruda_tensor* out) RUDA_NX;

/** New tensor on the stream's device with a copy of tensor `index`.
 *  Status: as ruda_store_tensor and ruda_tensor_write, RUDA_E_OOM_DEVICE, RUDA_E_BUDGET. [T] */
RUDA_API ruda_status RUDA_CALL ruda_store_load(ruda_store store, ruda_stream stream, uint64_t index,
                                               ruda_tensor* out) RUDA_NX;

/** Number of metadata entries. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE. [I] */
RUDA_API ruda_status RUDA_CALL ruda_store_meta_count(ruda_store store, uint64_t* out) RUDA_NX;

/** Describes metadata entry `index`, in file order.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (struct_size), RUDA_E_INDEX. [I] */
RUDA_API ruda_status RUDA_CALL ruda_store_meta_get_info(ruda_store store, uint64_t index,
                                                        ruda_meta_info* inout) RUDA_NX;

/** Index of the metadata entry called `key`. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_NOT_FOUND. [I] */
RUDA_API ruda_status RUDA_CALL ruda_store_meta_find(ruda_store store, const char* key, uint64_t* out) RUDA_NX;

/** Element `element` of an integer or boolean entry. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_INDEX,
 *  RUDA_E_DTYPE (floats, text), RUDA_E_ARGUMENT (a U64 above the largest I64). [I] */
RUDA_API ruda_status RUDA_CALL ruda_store_meta_i64(ruda_store store, uint64_t index, uint64_t element,
                                                   int64_t* out) RUDA_NX;

/** As ruda_store_meta_i64 without a sign; RUDA_E_ARGUMENT for a negative value. [I] */
RUDA_API ruda_status RUDA_CALL ruda_store_meta_u64(ruda_store store, uint64_t index, uint64_t element,
                                                   uint64_t* out) RUDA_NX;

/** Element `element` of any numeric entry, rounded to double.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_INDEX, RUDA_E_DTYPE (text). [I] */
RUDA_API ruda_status RUDA_CALL ruda_store_meta_f64(ruda_store store, uint64_t index, uint64_t element,
                                                   double* out) RUDA_NX;

/** Bytes of string `element`, not NUL-terminated; they live as long as the store. The first call on an array
 *  indexes it. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_INDEX, RUDA_E_DTYPE (not text),
 *  RUDA_E_OOM_HOST. [T] */
RUDA_API ruda_status RUDA_CALL ruda_store_meta_string(ruda_store store, uint64_t index, uint64_t element,
                                                      const char** out_data, uint64_t* out_bytes) RUDA_NX;

/** Copies string `element` as text. Same buffer rule as ruda_backend_report.
 *  Status: as ruda_store_meta_string. [T] */
RUDA_API ruda_status RUDA_CALL ruda_store_meta_text(ruda_store store, uint64_t index, uint64_t element,
                                                    char* text, uint64_t capacity,
                                                    uint64_t* out_needed) RUDA_NX;

RUDA_END
#endif
