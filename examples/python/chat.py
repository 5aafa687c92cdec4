# examples/python/chat.py - asks a language model: one question with --prompt, or a conversation line by line.
# SPDX-License-Identifier: Apache-2.0
import re
import sys
import time

import ruda

USAGE = """usage: chat.py --model FILE.gguf [options]
  --prompt TEXT       ask once and end (without it: a conversation, one line a turn, end with Ctrl-D)
  --system TEXT       system message
  --max-tokens N      longest answer, 0 = no limit (default 512)
  --temperature T     0 takes the most likely token (default 0)
  --top-k N  --top-p P  --min-p P  --repetition-penalty R  --seed N   (default 0: off, seed 0)
  --backend auto|cpu|cuda  (default auto)
  --threads N         threads of the CPU backend (default 0 = all)
  --context N         tokens of prompt and answer (default 0 = the model's, at most 8192)
  --quiet             the answer only
  --help              this text
"""
TEXTS = ("model", "prompt", "system")
WHOLE = {  # option: its largest value
    "max-tokens": 2**63 - 1,
    "context": 2**63 - 1,
    "top-k": 2**31 - 1,
    "seed": 2**64 - 1,
    "threads": 2**31 - 1,
}
NUMBERS = {"temperature": 100, "top-p": 1, "min-p": 1, "repetition-penalty": 100}
BACKENDS = ("auto", "cpu", "cuda")


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
    return number if 0 <= number <= NUMBERS[name] else wrong(f"{said} a number from 0 to {NUMBERS[name]}")


def parse(words):
    options = dict.fromkeys((*WHOLE, *NUMBERS), 0)
    options.update({"max-tokens": 512, "model": None, "prompt": None, "system": None, "backend": "auto", "quiet": False})
    words = iter(words)
    for word in words:
        name = word[2:] if word.startswith("--") else ""
        if name == "help":
            print(USAGE, end="")
            sys.exit(0)
        if name == "quiet":
            options["quiet"] = True
            continue
        if name not in options:
            wrong(f"unknown option {word}")
        text = next(words, None)
        options[name] = wrong(f"{word} needs a value") if text is None else value_of(name, text)
    if options["model"] is None:
        wrong("--model is missing; see --help")
    return options


def show_loading(done, total):
    print(f"\rloading {100 * done // total:3d} %", end="", file=sys.stderr)


def prompt(session, messages):
    """Prompts with the conversation, without as many of the oldest turns as the context asks for."""
    first = 1 if messages[0]["role"] == "system" else 0
    dropped = 0
    while True:
        kept = messages[:first] + messages[first + 2 * dropped :]
        try:
            session.prompt_chat(kept)
            break
        except ruda.ArgumentError:
            if len(kept) == first + 1:
                raise
        dropped += 1
    if dropped:
        print(f"[the context is full: oldest turns forgotten: {dropped}]", file=sys.stderr)
        messages[:] = kept


def answer(session, messages, options):
    """False: this message alone was refused and is forgotten."""
    try:
        prompt(session, messages)
    except ruda.ArgumentError as error:
        print(f"ruda-chat: this message: {error}", file=sys.stderr)
        messages.pop()
        return False
    pieces = []
    for piece in session.generate(max_tokens=options["max-tokens"]):
        print(piece, end="", flush=True)
        pieces.append(piece)
    print()
    messages.append({"role": "assistant", "content": "".join(pieces)})
    if not options["quiet"]:
        for what, tokens, seconds in (
            ("prompt", session.prompt_tokens, session.prompt_seconds),
            ("answer", session.generated_tokens, session.generate_seconds),
        ):
            speed = f", {tokens / seconds:.1f} tokens/s" if seconds > 0 else ""
            print(f"{what}: {tokens} tokens{speed}", file=sys.stderr)
    return True


def main():
    options = parse(sys.argv[1:])
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
                    size = f"{model.parameter_count / 1e6:.0f} M parameters"
                    took = time.time() - start
                    begin = "\r" if progress else ""  # over the progress
                    print(f"{begin}{model.name}: {size}, on {ctx.device_name}, {took:.2f} s", file=sys.stderr)
                messages = [{"role": "system", "content": options["system"]}] if options["system"] else []
                if options["prompt"] is not None:
                    messages.append({"role": "user", "content": options["prompt"]})
                    return 0 if answer(session, messages, options) else 1
                for line in sys.stdin:
                    if line.strip():
                        messages.append({"role": "user", "content": line.rstrip("\r\n")})
                        answer(session, messages, options)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except ruda.Error as error:
        sys.exit(f"ruda-chat: {error}")
