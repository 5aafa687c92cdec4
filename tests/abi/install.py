# tests/abi/install.py - installs into an empty folder, builds two programs against it, removes it without a trace.
# SPDX-License-Identifier: Apache-2.0
"""usage: install.py BUILDDIR SOURCE_ROOT"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

build, root = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])

LINKED = r"""
#include <ruda/ruda.h>
#include <stdio.h>
int main(void) {
  ruda_context context = NULL;
  ruda_context_desc desc = RUDA_CONTEXT_DESC_INIT;
  desc.backend = RUDA_BACKEND_CPU;
  if (ruda_context_create(&desc, &context) != RUDA_OK) return 1;
  printf("%s level %u\n", ruda_version(), ruda_api_level());
  return ruda_release(context);
}
"""
LOADED = r"""
#include <dlfcn.h>
#include <ruda/base.h>
#include <stdio.h>
int main(int argc, char **argv) {
  void *library = dlopen(argc > 1 ? argv[1] : "", RTLD_NOW);
  uint32_t (*level)(void) = NULL;
  if (!library) return 1;
  *(void **)&level = dlsym(library, "ruda_api_level");
  if (!level || level() < RUDA_API_LEVEL) return 2;
  printf("level %u\n", level());
  return dlclose(library);
}
"""


def run(command, **options):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if result.returncode:
        print(
            f"{' '.join(map(str, command))} ended with {result.returncode}\n{result.stdout}{result.stderr}"
        )
        sys.exit(1)
    return result.stdout


meson = shutil.which("meson")
if not meson:
    print("skipped: meson is not in PATH")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    stage = pathlib.Path(folder, "stage")
    stage.mkdir()
    environment = dict(os.environ, DESTDIR=str(stage))
    run([meson, "install", "-C", build, "--no-rebuild", "--quiet"], env=environment)
    files = [p for p in stage.rglob("*") if not p.is_dir()]
    # The Python package brings its own copy of the library, which is not what C programs link with.
    ours = [p for p in files if "-packages" not in p.as_posix()]
    libraries = sorted(p.name for p in ours if p.name.startswith("libruda.so"))
    headers = {p.name for p in files if p.parent.name == "ruda" and p.suffix == ".h"}
    want = {p.name for p in (root / "include/ruda").glob("*.h")}
    pc = [p for p in files if p.name == "ruda.pc"]
    if (
        libraries != ["libruda.so", "libruda.so.1", "libruda.so.1.0.0"]
        or not want <= headers
        or len(pc) != 1
    ):
        sys.exit(
            f"installed {libraries}, {len(headers)} of {len(want)} headers, {len(pc)} pkg-config files"
        )
    static = [str(p.relative_to(stage)) for p in files if p.suffix == ".a"]
    if static:
        sys.exit(f"installed static libraries: {', '.join(static)}")
    text = pc[0].read_text()
    if re.search(r"^(Requires|Libs).*\b(cuda|cudart|stdc\+\+)", text, re.M) or str(root) in text:
        sys.exit(f"ruda.pc names what users need not have:\n{text}")

    # A program is built against a build folder as well.
    uninstalled = dict(os.environ, PKG_CONFIG_PATH=str(build / "meson-uninstalled"))
    flags = run(["pkg-config", "--cflags", "--libs", "ruda"], env=uninstalled).split()
    (pathlib.Path(folder) / "beside.c").write_text(LINKED)
    run(["cc", f"{folder}/beside.c", "-o", f"{folder}/beside", *flags, f"-Wl,-rpath,{build / 'src'}"])
    run([f"{folder}/beside"])

    sysroot = dict(os.environ, PKG_CONFIG_PATH=str(pc[0].parent), PKG_CONFIG_SYSROOT_DIR=str(stage))
    flags = run(["pkg-config", "--cflags", "--libs", "ruda"], env=sysroot).split()
    library = next(p for p in ours if p.name == "libruda.so.1")
    here = pathlib.Path(folder)
    (here / "linked.c").write_text(LINKED)
    (here / "loaded.c").write_text(LOADED)
    strict = ["-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]
    run(["cc", *strict, here / "linked.c", "-o", here / "linked", *flags, f"-Wl,-rpath,{library.parent}"])
    include = next(
        flag
        for flag in flags + [f"-I{next(p for p in stage.rglob('ruda') if p.is_dir()).parent}"]
        if flag.startswith("-I")
    )
    run(
        [
            "cc",
            "-std=c99",
            "-Wall",
            "-Wextra",
            "-Werror",
            include,
            here / "loaded.c",
            "-o",
            here / "loaded",
            "-ldl",
        ]
    )
    print(run([here / "linked"]), end="")
    print(run([here / "loaded", library]), end="")
    if "libruda" in run(["readelf", "-d", here / "loaded"]):
        sys.exit("the program that loads the library is linked with it")

    # What Meson's log lists is all that was installed.
    log = (build / "meson-logs/install-log.txt").read_text().splitlines()
    for line in log:
        path = pathlib.Path(line)
        if line.startswith("#") or not line or not str(path).startswith(str(stage)):
            continue
        if path.is_dir() and not path.is_symlink():
            continue
        path.unlink(missing_ok=True)
    # Python writes its compiled files by itself, beside the modules.
    left = [
        str(p.relative_to(stage)) for p in stage.rglob("*") if not p.is_dir() and p.suffix != ".pyc"
    ]
    if left:
        sys.exit(f"left behind after removal: {', '.join(left)}")
print("installed, used and removed")
