// bindings/java/src/main/java/io/ruda/Event.java - a point in a stream's order.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import io.ruda.internal.Raw;

/** A point in a stream's order. */
public final class Event extends NativeHandle {
  public Event(Context context) {
    super(need("context", context).use(p -> {
      long[] made = new long[1];
      Raw.ruda_event_create(p, made);
      return made[0];
    }));
  }

  public void record(Stream stream) {
    with(p -> Raw.ruda_event_record(p[0], p[1]), this, need("stream", stream));
  }

  public void sync() {
    with(p -> Raw.ruda_event_sync(p[0]), this);
  }

  /** Seconds from this event to a later one. */
  public double elapsed(Event later) {
    double[] seconds = new double[1];
    with(p -> Raw.ruda_event_elapsed(p[0], p[1], seconds), this, need("later", later));
    return seconds[0];
  }
}
