# tests/bindings/python/test_package.py - what a package or wheel may need, and that it is complete.
# SPDX-License-Identifier: Apache-2.0
"""usage: test_package.py FOLDER_OR_WHEEL

Does the work of auditwheel here: the shared objects need only an allow-list, search only beside themselves,
and bring no other version of the C library than the machine's."""

import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

NEEDED = {
    "libc.so.6",
    "libm.so.6",
    "libstdc++.so.6",
    "libgcc_s.so.1",
    "ld-linux-x86-64.so.2",
    "ld-linux-aarch64.so.1",
    "libpthread.so.0",
    "libdl.so.2",
    "librt.so.1",
    "libruda.so.1",
    "libasan.so.8",
    "libubsan.so.1",
    "libtsan.so.2",
}


def check(folder):
    faults = []
    names = {path.name for path in folder.iterdir()}
    for name in (
        "__init__.py",
        "__init__.pyi",
        "_constants.py",
        "_ops.py",
        "_ops.pyi",
        "plans.py",
        "plans.pyi",
        "py.typed",
        "libruda.so.1",
    ):
        if name not in names:
            faults.append(f"{name} is missing")
    for source in folder.glob("*.py"):
        if (
            source.name not in ("__init__.py",)
            and source.with_suffix(".pyi").name not in names
            and source.name != "_load.py"
        ):
            faults.append(f"{source.name} has no .pyi")
    objects = [path for path in folder.iterdir() if ".so" in path.suffixes and path.is_file()]
    if len(objects) < 2:
        faults.append(f"expected the library and the raw module, found {[o.name for o in objects]}")
    for path in objects:
        dynamic = subprocess.run(["readelf", "-d", path], text=True, capture_output=True, check=True).stdout
        needed = set(re.findall(r"\(NEEDED\).*\[(.*)\]", dynamic))
        if needed - NEEDED:
            faults.append(f"{path.name} needs {sorted(needed - NEEDED)}")
        for search in re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic):
            if set(filter(None, search.split(":"))) - {"$ORIGIN"}:
                faults.append(f"{path.name} searches {search}, expected $ORIGIN only")
        if path.name.startswith("_raw") and "$ORIGIN" not in dynamic:
            faults.append(f"{path.name} does not search beside itself")
        symbols = subprocess.run(["objdump", "-T", path], text=True, capture_output=True, check=True).stdout
        versions = [tuple(map(int, v.split("."))) for v in re.findall(r"GLIBC_([\d.]+)", symbols)]
        newest = ".".join(map(str, max(versions)))
        print(f"{path.name}: needs {sorted(needed)}, GLIBC {newest}, {path.stat().st_size} bytes")
    return faults


def main():
    target = pathlib.Path(sys.argv[1])
    if target.suffix == ".whl":
        with tempfile.TemporaryDirectory() as folder:
            zipfile.ZipFile(target).extractall(folder)
            faults = check(pathlib.Path(folder) / "ruda")
            extra = {p.name for p in pathlib.Path(folder).iterdir()} - {"ruda"}
            faults += [f"the wheel also holds {name}" for name in extra if not name.endswith(".dist-info")]
    else:
        faults = check(target)
    sys.exit("\n".join(faults) or 0)


if __name__ == "__main__":
    main()
