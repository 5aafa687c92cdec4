/* bindings/python/support.h - capsules, exceptions, buffers and DLPack behind the Python typemaps. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_BINDINGS_PYTHON_SUPPORT_H
#define RUDA_BINDINGS_PYTHON_SUPPORT_H

#define RUDAPY_CLOSED "ruda.closed"

static PyObject* rudapy_raise_hook;    /* called with the error record; returns the exception */
static PyObject* rudapy_returned_hook; /* called when lent buffers came back */

static void rudapy_raise(ruda_status status) {
  const ruda_error_info e = rudax_error(status);
  if (!rudapy_raise_hook) {
    PyErr_SetString(PyExc_RuntimeError, e.message);
    return;
  }
  PyObject* texts = PyTuple_New(4);
  const char* from[4] = {e.message, e.function, e.native_library, ruda_status_name(status)};
  for (int i = 0; texts && i < 4; ++i) {
    PyObject* text = PyUnicode_DecodeUTF8(from[i], (Py_ssize_t)strlen(from[i]), "replace");
    if (!text)
      Py_CLEAR(texts);
    else
      PyTuple_SET_ITEM(texts, i, text);
  }
  if (!texts) return;
  PyObject* error = PyObject_CallFunction(rudapy_raise_hook, "iiiO", (int)status, (int)e.arg_index,
                                          (int)e.native_code, texts);
  Py_DECREF(texts);
  if (!error) return;
  PyErr_SetObject((PyObject*)Py_TYPE(error), error);
  Py_DECREF(error);
}

/* Called while the interpreter is locked, from a destructor or close(). */
static void rudapy_check_returned(void) {
  if (!rudapy_returned_hook || !atomic_load(&rudax_returned)) return;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  PyObject* done = PyObject_CallNoArgs(rudapy_returned_hook);
  if (!done) PyErr_WriteUnraisable(rudapy_returned_hook);
  Py_XDECREF(done);
  PyErr_Restore(type, value, traceback);
}

static int rudapy_is_closed(PyObject* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  return name && !strcmp(name, RUDAPY_CLOSED);
}

static void rudapy_drop(PyObject* capsule) {
  if (rudapy_is_closed(capsule)) return;
  ruda_release(PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule)));
  rudapy_check_returned();
}

/* False stands for NULL, an output that the call left out. */
static PyObject* rudapy_capsule(void* handle, const char* name) {
  if (!handle) Py_RETURN_FALSE;
  PyObject* capsule = PyCapsule_New(handle, name, rudapy_drop);
  if (!capsule) ruda_release(handle);
  return capsule;
}

/* The outputs of a call so far and one more: the object alone, from the second on a list. Takes both
   references; SWIG has a function like it, whose parameters changed from version to version. */
static PyObject* rudapy_append(PyObject* result, PyObject* object) {
  if (!object) {
    Py_XDECREF(result);
    return NULL;
  }
  if (!result || result == Py_None) {
    Py_XDECREF(result);
    return object;
  }
  if (!PyList_Check(result)) {
    PyObject* list = Py_BuildValue("[N]", result);
    if (!list) {
      Py_DECREF(object);
      return NULL;
    }
    result = list;
  }
  if (PyList_Append(result, object)) Py_CLEAR(result);
  Py_DECREF(object);
  return result;
}

/* "cancel token" for "ruda.cancel". */
static const char* rudapy_noun(const char* name, char* room, size_t size) {
  const char* kind = strchr(name, '.');
  snprintf(room, size, "%s%s", kind ? kind + 1 : name, !strcmp(name, "ruda.cancel") ? " token" : "");
  for (char* at = room; *at; ++at)
    if (*at == '_') *at = ' ';
  return room;
}

static void rudapy_refuse_closed(const char* parameter, const char* name) {
  char room[64];
  PyErr_Format(PyExc_ValueError, "%s: closed, expected an open %s", parameter,
               rudapy_noun(name, room, sizeof room));
}

/* The handle in a capsule with a reference of its own; None is NULL. */
static int rudapy_handle(PyObject* object, const char* parameter, const char* name, void** handle) {
  *handle = NULL;
  if (object == Py_None) return 1;
  if (PyCapsule_CheckExact(object) && rudapy_is_closed(object)) {
    rudapy_refuse_closed(parameter, name);
    return 0;
  }
  void* pointer = PyCapsule_GetPointer(object, name);
  if (!pointer) {
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s is %R, expected a handle of type %s", parameter, object, name);
    return 0;
  }
  const ruda_status status = ruda_retain(pointer);
  if (status) {
    rudapy_raise(status);
    return 0;
  }
  *handle = pointer;
  return 1;
}

/* ---- scalars and texts ---- */

static void rudapy_store(void* to, size_t bytes, long long value) {
  if (bytes == 4) {
    const int32_t word = (int32_t)value;
    memcpy(to, &word, sizeof word);
  } else {
    memcpy(to, &value, sizeof value);
  }
}

/* An integer of 4 or 8 bytes. */
static int rudapy_integer(PyObject* object, const char* name, int is_unsigned, size_t bytes, void* to) {
  PyObject* number = PyNumber_Index(object);
  if (!number) {
    if (PyErr_ExceptionMatches(PyExc_TypeError))
      PyErr_Format(PyExc_TypeError, "%s is %R, expected an integer", name, object);
    return 0;
  }
  const long long least = is_unsigned ? 0 : bytes == 4 ? INT32_MIN : INT64_MIN;
  const unsigned long long most =
      bytes == 4 ? (is_unsigned ? UINT32_MAX : INT32_MAX) : (is_unsigned ? UINT64_MAX : INT64_MAX);
  int beyond;
  long long value = PyLong_AsLongLongAndOverflow(number, &beyond);
  int fits = !beyond && value >= least && (value < 0 || (unsigned long long)value <= most);
  if (beyond > 0 && most > INT64_MAX) {
    value = (long long)PyLong_AsUnsignedLongLong(number);
    fits = !PyErr_Occurred();
    PyErr_Clear();
  }
  Py_DECREF(number);
  if (!fits) {
    PyErr_Format(PyExc_OverflowError, "%s is %R, expected %lld to %llu", name, object, least, most);
    return 0;
  }
  rudapy_store(to, bytes, value);
  return 1;
}

/* A float or a double: any real number. */
static int rudapy_real(PyObject* object, const char* name, size_t bytes, void* to) {
  const double value = PyFloat_AsDouble(object);
  if (value == -1 && PyErr_Occurred()) {
    if (PyErr_ExceptionMatches(PyExc_TypeError))
      PyErr_Format(PyExc_TypeError, "%s is %R, expected a number", name, object);
    else if (PyErr_ExceptionMatches(PyExc_OverflowError))
      PyErr_Format(PyExc_OverflowError, "%s is %R, expected a finite F64", name, object);
    return 0;
  }
  const float single = (float)value;
  if (bytes == sizeof single && isinf(single) && !isinf(value)) {
    PyErr_Format(PyExc_OverflowError, "%s is %R, expected a finite F32", name, object);
    return 0;
  }
  memcpy(to, bytes == sizeof single ? (const void*)&single : (const void*)&value, bytes);
  return 1;
}

/* In place of UnicodeEncodeError, the words that the other languages have. */
static void rudapy_refuse_surrogate(const char* name) {
  PyObject *type, *value, *traceback;
  Py_ssize_t at = 0;
  if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return;
  PyErr_Fetch(&type, &value, &traceback);
  PyErr_NormalizeException(&type, &value, &traceback);
  if (PyUnicodeEncodeError_GetStart(value, &at)) PyErr_Clear();
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(traceback);
  PyErr_Format(PyExc_ValueError, "%s holds a lone surrogate at index %zd, expected none", name, at);
}

/* A text that ends with its first NUL; None is NULL. It lives as long as the object. */
static int rudapy_text(PyObject* object, const char* name, char** to) {
  Py_ssize_t bytes = 0;
  *to = NULL;
  if (object == Py_None) return 1;
  if (PyBytes_Check(object)) {
    *to = PyBytes_AS_STRING(object);
    bytes = PyBytes_GET_SIZE(object);
  } else if (PyUnicode_Check(object)) {
    *to = (char*)PyUnicode_AsUTF8AndSize(object, &bytes);
    if (!*to) {
      rudapy_refuse_surrogate(name);
      return 0;
    }
  } else {
    PyErr_Format(PyExc_TypeError, "%s is %R, expected a text", name, object);
    return 0;
  }
  const char* nul = (const char*)memchr(*to, 0, (size_t)bytes);
  if (nul) {
    const Py_ssize_t at = PyBytes_Check(object)
                              ? (Py_ssize_t)(nul - *to)
                              : PyUnicode_FindChar(object, 0, 0, PyUnicode_GET_LENGTH(object), 1);
    PyErr_Format(PyExc_ValueError, "%s holds a NUL at index %zd, expected none", name, at);
    return 0;
  }
  return 1;
}

/* ---- arrays of numbers and handles ---- */

typedef struct {
  PyObject* items;
  int64_t* data;
  uint32_t count, retained;
  int64_t few[48];
} rudapy_values;

static void rudapy_values_free(rudapy_values* array) {
  if (!array->items) return;
  for (uint32_t i = 0; i < array->retained; ++i)
    if (PyCapsule_CheckExact(PyTuple_GET_ITEM(array->items, i)))
      ruda_release((void*)(intptr_t)array->data[i]);
  if (array->data != array->few) PyMem_Free(array->data);
  Py_CLEAR(array->items);
}

static int rudapy_values_get(PyObject* sequence, rudapy_values* array) {
  array->items = PySequence_Tuple(sequence);
  if (!array->items) return 0;
  const Py_ssize_t count = PyTuple_GET_SIZE(array->items);
  array->data = array->few;
  if ((size_t)count > sizeof array->few / sizeof *array->few) {
    array->data = count > INT32_MAX ? NULL : (int64_t*)PyMem_Malloc((size_t)count * sizeof(int64_t));
    if (!array->data) {
      array->data = array->few;
      PyErr_NoMemory();
      return 0;
    }
  }
  array->count = (uint32_t)count;
  for (Py_ssize_t i = 0; i < count; ++i) {
    PyObject* item = PyTuple_GET_ITEM(array->items, i);
    if (PyCapsule_CheckExact(item)) {
      const char* name = PyCapsule_GetName(item);
      void* pointer;
      if (!rudapy_handle(item, "a value", name ? name : "ruda.object", &pointer)) return 0;
      array->data[i] = (int64_t)(intptr_t)pointer;
    } else if (PyFloat_Check(item)) {
      const double number = PyFloat_AS_DOUBLE(item);
      memcpy(&array->data[i], &number, sizeof number);
    } else {
      PyObject* number = PyNumber_Index(item);
      if (!number) return 0;
      const long long value = PyLong_AsLongLong(number);
      if (value == -1 && PyErr_Occurred()) {
        /* Unsigned numbers above the largest int64 travel as their bits. */
        PyErr_Clear();
        const unsigned long long bits = PyLong_AsUnsignedLongLong(number);
        array->data[i] = (int64_t)bits;
      } else {
        array->data[i] = value;
      }
      Py_DECREF(number);
      if (PyErr_Occurred()) return 0;
    }
    array->retained = (uint32_t)i + 1;
  }
  return 1;
}

static PyObject* rudapy_numbers(const int64_t* from, int64_t count) {
  PyObject* tuple = PyTuple_New((Py_ssize_t)count);
  for (int64_t i = 0; tuple && i < count; ++i) {
    PyObject* number = PyLong_FromLongLong((long long)from[i]);
    if (!number)
      Py_CLEAR(tuple);
    else
      PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, number);
  }
  return tuple;
}

/* (dtype, flags, bytes, contiguous, shape, strides) */
static PyObject* rudapy_layout(const int64_t* layout) {
  PyObject* shape = rudapy_numbers(layout + 5, layout[4]);
  PyObject* strides = rudapy_numbers(layout + 5 + RUDA_MAX_RANK, layout[4]);
  if (!shape || !strides) {
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return NULL;
  }
  return Py_BuildValue("(LLLNNN)", (long long)layout[0], (long long)layout[1], (long long)layout[2],
                       PyBool_FromLong(layout[3] != 0), shape, strides);
}

/* ---- functions that need the interpreter ---- */

static PyObject* _set_hooks(PyObject* raise, PyObject* returned) {
  Py_INCREF(raise);
  Py_XSETREF(rudapy_raise_hook, raise);
  Py_INCREF(returned);
  Py_XSETREF(rudapy_returned_hook, returned);
  Py_RETURN_NONE;
}

/* Releases a handle now; later uses of the capsule find it closed. */
static PyObject* _close(PyObject* capsule) {
  if (!PyCapsule_CheckExact(capsule)) {
    PyErr_SetString(PyExc_TypeError, "expected a handle");
    return NULL;
  }
  if (!rudapy_is_closed(capsule)) {
    void* pointer = PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule));
    if (!pointer || PyCapsule_SetName(capsule, RUDAPY_CLOSED)) return NULL;
    ruda_release(pointer);
    rudapy_check_returned();
  }
  Py_RETURN_NONE;
}

/* Refuses a capsule that was closed; `name` is that of the parameter, `type` such as "ruda.tensor". */
static PyObject* _need_open(PyObject* capsule, const char* name, const char* type) {
  if (!PyCapsule_CheckExact(capsule) || !rudapy_is_closed(capsule)) Py_RETURN_NONE;
  rudapy_refuse_closed(name, type);
  return NULL;
}

static PyObject* _is_open(PyObject* capsule) {
  return PyBool_FromLong(PyCapsule_CheckExact(capsule) && !rudapy_is_closed(capsule));
}

/* A tensor over the memory of `buffer`, which Python keeps until the number of the loan comes back. */
static PyObject* _wrap(PyObject* context, unsigned int dtype, PyObject* shape, PyObject* buffer, int writable,
                       long long loan) {
  rudapy_values extents = {0};
  void* handle = NULL;
  Py_buffer view;
  ruda_tensor made = NULL;
  PyObject* result = NULL;
  if (PyObject_GetBuffer(buffer, &view, PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)) < 0)
    return NULL;
  if (rudapy_values_get(shape, &extents) && rudapy_handle(context, "context", "ruda.context", &handle)) {
    /* The alignment that may be relied on is that of the address. */
    uint32_t align = 0;
    while (align < 12 && !((uintptr_t)view.buf >> align & 1)) ++align;
    const uint32_t flags = (align ? align : 0) | (writable ? 0 : (uint32_t)RUDA_TENSOR_READ_ONLY);
    const ruda_status status = rudax_tensor_wrap((ruda_context)handle, dtype, extents.data, extents.count,
                                                 flags, view.buf, (uint64_t)view.len, loan, &made);
    if (status)
      rudapy_raise(status);
    else
      result = rudapy_capsule((void*)made, "ruda.tensor");
  }
  rudapy_values_free(&extents);
  ruda_release(handle);
  PyBuffer_Release(&view); /* the layer holds a view of its own for the loan */
  return result;
}

/* ---- DLPack, by its published layout ---- */

struct rudapy_dl_tensor {
  void* data;
  struct {
    int32_t type, id;
  } device;
  int32_t ndim;
  struct {
    uint8_t code, bits;
    uint16_t lanes;
  } dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  struct rudapy_dl_tensor tensor;
  void* manager;
  void (*deleter)(struct DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  struct {
    uint32_t major, minor;
  } version;
  void* manager;
  void (*deleter)(struct DLManagedTensorVersioned*);
  uint64_t flags;
  struct rudapy_dl_tensor tensor;
};

/* A capsule that nobody took over keeps its first name. */
static void rudapy_drop_dlpack(PyObject* capsule) {
  const char* name = PyCapsule_GetName(capsule);
  if (name && !strcmp(name, "dltensor_versioned")) {
    struct DLManagedTensorVersioned* managed =
        (struct DLManagedTensorVersioned*)PyCapsule_GetPointer(capsule, name);
    if (managed && managed->deleter) managed->deleter(managed);
  } else if (name && !strcmp(name, "dltensor")) {
    struct DLManagedTensor* managed = (struct DLManagedTensor*)PyCapsule_GetPointer(capsule, name);
    if (managed && managed->deleter) managed->deleter(managed);
  }
}

static PyObject* _to_dlpack(PyObject* tensor, PyObject* consumer, int versioned) {
  void *handle = NULL, *stream = NULL;
  struct DLManagedTensorVersioned* managed = NULL;
  struct DLManagedTensor* legacy = NULL;
  PyObject* result = NULL;
  if (rudapy_handle(tensor, "tensor", "ruda.tensor", &handle) &&
      rudapy_handle(consumer, "consumer", "ruda.stream", &stream)) {
    const ruda_status status =
        versioned ? ruda_tensor_to_dlpack((ruda_tensor)handle, (ruda_stream)stream, 0, &managed)
                  : ruda_tensor_to_dlpack_legacy((ruda_tensor)handle, (ruda_stream)stream, &legacy);
    if (status) {
      rudapy_raise(status);
    } else if (versioned) {
      result = PyCapsule_New(managed, "dltensor_versioned", rudapy_drop_dlpack);
      if (!result) managed->deleter(managed);
    } else {
      result = PyCapsule_New(legacy, "dltensor", rudapy_drop_dlpack);
      if (!result) legacy->deleter(legacy);
    }
  }
  ruda_release(handle);
  ruda_release(stream);
  return result;
}

static PyObject* _from_dlpack(PyObject* context, PyObject* capsule) {
  void* handle = NULL;
  ruda_tensor made = NULL;
  PyObject* result = NULL;
  const int versioned = PyCapsule_IsValid(capsule, "dltensor_versioned");
  if (!versioned && !PyCapsule_IsValid(capsule, "dltensor")) {
    PyErr_SetString(PyExc_ValueError, "expected a DLPack capsule that was not used before");
    return NULL;
  }
  if (!rudapy_handle(context, "context", "ruda.context", &handle)) return NULL;
  void* managed = PyCapsule_GetPointer(capsule, versioned ? "dltensor_versioned" : "dltensor");
  const ruda_status status =
      versioned
          ? ruda_tensor_from_dlpack((ruda_context)handle, (struct DLManagedTensorVersioned*)managed, 0, &made)
          : ruda_tensor_from_dlpack_legacy((ruda_context)handle, (struct DLManagedTensor*)managed, &made);
  if (status) {
    rudapy_raise(status);
  } else if (PyCapsule_SetName(capsule, versioned ? "used_dltensor_versioned" : "used_dltensor")) {
    ruda_release(made);
  } else {
    result = rudapy_capsule((void*)made, "ruda.tensor");
  }
  ruda_release(handle);
  return result;
}

#endif
