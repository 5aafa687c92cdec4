// bindings/java/src/main/java/io/ruda/Workspace.java - scratch memory for plans.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import io.ruda.internal.Raw;

/** Scratch memory for plans of one stream at a time. */
public final class Workspace extends NativeHandle {
  public Workspace(Context context, long bytes) {
    super(need("context", context).use(p -> {
      long[] made = new long[1];
      Raw.ruda_workspace_create(p, unsigned("bytes", bytes), made);
      return made[0];
    }));
  }
}
