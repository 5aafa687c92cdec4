// tests/bindings/csharp/SessionTests.cs - stores, tokenizers, models and sessions in C#.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using Ruda;

static class SessionTests {
  internal static string ModelPath;
  static readonly ChatMessage[] Question = { new ChatMessage("user", "What is a tensor?") };

  static void With(Action<Context, Model, Session> action) {
    using (Context c = new Context(Backend.Cpu)) using (Model model = Model.Load(c, ModelPath)) using (
        Session session = new Session(model)) action(c, model, session);
  }

  static string Answer(Session session, long tokens, params string[] stops) {
    return string.Concat(session.Chat(Question, tokens, stops));
  }

  public static void Files() {
    With((c, model, session) => {
      using (Store store = new Store(ModelPath)) {
        Test.Equal(store.Names().Count, (int)store.Count, "names");
        Test.Equal(store.Find(store.Name(1)), 1L, "find");
        Tensor t = store.Tensor(c, "token_embd.weight");
        Test.Check(t.IsReadOnly && t.Shape[1] == model.Width, "a tensor of the file");
        using (Stream s = new Stream(c)) {
          Tensor copy = store.Load(s, "token_embd.weight");
          Test.Check(!copy.IsReadOnly && copy.ToArray<byte>(s).SequenceEqual(t.ToArray<byte>(s)), "a copy of it");
          Test.Check(store.Load(s, 1).Shape.SequenceEqual(store.Tensor(c, 1).Shape), "by index");
        }
        Test.Throws<RudaException>(() => store.Find("no such tensor"), "no such tensor");
      }
      Tokenizer tokenizer = model.Tokenizer;
      int end = tokenizer.TokenId("<|im_end|>");
      ArgumentTests.Fails("text holds a NUL at byte 10, expected none", () => tokenizer.TokenId("<|im_end|>\0"));
      ArgumentTests.Fails("path holds a NUL at byte 2, expected none", () => new Store("/a\0b"));
      Test.Check(tokenizer.IsEnd(end) && tokenizer.Unknown == -1 && tokenizer.Padding == -1, "facts of the tokenizer");
      Test.Check(tokenizer.TokenText(end).SequenceEqual(System.Text.Encoding.UTF8.GetBytes("<|im_end|>")), "text");
      Test.Check(tokenizer.Render(new[] { new ChatMessage("user", null) }, false).Contains("user\n<|im_end|>"), "no content");
      ArgumentTests.Refuses("role holds a NUL at index 1, expected none", () => new ChatMessage("a\0b", ""));
      ArgumentTests.Refuses("role is null, expected a text", () => new ChatMessage(null, ""));
    });
  }

  static void Refused(string name, Action call, string index = "1") {
    ArgumentTests.Refuses(name + " holds a lone surrogate at index " + index + ", expected none", call);
  }

  /// <summary>UTF-8 has no half of a pair: nothing takes its place on the way to the library.</summary>
  public static void Surrogates() {
    const string Half = "a\ud800b";
    With((c, model, session) => {
      Tokenizer tokenizer = model.Tokenizer;
      ChatMessage[] question = { new ChatMessage("user", "a \ud83d\ude00") };
      Test.Check(tokenizer.Render(question).Contains("a \ud83d\ude00"), "a pair");
      foreach (string half in new[] { Half, "\ud83d\ude00\ude00", "ab\ud83d" }) {
        string index = half == Half ? "1" : "2";
        Refused("text", () => tokenizer.Encode(half), index);
        Refused("text", () => session.Prompt(half), index);
        Refused("content", () => new ChatMessage("user", half), index);
      }
      Refused("text", () => tokenizer.TokenId(Half));
      Refused("role", () => new ChatMessage(Half, ""));
      Refused("template", () => tokenizer.Render(question, template: Half));
      Refused("variables", () => tokenizer.Render(question, variables: Half));
      Refused("template", () => session.PromptChat(question, template: Half));
      Refused("variables", () => session.PromptChat(question, variables: Half));
      Refused("stops[1]", () => session.Generate(1, new[] { "a", Half }));
      Refused("stops[0]", () => session.Chat(question, 1, new[] { Half }));
      Refused("path", () => new Store(Half));
      using (Store store = new Store(ModelPath)) Refused("name", () => store.Find(Half));
      Refused("op", () => Plan.OpKernels(Half));
      Refused("op", () => new PlanBuilder(Half));
      Refused("name", () => new PlanBuilder("softmax").Set(Half, 1));
      Refused("kernel", () => new PlanBuilder("softmax").Options(new PlanOptions { Kernel = Half }));
    });
  }

  public static void Conversations() {
    With((c, model, session) => {
      string whole = Answer(session, 30);
      Test.Equal(session.Finish, Finish.Length, "end");
      Test.Check(session.CacheBytes > 0, "cache");
      string stop = whole.Substring(4, 2);
      Test.Equal(Answer(session, 30, stop), whole.Substring(0, whole.IndexOf(stop, StringComparison.Ordinal)), "stopped");
      Test.Equal(session.Finish, Finish.Stop, "end at a stop text");
      ArgumentTests.Fails("messages is empty, expected at least 1 message", () => session.PromptChat(new ChatMessage[0]));
      ArgumentTests.Fails("messages is empty, expected at least 1 message",
                            () => session.Chat(new ChatMessage[0]).Count());
      RudaException error;
      Test.Throws<ArgumentException>(() => Answer(session, -1), "fewer than no tokens");
      using (CancelToken cancel = new CancelToken()) {
        cancel.Request();
        error = Test.Throws<RudaException>(() => session.Chat(new[] { new ChatMessage("user", "other") }, 3, null, cancel).Count(),
                                           "cancel");
        Test.Equal(error.Kind, ErrorKind.Cancelled, "category");
      }
      EarlyEndKeepsHeldText(session);
      Faults(model, session);
      session.Prompt("some words");
      float[] logits = session.Logits(model.VocabSize);
      Test.Check(session.Logits().SequenceEqual(logits), "logits of the whole vocabulary");
      string text;
      bool end;
      Test.Equal(session.Next(out text, out end), Array.IndexOf(logits, logits.Max()), "most likely");
      Test.Throws<RudaException>(() => session.Logits(5), "too few logits");
    });
  }

  // The second stop text holds back what the first one lets go, but for a character.
  static void EarlyEndKeepsHeldText(Session session) {
    session.Rewind(0);
    string whole = Answer(session, 30);
    string[] stops = { whole.Substring(1, 4) + "ZZ", whole.Substring(2) + "ZZ" };
    foreach (bool byCancel in new[] { false, true })
      using (CancelToken cancel = new CancelToken()) {
        session.Rewind(0);
        string shown = "";
        using (IEnumerator<string> pieces = session.Chat(Question, 30, stops, cancel).GetEnumerator()) {
          while (shown.Length < 2 && pieces.MoveNext()) shown += pieces.Current;
          Test.Equal(shown, whole.Substring(0, 2), "before the end");
          if (byCancel) {
            cancel.Request();
            Test.Throws<OperationCanceledException>(() => pieces.MoveNext(), "cancel");
          }
        }
        long left = 30 - session.GeneratedTokens;
        if (byCancel) {
          string text;
          bool end;
          session.Next(out text, out end);
          Test.Check(text.Length > 3, "Next gives what was held back");
          shown += text;
          --left;
        }
        Test.Equal(shown + string.Concat(session.Generate(left)), whole, "no text is lost");
      }
  }

  static string Begin(Session session, out IEnumerator<string> pieces) {
    session.Rewind(0);
    pieces = session.Chat(Question, 20).GetEnumerator();
    Test.Check(pieces.MoveNext(), "a first piece");
    return pieces.Current;
  }

  static string Rest(IEnumerator<string> pieces) {
    string rest = "";
    while (pieces.MoveNext()) rest += pieces.Current;
    return rest;
  }

  // The answer is refused once, then has no more pieces.
  static void Ended(IEnumerator<string> pieces, string what) {
    RudaException error = Test.Throws<RudaException>(() => pieces.MoveNext(), what);
    if (error == null) return;
    Test.Equal(error.Status, Status.EState, what);
    Test.Equal(error.Message,
               "RUDA_E_STATE: session: this answer ended when a later call changed the session, expected one answer " +
                   "read at a time", what);
    Test.Check(!pieces.MoveNext(), what + ", again");
  }

  /// <summary>Whatever changes the session ends the answer that was being read; the newer one is as if alone.</summary>
  public static void OneAnswerAtATime() {
    With((c, model, session) => {
      string whole = Answer(session, 20), text;
      bool end;
      IEnumerator<string> pieces;
      List<Action> changes = new List<Action> {
        () => session.Prompt("other"), () => session.Prompt(new[] { 1, 2 }), () => session.PromptChat(Question),
        () => session.Rewind(1), () => session.Next(out text, out end), () => session.Generate(3).First(),
        () => session.Generate(1).Count(), () => session.Chat(Question).First(),
      };
      for (int i = 0; i < changes.Count; ++i) {
        Begin(session, out pieces);
        changes[i]();
        int[] held = session.Tokens();
        Ended(pieces, "change " + i);
        Test.Check(session.Tokens().SequenceEqual(held), "the session after change " + i);
      }
      Begin(session, out pieces);
      session.Rewind(0);
      Test.Equal(string.Concat(session.Chat(Question, 20)), whole, "the newer answer");
      Ended(pieces, "the older answer");
      // An answer that was given up leaves the session as it is.
      string begun = Begin(session, out pieces);
      pieces.Dispose();
      Test.Equal(begun + string.Concat(session.Generate(20 - session.GeneratedTokens)), whole, "given up");
      // Looking at the session, and calls that are refused, leave the answer alone.
      begun = Begin(session, out pieces);
      Test.Check(session.Tokens().Length == session.TokenCount && session.Logits().Length > 0, "a look");
      ArgumentTests.Fails("tokens is empty, expected at least 1 token", () => session.Prompt(new int[0]));
      ArgumentTests.Fails("tokens is empty, expected at least 1 token", () => session.Prompt(""));
      ArgumentTests.Fails("messages is empty", () => session.PromptChat(new ChatMessage[0]));
      ArgumentTests.Fails("count is 9999, expected 0 to " + session.TokenCount + ", the tokens that the session holds", () => session.Rewind(9999));
      Test.Equal(begun + Rest(pieces), whole, "after refused calls");
      int[] after = session.Tokens();
      Test.Check(!pieces.MoveNext() && session.Tokens().SequenceEqual(after), "an ended answer stays ended");
    });
  }

  static void Faults(Model model, Session session) {
    ArgumentTests.Refuses("stops[1] is empty, expected a text of one character or more", () => session.Generate(1, new[] { "a", "" }));
    ArgumentTests.Refuses("stops[0] is null, expected a text", () => session.Chat(Question, 1, new string[] { null }));
    ArgumentTests.Refuses("messages is null, expected a list", () => session.Chat(null, 1));
    ArgumentTests.Refuses("messages[0] is null, expected a chat message", () => session.PromptChat(new ChatMessage[] { null }));
    ArgumentTests.Refuses("tokens is null, expected a list", () => session.Prompt((int[])null));
    ArgumentTests.Refuses("text is null, expected a text", () => session.Prompt((string)null));
    ArgumentTests.Refuses("count is -1, expected 0 to " + session.TokenCount + ", the tokens that the session holds", () => session.Rewind(-1));
    ArgumentTests.Refuses("vocabSize is -1, expected 0 to 2147483647", () => session.Logits(-1));
    ArgumentTests.Refuses("maxTokens is -1, expected 0 to 9223372036854775807", () => session.Generate(-1));
    ArgumentTests.Refuses("tokenCapacity is -1, expected 0 to 9223372036854775807", () => new Session(model, -1));
    ArgumentTests.Refuses("text is null", () => model.Tokenizer.Encode(null));
  }

  public static void Progress() {
    using (Context c = new Context(Backend.Cpu)) {
      long last = -1, all = 0;
      Model.Load(c, ModelPath, (done, total) => {
        last = done;
        all = total;
      }).Dispose();
      Test.Check(last == all && all > 0, "the last call: " + last + " of " + all);
      long live = c.LiveObjects;
      Test.Throws<TimeZoneNotFoundException>(
          () => Model.Load(c, ModelPath, (done, total) => { throw new TimeZoneNotFoundException(); }), "a callback that throws");
      Test.Equal(c.LiveObjects, live, "models that were not wanted");
    }
  }

  public static void Choices() {
    With((c, model, session) => {
      string greedy = Answer(session, 20);
      session.SetSampling(new Sampling { Temperature = 3, Seed = 1 });
      session.Rewind(0);
      Test.Check(Answer(session, 20) != greedy, "sampled");
      session.SetSampling(null);
      session.Rewind(0);
      Test.Equal(Answer(session, 20), greedy, "no sampling is the most likely again");
      Test.Throws<RudaException>(() => session.SetSampling(new Sampling { Temperature = double.NaN }), "NaN");
    });
  }
}
