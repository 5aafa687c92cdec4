// bindings/java/src/main/java/io/ruda/CancelToken.java - stops work that carries it.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import io.ruda.internal.Raw;

/** Stops work that carries it; request() may come from any thread. */
public final class CancelToken extends NativeHandle {
  public CancelToken() {
    super(make());
  }

  private static long make() {
    long[] made = new long[1];
    Raw.ruda_cancel_create(made);
    return made[0];
  }

  private volatile boolean requested;

  public boolean isRequested() {
    needOpen();
    return requested;
  }

  public void request() {
    with(p -> Raw.ruda_cancel_request(p[0]), this);
    requested = true;
  }

  public void reset() {
    with(p -> Raw.ruda_cancel_reset(p[0]), this);
    requested = false;
  }
}
