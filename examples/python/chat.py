# examples/python/chat.py - asks a language model: one question with --prompt, or a conversation line by line.
# SPDX-License-Identifier: Apache-2.0
import argparse
import sys
import time

import ruda


def parse():
    p = argparse.ArgumentParser(description="Asks a language model.")
    p.add_argument("--model", required=True, help="a GGUF file")
    p.add_argument("--prompt", help="ask once and end; without it: a conversation, one line a turn")
    p.add_argument("--system", help="system message")
    p.add_argument("--max-tokens", type=int, default=512, help="longest answer")
    p.add_argument("--temperature", type=float, default=0.0, help="0 takes the most likely token")
    p.add_argument("--top-k", type=int, default=0)
    p.add_argument("--top-p", type=float, default=0.0)
    p.add_argument("--min-p", type=float, default=0.0)
    p.add_argument("--repetition-penalty", type=float, default=0.0)
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--backend", choices=["auto", "cpu", "cuda"], default="auto")
    p.add_argument("--threads", type=int, default=0)
    p.add_argument("--context", type=int, default=0, help="tokens of prompt and answer together")
    p.add_argument("--quiet", action="store_true", help="the answer only")
    return p.parse_args()


def show_loading(done, total):
    print(f"\rloading {100 * done // total:3d} %", end="", file=sys.stderr)


def answer(session, messages, options):
    pieces = []
    for piece in session.chat(messages, max_tokens=options.max_tokens):
        print(piece, end="", flush=True)
        pieces.append(piece)
    print()
    messages.append({"role": "assistant", "content": "".join(pieces)})
    if not options.quiet:
        for what, tokens, seconds in (
            ("prompt", session.prompt_tokens, session.prompt_seconds),
            ("answer", session.generated_tokens, session.generate_seconds),
        ):
            speed = f", {tokens / seconds:.1f} tokens/s" if seconds > 0 else ""
            print(f"{what}: {tokens} tokens{speed}", file=sys.stderr)


def main():
    options = parse()
    start = time.time()
    with ruda.Context(options.backend, host_threads=options.threads) as ctx:
        progress = None if options.quiet else show_loading
        with ruda.Model.load(ctx, options.model, progress=progress) as model:
            with model.session(token_capacity=options.context) as session:
                session.set_sampling(
                    temperature=options.temperature,
                    top_k=options.top_k,
                    top_p=options.top_p,
                    min_p=options.min_p,
                    repetition_penalty=options.repetition_penalty,
                    seed=options.seed,
                )
                if not options.quiet:
                    size = f"{model.parameter_count / 1e6:.0f} M parameters"
                    took = time.time() - start
                    print(f"\r{model.name}: {size}, on {ctx.device_name}, {took:.2f} s", file=sys.stderr)
                messages = [{"role": "system", "content": options.system}] if options.system else []
                for line in [options.prompt] if options.prompt is not None else sys.stdin:
                    if line.strip():
                        messages.append({"role": "user", "content": line.rstrip("\n")})
                        answer(session, messages, options)


if __name__ == "__main__":
    try:
        main()
    except ruda.Error as error:
        sys.exit(f"chat: {error}")
