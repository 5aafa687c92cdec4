// examples/java/Chat.java - asks a language model: one question with --prompt, or a conversation line by line.
// SPDX-License-Identifier: Apache-2.0
import io.ruda.Backend;
import io.ruda.ChatMessage;
import io.ruda.Context;
import io.ruda.Model;
import io.ruda.RudaException;
import io.ruda.Sampling;
import io.ruda.Session;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

public final class Chat {
  private static final String USAGE = """
      usage: Chat --model FILE.gguf [options]
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
      """;
  private static final List<String> TEXTS = List.of("--model", "--prompt", "--system");
  // An option and its largest value.
  private static final Map<String, BigInteger> WHOLE = Map.of("--max-tokens", BigInteger.valueOf(Long.MAX_VALUE),
      "--context", BigInteger.valueOf(Long.MAX_VALUE), "--top-k", BigInteger.valueOf(Integer.MAX_VALUE), "--seed",
      BigInteger.TWO.pow(64).subtract(BigInteger.ONE), "--threads", BigInteger.valueOf(Integer.MAX_VALUE));
  private static final Map<String, Integer> NUMBERS =
      Map.of("--temperature", 100, "--top-p", 1, "--min-p", 1, "--repetition-penalty", 100);
  private static final Map<String, String> options = new HashMap<>();
  private static final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
  private static boolean quiet;

  private Chat() {}

  // What a value should have been, null where it is that.
  private static String expected(String name, String value) {
    if (name.equals("--backend"))
      return List.of("auto", "cpu", "cuda").contains(value) ? null : "auto, cpu or cuda";
    if (WHOLE.containsKey(name)) {
      boolean good = value.matches("[0-9]{1,40}") && new BigInteger(value).compareTo(WHOLE.get(name)) <= 0;
      return good ? null : "a whole number from 0 to " + WHOLE.get(name);
    }
    if (!NUMBERS.containsKey(name)) return null;
    double number = -1;
    try {
      if (value.matches("[0-9.eE+-]+")) number = Double.parseDouble(value);
    } catch (NumberFormatException error) {
      number = -1;
    }
    return number >= 0 && number <= NUMBERS.get(name) ? null : "a number from 0 to " + NUMBERS.get(name);
  }

  private static int wrong(String text) {
    System.err.println("ruda-chat: " + text);
    return 2;
  }

  // -1 = go on, else the exit code.
  private static int parse(String[] arguments) {
    for (int i = 0; i < arguments.length; ++i) {
      String name = arguments[i];
      if (name.equals("--help")) {
        out.print(USAGE);
        out.flush();
        return 0;
      }
      if (name.equals("--quiet")) {
        quiet = true;
        continue;
      }
      if (!TEXTS.contains(name) && !WHOLE.containsKey(name) && !NUMBERS.containsKey(name) && !name.equals("--backend"))
        return wrong("unknown option " + name);
      if (i + 1 == arguments.length) return wrong(name + " needs a value");
      String value = arguments[++i], expected = expected(name, value);
      if (expected != null) return wrong(name + " is \"" + value + "\", expected " + expected);
      options.put(name, value);
    }
    return options.containsKey("--model") ? -1 : wrong("--model is missing; see --help");
  }

  private static long whole(String name, long otherwise) {
    return options.containsKey(name) ? new BigInteger(options.get(name)).longValue() : otherwise;
  }

  private static double number(String name) {
    return Double.parseDouble(options.getOrDefault(name, "0"));
  }

  private static void speed(String what, long tokens, double seconds) {
    String speed = seconds > 0 ? String.format(Locale.ROOT, ", %.1f tokens/s", tokens / seconds) : "";
    System.err.println(what + ": " + tokens + " tokens" + speed);
  }

  // Prompts with the conversation, without as many of the oldest turns as the context asks for.
  private static void prompt(Session session, List<ChatMessage> messages, int first) {
    for (int dropped = 0;; ++dropped) {
      List<ChatMessage> kept = new ArrayList<>(messages);
      kept.subList(first, first + 2 * dropped).clear();
      try {
        session.promptChat(kept, null);
      } catch (RudaException error) {
        if (error.kind() != RudaException.Kind.ARGUMENT || kept.size() == first + 1) throw error;
        continue;
      }
      if (dropped > 0) System.err.println("[the context is full: oldest turns forgotten: " + dropped + "]");
      messages.subList(first, first + 2 * dropped).clear();
      return;
    }
  }

  // false: this message alone was refused and is forgotten.
  private static boolean answer(Session session, List<ChatMessage> messages) {
    try {
      prompt(session, messages, options.containsKey("--system") ? 1 : 0);
    } catch (RudaException error) {
      if (error.kind() != RudaException.Kind.ARGUMENT) throw error;
      System.err.println("ruda-chat: this message: " + error.getMessage());
      messages.remove(messages.size() - 1);
      return false;
    }
    StringBuilder all = new StringBuilder();
    session.generate(whole("--max-tokens", 512)).forEach(piece -> {
      out.print(piece);
      out.flush();
      all.append(piece);
    });
    out.println();
    messages.add(new ChatMessage("assistant", all.toString()));
    if (quiet) return true;
    speed("prompt", session.promptTokens(), session.promptSeconds());
    speed("answer", session.generatedTokens(), session.generateSeconds());
    return true;
  }

  private static int backend(String name) {
    return switch (name) {
      case "cpu" -> Backend.CPU;
      case "cuda" -> Backend.CUDA;
      default -> Backend.AUTO;
    };
  }

  private static int run() throws IOException {
    Context.Options where = new Context.Options()
                                .backend(backend(options.getOrDefault("--backend", "auto")))
                                .hostThreads((int) whole("--threads", 0));
    try (Context context = new Context(where);
         Model model = Model.load(context, Path.of(options.get("--model")));
         Session session = new Session(model, whole("--context", 0), 0, 0)) {
      Sampling sampling = new Sampling();
      sampling.temperature = number("--temperature");
      sampling.topK = (int) whole("--top-k", 0);
      sampling.topP = number("--top-p");
      sampling.minP = number("--min-p");
      sampling.repetitionPenalty = number("--repetition-penalty");
      sampling.seed = whole("--seed", 0);
      session.setSampling(sampling);
      if (!quiet)
        System.err.println(String.format(Locale.ROOT, "%s: %.0f M parameters, on %s", model.name(),
            model.parameterCount() * 1e-6, context.deviceName()));
      List<ChatMessage> messages = new ArrayList<>();
      if (options.containsKey("--system")) messages.add(new ChatMessage("system", options.get("--system")));
      if (options.containsKey("--prompt")) {
        messages.add(new ChatMessage("user", options.get("--prompt")));
        return answer(session, messages) ? 0 : 1;
      }
      BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line; (line = lines.readLine()) != null;) {
        if (line.isBlank()) continue;
        messages.add(new ChatMessage("user", line));
        answer(session, messages);
      }
    }
    return 0;
  }

  public static void main(String[] arguments) throws IOException {
    int ended = parse(arguments);
    if (ended >= 0) System.exit(ended);
    try {
      System.exit(run());
    } catch (RudaException error) {
      System.err.println("ruda-chat: " + error.getMessage());
      System.exit(1);
    }
  }
}
