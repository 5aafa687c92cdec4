/* include/ruda/base.h - status, error record, handles, versions: what every header stands on. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_BASE_H
#define RUDA_BASE_H

#include <stddef.h>
#include <stdint.h>

#if defined(SWIG)
#define RUDA_CALL
#define RUDA_API
#elif defined(_WIN32)
#define RUDA_CALL __cdecl
#define RUDA_API RUDA_DLLSPEC
#else
#define RUDA_CALL
#define RUDA_API __attribute__((visibility("default")))
#endif

#if defined(__cplusplus) && !defined(SWIG)
#define RUDA_BEGIN extern "C" {
#define RUDA_END }
#define RUDA_NX noexcept
#else
#define RUDA_BEGIN
#define RUDA_END
#define RUDA_NX
#endif

/** Newest API level this header knows; rises by one with each minor release. */
#define RUDA_API_LEVEL 1

RUDA_BEGIN

/** 0 is success, 1..999 is information, status / 1000 is the category of an error. Codes are never
 *  renumbered. A docstring names the statuses of its function; beside them any function may return
 *  RUDA_E_OOM_HOST (memory for the library's own records ran out) and RUDA_E_INTERNAL, and one that makes a
 *  plan for a GPU RUDA_E_DEVICE in a child of a fork. */
typedef int32_t ruda_status;

/** 0 or 1. */
typedef uint32_t ruda_bool;

enum {
  RUDA_OK = 0,
  RUDA_END_OF_DATA = 1, /* nothing more to deliver; not an error */
  RUDA_PENDING = 2,     /* work is not finished yet; not an error */

  /* 1xxx: the caller's argument is wrong */
  RUDA_E_ARGUMENT = 1000,       /* a value is out of range or two values contradict each other */
  RUDA_E_NULL = 1001,           /* a required pointer or handle is NULL */
  RUDA_E_SHAPE = 1002,          /* a rank, extent or stride is not legal for the operator */
  RUDA_E_DTYPE = 1003,          /* a dtype is not legal for the operator */
  RUDA_E_BAD_HANDLE = 1004,     /* a handle is of another type or, as far as that can be told, stale */
  RUDA_E_STRUCT_TOO_NEW = 1005, /* a struct field that this library does not know is set */
  RUDA_E_OVERLAP = 1006,        /* memory of an output overlaps another operand */
  RUDA_E_INDEX = 1007,          /* an index is outside its range */
  RUDA_E_STATE = 1008,          /* the object is not in a state that allows the call */
  RUDA_E_ROWS = 1101,           /* grouped rows do not fit the weights */
  RUDA_E_NF4 = 1102,            /* an NF4 weight is malformed */
  RUDA_E_AWQ = 1103,            /* an AWQ weight is malformed */

  /* 2xxx: legal, but not supported here */
  RUDA_E_UNSUPPORTED = 2000,     /* no kernel of this device takes the problem */
  RUDA_E_BACKEND_MISSING = 2001, /* no driver or library; the message says where it was looked for */
  RUDA_E_NOT_BUILT = 2002,       /* this build of the library leaves the feature out */

  /* 3xxx: resources */
  RUDA_E_OOM_HOST = 3000,   /* host memory ran out */
  RUDA_E_OOM_DEVICE = 3001, /* device memory ran out */
  RUDA_E_BUDGET = 3002,     /* a stated limit would be exceeded */
  RUDA_E_WORKSPACE = 3003,  /* the workspace is smaller than the plan needs */

  /* 4xxx: device and stream state */
  RUDA_E_DEVICE = 4000,          /* the device reported an error; native_code holds it */
  RUDA_E_STREAM_POISONED = 4001, /* an earlier call failed; native_code holds its ruda_status */
  RUDA_E_CAPTURE_UNSAFE = 4002,  /* the call may not be made while a stream is captured */
  RUDA_E_WRONG_STREAM = 4003,    /* the tensor was last written on another stream; fence it first */

  /* 5xxx: files and formats */
  RUDA_E_IO = 5000,        /* the operating system refused; native_code holds errno */
  RUDA_E_FORMAT = 5001,    /* a file or text breaks its format */
  RUDA_E_NOT_FOUND = 5002, /* no such file, tensor, key or operator */

  /* 6xxx: communication between ranks */
  RUDA_E_COMM = 6000,         /* the transport failed */
  RUDA_E_COMM_ABORTED = 6001, /* the communicator was aborted */

  /* 7xxx: stopped on request */
  RUDA_E_CANCELLED = 7000, /* a cancel token was raised */
  RUDA_E_TIMEOUT = 7001,   /* the time allowed ran out */

  RUDA_E_CALLBACK = 8000, /* the caller's callback returned non-zero; native_code holds it */
  RUDA_E_INTERNAL = 9000  /* a fault of the library itself */
};

/** Opaque, reference-counted handles. Release order is free: a child keeps its parents alive. The letter at
 *  the end of a comment says which threads may call: [T] any, also at once with one handle; [I] as [T], of an
 *  object that does not change; [S] one thread at a time for each object. A thread holds a reference of its
 *  own to what it uses (ruda_retain): one that uses a handle whose last reference another thread drops uses
 *  freed memory, against which RUDA_E_BAD_HANDLE is no guard. */
#define RUDA_HANDLE(name) typedef struct ruda_##name##_s* ruda_##name
RUDA_HANDLE(context);
RUDA_HANDLE(stream);
RUDA_HANDLE(event);
RUDA_HANDLE(tensor);
RUDA_HANDLE(plan);
RUDA_HANDLE(workspace);
RUDA_HANDLE(graph);
RUDA_HANDLE(cancel);
RUDA_HANDLE(paged_schedule);
RUDA_HANDLE(store);
RUDA_HANDLE(model);
RUDA_HANDLE(tokenizer);
RUDA_HANDLE(session);

/** Extension record: optional extras hung on the `next` field of a descriptor. An unknown type is
 *  RUDA_E_STRUCT_TOO_NEW unless flags bit 0 ("skip if unknown") is set. */
typedef struct ruda_ext {
  uint32_t type, flags;
  const struct ruda_ext* next;
} ruda_ext;

/** What the last failing call of the calling thread left behind. Set `struct_size` before the call. The texts
 *  live until the next failing call on the same thread. */
typedef struct ruda_error_info {
  uint32_t struct_size;
  ruda_status status;
  int32_t arg_index;          /* zero-based position of the argument at fault; -1 = none */
  int32_t native_code;        /* errno, CUDA or vendor code, callback's value; 0 = none */
  const char* native_library; /* "" = none */
  const char* function;       /* the ruda_ function that failed */
  const char* message;        /* one line, never NULL */
} ruda_error_info;
#define RUDA_ERROR_INFO_INIT \
  { (uint32_t)sizeof(ruda_error_info), 0, -1, 0, NULL, NULL, NULL }

/** API level of the loaded library: a function whose level is at most this is present. [T] */
RUDA_API uint32_t RUDA_CALL ruda_api_level(void) RUDA_NX;

/** Version text of the loaded library, such as "0.1.0"; static storage. [T] */
RUDA_API const char* RUDA_CALL ruda_version(void) RUDA_NX;

/** Name of a status, such as "RUDA_E_SHAPE"; "RUDA_E_UNKNOWN" for a code this library does not know. Never
 *  NULL. [T] */
RUDA_API const char* RUDA_CALL ruda_status_name(ruda_status status) RUDA_NX;

/** Copies the calling thread's error record into `inout` (up to its struct_size). Before any failure the
 *  status is RUDA_OK and the texts are empty. Status: RUDA_E_NULL, RUDA_E_ARGUMENT (struct_size
 *  below 8 or no multiple of 8); these two do not change the record. [T] */
RUDA_API ruda_status RUDA_CALL ruda_last_error(ruda_error_info* inout) RUDA_NX;

/** Adds a reference to any handle; the caller must already hold one.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_retain(void* handle) RUDA_NX;

/** Drops a reference to any handle; NULL is fine. Never waits for a device. Objects that queued work still
 *  uses die when that work is done. Status: RUDA_E_BAD_HANDLE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_release(void* handle) RUDA_NX;

RUDA_END
#endif
