// bindings/java/src/main/java/io/ruda/Session.java - one conversation with a model.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import io.ruda.internal.Raw;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.concurrent.CancellationException;
import java.util.function.Supplier;
import java.util.stream.StreamSupport;

/**
 * One conversation: a model, its key-value cache and a sampler. One thread at a time; close() and a CancelToken may come
 * from any. Generation is pulled: no thread of the library enters the virtual machine.
 */
public final class Session extends NativeHandle {
  private volatile int finish = Finish.NONE;
  private final int vocabSize;
  private int turn; // rises with every call that changes what the session holds; an answer goes on only in its own
  private String kept = ""; // may begin a stop text, until it is known: here, so that an early end does not lose it

  public Session(Model model) {
    this(model, 0, 0, 0);
  }

  /**
   * tokenCapacity counts prompt and answer, 0 = the model's context length; cacheDType is of keys and values, 0 = F16;
   * batchTokens 0 = the default.
   */
  public Session(Model model, long tokenCapacity, int cacheDType, int batchTokens) {
    super(need("model", model).use(p -> {
      long[] made = new long[1];
      Raw.rudax_session_create(p, DType.check("cacheDType", cacheDType, true), unsigned("tokenCapacity", tokenCapacity),
          unsigned("batchTokens", batchTokens), made);
      return made[0];
    }));
    vocabSize = model.vocabSize();
  }

  /** How tokens are chosen from now on; starts the random sequence anew. null: the most likely. */
  public void setSampling(Sampling sampling) {
    Sampling s = sampling == null ? new Sampling() : sampling;
    unsigned("topK", s.topK);
    unsigned("repetitionWindow", s.repetitionWindow);
    with(p -> Raw.rudax_session_set_sampling(p[0], s.temperature, s.topK, s.topP, s.minP, s.repetitionPenalty,
        s.repetitionWindow, s.seed), this);
  }

  /** As prompt with a token that stops it, left out. */
  public void prompt(int[] tokens) {
    prompt(tokens, null);
  }

  public void prompt(String text) {
    prompt(text, null);
  }

  public void promptChat(List<ChatMessage> messages) {
    promptChat(messages, null);
  }

  /** Makes the session hold exactly these tokens; a beginning that it holds already is kept. cancel may be null. */
  public void prompt(int[] tokens, CancelToken cancel) {
    long[] values = Arrays.stream(need("tokens", tokens, "a list")).asLongStream().toArray();
    change(p -> Raw.rudax_session_prompt(p[0], values, p[1]), free("cancel", cancel), NO_TOKEN, () -> EMPTY_TOKENS);
  }

  public void prompt(String text, CancelToken cancel) {
    byte[] raw = utf8("text", need("text", text));
    change(p -> Raw.rudax_session_prompt_text(p[0], raw, p[1]), free("cancel", cancel), NO_TOKEN, () -> EMPTY_TOKENS);
  }

  // What the library says of a list without elements, and in the words of the call.
  private static final String NO_TOKEN = "count is 0, expected at least 1 token";
  private static final String NO_MESSAGE = "count is 0, expected at least 1 message";
  private static final String EMPTY_TOKENS = "tokens is empty, expected at least 1 token";
  private static final String EMPTY_MESSAGES = "messages is empty, expected at least 1 message";

  // As change; a refusal that begins so is said otherwise.
  private void change(Calls call, NativeHandle cancel, String refused, Supplier<String> said) {
    try {
      change(call, cancel);
    } catch (RudaException error) {
      throw error.getMessage().startsWith(error.name() + ": " + refused) ? error.renamed(said.get()) : error;
    }
  }

  /** A call after which the session holds something else. One that is refused changes nothing. */
  private void change(Calls call, NativeHandle cancel) {
    try {
      with(call, this, cancel);
    } catch (RudaException error) {
      switch (error.kind()) {
        case ARGUMENT, UNSUPPORTED, FILE -> {}
        default -> beginTurn();
      }
      throw error;
    }
    beginTurn();
  }

  private int beginTurn() {
    kept = "";
    return ++turn;
  }

  /** As prompt with a conversation, rendered by the model's chat template. cancel may be null. */
  public void promptChat(List<ChatMessage> messages, CancelToken cancel) {
    promptChat(messages, 0, null, null, cancel);
  }

  /** As promptChat with flags, template and variables of Tokenizer.render. */
  public void promptChat(
      List<ChatMessage> messages, int flags, String template, String variables, CancelToken cancel) {
    byte[] packed = ChatMessage.pack(messages);
    unsigned("flags", flags);
    byte[] named = text("template", template), given = text("variables", variables);
    change(p -> Raw.rudax_session_prompt_chat(p[0], packed, flags, named, given, p[1]), free("cancel", cancel), NO_MESSAGE,
        () -> EMPTY_MESSAGES);
  }

  /** A token, the text that is certain by now, and whether it was the last. */
  public record Step(int token, String text, boolean end) {}

  /**
   * Chooses the next token; its text is whole characters only, often none, after what an ended generate held back. The
   * token is -1 where there is none. An answer that is being read ends.
   */
  public Step next() {
    Step made = step();
    beginTurn();
    return made;
  }

  private Step step() {
    byte[] raw = new byte[2048];
    long[] needed = new long[1], token = new long[1], end = new long[1];
    with(p -> Raw.rudax_session_next(p[0], raw, needed, token, end), this);
    String text = kept + new String(raw, 0, (int) Math.max(needed[0] - 1, 0), StandardCharsets.UTF_8);
    kept = "";
    return new Step((int) token[0], text, end[0] != 0);
  }

  /** As generate without stop texts. */
  public java.util.stream.Stream<String> generate(long maxTokens) {
    return generate(maxTokens, List.of(), null);
  }

  /**
   * Pieces of text until the turn ends, maxTokens were generated (0 = no limit) or a stop text appears, which is not
   * delivered; none may be empty. finish() tells afterwards what ended it. stops and cancel may be null. After a cancel,
   * or where the caller stops asking, text that is held back as it may begin a stop text stays: the next generate or
   * next() gives it first, a prompt or rewind forgets it.
   *
   * <p>One answer is read at a time: where a prompt, rewind, next or another answer came in between, the older one ends
   * with a RudaException of status E_STATE. An answer that has ended stays ended.
   */
  public java.util.stream.Stream<String> generate(long maxTokens, List<String> stops, CancelToken cancel) {
    return stream(new Pieces(maxTokens, stops, cancel));
  }

  private static java.util.stream.Stream<String> stream(Iterator<String> pieces) {
    int order = Spliterator.ORDERED | Spliterator.NONNULL;
    return StreamSupport.stream(Spliterators.spliteratorUnknownSize(pieces, order), false);
  }

  /** The pieces of the answer to a conversation: promptChat at once, then generate. */
  public java.util.stream.Stream<String> chat(List<ChatMessage> messages, long maxTokens) {
    return chat(messages, maxTokens, List.of(), null);
  }

  /** As chat with the stop texts and the token of generate; both may be null. */
  public java.util.stream.Stream<String> chat(
      List<ChatMessage> messages, long maxTokens, List<String> stops, CancelToken cancel) {
    return chat(messages, maxTokens, stops, 0, null, null, cancel);
  }

  /** As chat with flags, template and variables of Tokenizer.render. */
  public java.util.stream.Stream<String> chat(List<ChatMessage> messages, long maxTokens, List<String> stops, int flags,
      String template, String variables, CancelToken cancel) {
    Pieces pieces = new Pieces(maxTokens, stops, cancel);
    promptChat(messages, flags, template, variables, cancel);
    pieces.begin();
    return stream(pieces);
  }

  // A character that was not finished when the caller's limit was reached, as U+FFFD.
  private String heldBack() {
    return use(p -> readText((text, needed) -> Raw.rudax_session_rest(p, text, needed), 2048));
  }

  private final class Pieces implements Iterator<String> {
    private final StopText stopText;
    private final CancelToken cancel;
    private final long most;
    private long count;
    private int mine = -1; // the turn of this answer, once it began
    private String ready;
    private boolean ended;

    Pieces(long maxTokens, List<String> stops, CancelToken cancel) {
      needOpen();
      most = unsigned("maxTokens", maxTokens);
      stopText = new StopText(stops);
      this.cancel = free("cancel", cancel);
    }

    private void begin() {
      String before = kept;
      mine = beginTurn();
      kept = before;
      finish = Finish.NONE;
    }

    @Override
    public boolean hasNext() {
      while (ready == null && !ended) {
        boolean whole = false;
        try {
          if (mine < 0) begin();
          String shown = advance();
          if (!shown.isEmpty()) ready = shown;
          whole = true;
        } finally {
          ended |= !whole;
        }
      }
      return ready != null;
    }

    private String advance() {
      if (turn != mine) throw RudaException.ended();
      if (cancel != null && cancel.isRequested()) throw new CancellationException("generation was cancelled");
      if (most != 0 && count == most) {
        ended = true;
        String held = stopText.push(kept + heldBack());
        kept = "";
        finish = stopText.stopped() ? Finish.STOP : Finish.LENGTH;
        return held + stopText.rest();
      }
      ++count;
      Step step = Session.this.step();
      String shown = stopText.push(step.text());
      ended = step.end() || stopText.stopped();
      String held = stopText.rest();
      if (stopText.stopped()) {
        finish = Finish.STOP;
      } else if (step.end()) {
        shown += held;
        finish = (int) get(0);
      } else {
        kept = held;
      }
      return shown;
    }

    @Override
    public String next() {
      if (!hasNext()) throw new NoSuchElementException();
      String piece = ready;
      ready = null;
      return piece;
    }
  }

  /** What ended the last generate, a constant of Finish; Finish.name gives its name. */
  public int finish() {
    needOpen();
    return finish;
  }

  private double get(int what) {
    double[] value = new double[1];
    with(p -> Raw.rudax_session_get(p[0], what, value), this);
    return value[0];
  }

  @Override
  String describe() {
    return "with " + tokenCount() + " of " + counted(tokenCapacity(), "token");
  }

  public long tokenCount() {
    return (long) get(1);
  }

  public long tokenCapacity() {
    return (long) get(2);
  }

  /** Of the last prompt, computed anew. */
  public long promptTokens() {
    return (long) get(3);
  }

  /** Of the last prompt, found in the cache. */
  public long reusedTokens() {
    return (long) get(4);
  }

  public long generatedTokens() {
    return (long) get(5);
  }

  public double promptSeconds() {
    return get(6);
  }

  public double generateSeconds() {
    return get(7);
  }

  /** Reserved for keys and values. */
  public long cacheBytes() {
    return (long) get(8);
  }

  /** The logits after the last token, of the whole vocabulary. */
  public float[] logits() {
    return logits(vocabSize);
  }

  /** The logits after the last token; vocabSize is that of the model. */
  public float[] logits(int vocabSize) {
    unsigned("vocabSize", vocabSize);
    ByteBuffer data = Tensor.buffer(4L * vocabSize);
    with(p -> Raw.rudax_session_logits(p[0], data), this);
    float[] made = new float[vocabSize];
    data.asFloatBuffer().get(made);
    return made;
  }

  /** Forgets all but the first tokens. */
  public void rewind(long count) {
    Supplier<String> said =
        () -> "count is " + count + ", expected 0 to " + tokenCount() + ", the tokens that the session holds";
    needOpen();
    if (count < 0) throw new IllegalArgumentException(said.get());
    change(p -> Raw.ruda_session_rewind(p[0], count), null, "count is ", said);
  }

  public int[] tokens() {
    int[] held = new int[Math.toIntExact(tokenCount())];
    long[] count = new long[1];
    if (held.length > 0) with(p -> Raw.rudax_session_tokens(p[0], held, count), this);
    return held;
  }
}
