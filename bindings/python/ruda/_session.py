# bindings/python/ruda/_session.py - model files, tokenizers, language models, sessions that generate text.
# SPDX-License-Identifier: Apache-2.0
"""Generation is pulled: a session is asked for one piece of text after the other, and no thread of the library
enters the interpreter.

    with ruda.Context() as ctx, ruda.Model.load(ctx, "model.gguf") as model, model.session() as session:
        for piece in session.chat([{"role": "user", "content": "Hello"}], max_tokens=64):
            print(piece, end="", flush=True)"""

import array
import json
import operator
import os
import threading
import time

from . import _raw
from ._constants import ChatFlags, DType, EncodeFlags, Finish, Status
from ._core import Handle, context_handle, given, needed_text, op_stream, optional, read_text, register, wrap
from ._errors import ArgumentError, CancelledError, FileError, UnsupportedError, renamed
from ._numbers import check_range, counted, described, integers, utf8
from ._stops import StopText, check_count
from ._tensor import dtype_or_default
from ._waiting import call_stoppable

_slots = list(range(64))  # numbers of loads in flight


def _bytes(text, name="text"):
    if not isinstance(text, (str, bytes, bytearray, memoryview)):
        raise TypeError(f"{name} is {described(text)}, expected a text")
    return utf8(name, text) if isinstance(text, str) else bytes(text)


def _path(path, name, expected):
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"{name} is {described(path)}, expected {expected}")
    try:
        return os.fsencode(path)
    except UnicodeEncodeError as error:  # but those that stand for bytes, as os.listdir gives them
        raise ValueError(f"{name} holds a lone surrogate at index {error.start}, expected none") from None


def pack_messages(messages):
    """The byte range that stands for a conversation, by the rule of bindings/common/session.h."""
    packed = bytearray()
    if isinstance(messages, (str, bytes, dict)):
        raise TypeError("messages is one message, expected a list of them")
    if not hasattr(messages, "__iter__"):
        raise TypeError(f"messages is {described(messages)}, expected a list")
    for i, message in enumerate(messages):
        try:
            pair = tuple(message) if isinstance(message, (tuple, list)) else (message["role"], message["content"])
            role, content = pair
        except (KeyError, TypeError, ValueError):
            raise TypeError(f"messages[{i}] is {message!r}, expected role and content") from None
        if not isinstance(role, (str, bytes)) or not isinstance(content, (str, bytes, type(None))):
            raise TypeError(f"messages[{i}] is {message!r}, expected texts as role and content")
        at = role.find("\0" if isinstance(role, str) else b"\0")
        if at >= 0:
            raise ValueError(f"role holds a NUL at index {at}, expected none: messages[{i}]")
        try:
            role, content = _bytes(role, "role"), _bytes(content or "", "content")
        except ValueError as error:
            raise ValueError(f"{error}: messages[{i}]") from None
        packed += role + b"\0" + str(len(content)).encode() + b"\0" + content
    return bytes(packed)


def _chat_options(add_generation_prompt, template, variables):
    flags = 0 if add_generation_prompt else ChatFlags.NO_GENERATION_PROMPT
    return flags, template, None if variables is None else json.dumps(variables, ensure_ascii=False)


@register("store")
class Store(Handle):
    """A file of tensors and metadata, mapped and read in place: GGUF."""

    __slots__ = ()

    def __init__(self, path):
        super().__init__(_raw.rudax_store_open(_path(path, "path", "the path of a file")))

    def _about(self):
        return counted(len(self), "tensor")

    def __len__(self):
        return _raw.ruda_store_count(self._h)

    def name(self, index):
        return read_text(lambda text: _raw.rudax_store_tensor_name(self._h, index, text))

    def names(self):
        """The names of the tensors, in file order."""
        return [self.name(i) for i in range(len(self))]

    def find(self, name):
        """The index of a tensor."""
        return _raw.ruda_store_find(self._h, needed_text("name", name))

    def tensor(self, context, name):
        """A read-only tensor on the file's own bytes; name or index. Contexts that compute in host memory."""
        index = self.find(name) if isinstance(name, str) else name
        return wrap("tensor", _raw.ruda_store_tensor(self._h, context_handle(context), index), context)

    def load(self, name, *, stream=None):
        """A tensor with a copy of one of the file, on the device of the stream, by default the current one; name or
        index."""
        index = self.find(name) if isinstance(name, str) else name
        s, context = op_stream(stream, self)
        return wrap("tensor", _raw.ruda_store_load(self._h, s, index), context)


@register("tokenizer")
class Tokenizer(Handle):
    """Text to tokens and back, with the chat template of the model."""

    __slots__ = ()

    def __init__(self, store):
        super().__init__(_raw.rudax_tokenizer_create(given(store, "store", "store")))

    def _get(self, what):
        return _raw.rudax_tokenizer_get(self._h, what)

    def _about(self):
        return f"of {counted(self.vocab_size, 'token')}"

    @property
    def vocab_size(self):
        return self._get(0)

    @property
    def bos(self):
        """The token that begins a text, -1 where the file names none; eos, unknown and padding likewise."""
        return self._get(1)

    @property
    def eos(self):
        return self._get(2)

    @property
    def unknown(self):
        return self._get(3)

    @property
    def padding(self):
        return self._get(4)

    @property
    def has_chat_template(self):
        return bool(self._get(7))

    def encode(self, text, *, add_special=False, parse_special=False):
        """The tokens of a text. parse_special: control tokens that are written in the text count as such."""
        raw = _bytes(text)
        flags = (EncodeFlags.ADD_SPECIAL if add_special else 0) | (
            EncodeFlags.PARSE_SPECIAL if parse_special else 0
        )
        count = _raw.rudax_tokenizer_encode(self._h, raw, flags, bytearray())
        tokens = array.array("i", bytes(4 * count))
        if count:
            _raw.rudax_tokenizer_encode(self._h, raw, flags, tokens)
        return tokens.tolist()

    def decode(self, tokens, *, skip_special=False):
        """The text of tokens; what is no UTF-8 becomes U+FFFD."""
        tokens = integers("tokens", tokens)
        return read_text(lambda text: _raw.rudax_tokenizer_decode(self._h, tokens, int(skip_special), text))

    def token_text(self, token):
        """The exact bytes that a token stands for."""
        buffer = bytearray(64)
        while (needed := _raw.rudax_tokenizer_token_text(self._h, token, buffer)) > len(buffer):
            buffer = bytearray(needed)
        return bytes(buffer[: needed - 1])

    def token_id(self, text):
        """The token whose entry in the vocabulary is exactly `text`, such as "<|im_end|>"."""
        return _raw.rudax_tokenizer_token_id(self._h, _bytes(text))

    def is_end(self, token):
        """Whether generation ends with this token."""
        return bool(_raw.ruda_tokenizer_is_end(self._h, token))

    def render(self, messages, *, add_generation_prompt=True, template=None, variables=None):
        """The text of a conversation by the model's chat template. messages: dictionaries with role and content,
        or pairs of them. add_generation_prompt: the text that begins an answer, after the messages. template: the
        name of another template of the file. variables: a dictionary of values that the template uses."""
        packed = pack_messages(messages)
        options = _chat_options(add_generation_prompt, template, variables)
        return read_text(lambda text: _raw.rudax_chat_render(self._h, packed, *options, text), 4096)


@register("model")
class Model(Handle):
    """A language model with its weights on a context's device."""

    __slots__ = ()

    def __init__(self, *_, **__):
        raise TypeError("models are made by Model.load")

    @staticmethod
    def load(context, source, *, progress=None):
        """Loads a model. source: the path of a GGUF file, or a Store. progress(done, total) is called on this
        thread a few times a second, with bytes, and at the end with done == total; an exception that it raises
        ends the load."""
        given(context, "context", "context")
        if progress is not None and not callable(progress):
            raise TypeError(f"progress is {progress!r}, expected a function of two numbers, done and total")
        if not isinstance(source, Store):
            _path(source, "source", "the path of a GGUF file, or a Store")
        store = source._open() if isinstance(source, Store) else Store(source)
        try:
            slot = _slots.pop()
        except IndexError:
            raise RuntimeError("64 models are being loaded already, expected at most 64 at once") from None
        try:
            _raw.rudax_load_begin(slot)
            if progress is None:
                capsule = _raw.rudax_model_load(context_handle(context), store._h, slot)
            else:
                capsule = Model._load_with_progress(context, store, slot, progress)
        finally:
            _slots.append(slot)
            if store is not source:
                store.close()
        return wrap("model", capsule, context)

    @staticmethod
    def _load_with_progress(context, store, slot, progress):
        result, told = [], None

        def work():
            try:
                result.append(_raw.rudax_model_load(context_handle(context), store._h, slot))
            except BaseException as error:  # raised below, by the thread that asked
                result.append(error)

        thread = threading.Thread(target=work, name="ruda load", daemon=True)
        thread.start()
        try:
            while thread.is_alive():
                thread.join(0.05)
                now = tuple(_raw.rudax_load_progress(slot, 0))
                if now[1] and now != told:
                    told = now
                    progress(*now)
        except BaseException:
            _raw.rudax_load_progress(slot, 1)
            raise
        finally:
            thread.join()
        if isinstance(result[0], BaseException):
            raise result[0]
        if not told or told[0] != told[1]:
            total = _raw.rudax_load_progress(slot, 0)[1] or _raw.rudax_model_get(result[0], 9)
            progress(total, total)
        return result[0]

    def _get(self, what):
        return _raw.rudax_model_get(self._h, what)

    def _about(self):
        return f"{self.architecture} {self.name!r}, {counted(self.layer_count, 'layer')}"

    @property
    def layer_count(self):
        return self._get(0)

    @property
    def width(self):
        return self._get(1)

    @property
    def vocab_size(self):
        return self._get(6)

    @property
    def context_length(self):
        """Tokens that the model was trained for."""
        return self._get(7)

    @property
    def parameter_count(self):
        return self._get(8)

    @property
    def weight_bytes(self):
        return self._get(9)

    @property
    def architecture(self):
        return read_text(lambda text: _raw.rudax_model_text(self._h, 0, text))

    @property
    def name(self):
        return read_text(lambda text: _raw.rudax_model_text(self._h, 1, text))

    @property
    def tokenizer(self):
        return wrap("tokenizer", _raw.ruda_model_get_tokenizer(self._h), self._context)

    def session(self, *, cache_dtype=None, token_capacity=0, batch_tokens=0):
        """A conversation of its own; see Session. cache_dtype: of keys and values, None = F16. token_capacity: prompt
        and answer together, 0 = the model's context length. batch_tokens: of a prompt computed at once, 0 = 512."""
        dtype = dtype_or_default(cache_dtype)
        capsule = _raw.rudax_session_create(self._h, dtype, token_capacity, batch_tokens)
        made = wrap("session", capsule, self._context)
        made._vocab_size = self.vocab_size
        return made


@register("session")
class Session(Handle):
    """One conversation: a model, its key-value cache and a sampler. One thread at a time; close() and a Cancel
    may come from any. token_count, prompt_tokens, ... tell what it holds and did."""

    # _kept: text that may begin a stop text, until it is known; here, so that an early end does not lose it
    # _turn: rises with every call that changes what the session holds; an answer goes on only in its own
    __slots__ = ("_finish", "_kept", "_turn", "_vocab_size")

    def __init__(self, *_, **__):
        raise TypeError("sessions are made by Model.session")

    def set_sampling(
        self,
        *,
        temperature=0.0,
        top_k=0,
        top_p=0.0,
        min_p=0.0,
        repetition_penalty=0.0,
        repetition_window=0,
        seed=0,
    ):
        """How tokens are chosen from now on; starts the random sequence anew. Temperature 0, and no argument
        at all: the most likely."""
        _raw.rudax_session_set_sampling(
            self._h, temperature, top_k, top_p, min_p, repetition_penalty, repetition_window, seed
        )

    def prompt(self, tokens, *, cancel=None):
        """Makes the session hold exactly these tokens, or the tokens of a text. A beginning that it holds already
        is kept. An exception of a signal handler, such as KeyboardInterrupt, stops the work."""
        optional(cancel, "cancel", "cancel")
        if isinstance(tokens, (str, bytes)):
            call, given = _raw.rudax_session_prompt_text, _bytes(tokens)
        else:
            call, given = _raw.rudax_session_prompt, integers("tokens", tokens)
        try:
            self._change(call_stoppable, call, (self._h, given), cancel)
        except ArgumentError as error:
            if not error.message.startswith("count is 0,"):
                raise
            raise renamed(error, "tokens is empty, expected at least 1 token") from None

    def _change(self, call, *arguments):
        """A call after which the session holds something else. One that is refused changes nothing."""
        try:
            call(*arguments)
        except (ArgumentError, FileError, UnsupportedError):
            raise
        except (OverflowError, TypeError, ValueError):  # ValueError: closed
            raise
        except BaseException:  # an error of the work, or of a signal handler that ended it
            self._begin_turn()
            raise
        self._begin_turn()

    def _begin_turn(self):
        self._kept, self._turn = "", getattr(self, "_turn", 0) + 1
        return self._turn

    def prompt_chat(
        self, messages, *, add_generation_prompt=True, template=None, variables=None, cancel=None
    ):
        """As prompt with a conversation, rendered by the model's chat template; see Tokenizer.render."""
        options = _chat_options(add_generation_prompt, template, variables)
        optional(cancel, "cancel", "cancel")
        arguments = self._h, pack_messages(messages), *options
        try:
            self._change(call_stoppable, _raw.rudax_session_prompt_chat, arguments, cancel)
        except ArgumentError as error:
            if not error.message.startswith("count is 0, expected at least 1 message"):
                raise
            raise renamed(error, "messages is empty, expected at least 1 message") from None

    def next(self):
        """(token, text, whether it was the last): chooses the next token. The text is what is certain by now,
        whole characters only and often empty, after what an ended generate held back. The token is -1 where
        there is none. An answer that is being read ends."""
        token, text, end = self._step()
        kept = self._take_kept()
        self._begin_turn()
        return token, kept + text, end

    def _step(self):
        buffer = bytearray(2048)
        needed, token, end = _raw.rudax_session_next(self._h, buffer)
        text = buffer[: max(needed - 1, 0)].decode("utf-8", "replace")
        return token, text, bool(end)

    def _take_kept(self):
        kept, self._kept = getattr(self, "_kept", ""), ""
        return kept

    def generate(self, *, max_tokens=0, stops=(), cancel=None):
        """Yields pieces of text until the turn ends, max_tokens were generated (0 = no limit) or a stop text
        appears; the stop text itself is not yielded. stops: a text or several, none empty. finish tells
        afterwards what ended it. After a cancel, or where the caller stops asking, text that is held back as it
        may begin a stop text stays: the next generate or next gives it first, a prompt or rewind forgets it.

        One answer is read at a time: where a prompt, rewind, next or another answer came in between, the older one
        ends with an ArgumentError of status E_STATE. An answer that has ended stays ended."""
        self._open()
        optional(cancel, "cancel", "cancel")
        return self._pieces(check_count(max_tokens), StopText(stops), cancel)

    def _check_turn(self, turn):
        if self._turn != turn:
            message = (
                "session: this answer ended when a later call changed the session, expected one answer read at a time"
            )
            raise ArgumentError(Status.E_STATE, message=message, name="RUDA_E_STATE")

    def _pieces(self, max_tokens, stop_text, cancel):
        kept = getattr(self, "_kept", "")
        turn, self._kept, self._finish = self._begin_turn(), kept, Finish.NONE
        count = 0
        while not max_tokens or count < max_tokens:
            self._check_turn(turn)
            if cancel is not None and cancel.requested:
                raise CancelledError(Status.E_CANCELLED, message="generation was cancelled", name="RUDA_E_CANCELLED")
            _, text, end = self._step()
            text = self._take_kept() + text
            count += 1
            shown, stopped = stop_text.push(text)
            held = stop_text.rest()
            if stopped:
                self._finish = Finish.STOP
            elif end:
                shown += held
                self._finish = Finish(int(_raw.rudax_session_get(self._h, 0)))
            else:
                self._kept = held
            if shown:
                yield shown
            if end or stopped:
                return
        self._check_turn(turn)
        held_back = read_text(lambda text: _raw.rudax_session_rest(self._h, text), 2048)
        shown, stopped = stop_text.push(self._take_kept() + held_back)
        self._finish = Finish.STOP if stopped else Finish.LENGTH
        if rest := shown + stop_text.rest():
            yield rest

    def chat(
        self,
        messages,
        *,
        max_tokens=0,
        stops=(),
        cancel=None,
        add_generation_prompt=True,
        template=None,
        variables=None,
    ):
        """Yields the pieces of the answer to a conversation: prompt_chat, when the first is asked for, then
        generate. messages, add_generation_prompt, template and variables are those of Tokenizer.render;
        max_tokens, stops and cancel those of generate."""
        self._open()
        optional(cancel, "cancel", "cancel")
        count, stop_text = check_count(max_tokens), StopText(stops)

        def pieces():
            self.prompt_chat(
                messages,
                add_generation_prompt=add_generation_prompt,
                template=template,
                variables=variables,
                cancel=cancel,
            )
            yield from self._pieces(count, stop_text, cancel)

        return pieces()

    @property
    def finish(self):
        """What ended the last generate or chat, a Finish. NONE before the first, while one is read, and where it
        did not come to an end of its own: a cancel or another error, which the exception tells, or a caller that
        stopped asking."""
        self._open()
        return getattr(self, "_finish", Finish.NONE)

    def _get(self, what):
        return _raw.rudax_session_get(self._h, what)

    def _about(self):
        return f"{self.token_count} of {counted(self.token_capacity, 'token')}"

    @property
    def token_count(self):
        return int(self._get(1))

    @property
    def token_capacity(self):
        return int(self._get(2))

    @property
    def prompt_tokens(self):
        """Of the last prompt, computed anew."""
        return int(self._get(3))

    @property
    def reused_tokens(self):
        """Of the last prompt, found in the cache."""
        return int(self._get(4))

    @property
    def generated_tokens(self):
        return int(self._get(5))

    @property
    def prompt_seconds(self):
        return self._get(6)

    @property
    def generate_seconds(self):
        return self._get(7)

    @property
    def cache_bytes(self):
        return int(self._get(8))

    def rewind(self, count):
        """Forgets all but the first `count` tokens."""
        try:
            self._change(_raw.ruda_session_rewind, self._h, count)
        except (ArgumentError, OverflowError) as error:
            if not str(getattr(error, "message", error)).startswith("count is "):
                raise
            message = f"count is {count}, expected 0 to {self.token_count}, the tokens that the session holds"
            raise (renamed(error, message) if isinstance(error, ArgumentError) else OverflowError(message)) from None

    def tokens(self):
        """The tokens that the session holds."""
        held = array.array("i", bytes(4 * self.token_count))
        if held:
            _raw.rudax_session_tokens(self._h, held)
        return held.tolist()

    def logits(self, vocab_size=None):
        """The logits after the last token, as an array of floats. vocab_size: that of the model, which the
        session knows."""
        if vocab_size is None:
            vocab_size = self._vocab_size
        try:
            vocab_size = check_range("vocab_size", operator.index(vocab_size), 0, 0x7FFFFFFF)
        except TypeError:
            raise TypeError(f"vocab_size is {vocab_size!r}, expected an integer") from None
        made = array.array("f", bytes(4 * vocab_size))
        _raw.rudax_session_logits(self._h, made)
        return made
