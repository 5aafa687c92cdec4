# tests/lint/layers.py - who may include whom: the table of docs/architecture.md, checked on every include.
# SPDX-License-Identifier: Apache-2.0
"""usage: layers.py ROOT"""

import pathlib
import re
import sys

# layer -> the layers it may include besides itself and the public headers
ALLOWED = {
    "core": (),
    "device": ("core",),
    "tensor": ("core", "device"),
    "plan": ("core", "device", "tensor"),
    "api": ("core", "device", "tensor", "plan"),
    "ops": ("core", "device", "tensor", "plan"),
    "cpu": ("core", "device", "tensor", "plan"),
    "cuda": ("core", "device", "tensor", "plan"),
    "fusion": ("core", "device", "tensor", "plan"),
    "autodiff": ("core", "device", "tensor", "plan"),
    "store": ("core", "device", "tensor"),
    "dataset": ("core", "device", "tensor"),
    "collective": ("core", "device", "tensor"),
    "nn": ("core", "device", "tensor", "plan", "fusion", "autodiff", "collective"),
    "optim": ("core", "device", "tensor", "plan", "fusion", "autodiff"),
    "model": ("core", "device", "tensor", "plan", "store", "dataset", "nn", "optim"),
    "infer": ("core", "device", "tensor", "plan", "store", "model", "collective"),
}
# Public headers that core .. plan may read: the ones every operator stands on, and the codes of table rows.
BASE_HEADERS = {"base.h", "context.h", "tensor.h", "plan.h", "elementwise.h"}
CUDA_HEADERS = re.compile(
    r"^(cuda|cublas|cudnn|cufft|cusparse|curand|nvrtc|nccl|cub/|thrust/|cooperative_|mma\.h)"
)
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^">]+)[">]', re.M)
# The first folder of an include that is no public header.
FIRST = set(ALLOWED) | {"runtime", "tune"}


ROOT = pathlib.Path(sys.argv[1])


def layer_of(path):
    return "cuda" if path.parts[0] == "cuda" else path.parts[1]


def check(path, text, fail):
    layer = layer_of(path)
    if layer not in ALLOWED:
        return fail(path, 0, f"folder {layer} is not in the table of tests/lint/layers.py")
    for match in INCLUDE.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        name = match[2]
        first = name.split("/")[0]
        if name.startswith("ruda/"):
            if layer in ("core", "device", "tensor", "plan") and name[5:] not in BASE_HEADERS:
                fail(path, line, f"{layer} includes {name}, expected {', '.join(sorted(BASE_HEADERS))}")
        elif match[1] == "<":
            if layer != "cuda" and CUDA_HEADERS.match(name):
                fail(path, line, f"{name} is a CUDA header, allowed only under cuda/")
        elif layer == "cuda":
            if path.parts[1] == "device" and first != "device":
                fail(path, line, f"cuda/device includes {name}, expected only device code")
            if path.parts[1] == "tune" and CUDA_HEADERS.match(name):
                fail(path, line, f"cuda/tune includes {name}, expected no CUDA header")
            if first in ALLOWED and first not in ALLOWED["cuda"] and not (ROOT / "cuda" / name).exists():
                fail(path, line, f"cuda includes {name}, expected one of {', '.join(ALLOWED['cuda'])}")
        elif "/" in name and first in ALLOWED and first != layer and first not in ALLOWED[layer]:
            allowed = ", ".join(ALLOWED[layer]) or "no other layer"
            fail(path, line, f"{layer} includes {name}, expected {allowed}")
        elif layer != "cuda" and CUDA_HEADERS.match(name):
            fail(path, line, f"{name} is a CUDA header, allowed only under cuda/")


def check_clients(root, fail):
    """Operator tests, examples and bindings see the C headers only."""
    for folder in ("tests/ops", "examples"):
        for path in sorted((root / folder).rglob("*")):
            if path.suffix not in (".c", ".cpp", ".h", ".hpp"):
                continue
            for match in INCLUDE.finditer(path.read_text()):
                if match[2].split("/")[0] in FIRST and "/" in match[2]:
                    fail(path.relative_to(root), 0, f"includes {match[2]}, expected public headers only")


def main():
    root = ROOT
    problems = []

    def fail(path, line, text):
        problems.append(f"{path}:{line}: {text}")

    files = [
        p
        for top in ("src", "cuda")
        for p in sorted((root / top).rglob("*"))
        if p.suffix in (".cpp", ".hpp", ".h", ".cu", ".cuh", ".inc")
    ]
    for path in files:
        check(path.relative_to(root), path.read_text(), fail)
    check_clients(root, fail)
    # Above ops no file names a device kind.
    for layer in ("fusion", "autodiff", "nn", "optim", "store", "dataset", "model", "infer"):
        for path in sorted((root / "src" / layer).rglob("*.[ch]pp")):
            if re.search(r"\bRUDA_BACKEND_(CPU|CUDA)\b", path.read_text()):
                fail(
                    path.relative_to(root),
                    0,
                    "names a device kind, which only the layers below the operators may",
                )
    print("\n".join(problems) or f"{len(files)} files keep to the layers")
    return 1 if problems else 0


sys.exit(main())
