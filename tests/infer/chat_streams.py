# tests/infer/chat_streams.py - what ruda-chat writes where, on a terminal and on pipes.
# SPDX-License-Identifier: Apache-2.0
"""usage: chat_streams.py PROGRAM MODEL"""

import os
import pty
import re
import subprocess
import sys

QUESTIONS = b"first turn\nsecond turn\n"
SPEED = re.compile(r"prompt: \d+ tokens.*\nanswer: \d+ tokens.*\n")


def check(condition, what):
    if not condition:
        sys.exit(what)


def read_all(terminal):
    pieces = []
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # the last writer has closed it
            break
        if not piece:
            break
        pieces.append(piece)
    os.close(terminal)
    return b"".join(pieces).decode().replace("\r\n", "\n")


def run(command, questions, terminals=(), code=0):
    """stdout and stderr; those of "stdin" and "stderr" that are named are terminals, all else are pipes."""
    opened = {name: pty.openpty() for name in terminals}
    place = {name: opened[name][1] if name in opened else subprocess.PIPE for name in ("stdin", "stderr")}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, **place)
    for _, theirs in opened.values():
        os.close(theirs)
    if "stdin" in opened:
        os.write(opened["stdin"][0], questions + b"\x04")  # Ctrl-D at the beginning of a line
        questions = None
    out, errors = process.communicate(questions)
    errors = read_all(opened["stderr"][0]) if "stderr" in opened else errors.decode()
    if "stdin" in opened:
        os.close(opened["stdin"][0])
    check(process.returncode == code, f"{terminals}: exit code {process.returncode}, {errors!r}")
    return out.decode(), errors


def main():
    program, model = sys.argv[1:]
    command = [program, "--model", model, "--backend", "cpu", "--threads", "1", "--max-tokens", "8"]
    answers, nothing = run(command + ["--quiet"], QUESTIONS)
    check(answers.count("\n") >= 2 and nothing == "", f"--quiet: {answers!r}, {nothing!r}")

    # Pipes: answers alone on stdout, and on stderr no progress and no prompt between what is told.
    long = b"word " * 600 + b"\n"
    # A message that is too long is refused alone, and the exit code tells.
    for extra, questions, code in (
        ([], QUESTIONS, 0),
        ([], QUESTIONS + long, 1),
        ([], long + QUESTIONS, 1),
        (["--prompt", "first turn"], b"", 0),
    ):
        out, errors = run(command + extra, questions, code=code)
        check(extra or out.startswith(answers), f"pipes: {out!r}, with --quiet {answers!r}")
        check("\r" not in errors and "%" not in errors and "> " not in errors, f"pipes: {errors!r}")
        check(re.match(r".+ parameters, .+, loaded in .+ s\n", errors), f"pipes: no line of the model: {errors!r}")
        check(len(SPEED.findall(errors)) >= (1 if extra else 2), f"pipes: no speed: {errors!r}")

    # A terminal that shows what is told, questions from a pipe: progress, nothing that asks for them.
    out, errors = run(command, QUESTIONS, ["stderr"])
    check(out == answers, f"stderr a terminal: {out!r}, with --quiet {answers!r}")
    check("\rloading " in errors and "> " not in errors, f"stderr a terminal: {errors!r}")
    # Typed questions: a prompt for each, and for the end.
    out, errors = run(command, QUESTIONS, ["stdin", "stderr"])
    check(out == answers and errors.count("> ") == 3, f"terminals: {out!r}, {errors!r}")
    # A prompt that takes long shows how far it is.
    _, errors = run(command + ["--context", "8192"], long, ["stderr"])
    check("\rreading " in errors, f"a long prompt: {errors!r}")
    # Typed questions, all told into a file: nobody would see a prompt there.
    _, errors = run(command, QUESTIONS, ["stdin"])
    check("\r" not in errors and "> " not in errors, f"stdin a terminal: {errors!r}")
    _, errors = run(command + ["--quiet"], QUESTIONS, ["stdin", "stderr"])
    check(errors == "", f"--quiet: {errors!r}")


if __name__ == "__main__":
    main()
