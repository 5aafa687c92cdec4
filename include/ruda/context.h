/* include/ruda/context.h - contexts, streams, events, capture, logging, host memory and host threads. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_CONTEXT_H
#define RUDA_CONTEXT_H

#include "ruda/base.h"

RUDA_BEGIN

enum { RUDA_BACKEND_AUTO = 0, RUDA_BACKEND_CPU = 1, RUDA_BACKEND_CUDA = 2 };

enum { RUDA_LOG_ERROR = 1, RUDA_LOG_WARNING = 2, RUDA_LOG_INFO = 3, RUDA_LOG_DEBUG = 4 };

/** Receives one log line. Called from any thread; must not call ruda functions. */
typedef void(RUDA_CALL* ruda_log_fn)(void* user, uint32_t level, const char* component, const char* text);

/** Frees memory that the caller lent to a tensor. Called once, from any thread; must not call ruda
 *  functions. */
typedef void(RUDA_CALL* ruda_free_fn)(void* user, void* data);

/** Host memory of the caller for tensors and workspaces of a CPU context. `alloc` stores a pointer aligned to
 *  `align` (a power of two) in `*out` and returns 0; any other value stops the operation with
 *  RUDA_E_CALLBACK; a pointer that is NULL or not aligned is RUDA_E_OOM_HOST. Both are called from any thread
 *  and must not call ruda functions. */
typedef struct ruda_host_allocator {
  uint32_t struct_size, reserved;
  void* user;
  int32_t(RUDA_CALL* alloc)(void* user, uint64_t bytes, uint64_t align, void** out);
  void(RUDA_CALL* free)(void* user, void* data, uint64_t bytes, uint64_t align);
} ruda_host_allocator;

/** Threads of the caller for the work of a CPU context. `parallel` runs task(arg, part) once for every part
 *  in [0, parts), on any threads, and returns 0 after the last one ended; another value is
 *  RUDA_E_CALLBACK. */
typedef struct ruda_host_pool {
  uint32_t struct_size, size; /* size: how many parts are worth running at once, at least 1 */
  void* user;
  int32_t(RUDA_CALL* parallel)(void* user, uint32_t parts, void(RUDA_CALL* task)(void* arg, uint32_t part),
                               void* arg);
} ruda_host_pool;

/** What ruda_context_create needs; 0 = default. Memory is counted in blocks, up to 1/4 over what is asked. */
typedef struct ruda_context_desc {
  uint32_t struct_size;
  /* RUDA_BACKEND_*; AUTO = CUDA where ruda_backend_probe counts a device, else the CPU */
  uint32_t backend;
  const ruda_ext* next;
  int32_t device;                       /* ordinal on a GPU backend, 0 on the CPU */
  uint32_t host_threads;                /* threads of the CPU backend; 0 = all that the process may use */
  const ruda_host_allocator* allocator; /* copied; NULL = the library's own */
  const ruda_host_pool* host_pool;      /* copied; NULL = the context's own threads */
  ruda_log_fn log;                      /* NULL = lines wait for ruda_log_drain */
  void* log_user;
  uint32_t log_level;           /* most detailed level delivered; 0 = RUDA_LOG_WARNING */
  uint32_t plan_cache_capacity; /* plans that eager calls keep; 0 = 1024 */
  /* memory that the library allocates for tensors and workspaces, the caller's own not counted; 0 = no limit;
     beyond it RUDA_E_BUDGET */
  uint64_t memory_limit_bytes;
  const char* tune_file; /* copied; where autotuned plans keep their times on disk; NULL = nowhere */
} ruda_context_desc;
#define RUDA_CONTEXT_DESC_INIT \
  { (uint32_t)sizeof(ruda_context_desc), 0, NULL, 0, 0, NULL, NULL, NULL, NULL, 0, 0, 0, NULL }

/** What a context is. Texts live as long as the context. */
typedef struct ruda_context_info {
  uint32_t struct_size;
  uint32_t backend; /* RUDA_BACKEND_CPU or RUDA_BACKEND_CUDA */
  int32_t device;
  uint32_t host_threads;
  const char* device_name;  /* such as "cpu amx" or the GPU's name */
  uint64_t allocated_bytes; /* held by live tensors and workspaces */
  uint64_t cached_bytes;    /* kept for later allocations */
  uint64_t peak_bytes;      /* highest allocated_bytes so far */
} ruda_context_info;
#define RUDA_CONTEXT_INFO_INIT \
  { (uint32_t)sizeof(ruda_context_info), 0, 0, 0, NULL, 0, 0, 0 }

/** Stores how many devices of `backend` answer. The CPU always has one.
 *  Status: RUDA_E_NULL, RUDA_E_ARGUMENT (unknown backend), RUDA_E_BACKEND_MISSING (no driver; the count is
 *  0), RUDA_E_NOT_BUILT. [T] */
RUDA_API ruda_status RUDA_CALL ruda_backend_probe(uint32_t backend, uint32_t* out_device_count) RUDA_NX;

/** Writes a report of every backend and library: path and version, files that were passed over, or why it is
 *  missing. To ask their versions it loads those of NVIDIA's libraries that it finds, and they stay loaded:
 *  more than 1 GB of address space if all are there, half of it cuBLASLt's. At most `capacity`
 *  bytes with the ending NUL are written (text may be NULL if capacity is 0); *out_needed is the size of the
 *  whole text with its NUL. Status: RUDA_E_NULL. [T] */
RUDA_API ruda_status RUDA_CALL ruda_backend_report(char* text, uint64_t capacity,
                                                   uint64_t* out_needed) RUDA_NX;

/** Makes a context: one device of one backend with its caches, threads and log. Several devices need several
 *  contexts; two contexts of one device are strangers, with memory and limit of their own each: only
 *  ruda_tensor_copy takes a tensor of the other. The caller releases it; it lives on until its last child is
 *  released. A CPU context uses the best instruction set of the processor, or that which the environment
 *  variable RUDA_CPU_ISA names: scalar, sse4, avx2, avx512, avx512bf16 or amx, on Arm scalar or neon. It
 *  counts once a process, as it is when the first context is made; empty is as not set.
 *  Status: RUDA_E_NULL, RUDA_E_ARGUMENT (unknown backend, device out of range, RUDA_CPU_ISA names an unknown
 *  or absent instruction set), RUDA_E_STRUCT_TOO_NEW, RUDA_E_BACKEND_MISSING, RUDA_E_NOT_BUILT,
 *  RUDA_E_UNSUPPORTED (a GPU that this build has no code for, with AUTO as well), RUDA_E_OOM_HOST,
 *  RUDA_E_DEVICE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_context_create(const ruda_context_desc* desc, ruda_context* out) RUDA_NX;

/** Fills `inout` up to its struct_size. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT. [T] */
RUDA_API ruda_status RUDA_CALL ruda_context_get_info(ruda_context context, ruda_context_info* inout) RUDA_NX;

/** Counts the objects that hang below a context (streams, tensors, plans, ...): 0 means that nothing leaked.
 *  Plans kept by the eager cache are not counted. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_context_live_objects(ruda_context context, uint64_t* out) RUDA_NX;

/** Gives cached memory and cached eager plans back. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_DEVICE (a
 *  GPU's context in a child of a fork). [T] */
RUDA_API ruda_status RUDA_CALL ruda_context_trim(ruda_context context) RUDA_NX;

/** Sets or clears (NULL) the log callback; returns when no call of the former one is in flight. Must not be
 *  called from a log callback. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (unknown level). [T]
 *  */
RUDA_API ruda_status RUDA_CALL ruda_log_set(ruda_context context, ruda_log_fn log, void* user,
                                            uint32_t level) RUDA_NX;

/** Moves waiting log lines into `text`, whole lines "level component text\n" only, NUL at the end; *out_used
 *  is the bytes without the NUL, 0 when none waits. The 256 newest lines wait; older ones are dropped and
 *  counted in a line. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (capacity below 1024). [T] */
RUDA_API ruda_status RUDA_CALL ruda_log_drain(ruda_context context, char* text, uint64_t capacity,
                                              uint64_t* out_used) RUDA_NX;

/** Makes a stream: an ordered queue of work. On the CPU work runs at the call; on a GPU it is a non-blocking
 *  stream, which CUDA does not order with the legacy default stream. `flags` must be 0.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT, RUDA_E_DEVICE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_stream_create(ruda_context context, uint32_t flags,
                                                  ruda_stream* out) RUDA_NX;

/** Borrows a native stream (cudaStream_t) of the context's device. It may be destroyed, with work pending,
 *  once the release of the last reference to the handle has returned. `native` NULL is RUDA_E_NULL, unless
 *  `flags` is 1: then it means the legacy default stream; with another `native` 1 says nothing.
 *  cudaStreamLegacy and cudaStreamPerThread are taken as they are; with the latter a handle serves one
 *  thread. Two handles over one native stream are two streams: a tensor is fenced from one to the other, and
 *  each has its own errors and reports of indices. Status: as ruda_stream_create, RUDA_E_ARGUMENT (a stream
 *  of another device), RUDA_E_UNSUPPORTED on the CPU. [T] */
RUDA_API ruda_status RUDA_CALL ruda_stream_wrap(ruda_context context, void* native, uint32_t flags,
                                                ruda_stream* out) RUDA_NX;

/** Waits for all submitted work and reports the first asynchronous error. The first call that meets a failure
 *  of the device answers RUDA_E_DEVICE with CUDA's code; calls on the stream after it RUDA_E_STREAM_POISONED.
 *
 *  An index outside its range, which a kernel on a GPU met in this stream, is told once, by the next call of
 *  this function or of ruda_tensor_read on the same handle, and by no other call and no other stream; of
 *  several since then one is told, not always the first. The stream stays usable.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STREAM_POISONED, RUDA_E_CAPTURE_UNSAFE, RUDA_E_DEVICE,
 *  RUDA_E_INDEX (a device kernel met an index outside its range). [T] */
RUDA_API ruda_status RUDA_CALL ruda_stream_sync(ruda_stream stream) RUDA_NX;

/** RUDA_OK when all submitted work is done, RUDA_PENDING when not.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STREAM_POISONED, RUDA_E_CAPTURE_UNSAFE, RUDA_E_DEVICE. [T]
 *  */
RUDA_API ruda_status RUDA_CALL ruda_stream_query(ruda_stream stream) RUDA_NX;

/** Later work of `stream` waits for `event`; nothing to do when the event was never recorded.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (event of another backend),
 *  RUDA_E_CAPTURE_UNSAFE, RUDA_E_DEVICE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_stream_wait(ruda_stream stream, ruda_event event) RUDA_NX;

/** Stores a new reference to the stream's context. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_stream_get_context(ruda_stream stream, ruda_context* out) RUDA_NX;

/** Makes an event, a point in a stream's order. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_DEVICE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_event_create(ruda_context context, ruda_event* out) RUDA_NX;

/** Marks the work submitted to `stream` so far; in a wrapped stream that is the caller's own work, too.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (stream of another context),
 *  RUDA_E_CAPTURE_UNSAFE, RUDA_E_DEVICE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_event_record(ruda_event event, ruda_stream stream) RUDA_NX;

/** Waits until the marked work is done; at once if none was. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE,
 *  RUDA_E_DEVICE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_event_sync(ruda_event event) RUDA_NX;

/** Seconds between two recorded events. Waits for both.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_STATE (not recorded), RUDA_E_ARGUMENT (events of two
 *  contexts), RUDA_E_DEVICE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_event_elapsed(ruda_event from, ruda_event to,
                                                  double* out_seconds) RUDA_NX;

/** Starts recording a graph: work submitted to the stream is kept instead of run. Eager calls and
 *  ruda_plan_execute with workspace NULL are recorded too: results and workspaces lie in memory of the graph,
 *  and each launch writes them anew. A call that waits, copies from or to the host, or involves another
 *  stream answers RUDA_E_CAPTURE_UNSAFE and leaves the capture valid. Run the plans once before: their code
 *  is loaded by the first run. What the caller launches into a wrapped stream meanwhile is recorded as well.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_UNSUPPORTED (CPU), RUDA_E_STATE (already capturing),
 *  RUDA_E_CAPTURE_UNSAFE (the legacy default stream), RUDA_E_STREAM_POISONED, RUDA_E_DEVICE. [S] */
RUDA_API ruda_status RUDA_CALL ruda_capture_begin(ruda_stream stream) RUDA_NX;

/** Ends the recording. The graph keeps every tensor, plan and workspace that it uses.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_UNSUPPORTED (CPU), RUDA_E_STATE, RUDA_E_CAPTURE_UNSAFE (the
 *  recording was broken from outside; there is no graph), RUDA_E_DEVICE. [S] */
RUDA_API ruda_status RUDA_CALL ruda_capture_end(ruda_stream stream, ruda_graph* out) RUDA_NX;

/** Submits a graph to a stream of the same context.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (stream of another context), RUDA_E_WRONG_STREAM
 *  (a tensor of the graph that the caller holds was last written on another stream), RUDA_E_CAPTURE_UNSAFE
 *  (the stream is under capture), RUDA_E_DEVICE, RUDA_E_STREAM_POISONED, RUDA_E_STATE (a schedule that it
 *  advances has no room for the step). [S] */
RUDA_API ruda_status RUDA_CALL ruda_graph_launch(ruda_graph graph, ruda_stream stream) RUDA_NX;

RUDA_END
#endif
