// tests/bindings/java/Texts.java - the texts of refused calls in Java, for the comparison of the languages.
// SPDX-License-Identifier: Apache-2.0
import io.ruda.Backend;
import io.ruda.Binary;
import io.ruda.CancelToken;
import io.ruda.ChatMessage;
import io.ruda.Context;
import io.ruda.DType;
import io.ruda.Model;
import io.ruda.Ops;
import io.ruda.Overflow;
import io.ruda.PagedSchedule;
import io.ruda.Plan;
import io.ruda.PlanBuilder;
import io.ruda.Sampling;
import io.ruda.Session;
import io.ruda.Store;
import io.ruda.Stream;
import io.ruda.Tensor;
import io.ruda.TensorDesc;
import io.ruda.Tokenizer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;

final class Texts {
  private Texts() {}

  private static void say(String name, Tests.Action call) {
    String text = "nothing was refused";
    try {
      call.run();
    } catch (Exception error) {
      text = error.getMessage();
    }
    System.out.println(name + "|" + text);
  }

  static void run(Path modelPath) {
    Context c = new Context(Backend.CPU);
    Stream s = new Stream(c);
    Tensor x = Tensor.from(s, c, new float[] {1, 2}, 2), closed = new Tensor(c, DType.F32, 2);
    closed.close();
    Store store = new Store(modelPath);
    Model model = Model.load(c, store, null);
    Session session = new Session(model), gone = new Session(model);
    CancelToken cancel = new CancelToken();
    List<ChatMessage> question = List.of(new ChatMessage("user", "What is a tensor?"));
    gone.close();
    cancel.close();
    PagedSchedule schedule = new PagedSchedule(c, 2, 4, 2, 2, 2);
    Plan plan = new PlanBuilder("binary").set("a", x).set("op", "add").create(c);
    long[] zero = {0}, one = {1};
    long[][] table = {zero};
    say("closed self", gone::finish);
    say("closed tensor", closed::shape);
    say("closed parameter", () -> x.copyTo(s, closed));
    say("closed operand", () -> Ops.binary(s, x, closed, 1));
    say("closed operand of a plan", () -> plan.execute(s, Map.of("a", x, "y", closed, "scalar", 1.0)));
    say("closed token", () -> session.generate(1, List.of(), cancel));
    say("absent tensor", () -> Ops.binary(s, x, null, Binary.ADD));
    say("absent parameter", () -> x.copyTo(s, null));
    say("absent context", () -> new Stream(null));
    say("absent store", () -> new Tokenizer(null));
    say("older answer", () -> {
      Iterator<String> pieces = session.chat(question, 0).iterator();
      pieces.next();
      session.rewind(0);
      pieces.hasNext();
    });
    say("empty stop", () -> session.generate(1, List.of("a", ""), null));
    say("absent stop", () -> session.generate(1, Arrays.asList((String) null), null));
    say("count of tokens", () -> session.generate(-1));
    say("role", () -> new ChatMessage("a\0b", ""));
    say("no message", () -> session.promptChat(List.of(), null));
    say("size of the vocabulary", () -> session.logits(-1));
    say("too far", () -> session.rewind(1 << 20));
    say("absent text", () -> Plan.opKernels(null));
    say("absent name", () -> store.find(null));
    say("absent messages", () -> session.promptChat(null));
    say("sampling", () -> {
      Sampling sampling = new Sampling();
      sampling.topP = 2;
      session.setSampling(sampling);
    });
    say("variables", () -> session.promptChat(question, 0, null, "3", null));
    say("kernel", () -> new PlanBuilder("softmax").set("x", x).set("options.kernel", "cpu/none").create(c));
    say("surrogate", () -> model.tokenizer().encode("a\ud800b"));
    say("text of a name", () -> Plan.opKernels("copy\0", Backend.CPU));
    say("function", () -> Ops.binary(s, x, x, 999));
    say("function below", () -> Ops.binary(s, x, x, -1));
    say("splits", () -> Ops.pagedAttention(s, schedule, x, x, x, 1, false, -2));
    say("splits of a plan", () -> new PlanBuilder("paged_attention").set("splits", -2).create(c));
    say("many splits of a plan", () -> new PlanBuilder("paged_attention").set("splits", 1L << 32).create(c));
    say("splits by name", () -> new PlanBuilder("paged_attention").set("splits", "many").create(c));
    say("overflow", () -> x.cast(s, DType.F8E4M3, 3));
    say("overflow of a dtype", () -> x.cast(s, DType.F16, Overflow.SATURATE));
    say("dtype", () -> new Tensor(c, 99, 1));
    say("backend", () -> new Context(9));
    say("log level", () -> new Context(new Context.Options().backend(Backend.CPU).logLevel(7)));
    say("level", () -> c.setLogLevel(0));
    say("backend to count", () -> Context.deviceCount(9));
    say("strides", () -> new TensorDesc(DType.F32, new long[] {2, 2}, one));
    say("lengths", () -> schedule.set(s, table, new long[] {1, 1}, zero, zero));
    say("positions", () -> schedule.set(s, table, one, zero, new long[] {0, 1}));
    say("page", () -> schedule.set(s, new long[][] {{-2}}, one, zero, zero));
    say("length", () -> schedule.set(s, table, new long[] {-1}, zero, zero));
    say("operand", () -> plan.execute(s, Map.of("z", x)));
    Tensor y = new Tensor(c, DType.F32, 2);
    say("kind of an operand", () -> plan.execute(s, Map.of("a", c, "y", y, "scalar", 1.0)));
    say("number as a tensor", () -> plan.execute(s, Map.of("a", x, "y", y, "scalar", x)));
    say("unbound", () -> plan.execute(s, Map.of("a", x)));
    say("exact fill", () -> new Tensor(c, DType.I64, 1).fill(s, (1L << 60) + 1));
    say("elements", () -> x.cast(s, DType.F32).toDoubles(s));
    say("too few bytes", () -> x.read(s, Tensor.buffer(4)));
    say("file", () -> new Store(Path.of("/nonexistent.gguf")));
    say("name in a file", () -> store.find("none"));
    say("shape", () -> Ops.matmul(s, new Tensor(c, DType.F32, 2, 3), new Tensor(c, DType.F32, 2, 3)));
    say("view", () -> x.view(3));
  }
}
