/* bindings/java/support.h - exceptions, arrays, buffers and texts behind the Java typemaps. */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUDA_BINDINGS_JAVA_SUPPORT_H
#define RUDA_BINDINGS_JAVA_SUPPORT_H

#include <jni.h>

static void rudax_retain_handle(void* handle) { ruda_retain(handle); }
static void rudax_release_handle(void* handle) { ruda_release(handle); }

static jbyteArray rudajni_bytes(JNIEnv* env, const char* text) {
  const jsize length = (jsize)strlen(text);
  jbyteArray made = (*env)->NewByteArray(env, length);
  if (made) (*env)->SetByteArrayRegion(env, made, 0, length, (const jbyte*)text);
  return made;
}

/* Throws in the native frame that failed, from this thread's record. */
static void rudajni_throw(JNIEnv* env, ruda_status status) {
  const ruda_error_info e = rudax_error(status);
  jclass type = (*env)->FindClass(env, "io/ruda/RudaException");
  if (!type) return;
  jmethodID make = (*env)->GetStaticMethodID(env, type, "make", "(III[B[B[B[B)Lio/ruda/RudaException;");
  jbyteArray message = make ? rudajni_bytes(env, e.message) : NULL;
  jbyteArray function = message ? rudajni_bytes(env, e.function) : NULL;
  jbyteArray library = function ? rudajni_bytes(env, e.native_library) : NULL;
  jbyteArray name = library ? rudajni_bytes(env, ruda_status_name(status)) : NULL;
  jobject error = name ? (*env)->CallStaticObjectMethod(env, type, make, (jint)status, (jint)e.arg_index,
                                                        (jint)e.native_code, message, function, library, name)
                       : NULL;
  if (error && !(*env)->ExceptionCheck(env)) (*env)->Throw(env, (jthrowable)error);
}

static void rudajni_raise(JNIEnv* env, const char* class_name, const char* text) {
  jclass type = (*env)->FindClass(env, class_name);
  if (type) (*env)->ThrowNew(env, type, text);
}

typedef struct {
  int64_t* data;
  uint32_t count;
  int64_t few[48];
} rudajni_numbers;

static int rudajni_numbers_get(JNIEnv* env, jlongArray from, rudajni_numbers* array) {
  const jsize count = from ? (*env)->GetArrayLength(env, from) : 0;
  array->data = array->few;
  array->count = (uint32_t)count;
  if ((size_t)count > sizeof array->few / sizeof *array->few) {
    array->data = (int64_t*)malloc((size_t)count * sizeof *array->data);
    if (!array->data) {
      rudajni_raise(env, "java/lang/OutOfMemoryError", "no memory for an array");
      return 0;
    }
  }
  if (count) (*env)->GetLongArrayRegion(env, from, 0, count, (jlong*)array->data);
  return 1;
}

static void rudajni_numbers_free(rudajni_numbers* array) {
  if (array->data != array->few) free(array->data);
}

static int rudajni_buffer(JNIEnv* env, jobject buffer, void** data, uint64_t* bytes) {
  *data = buffer ? (*env)->GetDirectBufferAddress(env, buffer) : NULL;
  const jlong capacity = buffer ? (*env)->GetDirectBufferCapacity(env, buffer) : -1;
  if (capacity < 0 || (capacity && !*data)) {
    rudajni_raise(env, "java/lang/IllegalArgumentException",
                  "data is a buffer on the heap, expected a direct one");
    return 0;
  }
  *bytes = (uint64_t)capacity;
  return 1;
}

typedef struct {
  char* data;
  uint64_t length;
} rudajni_text;

/* A copy with an ending NUL beyond its length; null stays NULL. */
static int rudajni_text_get(JNIEnv* env, jbyteArray from, rudajni_text* text) {
  if (!from) return 1;
  const jsize length = (*env)->GetArrayLength(env, from);
  text->data = (char*)malloc((size_t)length + 1);
  if (!text->data) {
    rudajni_raise(env, "java/lang/OutOfMemoryError", "no memory for a text");
    return 0;
  }
  (*env)->GetByteArrayRegion(env, from, 0, length, (jbyte*)text->data);
  text->data[length] = 0;
  text->length = (uint64_t)length;
  return 1;
}

#endif
