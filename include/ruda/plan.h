/* include/ruda/plan.h - plans, workspaces, execution, cancellation: shared by every operator. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_PLAN_H
#define RUDA_PLAN_H

#include "ruda/tensor.h"

RUDA_BEGIN

/** How strictly F32 arithmetic is done. */
enum {
  RUDA_MATH_DEFAULT = 0, /* the operator's documented error bound; F32 products are exact F32 */
  RUDA_MATH_STRICT = 1,  /* no reduced-precision step that the operand dtypes do not already imply */
  RUDA_MATH_TF32 = 2     /* F32 products may use TF32 on a GPU */
};

/** Named ways to compute; each operator's page says which it knows, and operators without strategies ignore
 *  the field. AUTO takes the fastest that accepts the problem. */
enum {
  RUDA_STRATEGY_AUTO = 0,
  RUDA_STRATEGY_FALLBACK = 1,
  RUDA_STRATEGY_FLASH = 2,
  RUDA_STRATEGY_UNIT = 3,
  RUDA_STRATEGY_DIRECT = 4,
  RUDA_STRATEGY_IMPLICIT_GEMM = 5,
  RUDA_STRATEGY_SCALAR = 6,
  RUDA_STRATEGY_TENSOR_CORE = 7,
  RUDA_STRATEGY_SERIAL = 8,
  RUDA_STRATEGY_PLANE = 9
};

enum { RUDA_DETERMINISM_DEFAULT = 0, RUDA_DETERMINISM_REQUIRED = 1, RUDA_DETERMINISM_NOT_NEEDED = 2 };

/** Options that every descriptor points to (NULL = all defaults). Zero in any field means its default. */
typedef struct ruda_plan_options {
  uint32_t struct_size, strategy; /* RUDA_STRATEGY_* */
  const ruda_ext* next;
  const char* kernel; /* take just this kernel, such as "cpu/rms_norm/scalar"; NULL = first that accepts */
  uint32_t math, determinism;     /* RUDA_MATH_*, RUDA_DETERMINISM_* */
  uint64_t workspace_limit_bytes; /* kernels that need more are passed over; 0 = no limit */
  uint32_t autotune, reserved;    /* 1 = ruda_plan_warm times the kernels that accept and keeps the fastest */
} ruda_plan_options;
#define RUDA_PLAN_OPTIONS_INIT \
  { (uint32_t)sizeof(ruda_plan_options), 0, NULL, NULL, 0, 0, 0, 0, 0 }

/** What a binding holds. */
enum {
  RUDA_BIND_TENSOR = 0,
  RUDA_BIND_HANDLE = 1, /* any other handle: a schedule, a routing, weights, ... */
  RUDA_BIND_F64 = 2,
  RUDA_BIND_I64 = 3 /* also for a slot of a double, where a double holds the integer exactly */
};

/** Ties a value to a slot of a plan. 16 bytes, frozen. */
typedef struct ruda_binding {
  uint32_t slot, kind;
  union {
    void* handle;
    double f64;
    int64_t i64;
  } v;
} ruda_binding;

/** What a plan needs and promises. */
typedef struct ruda_plan_info {
  uint32_t struct_size, slot_count;
  uint64_t workspace_bytes; /* 0 is common; with autotune that of the largest kernel that accepts */
  uint64_t workspace_align;
  ruda_bool capturable, deterministic;
  const char* op;     /* such as "rms_norm"; static */
  const char* kernel; /* such as "cpu/rms_norm/rows"; lives as long as the plan; autotuning may change it */
} ruda_plan_info;
#define RUDA_PLAN_INFO_INIT \
  { (uint32_t)sizeof(ruda_plan_info), 0, 0, 0, 0, 0, NULL, NULL }

/** Per-call options of ruda_plan_execute. It has no _INIT: { .struct_size = sizeof(ruda_exec_opts) }. */
typedef struct ruda_exec_opts {
  uint32_t struct_size, flags; /* flags must be 0 */
  ruda_cancel cancel;          /* NULL = cannot be cancelled */
  uint64_t timeout_ns;         /* 0 = none; looked at where a token is: see ruda_cancel_request */
} ruda_exec_opts;

/** Describes a plan. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (struct_size). [I] */
RUDA_API ruda_status RUDA_CALL ruda_plan_query(ruda_plan plan, ruda_plan_info* inout) RUDA_NX;

/** Name and direction of a slot: *out_is_output is 1 for an output. `out_name` is static text.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_INDEX. [I] */
RUDA_API ruda_status RUDA_CALL ruda_plan_get_slot(ruda_plan plan, uint32_t slot, const char** out_name,
                                                  ruda_bool* out_is_output) RUDA_NX;

/** Times the kernels when the plan's options ask for autotune; without it there is nothing to do: libraries
 *  are opened when the plan is made, and a GPU loads a kernel's code at its first run. Autotuning runs every
 *  kernel that accepts the problem on scratch memory as large as the operands and the largest workspace, and
 *  keeps the fastest; ruda_plan_explain shows the times. Times are kept for the process by problem, device
 *  and build of the library, and in the context's tune_file; a file that is damaged or of another build is
 *  not used, which the log says, and only one of another build is replaced. A plan with a handle among its
 *  operands (a schedule) is not timed. Kernels may differ within the operator's error bound, so the bits of a
 *  result may change with the choice. May run beside ruda_plan_execute. Status: RUDA_E_NULL,
 *  RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (stream of another context), RUDA_E_STREAM_POISONED,
 *  RUDA_E_BACKEND_MISSING, RUDA_E_OOM_HOST, RUDA_E_OOM_DEVICE, RUDA_E_BUDGET, RUDA_E_CALLBACK, RUDA_E_DEVICE,
 *  RUDA_E_CAPTURE_UNSAFE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_plan_warm(ruda_plan plan, ruda_stream stream) RUDA_NX;

/** Writes which kernel was chosen and why, in lines; no newline ends the text. What belongs to a heading
 *  stands below it, two spaces in:
 *
 *      copy: cpu/copy/rows
 *      declined before it:
 *        cpu/copy/memory: strided
 *      operands:
 *        x: F32 [3, 8] strided
 *        y: F32 [3, 8]
 *      workspace: 0 bytes
 *
 *  The first line holds operator and kernel, in brackets what the kernel chose for itself: on the CPU that
 *  may be the level of the process, up to which the kernel runs the best code it has. "declined before it:"
 *  is there where a kernel declined, with the reason of each. With the option autotune it is "declined:", and
 *  before it comes "autotune: " and how the choice came about, with the time of each kernel that accepted.
 *  "options:" is there where plan options differ from their defaults, with a line for each such as
 *  "math: tf32"; a kernel that the options name has no reasons, as no other was asked. An operand that is no
 *  tensor has its kind: "double", "int64", or the name of an object's kind. Names, reasons and what stands in
 *  brackets may change from version to version. Same buffer rule as ruda_backend_report, but out_needed may
 *  be NULL. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE. [I] */
RUDA_API ruda_status RUDA_CALL ruda_plan_explain(ruda_plan plan, char* text, uint64_t capacity,
                                                 uint64_t* out_needed) RUDA_NX;

/** Runs a plan on a stream with the values bound to its slots. Every slot that is not optional is bound once,
 *  outputs too: where the descriptor may leave out y, its layout has a default, but the slot is bound;
 *  a tensor's dtype, shape and strides are those that the plan was made for. Outputs may not overlap other
 *  operands unless the operator's page allows it; no operand may overlap the bytes of the workspace that the
 *  plan needs. Bytes between the rows of a strided tensor are not its own. workspace NULL = drawn from the
 *  context. On any error before submission nothing is written.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (slot unknown, bound twice, missing, wrong kind,
 *  an integer that no double holds, read-only output, other context), RUDA_E_SHAPE, RUDA_E_DTYPE,
 *  RUDA_E_OVERLAP, RUDA_E_INDEX (CPU), RUDA_E_STATE (a bound object is not ready), RUDA_E_STRUCT_TOO_NEW,
 *  RUDA_E_WORKSPACE, RUDA_E_WRONG_STREAM, RUDA_E_STREAM_POISONED, RUDA_E_CAPTURE_UNSAFE, RUDA_E_CANCELLED,
 *  RUDA_E_TIMEOUT, RUDA_E_OOM_HOST, RUDA_E_OOM_DEVICE, RUDA_E_BUDGET, RUDA_E_CALLBACK (the caller's allocator
 *  or threads), RUDA_E_DEVICE. After a cancelled call the outputs are undefined and every object stays
 *  usable. [T] on the plan; one thread at a time on a workspace and its outputs. */
RUDA_API ruda_status RUDA_CALL ruda_plan_execute(ruda_plan plan, ruda_stream stream, ruda_workspace workspace,
                                                 const ruda_binding* bindings, uint32_t count,
                                                 const ruda_exec_opts* opts) RUDA_NX;

/** Makes scratch memory for plans of one stream at a time. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE,
 *  RUDA_E_OOM_HOST, RUDA_E_OOM_DEVICE, RUDA_E_BUDGET, RUDA_E_CALLBACK (the caller's allocator),
 *  RUDA_E_DEVICE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_workspace_create(ruda_context context, uint64_t bytes,
                                                     ruda_workspace* out) RUDA_NX;

/** Wraps device memory of the caller, aligned to 256 bytes, as a workspace; the caller keeps it alive.
 *  Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE, RUDA_E_ARGUMENT (alignment). [T] */
RUDA_API ruda_status RUDA_CALL ruda_workspace_wrap(ruda_context context, void* data, uint64_t bytes,
                                                   ruda_workspace* out) RUDA_NX;

/** Makes a cancel token, not raised. Status: RUDA_E_NULL, RUDA_E_OOM_HOST. [T] */
RUDA_API ruda_status RUDA_CALL ruda_cancel_create(ruda_cancel* out) RUDA_NX;

/** Raises a token, from any thread or signal handler: work with it stops with RUDA_E_CANCELLED between tiles
 *  (on the CPU a row or a dot product is whole) or launches. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_cancel_request(ruda_cancel cancel) RUDA_NX;

/** Lowers a token for reuse. Status: RUDA_E_NULL, RUDA_E_BAD_HANDLE. [T] */
RUDA_API ruda_status RUDA_CALL ruda_cancel_reset(ruda_cancel cancel) RUDA_NX;

/** Number of operators in this library. [T] */
RUDA_API uint32_t RUDA_CALL ruda_op_count(void) RUDA_NX;

/** Name of operator `index`, in alphabetical order, static; NULL past the end. [T] */
RUDA_API const char* RUDA_CALL ruda_op_name(uint32_t index) RUDA_NX;

/** Lists the kernels of operator `op` for a backend, best first, one name a line; none for
 *  CUDA in a build without it. Same buffer rule as ruda_backend_report. Status: RUDA_E_NULL,
 *  RUDA_E_NOT_FOUND, RUDA_E_ARGUMENT. [T] */
RUDA_API ruda_status RUDA_CALL ruda_op_kernels(const char* op, uint32_t backend, char* text,
                                               uint64_t capacity, uint64_t* out_needed) RUDA_NX;

RUDA_END
#endif
