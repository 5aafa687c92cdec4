# tests/model/tokenizer_oracle.py - compares the tokenizer with the tokenizers package on thousands of texts.
# SPDX-License-Identifier: Apache-2.0
#
# usage: tokenizer_oracle.py LIBRUDA [--model FILE.gguf] [--count N] [--seed N]
#        tokenizer_oracle.py --golden tests/data/vectors/tokenizer.h
#
# For each family of splits a small vocabulary is trained with the package's own pre-tokenizer, written to a
# GGUF file in memory, and both sides encode and decode random texts. With --model the vocabulary of a real
# file is used too.
import argparse
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import ruda_text  # noqa: E402

from tokenizers import (
    AddedToken,
    Regex,
    Tokenizer,
    decoders,
    models,
    pre_tokenizers,
    trainers,
)  # noqa: E402

CONTRACTIONS = "(?i:'s|'t|'re|'ve|'m|'ll|'d)"
SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
PREFIX = r"[^\r\n\p{L}\p{N}]?"


def llama3(digits):
    return CONTRACTIONS + "|" + PREFIX + r"\p{L}+|\p{N}" + digits + r"| ?[^\s\p{L}\p{N}]+[\r\n]*|" + SPACES


def cased(digits, tail):
    words = "|".join(
        PREFIX + body + tail for body in (UPPER + "*" + LOWER + "+", UPPER + "+" + LOWER + "*")
    )
    return words + r"|\p{N}" + digits + r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|" + SPACES


QWEN35 = CONTRACTIONS + "|" + PREFIX + r"[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|" + SPACES
DEEPSEEK = [
    r"\p{N}{1,3}",
    "[一-龥぀-ゟ゠-ヿ]+",
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+|"
    r" ?[\p{P}\p{S}]+[\r\n]*|" + SPACES,
]


def regexes(*patterns):
    parts = [pre_tokenizers.Split(Regex(p), "isolated") for p in patterns]
    return pre_tokenizers.Sequence(
        parts + [pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)]
    )


def gpt2():
    return pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)


FAMILIES = {
    "gpt-2": gpt2(),
    "smollm": pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), gpt2()]),
    "llama-bpe": regexes(llama3("{1,3}")),
    "dbrx": regexes(llama3("{1,3}")),
    "qwen2": regexes(llama3("")),
    "qwen35": regexes(QWEN35),
    "gpt-4o": regexes(cased("{1,3}", CONTRACTIONS + "?")),
    "tekken": regexes(cased("", "")),
    "deepseek-v3": regexes(*DEEPSEEK),
}
WHOLE_WORDS = {"llama-bpe", "tekken"}

CORPUS = [
    "The quick brown fox doesn't jump; they'll say it's 12345 times lazier "
    "than I'd hoped, we've seen 99.5% of it.",
    "def main(argc, argv):\n    for i in range(10):\n\treturn {'key': [1, 2, 3], \"x\": None}"
    "  # comment\r\n\r\n",
    "Größe, naïve café, señor, Straße. ПРИВЕТ мир, как дела? Ελληνικά σίγμα ΣΑΣ. İstanbul ıspanak.",
    "日本語のテキスト、漢字とカタカナ。中文文本没有空格。한국어 문장도 있습니다.",
    "مرحبا بالعالم שלום עולם नमस्ते दुनिया สวัสดีชาวโลก ელფ ԱԲԳ",
    "👩‍👩‍👧‍👦 🇩🇪 👍🏽 😀😃 ☃︎ ★★★ → ← ∑∏∫ €£¥",
    "CamelCaseWords HTTPServer iPhone McDonald's XMLHttpRequest snake_case_name "
    "kebab-case //comment/*block*/",
]

ATOMS = (
    list("abcdeAZß 's't'll'RE'ſ\t\n\r 0123456789.,;:!?-_/\\\"'()[]{}<>|@#$%^&*+=~`")
    + [
        "  ",
        "    ",
        "\r\n",
        "\n\n",
        " \n",
        "\n ",
        "\t\t",
        "\u00a0",
        "\u3000",
        "\u2028",
        "\x85",
        "\x1c",
        "\x00",
        "\x04",
    ]
    + [
        "é",
        "e\u0301",
        "ü",
        "ǅ",
        "ʰ",
        "ª",
        "İ",
        "ſ",
        "\u212a",
        "Σ",
        "σ",
        "Ж",
        "ж",
        "א",
        "ب",
        "ك",
        "न",
        "्",
        "ि",
        "ก",
        "ั",
    ]
    + [
        "中",
        "国",
        "の",
        "カ",
        "ー",
        "한",
        "Ⅳ",
        "½",
        "²",
        "٣",
        "५",
        "𝟘",
        "𝐀",
        "👍",
        "🏽",
        "\u200d",
        "👩",
        "🇩",
        "\ufe0f",
        "\ufffd",
    ]
    + [
        "'s",
        "'LL",
        "'Ve",
        "don't",
        "I'M",
        "<|im_start|>",
        "<|im_end|>",
        "<|im_",
        "word",
        "Word",
        "WORD",
        "wORD",
        "123456",
    ]
)


def texts(rng, count):
    yield ""
    for atom in ATOMS:
        yield atom
    for atom in ATOMS[:200]:
        yield "a" + atom
        yield atom + "a"
        yield " " + atom
        yield atom + " " + atom
    for n in (1, 2, 3, 4, 7, 15, 16, 17, 100, 3000):
        for atom in ("a", " ", "\n", "1", "!", "中", "é", "Z", "ab", " a"):
            yield atom * n
    yield from CORPUS
    for _ in range(count):
        kind = rng.random()
        n = rng.randrange(1, 40)
        if kind < 0.6:
            yield "".join(rng.choice(ATOMS) for _ in range(n))
        elif kind < 0.8:
            line = rng.choice(CORPUS)
            a = rng.randrange(len(line))
            yield line[a : a + rng.randrange(1, 80)]
        else:
            points = [
                rng.randrange(rng.choice((0x80, 0x800, 0x3000, 0x10000, 0x20000, 0x110000)))
                for _ in range(n)
            ]
            yield "".join(chr(c) for c in points if not 0xD800 <= c < 0xE000)


def train(pre_tokenizer, whole_words):
    tokenizer = Tokenizer(models.BPE(ignore_merges=whole_words))
    tokenizer.pre_tokenizer = pre_tokenizer
    trainer = trainers.BpeTrainer(
        vocab_size=900, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()
    )
    tokenizer.train_from_iterator(CORPUS * 3, trainer)
    return tokenizer


def trained_tables(tokenizer):
    import json

    model = json.loads(tokenizer.to_str())["model"]
    vocab = sorted(model["vocab"], key=model["vocab"].get)
    return vocab, [" ".join(m) if isinstance(m, list) else m for m in model["merges"]]


def build(vocab, merges, pre_tokenizer, whole_words, specials):
    model = models.BPE(
        vocab={t: i for i, t in enumerate(vocab)},
        merges=[tuple(m.split(" ")) for m in merges],
        ignore_merges=whole_words,
    )
    tokenizer = Tokenizer(model)
    tokenizer.pre_tokenizer = pre_tokenizer
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in specials])
    return tokenizer


def compare(name, ours, theirs, rng, count):
    bad = total = 0
    for text in texts(rng, count):
        total += 1
        want = theirs.encode(text, add_special_tokens=False).ids
        got = ours.encode(text, parse_special=True)
        back = ours.decode(got)
        whole = theirs.decode(want, skip_special_tokens=False)
        streamed = ours.stream(got)
        if got != want or back != whole or streamed != back:
            bad += 1
            if bad <= 5:
                print(
                    f"{name}: {text!r}\n  got  {got}\n  want {want}\n  back {back!r}\n"
                    f"  want {whole!r}\n  stream {streamed!r}"
                )
    # Any sequence of tokens, also such as no text gives: decoding must repair it as the reference does.
    size = theirs.get_vocab_size()
    for _ in range(count // 4):
        total += 1
        ids = [rng.randrange(size) for _ in range(rng.randrange(1, 12))]
        got, want = ours.decode(ids), theirs.decode(ids, skip_special_tokens=False)
        if got != want or ours.stream(ids) != got:
            bad += 1
            if bad <= 5:
                print(
                    f"{name}: decode {ids}\n  got  {got!r}\n  want {want!r}\n  stream {ours.stream(ids)!r}"
                )
    print(f"{name}: {total} cases, {bad} differ")
    return bad


GOLDEN_TEXTS = [
    "",
    "Hello, world!",
    "It's 12345 o'clock; THEY'LL say I'D've",
    "  two  spaces ",
    "a\n\n b\r\n\t c   \n",
    "x" * 40,
    "caf\u00e9 na\u00efve stra\u00dfe",
    "\u041f\u0440\u0438\u0432\u0435\u0442 \u043c\u0438\u0440",
    "\u4e2d\u6587 123\u0663",
    "\U0001f469\u200d\U0001f467 ok",
    "e\u0301\u0301 \u093f",
    "HTTPServer iPhone //path/\n",
    "a\x00b\x04c",
    "100.000,5e-7 \u00bd",
    "<|im_start|>user\nhi<|im_end|>",
    "<|im_<|im_start|>x",
    "\u3000\u00a0\u2028end",
    "'\u017f 'S 'RE 'll",
    "\u01c5 \u02b0A\u00aab",
]


def c_text(text):
    data = text.encode("utf-8")
    out = "".join(chr(b) if 32 <= b < 127 and chr(b) not in '"\\?' else "\\%03o" % b for b in data)
    return '"%s"' % out


def wrapped(items, indent="    "):
    lines, line = [], indent
    for item in items:
        if len(line) + len(item) > 108:
            lines.append(line.rstrip())
            line = indent
        line += item + ", "
    return "\n".join(lines + [line.rstrip()])


def write_golden(path):
    """One vocabulary for all families, merged across every boundary, so that a wrong split shows."""
    base = Tokenizer(models.BPE())
    base.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    lines = [t * 4 for t in [t for t in GOLDEN_TEXTS if "<|" not in t] + CORPUS[:3] + ["".join(CORPUS)]]
    base.train_from_iterator(
        lines, trainers.BpeTrainer(vocab_size=560, show_progress=False, initial_alphabet=alphabet)
    )
    vocab, merges = trained_tables(base)
    specials = ["<|im_start|>", "<|im_end|>", "<|im_", "<|im_start|>x"]
    out = [
        "/* tests/data/vectors/tokenizer.h - token tables and tokens of texts, by the tokenizers package. */",
        "/* SPDX-License-Identifier: Apache-2.0 */",
        "/* Made by tests/model/tokenizer_oracle.py --golden. */",
        "static const char *const golden_tokens[] = {",
        wrapped(c_text(t) for t in vocab + specials),
        "};",
        "static const char *const golden_merges[] = {",
        wrapped(c_text(m) for m in merges),
        "};",
        "/* The last tokens are control tokens. */",
        "enum { golden_special_count = %d };" % len(specials),
        "static const struct {",
        "  const char *pre, *text;",
        "  int bytes, count;",
        "  short tokens[64];",
        "} golden_cases[] = {",
    ]
    for name, pre_tokenizer in FAMILIES.items():
        theirs = build(vocab, merges, pre_tokenizer, name in WHOLE_WORDS, specials)
        for text in GOLDEN_TEXTS:
            ids = theirs.encode(text, add_special_tokens=False).ids
            assert len(ids) <= 64
            head = '    {"%s", %s, %d, %d,' % (name, c_text(text), len(text.encode("utf-8")), len(ids))
            out += [
                head,
                wrapped(map(str, ids), "     {").rstrip(",").replace("\n     {", "\n      ") + "}},",
            ]
    pathlib.Path(path).write_text(
        "\n".join(out + ["};", ""]).replace("{}},", "{0}},").replace("     {}", "     {0}")
    )


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library", nargs="?")
    parser.add_argument("--golden", help="write the vectors of the C test to this file and stop")
    parser.add_argument("--model")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    args = parser.parse_args()
    if args.golden:
        return write_golden(args.golden)
    print("seed", args.seed)
    library = ruda_text.Library(args.library)
    bad = 0
    for name, pre_tokenizer in FAMILIES.items():
        vocab, merges = trained_tables(train(pre_tokenizer, name in WHOLE_WORDS))
        # Words that no merge leads to: only a tokenizer that looks up whole pieces first finds them.
        vocab += ["Ġhoped", "range"] if name in WHOLE_WORDS else []
        vocab = list(dict.fromkeys(vocab))
        specials = ["<|im_start|>", "<|im_end|>", "<|im_", "<|im_start|>x"]
        theirs = build(vocab, merges, pre_tokenizer, name in WHOLE_WORDS, specials)
        types = [1] * len(vocab) + [3] * len(specials)
        ours = library.tokenizer(ruda_text.gguf_tokenizer(name, vocab + specials, types, merges))
        bad += compare(name, ours, theirs, random.Random(args.seed), args.count)
    if args.model:
        ours = library.tokenizer_of_file(args.model)
        tables = ruda_text.read_tables(library, args.model)
        specials = [t for t, kind in zip(tables["tokens"], tables["types"]) if kind == 3]
        theirs = build(tables["tokens"], tables["merges"], FAMILIES[tables["pre"]], False, specials)
        bad += compare(pathlib.Path(args.model).name, ours, theirs, random.Random(args.seed), args.count)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
