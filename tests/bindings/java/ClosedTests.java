// tests/bindings/java/ClosedTests.java - every method of a closed object refuses in the same words.
// SPDX-License-Identifier: Apache-2.0
import io.ruda.Backend;
import io.ruda.Binary;
import io.ruda.CancelToken;
import io.ruda.ChatMessage;
import io.ruda.Context;
import io.ruda.DType;
import io.ruda.Event;
import io.ruda.LogLevel;
import io.ruda.Model;
import io.ruda.NativeHandle;
import io.ruda.Ops;
import io.ruda.PagedSchedule;
import io.ruda.Plan;
import io.ruda.PlanBuilder;
import io.ruda.Session;
import io.ruda.Store;
import io.ruda.Stream;
import io.ruda.Tensor;
import io.ruda.Tokenizer;
import io.ruda.Unary;
import io.ruda.Workspace;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Map;
import java.util.Set;

final class ClosedTests {
  private static Context c;
  private static Stream s;
  private static Tensor live;

  private ClosedTests() {}

  private static Object argument(Method method, Class<?> type) {
    if (type == Context.class) return c;
    if (type == Stream.class) return s;
    if (type == Tensor.class) return live;
    if (type == Event.class) return new Event(c);
    if (type == long[][].class) return new long[][] {{0}};
    if (type == int[][].class) return new int[][] {{0}};
    if (type == long[].class) return new long[] {1};
    if (type == int[].class) return new int[] {1};
    if (type == String.class) return method.getName().equals("render") || method.getName().equals("promptChat") ? null : "a";
    if (type == ByteBuffer.class) return Tensor.buffer(4);
    if (type == List.class)
      return method.getName().equals("generate") ? List.of("x") : List.of(new ChatMessage("user", "a"));
    if (type == Map.class) return Map.of("x", live, "y", live);
    if (type == int.class) return method.getName().equals("setLogLevel") ? LogLevel.INFO : method.getName().equals("cast") ? DType.F64 : 0;
    if (type == long.class) return 0L;
    if (type == double.class) return 0.0;
    return null;
  }

  private static void refuses(String text, String what, Tests.Action action) {
    IllegalStateException error = Tests.expectThrows(IllegalStateException.class, action, what);
    if (error != null) Tests.equal(error.getMessage(), text, what);
  }

  private static void every(NativeHandle thing, String parameter, String noun) {
    String text = parameter + ": closed, expected an open " + noun;
    Tests.check(thing.toString().startsWith(thing.getClass().getSimpleName()), thing.toString());
    thing.close();
    thing.close();
    Tests.equal(thing.toString(), thing.getClass().getSimpleName() + " (closed)", "text");
    int seen = 0;
    for (Method method : thing.getClass().getDeclaredMethods()) {
      int modifiers = method.getModifiers();
      if (!Modifier.isPublic(modifiers) || Modifier.isStatic(modifiers) || method.isSynthetic()) continue;
      if (Set.of("close", "toString").contains(method.getName())) continue;
      Class<?>[] types = method.getParameterTypes();
      Object[] arguments = new Object[types.length];
      for (int i = 0; i < types.length; ++i) arguments[i] = argument(method, types[i]);
      // A list of stop texts beside one of messages.
      if (method.getName().equals("chat") && types.length == 4) arguments[2] = List.of("x");
      refuses(text, thing.getClass().getSimpleName() + "." + method.getName(), () -> {
        try {
          method.invoke(thing, arguments);
        } catch (InvocationTargetException error) {
          if (error.getCause() instanceof Exception cause) throw cause;
          throw error;
        }
      });
      ++seen;
    }
    Tests.check(seen > 0 || thing instanceof Workspace, thing.getClass().getSimpleName());
  }

  private static void every(NativeHandle thing, String parameter) {
    every(thing, parameter, parameter);
  }

  public static void objects() {
    try (Context context = new Context(Backend.CPU); Stream stream = new Stream(context)) {
      c = context;
      s = stream;
      live = new Tensor(c, DType.F32, 1);
      every(new Context(Backend.CPU), "context");
      every(new Stream(c), "stream");
      every(new Event(c), "event");
      every(new Workspace(c, 64), "workspace");
      every(new CancelToken(), "cancel", "cancel token");
      every(new Tensor(c, DType.F32, 1), "tensor");
      every(new PlanBuilder("unary").set("x", live).set("op", Unary.NEG).create(c), "plan");
      every(new PagedSchedule(c, 2, 4, 1, 1, 2), "schedule", "paged schedule");
    }
  }

  public static void models() {
    try (Context context = new Context(Backend.CPU); Stream stream = new Stream(context)) {
      c = context;
      s = stream;
      live = new Tensor(c, DType.F32, 1);
      every(new Store(SessionTests.modelPath), "store");
      try (Store store = new Store(SessionTests.modelPath)) {
        every(new Tokenizer(store), "tokenizer");
      }
      Model model = Model.load(c, SessionTests.modelPath);
      Tests.equal(model.toString(), "Model " + model.name() + " (" + model.architecture() + ", " + model.layerCount()
          + " layers, " + model.weightBytes() + " bytes)", "model");
      Tests.equal(model.tokenizer().toString(), "Tokenizer of " + model.vocabSize() + " tokens", "tokenizer");
      try (Session session = new Session(model, 16, 0, 0)) {
        session.prompt(new int[] {1, 2});
        Tests.equal(session.toString(), "Session with 2 of 16 tokens", "session");
      }
      every(new Session(model), "session");
      List<ChatMessage> question = List.of(new ChatMessage("user", "a"));
      try (Session session = new Session(model)) {
        CancelToken cancel = new CancelToken();
        cancel.close();
        String text = "cancel: closed, expected an open cancel token";
        refuses(text, "generate", () -> session.generate(1, List.of(), cancel));
        refuses(text, "chat", () -> session.chat(question, 1, List.of(), cancel));
        refuses(text, "prompt", () -> session.prompt("a", cancel));
      }
      every(model, "model");
      refuses("model: closed, expected an open model", "new Session", () -> new Session(model));
    }
  }

  public static void texts() {
    try (Context context = new Context(Backend.CPU); Stream stream = new Stream(context)) {
      Tensor x = new Tensor(context, DType.F32, 2, 3);
      Tests.equal(x.toString(), "Tensor F32 [2, 3]", "tensor");
      Tests.equal(stream.toString(), "Stream", "stream");
      Tests.equal(context.toString(), "Context CPU 0 (" + context.deviceName() + ")", "context");
      try (Plan plan = new PlanBuilder("unary").set("x", x).set("op", "neg").create(context)) {
        Tests.equal(plan.toString(), "Plan unary by " + plan.kernel(), "plan");
      }
      Tests.equal(new PagedSchedule(context, 2, 4, 1, 1, 2).toString(),
          "PagedSchedule of 4 pages of 2 tokens, 0 sequences, 0 queries", "schedule");
      PagedSchedule one = new PagedSchedule(context, 1, 1, 1, 1, 1);
      one.set(stream, new int[][] {{0}}, new int[] {1}, new int[] {0}, new int[] {0});
      Tests.equal(one.toString(), "PagedSchedule of 1 page of 1 token, 1 sequence, 1 query", "one of each");
    }
  }

  /** A closed argument is refused by the name of the parameter. */
  public static void arguments() {
    try (Context context = new Context(Backend.CPU); Stream stream = new Stream(context)) {
      Tensor x = new Tensor(context, DType.F32, 1, 1).fill(stream, 1), t = new Tensor(context, DType.F32, 1, 1);
      t.close();
      String end = ": closed, expected an open tensor";
      refuses("to" + end, "copyTo", () -> x.copyTo(stream, t));
      refuses("b" + end, "binary", () -> Ops.binary(stream, x, t, Binary.ADD));
      refuses("bias" + end, "matmul", () -> Ops.matmul(stream, x, x, t, 0, false, false, 0));
      refuses("x" + end, "a plan", () -> new PlanBuilder("unary").set("x", t).set("op", "neg").create(context));
      try (Plan plan = new PlanBuilder("unary").set("x", x).set("op", "neg").create(context)) {
        refuses("y" + end, "execute", () -> plan.execute(stream, Map.of("x", x, "y", t)));
      }
      Event later = new Event(context);
      later.close();
      refuses("later: closed, expected an open event", "elapsed", () -> new Event(context).elapsed(later));
    }
  }
}
