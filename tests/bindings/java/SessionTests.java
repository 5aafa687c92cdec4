// tests/bindings/java/SessionTests.java - stores, tokenizers, models and sessions in Java.
// SPDX-License-Identifier: Apache-2.0
import io.ruda.Backend;
import io.ruda.CancelToken;
import io.ruda.ChatFlags;
import io.ruda.ChatMessage;
import io.ruda.Context;
import io.ruda.Finish;
import io.ruda.Model;
import io.ruda.Plan;
import io.ruda.PlanBuilder;
import io.ruda.RudaException;
import io.ruda.Sampling;
import io.ruda.Session;
import io.ruda.Status;
import io.ruda.Store;
import io.ruda.Tensor;
import io.ruda.Tokenizer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.stream.Collectors;

final class SessionTests {
  static Path modelPath;
  private static final List<ChatMessage> QUESTION = List.of(new ChatMessage("user", "What is a tensor?"));

  private SessionTests() {}

  private static String answer(Session session, long tokens, String... stops) {
    return session.chat(QUESTION, tokens, List.of(stops), null).collect(Collectors.joining());
  }

  public static void files() {
    try (Context c = new Context(Backend.CPU); Model model = Model.load(c, modelPath);
         Store store = new Store(modelPath)) {
      Tests.equal((long) store.names().size(), store.count(), "names");
      Tests.equal(store.find(store.name(1)), 1L, "find");
      Tensor t = store.tensor(c, "token_embd.weight");
      Tests.check(t.isReadOnly() && t.shape()[1] == model.width(), "a tensor of the file");
      try (io.ruda.Stream s = new io.ruda.Stream(c)) {
        Tensor copy = store.load(s, "token_embd.weight");
        Tests.check(!copy.isReadOnly() && Arrays.equals(copy.toBytes(s), t.toBytes(s)), "a copy of it");
        Tests.check(Arrays.equals(store.load(s, 1).shape(), store.tensor(c, 1).shape()), "by index");
      }
      Tests.expectThrows(RudaException.class, () -> store.find("no such tensor"), "no such tensor");
      Tokenizer tokenizer = model.tokenizer();
      int end = tokenizer.tokenId("<|im_end|>");
      ArgumentTests.fails("text holds a NUL at byte 10, expected none", () -> tokenizer.tokenId("<|im_end|>\0"));
      Tests.check(tokenizer.isEnd(end) && tokenizer.unknown() == -1 && tokenizer.padding() == -1, "facts of the tokenizer");
      Tests.equal(new String(tokenizer.tokenText(end), StandardCharsets.UTF_8), "<|im_end|>", "text");
      String text = tokenizer.render(List.of(new ChatMessage("user", null)), ChatFlags.NO_GENERATION_PROMPT, null, null);
      Tests.check(text.contains("user\n<|im_end|>"), "no content");
      ArgumentTests.refuses("role holds a NUL at index 1, expected none", () -> new ChatMessage("a\0b", ""));
      ArgumentTests.refuses("role is null, expected a text", () -> new ChatMessage(null, ""));
    }
  }

  private static void halved(String name, int index, Tests.Action call) {
    ArgumentTests.refuses(name + " holds a lone surrogate at index " + index + ", expected none", call);
  }

  /** UTF-8 has no half of a pair: nothing takes its place on the way to the library. */
  public static void surrogates() {
    String alone = "a\ud800b";
    try (Context c = new Context(Backend.CPU); Store store = new Store(modelPath); Model model = Model.load(c, store);
         Session session = new Session(model); Tokenizer tokenizer = model.tokenizer()) {
      List<ChatMessage> question = List.of(new ChatMessage("user", "a \ud83d\ude00"));
      Tests.check(tokenizer.render(question).contains("a \ud83d\ude00"), "a pair");
      for (String half : List.of(alone, "\ud83d\ude00\ude00", "ab\ud83d")) {
        int index = half.equals(alone) ? 1 : 2;
        halved("text", index, () -> tokenizer.encode(half));
        halved("text", index, () -> session.prompt(half));
        halved("content", index, () -> new ChatMessage("user", half));
      }
      halved("text", 1, () -> tokenizer.tokenId(alone));
      halved("role", 1, () -> new ChatMessage(alone, ""));
      halved("template", 1, () -> tokenizer.render(question, 0, alone, null));
      halved("variables", 1, () -> tokenizer.render(question, 0, null, alone));
      halved("template", 1, () -> session.promptChat(question, 0, alone, null, null));
      halved("variables", 1, () -> session.promptChat(question, 0, null, alone, null));
      halved("stops[1]", 1, () -> session.generate(1, List.of("a", alone), null));
      halved("stops[0]", 1, () -> session.chat(question, 1, List.of(alone), null));
      halved("name", 1, () -> store.find(alone));
      halved("op", 1, () -> Plan.opKernels(alone));
      halved("op", 1, () -> new PlanBuilder(alone));
      halved("name", 1, () -> new PlanBuilder("softmax").set(alone, 1));
      halved("kernel", 1, () -> new PlanBuilder("softmax").set("options.kernel", alone));
    }
  }

  public static void conversations() {
    try (Context c = new Context(Backend.CPU); Model model = Model.load(c, modelPath);
         Session session = new Session(model); CancelToken cancel = new CancelToken()) {
      String whole = answer(session, 30);
      Tests.equal(session.finish(), Finish.LENGTH, "end");
      Tests.check(session.cacheBytes() > 0, "cache");
      String stop = whole.substring(4, 6);
      Tests.equal(answer(session, 30, stop), whole.substring(0, whole.indexOf(stop)), "stopped");
      Tests.equal(session.finish(), Finish.STOP, "end at a stop text");
      ArgumentTests.fails("messages is empty, expected at least 1 message", () -> session.promptChat(List.of(), null));
      ArgumentTests.fails("messages is empty, expected at least 1 message", () -> session.chat(List.of(), 1));
      Tests.expectThrows(IllegalArgumentException.class, () -> answer(session, -1), "fewer than no tokens");
      cancel.request();
      RudaException error = Tests.expectThrows(RudaException.class,
          () -> session.chat(List.of(new ChatMessage("user", "other")), 3, List.of(), cancel), "cancel");
      Tests.equal(error.kind(), RudaException.Kind.CANCELLED, error.getMessage());
      earlyEndKeepsHeldText(session);
      faults(model, session);
      session.prompt(tokenizerOf(model).encode("other words"));
      session.promptChat(QUESTION);
      session.prompt("some words");
      Tests.equal(tokenizerOf(model).decode(session.tokens()), "some words", "decode");
      float[] logits = session.logits(model.vocabSize());
      Tests.check(Arrays.equals(session.logits(), logits), "logits of the whole vocabulary");
      int best = 0;
      for (int i = 1; i < logits.length; ++i)
        if (logits[i] > logits[best]) best = i;
      Tests.equal(session.next().token(), best, "most likely of " + Arrays.toString(logits));
      Tests.expectThrows(RudaException.class, () -> session.logits(5), "too few logits");
    }
  }

  private static Tokenizer tokenizerOf(Model model) {
    return model.tokenizer();
  }

  // The second stop text holds back what the first one lets go, but for a character.
  private static void earlyEndKeepsHeldText(Session session) {
    session.rewind(0);
    String whole = answer(session, 30);
    List<String> stops = List.of(whole.substring(1, 5) + "ZZ", whole.substring(2) + "ZZ");
    for (boolean byCancel : new boolean[] {false, true}) {
      try (CancelToken cancel = new CancelToken()) {
        session.rewind(0);
        Iterator<String> pieces = session.chat(QUESTION, 30, stops, cancel).iterator();
        String shown = "";
        while (shown.length() < 2) shown += pieces.next();
        Tests.equal(shown, whole.substring(0, 2), "before the end");
        if (byCancel) {
          cancel.request();
          Tests.expectThrows(CancellationException.class, pieces::hasNext, "cancel");
        }
        long left = 30 - session.generatedTokens();
        if (byCancel) {
          String text = session.next().text();
          Tests.check(text.length() > 3, "next() gives what was held back: " + text);
          shown += text;
          --left;
        }
        Tests.equal(shown + session.generate(left).collect(Collectors.joining()), whole, "no text is lost");
      }
    }
  }

  private static Iterator<String> begin(Session session) {
    session.rewind(0);
    Iterator<String> pieces = session.chat(QUESTION, 20).iterator();
    Tests.check(pieces.hasNext(), "a first piece");
    return pieces;
  }

  private static String rest(Iterator<String> pieces) {
    StringBuilder rest = new StringBuilder();
    while (pieces.hasNext()) rest.append(pieces.next());
    return rest.toString();
  }

  /** The answer is refused once, then has no more pieces. */
  private static void ended(Iterator<String> pieces, String what) {
    RudaException error = Tests.expectThrows(RudaException.class, pieces::hasNext, what);
    if (error == null) return;
    Tests.equal(error.status(), Status.E_STATE, what);
    Tests.equal(error.getMessage(),
        "RUDA_E_STATE: session: this answer ended when a later call changed the session, expected one answer read at a time",
        what);
    Tests.check(!pieces.hasNext(), what + ", again");
  }

  /** Whatever changes the session ends the answer that was being read; the newer one is as if alone. */
  public static void oneAnswerAtATime() {
    try (Context c = new Context(Backend.CPU); Model model = Model.load(c, modelPath);
         Session session = new Session(model)) {
      String whole = answer(session, 20);
      List<Runnable> changes = List.of(() -> session.prompt("other", null), () -> session.prompt(new int[] {1, 2}, null),
          () -> session.promptChat(QUESTION, null), () -> session.rewind(1), session::next,
          () -> session.generate(3).iterator().hasNext(), () -> session.generate(1).count(),
          () -> session.chat(QUESTION, 0), () -> session.chat(QUESTION, 20).collect(Collectors.joining()));
      for (int i = 0; i < changes.size(); ++i) {
        Iterator<String> older = begin(session);
        older.next();
        changes.get(i).run();
        int[] held = session.tokens();
        ended(older, "change " + i);
        Tests.check(Arrays.equals(session.tokens(), held), "the session after change " + i);
      }
      Iterator<String> older = begin(session);
      older.next();
      session.rewind(0);
      Tests.equal(answer(session, 20), whole, "the newer answer");
      ended(older, "the older answer");
      // An answer that was given up leaves the session as it is.
      String begun = begin(session).next();
      Tests.equal(begun + session.generate(20 - session.generatedTokens()).collect(Collectors.joining()), whole, "given up");
      // Looking at the session, and calls that are refused, leave the answer alone.
      older = begin(session);
      begun = older.next();
      Tests.check(session.tokens().length == session.tokenCount() && session.logits().length > 0, "a look");
      ArgumentTests.fails("tokens is empty, expected at least 1 token", () -> session.prompt(new int[0], null));
      ArgumentTests.fails("tokens is empty, expected at least 1 token", () -> session.prompt(""));
      ArgumentTests.fails("messages is empty", () -> session.promptChat(List.of(), null));
      ArgumentTests.fails("count is 9999, expected 0 to " + session.tokenCount() + ", the tokens that the session holds", () -> session.rewind(9999));
      Tests.equal(begun + rest(older), whole, "after refused calls");
      int[] after = session.tokens();
      Tests.check(!older.hasNext() && Arrays.equals(session.tokens(), after), "an ended answer stays ended");
      // With the options of a template, as promptChat takes them.
      Tests.expectThrows(RudaException.class,
          () -> session.chat(QUESTION, 1, List.of(), 0, "no such template", null, null), "template");
      session.rewind(0);
      Tests.equal(session.chat(QUESTION, 20, List.of(), 0, null, "{}", null).collect(Collectors.joining()), whole, "options");
    }
  }

  private static void faults(Model model, Session session) {
    ArgumentTests.refuses("stops[1] is empty, expected a text of one character or more", () -> session.generate(1, List.of("a", ""), null));
    ArgumentTests.refuses("stops[0] is null, expected a text", () -> session.chat(QUESTION, 1, Arrays.asList((String) null), null));
    ArgumentTests.refuses("stops[0] is empty", () -> session.generate(1, Arrays.asList("", null), null));
    String whole = answer(session, 5);
    Tests.equal(session.chat(QUESTION, 5, null, null).collect(Collectors.joining()), whole, "null is no stop text");
    session.promptChat(QUESTION);
    Tests.equal(session.generate(5, null, null).collect(Collectors.joining()), whole, "nor to generate");
    ArgumentTests.refuses("messages is null, expected a list", () -> session.promptChat(null, null));
    ArgumentTests.refuses("messages[0] is null, expected a chat message", () -> session.promptChat(Arrays.asList((ChatMessage) null), null));
    ArgumentTests.refuses("tokens is null, expected a list", () -> session.prompt((int[]) null, null));
    ArgumentTests.refuses("text is null", () -> session.prompt((String) null, null));
    ArgumentTests.refuses("count is -1, expected 0 to " + session.tokenCount() + ", the tokens that the session holds", () -> session.rewind(-1));
    ArgumentTests.refuses("vocabSize is -1, expected 0 to 2147483647", () -> session.logits(-1));
    ArgumentTests.refuses("tokenCapacity is -1, expected 0 to 9223372036854775807", () -> new Session(model, -1, 0, 0));
    ArgumentTests.refuses("batchTokens is -1, expected 0 to 2147483647", () -> new Session(model, 0, 0, -1));
    ArgumentTests.refuses("text is null", () -> model.tokenizer().encode(null));
    Sampling sampling = new Sampling();
    sampling.topK = -1;
    ArgumentTests.refuses("topK is -1, expected 0 to 2147483647", () -> session.setSampling(sampling));
  }

  public static void progress() {
    try (Context c = new Context(Backend.CPU)) {
      long[] last = new long[2];
      Model.load(c, modelPath, (done, total) -> {
        last[0] = done;
        last[1] = total;
      }).close();
      Tests.check(last[0] == last[1] && last[1] > 0, "the last call: " + last[0] + " of " + last[1]);
      long live = c.liveObjects();
      Tests.expectThrows(ArithmeticException.class, () -> Model.load(c, modelPath, (done, total) -> {
        throw new ArithmeticException("stop");
      }), "a callback that throws");
      Tests.expectThrows(AssertionError.class, () -> Model.load(c, modelPath, (done, total) -> {
        throw new AssertionError("stop");
      }), "a callback that throws an error");
      Tests.equal(c.liveObjects(), live, "models that were not wanted");
    }
  }

  public static void choices() {
    try (Context c = new Context(Backend.CPU); Model model = Model.load(c, modelPath);
         Session session = new Session(model)) {
      String greedy = answer(session, 20);
      Sampling sampling = new Sampling();
      sampling.temperature = 3;
      sampling.seed = 1;
      session.setSampling(sampling);
      session.rewind(0);
      Tests.check(!answer(session, 20).equals(greedy), "sampled");
      session.setSampling(null);
      session.rewind(0);
      Tests.equal(answer(session, 20), greedy, "no sampling is the most likely again");
      sampling.temperature = Double.NaN;
      Tests.expectThrows(RudaException.class, () -> session.setSampling(sampling), "NaN");
    }
  }
}
