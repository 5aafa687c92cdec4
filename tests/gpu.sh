#!/bin/sh
# tests/gpu.sh - the CUDA half on a machine with a GPU: every operator's suite, memory and race checks, benchmarks.
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/gpu.sh [--only SECTIONS] [--family NAME] [--build DIR] [--out DIR] [--level 0..3] [--minutes N]
#                     [--jobs N] [--model FILE.gguf]
#
#   --only LIST    of suites,sanitize,bench,chat (default all four); each ends within --minutes (default 7.5)
#   --model FILE   what chat runs: greedy tokens of CPU and GPU side by side, tokens a second, an answer; without it
#                  a random model of the shape of SmolLM2-135M, made here
#   --family NAME  operators of one family only, such as norm (a folder of tests/ops); repeatable by commas
#   --build DIR    use the library and test programs of this build folder as they are; else build-gpu is built here
#   --out DIR      where the results go as JSON; default $OUT, else build-gpu/results
#   --level N      how much each suite tries (default 0)
#   --jobs N       sanitizer processes side by side; default half the processors, at most 8
#   --no-peers     benchmarks without PyTorch beside them
#
# Needs nvcc of CUDA 13, g++, Meson, Ninja and Python 3; no network, no cmocka, no SWIG. With --build only Python.
# A machine without a GPU is a skip, exit code 77.
set -u
LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}
cd "$(dirname "$0")/.." || exit 1
only=suites,sanitize,bench,chat family= build= out=${OUT:-} level=0 minutes=7.5 jobs=0 peers=yes model=${RUDA_MODEL:-}
fail() { echo "tests/gpu.sh: $*" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --no-peers) peers=; shift; continue ;;
    --only | --family | --build | --out | --level | --minutes | --jobs | --model) [ $# -ge 2 ] || fail "$1 needs a value" ;;
    -h | --help) sed -n '/^# usage/,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) fail "unknown option $1; see --help" ;;
  esac
  case $1 in
    --only) only=$2 ;;
    --family) family=$2 ;;
    --build) build=$2 ;;
    --out) out=$2 ;;
    --level) level=$2 ;;
    --minutes) minutes=$2 ;;
    --jobs) jobs=$2 ;;
    --model) model=$2 ;;
  esac
  shift 2
done
for section in $(echo "$only" | tr , ' '); do
  case $section in suites | sanitize | bench | chat) ;; *) fail "section is $section, expected suites, sanitize, bench or chat" ;; esac
done
[ -d /usr/local/cuda/bin ] && PATH=$PATH:/usr/local/cuda/bin
# NVIDIA's libraries where only Python's wheels hold them.
wheels=$(python3 -c 'import glob, sys
print(":".join(found for path in sys.path if path for found in sorted(glob.glob(path + "/nvidia/*/lib"))))' 2>/dev/null)
[ -z "$wheels" ] || LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$wheels
export PATH LD_LIBRARY_PATH PYTHONDONTWRITEBYTECODE=1

if [ -z "$build" ]; then
  build=build-gpu
  for program in nvcc g++ meson ninja python3; do
    command -v $program >/dev/null 2>&1 || fail "$program is missing; install it, or pass --build DIR"
  done
  started=$(date +%s)
  if [ ! -f $build/build.ninja ]; then
    meson setup $build --buildtype=release -Dcuda=enabled -Dtests=true -Dbench=true -Dbindings= >$build.log 2>&1 ||
      { tail -n 20 $build.log; fail "meson setup failed"; }
  fi
  python3 tests/gpu.py targets $build "$family" >$build/targets.txt || fail "no test programs"
  ninja -C $build -j "$(nproc)" $(cat $build/targets.txt) >$build.log 2>&1 ||
    { grep -E 'error|FAILED' $build.log | head -n 20; tail -n 10 $build.log; fail "the build failed"; }
  echo "built in $(($(date +%s) - started)) s"
fi
[ -d "$build" ] || fail "$build does not exist"
[ -n "$out" ] || out=$build/results
mkdir -p "$out"

status=0
for section in $(echo "$only" | tr , ' '); do
  python3 tests/gpu.py "$section" "$build" "$family" --out "$out" --level "$level" --minutes "$minutes" --jobs "$jobs" ${peers:+--peers} \
    ${model:+--model "$model"}
  result=$?
  [ $result = 77 ] && exit 77
  [ $result = 0 ] || status=1
done
exit $status
