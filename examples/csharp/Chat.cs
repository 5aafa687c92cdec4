// examples/csharp/Chat.cs - asks a language model: one question with --prompt, or a conversation line by line.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Globalization;
using System.IO;
using System.Text;
using Ruda;

static class Chat {
  const string Usage = @"usage: Chat.exe --model FILE.gguf [options]
  --prompt TEXT       ask once and end (without it: a conversation, one line a turn, end with Ctrl-D)
  --system TEXT       system message
  --max-tokens N      longest answer, 0 = no limit (default 512)
  --temperature T     0 takes the most likely token (default 0)
  --top-k N  --top-p P  --min-p P  --repetition-penalty R  --seed N   (default 0: off, seed 0)
  --backend auto|cpu|cuda  (default auto)
  --threads N         threads of the CPU backend (default 0 = all)
  --context N         tokens of prompt and answer (default 0 = the model's, at most 8192)
  --quiet             the answer only
  --help              this text
";
  static readonly string[] texts = { "--model", "--prompt", "--system" };
  // An option and its largest value.
  static readonly Dictionary<string, ulong> whole = new Dictionary<string, ulong> {
    { "--max-tokens", long.MaxValue }, { "--context", long.MaxValue }, { "--top-k", int.MaxValue },
    { "--seed", ulong.MaxValue }, { "--threads", int.MaxValue }
  };
  static readonly Dictionary<string, int> numbers = new Dictionary<string, int> {
    { "--temperature", 100 }, { "--top-p", 1 }, { "--min-p", 1 }, { "--repetition-penalty", 100 }
  };
  static readonly Dictionary<string, string> options = new Dictionary<string, string>();
  static bool quiet;
  static TextWriter answers;

  static string Text(string name, string otherwise) {
    string value;
    return options.TryGetValue(name, out value) ? value : otherwise;
  }

  static ulong Whole(string name, ulong otherwise) {
    string value;
    return options.TryGetValue(name, out value) ? ulong.Parse(value, CultureInfo.InvariantCulture) : otherwise;
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
    int limit;
    double number;
    if (name == "--backend")
      return value == "auto" || value == "cpu" || value == "cuda" ? null : "auto, cpu or cuda";
    if (whole.TryGetValue(name, out most)) {
      bool good = Only(value, "0123456789") && ulong.TryParse(value, out integer) && integer <= most;
      return good ? null : "a whole number from 0 to " + most;
    }
    if (numbers.TryGetValue(name, out limit)) {
      bool good = Only(value, "0123456789.eE+-") && double.TryParse(value, NumberStyles.Float,
                                                                    CultureInfo.InvariantCulture, out number) &&
                  number >= 0 && number <= limit;
      return good ? null : "a number from 0 to " + limit;
    }
    return null;
  }

  static int Wrong(string text) {
    Console.Error.WriteLine("ruda-chat: " + text);
    return 2;
  }

  // -1 = go on, else the exit code.
  static int Parse(string[] arguments) {
    for (int i = 0; i < arguments.Length; ++i) {
      string name = arguments[i];
      if (name == "--help") {
        Console.Out.Write(Usage);
        return 0;
      }
      if (name == "--quiet") {
        quiet = true;
        continue;
      }
      if (Array.IndexOf(texts, name) < 0 && !whole.ContainsKey(name) && !numbers.ContainsKey(name) && name != "--backend")
        return Wrong("unknown option " + name);
      if (i + 1 == arguments.Length) return Wrong(name + " needs a value");
      string value = arguments[++i], expected = Expected(name, value);
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
      if (dropped > 0) Console.Error.WriteLine("[the context is full: oldest turns forgotten: " + dropped + "]");
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
      answers.Write(piece);
      answers.Flush();
      all.Append(piece);
    }
    answers.WriteLine();
    answers.Flush();
    messages.Add(new ChatMessage("assistant", all.ToString()));
    if (quiet) return true;
    Speed("prompt", session.PromptTokens, session.PromptSeconds);
    Speed("answer", session.GeneratedTokens, session.GenerateSeconds);
    return true;
  }

  static void Speed(string what, long tokens, double seconds) {
    string speed = seconds > 0 ? string.Format(CultureInfo.InvariantCulture, ", {0:F1} tokens/s", tokens / seconds) : "";
    Console.Error.WriteLine(what + ": " + tokens + " tokens" + speed);
  }

  static int Run() {
    Backend backend = (Backend)Enum.Parse(typeof(Backend), Text("--backend", "auto"), true);
    using (Context context = new Context(backend, hostThreads: (uint)Whole("--threads", 0)))
    using (Model model = Model.Load(context, Text("--model", null)))
    using (Session session = new Session(model, (long)Whole("--context", 0))) {
      session.SetSampling(new Sampling {
        Temperature = Number("--temperature"),
        TopK = (uint)Whole("--top-k", 0),
        TopP = Number("--top-p"),
        MinP = Number("--min-p"),
        RepetitionPenalty = Number("--repetition-penalty"),
        Seed = Whole("--seed", 0),
      });
      if (!quiet)
        Console.Error.WriteLine(string.Format(CultureInfo.InvariantCulture, "{0}: {1:F0} M parameters, on {2}", model.Name,
                                              model.ParameterCount * 1e-6, context.DeviceName));
      List<ChatMessage> messages = new List<ChatMessage>();
      if (options.ContainsKey("--system")) messages.Add(new ChatMessage("system", options["--system"]));
      if (options.ContainsKey("--prompt")) {
        messages.Add(new ChatMessage("user", options["--prompt"]));
        return Answer(session, messages) ? 0 : 1;
      }
      for (string line; (line = Console.In.ReadLine()) != null;) {
        if (line.Trim().Length == 0) continue;
        messages.Add(new ChatMessage("user", line));
        Answer(session, messages);
      }
    }
    return 0;
  }

  static int Main(string[] arguments) {
    int ended = Parse(arguments);
    if (ended >= 0) return ended;
    answers = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false));
    try {
      return Run();
    } catch (RudaException error) {
      Console.Error.WriteLine("ruda-chat: " + error.Message);
      return 1;
    }
  }
}
