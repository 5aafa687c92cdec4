#!/bin/sh
# tests/run.sh - installs what is missing, builds, runs every suite, ends with the counts on a line.
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/run.sh [--level 0..3] [--suite NAME] [--backend cpu|cuda] [--kernel NAME] [--no-install]
#
#   --level N     how much: 0 a sample (the default), 1 more, with asan, tsan and the fuzzers, 2 the whole
#                 grids, 3 also what takes hours
#   --suite NAME  one suite only: lint abi ops core tensor plan cpu store model ... (a folder of tests/), or
#                 asan, tsan, fuzz, install
#   --backend B   run the operators on this backend; a missing GPU is skipped
#   --kernel NAME force one kernel, such as cpu/rms_norm/scalar, in the tests of its operator
#   --no-install  install nothing
set -u
cd "$(dirname "$0")/.." || exit 1
root=$PWD
level=0 suite= backend=cpu kernel= setup=yes
fail() { echo "tests/run.sh: $*" >&2; exit 2; }
while [ $# -gt 0 ]; do
  case $1 in
    --no-install) setup=; shift; continue ;;
    --level | --suite | --backend | --kernel) [ $# -ge 2 ] || fail "$1 needs a value" ;;
    -h | --help) sed -n '/^# usage/,/^set/{/^set/d;s/^# \{0,1\}//p}' "$0"; exit 0 ;;
    *) fail "unknown option $1; see --help" ;;
  esac
  case $1 in
    --level) case $2 in [0-3]) level=$2 ;; *) fail "level is $2, expected 0..3" ;; esac ;;
    --suite) suite=$2 ;;
    --backend) case $2 in cpu | cuda) backend=$2 ;; *) fail "backend is $2, expected cpu or cuda" ;; esac ;;
    --kernel) kernel=$2 ;;
  esac
  shift 2
done
started=$(date +%s)
say() { printf '==== %s (%s s)\n' "$*" "$(($(date +%s) - started))"; }

if [ -n "$setup" ]; then
  say "setup"
  tests/setup.sh || { echo "0 passed, 1 failed, 0 skipped"; exit 1; }
fi
export RUDA_TEST_LEVEL=$level RUDA_TEST_BACKEND=$backend
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 PYTHONDONTWRITEBYTECODE=1
if [ -z "${RUDA_ORACLE_PYTHON:-}" ] && [ -x .cache/oracle/bin/python ]; then
  export RUDA_ORACLE_PYTHON=$root/.cache/oracle/bin/python
fi
jobs=$(nproc)
results=$root/build-test/results
mkdir -p "$results"
rm -f "$results"/*

# note RESULT NAME TEXT: a result that is no Meson test.
note() { printf '%s\t%s\t%s\n' "$1" "$2" "$3" >>"$results/notes"; }

# build DIR NAME OPTION...: configures and compiles $targets; a failure is a failed test, its output is shown.
targets=
build() {
  dir=$1 name=$2
  shift 2
  say "build $name"
  log=$results/$name.build.log
  if [ -f "$dir/build.ninja" ]; then
    meson setup --reconfigure "$dir" "$@" >"$log" 2>&1
  else
    meson setup "$dir" "$@" >"$log" 2>&1
  fi && ninja -C "$dir" -j "$jobs" $targets >>"$log" 2>&1
  if [ $? -ne 0 ]; then
    grep -E 'error|ERROR|FAILED|stale' "$log" | head -n 20
    tail -n 20 "$log"
    note FAIL "build $name" "see $log"
    return 1
  fi
  grep -E '^Message: .*(leav|without|not found|only)' "$log"
  note OK "build $name" ""
}

# check DIR NAME ARGUMENT...: runs Meson's tests and keeps their results.
check() {
  dir=$1 name=$2
  shift 2
  say "test $name"
  meson test -C "$dir" --no-rebuild --num-processes "$jobs" "$@" >"$results/$name.test.log" 2>&1
  status=$?
  if grep -q 'No suitable tests defined' "$results/$name.test.log"; then
    note SKIP "$name" "this build has no such test"
  elif [ -f "$dir/meson-logs/testlog.json" ]; then
    cp "$dir/meson-logs/testlog.json" "$results/$name.json"
    python3 tests/report.py --brief "$results/$name.json"
  else
    tail -n 20 "$results/$name.test.log"
    note FAIL "$name" "meson test ended with $status"
  fi
}

wants() { [ -z "$suite$kernel" ] || [ "$suite" = "$1" ]; }
# What takes longest runs when asked for by name, or from level 1 on.
asks() { [ "$suite" = "$1" ] || { [ -z "$suite$kernel" ] && [ "$asked_level" -ge 1 ]; }; }

# ---- the plain build and its suites ----

case $suite in
  asan | tsan | fuzz) ;;
  *)
    languages=
    if command -v swig >/dev/null 2>&1; then
      languages=python
      command -v mcs >/dev/null 2>&1 && command -v mono >/dev/null 2>&1 && languages=$languages,csharp
      command -v javac >/dev/null 2>&1 && languages=$languages,java
    else
      note SKIP bindings "swig is missing"
    fi
    if build build-test plain --buildtype=debugoptimized -Dcuda=auto -Dtests=true "-Dbindings=$languages"; then
      if [ -n "$kernel" ]; then
        op=$(echo "$kernel" | cut -d/ -f2)
        check build-test plain "$op" --test-args "--kernel $kernel"
      elif [ -n "$suite" ]; then
        check build-test plain --suite "$suite"
      else
        check build-test plain
      fi
    fi
    ;;
esac

# ---- sanitizers: the CPU half, the library's own suites and the operators at level 0 ----

small=
for name in core tensor plan cpu store model infer ops; do small="$small --suite $name"; done
checked="--buildtype=debugoptimized -Dcuda=disabled -Db_lundef=false"
asked_level=$level
export RUDA_TEST_LEVEL=0
if asks asan && [ "$backend" = cpu ]; then
  export ASAN_OPTIONS=detect_leaks=1:detect_stack_use_after_return=1:allocator_may_return_null=1
  export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
  build build-asan asan $checked -Db_sanitize=address,undefined &&
    check build-asan asan -t 3 $small
fi
if asks tsan && [ "$backend" = cpu ]; then
  export TSAN_OPTIONS=halt_on_error=1:second_deadlock_stack=1
  build build-tsan tsan $checked -Db_sanitize=thread &&
    check build-tsan tsan -t 3 $small
fi

# ---- fuzzers: ten seconds each ----

if asks fuzz && [ "$backend" = cpu ]; then
  clang=$(command -v clang-14 || command -v clang)
  if [ -z "$clang" ]; then
    note SKIP fuzz "clang is missing"
  else
    folder=${clang%/*} tool=${clang##*/}
    export CC=$clang CXX=$folder/clang++${tool#clang}
    targets=fuzzers
    build build-fuzz fuzz $checked -Dfuzz=true -Db_sanitize=address,undefined &&
      check build-fuzz fuzz --suite fuzz
  fi
fi

say "done"
python3 tests/report.py "$results"
