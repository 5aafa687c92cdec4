# tests/bindings/same_numbers.py - runs the shared vectors in C and each language, compares the bits of outputs.
# SPDX-License-Identifier: Apache-2.0
"""usage: same_numbers.py ROOT BUILD (LANGUAGE PROGRAM)..."""

import os
import pathlib
import subprocess
import sys


def run(root, build, language, program):
    vectors, bindings = str(root / "tests/data/vectors"), build / "bindings"
    tests, environment = build / "tests" / "bindings", dict(os.environ)
    if language == "c":
        command = [program]
    elif language == "python":
        environment["PYTHONPATH"] = str(bindings / "python")
        command = [program, str(root / "tests/bindings/python/vectors.py")]
    elif language == "csharp":
        environment["MONO_PATH"] = str(bindings / "csharp")
        command = [program, str(tests / "RudaTests.exe"), "vectors"]
    else:
        path = f"{bindings / 'java' / 'ruda.jar'}:{tests / 'java_classes'}"
        command = [program, f"-Druda.native.cache={tests / 'java_cache'}", "-cp", path, "Tests", "vectors"]
    done = subprocess.run([*command, vectors, "--dump"], env=environment, text=True, capture_output=True)
    if done.returncode:
        sys.exit(f"{language}: {done.stderr}")
    return dict(line.rsplit("|", 1) for line in done.stdout.splitlines())


def main():
    root, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    results = {
        language: run(root, build, language, program)
        for language, program in zip(sys.argv[3::2], sys.argv[4::2])
    }
    first, *others = results
    if not results[first]:
        sys.exit("no output was compared")
    for other in others:
        for case in results[first].keys() | results[other].keys():
            if results[first].get(case) != results[other].get(case):
                sys.exit(f"{case}: {first} and {other} differ")
    print(f"{len(results[first])} outputs are the same in {', '.join(results)}")


if __name__ == "__main__":
    main()
