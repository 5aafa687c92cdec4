// bindings/java/src/main/java/io/ruda/Context.java - one device of one backend.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import io.ruda.internal.Raw;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** One device of one backend with its caches, threads and log. */
public final class Context extends NativeHandle {
  /** What a context is made with; zero in any field means its default. */
  public static final class Options {
    public int backend, device, hostThreads, logLevel, planCacheCapacity;
    /**
     * Bytes for tensors and workspaces; 0 = no limit. What counts are whole blocks, each of 256 bytes or more and up
     * to a quarter larger than asked for.
     */
    public long memoryLimitBytes;

    /** A constant of Backend. */
    public Options backend(int backend) {
      this.backend = backend;
      return this;
    }

    public Options device(int device) {
      this.device = device;
      return this;
    }

    public Options hostThreads(int threads) {
      this.hostThreads = threads;
      return this;
    }

    /** A constant of LogLevel. */
    public Options logLevel(int level) {
      this.logLevel = level;
      return this;
    }

    public Options planCacheCapacity(int plans) {
      this.planCacheCapacity = plans;
      return this;
    }

    public Options memoryLimitBytes(long bytes) {
      this.memoryLimitBytes = bytes;
      return this;
    }
  }

  /** The default device of a backend, a constant of Backend. */
  public Context(int backend) {
    this(new Options().backend(backend));
  }

  public Context(Options o) {
    super(make(o));
  }

  private static long make(Options o) {
    need("options", o, "options");
    Backend.check("backend", o.backend, false);
    unsigned("hostThreads", o.hostThreads);
    LogLevel.check("logLevel", o.logLevel, true);
    unsigned("planCacheCapacity", o.planCacheCapacity);
    unsigned("memoryLimitBytes", o.memoryLimitBytes);
    if (Raw.ruda_api_level() < Built.LEVEL)
      throw new UnsatisfiedLinkError(
          "libruda has API level " + Raw.ruda_api_level() + ", this jar needs " + Built.LEVEL);
    long[] made = new long[1];
    Raw.rudax_context_create(
        o.backend, o.device, o.hostThreads, o.logLevel, o.planCacheCapacity, o.memoryLimitBytes, made);
    return made[0];
  }

  private long get(int what) {
    return use(p -> {
      long[] value = new long[1];
      Raw.rudax_context_get(p, what, value);
      return value[0];
    });
  }

  @Override
  String describe() {
    return Backend.name(backend()) + " " + device() + " (" + deviceName() + ")";
  }

  public int backend() {
    return (int) get(0);
  }

  public int device() {
    return (int) get(1);
  }

  public int hostThreads() {
    return (int) get(2);
  }

  public long allocatedBytes() {
    return get(3);
  }

  public long cachedBytes() {
    return get(4);
  }

  public long peakBytes() {
    return get(5);
  }

  public String deviceName() {
    return use(p -> readText((text, needed) -> Raw.rudax_context_device_name(p, text, needed), 256));
  }

  /** Objects that hang below the context. */
  public long liveObjects() {
    return use(p -> {
      long[] count = new long[1];
      Raw.ruda_context_live_objects(p, count);
      return count[0];
    });
  }

  /** Gives cached memory and cached plans back. */
  public void trim() {
    with(p -> Raw.ruda_context_trim(p[0]), this);
    Loans.collect();
  }

  /** A constant of LogLevel. */
  public void setLogLevel(int level) {
    with(p -> Raw.rudax_log_level(p[0], LogLevel.check("level", level, false)), this);
  }

  /** The log lines that wait, "level component text". No thread of the library ever calls back. */
  public List<String> drainLog() {
    List<String> lines = new ArrayList<>();
    byte[] text = new byte[16384];
    long[] used = new long[1];
    while (true) {
      with(p -> Raw.ruda_log_drain(p[0], text, used), this);
      if (used[0] == 0) return lines;
      lines.addAll(new String(text, 0, (int) used[0], StandardCharsets.UTF_8).lines().toList());
    }
  }

  /** Every backend and library: path and version, or why it is missing. */
  public static String backendReport() {
    return readText(Raw::ruda_backend_report, 4096);
  }

  /** Devices of a backend, a constant of Backend, that answer. */
  public static int deviceCount(int backend) {
    long[] count = new long[1];
    Raw.ruda_backend_probe(Backend.check("backend", backend, false), count);
    return (int) count[0];
  }

  public static String version() {
    return readText(Raw::rudax_version, 64);
  }
}
