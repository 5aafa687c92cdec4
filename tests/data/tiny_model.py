# tests/data/tiny_model.py - writes a small random model as a GGUF file, with a byte-level tokenizer and a chat template.
# SPDX-License-Identifier: Apache-2.0
"""usage: tiny_model.py OUT.gguf [--arch llama|qwen2] [--weights f32|f16|bf16|q4_0|q4_1|q5_0|q5_1|q8_0] [--seed N] [--tied]
                   [--shape tiny|smollm2-135m] [--key NAME=VALUE]... [--rope-factors X,X,..] [--scored]

The same options give the same bytes. Weights are normal with standard deviation 0.08, so that tokens differ from step to
step; tokens 0..255 are the bytes, then a few pairs, then the special tokens <|im_start|> and <|im_end|>. A large shape
serves measurements: its matrices repeat 64 random rows. --key sets the metadata key <arch>.NAME: digits are an unsigned integer,
other numbers an F32, everything else a text. --rope-factors are the values of rope_freqs.weight. --scored:
a vocabulary of scored pieces, each with a space before it."""

import argparse
import random
import struct

# layers, width, ff width, q heads, kv heads, head dim, context, tokens
SHAPES = {"tiny": (2, 64, 96, 4, 2, 16, 512, 266), "smollm2-135m": (30, 576, 1536, 9, 3, 64, 8192, 49152)}
PAIRS = ["t h", "e r", "i n", "th e", "Ġ the", "h e", "l l", "o n"]
SPECIAL = ["<|im_start|>", "<|im_end|>"]
TEMPLATE = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>' + '\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)
TYPES = {"f32": 0, "f16": 1, "q4_0": 2, "q4_1": 3, "q5_0": 6, "q5_1": 7, "q8_0": 8, "bf16": 30}


def byte_letters():
    letters, extra = {}, 0
    for value in range(256):
        if 33 <= value <= 126 or 161 <= value <= 172 or 174 <= value <= 255:
            letters[value] = chr(value)
        else:
            letters[value] = chr(256 + extra)
            extra += 1
    return letters


def text(value):
    raw = value.encode()
    return struct.pack("<Q", len(raw)) + raw


def half(x):
    return struct.pack("<e", x)


def pack(kind, row):
    """One row of floats in a format; blocks of 32 by the plain rule: the range spread over the codes."""
    if kind == "f32":
        return struct.pack(f"<{len(row)}f", *row)
    if kind == "f16":
        return struct.pack(f"<{len(row)}e", *row)
    if kind == "bf16":
        return b"".join(struct.pack("<f", x)[2:] for x in row)
    out = bytearray()
    for start in range(0, len(row), 32):
        block = row[start : start + 32]
        if kind == "q8_0":
            d = max(map(abs, block)) / 127 or 1.0
            out += half(d) + struct.pack("<32b", *(max(-127, min(127, round(x / d))) for x in block))
            continue
        bits = 5 if kind.startswith("q5") else 4
        levels = (1 << bits) - 1
        if kind.endswith("_0"):
            d = max(map(abs, block)) / ((levels + 1) / 2 - 1) or 1.0
            codes = [max(0, min(levels, round(x / d) + (levels + 1) // 2)) for x in block]
            out += half(d)
        else:
            low = min(block)
            d = (max(block) - low) / levels or 1.0
            codes = [max(0, min(levels, round((x - low) / d))) for x in block]
            out += half(d) + half(low)
        if bits == 5:
            out += struct.pack("<I", sum((code >> 4) << i for i, code in enumerate(codes)))
        out += bytes((codes[i] & 15) | (codes[i + 16] & 15) << 4 for i in range(16))
    return bytes(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("out")
    parser.add_argument("--arch", default="llama", choices=["llama", "qwen2"])
    parser.add_argument("--weights", default="q4_1", choices=sorted(TYPES))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tied", action="store_true")
    parser.add_argument("--shape", default="tiny", choices=sorted(SHAPES))
    parser.add_argument("--key", action="append", default=[])
    parser.add_argument("--rope-factors")
    parser.add_argument("--scored", action="store_true")
    args = parser.parse_args()
    layers, width, ff, q_heads, kv_heads, head, context, vocab = SHAPES[args.shape]
    rng = random.Random(args.seed)
    letters = byte_letters()
    tokens = [letters[value] for value in range(256)] + [pair.replace(" ", "") for pair in PAIRS]
    tokens += [f"<{i}>" for i in range(vocab - len(tokens) - len(SPECIAL))] + SPECIAL

    meta = []

    def scalar(key, code, fmt, value):
        meta.append(text(key) + struct.pack("<I" + fmt, code, value))

    def string(key, value):
        meta.append(text(key) + struct.pack("<I", 8) + text(value))

    def strings(key, values):
        meta.append(text(key) + struct.pack("<IIQ", 9, 8, len(values)) + b"".join(map(text, values)))

    arch = args.arch
    string("general.architecture", arch)
    string("general.name", "tiny " + arch)
    for key, value in [
        ("block_count", layers),
        ("context_length", context),
        ("embedding_length", width),
        ("feed_forward_length", ff),
        ("attention.head_count", q_heads),
        ("attention.head_count_kv", kv_heads),
        ("rope.dimension_count", head),
    ]:
        scalar(f"{arch}.{key}", 4, "I", value)
    scalar(f"{arch}.attention.layer_norm_rms_epsilon", 6, "f", 1e-5)
    given = dict(item.partition("=")[::2] for item in args.key)
    scalar(f"{arch}.rope.freq_base", 6, "f", float(given.pop("rope.freq_base", 10000.0)))
    for key, value in given.items():
        if value.isdigit():
            scalar(f"{arch}.{key}", 4, "I", int(value))
        else:
            try:
                scalar(f"{arch}.{key}", 6, "f", float(value))
            except ValueError:
                string(f"{arch}.{key}", value)
    if args.scored:
        string("tokenizer.ggml.model", "llama")
        tokens = [f"\u2581w{i}" for i in range(vocab - len(SPECIAL))] + tokens[vocab - len(SPECIAL) :]
        meta.append(text("tokenizer.ggml.scores") + struct.pack("<IIQ", 9, 6, vocab) + struct.pack(f"<{vocab}f", *range(vocab)))
    else:
        string("tokenizer.ggml.model", "gpt2")
        string("tokenizer.ggml.pre", "smollm" if arch == "llama" else "qwen2")
    strings("tokenizer.ggml.tokens", tokens)
    meta.append(
        text("tokenizer.ggml.token_type")
        + struct.pack("<IIQ", 9, 5, vocab)
        + struct.pack(f"<{vocab}i", *([1] * (vocab - len(SPECIAL)) + [3] * len(SPECIAL)))
    )
    if not args.scored:
        strings("tokenizer.ggml.merges", PAIRS)
    scalar("tokenizer.ggml.bos_token_id", 4, "I", vocab - 2)
    scalar("tokenizer.ggml.eos_token_id", 4, "I", vocab - 1)
    scalar("tokenizer.ggml.add_bos_token", 7, "B", 0)
    string("tokenizer.chat_template", TEMPLATE)

    tensors = []

    def matrix(name, rows, cols, kind=None, scale=0.08):
        kind = kind or args.weights
        made = rows if args.shape == "tiny" else min(rows, 64)
        packed = [pack(kind, [rng.gauss(0, scale) for _ in range(cols)]) for _ in range(made)]
        data = b"".join(packed if made == rows else rng.choices(packed, k=rows))
        tensors.append((name, (cols, rows), TYPES[kind], data))

    def vector(name, count, mean):
        tensors.append((name, (count,), 0, pack("f32", [mean + rng.gauss(0, 0.1) for _ in range(count)])))

    matrix("token_embd.weight", vocab, width, "q8_0" if args.weights.startswith("q") else None, 1.0)
    for layer in range(layers):
        blk = f"blk.{layer}."
        vector(blk + "attn_norm.weight", width, 1)
        for name, rows in [("q", q_heads * head), ("k", kv_heads * head), ("v", kv_heads * head)]:
            matrix(blk + f"attn_{name}.weight", rows, width)
            if arch == "qwen2":
                vector(blk + f"attn_{name}.bias", rows, 0)
        matrix(blk + "attn_output.weight", width, q_heads * head)
        vector(blk + "ffn_norm.weight", width, 1)
        matrix(blk + "ffn_gate.weight", ff, width)
        matrix(blk + "ffn_up.weight", ff, width)
        matrix(blk + "ffn_down.weight", width, ff)
    vector("output_norm.weight", width, 1)
    if args.rope_factors:
        factors = list(map(float, args.rope_factors.split(",")))
        tensors.append(("rope_freqs.weight", (len(factors),), 0, pack("f32", factors)))
    if not args.tied:
        matrix("output.weight", vocab, width, None, 0.3)

    infos, data = b"", b""
    for name, shape, kind, raw in tensors:
        infos += text(name) + struct.pack(f"<I{len(shape)}QIQ", len(shape), *shape, kind, len(data))
        data += raw + bytes(-len(raw) % 32)
    start = struct.pack("<4sIQQ", b"GGUF", 3, len(tensors), len(meta)) + b"".join(meta) + infos
    with open(args.out, "wb") as file:
        file.write(start + bytes(-len(start) % 32) + data)


if __name__ == "__main__":
    main()
