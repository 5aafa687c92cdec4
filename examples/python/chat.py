# examples/python/chat.py - asks a language model: one question with --prompt, or a conversation line by line.
# SPDX-License-Identifier: Apache-2.0
import os
import re
import signal
import sys
import time

import ruda

USAGE = """usage: chat.py --model FILE.gguf [options]   (--name VALUE or --name=VALUE)
  --prompt TEXT       ask once and end (without it: a conversation, one line a turn, end with Ctrl-D)
  --system TEXT       system message
  --max-tokens N      longest answer, 0 = no limit (default 512)
  --temperature T     0 takes the most likely token (default 0)
  --top-k N  --top-p P  --min-p P  --repetition-penalty R  --seed N   (default 0: off, seed 0)
  --backend auto|cpu|cuda  (default auto)
  --threads N         threads of the CPU backend (default 0 = all)
  --context N         tokens of prompt and answer (default 0 = the model's, at most 8192)
  --quiet             the answer only
  -h, --help          this text
Ctrl-C stops an answer; at a prompt, and where questions are not typed, it ends the program.
Exit codes: 0 all was answered, 1 something failed, 2 wrong options, 130 Ctrl-C, 141 nobody reads stdout.
"""
TEXTS = ("model", "prompt", "system")
WHOLE = {  # option: its largest value
    "max-tokens": 2**63 - 1,
    "context": 2**24,
    "top-k": 2**31 - 1,
    "seed": 2**64 - 1,
    "threads": 4096,
}
TO_100 = (1e-37, 100, "0 or a number from 1e-37 to 100")  # 0 is off; the least that F32 divides by
NUMBERS = {  # option: its least and largest value beside 0, and both in words
    "temperature": TO_100,
    "top-p": (0, 1, "a number from 0 to 1"),
    "min-p": (0, 0.999999, "a number from 0 to 0.999999"),
    "repetition-penalty": TO_100,
}
BACKENDS = ("auto", "cpu", "cuda")
INTERRUPTED = 130  # exit code, as shells have it


class Interrupt:
    """What Ctrl-C does: it raises the cancel token of an answer, and ends the program elsewhere."""

    def __init__(self):
        self.answering, self.token = False, ruda.Cancel()
        signal.signal(signal.SIGINT, self.handle)

    def handle(self, *_):
        if not self.answering:
            raise KeyboardInterrupt
        self.token.request()


def say(text):
    """To stdout, and that it arrived: a full disk must not pass for an answer."""
    try:
        print(text, end="", flush=True)
    except OSError as error:
        print(f"ruda-chat: stdout: {error.strerror}", file=sys.stderr, flush=True)
        os._exit(1)  # without another try at what was not written


def wrong(text):
    print(f"ruda-chat: {text}", file=sys.stderr)
    sys.exit(2)


def value_of(name, text):
    if name in TEXTS:
        return text
    said = f'--{name} is "{text}", expected'
    if name == "backend":
        return text if text in BACKENDS else wrong(f"{said} auto, cpu or cuda")
    if name in WHOLE:
        most = WHOLE[name]
        number = int(text) if re.fullmatch("[0-9]{1,40}", text) else -1
        return number if 0 <= number <= most else wrong(f"{said} a whole number from 0 to {most}")
    try:
        number = float(text) if re.fullmatch("[0-9.eE+-]+", text) else -1.0
    except ValueError:
        number = -1.0
    least, most, expected = NUMBERS[name]
    return number if number == 0 or least <= number <= most else wrong(f"{said} {expected}")


def parse(words):
    options = dict.fromkeys((*WHOLE, *NUMBERS), 0)
    options.update({"max-tokens": 512, "model": None, "prompt": None, "system": None, "backend": "auto", "quiet": False})
    words = iter(words)
    for word in words:
        if word in ("-h", "--help"):
            say(USAGE)
            sys.exit(0)
        if word == "--quiet":
            options["quiet"] = True
            continue
        option, equals, text = word.partition("=") if word.startswith("--") else (word, "", "")
        name = option[2:] if option.startswith("--") else ""
        if name not in options or name == "quiet":
            wrong(f"unknown option {option}")
        text = text if equals else next(words, None)
        options[name] = wrong(f"{option} needs a value") if text is None else value_of(name, text)
    if options["model"] is None:
        wrong("--model is missing; see --help")
    return options


def show_loading(done, total):
    print(f"\rloading {100 * done // total:3d} %", end="", file=sys.stderr)


def prompt(session, messages, cancel):
    """Prompts with the conversation, without as many of the oldest turns as the context asks for."""
    first = 1 if messages[0]["role"] == "system" else 0
    dropped = 0
    while True:
        kept = messages[:first] + messages[first + 2 * dropped :]
        try:
            session.prompt_chat(kept, cancel=cancel)
            break
        except ruda.ArgumentError:
            if len(kept) == first + 1:
                raise
        dropped += 1
    if dropped:
        print(f"[the context is full: oldest turns forgotten: {dropped}]", file=sys.stderr)
        messages[:] = kept


def answer(session, messages, options, interrupt):
    """0 = answered, 1 = this message alone was refused and is forgotten, INTERRUPTED = stopped."""
    pieces, result = [], 0
    interrupt.token.reset()
    interrupt.answering = True
    try:
        try:
            prompt(session, messages, interrupt.token)
        except ruda.ArgumentError as error:
            print(f"ruda-chat: this message: {error}", file=sys.stderr)
            messages.pop()
            return 1
        for piece in session.generate(max_tokens=options["max-tokens"], cancel=interrupt.token):
            say(piece)
            pieces.append(piece)
    except ruda.CancelledError:
        result = INTERRUPTED
    finally:
        interrupt.answering = False
    say("\n")
    if result == INTERRUPTED:
        print("[stopped]", file=sys.stderr)
    messages.append({"role": "assistant", "content": "".join(pieces)})
    if not options["quiet"]:
        show_speed(session)
    return result


def show_speed(session):
    def speed(tokens, seconds):
        return f", {tokens / seconds:.1f} tokens/s" if seconds > 0 else ""

    reused = f" (and {session.reused_tokens} from the cache)" if session.reused_tokens else ""
    ends = {ruda.Finish.LENGTH: " (stopped at --max-tokens)", ruda.Finish.CAPACITY: " (stopped: the context is full)"}
    prompted, generated = session.prompt_tokens, session.generated_tokens
    print(f"\nprompt: {prompted} tokens{reused}{speed(prompted, session.prompt_seconds)}", file=sys.stderr)
    end = ends.get(session.finish, "")
    print(f"answer: {generated} tokens{speed(generated, session.generate_seconds)}{end}", file=sys.stderr)


def converse(session, messages, options, interrupt):
    """A refused message leaves the conversation going. Ctrl-C stops one answer where questions are typed, else all."""
    typed, result = sys.stdin.isatty(), 0
    asks = typed and sys.stderr.isatty() and not options["quiet"]
    sys.stdin.reconfigure(encoding="utf-8", errors="replace")
    while True:
        if asks:
            print("> ", end="", file=sys.stderr, flush=True)
        try:
            line = sys.stdin.readline()
        except OSError as error:
            print(f"ruda-chat: stdin: {error.strerror}", file=sys.stderr)
            return 1
        except KeyboardInterrupt:
            if asks:
                print(file=sys.stderr)
            raise
        if not line:
            return result
        if line.strip():
            messages.append({"role": "user", "content": line.rstrip("\r\n")})
            ended = answer(session, messages, options, interrupt)
            if ended == INTERRUPTED and not typed:
                return ended
            result = 1 if ended == 1 else result


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # nobody reads: ends as other programs do
    if sys.stdout is None:
        print("ruda-chat: stdout is closed", file=sys.stderr)
        return 1
    if sys.stdin is None:
        sys.stdin = open(os.devnull, encoding="utf-8")  # else the model would take its place
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")
    sys.stdout.reconfigure(encoding="utf-8")
    options = parse(sys.argv[1:])
    interrupt = Interrupt()
    start = time.time()
    with ruda.Context(options["backend"], host_threads=options["threads"]) as ctx:
        progress = show_loading if sys.stderr.isatty() and not options["quiet"] else None
        with ruda.Model.load(ctx, options["model"], progress=progress) as model:
            with model.session(token_capacity=options["context"]) as session:
                session.set_sampling(
                    temperature=options["temperature"],
                    top_k=options["top-k"],
                    top_p=options["top-p"],
                    min_p=options["min-p"],
                    repetition_penalty=options["repetition-penalty"],
                    seed=options["seed"],
                )
                if not options["quiet"]:
                    size = f"{model.parameter_count / 1e6:.0f} M parameters, {model.weight_bytes / 1e6:.0f} MB"
                    where = f"on {ctx.device_name} with {ctx.host_threads} threads"
                    took = f"loaded in {time.time() - start:.2f} s"
                    begin = "\r" if progress else ""  # over the progress
                    about = f"{begin}{model.name}: {model.architecture}, {size}, {where}, {took}\n"
                    print(about, file=sys.stderr)
                messages = [{"role": "system", "content": options["system"]}] if options["system"] is not None else []
                if options["prompt"] is not None:
                    messages.append({"role": "user", "content": options["prompt"]})
                    return answer(session, messages, options, interrupt)
                return converse(session, messages, options, interrupt)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    except ruda.Error as error:
        sys.exit(f"ruda-chat: {error}")
