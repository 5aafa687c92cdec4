// bindings/csharp/Ruda/Choice.cs - a value of an enumeration, given as such, by its number or by its name.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;

namespace Ruda {
  /// <summary>A parameter that is off or on: false or true, or 0 or 1.</summary>
  public struct Flag {
    readonly long value;

    Flag(long value) {
      this.value = value;
    }

    public static implicit operator Flag(bool value) {
      return new Flag(value ? 1 : 0);
    }
    public static implicit operator Flag(int value) {
      return new Flag(value);
    }
    public static implicit operator Flag(uint value) {
      return new Flag(value);
    }
    public static implicit operator Flag(long value) {
      return new Flag(value);
    }

    internal long Value {
      get { return value; }
    }

    internal uint Number(string parameter) {
      if (value != 0 && value != 1)
        throw new ArgumentException(parameter + " is " + value + ", expected 0 or 1", parameter);
      return (uint)value;
    }

    public override string ToString() {
      return value.ToString();
    }
  }

  /// <summary>A parameter that takes an enumeration: Binary.FloorDiv, its number, or its name in any case, as the library
  /// writes it or as C# does ("floor_div", "FloorDiv"). What is none of its values is refused with all of them where it is
  /// used, and so is a name that is null.</summary>
  public struct Choice<T>
      where T : struct {
    static readonly string[] members = Enum.GetNames(typeof(T)).Select(n => n.ToLowerInvariant()).ToArray();
    static readonly string[] names = Enum.GetNames(typeof(T)).Select(Snake).ToArray();
    static readonly long[] numbers = Enum.GetValues(typeof(T)).Cast<T>().Select(v => Convert.ToInt64(v)).ToArray();
    static readonly HashSet<long> known = new HashSet<long>(numbers);
    static readonly bool isOpen = Array.IndexOf(Built.Open, typeof(T)) >= 0;

    readonly bool given, byName;
    readonly decimal number;
    readonly string name;

    Choice(decimal number) {
      given = true;
      byName = false;
      this.number = number;
      name = null;
    }

    Choice(string name) {
      given = byName = true;
      number = 0;
      this.name = name;
    }

    public static implicit operator Choice<T>(T value) {
      return new Choice<T>(Convert.ToInt64(value));
    }
    public static implicit operator Choice<T>(int value) {
      return new Choice<T>(value);
    }
    public static implicit operator Choice<T>(uint value) {
      return new Choice<T>(value);
    }
    public static implicit operator Choice<T>(long value) {
      return new Choice<T>(value);
    }
    public static implicit operator Choice<T>(ulong value) {
      return new Choice<T>(value);
    }
    public static implicit operator Choice<T>(string name) {
      return new Choice<T>(name);
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
      string expected = ", expected one of " + typeof(T).Name + ": " + string.Join(", ", names) +
                        (isOpen ? ", or a number from 0 to " + uint.MaxValue : "");
      if (byName) {
        if (name == null) throw new ArgumentNullException(parameter, parameter + " is null" + expected);
        string lower = name.ToLowerInvariant();
        int at = Math.Max(Array.IndexOf(names, lower), Array.IndexOf(members, lower));
        if (at >= 0) return (uint)numbers[at];
      } else if ((number >= 0 && number <= uint.MaxValue && (isOpen || known.Contains((long)number))) ||
                 (number == 0 && unset)) {
        return (uint)number;
      }
      throw new ArgumentException(parameter + " is " + (byName ? Need.Quoted(name) : number.ToString()) + expected,
                                  parameter);
    }

    public override string ToString() {
      if (!given || byName) return name ?? "";
      bool named = number <= uint.MaxValue && known.Contains((long)number);
      return named ? Enum.ToObject(typeof(T), (long)number).ToString() : number.ToString();
    }
  }
}
