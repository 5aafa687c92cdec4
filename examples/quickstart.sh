#!/usr/bin/env bash
# examples/quickstart.sh - from nothing to an answer: installs what is missing, builds, fetches a model, asks it.
# SPDX-License-Identifier: Apache-2.0
#
# usage: examples/quickstart.sh [--model PATH] [--prompt TEXT] [--backend auto|cpu|cuda] [--max-tokens N]
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
build=${RUDA_BUILD:-$root/build-release}
model=
prompt='What is the capital of France? Answer in one sentence.'
backend=auto
max_tokens=64
say() { printf '%s\n' "quickstart: $*"; }
die() { printf '%s\n' "quickstart: $*" >&2; exit 1; }
while [ $# -gt 0 ]; do
  case "$1" in
    -h | --help) sed -n '/^# usage/,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    --model) model=${2:?}; shift 2 ;;
    --prompt) prompt=${2:?}; shift 2 ;;
    --backend) backend=${2:?}; shift 2 ;;
    --max-tokens) max_tokens=${2:?}; shift 2 ;;
    *) die "unknown option $1 (known: --model --prompt --backend --max-tokens)" ;;
  esac
done

# Tools: a C++20 compiler, Python 3, Meson, Ninja.
as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }
packages=()
command -v g++ >/dev/null || packages+=(g++)
command -v python3 >/dev/null || packages+=(python3)
command -v meson >/dev/null || packages+=(meson)
command -v ninja >/dev/null || packages+=(ninja-build)
python3 -m pip --version >/dev/null 2>&1 || packages+=(python3-pip)
if [ ${#packages[@]} -gt 0 ]; then
  say "installing ${packages[*]}"
  command -v apt-get >/dev/null || die "missing ${packages[*]}; install them with your package manager"
  { as_root apt-get update -qq && as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends "${packages[@]}"; } >"$root/.quickstart.log" 2>&1 ||
    { tail -n 5 "$root/.quickstart.log" >&2; die "apt-get could not install ${packages[*]}"; }
fi

# The CUDA half takes minutes to compile, so a machine without an NVIDIA GPU goes without it unless asked.
cuda=auto
if [ "$backend" != cuda ] && ! compgen -G '/dev/nvidia[0-9]*' >/dev/null && [ ! -e /dev/dxg ]; then cuda=disabled; fi
# Code for the GPUs of this machine; where they cannot be asked, for the default of meson_options.txt. Those before
# compute capability 8.0 have none, and alone they leave the CUDA half out.
arch=
if [ $cuda = auto ] && command -v nvidia-smi >/dev/null; then
  found=$({ nvidia-smi --query-gpu=compute_cap --format=csv,noheader || true; } 2>/dev/null | sort -u)
  arch=$(echo "$found" |
    awk -F. 'NF == 2 && $1 * 10 + $2 >= 80 { printf "%ssm_%d%d%s", n++ ? "," : "", $1, $2, $1 * 10 + $2 == 90 ? "a" : "" }')
  case $found in [0-9].* | [0-9][0-9].*) [ -n "$arch" ] || [ "$backend" = cuda ] || cuda=disabled ;; esac
fi
if [ ! -f "$build/build.ninja" ]; then
  meson setup "$build" "$root" -Dbuildtype=release -Dtests=false -Dcuda=$cuda ${arch:+"-Dgpu_arch=$arch"} >"$root/.quickstart.log" 2>&1 ||
    { tail -n 20 "$root/.quickstart.log" >&2; die "meson setup failed"; }
elif [ $cuda = auto ]; then
  meson configure "$build" -Dcuda=auto >"$root/.quickstart.log" 2>&1 || die "meson configure failed"
fi
if grep -q RUDA_WITH_CUDA=1 "$build/build.ninja"; then
  say "building both halves, CPU and CUDA (log: .quickstart.log)"
elif [ $cuda = disabled ] && { command -v nvcc || [ -x /usr/local/cuda/bin/nvcc ]; } >/dev/null; then
  say "no NVIDIA GPU that it has code for: building the CPU half, --backend cuda builds both (log: .quickstart.log)"
else
  say "no CUDA toolkit (nvcc and its static runtime): building the CPU half (log: .quickstart.log)"
fi
[ -f "$build/examples/ruda-chat" ] || say "a first build takes minutes"
ninja -C "$build" >>"$root/.quickstart.log" 2>&1 || { tail -n 20 "$root/.quickstart.log" >&2; die "the build failed"; }

if [ -z "$model" ]; then
  say "model: SmolLM2-135M-Instruct (98 MB, fetched unless it is here)"
  model=$("$root/examples/get_model.sh") || die "could not fetch the model; give one with --model PATH"
fi
[ -f "$model" ] || die "no such file: $model"

exec "$build/examples/ruda-chat" --model "$model" --prompt "$prompt" --backend "$backend" --max-tokens "$max_tokens"
