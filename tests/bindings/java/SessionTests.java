// tests/bindings/java/SessionTests.java - stores, tokenizers, models and sessions in Java.
// SPDX-License-Identifier: Apache-2.0
import io.ruda.Backend;
import io.ruda.CancelToken;
import io.ruda.ChatFlags;
import io.ruda.ChatMessage;
import io.ruda.Context;
import io.ruda.Finish;
import io.ruda.Model;
import io.ruda.RudaException;
import io.ruda.Sampling;
import io.ruda.Session;
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
      Tests.expectThrows(RudaException.class, () -> store.find("no such tensor"), "no such tensor");
      Tokenizer tokenizer = model.tokenizer();
      int end = tokenizer.tokenId("<|im_end|>");
      Tests.check(tokenizer.isEnd(end) && tokenizer.unknown() == -1 && tokenizer.padding() == -1, "facts of the tokenizer");
      Tests.equal(new String(tokenizer.tokenText(end), StandardCharsets.UTF_8), "<|im_end|>", "text");
      String text = tokenizer.render(List.of(new ChatMessage("user", null)), ChatFlags.NO_GENERATION_PROMPT, null, null);
      Tests.check(text.contains("user\n<|im_end|>"), "no content");
      Tests.expectThrows(IllegalArgumentException.class, () -> new ChatMessage("a\0b", ""), "a role with a NUL");
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
      RudaException error =
          Tests.expectThrows(RudaException.class, () -> session.promptChat(List.of(), null), "no message");
      Tests.check(error.getMessage().contains("count is 0, expected at least 1 message"), error.getMessage());
      Tests.expectThrows(IllegalArgumentException.class, () -> answer(session, -1), "fewer than no tokens");
      cancel.request();
      error = Tests.expectThrows(RudaException.class,
          () -> session.chat(List.of(new ChatMessage("user", "other")), 3, List.of(), cancel), "cancel");
      Tests.equal(error.kind(), RudaException.Kind.CANCELLED, error.getMessage());
      earlyEndKeepsHeldText(session);
      faults(model, session);
      session.prompt("some words", null);
      float[] logits = session.logits(model.vocabSize());
      Tests.check(Arrays.equals(session.logits(), logits), "logits of the whole vocabulary");
      int best = 0;
      for (int i = 1; i < logits.length; ++i)
        if (logits[i] > logits[best]) best = i;
      Tests.equal(session.next().token(), best, "most likely of " + Arrays.toString(logits));
      Tests.expectThrows(RudaException.class, () -> session.logits(5), "too few logits");
    }
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

  private static void refuses(String text, Tests.Action action) {
    IllegalArgumentException error = Tests.expectThrows(IllegalArgumentException.class, action, text);
    if (error != null) Tests.check(error.getMessage().contains(text), error.getMessage() + ", expected " + text);
  }

  private static void faults(Model model, Session session) {
    refuses("stops[1] is empty", () -> session.generate(1, List.of("a", ""), null));
    refuses("stops[0] is null", () -> session.chat(QUESTION, 1, Arrays.asList((String) null), null));
    refuses("stops is null", () -> session.generate(1, null, null));
    refuses("messages is null", () -> session.promptChat(null, null));
    refuses("messages[0] is null", () -> session.promptChat(Arrays.asList((ChatMessage) null), null));
    refuses("tokens is null", () -> session.prompt((int[]) null, null));
    refuses("text is null", () -> session.prompt((String) null, null));
    refuses("count is -1, expected 0 or more", () -> session.rewind(-1));
    refuses("vocabSize is -1, expected 0 or more", () -> session.logits(-1));
    refuses("tokenCapacity is -1, expected 0 or more", () -> new Session(model, -1, 0, 0));
    refuses("batchTokens is -1, expected 0 or more", () -> new Session(model, 0, 0, -1));
    refuses("text is null", () -> model.tokenizer().encode(null));
    Sampling sampling = new Sampling();
    sampling.topK = -1;
    refuses("topK is -1, expected 0 or more", () -> session.setSampling(sampling));
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
