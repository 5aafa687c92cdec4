#!/bin/sh
# tests/arm.sh - compiles for 64-bit Arm and runs operators and a chat on its vector code in an emulator.
# SPDX-License-Identifier: Apache-2.0
#
# usage: tests/arm.sh [NAME...]     programs of the build's tests folder; default: operators and SIMD layer
#
# Needs g++-aarch64-linux-gnu and qemu-user-static of a Debian or Ubuntu machine, and apt-get for the libraries, which
# stay in build-arm. An emulated suite takes minutes. On an Arm machine tests/run.sh is the command.
set -u
cd "$(dirname "$0")/.." || exit 1
dir=$PWD/build-arm
for program in aarch64-linux-gnu-g++ qemu-aarch64-static apt-get dpkg-deb; do
  command -v $program >/dev/null 2>&1 && continue
  echo "tests/arm.sh: $program is missing; get it with: apt-get install g++-aarch64-linux-gnu qemu-user-static" >&2
  exit 77
done

system=$dir-system
libraries=$system/usr/lib/aarch64-linux-gnu
if [ ! -d "$libraries" ]; then
  mkdir -p "$system/apt/lists/partial" "$system/apt/cache/archives/partial"
  : >"$system/apt/status"
  set -f
  apt="apt-get -qq -o APT::Architecture=arm64 -o APT::Architectures=arm64 -o Dir::State::Lists=$system/apt/lists
    -o Dir::State::status=$system/apt/status -o Dir::Cache=$system/apt/cache -o APT::Sandbox::User=root"
  (cd "$system/apt" && $apt update &&
    $apt download libcmocka-dev libcmocka0 libpcre2-dev libpcre2-8-0 libutf8proc-dev libutf8proc2) >&2 || exit 1
  set +f
  for package in "$system"/apt/*.deb; do dpkg-deb -x "$package" "$system"; done
  mkdir "$system/include"
  cp "$system"/usr/include/*.h "$system/include"
  cp -r /usr/include/nlohmann "$system/include" || exit 1
fi
emulator="qemu-aarch64-static -L /usr/aarch64-linux-gnu -E LD_LIBRARY_PATH=$dir/src:$libraries"

if [ ! -f "$dir/build.ninja" ]; then
  cached=$(command -v ccache >/dev/null 2>&1 && echo "'ccache', ")
  cat >"$system/cross.ini" <<END
[binaries]
c = [$cached'aarch64-linux-gnu-gcc']
cpp = [$cached'aarch64-linux-gnu-g++']
ar = 'aarch64-linux-gnu-ar'
strip = 'aarch64-linux-gnu-strip'
objcopy = 'aarch64-linux-gnu-objcopy'
nm = 'aarch64-linux-gnu-nm'
pkgconfig = 'pkg-config'
exe_wrapper = ['qemu-aarch64-static', '-L', '/usr/aarch64-linux-gnu']
[properties]
sys_root = '$system'
pkg_config_libdir = '$libraries/pkgconfig'
[built-in options]
c_args = ['-isystem', '$system/include']
cpp_args = ['-isystem', '$system/include']
c_link_args = ['-L$libraries', '-Wl,-rpath-link,$libraries']
cpp_link_args = ['-L$libraries', '-Wl,-rpath-link,$libraries']
[host_machine]
system = 'linux'
cpu_family = 'aarch64'
cpu = 'armv8-a'
endian = 'little'
END
  meson setup "$dir" --cross-file "$system/cross.ini" --buildtype=debugoptimized -Dcuda=disabled -Dbindings= \
    >"$system/setup.log" 2>&1 || { tail -n 20 "$system/setup.log"; exit 1; }
fi
[ $# -gt 0 ] || set -- cpu_simd cpu_isa copy binary unary silu_mul reduce softmax rms_norm rope embedding top_k sample \
  matmul matmul_block paged_append paged_attention
targets=examples/ruda-chat
for name in "$@"; do targets="$targets tests/test_$name"; done
ninja -C "$dir" $targets >"$system/build.log" 2>&1 || { tail -n 20 "$system/build.log"; exit 1; }

passed=0 failed=0 skipped=0
result() { # STATUS NAME TEXT
  case $1 in
    0) passed=$((passed + 1)) word=passed ;;
    77) skipped=$((skipped + 1)) word=skipped ;;
    *) failed=$((failed + 1)) word=failed ;;
  esac
  printf '%-8s %-18s %s\n' $word "$2" "$3"
}
for name in "$@"; do
  text=$($emulator "$dir/tests/test_$name" 2>&1)
  result $? "$name" "$(printf '%s\n' "$text" | tail -n 1)"
done
if model=$(examples/get_model.sh 2>/dev/null); then
  text=$($emulator "$dir/examples/ruda-chat" --model "$model" --backend cpu --max-tokens 12 \
    --prompt 'What is the capital of France? Answer in one sentence.' 2>&1)
  case $text in *Paris*) result 0 chat "" ;; *) result 1 chat "$text" ;; esac
else
  result 77 chat "the model cannot be had"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ $failed -eq 0 ]
