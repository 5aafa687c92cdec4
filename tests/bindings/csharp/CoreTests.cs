// tests/bindings/csharp/CoreTests.cs - contexts, tensors, plans and errors in C#.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using System.Threading;
using Ruda;

static class CoreTests {
  static bool Same(float[] got, params float[] want) {
    return got.SequenceEqual(want);
  }

  public static void Contexts() {
    using (Context c = new Context(Backend.Cpu, hostThreads: 1)) {
      Test.Equal(c.Backend, Backend.Cpu, "backend");
      Test.Equal(c.HostThreads, 1, "threads");
      Test.Check(c.DeviceName.Contains("cpu"), "device name " + c.DeviceName);
      Test.Equal(c.LiveObjects, 0L, "live objects");
      using (Tensor big = new Tensor(c, DType.F32, 1024, 1024)) {
        Test.Check(c.AllocatedBytes >= 4u << 20, "allocated");
        Test.Equal(big.Bytes, 4L << 20, "bytes");
        Test.Equal(c.LiveObjects, 1L, "live objects");
      }
      c.SetLogLevel(LogLevel.Debug);
      Operand row = new Operand(DType.F32, new long[] { 4 });
      Plans.Softmax(c, row).Dispose();
      Test.Check(c.DrainLog().Count > 0, "log");
      Test.Equal(c.DrainLog().Count, 0, "log after a drain");
      int heard = 0;
      using (new LogDrain(c, line => heard += line.Length > 0 ? 1 : 0, 1)) Plans.Softmax(c, row).Dispose();
      Test.Check(heard > 0, "lines of the log");
      // Who is told may end it.
      using (ManualResetEventSlim made = new ManualResetEventSlim(), ended = new ManualResetEventSlim()) {
        LogDrain drain = null;
        drain = new LogDrain(c, line => {
          made.Wait();
          drain.Dispose();
          ended.Set();
        }, 1);
        made.Set();
        Plans.Softmax(c, row).Dispose();
        Test.Check(ended.Wait(10000), "a drain that its consumer ends");
      }
      // A consumer that throws, be it what a closed context throws: it is told every line, and Dispose tells the first.
      foreach (bool last in new[] { false, true })
        using (ManualResetEventSlim told = new ManualResetEventSlim()) {
          List<string> lines = new List<string>();
          LogDrain drain = new LogDrain(c, line => {
            lines.Add(line);
            told.Set();
            throw new ObjectDisposedException("consumer " + lines.Count);
          }, last ? 60000 : 1);
          for (int i = 5; i < 8; ++i) Plans.Softmax(c, new Operand(DType.F32, new long[] { i + (last ? 3 : 0) })).Dispose();
          Test.Check(last || told.Wait(10000), "a line");
          ObjectDisposedException error = Test.Throws<ObjectDisposedException>(drain.Dispose, "what the consumer threw");
          if (error != null) Test.Equal(error.ObjectName, "consumer 1", "the first of them");
          Test.Equal(lines.Count, 3, "lines");
          drain.Dispose();
        }
    }
    Test.Equal(Context.DeviceCount(Backend.Cpu), 1, "devices");
    Test.Check(Plan.OpNames().Contains("rms_norm"), "operators");
    Test.Check(Plan.OpKernels("rms_norm").Contains("cpu/rms_norm/scalar"), "kernels");
    Test.Check(Context.BackendReport().ToLowerInvariant().Contains("cpu"), "report");
    Test.Check(Context.Version().Split('.').Length == 3, "version " + Context.Version());
  }

  public static void RoundTrip() {
    using (Context c = new Context(Backend.Cpu)) using (Stream s = new Stream(c)) using (
        Tensor t = new Tensor(c, DType.F32, 2, 3)) {
      float[] b = new float[6];
      t.Write<float>(s, new float[] { 1, 2, 3, 4, 5, 6 });
      t.Read<float>(s, b);
      Test.Check(Same(b, 1, 2, 3, 4, 5, 6), "round trip");
      t.Read<float>(s, new Span<float>(new float[8], 1, 6));
      Test.Check(t.Shape.SequenceEqual(new long[] { 2, 3 }) && t.Strides.SequenceEqual(new long[] { 3, 1 }),
                 "shape");
      Test.Check(t.IsContiguous && !t.IsReadOnly && t.Rank == 2 && t.Count == 6, "facts");
      Test.Equal(t.ToString(), "Tensor F32 [2, 3]", "text");
      Test.Check(Same(t.Fill(s, 2.5).ToArray<float>(s), 2.5f, 2.5f, 2.5f, 2.5f, 2.5f, 2.5f), "fill");
      s.Sync();
      Test.Check(s.Done, "done");
      Test.Check(s.SyncAsync().Wait(1000), "async");
    }
  }

  public static void Views() {
    using (Context c = new Context(Backend.Cpu)) using (Stream s = new Stream(c)) {
      Tensor t = Tensor.From(s, c, Enumerable.Range(0, 6).Select(i => (float)i).ToArray(), 2, 3);
      Test.Check(Same(t.Permute(1, 0).ToArray<float>(s), 0, 3, 1, 4, 2, 5), "permute");
      Test.Check(Same(t.Slice(new long[] { 0, 1 }, new long[] { 2, 3 }).ToArray<float>(s), 1, 2, 4, 5),
                 "slice");
      Test.Check(
          Same(t.Slice(new long[] { 1, 2 }, new long[] { 2, -4 }, new long[] { 1, -1 }).ToArray<float>(s), 5,
               4, 3),
          "slice backward");
      Test.Check(Same(t.View(-1).ToArray<float>(s), 0, 1, 2, 3, 4, 5), "view");
      Test.Check(Same(t.Permute(1, 0).Reshape(s, 6).ToArray<float>(s), 0, 3, 1, 4, 2, 5), "reshape");
      Test.Check(Tensor.From(s, c, new float[] { 7 }, 1).Broadcast(2, 2).ToArray<float>(s).All(v => v == 7),
                 "broadcast");
      Test.Check(t.Cast(s, DType.I32).ToArray<int>(s).SequenceEqual(new[] { 0, 1, 2, 3, 4, 5 }), "cast");
      Tensor copy = new Tensor(c, DType.F64, 2, 3);
      t.CopyTo(s, copy);
      Test.Equal(copy.ToArray<double>(s)[5], 5.0, "copy");
      Test.Check(t.Permute(1, 0).Contiguous(s).IsContiguous, "contiguous");
    }
  }

  // Elements are never taken for those of another dtype.
  public static void Elements() {
    using (Context c = new Context(Backend.Cpu)) using (Stream s = new Stream(c)) {
      Tensor t = Tensor.From(s, c, new float[] { 1, 2, 3, 4 }, 4);
      ArgumentException error = Test.Throws<ArgumentException>(() => t.ToArray<double>(s), "another dtype");
      Test.Check(error.Message.Contains("an array of Double holds F64, expected F32 as the tensor"), error.Message);
      Test.Throws<ArgumentException>(() => t.ToArray<int>(s), "an integer of the same size");
      Test.Throws<ArgumentException>(() => t.Read<double>(s, new double[2]), "reading another dtype");
      Test.Throws<ArgumentException>(() => t.Write<double>(s, new double[2]), "writing another dtype");
      Test.Throws<ArgumentException>(() => Tensor.Over(c, DType.F64, new float[4], 2), "over another dtype");
      Test.Throws<ArgumentException>(() => t.ToArray<DateTime>(s), "no number");
      Test.Equal(t.ToArray<byte>(s).Length, 16, "bytes of any dtype");
      Test.Check(t.Cast(s, DType.F64).ToArray<double>(s).SequenceEqual(new double[] { 1, 2, 3, 4 }), "cast first");
      Test.Check(t.Cast(s, DType.BF16).ToArray<ushort>(s).SequenceEqual(new ushort[] { 0x3F80, 0x4000, 0x4040, 0x4080 }),
                 "bits of bf16");
      Test.Check(t.Cast(s, DType.I64).ToArray<long>(s).SequenceEqual(new long[] { 1, 2, 3, 4 }), "i64");
      Test.Check(t.Cast(s, DType.Bool).ToArray<bool>(s).SequenceEqual(new[] { true, true, true, true }), "bool");
      Test.Equal(t.StorageUsers, 1L, "users of the storage");
    }
  }

  public static void Schedules() {
    using (Context c = new Context(Backend.Cpu)) using (Stream s = new Stream(c)) using (
        PagedSchedule schedule = new PagedSchedule(c, 2, 4, 2, 2, 2)) {
      schedule.Set(s, new[] { new long[] { 2 }, new long[] { 0, 3 } }, new long[] { 1, 3 }, new long[] { 0, 1 },
                   new long[] { 0, 2 });
      Test.Check(schedule.Sequences == 2 && schedule.Queries == 2 && schedule.PageSize == 2 && schedule.Pages == 4,
                 "facts");
      Tensor cache = new Tensor(c, DType.F32, 4, 2, 1, 1).Fill(s, 1);
      Tensor rows = Tensor.From(s, c, new float[] { 5, 7 }, 2, 1, 1);
      Tensor keys = Ops.PagedAppend(s, schedule, rows, cache)[0];
      Test.Check(Same(keys.ToArray<float>(s), 1, 1, 1, 1, 5, 1, 7, 1), "appended");
      Tensor[] made = Ops.PagedAttention(s, schedule, new Tensor(c, DType.F32, 2, 1, 1).Fill(s, 0), keys, keys, 1, 1);
      Test.Check(Same(made[0].ToArray<float>(s), 5, 3), "attention");
      schedule.Advance(s);
      Test.Equal(schedule.Generation, 2L, "generation");
      RudaException error = Test.Throws<RudaException>(
          () => schedule.Set(s, new[] { new long[] { 9 } }, new long[] { 1 }, new long[0], new long[0]), "no such page");
      Test.Equal(error.Status, Status.EIndex, error.Message);
      Test.Throws<ArgumentException>(() => schedule.Set(s, new long[0][], new long[1], new long[0], new long[0]),
                                     "tables and lengths");
    }
  }

  public static void Operators() {
    using (Context c = new Context(Backend.Cpu)) using (Stream s = new Stream(c)) {
      Tensor x = Tensor.From(s, c, new float[] { 3, 4 }, 1, 2),
             gamma = Tensor.From(s, c, new float[] { 1, 1 }, 2);
      float[] y = Ops.RmsNorm(s, x, gamma, 1e-6).ToArray<float>(s);
      Test.Check(Math.Abs(y[0] - 0.848528) < 1e-5 && Math.Abs(y[1] - 1.131371) < 1e-5,
                 "rms_norm " + y[0] + " " + y[1]);
      Tensor a = Tensor.From(s, c, new float[] { 1, 2, 3, 4 }, 2, 2),
             bias = Tensor.From(s, c, new float[] { 10, 20 }, 2);
      Test.Check(Same(Ops.Matmul(s, a, a).ToArray<float>(s), 7, 10, 15, 22), "matmul");
      Test.Check(Same(Ops.Matmul(s, a, a, bias, transposeB: true).ToArray<float>(s), 15, 31, 21, 45),
                 "matmul with bias");
      Test.Equal(Ops.Matmul(s, a.Cast(s, DType.BF16), a.Cast(s, DType.BF16), outDtype: (uint)DType.F32).DType,
                 DType.F32, "dtype asked for");
    }
  }

  public static void PlanTier() {
    using (Context c = new Context(Backend.Cpu)) using (Stream s = new Stream(c)) {
      Tensor x = Tensor.From(s, c, new float[] { 3, 4 }, 1, 2),
             gamma = Tensor.From(s, c, new float[] { 2, 2 }, 2);
      Tensor y = new Tensor(c, DType.F32, 1, 2);
      using (Plan plan = Plans.RmsNorm(c, new Operand(DType.F32, new long[] { 1, 2 }), gamma, 1e-6,
                                       options: new PlanOptions { Kernel = "cpu/rms_norm/scalar" })) {
        Test.Equal(plan.Kernel, "cpu/rms_norm/scalar", "kernel");
        Test.Equal(plan.Op, "rms_norm", "operator");
        Test.Check(plan.Explain().Contains("scalar") && plan.IsOutput("y") && !plan.IsOutput("x"),
                   "explain, slots");
        plan.Execute(s, new Dictionary<string, object> { { "x", x }, { "gamma", gamma }, { "y", y } });
        Test.Check(Math.Abs(y.ToArray<float>(s)[1] - 2.262742) < 1e-5, "executed");
        using (Workspace w = new Workspace(c, 4096))
            plan.Execute(s, new Dictionary<string, object> { { "x", x }, { "gamma", gamma }, { "y", y } }, w);
        Test.Throws<ArgumentException>(() => plan.Execute(s, new Dictionary<string, object> { { "z", x } }),
                                       "no operand");
      }
      RudaException error = Test.Throws<RudaException>(
          () => new PlanBuilder("rms_norm").Set("nonsense", 1L).Create(c), "no field");
      Test.Check(error.Message.Contains("no parameter \"nonsense\""), error.Message);
      error = Test.Throws<RudaException>(() => new PlanBuilder("no_such").Create(c), "no operator");
      Test.Equal(error.Kind, ErrorKind.File, "category");
    }
  }

  public static void ErrorsByCategory() {
    using (Context c = new Context(Backend.Cpu)) using (Stream s = new Stream(c)) {
      Tensor t = new Tensor(c, DType.F32, 2, 3);
      RudaException error = Test.Throws<RudaException>(() => t.Read<float>(s, new float[2]), "too short");
      Test.Check(error.Status == Status.EShape && error.Argument == 3 && error.Kind == ErrorKind.Argument &&
                     error.Name == "RUDA_E_SHAPE" &&
                     error.Message.Contains("data has 8 bytes, expected at least 24 as the tensor") &&
                     error.Function == "ruda_tensor_read",
                 error.ToString());
      error = Test.Throws<RudaException>(() => Ops.RmsNorm(s, t, t, 1e-6), "shape");
      Test.Check(error.Kind == ErrorKind.Argument, error.Message);
      error = Test.Throws<RudaException>(
          () => new Tensor(new Context(Backend.Cpu, memoryLimit: 1024), DType.F32, 1 << 20), "budget");
      Test.Equal(error.Kind, ErrorKind.Resource, "category of " + error.Message);
      error = Test.Throws<RudaException>(() => new Context(Backend.Cuda, 999), "no such GPU");
      Test.Check(error.Kind == ErrorKind.Unsupported || error.Kind == ErrorKind.Argument, error.Message);
      error = Test.Throws<RudaException>(() => new PlanBuilder("rms_norm").Create(c), "null");
      Test.Equal(error.Status, Status.ENull, "status of " + error.Message);
      using (CancelToken cancel = new CancelToken()) {
        cancel.Request();
        Tensor big = new Tensor(c, DType.F32, 4096, 512), gamma = new Tensor(c, DType.F32, 512);
        Plan plan = Plans.RmsNorm(c, big, gamma, 1e-6);
        error = Test.Throws<RudaException>(
            () => plan.Execute(
                s, new Dictionary<string, object> { { "x", big }, { "gamma", gamma }, { "y", big } },
                cancel: cancel),
            "cancel");
        Test.Equal(error.Kind, ErrorKind.Cancelled, "category of " + error.Message);
      }
    }
  }
}
