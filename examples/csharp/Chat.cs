// examples/csharp/Chat.cs - asks a language model: one question with --prompt, or a conversation line by line.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Diagnostics;
using System.Globalization;
using System.IO;
using System.Runtime.InteropServices;
using System.Text;
using Ruda;

static class Chat {
  const string Usage =
      @"usage: Chat.exe --model FILE.gguf [options]   (--name VALUE or --name=VALUE)
  --prompt TEXT       ask once and end (without it: a conversation, one line a turn, end with Ctrl-D)
  --system TEXT       system message
  --max-tokens N      longest answer, 0 = no limit (default 512)
  --temperature T     0 takes the most likely token (default 0)
  --top-k N  --top-p P  --min-p P  --repetition-penalty R  --seed N   (default 0: off, seed 0)
  --backend auto|cpu|cuda  (default auto)
  --threads N         threads of the CPU backend (default 0 = all)
  --context N         tokens of prompt and answer (default 0 = the model's, at most 8192)
  --quiet             the answer only
  -h, --help          this text
Ctrl-C ends the program.
Exit codes: 0 all was answered, 1 something failed, 2 wrong options, 130 Ctrl-C, 141 nobody reads stdout.
";
  static readonly string[] texts = { "--model", "--prompt", "--system" };
  // An option and its largest value.
  static readonly Dictionary<string, ulong> whole =
      new Dictionary<string, ulong> { { "--max-tokens", long.MaxValue },
                                      { "--context", 1 << 24 },
                                      { "--top-k", int.MaxValue },
                                      { "--seed", ulong.MaxValue },
                                      { "--threads", 4096 } };
  // An option, its least and largest value beside 0; 1e-37 is the least that F32 divides by.
  static readonly Dictionary<string, double[]> numbers =
      new Dictionary<string, double[]> { { "--temperature", new[] { 1e-37, 100 } },
                                         { "--repetition-penalty", new[] { 1e-37, 100 } },
                                         { "--top-p", new[] { 0.0, 1 } },
                                         { "--min-p", new[] { 0, 0.999999 } } };
  static readonly Dictionary<string, string> options = new Dictionary<string, string>();
  static bool quiet;
  static TextWriter answers;

  static string Text(string name, string otherwise) {
    string value;
    return options.TryGetValue(name, out value) ? value : otherwise;
  }

  static ulong Whole(string name, ulong otherwise) {
    string value;
    return options.TryGetValue(name, out value) ? ulong.Parse(value, CultureInfo.InvariantCulture)
                                                : otherwise;
  }

  static double Number(string name) {
    string value;
    return options.TryGetValue(name, out value) ? double.Parse(value, CultureInfo.InvariantCulture) : 0;
  }

  static bool Only(string value, string characters) {
    foreach (char c in value)
      if (characters.IndexOf(c) < 0) return false;
    return value.Length > 0;
  }

  // What a value should have been, null where it is that.
  static string Expected(string name, string value) {
    ulong most, integer;
    double[] limits;
    double number;
    if (name == "--backend")
      return value == "auto" || value == "cpu" || value == "cuda" ? null : "auto, cpu or cuda";
    if (whole.TryGetValue(name, out most)) {
      bool good = Only(value, "0123456789") && ulong.TryParse(value, out integer) && integer <= most;
      return good ? null : "a whole number from 0 to " + most;
    }
    if (numbers.TryGetValue(name, out limits)) {
      bool good = Only(value, "0123456789.eE+-") &&
                  double.TryParse(value, NumberStyles.Float, CultureInfo.InvariantCulture, out number) &&
                  (number == 0 || (number >= limits[0] && number <= limits[1]));
      string range = limits[0] > 0 ? "0 or a number from 1e-37 to " : "a number from 0 to ";
      return good ? null : range + limits[1].ToString(CultureInfo.InvariantCulture);
    }
    return null;
  }

  // To stdout, and that it arrived: a full disk must not pass for an answer. Where nobody reads it ends in silence.
  static void Say(string text) {
    const int writeFault = 0x1d, brokenPipe = 0x6d;
    try {
      answers.Write(text);
      answers.Flush();
    } catch (IOException error) {
      int code = error.HResult & 0xffff;
      if (code == writeFault || code == brokenPipe) Environment.Exit(141);
      Console.Error.WriteLine("ruda-chat: stdout: " + error.Message);
      Environment.Exit(1);
    }
  }

  static int Wrong(string text) {
    Console.Error.WriteLine("ruda-chat: " + text);
    return 2;
  }

  // -1 = go on, else the exit code.
  static int Parse(string[] arguments) {
    for (int i = 0; i < arguments.Length; ++i) {
      string name = arguments[i], value = null;
      if (name == "--help" || name == "-h") {
        Say(Usage);
        return 0;
      }
      if (name == "--quiet") {
        quiet = true;
        continue;
      }
      int equals = name.StartsWith("--", StringComparison.Ordinal) ? name.IndexOf('=') : -1;
      if (equals >= 0) {
        value = name.Substring(equals + 1);
        name = name.Substring(0, equals);
      }
      if (Array.IndexOf(texts, name) < 0 && !whole.ContainsKey(name) && !numbers.ContainsKey(name) &&
          name != "--backend")
        return Wrong("unknown option " + name);
      if (equals < 0) {
        if (i + 1 == arguments.Length) return Wrong(name + " needs a value");
        value = arguments[++i];
      }
      string expected = Expected(name, value);
      if (expected != null) return Wrong(name + " is \"" + value + "\", expected " + expected);
      options[name] = value;
    }
    return options.ContainsKey("--model") ? -1 : Wrong("--model is missing; see --help");
  }

  // Prompts with the conversation, without as many of the oldest turns as the context asks for.
  static void Prompt(Session session, List<ChatMessage> messages) {
    int first = messages[0].Role == "system" ? 1 : 0;
    for (int dropped = 0;; ++dropped) {
      List<ChatMessage> kept = new List<ChatMessage>(messages);
      kept.RemoveRange(first, 2 * dropped);
      try {
        session.PromptChat(kept);
      } catch (RudaException error) {
        if (error.Kind != ErrorKind.Argument || kept.Count == first + 1) throw;
        continue;
      }
      if (dropped > 0)
        Console.Error.WriteLine("[the context is full: oldest turns forgotten: " + dropped + "]");
      messages.RemoveRange(first, 2 * dropped);
      return;
    }
  }

  // false: this message alone was refused and is forgotten.
  static bool Answer(Session session, List<ChatMessage> messages) {
    try {
      Prompt(session, messages);
    } catch (RudaException error) {
      if (error.Kind != ErrorKind.Argument) throw;
      Console.Error.WriteLine("ruda-chat: this message: " + error.Message);
      messages.RemoveAt(messages.Count - 1);
      return false;
    }
    StringBuilder all = new StringBuilder();
    foreach (string piece in session.Generate((long)Whole("--max-tokens", 512))) {
      Say(piece);
      all.Append(piece);
    }
    Say("\n");
    messages.Add(new ChatMessage("assistant", all.ToString()));
    if (!quiet) ShowSpeed(session);
    return true;
  }

  static void ShowSpeed(Session session) {
    string reused = session.ReusedTokens > 0 ? " (and " + session.ReusedTokens + " from the cache)" : "";
    string end = session.Finish == Finish.Length     ? " (stopped at --max-tokens)"
                 : session.Finish == Finish.Capacity ? " (stopped: the context is full)"
                                                     : "";
    Console.Error.WriteLine("\nprompt: " + session.PromptTokens + " tokens" + reused +
                            Speed(session.PromptTokens, session.PromptSeconds));
    Console.Error.WriteLine("answer: " + session.GeneratedTokens + " tokens" +
                            Speed(session.GeneratedTokens, session.GenerateSeconds) + end);
  }

  static string Speed(long tokens, double seconds) {
    return seconds > 0 ? string.Format(CultureInfo.InvariantCulture, ", {0:F1} tokens/s", tokens / seconds)
                       : "";
  }

  [DllImport("libc")]
  static extern IntPtr realpath(string path, byte[] found);

  static string Real(string path) {
    byte[] found = new byte[4096];
    return realpath(path, found) == IntPtr.Zero ? "" : Encoding.UTF8.GetString(found).Split('\0')[0];
  }

  // A closed stdin is an empty one: the runtime has the program's file in its place. A directory would pass for one.
  static TextReader Questions() {
    const string stdin = "/proc/self/fd/0";
    if (Directory.Exists(stdin)) throw new IOException("Is a directory");
    string own = Real(typeof(Chat).Assembly.Location);
    return own != "" && Real(stdin) == own ? TextReader.Null : Console.In;
  }

  static int Run() {
    Backend backend = (Backend)Enum.Parse(typeof(Backend), Text("--backend", "auto"), true);
    Stopwatch clock = Stopwatch.StartNew();
    using (Context context = new Context(backend, hostThreads: (uint)Whole("--threads", 0))) using (
        Model model = Model.Load(
            context, Text("--model", null))) using (Session session =
                                                        new Session(model, (long)Whole("--context", 0))) {
      session.SetSampling(new Sampling {
        Temperature = Number("--temperature"),
        TopK = (uint)Whole("--top-k", 0),
        TopP = Number("--top-p"),
        MinP = Number("--min-p"),
        RepetitionPenalty = Number("--repetition-penalty"),
        Seed = Whole("--seed", 0),
      });
      if (!quiet)
        Console.Error.WriteLine(string.Format(
            CultureInfo.InvariantCulture,
            "{0}: {1}, {2:F0} M parameters, {3:F0} MB, on {4} with {5} threads, loaded in {6:F2} s\n",
            model.Name, model.Architecture, model.ParameterCount * 1e-6, model.WeightBytes * 1e-6,
            context.DeviceName, context.HostThreads, clock.Elapsed.TotalSeconds));
      List<ChatMessage> messages = new List<ChatMessage>();
      if (options.ContainsKey("--system")) messages.Add(new ChatMessage("system", options["--system"]));
      if (options.ContainsKey("--prompt")) {
        messages.Add(new ChatMessage("user", options["--prompt"]));
        return Answer(session, messages) ? 0 : 1;
      }
      int refused = 0;
      TextReader lines = Questions();
      for (string line; (line = lines.ReadLine()) != null;) {
        if (line.Trim().Length == 0) continue;
        messages.Add(new ChatMessage("user", line));
        if (!Answer(session, messages)) refused = 1;
      }
      return refused;
    }
  }

  static int Main(string[] arguments) {
    answers = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false));
    int ended = Parse(arguments);
    try {
      return ended >= 0 ? ended : Run();
    } catch (RudaException error) {
      Console.Error.WriteLine("ruda-chat: " + error.Message);
      return 1;
    } catch (Exception error) when (error is IOException || error is UnauthorizedAccessException) {
      Console.Error.WriteLine("ruda-chat: stdin: " + error.Message);
      return 1;
    }
  }
}
