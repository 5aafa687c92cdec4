#!/bin/sh
# tests/run.sh - installs what is missing, builds, runs every suite, ends with the counts on a line.
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/run.sh [--level 0..3] [--suite NAME] [--backend cpu|cuda] [--kernel NAME] [--no-install]
#
#   --level N     how much of each operator's grid: 0 a sample (the default), 1 more, 2 the whole grid, 3 also
#                 what takes hours; sanitizers always run with the sample, the thread sanitizer at level 0 no
#                 more than the suites that use threads and the operators' cases for the context's threads
#   --suite NAME  one suite only: lint abi ops core tensor plan cpu store model ... (a folder of tests/), or
#                 asan, tsan, fuzz, install
#   --backend B   run the operators on this backend; a missing GPU is skipped
#   --kernel NAME force one kernel, such as cpu/rms_norm/scalar, in the tests of its operator
#   --no-install  install nothing
#
# Order: the plain build and every suite, then the build for address sanitizer and fuzzers with both, then the
# thread sanitizer. On two cores with nothing cached the whole takes about 40 minutes at
# most; docs/testing.md says what takes how long.
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
  rm -f "$dir"/meson-logs/testlog*.json
  meson test -C "$dir" --no-rebuild --num-processes "$jobs" "$@" >"$results/$name.test.log" 2>&1
  status=$?
  log=$(echo "$dir"/meson-logs/testlog*.json)
  if grep -q 'No suitable tests defined' "$results/$name.test.log"; then
    note SKIP "$name" "this build has no such test"
  elif [ -f "$log" ]; then
    cp "$log" "$results/$name.json"
    python3 tests/report.py --brief "$results/$name.json"
  else
    tail -n 20 "$results/$name.test.log"
    note FAIL "$name" "meson test ended with $status"
  fi
}

wants() { [ -z "$suite$kernel" ] || [ "$suite" = "$1" ]; }

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

# ---- sanitizers and fuzzers: the CPU half, the library's own suites and the operators at level 0 ----

# clang when it is there: it compiles sanitized code fastest and has the fuzzers, which share the build of the
# address sanitizer. Little optimisation and line numbers alone keep that build short; see also src/meson.build.
small=
for name in core tensor plan cpu store model infer ops; do small="$small --suite $name"; done
checked="-Ddebug=true -Doptimization=1 -Db_ndebug=false -Dc_args=-g1 -Dcpp_args=-g1 -Dcuda=disabled -Db_lundef=false"
fuzz=false asked_level=$level
export RUDA_TEST_LEVEL=0
clang=$(command -v clang-14 || command -v clang)
if [ -n "$clang" ]; then
  fuzz=true folder=${clang%/*} tool=${clang##*/}
  cached=$(command -v ccache)
  export CC="$cached $clang" CXX="$cached $folder/clang++${tool#clang}"
fi
export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
options=allocator_may_return_null=1:detect_stack_use_after_return=1
export ASAN_OPTIONS=$options:detect_leaks=1
# Children of a process with threads start threads of their own.
export TSAN_OPTIONS=allocator_may_return_null=1:halt_on_error=1:second_deadlock_stack=1:die_after_fork=0
if [ "$backend" = cpu ] && { wants asan || wants fuzz; }; then
  targets=
  [ "$suite" != fuzz ] || targets=fuzzers
  [ "$suite$fuzz" != fuzzfalse ] && build build-asan asan $checked -Dfuzz=$fuzz -Db_sanitize=address,undefined &&
    sanitized=yes
  targets=
fi
if [ -n "${sanitized:-}" ] && wants asan; then
  check build-asan asan -t 3 $small
  # The Python package of the plain build, with the sanitized library in place of its own.
  runtime=$([ -z "$clang" ] || "$clang" -print-file-name=libclang_rt.asan-x86_64.so)
  if [ -f "$runtime" ] && [ -d build-test/bindings/python ]; then
    # The interpreter frees little of its own at its end, so leaks are not looked for.
    check build-test python-asan -t 3 --suite python --wrapper \
      "env ASAN_OPTIONS=$options:detect_leaks=0 LD_PRELOAD=$runtime RUDA_LIBRARY=$root/build-asan/src/libruda.so.1"
  else
    note SKIP python-asan "needs the Python binding of the plain build and clang's shared run-time library"
  fi
fi
if [ "$backend" = cpu ] && wants fuzz; then
  if [ $fuzz = false ]; then
    note SKIP fuzz "clang is missing"
  elif [ -n "${sanitized:-}" ]; then
    check build-asan fuzz --suite fuzz
  fi
fi
if [ "$backend" = cpu ] && wants tsan; then
  [ "$asked_level" -ge 1 ] || targets=thread_programs small="--suite threads"
  build build-tsan tsan $checked -Db_sanitize=thread && check build-tsan tsan -t 3 $small
fi

say "done"
python3 tests/report.py "$results"
