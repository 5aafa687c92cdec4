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
        --prompt TEXT       ask once and end (without it: a conversation, one line a turn)
        --system TEXT       system message
        --max-tokens N      longest answer (default 512)
        --temperature T     0 takes the most likely token (default 0)
        --top-k N  --top-p P  --min-p P  --repetition-penalty R  --seed N
        --backend auto|cpu|cuda  --threads N  --context N
        --quiet             the answer only
      """;
  private static final List<String> KNOWN = List.of("--model", "--prompt", "--system", "--max-tokens",
      "--temperature", "--top-k", "--top-p", "--min-p", "--repetition-penalty", "--seed", "--backend", "--threads",
      "--context");
  private static final Map<String, String> options = new HashMap<>();
  private static final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
  private static boolean quiet;

  private Chat() {}

  private static boolean parse(String[] arguments) {
    for (int i = 0; i < arguments.length; ++i) {
      if (arguments[i].equals("--quiet")) {
        quiet = true;
        continue;
      }
      if (!KNOWN.contains(arguments[i]) || i + 1 == arguments.length) return false;
      options.put(arguments[i], arguments[++i]);
    }
    return options.containsKey("--model");
  }

  private static double number(String name, double otherwise) {
    return options.containsKey(name) ? Double.parseDouble(options.get(name)) : otherwise;
  }

  private static void speed(String what, long tokens, double seconds) {
    String speed = seconds > 0 ? String.format(Locale.ROOT, ", %.1f tokens/s", tokens / seconds) : "";
    System.err.println(what + ": " + tokens + " tokens" + speed);
  }

  private static void answer(Session session, List<ChatMessage> messages) {
    StringBuilder whole = new StringBuilder();
    session.chat(messages, (long) number("--max-tokens", 512)).forEach(piece -> {
      out.print(piece);
      out.flush();
      whole.append(piece);
    });
    out.println();
    messages.add(new ChatMessage("assistant", whole.toString()));
    if (quiet) return;
    speed("prompt", session.promptTokens(), session.promptSeconds());
    speed("answer", session.generatedTokens(), session.generateSeconds());
  }

  private static int backend(String name) {
    return switch (name) {
      case "cpu" -> Backend.CPU;
      case "cuda" -> Backend.CUDA;
      default -> Backend.AUTO;
    };
  }

  private static void run() throws IOException {
    Context.Options where = new Context.Options()
                                .backend(backend(options.getOrDefault("--backend", "auto")))
                                .hostThreads((int) number("--threads", 0));
    try (Context context = new Context(where);
         Model model = Model.load(context, Path.of(options.get("--model")));
         Session session = new Session(model, (long) number("--context", 0), 0, 0)) {
      Sampling sampling = new Sampling();
      sampling.temperature = number("--temperature", 0);
      sampling.topK = (int) number("--top-k", 0);
      sampling.topP = number("--top-p", 0);
      sampling.minP = number("--min-p", 0);
      sampling.repetitionPenalty = number("--repetition-penalty", 0);
      sampling.seed = Long.parseUnsignedLong(options.getOrDefault("--seed", "0"));
      session.setSampling(sampling);
      if (!quiet)
        System.err.println(model.name() + ": " + model.parameterCount() / 1000000 + " M parameters, on "
            + context.deviceName());
      List<ChatMessage> messages = new ArrayList<>();
      if (options.containsKey("--system")) messages.add(new ChatMessage("system", options.get("--system")));
      if (options.containsKey("--prompt")) {
        messages.add(new ChatMessage("user", options.get("--prompt")));
        answer(session, messages);
        return;
      }
      BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line; (line = lines.readLine()) != null;) {
        if (line.isBlank()) continue;
        messages.add(new ChatMessage("user", line));
        answer(session, messages);
      }
    }
  }

  public static void main(String[] arguments) throws IOException {
    if (!parse(arguments)) {
      System.err.print(USAGE);
      System.exit(2);
    }
    try {
      run();
    } catch (RudaException error) {
      System.err.println("chat: " + error.getMessage());
      System.exit(1);
    }
  }
}
