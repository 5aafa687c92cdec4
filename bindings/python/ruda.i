// bindings/python/ruda.i - typemaps of the raw Python module: handles are capsules, a status is an exception.
// SPDX-License-Identifier: Apache-2.0
%module(package="ruda") raw

%{
#define SWIG_FILE_WITH_INIT
#include "helpers.h"
#include "support.h"
%}
%include <stdint.i>

%typemap(out) ruda_status %{
  if ($1 != RUDA_OK) {
    rudapy_raise($1);
    SWIG_fail;
  }
  $result = SWIG_Py_Void();
%}

// A call holds a reference, taken while the interpreter is locked: close() on another thread is safe.
%define RUDA_HANDLE_TYPE(name, Class)
%typemap(in) ruda_##name %{
  if (!rudapy_handle($input, "$1_name", "ruda." #name, (void **)&$1)) SWIG_fail;
%}
%typemap(freearg) ruda_##name %{
  ruda_release((void *)$1);
%}
%typemap(in, numinputs=0) ruda_##name * (ruda_##name made = NULL) %{
  $1 = &made;
%}
%typemap(argout) ruda_##name * %{
  $result = rudapy_append($result, rudapy_capsule((void *)made$argnum, "ruda." #name));
%}
%enddef
%include "ruda_handles.i"

// Scalars: the message names the parameter and the value. A float is no integer, whatever its value.
%typemap(in) uint32_t, int32_t, uint64_t, int64_t, ruda_bool %{
  if (!rudapy_integer($input, "$1_name", ($1_ltype)-1 > 0, sizeof $1, &$1)) SWIG_fail;
%}
%typemap(in) double, float %{
  if (!rudapy_real($input, "$1_name", sizeof $1, &$1)) SWIG_fail;
%}
%typemap(in) const char * %{
  if (!rudapy_text($input, "$1_name", &$1)) SWIG_fail;
%}
%typemap(freearg) const char * ""

%typemap(in, numinputs=0) uint32_t * (uint32_t number = 0), uint64_t * (uint64_t number = 0) %{
  $1 = &number;
%}
%typemap(argout) uint32_t *, uint64_t * %{
  $result = rudapy_append($result, PyLong_FromUnsignedLongLong((unsigned long long)*$1));
%}
%typemap(in, numinputs=0) int64_t *out (int64_t number = 0), int32_t *out (int32_t number = 0) %{
  $1 = &number;
%}
%typemap(argout) int64_t *out, int32_t *out %{
  $result = rudapy_append($result, PyLong_FromLongLong((long long)*$1));
%}
%typemap(in, numinputs=0) double * (double number = 0), float * (float number = 0) %{
  $1 = &number;
%}
%typemap(argout) double *, float * %{
  $result = rudapy_append($result, PyFloat_FromDouble((double)*$1));
%}

%typemap(in) (const int64_t *shape, uint32_t rank) (rudapy_values array = {0}),
             (const int64_t *values, uint32_t count) (rudapy_values array = {0}) %{
  if (!rudapy_values_get($input, &array)) SWIG_fail;
  $1 = array.data;
  $2 = array.count;
%}
%typemap(freearg) (const int64_t *shape, uint32_t rank), (const int64_t *values, uint32_t count) %{
  rudapy_values_free(&array$argnum);
%}

%typemap(in, numinputs=0) int64_t *layout (int64_t numbers[5 + 2 * RUDA_MAX_RANK]) %{
  $1 = numbers;
%}
%typemap(argout) int64_t *layout %{
  $result = rudapy_append($result, rudapy_layout($1));
%}

%typemap(in) (const void *data, uint64_t bytes) (Py_buffer view, int held = 0),
             (const char *input, uint64_t bytes) (Py_buffer view, int held = 0) %{
  if (PyObject_GetBuffer($input, &view, PyBUF_C_CONTIGUOUS) < 0) SWIG_fail;
  held = 1;
  $1 = view.buf;
  $2 = (uint64_t)view.len;
%}
%typemap(in) (void *data, uint64_t bytes) (Py_buffer view, int held = 0),
             (char *text, uint64_t capacity) (Py_buffer view, int held = 0) %{
  if (PyObject_GetBuffer($input, &view, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0) SWIG_fail;
  held = 1;
  $1 = view.buf;
  $2 = (uint64_t)view.len;
%}
%typemap(in) (int32_t *tokens, uint64_t capacity) (Py_buffer view, int held = 0) %{
  if (PyObject_GetBuffer($input, &view, PyBUF_WRITABLE | PyBUF_C_CONTIGUOUS) < 0) SWIG_fail;
  held = 1;
  $1 = (int32_t *)view.buf;
  $2 = (uint64_t)view.len / sizeof(int32_t);
%}
%typemap(freearg) (const void *data, uint64_t bytes), (void *data, uint64_t bytes),
                  (char *text, uint64_t capacity), (const char *input, uint64_t bytes),
                  (int32_t *tokens, uint64_t capacity) %{
  if (held$argnum) PyBuffer_Release(&view$argnum);
%}

// What needs the interpreter, or is too short to be worth giving it up.
%thread;
%nothread _set_hooks;
%nothread _close;
%nothread _is_open;
%nothread _need_open;
%nothread _to_dlpack;
%nothread _from_dlpack;
%nothread _wrap;
%nothread rudax_tensor_layout;
%nothread rudax_take_returned;
%nothread rudax_plan_get;
%nothread ruda_api_level;
%nothread rudax_load_begin;
%nothread rudax_load_progress;
%nothread rudax_session_get;
%nothread rudax_model_get;
%nothread rudax_tokenizer_get;

PyObject *_set_hooks(PyObject *raise, PyObject *returned);
PyObject *_close(PyObject *capsule);
PyObject *_is_open(PyObject *capsule);
PyObject *_need_open(PyObject *capsule, const char *name, const char *type);
PyObject *_to_dlpack(PyObject *tensor, PyObject *consumer, int versioned);
PyObject *_from_dlpack(PyObject *context, PyObject *capsule);
PyObject *_wrap(PyObject *context, unsigned int dtype, PyObject *shape, PyObject *buffer, int writable,
                long long loan);

%ignore rudax_tensor_wrap;
%include "ruda_common.i"
