// bindings/java/src/main/java/io/ruda/Model.java - a language model.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import io.ruda.internal.Raw;
import java.nio.file.Path;
import java.util.BitSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** A language model with its weights on a context's device. */
public final class Model extends NativeHandle {
  private static final BitSet SLOTS = new BitSet(64);

  /** Told on the loading caller's thread how many bytes are done: a few times a second, and all of them at the end. */
  public interface Progress {
    void update(long done, long total);
  }

  private Model(long pointer) {
    super(pointer);
  }

  /** Loads a GGUF file. */
  public static Model load(Context context, Path path) {
    return load(context, path, null);
  }

  /** As load; `progress` may be null, and an exception that it throws ends the load. */
  public static Model load(Context context, Path path, Progress progress) {
    try (Store store = new Store(path)) {
      return load(context, store, progress);
    }
  }

  public static Model load(Context context, Store store) {
    return load(context, store, null);
  }

  public static Model load(Context context, Store store, Progress progress) {
    need("context", context);
    need("store", store);
    int slot;
    synchronized (SLOTS) {
      slot = SLOTS.nextClearBit(0);
      if (slot >= 64) throw new IllegalStateException("64 models are being loaded already, expected at most 64 at once");
      SLOTS.set(slot);
    }
    try {
      Raw.rudax_load_begin(slot);
      if (progress == null) return make(context, store, slot);
      return watch(CompletableFuture.supplyAsync(() -> make(context, store, slot)), slot, progress);
    } finally {
      synchronized (SLOTS) {
        SLOTS.clear(slot);
      }
    }
  }

  private static Model make(Context context, Store store, int slot) {
    long[] made = new long[1];
    with(p -> Raw.rudax_model_load(p[0], p[1], slot, made), need("context", context), need("store", store));
    return new Model(made[0]);
  }

  private static Model watch(CompletableFuture<Model> work, int slot, Progress progress) {
    long[] done = new long[1], total = new long[1];
    long told = -1;
    try {
      while (true) {
        try {
          Model made = work.get(50, TimeUnit.MILLISECONDS);
          Raw.rudax_load_progress(slot, 0, done, total);
          long all = total[0] > 0 ? total[0] : made.weightBytes();
          if (told != all) progress.update(all, all);
          return made;
        } catch (TimeoutException running) {
          Raw.rudax_load_progress(slot, 0, done, total);
          if (total[0] > 0 && done[0] != told) progress.update(done[0], total[0]);
          if (total[0] > 0) told = done[0];
        }
      }
    } catch (ExecutionException error) {
      if (error.getCause() instanceof RuntimeException cause) throw cause;
      throw new CompletionException(error.getCause());
    } catch (InterruptedException | RuntimeException | Error error) {
      Raw.rudax_load_progress(slot, 1, done, total);
      Model unwanted = work.exceptionally(stopped -> null).join();
      if (unwanted != null) unwanted.close();
      if (error instanceof RuntimeException cause) throw cause;
      if (error instanceof Error cause) throw cause;
      Thread.currentThread().interrupt();
      throw new IllegalStateException("interrupted while loading", error);
    }
  }

  private long get(int what) {
    long[] value = new long[1];
    with(p -> Raw.rudax_model_get(p[0], what, value), this);
    return value[0];
  }

  private String text(int what) {
    return use(p -> readText((text, needed) -> Raw.rudax_model_text(p, what, text, needed), 256));
  }

  @Override
  String describe() {
    return name() + " (" + architecture() + ", " + counted(layerCount(), "layer") + ", " + counted(weightBytes(), "byte") + ")";
  }

  public String architecture() {
    return text(0);
  }

  public String name() {
    return text(1);
  }

  public int layerCount() {
    return (int) get(0);
  }

  public int width() {
    return (int) get(1);
  }

  public int vocabSize() {
    return (int) get(6);
  }

  /** Tokens that the model was trained for. */
  public long contextLength() {
    return get(7);
  }

  public long parameterCount() {
    return get(8);
  }

  public long weightBytes() {
    return get(9);
  }

  public Tokenizer tokenizer() {
    long[] made = new long[1];
    with(p -> Raw.ruda_model_get_tokenizer(p[0], made), this);
    return new Tokenizer(made[0]);
  }
}
