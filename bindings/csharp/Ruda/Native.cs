// bindings/csharp/Ruda/Native.cs - handles, errors, loading, memory that tensors borrow.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Runtime.InteropServices;
using System.Text;

namespace Ruda.Interop {
  /// <summary>One reference to an object of the library. Parents and children may be released in any
  /// order.</summary>
  public abstract class RudaHandle : SafeHandle {
    protected RudaHandle() : base(IntPtr.Zero, true) {
    }

    public override bool IsInvalid {
      get { return handle == IntPtr.Zero; }
    }

    protected override bool ReleaseHandle() {
      return NativeLoader.ruda_release(handle) == 0;
    }

    /// <summary>A handle that stands for NULL and is never released.</summary>
    protected static T Never<T>(T made)
        where T : RudaHandle {
      GC.SuppressFinalize(made);
      return made;
    }

    internal long Number {
      get { return handle.ToInt64(); }
    }

    /// <summary>What the object is, as messages say it, and the name of a parameter that takes one.</summary>
    internal abstract string Noun { get; }
    internal abstract string Parameter { get; }

    /// <summary>Takes a reference for a call; a closed object is refused by the name of the parameter.</summary>
    internal void Hold(string parameter, ref bool held) {
      try {
        DangerousAddRef(ref held);
      } catch (ObjectDisposedException) {
        throw Closed(parameter);
      }
    }

    internal ObjectDisposedException Closed(string parameter) {
      return new ObjectDisposedException(null, parameter.Trim('@', '_') + ": closed, expected an open " + Noun);
    }

    internal void NeedOpen(string parameter) {
      if (IsClosed) throw Closed(parameter);
    }
  }

  /// <summary>Loads the native files before the first call. The loader keeps one library of a name, so what
  /// is loaded first is what is used: the file that RUDA_LIBRARY names, else the one beside the assembly or
  /// under runtimes/linux-x64/native, else the system's.</summary>
  static class NativeLoader {
    const int Now = 2;

    [DllImport("libdl.so.2", EntryPoint = "dlopen")]
    static extern IntPtr DlOpen(string path, int flags);
    [DllImport("rudacs", EntryPoint = "CSharp_release")]
    internal static extern int ruda_release(IntPtr handle);

    static string Folder() {
      string path = typeof(NativeLoader).Assembly.Location;
      return string.IsNullOrEmpty(path) ? AppDomain.CurrentDomain.BaseDirectory : Path.GetDirectoryName(path);
    }

    internal static bool Load() {
      string chosen = Environment.GetEnvironmentVariable("RUDA_LIBRARY");
      if (!string.IsNullOrEmpty(chosen) && DlOpen(chosen, Now) == IntPtr.Zero)
        throw new DllNotFoundException("RUDA_LIBRARY names " + chosen + ", which cannot be loaded");
      string folder = Folder();
      foreach (string place in new[] { folder, Path.Combine(folder, "runtimes", "linux-x64", "native") }) {
        string wrapper = Path.Combine(place, "librudacs.so");
        if (File.Exists(wrapper) && DlOpen(wrapper, Now) != IntPtr.Zero)
          break;
      }
      return true;
    }
  }
}

namespace Ruda {
  using Ruda.Interop;

  /// <summary>A failed call. Status / 1000 is the category of the error; Kind names it.</summary>
  public sealed class RudaException : Exception {
    RudaException(int status, int argument, int nativeCode, string name, string message, string function,
                  string library)
        : base(name + ": " + message) {
      Status = (Status)status;
      Argument = argument;
      NativeCode = nativeCode;
      Name = name;
      Function = function;
      NativeLibrary = library;
    }

    public Status Status { get; private set; }
    /// <summary>Position of the C argument at fault, from 0; -1 = none.</summary>
    public int Argument { get; private set; }
    public int NativeCode { get; private set; }
    /// <summary>Such as RUDA_E_SHAPE.</summary>
    public string Name { get; private set; }
    public string Function { get; private set; }
    public string NativeLibrary { get; private set; }

    public ErrorKind Kind {
      get {
        int category = (int)Status / 1000;
        return category >= 1 && category <= 9 ? (ErrorKind)category : ErrorKind.Unknown;
      }
    }

    /// <summary>The same error in the words of the call that was made.</summary>
    internal RudaException Renamed(string message) {
      return new RudaException((int)Status, Argument, NativeCode, Name, message, Function, NativeLibrary);
    }

    /// <summary>An answer that is read on after another call changed its session.</summary>
    internal static RudaException Ended() {
      return new RudaException((int)Status.EState, -1, 0, "RUDA_E_STATE",
                               "session: this answer ended when a later call changed the session, expected one answer " +
                                   "read at a time", "", "");
    }

    /// <summary>The exception for the call that just failed on this thread; nothing may run in
    /// between.</summary>
    internal static RudaException Last(int status) {
      int[] numbers = new int[2];
      byte[] raw = new byte[4096];
      RudaNative.rudax_error_record(status, numbers, raw, (ulong)raw.Length);
      string[] texts = Encoding.UTF8.GetString(raw).Split('\0');
      return new RudaException(status, numbers[0], numbers[1], texts[3], texts[0], texts[1], texts[2]);
    }
  }

  public enum ErrorKind {
    Unknown,
    Argument,
    Unsupported,
    Resource,
    Device,
    File,
    Communication,
    Cancelled,
    Callback,
    Internal
  }

  /// <summary>Any object of the library.</summary>
  public abstract class NativeObject : IDisposable {
    internal abstract RudaHandle Handle { get; }

    /// <summary>Releases the object; again is fine, from any thread.</summary>
    public void Dispose() {
      Handle.Dispose();
      Loans.Collect();
    }

    public bool IsDisposed {
      get { return Handle.IsClosed; }
    }

    /// <summary>Refuses a disposed object, as every call but Dispose does.</summary>
    internal void NeedOpen() {
      Handle.NeedOpen(Handle.Parameter);
    }

    /// <summary>What the object is, in a line; never throws.</summary>
    public sealed override string ToString() {
      string type = GetType().Name;
      try {
        return IsDisposed ? type + " (disposed)" : (type + " " + Describe()).TrimEnd();
      } catch (RudaException) {
      } catch (ObjectDisposedException) {
      }
      return type;
    }

    internal virtual string Describe() {
      return "";
    }

    internal delegate ulong Reader(byte[] text);

    /// <summary>The text of a function that says how many bytes it needs.</summary>
    internal static string ReadText(Reader call, int size = 256) {
      while (true) {
        byte[] text = new byte[size];
        ulong needed = call(text);
        if (needed <= (ulong)size)
          return Encoding.UTF8.GetString(text, 0, needed == 0 ? 0 : (int)needed - 1);
        size = (int)needed;
      }
    }
  }

  public class NativeObject<T> : NativeObject
      where T : RudaHandle {
    internal readonly T H;

    internal NativeObject(T handle) {
      H = handle;
    }

    internal override RudaHandle Handle {
      get { return H; }
    }
  }

  /// <summary>Refuses an argument by its name and value.</summary>
  static class Need {
    internal static T Given<T>(string name, T value)
        where T : class {
      return Given(name, value, Expected(typeof(T)));
    }

    internal static T Given<T>(string name, T value, string expected)
        where T : class {
      if (value == null) throw new ArgumentNullException(name, name + " is null, expected " + expected);
      return value;
    }

    static string Expected(Type type) {
      if (type == typeof(string)) return "a text";
      if (typeof(Delegate).IsAssignableFrom(type)) return "a function";
      if (typeof(System.Collections.IEnumerable).IsAssignableFrom(type)) return "a list";
      string noun = string.Concat(type.Name.Select((c, i) => i > 0 && char.IsUpper(c) ? " " + c : c.ToString()));
      return ("AEIOU".IndexOf(noun[0]) >= 0 ? "an " : "a ") + noun.ToLowerInvariant();
    }

    internal static T H<T>(string name, NativeObject<T> value)
        where T : RudaHandle {
      if (value == null) {
        string noun = ((RudaHandle)Activator.CreateInstance(typeof(T))).Noun;
        throw new ArgumentNullException(name, name + " is null, expected a" + (noun[0] == 'e' ? "n " : " ") + noun);
      }
      value.H.NeedOpen(name);
      return value.H;
    }

    /// <summary>As H; null stays NULL.</summary>
    internal static T Free<T>(string name, NativeObject<T> value, T none)
        where T : RudaHandle {
      return value == null ? none : H(name, value);
    }

    /// <summary>A number of things: "1 page", "2 pages".</summary>
    internal static string Counted(long count, string thing) {
      return count + " " + thing + (count == 1 ? "" : "s");
    }

    /// <summary>A number that is unsigned in the library.</summary>
    internal static ulong Unsigned(string name, long value, long most = long.MaxValue) {
      if (value < 0 || value > most)
        throw new ArgumentException(name + " is " + value + ", expected 0 to " + most, name);
      return (ulong)value;
    }

    /// <summary>The number of a value of an enumeration; unset: 0 stands for the default.</summary>
    internal static uint One<T>(string name, Choice<T> value, bool unset = false)
        where T : struct {
      return value.Number(name, unset);
    }

    /// <summary>A text that ends with its first NUL in the library; null stays null.</summary>
    internal static string Text(string name, string value) {
      int at = value == null ? -1 : value.IndexOf('\0');
      if (at >= 0) throw new ArgumentException(name + " holds a NUL at index " + at + ", expected none", name);
      return Whole(name, value);
    }

    /// <summary>A text that UTF-8 can hold: half a surrogate pair is refused; null stays null.</summary>
    internal static string Whole(string name, string value) {
      for (int i = 0; value != null && i < value.Length; ++i) {
        if (!char.IsSurrogate(value[i])) continue;
        if (!char.IsSurrogatePair(value, i))
          throw new ArgumentException(name + " holds a lone surrogate at index " + i + ", expected none", name);
        ++i;
      }
      return value;
    }

    /// <summary>A text as the library's messages quote it: at most 80 bytes of UTF-8, whole characters, then "..."; what is
    /// not printable as \xNN.</summary>
    internal static string Quoted(string value) {
      StringBuilder made = new StringBuilder("\"");
      int shown = 0, at = 0;
      while (at < value.Length) {
        string piece = value.Substring(at, char.IsSurrogatePair(value, at) ? 2 : 1);
        byte[] raw = Encoding.UTF8.GetBytes(piece);
        if (shown + raw.Length > 80) break;
        char c = piece[0];
        bool marks = c == 0x061C || c == 0x200E || c == 0x200F || (c >= 0x2028 && c <= 0x202E) || (c >= 0x2066 && c <= 0x2069);
        if (char.IsControl(c) || marks || c == '"' || c == '\\')
          foreach (byte b in raw) made.Append("\\x").Append(b.ToString("x2"));
        else
          made.Append(piece);
        shown += raw.Length;
        at += piece.Length;
      }
      return made.Append(at < value.Length ? "\"..." : "\"").ToString();
    }

    /// <summary>UTF-8 of a text.</summary>
    internal static byte[] Bytes(string name, string value) {
      return Encoding.UTF8.GetBytes(Whole(name, Given(name, value)));
    }
  }

  /// <summary>Memory that tensors borrow. The last user may be gone on any thread; the library puts the
  /// number of the loan on a list, which is emptied whenever an object is made over memory or
  /// disposed.</summary>
  static class Loans {
    static readonly Dictionary<long, GCHandle> held = new Dictionary<long, GCHandle>();
    static long count;

    internal static long Add(GCHandle pinned) {
      lock (held) {
        held.Add(++count, pinned);
        return count;
      }
    }

    internal static void Remove(long number) {
      lock (held) {
        GCHandle pinned;
        if (!held.TryGetValue(number, out pinned))
          return;
        held.Remove(number);
        pinned.Free();
      }
    }

    internal static void Collect() {
      if (held.Count == 0)
        return;
      for (long number; (number = RudaNative.rudax_take_returned()) >= 0;) Remove(number);
    }

    internal static int Count {
      get { lock (held) return held.Count; }
    }
  }
}
