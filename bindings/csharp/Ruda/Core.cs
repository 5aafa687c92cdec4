// bindings/csharp/Ruda/Core.cs - contexts, streams, events, cancel tokens, workspaces.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Runtime.ExceptionServices;
using System.Threading;
using System.Threading.Tasks;
using Ruda.Interop;

namespace Ruda {
  /// <summary>One device of one backend with its caches, threads and log.</summary>
  public sealed class Context : NativeObject<ContextHandle> {
    /// <param name="backend">by default Auto</param>
    /// <param name="hostThreads">threads of the CPU backend, 0 = all that the process may use</param>
    /// <param name="memoryLimit">bytes for tensors and workspaces, 0 = no limit; what counts are whole blocks, each
    /// of 256 bytes or more and up to a quarter larger than asked for</param>
    public Context(Choice<Backend> backend = default(Choice<Backend>), int device = 0, uint hostThreads = 0,
                   Choice<LogLevel> logLevel = default(Choice<LogLevel>), uint planCacheCapacity = 0, ulong memoryLimit = 0)
        : base(Make(Need.One("backend", backend), device, hostThreads, Need.One("logLevel", logLevel, true),
                    planCacheCapacity, memoryLimit)) {
    }

    internal Context(ContextHandle handle) : base(handle) {
    }

    static ContextHandle Make(uint backend, int device, uint threads, uint level, uint plans,
                              ulong limit) {
      if (RudaNative.ruda_api_level() < Built.Level)
        throw new DllNotFoundException("libruda has API level " + RudaNative.ruda_api_level() +
                                       ", this assembly needs " + Built.Level);
      ContextHandle made;
      RudaNative.rudax_context_create(backend, device, threads, level, plans, limit, out made);
      return made;
    }

    ulong Get(uint what) {
      ulong value;
      RudaNative.rudax_context_get(H, what, out value);
      return value;
    }

    internal override string Describe() {
      return Backend + " " + Device + " (" + DeviceName + ")";
    }

    public Backend Backend {
      get { return (Backend)Get(0); }
    }
    public int Device {
      get { return (int)Get(1); }
    }
    public int HostThreads {
      get { return (int)Get(2); }
    }
    public ulong AllocatedBytes {
      get { return Get(3); }
    }
    public ulong CachedBytes {
      get { return Get(4); }
    }
    public ulong PeakBytes {
      get { return Get(5); }
    }

    public string DeviceName {
      get {
        return ReadText(text => {
          ulong needed;
          RudaNative.rudax_context_device_name(H, text, (ulong)text.Length, out needed);
          return needed;
        });
      }
    }

    /// <summary>Objects that hang below the context.</summary>
    public long LiveObjects {
      get {
        ulong count;
        RudaNative.ruda_context_live_objects(H, out count);
        return (long)count;
      }
    }

    /// <summary>Gives cached memory and cached plans back.</summary>
    public void Trim() {
      RudaNative.ruda_context_trim(H);
      Loans.Collect();
    }

    public void SetLogLevel(Choice<LogLevel> level) {
      RudaNative.rudax_log_level(H, Need.One("level", level));
    }

    /// <summary>The log lines that wait, "level component text". No thread of the library ever calls
    /// back.</summary>
    public IList<string> DrainLog() {
      List<string> lines = new List<string>();
      byte[] text = new byte[16384];
      for (ulong used;;) {
        RudaNative.ruda_log_drain(H, text, (ulong)text.Length, out used);
        if (used == 0)
          return lines;
        foreach (string line in System.Text.Encoding.UTF8.GetString(text, 0, (int)used).Split('\n'))
          if (line.Length > 0)
            lines.Add(line);
      }
    }

    /// <summary>Every backend and library: path and version, or why it is missing.</summary>
    public static string BackendReport() {
      return ReadText(text => {
        ulong needed;
        RudaNative.ruda_backend_report(text, (ulong)text.Length, out needed);
        return needed;
      }, 4096);
    }

    /// <summary>Devices of a backend that answer.</summary>
    public static int DeviceCount(Choice<Backend> backend) {
      uint count;
      RudaNative.ruda_backend_probe(Need.One("backend", backend), out count);
      return (int)count;
    }

    public static string Version() {
      return ReadText(text => {
        ulong needed;
        RudaNative.rudax_version(text, (ulong)text.Length, out needed);
        return needed;
      });
    }
  }

  /// <summary>Fetches the log lines of a context on a background thread until it is disposed or the context is gone. A
  /// consumer that throws is told the next lines all the same; Dispose throws the first exception, once.</summary>
  public sealed class LogDrain : IDisposable {
    readonly WeakReference<Context> context;
    readonly Action<string> consumer;
    readonly ManualResetEventSlim ended = new ManualResetEventSlim();
    readonly Thread thread;
    ExceptionDispatchInfo failure;

    public LogDrain(Context context, Action<string> consumer, int intervalMilliseconds = 100) {
      Need.H("context", context);
      Need.Given("consumer", consumer);
      Need.Unsigned("intervalMilliseconds", intervalMilliseconds, int.MaxValue);
      this.context = new WeakReference<Context>(context);
      this.consumer = consumer;
      thread = new Thread(() => {
        while (!ended.Wait(intervalMilliseconds) && Fetch()) {
        }
      });
      thread.IsBackground = true;
      thread.Start();
    }

    bool Fetch() {
      Context c;
      if (!context.TryGetTarget(out c))
        return false;
      IList<string> lines;
      try {
        lines = c.DrainLog();
      } catch (ObjectDisposedException) {
        return false;
      } catch (Exception error) {
        Keep(error);
        return false;
      }
      foreach (string line in lines) {
        try {
          consumer(line);
        } catch (Exception error) {
          Keep(error);
        }
      }
      return true;
    }

    void Keep(Exception error) {
      Interlocked.CompareExchange(ref failure, ExceptionDispatchInfo.Capture(error), null);
    }

    /// <summary>Ends the thread after a last fetch; then throws what the consumer threw first, unless it is the consumer
    /// that calls.</summary>
    public void Dispose() {
      bool own = thread == Thread.CurrentThread;
      ended.Set();
      if (!own) thread.Join();
      Fetch();
      ExceptionDispatchInfo first = own ? null : Interlocked.Exchange(ref failure, null);
      if (first != null) first.Throw();
    }
  }

  /// <summary>An ordered queue of work. On the CPU work runs at the call.</summary>
  public sealed class Stream : NativeObject<StreamHandle> {
    public Stream(Context context) : base(Make(context)) {
    }

    static StreamHandle Make(Context context) {
      StreamHandle made;
      RudaNative.ruda_stream_create(Need.H("context", context), 0, out made);
      return made;
    }

    /// <summary>Waits for all submitted work; throws the first error of asynchronous work.</summary>
    public void Sync() {
      RudaNative.ruda_stream_sync(H);
    }

    public bool Done {
      get {
        uint done;
        RudaNative.rudax_stream_done(H, out done);
        return done != 0;
      }
    }

    /// <summary>As Sync without a waiting thread: polls until the work is done.</summary>
    public async Task SyncAsync() {
      for (int pause = 0; !Done; pause = Math.Min(pause + 1, 10)) await Task.Delay(pause);
      Sync();
    }

    /// <summary>Later work waits for the event.</summary>
    public void Wait(Event point) {
      RudaNative.ruda_stream_wait(H, Need.H("point", point));
    }
  }

  /// <summary>A point in a stream's order.</summary>
  public sealed class Event : NativeObject<EventHandle> {
    public Event(Context context) : base(Make(context)) {
    }

    static EventHandle Make(Context context) {
      EventHandle made;
      RudaNative.ruda_event_create(Need.H("context", context), out made);
      return made;
    }

    public void Record(Stream stream) {
      RudaNative.ruda_event_record(H, Need.H("stream", stream));
    }

    public void Sync() {
      RudaNative.ruda_event_sync(H);
    }

    /// <summary>Seconds from this event to a later one.</summary>
    public double Elapsed(Event later) {
      NeedOpen();
      double seconds;
      RudaNative.ruda_event_elapsed(H, Need.H("later", later), out seconds);
      return seconds;
    }
  }

  /// <summary>Stops work that carries it; Request may come from any thread.</summary>
  public sealed class CancelToken : NativeObject<CancelHandle> {
    public CancelToken() : base(Make()) {
    }

    static CancelHandle Make() {
      CancelHandle made;
      RudaNative.ruda_cancel_create(out made);
      return made;
    }

    volatile bool requested;

    public bool IsRequested {
      get {
        NeedOpen();
        return requested;
      }
    }

    public void Request() {
      RudaNative.ruda_cancel_request(H);
      requested = true;
    }

    public void Reset() {
      RudaNative.ruda_cancel_reset(H);
      requested = false;
    }
  }

  /// <summary>Scratch memory for plans of one stream at a time.</summary>
  public sealed class Workspace : NativeObject<WorkspaceHandle> {
    public Workspace(Context context, long bytes) : base(Make(context, bytes)) {
    }

    static WorkspaceHandle Make(Context context, long bytes) {
      WorkspaceHandle made;
      RudaNative.ruda_workspace_create(Need.H("context", context), Need.Unsigned("bytes", bytes), out made);
      return made;
    }
  }
}
