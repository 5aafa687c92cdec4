// bindings/java/src/main/java/io/ruda/NativeHandle.java - one reference to an object of the library.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import io.ruda.internal.Raw;
import java.lang.ref.Cleaner;
import java.lang.ref.Reference;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;

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

  /** What the object is, in a line; never throws. */
  @Override
  public final String toString() {
    String type = getClass().getSimpleName();
    try {
      return isClosed() ? type + " (closed)" : (type + " " + describe()).trim();
    } catch (RudaException | IllegalStateException gone) {
      return type;
    }
  }

  String describe() {
    return "";
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
    if (pointer == 0) throw closed(selfName());
    return pointer;
  }

  /** What messages call the object: "tensor", "paged schedule", "cancel token". */
  private static String noun(Class<?> type) {
    return type.getSimpleName().replaceAll("(?<=[a-z])(?=[A-Z])", " ").toLowerCase(Locale.ROOT);
  }

  private String noun() {
    return noun(getClass());
  }

  private IllegalStateException closed(String name) {
    return new IllegalStateException(name + ": closed, expected an open " + noun());
  }

  /** Refuses a closed object, as every call but close() does. */
  final void needOpen() {
    needOpen(selfName());
  }

  // What the parameters that take such an object are called.
  private String selfName() {
    return this instanceof CancelToken ? "cancel" : this instanceof PagedSchedule ? "schedule" : noun();
  }

  final void needOpen(String name) {
    if (isClosed()) throw closed(name);
  }

  /** An object that may be null, but not closed. */
  static <T extends NativeHandle> T free(String name, T value) {
    if (value != null) value.needOpen(name);
    return value;
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

  /** A text that UTF-8 can hold: half a surrogate pair is refused; null stays null. */
  static String whole(String name, String value) {
    for (int i = 0; value != null && i < value.length(); ++i) {
      if (!Character.isSurrogate(value.charAt(i))) continue;
      if (!Character.isSupplementaryCodePoint(value.codePointAt(i)))
        throw new IllegalArgumentException(name + " holds a lone surrogate at index " + i + ", expected none");
      ++i;
    }
    return value;
  }

  /** UTF-8 of a text, to which the native side adds an ending NUL; null stays null. */
  static byte[] utf8(String name, String value) {
    return whole(name, value) == null ? null : value.getBytes(StandardCharsets.UTF_8);
  }

  /** A text that ends with its first NUL for the native side; null stays null. */
  static byte[] text(String name, String value) {
    if (value != null && value.indexOf('\0') >= 0)
      throw new IllegalArgumentException(name + " holds a NUL at index " + value.indexOf('\0') + ", expected none");
    return utf8(name, value);
  }

  /**
   * A text as the library's messages quote it: at most 80 bytes of UTF-8, whole characters, then "..."; what is not
   * printable as \\xNN.
   */
  static String quoted(String value) {
    StringBuilder made = new StringBuilder("\"");
    int shown = 0, at = 0;
    while (at < value.length()) {
      int c = value.codePointAt(at);
      String piece = Character.toString(c);
      byte[] raw = piece.getBytes(StandardCharsets.UTF_8);
      if (shown + raw.length > 80) break;
      boolean marks = c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
      if (Character.isISOControl(c) || marks || c == '"' || c == '\\')
        for (byte b : raw) made.append(String.format("\\x%02x", b & 255));
      else
        made.append(piece);
      shown += raw.length;
      at += piece.length();
    }
    return made.append(at < value.length() ? "\"..." : "\"").toString();
  }

  private static IllegalArgumentException absent(String name, String expected) {
    return new IllegalArgumentException(name + " is null, expected " + expected);
  }

  /** The object; null and a closed one are refused by the name of the parameter. */
  static Context need(String name, Context value) {
    return open(name, value, "a context");
  }

  static Stream need(String name, Stream value) {
    return open(name, value, "a stream");
  }

  static Tensor need(String name, Tensor value) {
    return open(name, value, "a tensor");
  }

  static Event need(String name, Event value) {
    return open(name, value, "an event");
  }

  static Store need(String name, Store value) {
    return open(name, value, "a store");
  }

  static Model need(String name, Model value) {
    return open(name, value, "a model");
  }

  static PagedSchedule need(String name, PagedSchedule value) {
    return open(name, value, "a paged schedule");
  }

  private static <T extends NativeHandle> T open(String name, T value, String expected) {
    if (value == null) throw absent(name, expected);
    value.needOpen(name);
    return value;
  }

  static String need(String name, String value) {
    return need(name, value, "a text");
  }

  static long[] need(String name, long[] value) {
    return need(name, value, "a list");
  }

  static <T> T[] need(String name, T[] value) {
    return need(name, value, "a list");
  }

  static <T> List<T> need(String name, List<T> value) {
    return need(name, value, "a list");
  }

  /** The value; null is refused by the name of the parameter. */
  static <T> T need(String name, T value, String expected) {
    if (value == null) throw absent(name, expected);
    return value;
  }

  /** The elements of a list or an array, none of which may be null. */
  static <T> T[] needAll(String name, T[] values, String expected) {
    need(name, values);
    for (int i = 0; i < values.length; ++i) need(name + "[" + i + "]", values[i], expected);
    return values;
  }

  /** A number of things: "1 page", "2 pages". */
  static String counted(long count, String thing) {
    return count + " " + thing + (count == 1 ? "" : "s");
  }

  /** A number that is unsigned in the library. */
  static int unsigned(String name, int value) {
    if (value < 0) throw new IllegalArgumentException(name + " is " + value + ", expected 0 to " + Integer.MAX_VALUE);
    return value;
  }

  static long unsigned(String name, long value) {
    if (value < 0) throw new IllegalArgumentException(name + " is " + value + ", expected 0 to " + Long.MAX_VALUE);
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
