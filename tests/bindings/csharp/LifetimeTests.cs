// tests/bindings/csharp/LifetimeTests.cs - ownership, threads, the collector, borrowed arrays, exit in C#.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Linq;
using System.Runtime.CompilerServices;
using System.Threading;
using Ruda;

static class LifetimeTests {
  static void Threads(int count, Action<int> work) {
    Exception first = null;
    Thread[] threads = new Thread[count];
    for (int i = 0; i < count; ++i) {
      int which = i;
      threads[i] = new Thread(() => {
        try {
          work(which);
    }
    catch (Exception error) {
      Interlocked.CompareExchange(ref first, error, null);
    }
  });
  threads[i].Start();
}
foreach (Thread thread in threads) thread.Join();
Test.Check(first == null, "a thread threw " + first);
}

public static void DisposeTwiceAndUseAfterwards() {
  Context c = new Context(Backend.Cpu);
  Stream s = new Stream(c);
  Tensor t = new Tensor(c, DType.F32, 4);
  t.Dispose();
  t.Dispose();
  Test.Check(t.IsDisposed && t.ToString() == "Tensor (disposed)", "disposed");
  Test.Throws<ObjectDisposedException>(() => t.Read<float>(s, new float[4]), "read after dispose");
  c.Dispose();
  c.Dispose();
  Test.Throws<ObjectDisposedException>(() => new Stream(c), "stream of a disposed context");
  Test.Throws<ObjectDisposedException>(() => Ops.RmsNorm(s, t, t, 1), "operator on a disposed tensor");
  s.Dispose();
}

public static void ParentFirst() {
  Context c = new Context(Backend.Cpu);
  Stream s = new Stream(c);
  Tensor t = Tensor.From(s, c, new float[] { 1, 2, 3, 4 }, 4);
  c.Dispose();
  Test.Equal(t.ToArray<float>(s)[3], 4f, "read after the context");
  t.Dispose();
  s.Dispose();
}

[MethodImpl(MethodImplOptions.NoInlining)]
static void MakeGarbage(Context c, int count) {
  for (int i = 0; i < count; ++i) new Tensor(c, DType.F32, 8);
}

static void Collect(Func<bool> until) {
  for (int i = 0; i < 50 && !until(); ++i) {
    GC.Collect();
    GC.WaitForPendingFinalizers();
    Thread.Sleep(2);
  }
}

public static void CollectorUnderLoad() {
  using (Context c = new Context(Backend.Cpu)) {
    // On a thread of their own: a conservative scan of this stack would keep some.
    Threads(4, i => MakeGarbage(c, 1000));
    Collect(() => c.LiveObjects < 40);
    Test.Check(c.LiveObjects < 40, "left to the collector: " + c.LiveObjects);
  }
}

public static void DisposeDuringCalls() {
  using (Context c = new Context(Backend.Cpu, hostThreads: 1)) {
    for (int k = 0; k < 200; ++k) {
      Stream s = new Stream(c);
      Tensor t = new Tensor(c, DType.F32, 1 << 14);
      float[] target = new float[1 << 14];
        Thread reader = new Thread(() => {
          try {
            for (int i = 0; i < 20; ++i) t.Read<float>(s, target);
    }
    catch (ObjectDisposedException) {
    }
  });
  reader.Start();
  t.Dispose();
  reader.Join();
  s.Dispose();
}
Test.Equal(c.LiveObjects, 0L, "left");
}
}

public static void ParallelFailuresKeepTheirTexts() {
  using (Context c = new Context(Backend.Cpu)) Threads(6, which => {
    for (int i = 0; i < 200; ++i) {
      Tensor t = new Tensor(c, DType.F32, 16);
      try {
        t.View(17 + which);
        throw new InvalidOperationException("nothing was thrown");
      } catch (RudaException error) {
        if (!error.Message.Contains("has " + (17 + which) + " elements,"))
          throw new InvalidOperationException(error.Message);
      }
    }
  });
}

[MethodImpl(MethodImplOptions.NoInlining)]
static WeakReference Lend(Context c, out Tensor view) {
  float[] data = { 1, 2, 3, 4 };
  using (Tensor t = Tensor.Over(c, DType.F32, data, 4)) view = t.Slice(new long[] { 1 }, new long[] { 3 });
  return new WeakReference(data);
}

public static void BorrowedArrays() {
  using (Context c = new Context(Backend.Cpu)) using (Stream s = new Stream(c)) {
    float[] data = { 1, 2, 3, 4 };
    using (Tensor t = Tensor.Over(c, DType.F32, data, 2, 2)) {
      data[3] = 9;
      Test.Equal(t.ToArray<float>(s)[3], 9f, "shares the array");
      t.Fill(s, 5);
      Test.Check(data.All(v => v == 5), "written through");
    }
    Tensor view;
    WeakReference lent = Lend(c, out view);
    Collect(() => false);
    Test.Check(lent.IsAlive, "the array lives as long as a view");
    Test.Equal(view.ToArray<float>(s)[1], 3f, "view of a borrowed array");
    view.Dispose();
    RudaException error =
        Test.Throws<RudaException>(() => Tensor.Over(c, DType.F32, new float[2], 3), "too short");
    Test.Check(error.Message.Contains("8") && error.Message.Contains("12"), error.Message);
    Test.Equal(LoanCount(), 0, "loans left");
  }
}

static int LoanCount() {
  Type loans = typeof(Context).Assembly.GetType("Ruda.Loans");
  return (int)loans
      .GetProperty("Count", System.Reflection.BindingFlags.Static | System.Reflection.BindingFlags.NonPublic)
      .GetValue(null, null);
}

// Last by name, and what it leaves behind: the process must still end with 0.
public static void ZExitWithLiveObjects() {
  Context c = new Context(Backend.Cpu);
  kept = new object[] { c, new Stream(c), new Tensor(c, DType.F32, 4),
                        Tensor.Over(c, DType.F32, new float[4], 4) };
  Stream s = new Stream(c);
  Tensor t = new Tensor(c, DType.F32, 1 << 16);
    Thread busy = new Thread(() => {
      while (true) t.ToArray<float>(s);
});
busy.IsBackground = true;
busy.Start();
Test.Check(kept.Length == 4, "kept");
}

static object[] kept;
}
