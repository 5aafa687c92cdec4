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
  --prompt TEXT       ask once and end (without it: a conversation, one line a turn)
  --system TEXT       system message
  --max-tokens N      longest answer (default 512)
  --temperature T     0 takes the most likely token (default 0)
  --top-k N  --top-p P  --min-p P  --repetition-penalty R  --seed N
  --backend auto|cpu|cuda  --threads N  --context N
  --quiet             the answer only";

  static readonly Dictionary<string, string> options = new Dictionary<string, string>();
  static bool quiet;
  static TextWriter answers;

  static string Text(string name, string otherwise) {
    string value;
    return options.TryGetValue(name, out value) ? value : otherwise;
  }

  static double Number(string name, double otherwise) {
    string value;
    return options.TryGetValue(name, out value) ? double.Parse(value, CultureInfo.InvariantCulture) : otherwise;
  }

  static bool Parse(string[] arguments) {
    const string known = " --model --prompt --system --max-tokens --temperature --top-k --top-p --min-p" +
                         " --repetition-penalty --seed --backend --threads --context ";
    for (int i = 0; i < arguments.Length; ++i) {
      if (arguments[i] == "--quiet") {
        quiet = true;
        continue;
      }
      if (!known.Contains(" " + arguments[i] + " ") || i + 1 == arguments.Length) return false;
      options[arguments[i]] = arguments[++i];
    }
    return options.ContainsKey("--model");
  }

  static void Answer(Session session, List<ChatMessage> messages) {
    StringBuilder whole = new StringBuilder();
    foreach (string piece in session.Chat(messages, (long)Number("--max-tokens", 512))) {
      answers.Write(piece);
      answers.Flush();
      whole.Append(piece);
    }
    answers.WriteLine();
    answers.Flush();
    messages.Add(new ChatMessage("assistant", whole.ToString()));
    if (quiet) return;
    Speed("prompt", session.PromptTokens, session.PromptSeconds);
    Speed("answer", session.GeneratedTokens, session.GenerateSeconds);
  }

  static void Speed(string what, long tokens, double seconds) {
    string speed = seconds > 0 ? string.Format(CultureInfo.InvariantCulture, ", {0:F1} tokens/s", tokens / seconds) : "";
    Console.Error.WriteLine(what + ": " + tokens + " tokens" + speed);
  }

  static void Run() {
    Backend backend = (Backend)Enum.Parse(typeof(Backend), Text("--backend", "auto"), true);
    using (Context context = new Context(backend, hostThreads: (uint)Number("--threads", 0)))
    using (Model model = Model.Load(context, Text("--model", null)))
    using (Session session = new Session(model, (long)Number("--context", 0))) {
      session.SetSampling(new Sampling {
        Temperature = Number("--temperature", 0),
        TopK = (uint)Number("--top-k", 0),
        TopP = Number("--top-p", 0),
        MinP = Number("--min-p", 0),
        RepetitionPenalty = Number("--repetition-penalty", 0),
        Seed = ulong.Parse(Text("--seed", "0")),
      });
      if (!quiet)
        Console.Error.WriteLine(model.Name + ": " + model.ParameterCount / 1000000 + " M parameters, on " +
                                context.DeviceName);
      List<ChatMessage> messages = new List<ChatMessage>();
      if (options.ContainsKey("--system")) messages.Add(new ChatMessage("system", options["--system"]));
      TextReader lines = options.ContainsKey("--prompt") ? new StringReader(options["--prompt"]) : Console.In;
      bool whole = options.ContainsKey("--prompt");
      for (string line; (line = whole ? lines.ReadToEnd() : lines.ReadLine()) != null;) {
        if (line.Length > 0) {
          messages.Add(new ChatMessage("user", line));
          Answer(session, messages);
        }
        if (whole) return;
      }
    }
  }

  static int Main(string[] arguments) {
    if (!Parse(arguments)) {
      Console.Error.WriteLine(Usage);
      return 2;
    }
    answers = new StreamWriter(Console.OpenStandardOutput(), new UTF8Encoding(false));
    try {
      Run();
      return 0;
    } catch (RudaException error) {
      Console.Error.WriteLine("chat: " + error.Message);
      return 1;
    }
  }
}
