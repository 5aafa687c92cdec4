// bindings/csharp/Ruda/Choice.cs - a value of an enumeration, given as such, by its number or by its name.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Ruda {
  /// <summary>A parameter that takes an enumeration: Binary.Add, its number, or its name ("add", "gelu_tanh", in any
  /// case). What is none of its values is refused with all of them where it is used.</summary>
  public struct Choice<T>
      where T : struct {
    static readonly string[] names = Enum.GetNames(typeof(T)).Select(Snake).ToArray();
    static readonly long[] numbers = Enum.GetValues(typeof(T)).Cast<T>().Select(v => Convert.ToInt64(v)).ToArray();
    static readonly HashSet<long> known = new HashSet<long>(numbers);
    static readonly bool isOpen = Array.IndexOf(Built.Open, typeof(T)) >= 0;

    readonly bool given;
    readonly decimal number;
    readonly string name;

    Choice(decimal number, string name) {
      given = true;
      this.number = number;
      this.name = name;
    }

    public static implicit operator Choice<T>(T value) {
      return new Choice<T>(Convert.ToInt64(value), null);
    }
    public static implicit operator Choice<T>(int value) {
      return new Choice<T>(value, null);
    }
    public static implicit operator Choice<T>(uint value) {
      return new Choice<T>(value, null);
    }
    public static implicit operator Choice<T>(long value) {
      return new Choice<T>(value, null);
    }
    public static implicit operator Choice<T>(ulong value) {
      return new Choice<T>(value, null);
    }
    public static implicit operator Choice<T>(string name) {
      return name == null ? default(Choice<T>) : new Choice<T>(0, name);
    }

    /// <summary>Whether there is a value; what is not given keeps its default.</summary>
    internal bool IsGiven {
      get { return given; }
    }

    static string Snake(string name) {
      if (name.Any(char.IsDigit)) return name.ToLowerInvariant();
      return string.Concat(name.Select((c, i) => (i > 0 && char.IsUpper(c) ? "_" : "") + char.ToLowerInvariant(c)));
    }

    /// <summary>The number; unset: 0 stands for the default.</summary>
    internal uint Number(string parameter, bool unset) {
      if (name != null) {
        int at = Array.IndexOf(names, name.ToLowerInvariant());
        if (at >= 0) return (uint)numbers[at];
      } else if ((number >= 0 && number <= uint.MaxValue && (isOpen || known.Contains((long)number))) ||
                 (number == 0 && unset)) {
        return (uint)number;
      }
      throw new ArgumentException(parameter + " is " + (name == null ? number.ToString() : "\"" + name + "\"") +
                                      ", expected one of " + typeof(T).Name + ": " + string.Join(", ", names) +
                                      (isOpen ? ", or a number" : ""),
                                  parameter);
    }

    public override string ToString() {
      return !given ? "" : name ?? (known.Contains((long)number) ? Enum.ToObject(typeof(T), (long)number) : number).ToString();
    }
  }
}
