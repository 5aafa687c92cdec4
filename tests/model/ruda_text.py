# tests/model/ruda_text.py - the text half of the library through ctypes, and GGUF files made in memory.
# SPDX-License-Identifier: Apache-2.0
import ctypes
import struct


def gguf_bytes(entries):
    """A GGUF file with metadata only: (key, type number, value); arrays as (9, (element type, list))."""
    out = [b"GGUF", struct.pack("<IQQ", 3, 0, len(entries))]

    def text(value):
        data = value if isinstance(value, bytes) else value.encode("utf-8")
        return struct.pack("<Q", len(data)) + data

    formats = {
        0: "<B",
        1: "<b",
        2: "<H",
        3: "<h",
        4: "<I",
        5: "<i",
        6: "<f",
        7: "<B",
        10: "<Q",
        11: "<q",
        12: "<d",
    }
    for key, kind, value in entries:
        out += [text(key), struct.pack("<I", kind)]
        if kind == 8:
            out.append(text(value))
        elif kind == 9:
            element, values = value
            out.append(struct.pack("<IQ", element, len(values)))
            out += [text(v) if element == 8 else struct.pack(formats[element], v) for v in values]
        else:
            out.append(struct.pack(formats[kind], value))
    return b"".join(out)


def gguf_tokenizer(pre, tokens, types, merges, model="gpt2", scores=None, extra=()):
    entries = [
        ("tokenizer.ggml.model", 8, model),
        ("tokenizer.ggml.tokens", 9, (8, tokens)),
        ("tokenizer.ggml.token_type", 9, (5, types)),
    ]
    if pre:
        entries.append(("tokenizer.ggml.pre", 8, pre))
    if merges is not None:
        entries.append(("tokenizer.ggml.merges", 9, (8, merges)))
    if scores is not None:
        entries.append(("tokenizer.ggml.scores", 9, (6, scores)))
    return gguf_bytes(entries + list(extra))


class ErrorInfo(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("status", ctypes.c_int32),
        ("arg_index", ctypes.c_int32),
        ("native_code", ctypes.c_int32),
        ("native_library", ctypes.c_char_p),
        ("function", ctypes.c_char_p),
        ("message", ctypes.c_char_p),
    ]


class TextStream(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_uint32),
        ("flags", ctypes.c_uint32),
        ("started", ctypes.c_uint32),
        ("pending_bytes", ctypes.c_uint32),
        ("pending", ctypes.c_uint64),
    ]


class RudaError(Exception):
    def __init__(self, status, message):
        super().__init__(f"{status}: {message}")
        self.status = status
        self.message = message


class Library:
    def __init__(self, path):
        self.dll = ctypes.CDLL(path)

    def call(self, name, *args):
        status = getattr(self.dll, name)(*args)
        if status:
            info = ErrorInfo(struct_size=ctypes.sizeof(ErrorInfo))
            self.dll.ruda_last_error(ctypes.byref(info))
            raise RudaError(status, info.message.decode("utf-8", "replace"))

    def open(self, data):
        store = ctypes.c_void_p()
        if isinstance(data, str):
            self.call("ruda_store_open", data.encode(), None, ctypes.byref(store))
        else:
            size = ctypes.c_uint64(len(data))
            self.call("ruda_store_open_memory", data, size, None, None, None, ctypes.byref(store))
        return store

    def tokenizer(self, data):
        store = self.open(data)
        try:
            return Tokenizer(self, store, data)
        finally:
            self.dll.ruda_release(store)

    tokenizer_of_file = tokenizer


class Tokenizer:
    def __init__(self, library, store, data):
        self.library = library
        self.data = data  # the store points into it
        self.handle = ctypes.c_void_p()
        library.call("ruda_tokenizer_from_store", store, None, ctypes.byref(self.handle))

    def __del__(self):
        if self.handle:
            self.library.dll.ruda_release(self.handle)

    def encode(self, text, parse_special=False, add_special=False):
        data = text if isinstance(text, bytes) else text.encode("utf-8")
        flags = (2 if parse_special else 0) | (1 if add_special else 0)
        capacity = len(data) * 4 + 8
        tokens = (ctypes.c_int32 * capacity)()
        count = ctypes.c_uint64()
        size = ctypes.c_uint64(len(data))
        self.library.call(
            "ruda_tokenizer_encode",
            self.handle,
            data,
            size,
            flags,
            tokens,
            ctypes.c_uint64(capacity),
            ctypes.byref(count),
        )
        return list(tokens[: count.value])

    def decode(self, tokens, flags=0):
        array = (ctypes.c_int32 * max(len(tokens), 1))(*tokens)
        return self._text("ruda_tokenizer_decode", self.handle, array, ctypes.c_uint64(len(tokens)), flags)

    def stream(self, tokens):
        state = TextStream(struct_size=ctypes.sizeof(TextStream))
        parts = [self._text("ruda_text_stream_push", self.handle, ctypes.byref(state), t) for t in tokens]
        parts.append(self._text("ruda_text_stream_end", ctypes.byref(state)))
        return "".join(parts)

    def _text(self, name, *args):
        needed = ctypes.c_uint64()
        self.library.call(name, *args, None, ctypes.c_uint64(0), ctypes.byref(needed))
        buffer = ctypes.create_string_buffer(needed.value)
        self.library.call(name, *args, buffer, needed, ctypes.byref(needed))
        return buffer.raw[: needed.value - 1].decode("utf-8")


def read_tables(library, path):
    """Token tables of a file, read through the store's C API."""
    store = library.open(path)

    def find(key):
        index = ctypes.c_uint64()
        library.call("ruda_store_meta_find", store, key.encode(), ctypes.byref(index))
        return index

    def strings(key):
        index, data, size, out, element = find(key), ctypes.c_void_p(), ctypes.c_uint64(), [], 0
        while True:
            status = library.dll.ruda_store_meta_string(
                store, index, ctypes.c_uint64(element), ctypes.byref(data), ctypes.byref(size)
            )
            if status:
                return out
            out.append(ctypes.string_at(data.value, size.value).decode("utf-8"))
            element += 1

    def ints(key, count):
        index, value = find(key), ctypes.c_int64()
        out = []
        for element in range(count):
            library.call("ruda_store_meta_i64", store, index, ctypes.c_uint64(element), ctypes.byref(value))
            out.append(value.value)
        return out

    tokens = strings("tokenizer.ggml.tokens")
    tables = {
        "tokens": tokens,
        "types": ints("tokenizer.ggml.token_type", len(tokens)),
        "merges": strings("tokenizer.ggml.merges"),
        "pre": strings("tokenizer.ggml.pre")[0],
    }
    library.dll.ruda_release(store)
    return tables
