#!/bin/sh
# tests/gpu.sh - the CUDA half on a machine with a GPU: every operator's suite, memory and race checks, benchmarks.
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/gpu.sh [--stage STAGES] [--family NAME] [--build DIR] [--out DIR] [--level 0..3] [--minutes N]
#                     [--total N] [--jobs N] [--model FILE.gguf]
#
#   --stage LIST   of sanitize,suites,chat,bench (default all four, in this order); --only is the same
#   --minutes N    of each stage at most (default 7.5)
#   --total N      minutes of the whole run: a stage gets what is left, and one for which less than one is left
#                  is not run, which the last lines and stages.json say; default no limit
#   --model FILE   what chat runs: greedy tokens of CPU and GPU side by side, tokens a second, an answer; without it
#                  a random model of the shape of SmolLM2-135M, made here
#   --family NAME  operators of one family only, such as norm (a folder of tests/ops); repeatable by commas
#   --build DIR    use the library and test programs of this build folder as they are; else build-gpu is built here
#   --out DIR      where the results go; default $OUT, else build-gpu/results: gpu-STAGE.json, written as the stage
#                  goes ("complete" says whether it came to its end), and stages.json. Stages of several calls add up.
#   --level N      how much each suite tries (default 0)
#   --jobs N       sanitizer processes side by side; default half the processors, at most 8
#   --no-peers     benchmarks without PyTorch beside them
#
# Results name the commit of this tree; a copy without its history is told by RUDA_COMMIT.
# Needs nvcc of CUDA 13, g++, Meson, Ninja and Python 3; no network, no cmocka, no SWIG. With --build only Python.
# A machine without a GPU is a skip, exit code 77; a stage that failed or was not run for want of time is exit code 1.
set -u
LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}
cd "$(dirname "$0")/.." || exit 1
all="sanitize suites chat bench"
only=$(echo $all | tr ' ' ,) family= build= out=${OUT:-} level=0 minutes=7.5 total= jobs=0 peers=yes model=${RUDA_MODEL:-}
began=$(date +%s)
fail() { echo "tests/gpu.sh: $*" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --no-peers) peers=; shift; continue ;;
    --stage | --only | --family | --build | --out | --level | --minutes | --total | --jobs | --model) [ $# -ge 2 ] || fail "$1 needs a value" ;;
    -h | --help) sed -n '/^# usage/,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) fail "unknown option $1; see --help" ;;
  esac
  case $1 in
    --stage | --only) only=$2 ;;
    --family) family=$2 ;;
    --build) build=$2 ;;
    --out) out=$2 ;;
    --level) level=$2 ;;
    --minutes) minutes=$2 ;;
    --total) total=$2 ;;
    --jobs) jobs=$2 ;;
    --model) model=$2 ;;
  esac
  shift 2
done
[ -n "$only" ] || fail "stage is empty, expected some of sanitize, suites, chat and bench"
for section in $(echo "$only" | tr , ' '); do
  case $section in sanitize | suites | chat | bench) ;; *) fail "stage is $section, expected sanitize, suites, chat or bench" ;; esac
done
# number NAME VALUE WHAT: of digits with at most one point.
number() {
  case $2 in
    '' | . | *[!0-9.]* | *.*.*) fail "$1 is $2, expected $3" ;;
  esac
}
number minutes "$minutes" "a number of minutes"
[ -z "$total" ] || number total "$total" "a number of minutes"
case $level in [0-3]) ;; *) fail "level is $level, expected 0 to 3" ;; esac
case $jobs in '' | *[!0-9]*) fail "jobs is $jobs, expected a count" ;; esac
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
  python3 tests/gpu.py targets $build "$family" "$only" >$build/targets.txt || fail "no test programs"
  ninja -C $build -j "$(nproc)" $(cat $build/targets.txt) >$build.log 2>&1 ||
    { grep -E 'error|FAILED' $build.log | head -n 20; tail -n 10 $build.log; fail "the build failed"; }
  echo "built in $(($(date +%s) - started)) s"
fi
[ -d "$build" ] || fail "$build does not exist"
[ -n "$out" ] || out=$build/results
mkdir -p "$out"

# The states so far, by stage; stages.json is there from the start, so that a run that is stopped tells too.
status=0
for stage in $all; do eval "state_$stage='not run: not asked for'"; done
for stage in $(echo "$only" | tr , ' '); do eval "state_$stage='not run: the run ended before it'"; done
tell() {
  python3 tests/gpu.py stages "$out" "sanitize=$state_sanitize" "suites=$state_suites" "chat=$state_chat" "bench=$state_bench" >/dev/null
}
tell
for stage in $all; do
  case ,$only, in *,$stage,*) ;; *) continue ;; esac
  here=$minutes
  if [ -n "$total" ]; then
    left=$(python3 -c 'import sys, time
print(round(float(sys.argv[1]) - (time.time() - float(sys.argv[2])) / 60, 2))' "$total" "$began") || exit 2
    here=$(python3 -c 'import sys; print(min(map(float, sys.argv[1:])))' "$minutes" "$left") || exit 2
    if python3 -c 'import sys; sys.exit(float(sys.argv[1]) >= 1)' "$left"; then
      eval "state_$stage='not run: no time was left'"
      status=1
      tell
      continue
    fi
  fi
  eval "state_$stage='stopped before its end'"
  tell
  python3 tests/gpu.py "$stage" "$build" "$family" --out "$out" --level "$level" --minutes "$here" --jobs "$jobs" ${peers:+--peers} \
    ${model:+--model "$model"}
  result=$?
  case $result in
    0) eval "state_$stage=good" ;;
    77)
      for each in $(echo "$only" | tr , ' '); do eval "state_$each='skipped: this machine has no GPU'"; done
      tell
      exit 77
      ;;
    78) eval "state_$stage='skipped: this machine lacks what it needs'" ;;
    *) eval "state_$stage=BAD"; status=1 ;;
  esac
  tell
done
for stage in $all; do eval "echo \"$stage: \$state_$stage\""; done
exit $status
