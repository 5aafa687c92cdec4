# tests/infer/compare_tiny.py - logits of small random models, one for each weight format, against transformers.
# SPDX-License-Identifier: Apache-2.0
"""usage: compare_tiny.py TRACE_PROGRAM TINY_MODEL_SCRIPT

The reference runs in F64 on the dequantised weights. The bound on the root mean square of the difference, relative to that of
the logits: each of the 7 products of a layer and the last one rounds its operands to at most 2^-8 (bf16) and the cache to
2^-11 (f16), independently: 2^-8 * sqrt(7 * layers + 1)."""

import math
import os
import subprocess
import sys
import tempfile

CASES = [("llama", kind) for kind in ("f32", "f16", "bf16", "q4_0", "q4_1", "q5_0", "q5_1", "q8_0")] + [
    ("qwen2", "q8_0"),
    ("qwen2", "f32"),
]
PROMPT = [72, 101, 108, 108, 111, 44, 32, 119, 111, 114, 108, 100, 33, 10, 258, 256, 5, 250]


def main():
    trace, script = sys.argv[1:3]
    try:
        import numpy as np
        import torch
        import transformers
        from transformers import AutoModelForCausalLM
    except ImportError as error:
        print(f"skipped: {error}; install tests/requirements.txt")
        return 77
    os.environ["HF_HUB_OFFLINE"] = "1"
    transformers.utils.logging.disable_progress_bar()
    transformers.utils.logging.set_verbosity_error()
    wrong = 0
    for arch, kind in CASES:
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "tiny.gguf")
            subprocess.run([sys.executable, script, path, "--arch", arch, "--weights", kind], check=True)
            raw = os.path.join(folder, "logits")
            command = [trace, path, "cpu", "12", raw, *map(str, PROMPT)]
            answer = [
                int(line)
                for line in subprocess.run(
                    command, check=True, capture_output=True, text=True
                ).stdout.split()
            ]
            ours = np.fromfile(raw, dtype=np.float32).reshape(len(answer), -1)
            model = AutoModelForCausalLM.from_pretrained(
                folder, gguf_file="tiny.gguf", dtype=torch.float64
            ).eval()
            with torch.no_grad():
                logits = model(torch.tensor([PROMPT + answer[:-1]])).logits[0].numpy()
            rows = logits[len(PROMPT) - 1 :]
            relative = np.sqrt(np.mean((rows - ours) ** 2) / np.mean(rows**2))
            bound = 2.0**-8 * math.sqrt(7 * model.config.num_hidden_layers + 1)
            print(f"{arch} {kind}: relative difference {relative:.2e}, bound {bound:.2e}")
            wrong += not relative < bound
    return 1 if wrong else 0


sys.exit(main())
