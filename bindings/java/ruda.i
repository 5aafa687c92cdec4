// bindings/java/ruda.i - typemaps of the raw Java class: handles are longs, a status is an exception.
// SPDX-License-Identifier: Apache-2.0
%module(jniclassname="RawJNI") Raw

%{
#include "helpers.h"
#include "support.h"
%}
// Not stdint.i, which would write pointers to int64_t as pointers to long long; and sizes are signed in Java.
%apply int { int32_t };
%apply unsigned int { uint32_t };
%apply long long { int64_t, uint64_t };
%pragma(java) moduleclassmodifiers="public final class"
%pragma(java) jniclassclassmodifiers="final class"
%pragma(java) jniclasscode=%{
  static {
    NativeLoader.load();
  }
%}

%typemap(jni) ruda_status "void"
%typemap(jtype) ruda_status "void"
%typemap(jstype) ruda_status "void"
%typemap(javaout) ruda_status {
    $jnicall;
  }
// The exception is pending when outputs and temporaries follow: outputs are left alone after a failure.
%typemap(out, null="") ruda_status %{
  if ($1 != RUDA_OK) rudajni_throw(jenv, $1);
%}

%define RUDA_AS(type, Jni, Java)
%typemap(jni) type "Jni"
%typemap(jtype) type "Java"
%typemap(jstype) type "Java"
%typemap(javain) type "$javainput"
%enddef

%define RUDA_HANDLE_TYPE(name, Class)
RUDA_AS(ruda_##name, jlong, long)
%typemap(in) ruda_##name %{ $1 = (ruda_##name)(intptr_t)$input; %}
RUDA_AS(ruda_##name *, jlongArray, long[])
%typemap(in) ruda_##name * (ruda_##name made = NULL) %{ $1 = &made; %}
%typemap(argout) ruda_##name * %{
  if (result == RUDA_OK) {
    const jlong value = (jlong)(intptr_t)made$argnum;
    (*jenv)->SetLongArrayRegion(jenv, $input, 0, 1, &value);
  }
%}
%enddef
%include "ruda_handles.i"

RUDA_AS(void *handle, jlong, long)
%typemap(in) void *handle %{ $1 = (void *)(intptr_t)$input; %}

%define RUDA_OUTPUT(type, local, Jni, Java, Set)
RUDA_AS(type, Jni##Array, Java[])
%typemap(in) type (local number = 0) %{ $1 = &number; %}
%typemap(argout) type %{
  if (result == RUDA_OK) {
    const Jni value = (Jni)number$argnum;
    (*jenv)->Set(jenv, $input, 0, 1, &value);
  }
%}
%enddef
RUDA_OUTPUT(uint32_t *, uint32_t, jlong, long, SetLongArrayRegion)
RUDA_OUTPUT(uint64_t *, uint64_t, jlong, long, SetLongArrayRegion)
RUDA_OUTPUT(int64_t *out, int64_t, jlong, long, SetLongArrayRegion)
RUDA_OUTPUT(int32_t *out, int32_t, jlong, long, SetLongArrayRegion)
RUDA_OUTPUT(double *, double, jdouble, double, SetDoubleArrayRegion)
RUDA_OUTPUT(float *, float, jdouble, double, SetDoubleArrayRegion)

%define RUDA_NUMBERS(type)
RUDA_AS(type, jlongArray, long[])
%typemap(in) type (rudajni_numbers array = {0}) %{
  if (!rudajni_numbers_get(jenv, $input, &array)) return $null;
  $1 = array.data;
  $2 = array.count;
%}
%typemap(freearg) type %{ rudajni_numbers_free(&array$argnum); %}
%enddef
RUDA_NUMBERS((const int64_t *shape, uint32_t rank))
RUDA_NUMBERS((const int64_t *values, uint32_t count))

RUDA_AS(int64_t *layout, jlongArray, long[])
%typemap(in) int64_t *layout (int64_t numbers[5 + 2 * RUDA_MAX_RANK]) %{ $1 = numbers; %}
%typemap(argout) int64_t *layout %{
  if (result == RUDA_OK) {
    jlong values[5 + 2 * RUDA_MAX_RANK];
    for (int i = 0; i < 5 + 2 * RUDA_MAX_RANK; ++i) values[i] = (jlong)$1[i];
    (*jenv)->SetLongArrayRegion(jenv, $input, 0, 5 + 2 * RUDA_MAX_RANK, values);
  }
%}

// Memory of the caller is a direct buffer, whole; Java slices it before.
%define RUDA_BUFFER(type)
RUDA_AS(type, jobject, java.nio.ByteBuffer)
%typemap(in) type %{
  if (!rudajni_buffer(jenv, $input, (void **)&$1, &$2)) return $null;
%}
%enddef
RUDA_BUFFER((const void *data, uint64_t bytes))
RUDA_BUFFER((void *data, uint64_t bytes))

// Text goes in and comes out as UTF-8 bytes: Java's own form in JNI is another one.
%define RUDA_TEXT_IN(type)
RUDA_AS(type, jbyteArray, byte[])
%typemap(in) type (rudajni_text bytes = {0}) %{
  if (!rudajni_text_get(jenv, $input, &bytes)) return $null;
  $1 = bytes.data;
%}
%typemap(freearg) type %{ free(bytes$argnum.data); %}
%enddef
RUDA_TEXT_IN(const char *)

RUDA_AS((const char *text, uint64_t bytes), jbyteArray, byte[])
%typemap(in) (const char *text, uint64_t bytes) (rudajni_text bytes = {0}) %{
  if (!rudajni_text_get(jenv, $input, &bytes)) return $null;
  $1 = bytes.data;
  $2 = bytes.length;
%}
%typemap(freearg) (const char *text, uint64_t bytes) %{ free(bytes$argnum.data); %}

RUDA_AS((char *text, uint64_t capacity), jbyteArray, byte[])
%typemap(in) (char *text, uint64_t capacity) (rudajni_text bytes = {0}) %{
  if (!rudajni_text_get(jenv, $input, &bytes)) return $null;
  $1 = bytes.data;
  $2 = bytes.length;
%}
%typemap(argout) (char *text, uint64_t capacity) %{
  if (result == RUDA_OK) (*jenv)->SetByteArrayRegion(jenv, $input, 0, (jsize)$2, (const jbyte *)$1);
%}
%typemap(freearg) (char *text, uint64_t capacity) %{ free(bytes$argnum.data); %}

void rudax_retain_handle(void *handle);
void rudax_release_handle(void *handle);
%include "ruda_common.i"
