# tests/bindings/chat_ends.py - how the chat examples end: lost output, readers that leave, Ctrl-C; what they tell.
# SPDX-License-Identifier: Apache-2.0
"""usage: chat_ends.py ROOT BUILD MODEL (LANGUAGE PROGRAM)...    LANGUAGE is c, python, csharp or java"""

import fcntl
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import sys
import termios
import time

import chat

STOPS = ("c", "python")  # there Ctrl-C stops an answer; the platforms of the others have it end the program
PIPE_BYTES = 4096
SECONDS = 60
LONG = ["--max-tokens", "8000", "--context", "8192"]


def check(condition, what):
    if not condition:
        sys.exit(what)


def lost_output(language, start, environment):
    """A full disk and a closed stdout are told, a reader that leaves is not."""

    def run(options, **place):
        done = subprocess.run([*start, *options], env=environment, input=b"a\nb\n", stderr=subprocess.PIPE, **place)
        return done.returncode, done.stderr.decode()

    for options in (["--quiet"], ["--quiet", "--prompt", "a"], ["--help"]):
        with open("/dev/full", "wb") as full:
            code, told = run(options, stdout=full)
        check(code == 1, f"{language} {options}, a full disk: {code}, {told!r}")
        check(told.startswith("ruda-chat: stdout: ") and told.count("\n") == 1, f"{language}, a full disk: {told!r}")
        reader, writer = os.pipe()
        os.close(reader)
        code, told = run(options, stdout=writer)
        os.close(writer)
        check(code in (141, -signal.SIGPIPE) and told == "", f"{language} {options}, no reader: {code}, {told!r}")
    if language != "csharp":  # mono opens /dev/null in its place
        code, told = run(["--quiet"], preexec_fn=lambda: os.close(1))
        check(code == 1 and "stdout" in told, f"{language}, stdout closed: {code}, {told!r}")


def no_questions(start, environment):
    """A closed stdin is an empty one: no file of the program takes its place."""
    place = {"env": environment, "stdin": subprocess.DEVNULL, "capture_output": True, "timeout": SECONDS}
    done = subprocess.run([*start, "--quiet"], preexec_fn=lambda: os.close(0), **place)
    found = (done.returncode, done.stdout, done.stderr)
    check(found == (0, b"", b""), f"{start}, stdin closed: {found}")


def no_file(language, start, environment):
    """A directory is no stdin."""
    folder = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    done = subprocess.run([*start, "--quiet"], env=environment, stdin=folder, capture_output=True, timeout=SECONDS)
    os.close(folder)
    told = r"ruda-chat: stdin: Is a directory\n" if language != "python" else r".*<stdin> is a directory[\s\S]*"  # its own words
    found = (done.returncode, done.stdout, done.stderr.decode())
    check(found[:2] == (1, b"") and re.fullmatch(told, found[2]), f"{language}, a directory as stdin: {found}")


def nothing_told(start, environment):
    """Without a stderr the answers and the exit code are the same: of a question, of a conversation in which a message is
    refused, of a wrong option."""
    place = {"env": environment, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "timeout": SECONDS}
    talk = b"first turn\nsecond turn\n" + b"a" * 30000 + b"\nthird\n"
    runs = [(["--prompt", "a"], b"", 0), (["--context", "64"], talk, 1), (["--bogus"], b"", 2)]
    for options, typed, code in runs:
        asked = [*start, "--max-tokens", "4", *options]
        told, untold = (subprocess.run(asked, input=typed, preexec_fn=act, **place) for act in (None, lambda: os.close(2)))
        found = (untold.returncode, untold.stdout)
        check(found == (code, told.stdout) and (code == 2) == (told.stdout == b""), f"{asked}, stderr closed: {found}, expected {told}")


def counts(language, start, environment):
    done = subprocess.run([*start, "--max-tokens", "4"], env=environment, input=b"a\nb\n", capture_output=True)
    told = re.sub(r"\d+\.\d+ tokens/s", "N tokens/s", done.stderr.decode())
    return re.sub(r"loaded in \d+\.\d+ s", "loaded", told)


class Chat:
    """A program on a terminal, with a small pipe for what it answers: a long answer waits there to be read."""

    def __init__(self, start, environment, typed=True):
        self.terminal, theirs = pty.openpty()
        self.answers, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_BYTES)
        self.told = b""
        self.program = subprocess.Popen(
            [*start, *LONG],
            env=environment,
            stdin=theirs if typed else subprocess.DEVNULL,
            stdout=writer,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # ignored in background jobs
        )
        os.close(theirs)
        os.close(writer)

    def wait(self, what, ready):
        end = time.monotonic() + SECONDS
        while not ready():
            check(time.monotonic() < end, f"{self.program.args}: no {what}, told {self.told!r}")
            time.sleep(0.01)

    def hear(self, text):
        os.set_blocking(self.terminal, False)

        def heard():
            try:
                self.told += os.read(self.terminal, 4096)
            except OSError:
                pass
            return text in self.told

        self.wait(text, heard)
        self.told = self.told.split(text, 1)[1]

    def answering(self):
        """Much is written, and far more is to come."""

        def much():
            size = struct.unpack("i", fcntl.ioctl(self.answers, termios.FIONREAD, b"\0" * 4))[0]
            return size > PIPE_BYTES // 2

        self.wait("answer", much)

    def interrupt(self):
        self.program.send_signal(signal.SIGINT)

    def read(self):
        """Up to the end of the answer."""
        os.set_blocking(self.answers, False)
        got = b""

        def ended():
            nonlocal got
            try:
                piece = os.read(self.answers, 65536)
            except BlockingIOError:
                return False
            got += piece
            return not piece or got.endswith(b"\n")

        self.wait("end of the answer", ended)
        return got

    def close(self):
        self.read()
        code = self.program.wait(SECONDS)
        os.close(self.terminal)
        os.close(self.answers)
        return code


def interrupts(language, start, environment):
    ended = (130,) if language in STOPS else (130, -signal.SIGINT)
    if language in STOPS:
        # Twice, and again at the prompt.
        run = Chat(start, environment)
        for _ in range(2):
            run.hear(b"> ")
            os.write(run.terminal, b"a\n")
            run.answering()
            run.interrupt()
            run.read()
            run.hear(b"[stopped]")
        run.hear(b"> ")
        run.interrupt()
        run.hear(b"\r\n")
        code = run.close()
        check(code == 130 and b"Traceback" not in run.told, f"{language}, at the prompt: {code}, {run.told!r}")
    run = Chat([*start, "--prompt", "a"], environment, typed=False)
    run.answering()
    run.interrupt()
    code = run.close()
    check(code in ended, f"{language}, one answer: {code}, {run.told!r}")


def main():
    root, build, model = map(pathlib.Path, sys.argv[1:4])
    languages = list(zip(sys.argv[4::2], sys.argv[5::2]))
    told = {}
    for language, program in languages:
        start, environment = chat.command(root, build, language, program)
        start += ["--model", str(model), "--backend", "cpu", "--threads", "1"]
        lost_output(language, start, environment)
        no_questions(start, environment)
        no_file(language, start, environment)
        nothing_told(start, environment)
        interrupts(language, start, environment)
        told[language] = counts(language, start, environment)
    check(len(set(told.values())) == 1 and "(stopped at --max-tokens)" in told["c"], f"not the same: {told}")
    print(f"ends alike: {', '.join(name for name, _ in languages)}")


if __name__ == "__main__":
    main()
