// tests/bindings/csharp/Texts.cs - the texts of refused calls in C#, for the comparison of the languages.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.Linq;
using Ruda;

static class Texts {
  static void Say(string name, Action call) {
    string text = "nothing was refused";
    try {
      call();
    } catch (Exception error) {
      text = error.Message.Split('\n')[0].TrimEnd('\r');
    }
    Console.WriteLine(name + "|" + text);
  }

  internal static int Run(string modelPath) {
    Context c = new Context(Backend.Cpu);
    Stream s = new Stream(c);
    Tensor x = Tensor.From(s, c, new float[] { 1, 2 }, 2), closed = new Tensor(c, DType.F32, 2);
    closed.Dispose();
    Store store = new Store(modelPath);
    Model model = Model.Load(c, store);
    Session session = new Session(model), gone = new Session(model);
    CancelToken cancel = new CancelToken();
    ChatMessage[] question = { new ChatMessage("user", "What is a tensor?") };
    gone.Dispose();
    cancel.Dispose();
    PagedSchedule schedule = new PagedSchedule(c, 2, 4, 2, 2, 2);
    Plan plan = Plans.Binary(c, x, Binary.Add);
    Tensor query = new Tensor(c, DType.F32, 1, 1, 1), keys = new Tensor(c, DType.F32, 1, 1, 1, 1);
    long[] zero = { 0 }, one = { 1 };
    Say("closed self", () => gone.Finish.ToString());
    Say("closed tensor", () => closed.Shape.ToString());
    Say("closed parameter", () => x.CopyTo(s, closed));
    Say("closed operand", () => Ops.Binary(s, x, closed, 1));
    Say("closed operand of a plan",
        () => plan.Execute(s, new Dictionary<string, object> { { "a", x }, { "y", closed }, { "scalar", 1.0 } }));
    Say("closed token", () => session.Generate(1, null, cancel));
    Say("absent tensor", () => Ops.Binary(s, x, null, 1));
    Say("absent parameter", () => x.CopyTo(s, null));
    Say("absent context", () => new Stream(null));
    Say("absent store", () => new Tokenizer(null));
    Say("older answer", () => {
      IEnumerator<string> pieces = session.Chat(question).GetEnumerator();
      pieces.MoveNext();
      session.Rewind(0);
      pieces.MoveNext();
    });
    Say("empty stop", () => session.Generate(1, new[] { "a", "" }));
    Say("absent stop", () => session.Generate(1, new string[] { null }));
    Say("count of tokens", () => session.Generate(-1));
    Say("role", () => new ChatMessage("a\0b", ""));
    Say("no message", () => session.PromptChat(new ChatMessage[0]));
    Say("size of the vocabulary", () => session.Logits(-1));
    Say("too far", () => session.Rewind(1 << 20));
    Say("absent text", () => Plan.OpKernels(null));
    Say("absent name", () => store.Find(null));
    Say("absent messages", () => session.PromptChat(null));
    Say("sampling", () => session.SetSampling(new Sampling { TopP = 2 }));
    Say("variables", () => session.PromptChat(question, variables: "3"));
    Say("kernel", () => Plans.Softmax(c, x, options: new PlanOptions { Kernel = "cpu/none" }));
    Say("surrogate", () => model.Tokenizer.Encode("a\ud800b"));
    Say("text of a name", () => Plan.OpKernels("copy\0"));
    Say("function", () => Ops.Binary(s, x, x, 999));
    Say("function below", () => Ops.Binary(s, x, x, -1));
    Say("splits", () => Ops.PagedAttention(s, schedule, x, x, x, 1, false, -2));
    Say("splits of a plan", () => Plans.PagedAttention(c, query, keys, keys, 1, splits: -2));
    Say("many splits of a plan", () => Plans.PagedAttention(c, query, keys, keys, 1, splits: 1L << 32));
    Say("splits by name", () => Plans.PagedAttention(c, query, keys, keys, 1, splits: "many"));
    Say("overflow", () => x.Cast(s, DType.F8E4M3, (Overflow)3));
    Say("overflow of a dtype", () => x.Cast(s, DType.F16, Overflow.Saturate));
    Say("dtype", () => new Tensor(c, (DType)99, 1));
    Say("backend", () => new Context((Backend)9));
    Say("log level", () => new Context(Backend.Cpu, logLevel: (LogLevel)7));
    Say("level", () => c.SetLogLevel(0));
    Say("backend to count", () => Context.DeviceCount((Backend)9));
    Say("strides", () => new Operand(DType.F32, new long[] { 2, 2 }, one));
    Say("lengths", () => schedule.Set(s, new[] { zero }, new long[] { 1, 1 }, zero, zero));
    Say("positions", () => schedule.Set(s, new[] { zero }, one, zero, new long[] { 0, 1 }));
    Say("page", () => schedule.Set(s, new[] { new long[] { -2 } }, one, zero, zero));
    Say("length", () => schedule.Set(s, new[] { zero }, new long[] { -1 }, zero, zero));
    Say("operand", () => plan.Execute(s, new Dictionary<string, object> { { "z", x } }));
    Tensor y = new Tensor(c, DType.F32, 2);
    Say("kind of an operand", () => plan.Execute(s, new Dictionary<string, object> { { "a", c }, { "y", y }, { "scalar", 1.0 } }));
    Say("number as a tensor", () => plan.Execute(s, new Dictionary<string, object> { { "a", x }, { "y", y }, { "scalar", x } }));
    Say("unbound", () => plan.Execute(s, new Dictionary<string, object> { { "a", x } }));
    Say("exact fill", () => new Tensor(c, DType.I64, 1).Fill(s, (1L << 60) + 1));
    Say("elements", () => x.Read<double>(s, new double[2]));
    Say("too few bytes", () => x.Read<byte>(s, new byte[4]));
    Say("file", () => new Store("/nonexistent.gguf"));
    Say("name in a file", () => store.Find("none"));
    Say("shape", () => Ops.Matmul(s, new Tensor(c, DType.F32, 2, 3), new Tensor(c, DType.F32, 2, 3)));
    Say("view", () => x.View(3));
    return 0;
  }
}
