// bindings/java/src/main/java/io/ruda/Tokenizer.java - text to tokens and back.
// SPDX-License-Identifier: Apache-2.0
package io.ruda;

import io.ruda.internal.Raw;
import java.util.Arrays;
import java.util.List;

/** Text to tokens and back, with the chat template of the model. */
public final class Tokenizer extends NativeHandle {
  Tokenizer(long pointer) {
    super(pointer);
  }

  public Tokenizer(Store store) {
    super(need("store", store).use(p -> {
      long[] made = new long[1];
      Raw.rudax_tokenizer_create(p, made);
      return made[0];
    }));
  }

  private int get(int what) {
    long[] value = new long[1];
    with(p -> Raw.rudax_tokenizer_get(p[0], what, value), this);
    return (int) value[0];
  }

  @Override
  String describe() {
    return "of " + counted(vocabSize(), "token");
  }

  public int vocabSize() {
    return get(0);
  }

  /** The token that begins a text, -1 where the file names none; eos, unknown and padding likewise. */
  public int bos() {
    return get(1);
  }

  public int eos() {
    return get(2);
  }

  public int unknown() {
    return get(3);
  }

  public int padding() {
    return get(4);
  }

  public boolean hasChatTemplate() {
    return get(7) != 0;
  }

  public int[] encode(String text) {
    return encode(text, 0);
  }

  /** flags are of EncodeFlags. */
  public int[] encode(String text, int flags) {
    byte[] raw = utf8("text", need("text", text));
    unsigned("flags", flags);
    long[] count = new long[1];
    with(p -> Raw.rudax_tokenizer_encode(p[0], raw, flags, new int[0], count), this);
    int[] tokens = new int[Math.toIntExact(count[0])];
    if (tokens.length > 0) with(p -> Raw.rudax_tokenizer_encode(p[0], raw, flags, tokens, count), this);
    return tokens;
  }

  public String decode(int[] tokens) {
    return decode(tokens, 0);
  }

  /** flags are of DecodeFlags. */
  public String decode(int[] tokens, int flags) {
    long[] values = Arrays.stream(need("tokens", tokens, "a list")).asLongStream().toArray();
    unsigned("flags", flags);
    return use(
        p -> readText((text, needed) -> Raw.rudax_tokenizer_decode(p, values, flags, text, needed), 1024));
  }

  /** The exact bytes that a token stands for. */
  public byte[] tokenText(int token) {
    byte[] raw = new byte[64];
    long[] needed = new long[1];
    while (true) {
      final byte[] into = raw;
      with(p -> Raw.rudax_tokenizer_token_text(p[0], token, into, needed), this);
      if (needed[0] <= raw.length) return Arrays.copyOf(raw, (int) needed[0] - 1);
      raw = new byte[(int) needed[0]];
    }
  }

  /** The token whose entry in the vocabulary is exactly `text`. */
  public int tokenId(String text) {
    long[] id = new long[1];
    with(p -> Raw.rudax_tokenizer_token_id(p[0], utf8("text", need("text", text)), id), this);
    return (int) id[0];
  }

  /** Whether generation ends with this token. */
  public boolean isEnd(int token) {
    long[] end = new long[1];
    with(p -> Raw.ruda_tokenizer_is_end(p[0], token, end), this);
    return end[0] != 0;
  }

  /** The text of a conversation by the model's chat template, up to where the answer begins. */
  public String render(List<ChatMessage> messages) {
    return render(messages, 0, null, null);
  }

  /** flags are of ChatFlags; template names another one of the file; variables is a JSON object. Both may be null. */
  public String render(List<ChatMessage> messages, int flags, String template, String variables) {
    byte[] packed = ChatMessage.pack(messages);
    unsigned("flags", flags);
    return use(p -> readText((text, needed) -> Raw.rudax_chat_render(
        p, packed, flags, text("template", template), text("variables", variables), text, needed), 4096));
  }
}
