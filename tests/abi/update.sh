#!/bin/sh
# tests/abi/update.sh - renews symbols.txt, golden.txt and ruda.abi; run it in the commit that changes the API.
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/abi/update.sh [BUILDDIR]     a build with debug information, build-test by default
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
build=${1:-$root/build-test}
[ -f "$build/build.ninja" ] || meson setup "$build" "$root" --buildtype=debugoptimized >/dev/null
ninja -C "$build" src/libruda.so.1.0.0 tests/abi/snapshot >/dev/null
python3 "$root/tests/abi/exports.py" "$root" "$build/src/libruda.so.1.0.0" --write
python3 "$root/tests/abi/snapshot.py" "$root/tests/abi/golden.txt" "$build/tests/abi/snapshot" --write
python3 "$root/tests/abi/baseline.py" "$root" "$build/src/libruda.so.1.0.0" --write
git -C "$root" status --short tests/abi
