# tests/abi/wheel.py - builds the Python package as pip does, installs it into a new environment, uses it there.
# SPDX-License-Identifier: Apache-2.0
"""usage: wheel.py ROOT BUILDDIR MODEL

The build takes the flags of the test build, so that ccache holds the library's objects already."""

import os
import pathlib
import shutil
import subprocess
import sys
import zipfile

root, build, model = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])


def skip(why):
    print(f"skipped: {why}")
    sys.exit(77)


def run(command, **options):
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    if result.returncode:
        shown = "\n".join((result.stdout + result.stderr).splitlines()[-40:])
        sys.exit(f"{' '.join(map(str, command))} ended with {result.returncode}\n{shown}")
    return result.stdout


if not shutil.which("ccache"):
    skip("without ccache the wheel compiles the whole library once more")
work = build / "wheel"
environment = work / "venv"
python = environment / "bin" / "python"
shutil.rmtree(environment, ignore_errors=True)
if subprocess.run([sys.executable, "-m", "venv", environment], capture_output=True).returncode:
    skip("python3 has no venv with pip")
tools = [python, "-m", "pip", "install", "-q", "meson-python >= 0.13", "ninja", "swig >= 4.1"]
if subprocess.run(tools, capture_output=True).returncode:
    skip("pip could not fetch meson-python, ninja and swig")

shutil.rmtree(work / "out", ignore_errors=True)
# A folder beside the test build: the same relative paths, so the same keys in ccache.
settings = [f"--config-settings=builddir={build.with_name('build-wheel')}"]
settings.append("--config-settings=setup-args=-Dbuildtype=debugoptimized")
paths = dict(os.environ, PATH=f"{environment / 'bin'}:{os.environ['PATH']}", VIRTUAL_ENV=str(environment))
paths.pop("PYTHONPATH", None)
run(
    [python, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "-w", work / "out", *settings, root],
    env=paths,
)
wheels = list((work / "out").glob("*.whl"))
if len(wheels) != 1:
    sys.exit(f"expected one wheel, got {[w.name for w in wheels]}")
names = zipfile.ZipFile(wheels[0]).namelist()
needed = ["ruda/__init__.py", "ruda/_ops.py", "ruda/py.typed", "ruda/libruda.so.1"]
missing = [name for name in needed if name not in names]
raw = [name for name in names if name.startswith("ruda/_raw.") and name.endswith(".so")]
others = [name for name in names if not name.startswith(("ruda/", "ruda-"))]
if missing or len(raw) != 1 or others:
    sys.exit(f"{wheels[0].name}: lacks {missing}, raw modules {raw}, files outside the package {others}")

run([python, "-m", "pip", "install", "-q", "--no-deps", wheels[0]])
code = "import ruda; print(ruda.__file__)"
where = run([python, "-c", code], env=paths, cwd=work)
if not where.startswith(str(environment)):
    sys.exit(f"imported {where}, not the installed package")
chat = [python, root / "examples/python/chat.py", "--model", model, "--prompt", "the", "--max-tokens", "4"]
if not run([*chat, "--backend", "cpu", "--quiet"], env=paths, cwd=work).strip():
    sys.exit("the chat example of the installed package gave no answer")
print(f"{wheels[0].name}: built, installed and used")
