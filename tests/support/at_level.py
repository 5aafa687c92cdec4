# tests/support/at_level.py - runs a test program at an instruction set level; skipped where the processor has less.
# SPDX-License-Identifier: Apache-2.0
"""usage: at_level.py LEVEL PROGRAM [ARGUMENT...]"""

import os
import subprocess
import sys


def main():
    level, *command = sys.argv[1:]
    done = subprocess.run(command, env=os.environ | {"RUDA_CPU_ISA": level}, capture_output=True, text=True)
    print(done.stdout, done.stderr, sep="", end="")
    if done.returncode and f"RUDA_CPU_ISA is {level}, this processor has up to" in done.stdout + done.stderr:
        print(f"skipped: this processor has no {level}")
        return 77
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
