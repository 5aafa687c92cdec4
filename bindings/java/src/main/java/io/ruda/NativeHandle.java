// bindings/java/src/main/java/io/ruda/NativeHandle.java - one reference to an object of the library.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import io.ruda.internal.Raw;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;

/**
 * Any object of the library. close() releases it now; else a cleaner does when it is unreachable. Objects may
 * be closed in any order and from any thread; a call that runs meanwhile ends first.
 */
public abstract class NativeHandle implements AutoCloseable {
  private static final Cleaner CLEANER = Cleaner.create();

  /** Holds no reference to the outer object; run() releases at most once. */
  private static final class State implements Runnable {
    private long pointer;

    State(long pointer) {
      this.pointer = pointer;
    }

    /** A reference of its own for a call, or 0 when closed. */
    synchronized long acquire() {
      if (pointer != 0) Raw.rudax_retain_handle(pointer);
      return pointer;
    }

    @Override
    public synchronized void run() {
      if (pointer != 0) Raw.rudax_release_handle(pointer);
      pointer = 0;
    }
  }

  private final State state;
  private final Cleaner.Cleanable cleanable;

  NativeHandle(long pointer) {
    state = new State(pointer);
    cleanable = CLEANER.register(this, state);
  }

  /** Releases the object; again is fine. */
  @Override
  public void close() {
    cleanable.clean();
    Loans.collect();
  }

  public final boolean isClosed() {
    synchronized (state) {
      return state.pointer == 0;
    }
  }

  interface Call<T> {
    T apply(long pointer);
  }

  interface Calls {
    void apply(long[] pointers);
  }

  final <T> T use(Call<T> call) {
    long pointer = acquire();
    try {
      return call.apply(pointer);
    } finally {
      Raw.rudax_release_handle(pointer);
      Reference.reachabilityFence(this);
    }
  }

  private long acquire() {
    long pointer = state.acquire();
    if (pointer == 0) throw new IllegalStateException(getClass().getSimpleName() + " is closed");
    return pointer;
  }

  /** Calls with a reference to each object; null is the native NULL. */
  static void with(Calls call, NativeHandle... objects) {
    long[] pointers = new long[objects.length];
    try {
      for (int i = 0; i < objects.length; ++i)
        if (objects[i] != null) pointers[i] = objects[i].acquire();
      call.apply(pointers);
    } finally {
      for (long pointer : pointers)
        if (pointer != 0) Raw.rudax_release_handle(pointer);
      Reference.reachabilityFence(objects);
    }
  }

  /** UTF-8 with an ending NUL, which the native side adds. */
  static byte[] text(String text) {
    return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
  }

  /** A text that ends with its first NUL for the native side; null stays null. */
  static byte[] text(String name, String value) {
    if (value != null && value.indexOf('\0') >= 0)
      throw new IllegalArgumentException(name + " holds a NUL at index " + value.indexOf('\0'));
    return text(value);
  }

  /** The object; null is refused by the name of the parameter. */
  static <T> T need(String name, T value) {
    if (value == null) throw new IllegalArgumentException(name + " is null");
    return value;
  }

  /** The elements of a list or an array, none of which may be null. */
  static <T> T[] needAll(String name, T[] values) {
    need(name, values);
    for (int i = 0; i < values.length; ++i) need(name + "[" + i + "]", values[i]);
    return values;
  }

  /** A number that is unsigned in the library. */
  static int unsigned(String name, int value) {
    return (int) unsigned(name, (long) value);
  }

  static long unsigned(String name, long value) {
    if (value < 0) throw new IllegalArgumentException(name + " is " + value + ", expected 0 or more");
    return value;
  }

  interface Reader {
    void read(byte[] text, long[] needed);
  }

  /** The text of a function that says how many bytes it needs. */
  static String readText(Reader reader, int size) {
    while (true) {
      byte[] text = new byte[size];
      long[] needed = new long[1];
      reader.read(text, needed);
      if (needed[0] <= size)
        return new String(Arrays.copyOf(text, (int) Math.max(needed[0] - 1, 0)), StandardCharsets.UTF_8);
      size = (int) needed[0];
    }
  }
}
