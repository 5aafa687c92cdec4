# tests/lint/isa_objects.py - objects of one instruction set level hold no symbol that a linker could share.
# SPDX-License-Identifier: Apache-2.0
"""usage: isa_objects.py ARCHIVE...

A weak or unique symbol (an inline function, a template) in an AVX-512 object may be the copy that the linker keeps
for the whole library, which then ends in an illegal instruction on an older processor."""

import re
import subprocess
import sys

problems, count = [], 0
for archive in sys.argv[1:]:
    run = subprocess.run(["nm", "-C", "--defined-only", archive], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"nm {archive}: {run.stderr.strip()}")
    member = ""
    for line in run.stdout.splitlines():
        if line.endswith(":"):
            member = line[:-1]
            count += 1
        match = re.match(r"[0-9a-f]+ ([WVu]) (.*)", line)
        # The unwinder's personality pointer holds no code.
        if match and not match[2].startswith("DW.ref."):
            problems.append(f"{archive.rsplit('/', 1)[-1]} {member}: {match[1]} {match[2]}")
print("\n".join(problems) or f"{count} objects hold no weak and no unique symbol")
sys.exit(1 if problems else 0)
