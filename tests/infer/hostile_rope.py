# tests/infer/hostile_rope.py - files whose numbers of rotary embedding make no table are refused with a text.
# SPDX-License-Identifier: Apache-2.0
"""Also: a factor without a type, and the key of files from before there were types, mean linear scaling.

usage: hostile_rope.py TRACE_PROGRAM TINY_MODEL_SCRIPT"""

import os
import subprocess
import sys
import tempfile

LINEAR = ["--key", "rope.scaling.type=linear"]
YARN = ["--key", "rope.scaling.type=yarn"]
ONES = "1,1,1,1,1,1,1"
# Each list of options gives the same logits as the first, which differ from those without scaling.
SAME = [
    LINEAR + ["--key", "rope.scaling.factor=2.5"],
    ["--key", "rope.scaling.factor=2.5"],
    ["--key", "rope.scale_linear=2.5"],
    ["--key", "rope.scaling.factor=2.5", "--key", "rope.scale_linear=7.0"],
]
# Options of the file; what the refusal says, or None where the file is good.
CASES = [
    (LINEAR + ["--key", "rope.scaling.factor=2.5"], None),
    (LINEAR + ["--key", "rope.scaling.factor=1e-40"], "metadata keys llama.rope.*: frequency 0 is 1.00001e+40"),
    (LINEAR + ["--key", "rope.scaling.factor=nan"], "llama.rope.scaling.factor is nan, expected finite and above 0"),
    (["--key", "rope.scale_linear=-1.0"], "llama.rope.scale_linear is -1, expected finite and above 0"),
    (LINEAR + ["--key", "rope.scaling.factor=-1.0"], "llama.rope.scaling.factor is -1, expected finite and above 0"),
    (["--key", "rope.freq_base=1e-45"], "metadata keys llama.rope.*: frequency 7 is 1.76"),
    (["--key", "rope.freq_base=inf"], "llama.rope.freq_base is inf, expected finite and above 0"),
    (YARN + ["--key", "rope.scaling.factor=4.0"], None),
    (YARN + ["--key", "rope.scaling.original_context_length=128"], None),
    (YARN + ["--key", "rope.scaling.original_context_length=0"], "original_context_length is 0, expected 1.."),
    (YARN + ["--key", "rope.freq_base=0.5"], "metadata keys llama.rope.*: theta is 0.5, expected above 1 for yarn"),
    (YARN + ["--key", "rope.scaling.factor=1e-45"], "metadata keys llama.rope.*: frequency"),
    (YARN + ["--key", "rope.scaling.yarn_beta_fast=8.0"], "rope.scaling.yarn_beta_fast is 8, expected 32"),
    (YARN + ["--key", "rope.scaling.attn_factor=0.5"], "rope.scaling.attn_factor is 0.5, expected 1"),
    (YARN + ["--key", "rope.scaling.yarn_beta_fast=32.0", "--key", "rope.scaling.yarn_beta_slow=1.0"], None),
    (["--key", "rope.scaling.type=longrope"], 'llama.rope.scaling.type is "longrope", expected none, linear or yarn'),
    (["--rope-factors", ONES + ",8"], None),
    (["--rope-factors", ONES + ",0"], "tensor rope_freqs.weight: element 7 is 0, expected finite and above 0"),
    (["--rope-factors", ONES + ",-2"], "tensor rope_freqs.weight: element 7 is -2, expected finite and above 0"),
    (["--rope-factors", "nan," + ONES], "tensor rope_freqs.weight: element 0 is nan, expected finite and above 0"),
    (["--rope-factors", ONES + ",inf"], "tensor rope_freqs.weight: element 7 is inf, expected finite and above 0"),
    (["--rope-factors", "1e-40," + ONES], "tensor rope_freqs.weight: element 0 is 9.99995e-41 and makes frequency"),
    (["--rope-factors", ONES], "tensor rope_freqs.weight has shape [7], expected [8]"),
]


def main():
    trace, script = sys.argv[1:3]
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        path, raw = os.path.join(folder, "tiny.gguf"), os.path.join(folder, "logits")
        for options, refusal in CASES:
            subprocess.run([sys.executable, script, path, "--weights", "f32", *options], check=True)
            answer = subprocess.run([trace, path, "cpu", "2", raw, "72", "101"], capture_output=True, text=True)
            if refusal is None:
                good = answer.returncode == 0
            else:
                good = answer.returncode == 1 and "model: RUDA_E_" in answer.stderr and refusal in answer.stderr
            print(f"{'ok' if good else 'WRONG'}: {' '.join(options)}: {answer.returncode} {answer.stderr.strip()}")
            wrong += not good
        logits = []
        for options in [[], *SAME]:
            subprocess.run([sys.executable, script, path, "--weights", "f32", *options], check=True)
            subprocess.run([trace, path, "cpu", "2", raw, "72", "101"], capture_output=True, check=True)
            with open(raw, "rb") as file:
                logits.append(file.read())
        good = logits[0] != logits[1] and len(set(logits[1:])) == 1
        print(f"{'ok' if good else 'WRONG'}: a factor by any of its keys")
        wrong += not good
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
