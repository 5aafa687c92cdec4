// bindings/csharp/Ruda/StopText.cs - the texts that end an answer.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;

namespace Ruda {
  /// <summary>Holds text back that may begin a stop sequence.</summary>
  sealed class StopText {
    readonly List<string> stops = new List<string>();
    string held = "";

    internal StopText(IEnumerable<string> given) {
      if (given == null) return;
      foreach (string stop in given) {
        string name = "stops[" + stops.Count + "]";
        if (Need.Given(name, stop) == "")
          throw new ArgumentException(name + " is empty, expected a text of one character or more", "stops");
        stops.Add(Need.Whole(name, stop));
      }
    }

    internal string Push(string text, out bool stopped) {
      held += text;
      int found = -1, keep = 0;
      foreach (string stop in stops) {
        int at = held.IndexOf(stop, StringComparison.Ordinal);
        if (at >= 0 && (found < 0 || at < found)) found = at;
        for (int length = Math.Min(stop.Length - 1, held.Length); length > keep; --length)
          if (held.EndsWith(stop.Substring(0, length), StringComparison.Ordinal)) keep = length;
      }
      stopped = found >= 0;
      string shown = held.Substring(0, stopped ? found : held.Length - keep);
      held = stopped ? "" : held.Substring(shown.Length);
      return shown;
    }

    internal string Rest() {
      string rest = held;
      held = "";
      return rest;
    }
  }
}
