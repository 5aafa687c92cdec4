# tests/lint/docs.py - operators have their pages, links lead somewhere, samples compile, packages agree.
# SPDX-License-Identifier: Apache-2.0
"""usage: docs.py ROOT

A C sample is compiled when the line before its fence is <!-- compile --> (a whole file) or
<!-- compile: body --> (the body of a function with the variables of PREAMBLE)."""

import pathlib
import re
import subprocess
import sys
import tempfile

SECTIONS = ("Errors", "Kernels", "Accuracy", "Source")
PREAMBLE = """#include <stdio.h>
#include <ruda/ruda.h>
ruda_status sample(ruda_context context, ruda_stream stream, ruda_tensor x, ruda_tensor y, ruda_plan plan);
ruda_status sample(ruda_context context, ruda_stream stream, ruda_tensor x, ruda_tensor y, ruda_plan plan) {
  (void)context, (void)stream, (void)x, (void)y, (void)plan;
%s
  return RUDA_OK;
}
"""


def documented(root, family, op):
    """Statuses that the docstring of the plan form names."""
    header = root / "include/ruda" / f"{family}.h"
    pattern = rf"/\*\*((?:(?!\*/).)*)\*/\s*RUDA_API ruda_status RUDA_CALL ruda_{op}_plan_create\("
    match = re.search(pattern, header.read_text(), re.S) if header.exists() else None
    return set(re.findall(r"\bRUDA_E_\w+", match[1])) if match else set()


def check_pages(root, fail):
    for contract in sorted((root / "src/ops").rglob("*.cpp")):
        for op in re.findall(r"^extern const OpDef (\w+)\{", contract.read_text(), re.M):
            page = root / "docs/ops" / contract.parent.name / f"{contract.stem}.md"
            if not page.exists():
                fail(f"docs/ops/{contract.parent.name}/{contract.stem}.md: is missing")
                continue
            text = page.read_text()
            where = page.relative_to(root)
            for section in SECTIONS:
                if not re.search(rf"^## {section}s?\b", text, re.M):
                    fail(f'{where}: has no section "{section}"')
            # The page and the docstring name the same statuses; those of handles and struct sizes go without saying.
            errors = re.search(r"^## Errors(.*?)(?=^## )", text, re.M | re.S)
            listed = set(re.findall(r"\bRUDA_E_\w+", errors[1])) if errors else set()
            said = documented(root, contract.parent.name, op) - {"RUDA_E_BAD_HANDLE", "RUDA_E_STRUCT_TOO_NEW"}
            for status in sorted(said ^ listed):
                missing = "docstring" if status in listed else "page"
                fail(f"{where}: {status} is missing in the {missing} of {op}")
            # The page lists every kernel of the CPU and CUDA sources.
            for source in (
                root / "src/cpu" / contract.parent.name / f"{contract.stem}.cpp",
                root / "cuda" / contract.parent.name / f"{contract.stem}.cu",
            ):
                if source.exists():
                    for kernel in re.findall(rf'\{{"((?:cpu|cuda)/{op}/[\w/]+)"', source.read_text()):
                        if f"`{kernel}`" not in text:
                            fail(f"{where}: does not list kernel {kernel}")


def check_links(root, fail):
    for page in sorted((root / "docs").rglob("*.md")) + [root / "README.md"]:
        if not page.exists():
            continue
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text()):
            if "://" not in target and not (page.parent / target).exists():
                fail(f"{page.relative_to(root)}: link to {target}, which does not exist")


def check_samples(root, fail):
    count = 0
    with tempfile.TemporaryDirectory() as folder:
        for page in sorted((root / "docs").rglob("*.md")) + [root / "README.md"]:
            if not page.exists():
                continue
            for match in re.finditer(
                r"^<!-- compile(: body)? -->\n```(c|cpp)\n(.*?)^```", page.read_text(), re.M | re.S
            ):
                count += 1
                source = pathlib.Path(folder, f"sample{count}.{match[2]}")
                source.write_text(PREAMBLE % match[3] if match[1] else match[3])
                compiler = ["cc", "-std=c99"] if match[2] == "c" else ["c++", "-std=c++20"]
                run = subprocess.run(
                    compiler
                    + ["-Wall", "-Wextra", "-Werror", "-fsyntax-only", f"-I{root / 'include'}", source],
                    capture_output=True,
                    text=True,
                )
                if run.returncode:
                    first = "\n".join(run.stderr.splitlines()[:5])
                    fail(f"{page.relative_to(root)}: a sample does not compile:\n{first}")
    return count


def check_packages(root, fail):
    """NVIDIA's packages that messages of the library name are those of the extra cuda13."""
    named = re.findall(r'"(nvidia-[\w-]+[<>=][^"]*)"', (root / "cuda/runtime/dynlib.cpp").read_text())
    project = (root / "pyproject.toml").read_text()
    extra = re.findall(r'^  "(nvidia-[^"]+)"', project, re.M)
    extra = [entry.replace(" ", "") for entry in extra]
    for package in named:
        if package not in extra:
            fail(f"pyproject.toml: cuda13 has no {package}, which cuda/runtime/dynlib.cpp names")
    if len(named) < 6:
        fail(f"cuda/runtime/dynlib.cpp: names {len(named)} packages, expected 6 or more")


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    problems = []
    check_pages(root, problems.append)
    check_links(root, problems.append)
    check_packages(root, problems.append)
    count = check_samples(root, problems.append)
    print("\n".join(problems) or f"the pages are whole, {count} samples compile")
    return 1 if problems else 0


sys.exit(main())
