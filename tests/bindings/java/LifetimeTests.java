// tests/bindings/java/LifetimeTests.java - ownership, threads, the collector, borrowed buffers, exit in Java.
// SPDX-License-Identifier: Apache-2.0
import io.ruda.Backend;
import io.ruda.Context;
import io.ruda.DType;
import io.ruda.LogDrain;
import io.ruda.Ops;
import io.ruda.RudaException;
import io.ruda.Stream;
import io.ruda.Tensor;
import java.lang.ref.WeakReference;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import java.util.function.IntConsumer;

final class LifetimeTests {
  private LifetimeTests() {}

  private static Object[] kept;

  private static void threads(int count, IntConsumer work) throws InterruptedException {
    AtomicReference<Throwable> first = new AtomicReference<>();
    Thread[] threads = new Thread[count];
    for (int i = 0; i < count; ++i) {
      int which = i;
      threads[i] = new Thread(() -> {
        try {
          work.accept(which);
        } catch (Throwable error) {
          first.compareAndSet(null, error);
        }
      });
      threads[i].start();
    }
    for (Thread thread : threads) thread.join();
    Tests.check(first.get() == null, "a thread threw " + first.get());
  }

  private static void collect(BooleanSupplier until) throws InterruptedException {
    for (int i = 0; i < 100 && !until.getAsBoolean(); ++i) {
      System.gc();
      Thread.sleep(10);
    }
  }

  public static void closeTwiceAndUseAfterwards() {
    Context c = new Context(Backend.CPU);
    Stream s = new Stream(c);
    Tensor t = new Tensor(c, DType.F32, 4);
    t.close();
    t.close();
    Tests.check(t.isClosed() && t.toString().equals("Tensor (closed)"), "closed");
    Tests.expectThrows(IllegalStateException.class, () -> t.toFloats(s), "read after close");
    c.close();
    c.close();
    Tests.expectThrows(IllegalStateException.class, () -> new Stream(c), "stream of a closed context");
    Tests.expectThrows(
        IllegalStateException.class, () -> Ops.rmsNorm(s, t, t, 1), "operator on a closed tensor");
    s.close();
  }

  public static void parentFirst() {
    Context c = new Context(Backend.CPU);
    Stream s = new Stream(c);
    Tensor t = Tensor.from(s, c, new float[] {1, 2, 3, 4}, 4);
    c.close();
    Tests.equal(t.toFloats(s)[3], 4f, "read after the context");
    t.close();
    s.close();
  }

  public static void collectorUnderLoad() throws InterruptedException {
    try (Context c = new Context(Backend.CPU)) {
      threads(4, i -> {
        for (int k = 0; k < 1000; ++k) new Tensor(c, DType.F32, 8);
      });
      collect(() -> c.liveObjects() < 5);
      Tests.check(c.liveObjects() < 5, "left to the collector: " + c.liveObjects());
    }
  }

  public static void closeDuringCalls() throws InterruptedException {
    try (Context c = new Context(new Context.Options().backend(Backend.CPU).hostThreads(1))) {
      ByteBuffer target = Tensor.buffer(4 << 14);
      for (int k = 0; k < 200; ++k) {
        Stream s = new Stream(c);
        Tensor t = new Tensor(c, DType.F32, 1 << 14);
        AtomicReference<Throwable> error = new AtomicReference<>();
        Thread reader = new Thread(() -> {
          try {
            for (int i = 0; i < 20; ++i) t.read(s, target);
          } catch (IllegalStateException closed) {
            // what a closed tensor answers
          } catch (Throwable other) {
            error.set(other);
          }
        });
        reader.start();
        t.close();
        reader.join();
        s.close();
        if (error.get() != null) Tests.check(false, "close during a read: " + error.get());
      }
      Tests.equal(c.liveObjects(), 0L, "left");
    }
  }

  public static void parallelFailuresKeepTheirTexts() throws InterruptedException {
    try (Context c = new Context(Backend.CPU)) {
      threads(6, which -> {
        for (int i = 0; i < 200; ++i) {
          try (Tensor t = new Tensor(c, DType.F32, 16)) {
            t.view(17 + which);
            throw new AssertionError("nothing was thrown");
          } catch (RudaException error) {
            if (!error.getMessage().contains("has " + (17 + which) + " elements,")) throw new AssertionError(error);
          }
        }
      });
    }
  }

  private static Tensor lend(Context c, AtomicReference<WeakReference<ByteBuffer>> reference) {
    ByteBuffer data = Tensor.buffer(16);
    data.asFloatBuffer().put(new float[] {1, 2, 3, 4});
    reference.set(new WeakReference<>(data));
    try (Tensor t = Tensor.over(c, DType.F32, data, 4)) {
      return t.slice(new long[] {1}, new long[] {3}, null);
    }
  }

  public static void borrowedBuffers() throws Exception {
    try (Context c = new Context(Backend.CPU); Stream s = new Stream(c)) {
      ByteBuffer data = Tensor.buffer(16);
      try (Tensor t = Tensor.over(c, DType.F32, data, 2, 2)) {
        data.putFloat(12, 9);
        Tests.equal(t.toFloats(s)[3], 9f, "shares the buffer");
        t.fill(s, 5);
        Tests.equal(data.getFloat(0), 5f, "written through");
        Tests.expectThrows(RudaException.class,
            () -> Tensor.over(c, DType.F32, data.asReadOnlyBuffer().order(data.order()), 4).fill(s, 1), "read-only buffer");
      }
      AtomicReference<WeakReference<ByteBuffer>> lent = new AtomicReference<>();
      Tensor view = lend(c, lent);
      for (int i = 0; i < 5; ++i) {
        System.gc();
        Thread.sleep(5);
      }
      Tests.check(lent.get().get() != null, "the buffer lives as long as a view");
      Tests.equal(view.toFloats(s)[1], 3f, "view of a borrowed buffer");
      view.close();
      RudaException error = Tests.expectThrows(
          RudaException.class, () -> Tensor.over(c, DType.F32, Tensor.buffer(8), 3), "too short");
      Tests.check(error.getMessage().contains("8") && error.getMessage().contains("12"), error.getMessage());
      collect(() -> lent.get().get() == null);
      Tests.check(lent.get().get() == null, "the buffer is let go");
    }
  }

  /** Last by name, and what it leaves behind: the process must still end by itself, with 0. */
  public static void zExitWithLiveObjects() {
    Context c = new Context(Backend.CPU);
    Stream s = new Stream(c);
    kept = new Object[] {c, s, new Tensor(c, DType.F32, 4), Tensor.over(c, DType.F32, Tensor.buffer(16), 4),
        new LogDrain(c, line -> {}, 1)};
    Tensor t = new Tensor(c, DType.F32, 1 << 16);
    Thread busy = new Thread(() -> {
      while (true) t.toFloats(s);
    });
    busy.setDaemon(true);
    busy.start();
    Tests.equal(kept.length, 5, "kept");
  }
}
