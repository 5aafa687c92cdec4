# tests/abi/chroot.py - the library loads and works in a root that holds only the C and C++ run-time libraries.
# SPDX-License-Identifier: Apache-2.0
"""usage: chroot.py LIBRARY PROGRAM

Copies PROGRAM, LIBRARY and libc, libm, libstdc++, libgcc_s and the loader into an empty folder, changes root to it and runs
PROGRAM: no CUDA library, no driver, no /proc, no /sys. Needs root."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

ALLOWED = re.compile(r"^(libc|libm|libstdc\+\+|libgcc_s|libdl|libpthread|librt|ld-linux[\w-]*)\.so")

library, program = map(pathlib.Path, sys.argv[1:3])
if os.geteuid() != 0:
    print("skipped: changing the root needs root")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    root = pathlib.Path(folder)
    (root / "lib").mkdir()
    shutil.copy(library.resolve(), root / "lib" / "libruda.so.1")
    shutil.copy(program, root / "load")
    for binary in (library, program):
        listing = subprocess.run(["ldd", binary], capture_output=True, text=True, check=True).stdout
        for line in listing.splitlines():
            match = re.search(r"(/\S+)", line)
            if not match:
                continue
            path = pathlib.Path(match[1])
            if not ALLOWED.match(path.name):
                sys.exit(f"{binary.name} needs {path}, which is no C or C++ run-time library")
            target = root / str(path).lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path.resolve(), target)

    def enter():
        os.chroot(root)
        os.chdir("/")

    try:
        run = subprocess.run(
            ["/load", "/lib/libruda.so.1"],
            preexec_fn=enter,
            env={},
            capture_output=True,
            text=True,
            timeout=120,
        )
    except subprocess.SubprocessError as error:
        print(f"skipped: this machine does not allow chroot ({error})")
        sys.exit(77)
    print(run.stdout + run.stderr, end="")
    sys.exit(1 if run.returncode else 0)
