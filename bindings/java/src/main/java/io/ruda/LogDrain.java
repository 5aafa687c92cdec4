// bindings/java/src/main/java/io/ruda/LogDrain.java - hands log lines of a context to a consumer.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import java.lang.ref.WeakReference;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Consumer;

/**
 * Fetches the log lines of a context on a daemon thread until it is closed or the context is gone. A consumer that throws
 * is told the next lines all the same; close() throws the first exception, once.
 */
public final class LogDrain implements AutoCloseable {
  private final WeakReference<Context> context;
  private final Consumer<String> consumer;
  private final CountDownLatch ended = new CountDownLatch(1);
  private final Thread thread;
  private final AtomicReference<Throwable> failure = new AtomicReference<>();

  /** Ten times a second. */
  public LogDrain(Context context, Consumer<String> consumer) {
    this(context, consumer, 100);
  }

  public LogDrain(Context context, Consumer<String> consumer, long intervalMillis) {
    this.context = new WeakReference<>(NativeHandle.need("context", context));
    this.consumer = NativeHandle.need("consumer", consumer, "a function");
    NativeHandle.unsigned("intervalMillis", intervalMillis);
    thread = new Thread(() -> {
      try {
        while (!ended.await(intervalMillis, TimeUnit.MILLISECONDS) && fetch()) {
        }
      } catch (InterruptedException interrupted) {
        Thread.currentThread().interrupt();
      }
    }, "ruda log");
    thread.setDaemon(true);
    thread.start();
  }

  private boolean fetch() {
    Context c = context.get();
    if (c == null) return false;
    List<String> lines;
    try {
      lines = c.drainLog();
    } catch (IllegalStateException closed) {
      return false;
    } catch (Throwable error) {
      failure.compareAndSet(null, error);
      return false;
    }
    for (String line : lines) {
      try {
        consumer.accept(line);
      } catch (Throwable error) {
        failure.compareAndSet(null, error);
      }
    }
    return true;
  }

  /** Ends the thread after a last fetch; then throws what the consumer threw first, unless it is the consumer that calls. */
  @Override
  public void close() {
    boolean own = thread == Thread.currentThread();
    ended.countDown();
    try {
      if (!own) thread.join();
      fetch();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
    Throwable first = own ? null : failure.getAndSet(null);
    if (first != null) throw LogDrain.<RuntimeException>as(first);
  }

  // A consumer may throw what Consumer does not declare, by the same means.
  @SuppressWarnings("unchecked")
  private static <T extends Throwable> T as(Throwable error) throws T {
    throw (T) error;
  }
}
