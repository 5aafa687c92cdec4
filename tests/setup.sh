#!/bin/sh
# tests/setup.sh - installs what build and tests need and this machine lacks: packages, Python oracles.
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/setup.sh [--no-oracle]
# Works as root or with sudo. Says in one line what is missing when it cannot go on; what only some tests
# need is reported and skipped. Known to work on Debian 12 and Ubuntu 24.04.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)

required="g++ ninja-build pkg-config python3 libcmocka-dev nlohmann-json3-dev libpcre2-dev libutf8proc-dev"
wanted="ccache clang-14 libclang-rt-14-dev clang-format-14 clang-tidy-14 cppcheck abigail-tools binutils valgrind python3-venv python3-pip
  python3-dev swig mono-mcs mono-runtime libmono-system-core4.0-cil openjdk-17-jdk-headless"

missing() {
  for package in "$@"; do
    status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)
    [ "$status" = installed ] || printf '%s ' "$package"
  done
}

install() {
  if [ "$(id -u)" = 0 ]; then as_root=
  elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then as_root="sudo -n"
  else return 1
  fi
  get() {
    DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1
  }
  get "$@" && return
  $as_root apt-get update -qq >/dev/null 2>&1
  get "$@" && return
  # One package that cannot be had must not keep the others out.
  for package in "$@"; do get "$package"; done
  return 0
}

if command -v dpkg-query >/dev/null 2>&1; then
  meson=
  version=$(meson --version 2>/dev/null || echo 0)
  [ "$(printf '1.0.1\n%s\n' "$version" | sort -V | head -n 1)" = 1.0.1 ] || meson=meson
  lacking=$(missing $required $wanted)$meson
  if [ -n "${lacking% }" ]; then
    echo "setup: installing $lacking"
    install $lacking || echo "setup: no root and no sudo, so nothing was installed"
  fi
  lacking=$(missing $required)
  command -v meson >/dev/null 2>&1 || lacking="${lacking}meson"
  if [ -n "$lacking" ]; then
    echo "setup: missing $lacking; get them with: apt-get install -y --no-install-recommends $lacking" >&2
    exit 1
  fi
  lacking=$(missing $wanted)
  [ -z "$lacking" ] || echo "setup: without $lacking some tests are skipped"
else
  for program in g++ meson ninja pkg-config python3; do
    command -v $program >/dev/null 2>&1 && continue
    echo "setup: $program is missing, install it and run again" >&2
    exit 1
  done
fi

# ---- the oracles: PyTorch and transformers in a virtual environment of their own ----

[ "${1:-}" != --no-oracle ] || exit 0
works() { "$1" -c 'import torch, transformers, numpy' >/dev/null 2>&1; }
oracle=$root/.cache/oracle
if [ -n "${RUDA_ORACLE_PYTHON:-}" ]; then
  works "$RUDA_ORACLE_PYTHON" || echo "setup: $RUDA_ORACLE_PYTHON lacks torch or transformers"
elif ! works "$oracle/bin/python"; then
  echo "setup: installing the oracles of tests/requirements.txt"
  [ -x "$oracle/bin/python" ] || python3 -m venv "$oracle" >/dev/null 2>&1 ||
    /usr/bin/python3 -m venv "$oracle" >/dev/null 2>&1
  timeout 600 "$oracle/bin/python" -m pip install -q -r "$root/tests/requirements.txt" >/dev/null 2>&1
  works "$oracle/bin/python" ||
    echo "setup: without PyTorch (pip install -r tests/requirements.txt) its tests are skipped"
fi
"$root/examples/get_model.sh" >/dev/null || echo "setup: without the model the comparison of real answers is skipped"
exit 0
