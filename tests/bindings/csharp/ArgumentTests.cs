// tests/bindings/csharp/ArgumentTests.cs - what the C# classes refuse, by name and value.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using Ruda;

static class ArgumentTests {
  enum Wide : ulong { One = 1, Most = ulong.MaxValue }

  internal static void Refuses(string text, Action action) {
    ArgumentException error = Test.Throws<ArgumentException>(action, text);
    if (error != null) Test.Check(error.Message.Contains(text), error.Message + ", expected " + text);
  }

  internal static void Fails(string text, Action action) {
    RudaException error = Test.Throws<RudaException>(action, text);
    if (error != null) Test.Check(error.Message.Contains(text), error.Message + ", expected " + text);
  }

  static void Absent(string name, Action action) {
    ArgumentNullException error = Test.Throws<ArgumentNullException>(action, name);
    if (error != null) Test.Equal(error.ParamName, name, error.Message);
  }

  static void With(Action<Context, Stream> action) {
    using (Context c = new Context(Backend.Cpu)) using (Stream s = new Stream(c)) action(c, s);
  }

  public static void Overflows() {
    With((c, s) => {
      Tensor x = Tensor.From(s, c, new float[] { 1000, -1e9f }, 2);
      Test.Check(x.Cast(s, DType.F8E4M3).ToArray<byte>(s).SequenceEqual(new byte[] { 0x7E, 0xFE }), "default");
      Test.Check(x.Cast(s, DType.F8E4M3, Overflow.Nonfinite).ToArray<byte>(s).SequenceEqual(new byte[] { 0x7F, 0xFF }),
                 "NaN");
      Test.Check(x.Cast(s, DType.F8E5M2, Overflow.Saturate).ToArray<byte>(s).SequenceEqual(new byte[] { 0x64, 0xFB }),
                 "saturating");
      Fails("overflow is 1 with dtype F16", () => x.Cast(s, DType.F16, Overflow.Saturate));
    });
  }

  public static void Elements() {
    With((c, s) => {
      Test.Check(Tensor.From(s, c, new[] { 1, -2 }, 2).ToArray<int>(s).SequenceEqual(new[] { 1, -2 }), "int");
      Test.Equal(Tensor.From(s, c, new[] { 1L }, 1).DType, DType.I64, "long");
      Test.Equal(Tensor.From(s, c, new[] { 1.5 }, 1).ToArray<double>(s)[0], 1.5, "double");
      Test.Equal(Tensor.From(s, c, new[] { 1f }, 1).DType, DType.F32, "float");
      Test.Equal(Tensor.From(s, c, new byte[1], 1).DType, DType.U8, "byte");
      Test.Equal(Tensor.From(s, c, new sbyte[1], 1).DType, DType.I8, "sbyte");
      Test.Equal(Tensor.From(s, c, new short[1], 1).DType, DType.I16, "short");
      Test.Equal(Tensor.From(s, c, new ushort[1], 1).DType, DType.U16, "ushort");
      Test.Equal(Tensor.From(s, c, new uint[1], 1).DType, DType.U32, "uint");
      Test.Equal(Tensor.From(s, c, new ulong[1], 1).DType, DType.U64, "ulong");
      Test.Equal(Tensor.From(s, c, new[] { true }, 1).DType, DType.Bool, "bool");
      Test.Equal(Tensor.From(s, c, DType.BF16, new ushort[] { 0x3F80 }, 1).Cast(s, "f32").ToArray<float>(s)[0], 1f, "BF16");
      Refuses("data is an array of Char, expected one of numbers or of bool", () => Tensor.From(s, c, new char[1], 1));
      DayOfWeek[] days = { DayOfWeek.Monday };
      Refuses("data is an array of DayOfWeek, expected one of numbers or of bool", () => Tensor.From(s, c, days, 1));
      Refuses("an array of DayOfWeek holds no dtype, expected I32", () => Tensor.Over(c, DType.I32, days, 1));
      Refuses("an array of DayOfWeek holds no dtype, expected I32",
              () => Tensor.From(s, c, new[] { 1 }, 1).ToArray<DayOfWeek>(s));
      Refuses("the tensor holds 34359738368 bytes, an array is read of at most 2147483647: read a slice",
              () => Tensor.From(s, c, new[] { 1f }, 1).Broadcast(1L << 33).ToArray<float>(s));
      long live = c.LiveObjects;
      Refuses("data has 1 element, expected 4 as shape [2, 2]", () => Tensor.From(s, c, new float[1], 2, 2));
      Refuses("data has 3 elements, expected 2 as shape [2]", () => Tensor.From(s, c, new long[3], 2));
      Refuses("data has 4 bytes, expected 8 as shape [2]", () => Tensor.From(s, c, DType.F32, new byte[4], 2));
      Refuses("an array of Int32 holds I32, expected F32", () => Tensor.From(s, c, DType.F32, new int[2], 2));
      Test.Equal(c.LiveObjects, live, "nothing is left of what was refused");
      Tensor pair = new Tensor(c, DType.F32, 2);
      Fails("RUDA_E_SHAPE: data has 4 bytes, expected 8 as the tensor", () => pair.Write<float>(s, new float[1]));
      Fails("RUDA_E_SHAPE: data has 1 byte, expected at least 8 as the tensor", () => pair.Read<byte>(s, new byte[1]));
      int[] none = null;
      Refuses("data is null, expected a list", () => Tensor.From(s, c, none, 1));
    });
  }

  public static void Schedules() {
    With((c, s) => {
      using (PagedSchedule schedule = new PagedSchedule(c, 2, 4, 2, 2, 2)) {
        long[][] tables = { new long[] { 2 }, new long[] { 0, 3 } };
        long[] lengths = { 1, 3 }, ids = { 0, 1 }, positions = { 0, 2 };
        schedule.Set(s, new[] { new long[] { 2, -1 } }, new long[] { 1 }, new long[] { 0 }, new long[] { 0 });
        foreach (long value in new[] { -1L, 1L << 32 }) {
          long[] wrong = { 0, value };
          string text = "[1] is " + value + ", expected 0 to 4294967295";
          Refuses("lengths" + text, () => schedule.Set(s, tables, wrong, ids, positions));
          Refuses("sequenceIds" + text, () => schedule.Set(s, tables, lengths, wrong, positions));
          Refuses("positions" + text, () => schedule.Set(s, tables, lengths, ids, wrong));
        }
        Refuses("tables[1][0] is -2, expected -1 to 4294967295",
                () => schedule.Set(s, new[] { new long[] { 0 }, new long[] { -2 } }, lengths, ids, positions));
        Refuses("tables[1] is null", () => schedule.Set(s, new[] { new long[] { 0 }, null }, lengths, ids, positions));
        Refuses("lengths is null", () => schedule.Set(s, tables, null, ids, positions));
        long[][] jagged = new long[70000][];
        for (int i = 0; i < jagged.Length; ++i) jagged[i] = new long[i == 7 ? 40000 : 0];
        Refuses("tables has 70000 rows of up to 40000 pages, expected at most 2 of at most 2",
                () => schedule.Set(s, jagged, new long[70000], ids, positions));
      }
    });
  }

  public static void Nulls() {
    With((c, s) => {
      Tensor t = new Tensor(c, DType.F32, 2);
      Refuses("context is null", () => new Tensor(null, DType.F32, 2));
      Refuses("context is null", () => new Stream(null));
      Refuses("shape is null", () => new Tensor(c, DType.F32, null));
      Refuses("data is null", () => Tensor.From(s, c, null, 2));
      Refuses("data is null", () => Tensor.Over<float>(c, DType.F32, null, 2));
      Refuses("stream is null", () => t.Write<float>(null, new float[2]));
      Refuses("axes is null", () => t.Permute(null));
      Refuses("end is null", () => t.Slice(new long[1], null));
      Refuses("shape is null", () => new Operand(DType.F32, null));
      Refuses("strides has 1 number, expected 2", () => new Operand(DType.F32, new long[2], new long[1]));
      Refuses("role", () => new ChatMessage(null, ""));
      Refuses("op is null", () => new PlanBuilder(null));
      Refuses("context is null", () => new PlanBuilder("rms_norm").Create(null));
      Refuses("bytes is -1, expected 0 to 9223372036854775807", () => new Workspace(c, -1));
      Absent("b", () => Ops.Binary(s, t, null, (uint)Binary.Add));
      Absent("stream", () => Ops.Binary(null, t, t, (uint)Binary.Add));
      Absent("gamma", () => Ops.RmsNorm(s, t, null, 1e-6));
      Tensor square = new Tensor(c, DType.F32, 2, 2);
      Ops.Matmul(s, square, square, null).Dispose();
      Absent("a", () => Ops.Matmul(s, null, square));
      Absent("stream", () => t.Fill(null, 1));
      Absent("to", () => t.CopyTo(s, null));
      Absent("point", () => s.Wait(null));
      Absent("x", () => Plans.Softmax(c, null));
      Absent("context", () => Plans.Softmax(null, square));
      Absent("gamma", () => Plans.RmsNorm(c, square, null, 1e-6));
      using (Plan plan = Plans.Softmax(c, square))
        Absent("stream", () => plan.Execute(null, new Dictionary<string, object> { { "x", square } }));
      Refuses("op holds a NUL at index 7", () => new PlanBuilder("softmax\0x"));
      Refuses("op holds a NUL at index 4", () => Plan.OpKernels("copy\0"));
      Fails("kernel holds a NUL at byte 3",
            () => Plans.Softmax(c, square, options: new PlanOptions { Kernel = "cpu\0" }));
      // Unsigned fields of 64 bits hold every ulong.
      Plans.Softmax(c, square, options: new PlanOptions { WorkspaceLimitBytes = ulong.MaxValue }).Dispose();
      new PlanBuilder("softmax").Set("x", square).Set("options.workspace_limit_bytes", ulong.MaxValue).Create(c).Dispose();
      Fails("softmax: workspace_limit_bytes is -1, expected 0 to",
            () => new PlanBuilder("softmax").Set("x", square).Set("options.workspace_limit_bytes", -1).Create(c));
      uint small = 5;
      Fails("reduce: keepdims is 18446744073709551615, expected at most 4294967295",
            () => new PlanBuilder("reduce").Set("x", square).Set("axes_mask", small - 4).Set("keepdims", ulong.MaxValue).Create(c));
    });
  }

  public static void Operands() {
    With((c, s) => {
      Tensor x = Tensor.From(s, c, new float[] { 1, 2 }, 2), y = new Tensor(c, DType.F32, 2);
      using (Plan plan = Plans.Binary(c, x, (long)Binary.Add)) {
        Dictionary<string, object> given = new Dictionary<string, object> { { "a", x }, { "y", y }, { "b", null } };
        given["scalar"] = 2.0;
        plan.Execute(s, given);
        Test.Check(y.ToArray<float>(s).SequenceEqual(new float[] { 3, 4 }), "an operand that is null is left out");
        foreach (object three in new object[] { 3, 3L, (byte)3, 3UL, 3f }) {
          given["scalar"] = three;
          plan.Execute(s, given);
          Test.Check(y.ToArray<float>(s).SequenceEqual(new float[] { 4, 5 }), "a scalar of " + three.GetType().Name);
        }
        given["scalar"] = (1L << 53) + 1;
        Fails("scalar): is the integer 9007199254740993, which no double holds", () => plan.Execute(s, given));
        given["scalar"] = ulong.MaxValue;
        Refuses("scalar is 18446744073709551615, expected a double or an integer", () => plan.Execute(s, given));
        Tensor wide = new Tensor(c, DType.I64, 1);
        Test.Check(wide.Fill(s, -(1L << 60)).ToArray<long>(s)[0] == -(1L << 60), "fill");
        Refuses("value is 1152921504606846977, expected", () => wide.Fill(s, (1L << 60) + 1));
        Refuses("value is 9223372036854775807, expected", () => wide.Fill(s, long.MaxValue));
        given["scalar"] = Wide.Most;
        Refuses("scalar is 18446744073709551615, expected a double or an integer", () => plan.Execute(s, given));
        given["scalar"] = new IntPtr(3);
        Refuses("scalar is an IntPtr, expected a tensor", () => plan.Execute(s, given));
        given["scalar"] = new UIntPtr(3);
        Refuses("scalar is a UIntPtr, expected a tensor", () => plan.Execute(s, given));
        given["scalar"] = "x";
        Refuses("scalar is a String, expected a tensor", () => plan.Execute(s, given));
        Refuses("binary has no operand \"z\": it has a, b, y, scalar",
                () => plan.Execute(s, new Dictionary<string, object> { { "z", x } }));
        Refuses("operands is null", () => plan.Execute(s, null));
      }
      Refuses("name is null", () => new PlanBuilder("rms_norm").Set(null, 1L));
      Fails("binary: op is 18446744073709551615, expected one of Binary: add",
            () => new PlanBuilder("binary").Set("a", x).Set("op", Wide.Most).Create(c));
      // What is given is quoted as the library does, and cut, so that what is expected stands behind it.
      foreach (string unit in new[] { "k", "\u00e9" }) {
        string cut = "\"" + string.Concat(Enumerable.Repeat(unit, unit == "k" ? 80 : 40)) + "\"...";
        string full = string.Concat(Enumerable.Repeat(unit, 5000));
        Fails("softmax: kernel is " + cut + ", which this backend does not have",
              () => Plans.Softmax(c, x, options: new PlanOptions { Kernel = full }));
        Fails("no operator is called " + cut, () => new PlanBuilder(full).Create(c));
        Fails("softmax has no parameter " + cut + ": it has x", () => new PlanBuilder("softmax").Set(full, 3L).Create(c));
        Fails("binary: op is " + cut + ", expected one of Binary: add",
              () => new PlanBuilder("binary").Set("a", x).Set("op", full).Create(c));
        Refuses("op is " + cut + ", expected one of Binary: add", () => Ops.Binary(s, x, x, full));
      }
      Refuses("op is \"\\x0a\\x22\\xe2\\x80\\xae\\xd8\\x9c\u00e9\", expected one of", () => Ops.Binary(s, x, x, "\n\"\u202e\u061c\u00e9"));
      Fails("binary: op is \"\\x0a\\x22\\xe2\\x80\\xae\\xd8\\x9c\u00e9\", expected one of",
            () => new PlanBuilder("binary").Set("a", x).Set("op", "\n\"\u202e\u061c\u00e9").Create(c));
      Fails("rms_norm: x cannot hold a value of kind integer, expected a tensor",
            () => new PlanBuilder("rms_norm").Set("x", 1L).Create(c));
      Fails("rms_norm: x cannot hold a value of kind object, expected a tensor",
            () => new PlanBuilder("rms_norm").Set("x", (NativeObject)s).Create(c));
      Fails("softmax has no parameter \"options.kernle\": it has options.strategy options.kernel options.math ",
            () => new PlanBuilder("softmax").Set("x", x).Set("options.kernle", "x").Create(c));
      Fails("options.kernel", () => new PlanBuilder("softmax").Set("x", x).Set("kernel", "x").Create(c));
      Fails("reduce has no parameter \"axes\": it has",
            () => new PlanBuilder("reduce").Set("x", x).Set("op", (long)Reduce.Sum).Set("axes", 1L).Create(c));
      Plans.Reduce(c, x, (long)Reduce.Sum, axesMask: 1).Dispose();
    });
  }

  /// <summary>A parameter is optional only where the call can succeed without it.</summary>
  public static void Optional() {
    ParameterInfo[] binary = typeof(Ops).GetMethod("Binary").GetParameters();
    Test.Equal(string.Join(" ", binary.Select(p => p.Name)), "stream a b op", "binary");
    Test.Check(!binary.Any(p => p.IsOptional), "binary needs all of them");
    Test.Equal(typeof(Ops).GetMethod("Reduce").GetParameters()[3].Name, "axesMask", "the name of a mask");
    With((c, s) => {
      Tensor x = new Tensor(c, DType.F32, 1, 1, 4).Fill(s, 1), at = new Tensor(c, DType.I32, 1).Fill(s, 0);
      Refuses("theta is 0, expected a number above 0 where frequencies is null", () => Ops.Rope(s, x, at));
      Test.Equal(Ops.Rope(s, x, at, theta: 1e4).Count, 4L, "rope with a theta");
      Test.Check(Ops.Reduce(s, x, (uint)Reduce.Sum, axesMask: 4).Shape.SequenceEqual(new long[] { 1, 1 }), "reduce");
    });
  }
}
