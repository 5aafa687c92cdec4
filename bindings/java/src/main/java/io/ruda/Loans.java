// bindings/java/src/main/java/io/ruda/Loans.java - buffers that tensors borrow.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import io.ruda.internal.Raw;
import java.nio.ByteBuffer;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;

/**
 * The last user of a borrowed buffer may be gone on any native thread, which never enters the virtual
 * machine: the library puts the number of the loan on a list, which is emptied whenever an object is made
 * over memory or closed.
 */
final class Loans {
  private static final ConcurrentHashMap<Long, ByteBuffer> HELD = new ConcurrentHashMap<>();
  private static final AtomicLong COUNT = new AtomicLong();

  private Loans() {}

  static long add(ByteBuffer buffer) {
    long number = COUNT.incrementAndGet();
    HELD.put(number, buffer);
    return number;
  }

  static void remove(long number) {
    HELD.remove(number);
  }

  static void collect() {
    if (HELD.isEmpty()) return;
    for (long number; (number = Raw.rudax_take_returned()) >= 0;) HELD.remove(number);
  }

  static int size() {
    collect();
    return HELD.size();
  }
}
