// bindings/csharp/Ruda/Session.cs - model files, tokenizers, language models, sessions that generate text.
// SPDX-License-Identifier: Apache-2.0
using System;
using System.Collections.Generic;
using System.IO;
using System.Text;
using System.Threading;
using System.Threading.Tasks;
using Ruda.Interop;

namespace Ruda {
  /// <summary>A file of tensors and metadata, mapped and read in place: GGUF.</summary>
  public sealed class Store : NativeObject<StoreHandle> {
    public Store(string path) : base(Make(path)) {}

    static StoreHandle Make(string path) {
      byte[] raw = Need.Bytes("path", path);
      StoreHandle made;
      RudaNative.rudax_store_open(raw, (ulong)raw.Length, out made);
      return made;
    }

    public long Count {
      get {
        ulong count;
        RudaNative.ruda_store_count(H, out count);
        return (long)count;
      }
    }

    /// <summary>Name of a tensor, in file order.</summary>
    public string Name(long index) {
      return ReadText(text => {
        ulong needed;
        RudaNative.rudax_store_tensor_name(H, Need.Unsigned("index", index), text, (ulong)text.Length, out needed);
        return needed;
      });
    }

    /// <summary>The names of the tensors, in file order.</summary>
    public IList<string> Names() {
      List<string> names = new List<string>();
      for (long i = 0; i < Count; ++i) names.Add(Name(i));
      return names;
    }

    /// <summary>The index of a tensor.</summary>
    public long Find(string name) {
      ulong index;
      RudaNative.ruda_store_find(H, Need.Text("name", Need.Given("name", name)), out index);
      return (long)index;
    }

    /// <summary>A read-only tensor on the file's own bytes. Contexts that compute in host memory.</summary>
    public Tensor Tensor(Context context, long index) {
      TensorHandle made;
      RudaNative.ruda_store_tensor(H, Need.H("context", context), Need.Unsigned("index", index), out made);
      return Ruda.Tensor.Wrap(made);
    }

    public Tensor Tensor(Context context, string name) {
      return Tensor(context, Find(name));
    }

    /// <summary>A tensor with a copy of one of the file, on the device of the stream.</summary>
    public Tensor Load(Stream stream, long index) {
      TensorHandle made;
      RudaNative.ruda_store_load(H, Need.H("stream", stream), Need.Unsigned("index", index), out made);
      return Ruda.Tensor.Wrap(made);
    }

    public Tensor Load(Stream stream, string name) {
      return Load(stream, Find(name));
    }
  }

  /// <summary>One message of a conversation.</summary>
  public sealed class ChatMessage {
    public readonly string Role, Content;

    /// <param name="content">null is the empty text</param>
    public ChatMessage(string role, string content) {
      Role = Need.Text("role", Need.Given("role", role));
      Content = Need.Whole("content", content) ?? "";
    }

    /// <summary>The bytes of a conversation, by the rule of bindings/common/session.h.</summary>
    internal static byte[] Pack(IEnumerable<ChatMessage> messages) {
      MemoryStream packed = new MemoryStream();
      int count = 0;
      foreach (ChatMessage message in Need.Given("messages", messages)) {
        Need.Given("messages[" + count++ + "]", message);
        byte[] content = Encoding.UTF8.GetBytes(message.Content);
        byte[] head = Encoding.UTF8.GetBytes(message.Role + "\0" + content.Length + "\0");
        packed.Write(head, 0, head.Length);
        packed.Write(content, 0, content.Length);
      }
      return packed.ToArray();
    }
  }

  /// <summary>Text to tokens and back, with the chat template of the model.</summary>
  public sealed class Tokenizer : NativeObject<TokenizerHandle> {
    internal Tokenizer(TokenizerHandle handle) : base(handle) {}

    public Tokenizer(Store store) : base(Make(store)) {}

    static TokenizerHandle Make(Store store) {
      TokenizerHandle made;
      RudaNative.rudax_tokenizer_create(Need.H("store", store), out made);
      return made;
    }

    int Get(uint what) {
      long value;
      RudaNative.rudax_tokenizer_get(H, what, out value);
      return (int)value;
    }

    internal override string Describe() {
      return "of " + Need.Counted(VocabSize, "token");
    }

    public int VocabSize {
      get { return Get(0); }
    }
    /// <summary>The token that begins a text, -1 where the file names none; Eos, Unknown and Padding likewise.</summary>
    public int Bos {
      get { return Get(1); }
    }
    public int Eos {
      get { return Get(2); }
    }
    public int Unknown {
      get { return Get(3); }
    }
    public int Padding {
      get { return Get(4); }
    }
    public bool HasChatTemplate {
      get { return Get(7) != 0; }
    }

    /// <param name="parseSpecial">control tokens that are written in the text count as such</param>
    public int[] Encode(string text, bool addSpecial = false, bool parseSpecial = false) {
      byte[] raw = Need.Bytes("text", text);
      uint flags = (addSpecial ? (uint)EncodeFlags.AddSpecial : 0) | (parseSpecial ? (uint)EncodeFlags.ParseSpecial : 0);
      ulong count;
      RudaNative.rudax_tokenizer_encode(H, raw, (ulong)raw.Length, flags, new int[0], 0, out count);
      int[] tokens = new int[count];
      if (count > 0) RudaNative.rudax_tokenizer_encode(H, raw, (ulong)raw.Length, flags, tokens, count, out count);
      return tokens;
    }

    public string Decode(IEnumerable<int> tokens, bool skipSpecial = false) {
      List<long> wide = new List<long>();
      foreach (int token in Need.Given("tokens", tokens)) wide.Add(token);
      long[] values = wide.ToArray();
      return ReadText(text => {
        ulong needed;
        RudaNative.rudax_tokenizer_decode(H, values, (uint)values.Length, skipSpecial ? 1u : 0u, text,
                                          (ulong)text.Length, out needed);
        return needed;
      });
    }

    /// <summary>The exact bytes that a token stands for.</summary>
    public byte[] TokenText(int token) {
      byte[] raw = new byte[64];
      for (ulong needed;;) {
        RudaNative.rudax_tokenizer_token_text(H, token, raw, (ulong)raw.Length, out needed);
        if (needed <= (ulong)raw.Length) {
          Array.Resize(ref raw, (int)needed - 1);
          return raw;
        }
        raw = new byte[needed];
      }
    }

    /// <summary>The token whose entry in the vocabulary is exactly `text`.</summary>
    public int TokenId(string text) {
      byte[] raw = Need.Bytes("text", text);
      long id;
      RudaNative.rudax_tokenizer_token_id(H, raw, (ulong)raw.Length, out id);
      return (int)id;
    }

    /// <summary>Whether generation ends with this token.</summary>
    public bool IsEnd(int token) {
      uint end;
      RudaNative.ruda_tokenizer_is_end(H, token, out end);
      return end != 0;
    }

    /// <summary>The text of a conversation by the model's chat template.</summary>
    /// <param name="template">another template of the file</param>
    /// <param name="variables">a JSON object for the template</param>
    public string Render(IEnumerable<ChatMessage> messages, bool addGenerationPrompt = true, string template = null,
                         string variables = null) {
      byte[] packed = ChatMessage.Pack(messages);
      Need.Text("template", template);
      Need.Text("variables", variables);
      uint flags = addGenerationPrompt ? 0 : (uint)ChatFlags.NoGenerationPrompt;
      return ReadText(text => {
        ulong needed;
        RudaNative.rudax_chat_render(H, packed, (ulong)packed.Length, flags, template, variables, text,
                                     (ulong)text.Length, out needed);
        return needed;
      }, 4096);
    }
  }

  /// <summary>A language model with its weights on a context's device.</summary>
  public sealed class Model : NativeObject<ModelHandle> {
    static readonly bool[] slots = new bool[64];

    Model(ModelHandle handle) : base(handle) {}

    static uint TakeSlot() {
      lock (slots) {
        for (uint i = 0; i < slots.Length; ++i)
          if (!slots[i]) {
            slots[i] = true;
            return i;
          }
      }
      throw new InvalidOperationException("64 models are being loaded already, expected at most 64 at once");
    }

    /// <summary>Loads a GGUF file. `progress` is called on this thread with bytes done and in all: a few times a second,
    /// and at the end with all of them. An exception that it throws ends the load.</summary>
    public static Model Load(Context context, string path, Action<long, long> progress = null) {
      using (Store store = new Store(path)) return Load(context, store, progress);
    }

    public static Model Load(Context context, Store store, Action<long, long> progress = null) {
      Need.H("context", context);
      Need.H("store", store);
      uint slot = TakeSlot();
      try {
        ModelHandle made = null;
        RudaNative.rudax_load_begin(slot);
        if (progress == null) {
          RudaNative.rudax_model_load(Need.H("context", context), Need.H("store", store), slot, out made);
          return new Model(made);
        }
        Task work = Task.Run(() => RudaNative.rudax_model_load(Need.H("context", context), Need.H("store", store), slot, out made));
        ulong done, total, told = ulong.MaxValue;
        try {
          while (!((IAsyncResult)work).AsyncWaitHandle.WaitOne(50)) {
            RudaNative.rudax_load_progress(slot, 0, out done, out total);
            if (total > 0 && done != told) progress((long)done, (long)total);
            if (total > 0) told = done;
          }
        } catch {
          RudaNative.rudax_load_progress(slot, 1, out done, out total);
          ((IAsyncResult)work).AsyncWaitHandle.WaitOne();
          if (work.Status == TaskStatus.RanToCompletion) made.Dispose();
          throw;
        }
        work.GetAwaiter().GetResult();
        Model model = new Model(made);
        try {
          RudaNative.rudax_load_progress(slot, 0, out done, out total);
          long all = total > 0 ? (long)total : model.WeightBytes;
          if (told != (ulong)all) progress(all, all);
        } catch {
          model.Dispose();
          throw;
        }
        return model;
      } finally {
        lock (slots) slots[slot] = false;
      }
    }

    long Get(uint what) {
      ulong value;
      RudaNative.rudax_model_get(H, what, out value);
      return (long)value;
    }

    string Text(uint what) {
      return ReadText(text => {
        ulong needed;
        RudaNative.rudax_model_text(H, what, text, (ulong)text.Length, out needed);
        return needed;
      });
    }

    internal override string Describe() {
      return Name + " (" + Architecture + ", " + Need.Counted(LayerCount, "layer") + ", " + Need.Counted(WeightBytes, "byte") + ")";
    }

    public string Architecture {
      get { return Text(0); }
    }
    public string Name {
      get { return Text(1); }
    }
    public int LayerCount {
      get { return (int)Get(0); }
    }
    public int Width {
      get { return (int)Get(1); }
    }
    public int VocabSize {
      get { return (int)Get(6); }
    }
    /// <summary>Tokens that the model was trained for.</summary>
    public long ContextLength {
      get { return Get(7); }
    }
    public long ParameterCount {
      get { return Get(8); }
    }
    public long WeightBytes {
      get { return Get(9); }
    }

    public Tokenizer Tokenizer {
      get {
        TokenizerHandle made;
        RudaNative.ruda_model_get_tokenizer(H, out made);
        return new Tokenizer(made);
      }
    }
  }

  /// <summary>How tokens are chosen; zero in any field means its default.</summary>
  public sealed class Sampling {
    /// <summary>0 = the most likely token.</summary>
    public double Temperature, TopP, MinP, RepetitionPenalty;
    public uint TopK;
    public ulong RepetitionWindow, Seed;
  }

  /// <summary>One conversation: a model, its key-value cache and a sampler. One thread at a time; Dispose may come from
  /// any. Generation is pulled: no thread of the library enters the virtual machine.</summary>
  public sealed class Session : NativeObject<SessionHandle> {
    /// <param name="tokenCapacity">prompt and answer together; 0 = the model's context length</param>
    /// <param name="cacheDType">of keys and values; 0 = F16</param>
    public Session(Model model, long tokenCapacity = 0, Choice<DType> cacheDType = default(Choice<DType>), uint batchTokens = 0)
        : base(Make(model, tokenCapacity, cacheDType, batchTokens)) {
      vocabSize = model.VocabSize;
    }

    readonly int vocabSize;
    int turn;  // rises with every call that changes what the session holds; an answer goes on only in its own
    Finish finish;
    string kept = "";  // may begin a stop text, until it is known: here, so that an early end does not lose it

    static SessionHandle Make(Model model, long capacity, Choice<DType> dtype, uint batch) {
      SessionHandle made;
      RudaNative.rudax_session_create(Need.H("model", model), Need.One("cacheDType", dtype, true), Need.Unsigned("tokenCapacity", capacity), batch,
                                      out made);
      return made;
    }

    /// <summary>How tokens are chosen from now on; starts the random sequence anew. null: the most likely.</summary>
    public void SetSampling(Sampling sampling) {
      Sampling s = sampling ?? new Sampling();
      RudaNative.rudax_session_set_sampling(H, s.Temperature, s.TopK, s.TopP, s.MinP, s.RepetitionPenalty,
                                            s.RepetitionWindow, s.Seed);
    }

    /// <summary>Makes the session hold exactly these tokens; a beginning that it holds already is kept.</summary>
    public void Prompt(IEnumerable<int> tokens, CancelToken cancel = null) {
      List<long> wide = new List<long>();
      foreach (int token in Need.Given("tokens", tokens)) wide.Add(token);
      long[] values = wide.ToArray();
      CancelHandle stop = Need.Free("cancel", cancel, CancelHandle.Null);
      Change(() => RudaNative.rudax_session_prompt(H, values, (uint)values.Length, stop), NoToken, () => EmptyTokens);
    }

    public void Prompt(string text, CancelToken cancel = null) {
      byte[] raw = Need.Bytes("text", text);
      CancelHandle stop = Need.Free("cancel", cancel, CancelHandle.Null);
      Change(() => RudaNative.rudax_session_prompt_text(H, raw, (ulong)raw.Length, stop), NoToken, () => EmptyTokens);
    }

    // What the library says of a list without elements, and in the words of the call.
    const string NoToken = "count is 0, expected at least 1 token", NoMessage = "count is 0, expected at least 1 message",
                 EmptyTokens = "tokens is empty, expected at least 1 token",
                 EmptyMessages = "messages is empty, expected at least 1 message";

    // As Change; a refusal that begins so is said otherwise.
    void Change(Action call, string refused, Func<string> said) {
      try {
        Change(call);
      } catch (RudaException error) when (error.Message.StartsWith(error.Name + ": " + refused, StringComparison.Ordinal)) {
        throw error.Renamed(said());
      }
    }

    // A call after which the session holds something else. One that is refused changes nothing.
    void Change(Action call) {
      try {
        call();
      } catch (RudaException error) when (error.Kind != ErrorKind.Argument && error.Kind != ErrorKind.Unsupported &&
                                          error.Kind != ErrorKind.File) {
        BeginTurn();
        throw;
      }
      BeginTurn();
    }

    int BeginTurn() {
      kept = "";
      return ++turn;
    }

    /// <summary>As Prompt with a conversation, rendered by the model's chat template; see Tokenizer.Render.</summary>
    public void PromptChat(IEnumerable<ChatMessage> messages, CancelToken cancel = null, string template = null,
                           string variables = null, bool addGenerationPrompt = true) {
      byte[] packed = ChatMessage.Pack(messages);
      Need.Text("template", template);
      Need.Text("variables", variables);
      uint flags = addGenerationPrompt ? 0 : (uint)ChatFlags.NoGenerationPrompt;
      CancelHandle stop = Need.Free("cancel", cancel, CancelHandle.Null);
      Change(() => RudaNative.rudax_session_prompt_chat(H, packed, (ulong)packed.Length, flags, template, variables, stop),
             NoMessage, () => EmptyMessages);
    }

    /// <summary>Chooses the next token, -1 where there is none, with the text that is certain by now: whole characters
    /// only, often none, after what an ended Generate held back. An answer that is being read ends.</summary>
    public int Next(out string text, out bool end) {
      int token = Step(out text, out end);
      BeginTurn();
      return token;
    }

    int Step(out string text, out bool end) {
      byte[] raw = new byte[2048];
      ulong needed;
      long token;
      uint last;
      RudaNative.rudax_session_next(H, raw, (ulong)raw.Length, out needed, out token, out last);
      text = kept + Encoding.UTF8.GetString(raw, 0, needed == 0 ? 0 : (int)needed - 1);
      kept = "";
      end = last != 0;
      return (int)token;
    }

    /// <summary>Pieces of text until the turn ends, maxTokens were generated (0 = no limit) or a stop text appears,
    /// which is not delivered; none may be empty. Finish tells afterwards what ended it. After a cancel, or where the
    /// caller stops asking, text that is held back as it may begin a stop text stays: the next Generate or Next gives it
    /// first, a prompt or Rewind forgets it.
    ///
    /// One answer is read at a time: where a prompt, Rewind, Next or another answer came in between, the older one ends
    /// with a RudaException of status EState. An enumerator that has ended stays ended; to enumerate anew is to ask for
    /// another answer.</summary>
    public IEnumerable<string> Generate(long maxTokens = 0, IEnumerable<string> stops = null, CancelToken cancel = null) {
      NeedOpen();
      Need.Unsigned("maxTokens", maxTokens);
      Need.Free("cancel", cancel, CancelHandle.Null);
      return Pieces(null, maxTokens, new StopText(stops), cancel);
    }

    // `begin` is done when the first piece is asked for.
    IEnumerable<string> Pieces(Action begin, long maxTokens, StopText stopText, CancelToken cancel) {
      if (begin != null) begin();
      string before = kept;
      int mine = BeginTurn();
      kept = before;
      finish = Finish.None;
      for (long count = 0; maxTokens == 0 || count < maxTokens; ++count) {
        if (turn != mine) throw RudaException.Ended();
        if (cancel != null && cancel.IsRequested) throw new OperationCanceledException("generation was cancelled");
        string text;
        bool end, stopped;
        Step(out text, out end);
        string shown = stopText.Push(text, out stopped);
        string held = stopText.Rest();
        if (stopped) {
          finish = Finish.Stop;
        } else if (end) {
          shown += held;
          finish = (Finish)(uint)Get(0);
        } else {
          kept = held;
        }
        if (shown.Length > 0) yield return shown;
        if (end || stopped) yield break;
      }
      if (turn != mine) throw RudaException.Ended();
      bool found;
      string rest = stopText.Push(kept + HeldBack(), out found) + stopText.Rest();
      kept = "";
      finish = found ? Finish.Stop : Finish.Length;
      if (rest.Length > 0) yield return rest;
    }

    // A character that was not finished when the caller's limit was reached, as U+FFFD.
    string HeldBack() {
      return ReadText(text => {
        ulong needed;
        RudaNative.rudax_session_rest(H, text, (ulong)text.Length, out needed);
        return needed;
      }, 2048);
    }

    /// <summary>The pieces of the answer to a conversation: PromptChat, when the first is asked for, then
    /// Generate.</summary>
    public IEnumerable<string> Chat(IEnumerable<ChatMessage> messages, long maxTokens = 0,
                                    IEnumerable<string> stops = null, CancelToken cancel = null,
                                    string template = null, string variables = null,
                                    bool addGenerationPrompt = true) {
      NeedOpen();
      Need.Unsigned("maxTokens", maxTokens);
      Need.Given("messages", messages);
      Need.Free("cancel", cancel, CancelHandle.Null);
      return Pieces(() => PromptChat(messages, cancel, template, variables, addGenerationPrompt), maxTokens,
                    new StopText(stops), cancel);
    }

    /// <summary>What ended the last Generate.</summary>
    public Finish Finish {
      get {
        NeedOpen();
        return finish;
      }
    }

    double Get(uint what) {
      double value;
      RudaNative.rudax_session_get(H, what, out value);
      return value;
    }

    internal override string Describe() {
      return "with " + TokenCount + " of " + Need.Counted(TokenCapacity, "token");
    }

    public long TokenCount {
      get { return (long)Get(1); }
    }
    public long TokenCapacity {
      get { return (long)Get(2); }
    }
    /// <summary>Of the last prompt, computed anew.</summary>
    public long PromptTokens {
      get { return (long)Get(3); }
    }
    /// <summary>Of the last prompt, found in the cache.</summary>
    public long ReusedTokens {
      get { return (long)Get(4); }
    }
    public long GeneratedTokens {
      get { return (long)Get(5); }
    }
    public double PromptSeconds {
      get { return Get(6); }
    }
    public double GenerateSeconds {
      get { return Get(7); }
    }

    /// <summary>Reserved for keys and values.</summary>
    public long CacheBytes {
      get { return (long)Get(8); }
    }

    /// <summary>The logits after the last token.</summary>
    /// <param name="vocabSize">of the model, which the session knows: null</param>
    public unsafe float[] Logits(int? vocabSize = null) {
      float[] made = new float[(int)Need.Unsigned("vocabSize", vocabSize ?? this.vocabSize, int.MaxValue)];
      fixed(float* p = made) RudaNative.rudax_session_logits(H, (IntPtr)p, (ulong)made.Length * sizeof(float));
      return made;
    }

    /// <summary>Forgets all but the first tokens.</summary>
    public void Rewind(long count) {
      Func<string> said = () => "count is " + count + ", expected 0 to " + TokenCount + ", the tokens that the session holds";
      NeedOpen();
      if (count < 0) throw new ArgumentException(said(), "count");
      Change(() => RudaNative.ruda_session_rewind(H, (ulong)count), "count is ", said);
    }

    public int[] Tokens() {
      int[] held = new int[TokenCount];
      ulong count;
      if (held.Length > 0) RudaNative.rudax_session_tokens(H, held, (ulong)held.Length, out count);
      return held;
    }
  }
}
