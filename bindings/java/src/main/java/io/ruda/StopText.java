// bindings/java/src/main/java/io/ruda/StopText.java - holds text back that may begin a stop sequence.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import java.util.ArrayList;
import java.util.List;

final class StopText {
  private final List<String> stops = new ArrayList<>();
  private String held = "";
  private boolean stopped;

  /** null is none. */
  StopText(List<String> given) {
    if (given == null) return;
    for (String stop : given) {
      String name = "stops[" + stops.size() + "]";
      if (NativeHandle.need(name, stop).isEmpty())
        throw new IllegalArgumentException(name + " is empty, expected a text of one character or more");
      stops.add(NativeHandle.whole(name, stop));
    }
  }

  boolean stopped() {
    return stopped;
  }

  /** What may be shown. */
  String push(String text) {
    held += text;
    int found = -1, keep = 0;
    for (String stop : stops) {
      int at = held.indexOf(stop);
      if (at >= 0 && (found < 0 || at < found)) found = at;
      for (int length = Math.min(stop.length() - 1, held.length()); length > keep; --length)
        if (held.endsWith(stop.substring(0, length))) keep = length;
    }
    stopped = found >= 0;
    String shown = held.substring(0, stopped ? found : held.length() - keep);
    held = stopped ? "" : held.substring(shown.length());
    return shown;
  }

  String rest() {
    String rest = held;
    held = "";
    return rest;
  }
}
