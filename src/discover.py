# src/discover.py - lists sources by folder, so that adding a file edits no list.
# SPDX-License-Identifier: Apache-2.0
"""usage: discover.py ROOT OUT DEPFILE FAMILIES   write the list; FAMILIES is "all" or names between commas
          discover.py --check ROOT LIST          fail when the tree no longer matches the list

A line is "<group> <path>". Groups: cpp, contract, isa (compiled once a level), <level> (compiled for that level
alone), cu, cu-<arch>, cudacpp, tune (host code of the CUDA backend that needs no CUDA), optest, ctest (C suites:
tests/<suite>/<name>.c of folders without a meson.build), family (src/ops/<family>, one that is built), omitted
(contracts of the others, whose C entries answer RUDA_E_NOT_BUILT). The depfile names the public headers: a new
operator always edits one of them, and that edit makes the build configure itself again."""

import pathlib
import sys

LEVELS = ("sse4", "avx2", "avx512", "avx512bf16", "amx", "neon")
ARCHS = ("sm90a", "sm100a")
# Tensors copy and convert themselves with its operators.
ALWAYS = {"elementwise"}
# Folders of tests/ whose C files are no cmocka programs.
NO_SUITES = ("abi", "data", "fuzz", "lint", "support", "vectors")


def all_families(root):
    return {path.name for path in (root / "src" / "ops").iterdir() if path.is_dir()}


def scan(root, built):
    left_out = all_families(root) - built
    lines = [("family", root / "src" / "ops" / name) for name in sorted(built)]

    def omitted(path, *layers):
        parts = path.relative_to(root).parts
        return parts[: len(layers)] == layers and len(parts) > len(layers) + 1 and parts[len(layers)] in left_out

    for path in sorted((root / "src").rglob("*.cpp")):
        if omitted(path, "src", "ops"):
            lines.append(("omitted", path))
            continue
        if omitted(path, "src", "cpu"):
            continue
        layer, suffix = path.relative_to(root).parts[1], path.stem.rpartition("_")[2]
        level = layer == "cpu" and "_" in path.stem and suffix in LEVELS + ("isa",)
        lines.append((suffix if level else "contract" if layer == "ops" else "cpp", path))
    for path in sorted((root / "cuda").rglob("*.cu")):
        if omitted(path, "cuda"):
            continue
        suffix = path.stem.rsplit("_", 1)[-1]
        lines.append((f"cu-{suffix}" if suffix in ARCHS else "cu", path))
    for path in sorted((root / "cuda").rglob("*.cpp")):
        if omitted(path, "cuda"):
            continue
        lines.append(("tune" if path.relative_to(root).parts[1] == "tune" else "cudacpp", path))
    for path in sorted((root / "tests" / "ops").rglob("*.cpp")):
        if omitted(path, "tests", "ops"):
            continue
        lines.append(("optest", path))
    for path in sorted((root / "tests").glob("*/*.c")):
        if path.parent.name not in NO_SUITES and not (path.parent / "meson.build").exists():
            lines.append(("ctest", path))
    return [f"{group} {path.relative_to(root).as_posix()}" for group, path in lines]


if sys.argv[1] == "--check":
    root, listing = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    old = listing.read_text().splitlines()
    built = {line.rsplit("/", 1)[1] for line in old if line.startswith("family ")}
    # A family that is new belongs to a build of all.
    if not any(line.startswith("omitted ") for line in old):
        built |= all_families(root)
    new = scan(root, built & all_families(root))
    if new != old:
        changed = ", ".join(sorted(set(new) ^ set(old)))
        sys.exit(f"the list of sources is stale ({changed}): run  meson setup --reconfigure <builddir>")
    if "--stamp" in sys.argv:
        pathlib.Path(sys.argv[-1]).touch()
else:
    root, out, depfile = map(pathlib.Path, sys.argv[1:4])
    known, wanted = all_families(root), set(sys.argv[4].split(",")) - {""}
    if unknown := wanted - known - {"all"}:
        sys.exit(f"option families: no family is called {', '.join(sorted(unknown))}; there are {', '.join(sorted(known))}")
    built = known if "all" in wanted else wanted | ALWAYS
    out.write_text("\n".join(scan(root, built)) + "\n")
    headers = " ".join(str(path) for path in sorted((root / "include").rglob("*.h")))
    depfile.write_text(f"{out.name}: {headers}\n")
