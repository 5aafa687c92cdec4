# tests/bindings/same_texts.py - the languages refuse the same calls in the same words.
# SPDX-License-Identifier: Apache-2.0
"""usage: same_texts.py ROOT BUILD MODEL (LANGUAGE PROGRAM)...

Names are compared in one spelling (maxTokens is max_tokens), null is None, quotes are double, and what a host array is
called does not count, nor the operator that a PlanBuilder names first. Every text of a refusal by a language says what is expected."""

import os
import pathlib
import re
import subprocess
import sys

# Refused by the library, in words of its own.
OF_THE_LIBRARY = {"too far", "unbound", "too few bytes", "file", "name in a file", "view", "overflow of a dtype", "operand"}
OF_THE_LIBRARY |= {"variables", "kernel"}


def run(root, build, language, program, model):
    environment, tests = dict(os.environ), build / "tests" / "bindings"
    if language == "python":
        environment["PYTHONPATH"] = str(build / "bindings/python")
        command = [program, str(root / "tests/bindings/python/texts.py"), model]
    elif language == "csharp":
        environment["MONO_PATH"] = str(build / "bindings/csharp")
        command = [program, str(tests / "RudaTests.exe"), "texts", model]
    else:
        path = f"{build / 'bindings/java/ruda.jar'}:{tests / 'java_classes'}"
        command = [program, f"-Druda.native.cache={tests / 'java_cache'}", "-cp", path, "Tests", "texts", model]
    done = subprocess.run(command, env=environment, text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{language}: {done.stderr}")
    return dict(line.split("|", 1) for line in done.stdout.splitlines())


def common(text):
    text = re.sub(r"\b([a-z]+)((?:[A-Z][a-z]+)+)\b", lambda m: m.group(1) + re.sub("([A-Z])", r"_\1", m.group(2)).lower(), text)
    text = re.sub(r"\bnull\b", "None", text)
    text = re.sub(r"^RUDA_E_ARGUMENT: \w+: (?=\w+ is .*, expected one of)", "", re.sub(r"'(\w*)'", r'"\1"', text))
    return re.sub(r"^(?:an array of \w+|the buffer|data) holds", "it holds", text).partition(": messages[0]")[0]


def main():
    root, build, model = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), sys.argv[3]
    languages = dict(zip(sys.argv[4::2], sys.argv[5::2]))
    texts = {name: run(root, build, name, program, model) for name, program in languages.items()}
    faults, cases = [], list(dict.fromkeys(case for said in texts.values() for case in said))
    for case in cases:
        said = {name: common(of.get(case, "the case is missing")) for name, of in texts.items()}
        if len(set(said.values())) > 1:
            faults.append(case + "".join(f"\n  {name}: {text}" for name, text in said.items()))
        for name, text in said.items():
            if text == "nothing was refused" or ("expected" not in text and case not in OF_THE_LIBRARY):
                faults.append(f"{case}\n  {name} does not say what is expected: {text}")
    print("\n".join(faults) or f"{len(cases)} refusals read the same in {', '.join(languages)}")
    return 1 if faults or not cases else 0


sys.exit(main())
