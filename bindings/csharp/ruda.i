// bindings/csharp/ruda.i - typemaps of the raw C# class: handles are SafeHandles, a status is an exception.
// SPDX-License-Identifier: Apache-2.0
%module RudaNative

%{
#include "helpers.h"

/* What went wrong in the call before: argument and native code, then four texts with their ends. */
static void rudax_error_record(int32_t status, int32_t *numbers, char *text, uint64_t capacity) {
  const ruda_error_info e = rudax_error(status);
  const char *from[4] = {e.message, e.function, e.native_library, ruda_status_name(status)};
  uint64_t used = 0;
  numbers[0] = e.arg_index;
  numbers[1] = e.native_code;
  for (int i = 0; i < 4 && used < capacity; ++i) {
    uint64_t needed = 0;
    rudax_text(from[i], text + used, capacity - used, &needed);
    used += needed;
  }
}
%}
// Not stdint.i, which would write pointers to int64_t as pointers to long long.
%apply int { int32_t };
%apply unsigned int { uint32_t };
%apply long long { int64_t };
%apply unsigned long long { uint64_t };
%pragma(csharp) imclassimports="using System.Runtime.InteropServices;"
%pragma(csharp) moduleclassmodifiers="internal static class"
%pragma(csharp) imclassclassmodifiers="internal static class"
// Before the first native call: the library that RUDA_LIBRARY names, or the files beside the assembly.
%pragma(csharp) imclasscode=%{
  static readonly bool loaded = NativeLoader.Load();
%}

%typemap(ctype) ruda_status "int"
%typemap(imtype) ruda_status "int"
%typemap(cstype, out="void") ruda_status "int"
%typemap(csin) ruda_status "$csinput"
%typemap(in) ruda_status %{ $1 = $input; %}
%typemap(out) ruda_status %{ $result = $1; %}
%typemap(csout) ruda_status {
    int status = $imcall;
    if (status != 0) throw RudaException.Last(status);
  }

// A reference is held during the call, so that disposing on another thread is safe. Not left to the
// marshaller: where a later argument turns out to be disposed, that of Mono 6.8 never drops the earlier ones.
%define RUDA_HANDLE_TYPE(name, Class)
%typemap(ctype) ruda_##name "void *"
%typemap(imtype) ruda_##name "global::System.IntPtr"
%typemap(cstype) ruda_##name "Class"
%typemap(csin,
         pre="    bool held_$csinput = false;\n    try {\n"
             "    $csinput.Hold(\"$csinput\", ref held_$csinput);",
         terminator="    } finally {\n    if (held_$csinput) $csinput.DangerousRelease();\n    }")
         ruda_##name "$csinput.DangerousGetHandle()"
%typemap(in) ruda_##name %{ $1 = (ruda_##name)$input; %}
%typemap(ctype) ruda_##name * "void **"
%typemap(imtype) ruda_##name * "out Class"
%typemap(cstype) ruda_##name * "out Class"
%typemap(csin) ruda_##name * "out $csinput"
%typemap(in) ruda_##name * %{ $1 = (ruda_##name *)$input; %}
%enddef
%include "ruda_handles.i"

%define RUDA_OUTPUT(type, Class)
%typemap(ctype) type "void *"
%typemap(imtype) type "out Class"
%typemap(cstype) type "out Class"
%typemap(csin) type "out $csinput"
%typemap(in) type %{ $1 = ($1_ltype)$input; %}
%enddef
RUDA_OUTPUT(uint32_t *, uint)
RUDA_OUTPUT(uint64_t *, ulong)
RUDA_OUTPUT(int64_t *out, long)
RUDA_OUTPUT(int32_t *out, int)
RUDA_OUTPUT(double *, double)
RUDA_OUTPUT(float *, float)

// Arrays of plain numbers are pinned during the call.
%define RUDA_ARRAY(type, Class)
%typemap(ctype) type "void *"
%typemap(imtype, inattributes="[In, Out] ") type "Class"
%typemap(cstype) type "Class"
%typemap(csin) type "$csinput"
%typemap(in) type %{ $1 = ($1_ltype)$input; %}
%enddef
RUDA_ARRAY(const int64_t *shape, long[])
RUDA_ARRAY(const int64_t *values, long[])
RUDA_ARRAY(int64_t *layout, long[])
RUDA_ARRAY(int32_t *numbers, int[])
RUDA_ARRAY(char *text, byte[])
RUDA_ARRAY(const void *data, global::System.IntPtr)
RUDA_ARRAY(void *data, global::System.IntPtr)
RUDA_ARRAY(const char *input, byte[])
RUDA_ARRAY(int32_t *tokens, int[])
RUDA_ARRAY(void *handle, global::System.IntPtr)

void rudax_error_record(int32_t status, int32_t *numbers, char *text, uint64_t capacity);
%typemap(csout, excode="") int "{ return $imcall; }"
%include "ruda_common.i"
