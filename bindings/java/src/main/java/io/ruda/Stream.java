// bindings/java/src/main/java/io/ruda/Stream.java - an ordered queue of work.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import io.ruda.internal.Raw;

/** An ordered queue of work. On the CPU work runs at the call. */
public final class Stream extends NativeHandle {
  public Stream(Context context) {
    super(need("context", context).use(p -> {
      long[] made = new long[1];
      Raw.ruda_stream_create(p, 0, made);
      return made[0];
    }));
  }

  /** Waits for all submitted work; throws the first error of asynchronous work. */
  public void sync() {
    with(p -> Raw.ruda_stream_sync(p[0]), this);
  }

  /** Whether all submitted work is done. */
  public boolean isDone() {
    long[] done = new long[1];
    with(p -> Raw.rudax_stream_done(p[0], done), this);
    return done[0] != 0;
  }

  /** Later work waits for the event. */
  public void await(Event event) {
    with(p -> Raw.ruda_stream_wait(p[0], p[1]), this, need("event", event));
  }
}
