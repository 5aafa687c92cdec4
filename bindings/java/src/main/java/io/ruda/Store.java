// bindings/java/src/main/java/io/ruda/Store.java - a file of tensors and metadata.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import io.ruda.internal.Raw;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** A file of tensors and metadata, mapped and read in place: GGUF. */
public final class Store extends NativeHandle {
  public Store(Path path) {
    super(make(path));
  }

  private static long make(Path path) {
    long[] made = new long[1];
    Raw.rudax_store_open(utf8("path", need("path", path, "a path").toString()), made);
    return made[0];
  }

  public long count() {
    long[] count = new long[1];
    with(p -> Raw.ruda_store_count(p[0], count), this);
    return count[0];
  }

  /** Name of a tensor, in file order. */
  public String name(long index) {
    return use(p -> readText((text, needed) -> Raw.rudax_store_tensor_name(p, unsigned("index", index), text, needed), 256));
  }

  /** The names of the tensors, in file order. */
  public List<String> names() {
    List<String> names = new ArrayList<>();
    for (long i = 0, count = count(); i < count; ++i) names.add(name(i));
    return names;
  }

  /** The index of a tensor. */
  public long find(String name) {
    long[] index = new long[1];
    with(p -> Raw.ruda_store_find(p[0], text("name", need("name", name)), index), this);
    return index[0];
  }

  /** A read-only tensor on the file's own bytes. Contexts that compute in host memory. */
  public Tensor tensor(Context context, long index) {
    long[] made = new long[1];
    with(p -> Raw.ruda_store_tensor(p[0], p[1], unsigned("index", index), made), this, need("context", context));
    return Tensor.of(made[0]);
  }

  public Tensor tensor(Context context, String name) {
    return tensor(context, find(name));
  }

  /** A tensor with a copy of one of the file, on the device of the stream. */
  public Tensor load(Stream stream, long index) {
    long[] made = new long[1];
    with(p -> Raw.ruda_store_load(p[0], p[1], unsigned("index", index), made), this, need("stream", stream));
    return Tensor.of(made[0]);
  }

  public Tensor load(Stream stream, String name) {
    return load(stream, find(name));
  }
}
