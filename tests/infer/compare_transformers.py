# tests/infer/compare_transformers.py - greedy answers of a real model against transformers on the same weights.
# SPDX-License-Identifier: Apache-2.0
"""usage: compare_transformers.py TRACE_PROGRAM [MODEL.gguf] [--backend cpu|cuda] [--tokens N] [--prompts N]

Without MODEL: RUDA_TEST_MODEL, or where examples/quickstart.sh puts the model.

Each prompt is answered greedily here; transformers then computes, in F32 from the dequantised weights, the logits at every
step of that very answer. A step agrees when the same token is best. Where it is not, the two best logits must be closer
than the measured difference of the two sets of logits at that step explains (twice that difference), and that difference
must itself stay below the bound: 16-bit steps inside (activations of prompt batches in BF16, keys and values in F16) give a
relative error of about 2^-9 in each of the 7 products of a layer, which add as independent errors over all layers.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile

PROMPTS = [
    "What is the capital of France?",
    "Write a haiku about the sea.",
    "Explain photosynthesis to a child.",
    "List three uses of a paper clip.",
    "Translate 'good morning' into Spanish.",
    "Why is the sky blue?",
    "Give me a recipe for pancakes.",
    "What is 17 plus 25?",
    "Who wrote Romeo and Juliet?",
    "Describe a cat in two sentences.",
]
SKIPPED = 77


def default_model():
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = os.environ.get("RUDA_CACHE") or os.path.join(cache, "ruda")
    return os.environ.get("RUDA_TEST_MODEL") or os.path.join(folder, "SmolLM2-135M-Instruct.Q4_1.gguf")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("trace")
    parser.add_argument("model", nargs="?", default=default_model())
    parser.add_argument("--backend", default="cpu")
    parser.add_argument("--tokens", type=int, default=24)
    parser.add_argument("--prompts", type=int, default=len(PROMPTS))
    args = parser.parse_args()
    if not os.path.exists(args.model):
        print(
            f"skipped: no model at {args.model}; fetch it with examples/quickstart.sh or name one in RUDA_TEST_MODEL"
        )
        return SKIPPED
    try:
        import numpy as np
        import torch
        import transformers
        from transformers import AutoModelForCausalLM, AutoTokenizer
    except ImportError as error:
        print(f"skipped: {error}; install tests/requirements.txt")
        return SKIPPED
    folder, name = os.path.split(os.path.abspath(args.model))
    os.environ["HF_HUB_OFFLINE"] = "1"
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=name)
    reference = AutoModelForCausalLM.from_pretrained(folder, gguf_file=name, dtype=torch.float32).eval()
    layers = reference.config.num_hidden_layers

    equal = explained = wrong = 0
    for prompt in PROMPTS[: args.prompts]:
        text = (
            "<|im_start|>system\nYou are a helpful AI assistant named SmolLM, trained by Hugging Face<|im_end|>\n"
            f"<|im_start|>user\n{prompt}<|im_end|>\n<|im_start|>assistant\n"
        )
        ids = tokenizer(text, add_special_tokens=False)["input_ids"]
        with tempfile.NamedTemporaryFile() as file:
            command = [args.trace, args.model, args.backend, str(args.tokens), file.name, *map(str, ids)]
            answer = [
                int(line)
                for line in subprocess.run(
                    command, check=True, capture_output=True, text=True
                ).stdout.split()
            ]
            ours = np.fromfile(file.name, dtype=np.float32).reshape(len(answer), -1)
        with torch.no_grad():
            logits = reference(torch.tensor([ids + answer[:-1]])).logits[0].numpy()
        for step, token in enumerate(answer):
            row = logits[len(ids) - 1 + step].astype(np.float64)
            difference = np.abs(row - ours[step]).max()
            scale = np.sqrt(np.mean((row - row.mean()) ** 2))
            bound = 2.0**-9 * math.sqrt(7 * layers) * 8 * scale
            best = int(row.argmax())
            if difference > bound:
                wrong += 1
                print(f"{prompt!r} step {step}: logits differ by {difference:.4f}, bound {bound:.4f}")
            elif best == token:
                equal += 1
            elif row[best] - row[token] <= 2 * difference:
                explained += 1
                print(
                    f"{prompt!r} step {step}: token {token} for {best}; gap {row[best] - row[token]:.4f}, logits differ by {difference:.4f}"
                )
            else:
                wrong += 1
                print(
                    f"{prompt!r} step {step}: token {token}, expected {best}; gap {row[best] - row[token]:.4f}, logits differ by {difference:.4f}"
                )
        print(f"{prompt!r}: {tokenizer.decode(answer)!r}")
    print(f"{equal} steps equal, {explained} closer than rounding, {wrong} wrong")
    return 1 if wrong or not equal else 0


sys.exit(main())
