// bindings/java/src/main/java/io/ruda/LogDrain.java - hands log lines of a context to a consumer.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import java.lang.ref.WeakReference;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/** Fetches the log lines of a context on a daemon thread until it is closed or the context is gone. */
public final class LogDrain implements AutoCloseable {
  private final WeakReference<Context> context;
  private final Consumer<String> consumer;
  private final CountDownLatch ended = new CountDownLatch(1);
  private final Thread thread;

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
    try {
      c.drainLog().forEach(consumer);
      return true;
    } catch (IllegalStateException closed) {
      return false;
    }
  }

  /** Ends the thread after a last fetch. */
  @Override
  public void close() {
    ended.countDown();
    try {
      if (thread != Thread.currentThread()) thread.join();
      fetch();
    } catch (InterruptedException interrupted) {
      Thread.currentThread().interrupt();
    }
  }
}
