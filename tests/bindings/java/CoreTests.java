// tests/bindings/java/CoreTests.java - contexts, tensors, plans and errors in Java.
// SPDX-License-Identifier: Apache-2.0
import io.ruda.Backend;
import io.ruda.CancelToken;
import io.ruda.Context;
import io.ruda.DType;
import io.ruda.Event;
import io.ruda.LogDrain;
import io.ruda.LogLevel;
import io.ruda.Ops;
import io.ruda.PagedSchedule;
import io.ruda.Plan;
import io.ruda.PlanBuilder;
import io.ruda.RudaException;
import io.ruda.Status;
import io.ruda.Stream;
import io.ruda.Tensor;
import io.ruda.TensorDesc;
import io.ruda.Workspace;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;

final class CoreTests {
  private CoreTests() {}

  private static void same(float[] got, String what, float... want) {
    Tests.check(Arrays.equals(got, want), what + ": " + Arrays.toString(got));
  }

  @SuppressWarnings("try")
  public static void contexts() {
    try (Context c = new Context(new Context.Options().backend(Backend.CPU).hostThreads(1))) {
      Tests.equal(c.backend(), Backend.CPU, "backend");
      Tests.equal(c.hostThreads(), 1, "threads");
      Tests.check(c.deviceName().contains("cpu"), c.deviceName());
      Tests.equal(c.liveObjects(), 0L, "live objects");
      try (Tensor big = new Tensor(c, DType.F32, 1024, 1024)) {
        Tests.check(c.allocatedBytes() >= 4 << 20, "allocated");
        Tests.equal(big.bytes(), 4L << 20, "bytes");
        Tests.equal(c.liveObjects(), 1L, "live objects");
      }
      c.setLogLevel(LogLevel.DEBUG);
      List<String> lines = Collections.synchronizedList(new ArrayList<>());
      try (LogDrain drain = new LogDrain(c, lines::add, 1)) {
        new PlanBuilder("softmax").set("x", new TensorDesc(DType.F32, 4)).create(c).close();
      }
      Tests.check(!lines.isEmpty(), "lines of the log");
      // Who is told is not interrupted, which would close a channel that it writes to; it may end the drain.
      Semaphore hearing = new Semaphore(0);
      AtomicInteger interrupted = new AtomicInteger();
      LogDrain[] drains = new LogDrain[1];
      drains[0] = new LogDrain(c, line -> {
        hearing.release();
        try {
          Thread.sleep(100);
        } catch (InterruptedException error) {
          interrupted.incrementAndGet();
        }
        drains[0].close();
      }, 50);
      new PlanBuilder("softmax").set("x", new TensorDesc(DType.F32, 5)).create(c).close();
      hearing.acquireUninterruptibly();
      drains[0].close();
      Tests.equal(interrupted.get(), 0, "a consumer at work when the drain is closed");
      Tests.equal(c.drainLog().size(), 0, "log after a drain");
      // A consumer that throws, be it what a closed context throws: it is told every line, and close() tells the first.
      for (boolean last : new boolean[] {false, true}) {
        Semaphore told = new Semaphore(0);
        AtomicInteger count = new AtomicInteger();
        LogDrain drain = new LogDrain(c, line -> {
          told.release();
          throw new IllegalStateException("consumer " + count.incrementAndGet());
        }, last ? 60000 : 1);
        for (int i = 6; i < 9; ++i)
          new PlanBuilder("softmax").set("x", new TensorDesc(DType.F32, i + (last ? 3 : 0))).create(c).close();
        if (!last) told.acquireUninterruptibly();
        IllegalStateException error = Tests.expectThrows(IllegalStateException.class, drain::close, "what the consumer threw");
        if (error != null) Tests.equal(error.getMessage(), "consumer 1", "the first of them");
        Tests.equal(count.get(), 3, "lines");
        drain.close();
      }
    }
    Tests.equal(Context.deviceCount(Backend.CPU), 1, "devices");
    Tests.check(Plan.opNames().contains("rms_norm"), "operators");
    Tests.check(Plan.opKernels("rms_norm", Backend.CPU).contains("cpu/rms_norm/scalar"), "kernels");
    Tests.check(Context.backendReport().toLowerCase().contains("cpu"), "report");
    Tests.check(Context.version().split("\\.").length == 3, Context.version());
  }

  public static void roundTrip() {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c);
         Tensor t = new Tensor(c, DType.F32, 2, 3)) {
      ByteBuffer b = Tensor.buffer(24);
      b.asFloatBuffer().put(new float[] {1, 2, 3, 4, 5, 6});
      t.write(s, b);
      same(t.toFloats(s), "round trip", 1, 2, 3, 4, 5, 6);
      ByteBuffer wider = Tensor.buffer(40);
      t.read(s, wider.position(8).limit(32));
      Tests.equal(wider.order(b.order()).getFloat(8), 1f, "between position and limit");
      Tests.equal(wider.getFloat(0), 0f, "before the position");
      Tests.check(
          Arrays.equals(t.shape(), new long[] {2, 3}) && Arrays.equals(t.strides(), new long[] {3, 1}),
          "shape");
      Tests.check(t.isContiguous() && !t.isReadOnly() && t.rank() == 2, "facts");
      Tests.equal(t.toString(), "Tensor F32 [2, 3]", "text");
      same(t.fill(s, 2.5).toFloats(s), "fill", 2.5f, 2.5f, 2.5f, 2.5f, 2.5f, 2.5f);
      s.sync();
      Tests.check(s.isDone(), "done");
      try (Event from = new Event(c); Event to = new Event(c)) {
        from.record(s);
        to.record(s);
        s.await(from);
        to.sync();
        Tests.check(from.elapsed(to) >= 0, "elapsed");
      }
      Tests.expectThrows(
          IllegalArgumentException.class, () -> t.read(s, ByteBuffer.allocate(24)), "heap buffer");
      Tests.expectThrows(
          IllegalArgumentException.class, () -> t.read(s, b.asReadOnlyBuffer()), "read-only buffer");
    }
  }

  public static void views() {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c)) {
      Tensor t = Tensor.from(s, c, new float[] {0, 1, 2, 3, 4, 5}, 2, 3);
      same(t.permute(1, 0).toFloats(s), "permute", 0, 3, 1, 4, 2, 5);
      same(t.slice(new long[] {0, 1}, new long[] {2, 3}, null).toFloats(s), "slice", 1, 2, 4, 5);
      same(t.slice(new long[] {1, 2}, new long[] {2, -4}, new long[] {1, -1}).toFloats(s), "slice backward",
          5, 4, 3);
      same(t.view(-1).toFloats(s), "view", 0, 1, 2, 3, 4, 5);
      same(t.permute(1, 0).reshape(s, 6).toFloats(s), "reshape", 0, 3, 1, 4, 2, 5);
      same(Tensor.from(s, c, new float[] {7}, 1).broadcast(2, 2).toFloats(s), "broadcast", 7, 7, 7, 7);
      Tests.check(Arrays.equals(t.cast(s, DType.I32).toInts(s), new int[] {0, 1, 2, 3, 4, 5}), "cast");
      Tensor copy = new Tensor(c, DType.F64, 2, 3);
      t.copyTo(s, copy);
      Tests.equal(copy.toDoubles(s)[5], 5.0, "copy");
      Tests.check(t.permute(1, 0).contiguous(s).isContiguous(), "contiguous");
    }
  }

  /** Elements are never taken for those of another dtype. */
  public static void elements() {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c)) {
      Tensor t = Tensor.from(s, c, new float[] {1, 2, 3, 4}, 4);
      IllegalArgumentException error =
          Tests.expectThrows(IllegalArgumentException.class, () -> t.toDoubles(s), "another dtype");
      Tests.check(error.getMessage().contains("an array of double holds F64, expected F32 as the tensor"), error.getMessage());
      Tests.expectThrows(IllegalArgumentException.class, () -> t.toInts(s), "an integer of the same size");
      Tests.expectThrows(IllegalArgumentException.class, () -> t.cast(s, DType.F64).toFloats(s), "floats of F64");
      Tests.equal(t.toBytes(s).length, 16, "bytes of any dtype");
      Tests.check(Arrays.equals(t.cast(s, DType.I64).toLongs(s), new long[] {1, 2, 3, 4}), "i64");
      Tests.check(Arrays.equals(t.cast(s, DType.BF16).toShorts(s), new short[] {0x3F80, 0x4000, 0x4040, 0x4080}), "bf16");
      Tests.check(Arrays.equals(Tensor.from(s, c, new long[] {1L << 40}, 1).toLongs(s), new long[] {1L << 40}), "longs");
      Tests.check(t.count() == 4 && t.storageUsers() == 1, "facts");
    }
  }

  public static void schedules() {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c);
         PagedSchedule schedule = new PagedSchedule(c, 2, 4, 2, 2, 2)) {
      schedule.set(s, new long[][] {{2}, {0, 3}}, new long[] {1, 3}, new long[] {0, 1}, new long[] {0, 2});
      Tests.check(schedule.sequences() == 2 && schedule.queries() == 2 && schedule.pageSize() == 2 && schedule.pages() == 4,
          "facts");
      Tensor cache = new Tensor(c, DType.F32, 4, 2, 1, 1).fill(s, 1);
      Tensor rows = Tensor.from(s, c, new float[] {5, 7}, 2, 1, 1);
      Tensor keys = Ops.pagedAppend(s, schedule, rows, cache)[0];
      same(keys.toFloats(s), "appended", 1, 1, 1, 1, 5, 1, 7, 1);
      Tensor zero = new Tensor(c, DType.F32, 2, 1, 1).fill(s, 0);
      same(Ops.pagedAttention(s, schedule, zero, keys, keys, 1, 1)[0].toFloats(s), "attention", 5, 3);
      schedule.advance(s);
      Tests.equal(schedule.generation(), 2L, "generation");
      RudaException error = Tests.expectThrows(RudaException.class,
          () -> schedule.set(s, new long[][] {{9}}, new long[] {1}, new long[0], new long[0]), "no such page");
      Tests.equal(error.status(), Status.E_INDEX, error.getMessage());
      Tests.expectThrows(IllegalArgumentException.class,
          () -> schedule.set(s, new long[0][], new long[1], new long[0], new long[0]), "tables and lengths");
    }
  }

  public static void operators() {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c)) {
      Tensor x = Tensor.from(s, c, new float[] {3, 4}, 1, 2),
             gamma = Tensor.from(s, c, new float[] {1, 1}, 2);
      float[] y = Ops.rmsNorm(s, x, gamma, 1e-6).toFloats(s);
      Tests.check(Math.abs(y[0] - 0.848528) < 1e-5 && Math.abs(y[1] - 1.131371) < 1e-5, Arrays.toString(y));
      Tensor a = Tensor.from(s, c, new float[] {1, 2, 3, 4}, 2, 2),
             bias = Tensor.from(s, c, new float[] {10, 20}, 2);
      same(Ops.matmul(s, a, a).toFloats(s), "matmul", 7, 10, 15, 22);
      same(Ops.matmul(s, a, a, null).toFloats(s), "matmul without bias", 7, 10, 15, 22);
      same(Ops.reduce(s, a, io.ruda.Reduce.SUM).toFloats(s), "reduce", 10);
      same(Ops.reduce(s, a, io.ruda.Reduce.SUM, 1, true).toFloats(s), "reduce of an axis", 4, 6);
      Tests.check(Arrays.equals(Ops.sample(s, a).toInts(s), new int[] {1, 1}), "sample without parameters");
      same(Ops.matmul(s, a, a, bias, 0, false, true, 0).toFloats(s), "matmul with bias", 15, 31, 21, 45);
    }
  }

  public static void planTier() {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c)) {
      Tensor x = Tensor.from(s, c, new float[] {3, 4}, 1, 2),
             gamma = Tensor.from(s, c, new float[] {2, 2}, 2);
      Tensor y = new Tensor(c, DType.F32, 1, 2);
      Map<String, Tensor> operands = Map.of("x", x, "gamma", gamma, "y", y);
      try (Plan plan = new PlanBuilder("rms_norm")
                           .set("x", new TensorDesc(DType.F32, 1, 2))
                           .set("gamma", gamma)
                           .set("eps", 1e-6)
                           .set("options.kernel", "cpu/rms_norm/scalar")
                           .create(c)) {
        Tests.equal(plan.kernel(), "cpu/rms_norm/scalar", "kernel");
        Tests.equal(plan.op(), "rms_norm", "operator");
        Tests.check(
            plan.explain().contains("scalar") && plan.isOutput("y") && !plan.isOutput("x"), "explain, slots");
        plan.execute(s, operands);
        Tests.check(Math.abs(y.toFloats(s)[1] - 2.262742) < 1e-5, "executed");
        try (Workspace w = new Workspace(c, 4096)) {
          plan.execute(s, operands, w, null, 0);
        }
        Tests.expectThrows(
            IllegalArgumentException.class, () -> plan.execute(s, Map.of("z", x)), "no operand");
      }
      RudaException error = Tests.expectThrows(
          RudaException.class, () -> new PlanBuilder("rms_norm").set("nonsense", 1).create(c), "no field");
      Tests.check(error.getMessage().contains("no parameter \"nonsense\""), error.getMessage());
      error =
          Tests.expectThrows(RudaException.class, () -> new PlanBuilder("no_such").create(c), "no operator");
      Tests.equal(error.kind(), RudaException.Kind.FILE, "category");
    }
  }

  public static void errorsByCategory() {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c)) {
      Tensor t = new Tensor(c, DType.F32, 2, 3);
      RudaException error =
          Tests.expectThrows(RudaException.class, () -> t.read(s, Tensor.buffer(8)), "too short");
      Tests.check(error.status() == Status.E_SHAPE && error.argument() == 3
              && error.name().equals("RUDA_E_SHAPE") && error.kind() == RudaException.Kind.ARGUMENT
              && error.function().equals("ruda_tensor_read")
              && error.getMessage().contains("data has 8 bytes, expected at least 24 as the tensor"),
          error.toString());
      error = Tests.expectThrows(RudaException.class, () -> Ops.rmsNorm(s, t, t, 1e-6), "shape");
      Tests.equal(error.kind(), RudaException.Kind.ARGUMENT, error.getMessage());
      Context small = new Context(new Context.Options().backend(Backend.CPU).memoryLimitBytes(1024));
      error = Tests.expectThrows(RudaException.class, () -> new Tensor(small, DType.F32, 1 << 20), "budget");
      Tests.equal(error.kind(), RudaException.Kind.RESOURCE, error.getMessage());
      error = Tests.expectThrows(RudaException.class,
          () -> new Context(new Context.Options().backend(Backend.CUDA).device(999)), "no such GPU");
      Tests.check(
          error.kind() == RudaException.Kind.UNSUPPORTED || error.kind() == RudaException.Kind.ARGUMENT,
          error.getMessage());
      error = Tests.expectThrows(RudaException.class, () -> new PlanBuilder("rms_norm").create(c), "null");
      Tests.equal(error.status(), Status.E_NULL, error.getMessage());
      try (CancelToken cancel = new CancelToken()) {
        cancel.request();
        Tensor big = new Tensor(c, DType.F32, 4096, 512), gamma = new Tensor(c, DType.F32, 512);
        Plan plan = new PlanBuilder("rms_norm").set("x", big).set("gamma", gamma).set("eps", 1e-6).create(c);
        error = Tests.expectThrows(RudaException.class,
            () -> plan.execute(s, Map.of("x", big, "gamma", gamma, "y", big), null, cancel, 0), "cancel");
        Tests.equal(error.kind(), RudaException.Kind.CANCELLED, error.getMessage());
      }
    }
  }
}
