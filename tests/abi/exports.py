# tests/abi/exports.py - the library exports what headers and symbols.txt say, and needs nothing else.
# SPDX-License-Identifier: Apache-2.0
"""usage: exports.py ROOT LIBRARY [--write]

symbols.txt holds "<version node> <function>" in the order of the nodes; --write adds what is new."""

import pathlib
import re
import subprocess
import sys

root, library = pathlib.Path(sys.argv[1]), sys.argv[2]
sys.path.insert(0, str(root / "src"))
import headers  # noqa: E402

NEEDED = {
    "libstdc++.so.6",
    "libgcc_s.so.1",
    "libm.so.6",
    "libc.so.6",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
}
SANITIZERS = re.compile(r"lib(asan|ubsan|tsan|lsan)\.so|lib(dl|rt|pthread)\.so")
CURRENT = "RUDA_1.0"


def run(*command):
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: {result.stderr.strip()}")
    return result.stdout


problems = []
declared = {f.name for f in headers.read(root / "include" / "ruda").functions}
exported, nodes = {}, set()
for line in run("nm", "-D", "--defined-only", "--with-symbol-versions", library).splitlines():
    kind, name = line.split()[-2:]
    name, _, node = name.replace("@@", "@").partition("@")
    if kind == "A":
        nodes.add(name)
        continue
    exported[name] = node
    if kind != "T":
        problems.append(f"{name} is exported as {kind}, expected a function")
listed_path = root / "tests/abi/symbols.txt"
listed = (
    dict(reversed(line.split()) for line in listed_path.read_text().split("\n") if line and line[0] != "#")
    if listed_path.exists()
    else {}
)

if "--write" in sys.argv:
    released = {name: node for name, node in listed.items() if node != CURRENT}
    table = released | {name: CURRENT for name in declared - released.keys()}
    lines = [f"{node} {name}" for name, node in sorted(table.items(), key=lambda item: (item[1], item[0]))]
    listed_path.write_text(
        "# Exported functions and the version node of each; written by tests/abi/update.sh.\n"
        + "\n".join(lines)
        + "\n"
    )
    listed = table

for name in sorted(declared - exported.keys()):
    problems.append(f"{name} is declared in the headers but not exported")
for name in sorted(exported.keys() - declared):
    problems.append(f"{name} is exported but not declared in the headers")
for name in sorted(exported.keys() - listed.keys()):
    problems.append(f"{name} is exported but not in tests/abi/symbols.txt: run tests/abi/update.sh")
for name in sorted(listed.keys() - exported.keys()):
    problems.append(f"{name} is in tests/abi/symbols.txt but no longer exported")
for name in sorted(exported.keys() & listed.keys()):
    if exported[name] != listed[name]:
        problems.append(f"{name} has version node {exported[name]}, expected {listed[name]}")

dynamic = run("readelf", "-dW", library)
for name in re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic):
    if name not in NEEDED and not SANITIZERS.match(name):
        problems.append(f"needs {name}, expected only {', '.join(sorted(NEEDED))}")
soname = re.findall(r"\(SONAME\).*\[(.*)\]", dynamic)
if soname != ["libruda.so.1"]:
    problems.append(f"SONAME is {soname}, expected libruda.so.1")
for flag in ("NODELETE", "NOW"):
    if not re.search(rf"\((?:FLAGS|FLAGS_1)\).*\b{flag}\b", dynamic):
        problems.append(f"flag {flag} is not set")
if re.search(r"\((RPATH|RUNPATH)\)", dynamic) and "asan" not in dynamic:
    problems.append("carries an RPATH or RUNPATH")
unique = [
    line.split()[-1]
    for line in run("readelf", "-Ws", "--dyn-syms", library).splitlines()
    if " UNIQUE " in line
]
for name in unique:
    problems.append(
        f"{name} is a GNU-unique symbol, which keeps the library from being unloaded and shared cleanly"
    )

print(
    "\n".join(problems)
    or f"{len(exported)} functions are exported as declared, nodes {', '.join(sorted(nodes))}"
)
sys.exit(1 if problems else 0)
