// examples/java/Chat.java - asks a language model: one question with --prompt, or a conversation line by line.
// SPDX-License-Identifier: Apache-2.0
import io.ruda.Backend;
import io.ruda.ChatMessage;
import io.ruda.Context;
import io.ruda.Finish;
import io.ruda.Model;
import io.ruda.RudaException;
import io.ruda.Sampling;
import io.ruda.Session;
import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.InputStreamReader;
import java.math.BigInteger;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;

public final class Chat {
  private static final String USAGE = """
      usage: Chat --model FILE.gguf [options]   (--name VALUE or --name=VALUE)
        --prompt TEXT       ask once and end (without it: a conversation, one line a turn, end with Ctrl-D)
        --system TEXT       system message
        --max-tokens N      longest answer, 0 = no limit (default 512)
        --temperature T     0 takes the most likely token (default 0)
        --top-k N  --top-p P  --min-p P  --repetition-penalty R  --seed N   (default 0: off, seed 0)
        --backend auto|cpu|cuda  (default auto)
        --threads N         threads of the CPU backend (default 0 = all)
        --context N         tokens of prompt and answer (default 0 = the model's, at most 8192)
        --quiet             the answer only
        -h, --help          this text
      Ctrl-C ends the program.
      Exit codes: 0 all was answered, 1 something failed, 2 wrong options, 130 Ctrl-C, 141 nobody reads stdout.
      """;
  private static final List<String> TEXTS = List.of("--model", "--prompt", "--system");
  // An option and its largest value.
  private static final Map<String, BigInteger> WHOLE = Map.of("--max-tokens", BigInteger.valueOf(Long.MAX_VALUE),
      "--context", BigInteger.valueOf(1 << 24), "--top-k", BigInteger.valueOf(Integer.MAX_VALUE), "--seed",
      BigInteger.TWO.pow(64).subtract(BigInteger.ONE), "--threads", BigInteger.valueOf(4096));
  // An option, its least and largest value beside 0; 1e-37 is the least that F32 divides by.
  private static final Map<String, double[]> NUMBERS =
      Map.of("--temperature", new double[] {1e-37, 100}, "--repetition-penalty", new double[] {1e-37, 100}, "--top-p",
          new double[] {0, 1}, "--min-p", new double[] {0, 0.999999});
  private static final Map<String, String> options = new HashMap<>();
  private static final FileOutputStream out = new FileOutputStream(FileDescriptor.out); // System.out hides errors
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
    double least = NUMBERS.get(name)[0], most = NUMBERS.get(name)[1];
    if (number == 0 || (number >= least && number <= most)) return null;
    String range = least > 0 ? "0 or a number from 1e-37 to " : "a number from 0 to ";
    return range + (most == (long) most ? String.valueOf((long) most) : String.valueOf(most));
  }

  // To stdout, and that it arrived: a full disk must not pass for an answer. Where nobody reads it ends in silence.
  private static void say(String text) {
    try {
      out.write(text.getBytes(StandardCharsets.UTF_8));
    } catch (IOException error) {
      if ("Broken pipe".equals(error.getMessage())) System.exit(141);
      System.err.println("ruda-chat: stdout: " + error.getMessage());
      System.exit(1);
    }
  }

  private static int wrong(String text) {
    System.err.println("ruda-chat: " + text);
    return 2;
  }

  // -1 = go on, else the exit code.
  private static int parse(String[] arguments) {
    for (int i = 0; i < arguments.length; ++i) {
      String name = arguments[i], value = null;
      if (name.equals("--help") || name.equals("-h")) {
        say(USAGE);
        return 0;
      }
      if (name.equals("--quiet")) {
        quiet = true;
        continue;
      }
      int equals = name.startsWith("--") ? name.indexOf('=') : -1;
      if (equals >= 0) {
        value = name.substring(equals + 1);
        name = name.substring(0, equals);
      }
      if (!TEXTS.contains(name) && !WHOLE.containsKey(name) && !NUMBERS.containsKey(name)
          && !name.equals("--backend"))
        return wrong("unknown option " + name);
      if (equals < 0) {
        if (i + 1 == arguments.length) return wrong(name + " needs a value");
        value = arguments[++i];
      }
      String expected = expected(name, value);
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

  private static String speed(long tokens, double seconds) {
    return seconds > 0 ? String.format(Locale.ROOT, ", %.1f tokens/s", tokens / seconds) : "";
  }

  private static void showSpeed(Session session) {
    long prompted = session.promptTokens(), reused = session.reusedTokens(),
         generated = session.generatedTokens();
    String cached = reused > 0 ? " (and " + reused + " from the cache)" : "";
    String end = session.finish() == Finish.LENGTH ? " (stopped at --max-tokens)"
        : session.finish() == Finish.CAPACITY      ? " (stopped: the context is full)"
                                                   : "";
    System.err.println(
        "\nprompt: " + prompted + " tokens" + cached + speed(prompted, session.promptSeconds()));
    System.err.println(
        "answer: " + generated + " tokens" + speed(generated, session.generateSeconds()) + end);
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
      say(piece);
      all.append(piece);
    });
    say("\n");
    messages.add(new ChatMessage("assistant", all.toString()));
    if (!quiet) showSpeed(session);
    return true;
  }

  private static int backend(String name) {
    if (name.equals("cpu")) return Backend.CPU;
    return name.equals("cuda") ? Backend.CUDA : Backend.AUTO;
  }

  // A closed stdin is an empty one: the virtual machine has a file of its own in its place.
  private static InputStream questions() throws IOException {
    Path stdin = Path.of("/proc/self/fd/0"), own = Path.of(System.getProperty("java.home"));
    boolean closed = Files.isSymbolicLink(stdin) && Files.readSymbolicLink(stdin).startsWith(own.toRealPath());
    return closed ? InputStream.nullInputStream() : System.in;
  }

  private static int run() throws IOException {
    int refused = 0;
    long start = System.nanoTime();
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
        System.err.println(String.format(Locale.ROOT,
            "%s: %s, %.0f M parameters, %.0f MB, on %s with %d threads, loaded in %.2f s\n", model.name(),
            model.architecture(), model.parameterCount() * 1e-6, model.weightBytes() * 1e-6,
            context.deviceName(), context.hostThreads(), (System.nanoTime() - start) * 1e-9));
      List<ChatMessage> messages = new ArrayList<>();
      if (options.containsKey("--system")) messages.add(new ChatMessage("system", options.get("--system")));
      if (options.containsKey("--prompt")) {
        messages.add(new ChatMessage("user", options.get("--prompt")));
        if (!answer(session, messages)) refused = 1;
        return refused;
      }
      BufferedReader lines = new BufferedReader(new InputStreamReader(questions(), StandardCharsets.UTF_8));
      for (String line; (line = lines.readLine()) != null;) {
        if (line.isBlank()) continue;
        messages.add(new ChatMessage("user", line));
        if (!answer(session, messages)) refused = 1;
      }
    }
    return refused;
  }

  public static void main(String[] arguments) {
    int ended = parse(arguments);
    if (ended >= 0) System.exit(ended);
    try {
      System.exit(run());
    } catch (RudaException error) {
      System.err.println("ruda-chat: " + error.getMessage());
      System.exit(1);
    } catch (IOException error) {
      System.err.println("ruda-chat: stdin: " + error.getMessage());
      System.exit(1);
    }
  }
}
