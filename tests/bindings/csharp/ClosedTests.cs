// tests/bindings/csharp/ClosedTests.cs - every method and property of a disposed object refuses in the same words.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections;
using System.Collections.Generic;
using System.Linq;
using System.Reflection;
using Ruda;

static class ClosedTests {
  static Context c;
  static Stream s;
  static Tensor live;

  static object Argument(ParameterInfo p) {
    Type type = p.ParameterType.IsByRef ? p.ParameterType.GetElementType() : p.ParameterType;
    if (type == typeof(Context)) return c;
    if (type == typeof(Stream)) return s;
    if (type == typeof(Tensor)) return live;
    if (type == typeof(Event)) return new Event(c);
    if (type == typeof(long[][])) return new[] { new long[] { 0 } };
    if (type == typeof(int[][])) return new[] { new[] { 0 } };
    if (type == typeof(int[])) return new[] { 1 };
    if (type == typeof(long[])) return new long[] { 1 };
    if (type == typeof(string)) return "a";
    if (type == typeof(IEnumerable<int>)) return new[] { 1 };
    if (type == typeof(IEnumerable<string>)) return new[] { "x" };
    if (type == typeof(IEnumerable<ChatMessage>)) return new[] { new ChatMessage("user", "a") };
    if (type == typeof(IDictionary<string, object>)) return new Dictionary<string, object> { { "x", live }, { "y", live } };
    if (type == typeof(Choice<DType>)) return (Choice<DType>)DType.F64;
    if (type == typeof(Choice<LogLevel>)) return (Choice<LogLevel>)LogLevel.Info;
    return type.IsValueType ? Activator.CreateInstance(type) : null;
  }

  static void Refuses(string text, string what, Action action) {
    ObjectDisposedException error = Test.Throws<ObjectDisposedException>(action, what);
    if (error != null) Test.Equal(error.Message, text, what);
  }

  static void Invoke(MethodInfo method, object thing, object[] arguments) {
    try {
      object made = method.Invoke(thing, arguments);
      if (made is System.Threading.Tasks.Task) ((System.Threading.Tasks.Task)made).GetAwaiter().GetResult();
    } catch (TargetInvocationException error) {
      throw error.InnerException;
    }
  }

  static void Every(NativeObject thing, string parameter, string noun = null) {
    string text = parameter + ": closed, expected an open " + (noun ?? parameter);
    Test.Check(thing.ToString().StartsWith(thing.GetType().Name), thing.ToString());
    thing.Dispose();
    thing.Dispose();
    Test.Equal(thing.ToString(), thing.GetType().Name + " (disposed)", "text");
    Test.Check(thing.IsDisposed, "disposed");
    int seen = 0;
    foreach (MethodInfo method in thing.GetType().GetMethods(BindingFlags.Instance | BindingFlags.Public)) {
      if (new[] { "Dispose", "ToString", "Equals", "GetHashCode", "GetType", "get_IsDisposed" }.Contains(method.Name)) continue;
      if (method.IsGenericMethod) continue;
      object[] arguments = method.GetParameters().Select(Argument).ToArray();
      Refuses(text, thing.GetType().Name + "." + method.Name, () => Invoke(method, thing, arguments));
      ++seen;
    }
    Test.Check(seen > 0 || thing is Workspace, thing.GetType().Name);
  }

  public static void Objects() {
    using (c = new Context(Backend.Cpu)) using (s = new Stream(c)) {
      live = new Tensor(c, DType.F32, 1);
      Every(new Context(Backend.Cpu), "context");
      Every(new Stream(c), "stream");
      Every(new Event(c), "event");
      Every(new Workspace(c, 64), "workspace");
      Every(new CancelToken(), "cancel", "cancel token");
      Tensor t = new Tensor(c, DType.F32, 1);
      Every(t, "tensor");
      Refuses("tensor: closed, expected an open tensor", "ToArray", () => t.ToArray<float>(s));
      Refuses("tensor: closed, expected an open tensor", "Read", () => t.Read<float>(s, new float[1]));
      Refuses("tensor: closed, expected an open tensor", "Write", () => t.Write<float>(s, new float[1]));
      Every(Plans.Unary(c, live, Unary.Neg), "plan");
      Every(new PagedSchedule(c, 2, 4, 1, 1, 2), "schedule", "paged schedule");
    }
  }

  public static void Models() {
    using (c = new Context(Backend.Cpu)) using (s = new Stream(c)) {
      live = new Tensor(c, DType.F32, 1);
      Every(new Store(SessionTests.ModelPath), "store");
      using (Store store = new Store(SessionTests.ModelPath)) Every(new Tokenizer(store), "tokenizer");
      Model model = Model.Load(c, SessionTests.ModelPath);
      Test.Equal(model.ToString(), "Model " + model.Name + " (" + model.Architecture + ", " + model.LayerCount + " layers, " +
                                       model.WeightBytes + " bytes)", "model");
      Test.Equal(model.Tokenizer.ToString(), "Tokenizer of " + model.VocabSize + " tokens", "tokenizer");
      using (Session session = new Session(model, 16)) {
        session.Prompt(new[] { 1, 2 });
        Test.Equal(session.ToString(), "Session with 2 of 16 tokens", "session");
      }
      Every(new Session(model), "session");
      using (Session session = new Session(model)) {
        CancelToken cancel = new CancelToken();
        cancel.Dispose();
        string text = "cancel: closed, expected an open cancel token";
        Refuses(text, "generate", () => session.Generate(1, null, cancel));
        Refuses(text, "chat", () => session.Chat(new[] { new ChatMessage("user", "a") }, cancel: cancel));
        Refuses(text, "prompt", () => session.Prompt("a", cancel));
      }
      Every(model, "model");
      Refuses("model: closed, expected an open model", "new Session", () => new Session(model));
    }
  }

  public static void Texts() {
    using (Context context = new Context(Backend.Cpu)) using (Stream stream = new Stream(context)) {
      Tensor x = new Tensor(context, DType.F32, 2, 3);
      Test.Equal(x.ToString(), "Tensor F32 [2, 3]", "tensor");
      Test.Equal(stream.ToString(), "Stream", "stream");
      Test.Equal(context.ToString(), "Context Cpu 0 (" + context.DeviceName + ")", "context");
      using (Plan plan = Plans.Unary(context, x, Unary.Neg)) Test.Equal(plan.ToString(), "Plan unary by " + plan.Kernel, "plan");
      Test.Equal(new PagedSchedule(context, 2, 4, 1, 1, 2).ToString(),
                 "PagedSchedule of 4 pages of 2 tokens, 0 sequences, 0 queries", "schedule");
      PagedSchedule one = new PagedSchedule(context, 1, 1, 1, 1, 1);
      one.Set(stream, new[] { new[] { 0 } }, new[] { 1 }, new[] { 0 }, new[] { 0 });
      Test.Equal(one.ToString(), "PagedSchedule of 1 page of 1 token, 1 sequence, 1 query", "one of each");
    }
  }

  /// <summary>A closed argument is refused by the name of the parameter.</summary>
  public static void Arguments() {
    using (Context context = new Context(Backend.Cpu)) using (Stream stream = new Stream(context)) {
      Tensor x = new Tensor(context, DType.F32, 1, 1).Fill(stream, 1), t = new Tensor(context, DType.F32, 1, 1);
      t.Dispose();
      string end = ": closed, expected an open tensor";
      Refuses("to" + end, "CopyTo", () => x.CopyTo(stream, t));
      Refuses("b" + end, "Binary", () => Ops.Binary(stream, x, t, Binary.Add));
      Refuses("bias" + end, "Matmul", () => Ops.Matmul(stream, x, x, t));
      Refuses("x" + end, "Plans", () => Plans.Unary(context, t, Unary.Neg));
      using (Plan plan = Plans.Unary(context, x, Unary.Neg))
        Refuses("y" + end, "Execute",
                () => plan.Execute(stream, new Dictionary<string, object> { { "x", x }, { "y", t } }));
      Event later = new Event(context);
      later.Dispose();
      Refuses("later: closed, expected an open event", "Elapsed", () => new Event(context).Elapsed(later));
    }
  }
}
