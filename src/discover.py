# src/discover.py - lists sources by folder, so that adding a file edits no list.
# SPDX-License-Identifier: Apache-2.0
"""usage: discover.py ROOT OUT DEPFILE     write the list
          discover.py --check ROOT LIST    fail when the tree no longer matches the list

A line is "<group> <path>". Groups: cpp, contract, isa (compiled once a level), <level> (compiled for that level
alone), cu, cu-<arch>, cudacpp, tune (host code of the CUDA backend that needs no CUDA), optest, ctest (C suites:
tests/<suite>/<name>.c of folders without a meson.build). The depfile names the public headers: a new
operator always edits one of them, and that edit makes the build configure itself again."""

import pathlib
import sys

LEVELS = ("sse4", "avx2", "avx512", "avx512bf16", "amx", "neon")
ARCHS = ("sm90a", "sm100a")
# Folders of tests/ whose C files are no cmocka programs.
NO_SUITES = ("abi", "data", "fuzz", "lint", "support")


def scan(root):
    lines = []
    for path in sorted((root / "src").rglob("*.cpp")):
        layer, suffix = path.relative_to(root).parts[1], path.stem.rpartition("_")[2]
        level = layer == "cpu" and "_" in path.stem and suffix in LEVELS + ("isa",)
        lines.append((suffix if level else "contract" if layer == "ops" else "cpp", path))
    for path in sorted((root / "cuda").rglob("*.cu")):
        suffix = path.stem.rsplit("_", 1)[-1]
        lines.append((f"cu-{suffix}" if suffix in ARCHS else "cu", path))
    for path in sorted((root / "cuda").rglob("*.cpp")):
        lines.append(("tune" if path.relative_to(root).parts[1] == "tune" else "cudacpp", path))
    for path in sorted((root / "tests" / "ops").rglob("*.cpp")):
        lines.append(("optest", path))
    for path in sorted((root / "tests").glob("*/*.c")):
        if path.parent.name not in NO_SUITES and not (path.parent / "meson.build").exists():
            lines.append(("ctest", path))
    return [f"{group} {path.relative_to(root).as_posix()}" for group, path in lines]


if sys.argv[1] == "--check":
    root, listing = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    new, old = scan(root), listing.read_text().splitlines()
    if new != old:
        changed = ", ".join(sorted(set(new) ^ set(old)))
        sys.exit(f"the list of sources is stale ({changed}): run  meson setup --reconfigure <builddir>")
    if "--stamp" in sys.argv:
        pathlib.Path(sys.argv[-1]).touch()
else:
    root, out, depfile = map(pathlib.Path, sys.argv[1:4])
    out.write_text("\n".join(scan(root)) + "\n")
    headers = " ".join(str(path) for path in sorted((root / "include").rglob("*.h")))
    depfile.write_text(f"{out.name}: {headers}\n")
