// tests/bindings/csharp/EnumerationTests.cs - parameters that take an enumeration: values, numbers, names, and what is none.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using Ruda;

static class EnumerationTests {
  const string Saturate = "expected one of Overflow: default, saturate, nonfinite";

  public static void Values() {
    using (Context c = new Context(Backend.Cpu)) using (Stream s = new Stream(c)) {
      Tensor x = Tensor.From(s, c, new float[] { 1, -2 }, 2), y = new Tensor(c, DType.F32, 2);
      float[] want = { -1, 2 };
      foreach (Choice<Unary> op in new Choice<Unary>[] { Unary.Neg, 1, 1u, 1L, 1UL, "neg", "NEG" })
        Test.Check(Ops.Unary(s, x, op).ToArray<float>(s).SequenceEqual(want), "unary of " + op);
      Test.Check(Ops.Binary(s, x, x, Binary.Mul).ToArray<float>(s).SequenceEqual(new float[] { 1, 4 }), "binary");
      Test.Check(Ops.Binary(s, x, x, (uint)Binary.Mul).ToArray<float>(s).SequenceEqual(new float[] { 1, 4 }), "number");
      Test.Check(Ops.Reduce(s, x, "max_abs").ToArray<float>(s)[0] == 2, "reduce");
      Tensor m = x.View(1, 2), n = x.View(2, 1);
      Test.Check(Ops.Matmul(s, n, m, activation: "relu").ToArray<float>(s).SequenceEqual(new float[] { 1, 0, 0, 4 }), "relu");
      Test.Equal(Ops.Matmul(s, n, m, outDtype: DType.F32).DType, DType.F32, "dtype");
      foreach (Action<PlanBuilder> set in new Action<PlanBuilder>[] {
                 b => b.Set("op", Unary.Neg), b => b.Set("op", "neg"), b => b.Set("op", "Neg"), b => b.Set("op", 1L) }) {
        PlanBuilder builder = new PlanBuilder("unary").Set("x", x);
        set(builder);
        using (Plan plan = builder.Create(c))
          plan.Execute(s, new System.Collections.Generic.Dictionary<string, object> { { "x", x }, { "y", y } });
        Test.Check(y.ToArray<float>(s).SequenceEqual(want), "a plan of unary");
      }
      Plans.Unary(c, x, Unary.Neg).Dispose();
      Plans.Unary(c, x, "neg").Dispose();
      Plans.Matmul(c, n, m, activation: Activation.Relu, outDtype: "f32").Dispose();
      Test.Equal((uint)RopePairing.Interleaved, (uint)Rope.Interleaved, "one prefix");
      Test.Equal((uint)Splits.Auto, uint.MaxValue, "splits");
      Test.Equal(((Choice<Unary>)Unary.Neg).ToString(), "Neg", "text");
      Test.Equal(((Choice<Unary>)ulong.MaxValue).ToString(), ulong.MaxValue.ToString(), "text of what is none");
    }
  }

  /// <summary>Every public parameter that takes an enumeration takes its value, its number and its name.</summary>
  public static void Names() {
    using (Context c = new Context("cpu", logLevel: "info")) using (Stream s = new Stream(c)) {
      Test.Equal(c.Backend, Backend.Cpu, "backend");
      Test.Check(Context.DeviceCount("Cpu") == 1 && Context.DeviceCount(1) == 1, "devices");
      c.SetLogLevel("error");
      Tensor x = Tensor.From<float>(s, c, "f32", new float[] { 1000, 1 }, 2);
      Test.Equal(new Tensor(c, "F32", 2).DType, DType.F32, "new");
      Test.Check(x.Cast(s, "f8e4m3", "saturate").ToArray<byte>(s)[0] == 0x7E, "cast");
      Test.Equal(x.Cast(s, (uint)DType.BF16).DType, DType.BF16, "cast by number");
      Test.Equal(Tensor.Over(c, "i32", new int[2], 2).DType, DType.I32, "over");
      Test.Check(Plan.OpKernels("unary", "cpu").SequenceEqual(Plan.OpKernels("unary")), "kernels");
      using (Plan plan = Plans.Unary(c, new Operand("f32", new long[] { 2 }), "neg",
                                     options: new PlanOptions { Strategy = "scalar", Math = MathMode.Strict, Determinism = null }))
        Test.Check(plan.Kernel.StartsWith("cpu/unary/"), plan.Kernel);
      Test.Check(Ops.Binary(s, x, x, "FloorDiv").ToArray<float>(s).SequenceEqual(
                     Ops.Binary(s, x, x, "floor_div").ToArray<float>(s)), "the spelling of C#");
    }
  }

  /// <summary>A number that is 0 or 1 may be a bool.</summary>
  public static void Flags() {
    using (Context c = new Context(Backend.Cpu)) using (Stream s = new Stream(c)) {
      Tensor x = Tensor.From(s, c, new float[] { 1, 2 }, 2), y = new Tensor(c, DType.F32, 1);
      foreach (Flag keepdims in new Flag[] { true, 1, 1u, 1L })
        Plans.Reduce(c, x, Reduce.Sum, y, keepdims: keepdims).Dispose();
      Plans.Reduce(c, x, "sum", y, keepdims: true).Dispose();
      Plans.Reduce(c, x, "sum", y, keepdims: 1).Dispose();
      ArgumentTests.Fails("reduce: keepdims is 2", () => Plans.Reduce(c, x, "sum", y, keepdims: 2));
      PagedSchedule schedule = new PagedSchedule(c, 2, 2, 1, 1, 1);
      schedule.Set(s, new[] { new[] { 1 } }, new[] { 2 }, new[] { 0 }, new[] { 1 });
      Tensor q = new Tensor(c, DType.F32, 1, 1, 1).Fill(s, 1), keys = new Tensor(c, DType.F32, 2, 2, 1, 1).Fill(s, 3);
      foreach (Flag causal in new Flag[] { true, 1, false, 0 })
        Test.Equal(Ops.PagedAttention(s, schedule, q, keys, keys, 1, causal)[0].ToArray<float>(s)[0], 3f, "causal " + causal);
      Test.Equal(Ops.PagedAttention(s, schedule, q, keys, keys, 1, causal: true).Length, 2, "true");
      Plans.PagedAttention(c, q, keys, keys, 1, causal: true).Dispose();
      ArgumentTests.Refuses("causal is 2, expected 0 or 1", () => Ops.PagedAttention(s, schedule, q, keys, keys, 1, 2));
      int[] zero = { 0 };
      ArgumentTests.Refuses("tables[0] is null", () => schedule.Set(s, new int[][] { null }, zero, zero, zero));
      ArgumentTests.Refuses("lengths is null", () => schedule.Set(s, new[] { zero }, null, zero, zero));
    }
  }

  /// <summary>A name that is null is refused by the parameter, where there is a default too.</summary>
  public static void Absent() {
    using (Context c = new Context(Backend.Cpu)) using (Stream s = new Stream(c)) {
      Tensor x = new Tensor(c, DType.F32, 1, 1);
      string none = null;
      foreach (Action action in new Action[] { () => Ops.Unary(s, x, none), () => Plans.Unary(c, x, none) })
        ArgumentTests.Refuses("op is null, expected one of Unary: neg, ", action);
      ArgumentTests.Refuses("activation is null, expected one of Activation: none, ", () => Ops.Matmul(s, x, x, activation: none));
      ArgumentTests.Refuses("activation is null, expected one of Activation: none, ", () => Plans.Matmul(c, x, x, activation: none));
      ArgumentTests.Refuses("backend is null, expected one of Backend: auto, ", () => new Context(none));
      ArgumentTests.Refuses("backend is null, expected one of Backend: auto, ", () => Plan.OpKernels("unary", none));
      ArgumentTests.Refuses("dtype is null, expected one of DType: f64, ", () => x.Cast(s, none));
      ArgumentTests.Refuses("overflow is null, expected one of Overflow: default, ", () => x.Cast(s, "f8e4m3", none));
      ArgumentTests.Refuses("strategy is null, expected one of Strategy: auto, ",
                            () => Plans.Unary(c, x, "neg", options: new PlanOptions { Strategy = none }));
      ArgumentTests.Refuses("strategy is \"x\", expected one of Strategy: auto, ",
                            () => Plans.Unary(c, x, "neg", options: new PlanOptions { Strategy = "x" }));
    }
  }

  public static void Unknown() {
    using (Context c = new Context(Backend.Cpu)) using (Stream s = new Stream(c)) {
      Tensor x = Tensor.From(s, c, new float[] { 1, -2 }, 2);
      ArgumentTests.Refuses("op is 999, expected one of Binary: add, sub, mul, ", () => Ops.Binary(s, x, x, 999));
      ArgumentTests.Refuses("op is -1, expected one of Binary: add, ", () => Ops.Binary(s, x, x, -1));
      ArgumentTests.Refuses("op is 0, expected one of Binary: add, ", () => Ops.Binary(s, x, x, 0));
      ArgumentTests.Refuses("op is \"plus\", expected one of Binary: add, ", () => Ops.Binary(s, x, x, "plus"));
      ArgumentTests.Refuses("shift_left, shift_right", () => Ops.Binary(s, x, x, "plus"));
      ArgumentTests.Refuses("activation is 9, expected one of Activation: none, relu, gelu, gelu_tanh, silu",
                            () => Ops.Matmul(s, x.View(2, 1), x.View(1, 2), activation: 9));
      ArgumentTests.Fails("binary: op is 999, expected one of Binary: add, sub, ",
            () => new PlanBuilder("binary").Set("a", x).Set("op", 999L).Create(c));
      ArgumentTests.Fails("binary: op is \"z\", expected one of Binary: add, ",
            () => new PlanBuilder("binary").Set("a", x).Set("op", "z").Create(c));
      ArgumentTests.Fails("copy: overflow is \"clip\", " + Saturate, () => new PlanBuilder("copy").Set("x", x).Set("overflow", "clip").Create(c));
      ArgumentTests.Fails("copy: overflow cannot hold a value of kind number, " + Saturate,
            () => new PlanBuilder("copy").Set("x", x).Set("overflow", 1.0).Create(c));
      foreach (bool wrong in new[] { true, false }) {
        ArgumentTests.Fails("binary: op cannot hold a value of kind bool, expected one of Binary: add, ",
                            () => new PlanBuilder("binary").Set("a", x).Set("op", wrong).Create(c));
        ArgumentTests.Fails("copy: dtype cannot hold a value of kind bool, expected one of DType: f64, ",
                            () => new PlanBuilder("copy").Set("x", x).Set("dtype", wrong).Create(c));
        ArgumentTests.Fails("softmax: math cannot hold a value of kind bool, expected one of MathMode: default, ",
                            () => new PlanBuilder("softmax").Set("x", x).Set("options.math", wrong).Create(c));
        new PlanBuilder("reduce").Set("x", x).Set("op", "sum").Set("keepdims", wrong).Create(c).Dispose();
        new PlanBuilder("softmax").Set("x", x).Options(new PlanOptions { Autotune = wrong }).Create(c).Dispose();
      }
      ArgumentTests.Refuses("overflow is 3, " + Saturate, () => x.Cast(s, DType.F8E4M3, (Overflow)3));
      ArgumentTests.Refuses("dtype is 99, expected one of DType: f64, f32", () => new Tensor(c, (DType)99, 1));
      ArgumentTests.Refuses("backend is 9, expected one of Backend: auto, cpu, cuda", () => new Context((Backend)9));
      ArgumentTests.Refuses("backend is 9, expected one of Backend: auto, cpu, cuda", () => Context.DeviceCount((Backend)9));
      ArgumentTests.Refuses("logLevel is 7, expected one of LogLevel: error, warning, info, debug",
                            () => new Context(Backend.Cpu, logLevel: (LogLevel)7));
      ArgumentTests.Refuses("intervalMilliseconds is -5, expected 0 to 2147483647", () => new LogDrain(c, line => {}, -5));
      ArgumentTests.Refuses("level is 0, expected one of LogLevel: error", () => c.SetLogLevel(0));
      Operand q = new Operand("f32", new long[] { 1, 1, 8 }), cache = new Operand("f32", new long[] { 1, 4, 1, 8 });
      ArgumentTests.Refuses("splits is -1, expected one of Splits: auto, or a number from 0 to 4294967295",
                            () => Plans.PagedAttention(c, q, cache, cache, 1, splits: -1));
    }
  }
}
