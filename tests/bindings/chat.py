# tests/bindings/chat.py - the chat example answers alike in C, Python, C# and Java.
# SPDX-License-Identifier: Apache-2.0
"""usage: chat.py ROOT BUILD MODEL (LANGUAGE PROGRAM)...    LANGUAGE is c, python, csharp or java"""

import os
import pathlib
import subprocess
import sys

# Options, what is typed the exit code.
RUNS = [
    (["--prompt", "What is a tensor?", "--max-tokens", "24"], None, 0),
    (["--prompt", "Grüße, 世界 🙂", "--system", "Be brief.", "--max-tokens", "12"], None, 0),
    (["--prompt", "What is a tensor?", "--system", "", "--max-tokens", "24"], None, 0),
    (
        ["--prompt", "the", "--max-tokens", "40", "--temperature", "0.9", "--top-k", "30", "--top-p", "0.95"]
        + ["--min-p", "0.01", "--repetition-penalty", "1.1", "--seed", "18446744073709551615"],
        None,
        0,
    ),
    (["--max-tokens", "8", "--context", "200"], "first turn\nsecond turn\n", 0),
    # Characters that end a text elsewhere, and bytes that are none.
    (["--max-tokens=8", "--model=ignored"], b"a\0b\n\0c\n\xff d\n", 0),
    # The oldest turns leave a full context, the system message stays; a message too long for it is refused alone,
    # whatever its length.
    (
        ["--max-tokens", "8", "--context", "64", "--system", "Be"],
        "hello\nsecond turn is here\n \nthird\n" + "a" * 30000 + "\nfifth\n",
        1,
    ),
]

WITHIN_100 = "expected 0 or a number from 1e-37 to 100"
# Options, exit code, and what the last line of stderr is (None: the usage on stdout).
REFUSED = [
    (["--help"], 0, None),
    (["-h"], 0, None),
    (["--bogus"], 2, "unknown option --bogus"),
    (["bogus", "x"], 2, "unknown option bogus"),
    (["--top-k"], 2, "--top-k needs a value"),
    ([], 2, "--model is missing; see --help"),
    (["--backend", "gpu"], 2, '--backend is "gpu", expected auto, cpu or cuda'),
    (["--max-tokens", "12x"], 2, '--max-tokens is "12x", expected a whole number from 0 to 9223372036854775807'),
    (["--top-k", "-1"], 2, '--top-k is "-1", expected a whole number from 0 to 2147483647'),
    (["--seed", "18446744073709551616"], 2,
     '--seed is "18446744073709551616", expected a whole number from 0 to 18446744073709551615'),
    (["--temperature", "1e"], 2, f'--temperature is "1e", {WITHIN_100}'),
    (["--temperature=nan"], 2, f'--temperature is "nan", {WITHIN_100}'),
    (["--temperature", "1e-38"], 2, f'--temperature is "1e-38", {WITHIN_100}'),
    (["--repetition-penalty", "101"], 2, f'--repetition-penalty is "101", {WITHIN_100}'),
    (["--min-p", ""], 2, '--min-p is "", expected a number from 0 to 0.999999'),
    (["--min-p", "1"], 2, '--min-p is "1", expected a number from 0 to 0.999999'),
    (["--threads=99999"], 2, '--threads is "99999", expected a whole number from 0 to 4096'),
    (["--context", "16777217"], 2, '--context is "16777217", expected a whole number from 0 to 16777216'),
    (["--top-k="], 2, '--top-k is "", expected a whole number from 0 to 2147483647'),
    (["--quiet=1"], 2, "unknown option --quiet"),
    (["--top-p", "1.5"], 2, '--top-p is "1.5", expected a number from 0 to 1'),
]


def command(root, build, language, program):
    bindings, environment = build / "bindings", dict(os.environ)
    if language == "c":
        return [program], environment
    if language == "python":
        environment["PYTHONPATH"] = str(bindings / "python")
        return [program, str(root / "examples/python/chat.py")], environment
    if language == "csharp":
        environment["MONO_PATH"] = str(bindings / "csharp")
        return [program, str(build / "examples" / "Chat.exe")], environment
    cache = build / "tests" / "bindings" / "java_cache"
    path = f"{bindings / 'java' / 'ruda.jar'}:{build / 'examples' / 'java_classes'}"
    return [program, f"-Druda.native.cache={cache}", "-cp", path, "Chat"], environment


def check_refused(root, build, languages):
    for options, code, expected in REFUSED:
        usages = set()
        for language, program in languages:
            start, environment = command(root, build, language, program)
            done = subprocess.run([*start, *options], env=environment, capture_output=True, text=True)
            # The name of the program and what Ctrl-C does are each one's own.
            usage = "\n".join(line for line in done.stdout.split("\n")[1:] if not line.startswith("Ctrl-C "))
            said = usage if expected is None else done.stderr
            if done.returncode != code or (expected is not None and said != f"ruda-chat: {expected}\n"):
                sys.exit(f"{language} {options}: {done.returncode}, {done.stdout!r}, {done.stderr!r}")
            usages.add(said)
        if len(usages) != 1 or "" in usages:
            sys.exit(f"{options}: not the same in all languages: {usages}")


def main():
    root, build, model = map(pathlib.Path, sys.argv[1:4])
    languages = list(zip(sys.argv[4::2], sys.argv[5::2]))
    for options, typed, code in RUNS:
        typed = typed.encode() if isinstance(typed, str) else typed or b""
        answers = {}
        for language, program in languages:
            start, environment = command(root, build, language, program)
            line = [*start, "--backend", "cpu", "--quiet", *options, f"--model={model}"]
            done = subprocess.run(line, env=environment, input=typed, capture_output=True)
            if done.returncode != code:
                sys.exit(f"{language} {options}: {done.returncode}, {done.stderr.decode(errors='replace')}")
            answers[language] = done.stdout.decode("utf-8")
        first, *others = answers
        if not answers[first].strip():
            sys.exit(f"{first} {options}: no answer")
        for other in others:
            if answers[other] != answers[first]:
                sys.exit(f"{options}: {first} says {answers[first]!r}, {other} says {answers[other]!r}")
    for language, program in languages:
        start, environment = command(root, build, language, program)
        done = subprocess.run([*start, "--model", "/nonexistent.gguf"], env=environment, capture_output=True)
        if done.returncode != 1 or done.stderr.count(b"nonexistent") != 1:
            sys.exit(f"{language}: a missing model gave {done.returncode}, {done.stderr.decode(errors='replace')}")
    check_refused(root, build, languages)
    print(f"{len(RUNS)} conversations are the same in {', '.join(name for name, _ in languages)}")


if __name__ == "__main__":
    main()
